"""The page of a live run, served by watch --http, and its answers."""
import json
import re
import signal
import socket
import subprocess
import time

import program
from program import RPISTAT, Running, environment, refused, tap


class Server(Running):
    """A process of watch --http; its address is the printed one."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen([RPISTAT, "watch", "--http", *arguments], cwd=folder.path, env=environment(),
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#([0-9a-f]{32,})", self.url)
        if not match:
            assert self.process.wait(program.TIMEOUT) == 1, self.url
            refused(folder.call("watch", "--http", *arguments), 1, "libmicrohttpd")
            raise tap.Skip("no libmicrohttpd is installed")
        self.port, self.token = int(match[1]), match[2]

    def __exit__(self, *unused):
        super().__exit__(*unused)
        self.process.stdout.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), program.TIMEOUT)

    def send(self, request):
        """Send these bytes. Return the answer until the server closes; b"" if it only closes."""
        with self.connect() as client:
            try:
                client.sendall(request)
            except OSError:  # answered and closed before everything was sent
                pass
            return received(client)

    def ask(self, path, token=True, method="GET", host=None, more=""):
        """Return status, headers in lower case, and content."""
        lines = ["%s %s HTTP/1.1" % (method, path)]
        lines += ["Host: " + each for each in (host if isinstance(host, list) else [host or "127.0.0.1:%d" % self.port])]
        if token:
            lines.append("Authorization: Bearer " + (self.token if token is True else token))
        answer = self.send(("\r\n".join(lines) + "\r\n" + more + "\r\n").encode())
        head, _, content = answer.partition(b"\r\n\r\n")
        first, *rest = head.decode().split("\r\n")
        return int(first.split()[1]), {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}, content

    def get(self, path):
        """Return the JSON of a path."""
        status, headers, content = self.ask(path)
        assert status == 200 and headers["content-type"] == "application/json", (path, status, content)
        return json.loads(content)

    def data(self):
        """Return all data when they are available."""
        end = time.monotonic() + program.TIMEOUT  # they never appear if the process that makes them dies
        while not self.get("/rows")["data"]:
            assert time.monotonic() < end, "there are no data"
        return self.get("/data")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(program.TIMEOUT)


def received(client):
    pieces = []
    while True:
        try:
            piece = client.recv(1 << 16)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
