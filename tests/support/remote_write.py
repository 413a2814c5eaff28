"""A server of Prometheus' remote write on loopback, which keeps the requests and can misbehave on
request.
"""
import functools
import http.server
import json
import re
import socket
import ssl
import struct
import threading
import urllib.parse


def snappy(data):
    """Return the contents of a snappy block (format_description.txt of github.com/google/snappy)."""
    size, at = varint(data, 0)
    result = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:  # a literal
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at:at + extra], "little")
                at += extra
            result += data[at:at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at]
            at += 1
        else:
            extra = 2 if tag & 3 == 2 else 4
            length, offset = (tag >> 2) + 1, int.from_bytes(data[at:at + extra], "little")
            at += extra
        assert 0 < offset <= len(result)
        part = result[-offset:][:length]
        result += (part * (length // len(part) + 1))[:length]  # a copy may overlap its own output
    assert len(result) == size, (len(result), size)
    return bytes(result)


def varint(data, at):
    if data[at] < 128:
        return data[at], at + 1
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message: numbers, doubles, bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value = struct.unpack_from("<d", data, at)[0]
            at += 8
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


@functools.lru_cache
def samples(body):
    """(labels, time in ms, value) of each sample of a request; labels are pairs in order."""
    return list(read_samples(body))


def read_samples(body):
    for number, series in fields(snappy(body)):
        assert number == 1
        labels = []
        for kind, message in fields(series):
            if kind == 1:
                part = dict(fields(message))
                labels.append((part[1].decode(), part[2].decode()))
            else:  # the message may have many: a double, and an integer unless it is 0
                time_ms = varint(message, 10)[0] if len(message) > 9 else 0
                yield tuple(labels), time_ms, struct.unpack_from("<d", message, 1)[0]


class Server:
    """Accepts remote write; `with Server() as server`. `behave` is called with the number of each
    request, from 1, before the request is read. It returns None, or (status, headers, body) as the
    answer, or a function that handles the request itself. `certificate`: a file with a certificate
    and its key; then the server speaks TLS.
    """

    def __init__(self, behave=None, certificate=None):
        server, self.behave = self, behave or (lambda number: None)
        self.requests, self.bodies, self.headers = 0, [], []
        self.done, self.points, self.twice, self.lock = 0, {}, 0, threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                server.post(self)

            def log_message(self, *unused):
                pass

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *unused):  # a client that was killed
                pass

        Handler.disable_nagle_algorithm = True
        self.http = Threads(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        self.url = "http%s://127.0.0.1:%d" % ("s" if certificate else "", self.port)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)

    def __enter__(self):
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.http.shutdown()
        self.http.server_close()

    @staticmethod
    def answer(handler, status, headers=(), body=b""):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def post(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.headers.append(dict(handler.headers))
        self.requests += 1
        what = self.behave(self.requests)
        if callable(what):
            what(handler, body)
        elif what:
            self.answer(handler, *what)
        else:
            self.keep(body)
            self.answer(handler, 204)

    def keep(self, body):
        """Keep a request as if it had been accepted."""
        self.bodies.append(body)

    @property
    def data(self):
        """{labels: {time in ms: value}}; a value that comes twice must be the same."""
        with self.lock:
            for body in self.bodies[self.done:]:
                self.done += 1
                for labels, time_ms, value in samples(body):
                    assert list(labels) == sorted(labels), labels
                    points = self.points.setdefault(labels, {})
                    self.twice += time_ms in points
                    assert points.setdefault(time_ms, value) == value, (labels, time_ms)
            return self.points

    @property
    def again(self):
        """The number of samples that came twice."""
        assert self.data
        return self.twice

    def last(self, metric, **wanted):
        """{labels: the last value} of the series with these labels."""
        return {labels: points[max(points)] for labels, points in self.data.items()
                if dict(labels)["__name__"] == metric and wanted.items() <= dict(labels).items()}


def closed(handler, _):
    """Close the connection without an answer."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
