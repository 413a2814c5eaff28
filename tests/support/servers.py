"""Time-series databases on loopback, for tests and benchmarks: VictoriaMetrics, Prometheus.

`with Victoria(FOLDER) as database` starts one with its data in that folder, at a port that the kernel
chose; its end is the block's. Debian has both: victoria-metrics, prometheus.
"""
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import tap

TIMEOUT = 300  # seconds after which the server counts as hanging, and the case has failed

# Old samples are accepted: runs are pushed long after their recording.
PROMETHEUS_CONFIG = """\
storage:
  tsdb:
    out_of_order_time_window: 10y
"""


def listening_port(pid):
    """Return the port on 127.0.0.1 at which a process listens, or None."""
    try:
        sockets = {os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)}
    except OSError:  # a descriptor was closed in between
        return None
    with open("/proc/%d/net/tcp" % pid, encoding="ascii") as file:
        for line in file.readlines()[1:]:
            words = line.split()
            if words[3] == "0A" and "socket:[%s]" % words[9] in sockets:
                return int(words[1].split(":")[1], 16)
    return None


class Database:
    """The common part of both: start and stop, write and query by HTTP."""

    program = None  # its name, and the name of Debian's package
    ready = None  # the address that answers 200 when queries are possible
    write = None  # the address of remote write

    def __init__(self, folder):
        self.folder, self.process, self.port = folder, None, 0

    @classmethod
    def is_there(cls):
        return shutil.which(cls.program) is not None

    def command(self):
        raise NotImplementedError

    def start(self):
        """Start answering; after stop(), at the same port as before."""
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        deadline = time.monotonic() + TIMEOUT
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
                    raise AssertionError("%s does not start: %s" % (self.program, log.read()[-2000:]))
            time.sleep(0.01)
        return self

    def is_ready(self):
        self.port = self.port or listening_port(self.process.pid) or 0
        try:
            return self.port != 0 and self.get(self.ready) is not None
        except (OSError, urllib.error.URLError):
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(TIMEOUT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.kill()

    def url(self, path=None):
        return "http://127.0.0.1:%d%s" % (self.port, self.write if path is None else path)

    def get(self, path, **parameters):
        data = urllib.parse.urlencode(parameters).encode() if parameters else None
        with urllib.request.urlopen(self.url(path), data, timeout=TIMEOUT) as answer:
            return answer.read()

    def flush(self):
        """Make written samples visible to queries."""

    def ask(self, expression, time_ms):
        """Return the samples of an expression at a time: [(labels, value)]."""
        return [(row["metric"], float(row["value"][1]))
                for row in self.result("/api/v1/query", query=expression,
                                       time="%.3f" % (time_ms / 1000))]

    def ask_samples(self, selector, end_ms, length_ms):
        """Return the raw samples: [(labels, [[s, value as text]])]."""
        return [(row["metric"], row["values"])
                for row in self.result("/api/v1/query", query="%s[%dms]" % (selector, length_ms),
                                       time="%.3f" % (end_ms / 1000))]

    def ask_range(self, expression, start_ms, end_ms, step_ms):
        """Return the samples over time: [(labels, [[s, value as text]])]."""
        return [(row["metric"], row["values"])
                for row in self.result("/api/v1/query_range", query=expression,
                                       start="%.3f" % (start_ms / 1000), end="%.3f" % (end_ms / 1000),
                                       step="%.3f" % (step_ms / 1000))]

    def result(self, path, **parameters):
        try:
            answer = json.loads(self.get(path, nocache="1", **parameters))
        except urllib.error.HTTPError as error:
            raise AssertionError("%s: %s" % (parameters, error.read().decode())) from error
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def cpu_s(self):
        """The CPU time that it has used."""
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Victoria(Database):
    program, ready, write = "victoria-metrics", "/health", "/api/v1/write"

    def command(self):
        return ["sh", os.path.join(tap.root(), "examples", "fleet", "victoria"), "data",
                "127.0.0.1:%d" % self.port]

    def flush(self):
        self.get("/internal/force_flush")


class Prometheus(Database):
    program, ready, write = "prometheus", "/-/ready", "/api/v1/write"

    def __init__(self, folder, scraping=""):
        """`scraping`: additional lines of its configuration."""
        super().__init__(folder)
        self.scraping = scraping

    def command(self):
        with open(os.path.join(self.folder, "prometheus.yml"), "w", encoding="ascii") as file:
            file.write(PROMETHEUS_CONFIG + self.scraping)
        return [self.program, "--config.file=prometheus.yml", "--web.enable-remote-write-receiver",
                "--storage.tsdb.path=data", "--storage.tsdb.retention.time=100y",
                "--web.listen-address=127.0.0.1:%d" % self.port]
