#!/usr/bin/env python3
"""Pushing into real databases, VictoriaMetrics and Prometheus: PromQL finds the values of the report.

usage: databases.py RPISTAT
"""
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

from program import RPISTAT, TIMEOUT, Folder, Recording, environment, expect, tap
from served import Server
import servers  # in tests/support

# Nine events in four sets, long enough for about ten requests, with counts above 2^32.
SCRIPT = """\
clock 700M
seed 1
noise 3%
switch 20us
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
repeat 20
phase calm 35s
phase busy 40s dc_miss=10M wait=5% in=lock:1
sleep 5s
end
"""
KILLS = 10


def one(rows):
    assert len(rows) == 1, rows
    return rows[0]


class Run:
    """A run's values in the store and in report, and the time window of its samples in a database."""

    def __init__(self, folder, run="last", store="rpistat.data"):
        answer = folder.call("report", "-i", store, "-r", str(run), "--format", "json")
        self.report = json.loads(expect(answer, 0).stdout)
        self.uuid, self.periods = self.report["run"]["uuid"], self.report["periods"]
        self.number = self.report["run"]["run"]
        # the store has the start and the sums of times in nanoseconds
        query = ("SELECT start_realtime_ns, elapsed_ns, sum(enabled_ns), sum(idle_ns) FROM run NATURAL JOIN period"
                 " WHERE uuid = '%s'" % self.uuid)
        shell = subprocess.run(["sqlite3", "-readonly", folder / store, query], stdout=subprocess.PIPE,
                               text=True, check=True, timeout=TIMEOUT)
        start_ns, elapsed_ns, self.enabled_ns, idle_ns = map(int, shell.stdout.split("|"))
        self.cpu_ns = self.enabled_ns - idle_ns
        self.start_ms, self.end_ms = start_ns // 1000000, (start_ns + elapsed_ns) // 1000000

    def counted(self):
        """The figures of counted events, by their names in PromQL."""
        return {figure["label" if figure["kind"] == "clock" else "name"]: figure for figure in self.report["figures"]
                if figure["kind"] in ("clock", "event") and figure["count"] is not None}


def value_of(database, run, expression, label=None):
    """Evaluate an expression at the run's end, with RUN replaced by the run's selector. Return a
    value, or the values by a label.
    """
    rows = database.ask(expression.replace("RUN", 'run="%s"' % run.uuid), run.end_ms)
    if label is None:
        return one(rows)[1]
    found = {labels[label]: value for labels, value in rows}
    assert len(found) == len(rows), rows
    return found


def increases(database, run, metric):
    """increase() over the whole run, by event. Prometheus extrapolates to its window, so the window
    begins at the first sample and ends at the last.
    """
    rows = database.ask_samples('%s{run="%s"}' % (metric, run.uuid), run.end_ms, run.end_ms - run.start_ms + 1000)
    found = {}
    for labels, samples in rows:
        first_ms, last_ms = round(samples[0][0] * 1000), round(samples[-1][0] * 1000)
        chosen = ",".join('%s="%s"' % pair for pair in sorted(labels.items()) if pair[0] != "__name__")
        rows = database.ask("increase(%s{%s}[%dms])" % (metric, chosen, last_ms - first_ms), last_ms)
        found[labels["event"]] = one(rows)[1]
    return found


def same_totals(database, run):
    """Each total of the run equals the report's."""
    figures = run.counted()
    counts = {name: figure["count"] for name, figure in figures.items()}
    assert len(counts) >= 2, counts
    window = "[%dms]" % (run.end_ms - run.start_ms + 1000)
    events, running = "rpistat_events_total{RUN}", "rpistat_event_running_seconds_total{RUN}"
    found = value_of(database, run, "max_over_time(%s%s) - min_over_time(%s%s)" % (events, window, events, window),
                     "event")
    assert found == counts, (found, counts)
    assert value_of(database, run, events, "event") == counts
    assert increases(database, run, "rpistat_events_total") == counts
    for metric, ns in (("rpistat_enabled_seconds_total", run.enabled_ns), ("rpistat_cpu_seconds_total", run.cpu_ns)):
        seconds = value_of(database, run, metric + "{RUN}")
        assert seconds == ns / 1e9, (metric, seconds, ns)
    estimates = value_of(database, run, "%s * on (run, cpu) group_left () rpistat_enabled_seconds_total{RUN} / %s"
                         % (events, running), "event")
    for name, figure in figures.items():
        # report has nine digits of an estimate
        assert abs(estimates[name] - figure["value"]) < 1 + 5e-9 * figure["value"], (name, estimates[name], figure)


def same_count(database, run):
    """There is one sample per period, and the zero at the start; none comes twice."""
    found = value_of(database, run, "count_over_time(rpistat_enabled_seconds_total{RUN}[%dms])"
                     % (run.end_ms - run.start_ms + 1000))
    assert found == run.periods + 1, (found, run.periods)


def same(database, run):
    """The database has the report's values, once its queries include the newest samples: a flush of
    VictoriaMetrics does not wait for a flush that has already begun.
    """
    deadline = time.monotonic() + TIMEOUT
    while True:
        database.flush()
        try:
            same_totals(database, run)
            same_count(database, run)
            return
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


class Between:
    """A proxy in front of a database. It reports when a request arrives and when it has been accepted,
    so that the test can kill and stop at each point.
    """

    def __init__(self, database):
        between = self
        self.requests, self.database = 0, database
        self.on_request = self.on_taken = lambda number: None

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self, body):
                headers = {name: self.headers[name] for name in
                           ("Content-Type", "Content-Encoding", "X-Prometheus-Remote-Write-Version")
                           if self.headers[name]}
                request = urllib.request.Request(database.url(self.path), body, headers)
                try:
                    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                        return answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    return error.code, error.read()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                is_write = self.path.startswith(database.write)
                try:
                    if is_write:
                        between.requests += 1
                        between.on_request(between.requests)
                    status, text = self.forward(body)
                    if is_write:
                        between.on_taken(between.requests)
                except OSError:  # the database is down: the connection ends without an answer
                    self.close_connection = True
                    return
                self.send_answer(status, text)

            def do_GET(self):
                self.send_answer(*self.forward(None))

            def send_answer(self, status, text):
                try:
                    self.send_response(status)
                    if status != 204:
                        self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:  # the client was killed
                    self.close_connection = True

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d%s" % (self.server.server_address[1], database.write)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.server.shutdown()
        self.server.server_close()


def started(kind):
    """Return the database, and start it at the first call."""
    if not kind.is_there():
        raise tap.Skip("%s is not installed (Debian's package has this name)" % kind.program)
    if kind not in DATABASES:
        DATABASES[kind] = kind(os.path.join(FOLDER.path, kind.program))
        DATABASES[kind].start()
    return DATABASES[kind]


def push(url, *options):
    return expect(FOLDER.call("push", "--state", FOLDER / "pushed", *options, url), 0)


def check_totals(kind):
    """totals, increases and estimates of a run by PromQL agree with the report, in {}"""
    database, run = started(kind), RUNS["whole"]
    push(database.url(), "-r", str(run.number))
    same(database, run)
    info = one(database.ask('last_over_time(rpistat_run_info{run="%s"}[1h])' % run.uuid, run.end_ms))[0]
    assert info["label"] == "whole" and info["tag_build"] == "42", info


def check_killed(kind):
    """killed ten times before and after the server accepted a request, and restarted: the same result in {}"""
    database, run = started(kind), RUNS["killed"]
    pushing, starting = [], threading.Lock()

    def kill(number, remainder):
        if number <= 2 * KILLS and number % 4 == remainder:
            with starting:
                pushing[-1].kill()
            raise ConnectionAbortedError("who asked was killed")
    with Between(database) as between:
        between.on_request = lambda number: kill(number, 1)
        between.on_taken = lambda number: kill(number, 3)
        while not pushing or pushing[-1].returncode == -signal.SIGKILL:
            with starting:
                pushing.append(subprocess.Popen(
                    [RPISTAT, "push", "-q", "--state", FOLDER / "pushed", "-r", str(run.number), between.url],
                    cwd=FOLDER.path, env=environment(), stdin=subprocess.DEVNULL))
            pushing[-1].wait(TIMEOUT)
    assert [process.returncode for process in pushing] == KILLS * [-signal.SIGKILL] + [0]
    same(database, run)


def check_away(kind):
    """the server is stopped in the middle and restarted: nothing is lost or duplicated, in {}"""
    database, run = started(kind), RUNS["away"]
    with Between(database) as between:
        def at_request(number):
            if number == 3:
                database.stop()
            elif number == 4:
                database.start()
        between.on_request = at_request
        push(between.url, "-r", str(run.number))
        assert between.requests > 4, between.requests
    same(database, run)


def check_dashboard():
    """each expression and variable of examples/fleet/dashboard.json has a result"""
    database, run = started(servers.Victoria), RUNS["whole"]
    push(database.url(), "-r", str(run.number))
    database.flush()
    with open(os.path.join(tap.root(), "examples", "fleet", "dashboard.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    variables = {variable["name"]: ".*" for variable in dashboard["templating"]["list"]
                 if variable["type"] == "query"}
    variables.update(__rate_interval="4s", __range="%dms" % (run.end_ms - run.start_ms), step="1s",
                     run=run.uuid)

    def filled(expression):
        expression = re.sub(r"\$(\w+)", lambda match: variables[match.group(1)], expression)
        assert "$" not in expression, expression
        return expression
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            query = re.fullmatch(r"label_values\((.*), (\w+)\)", filled(variable["query"]["query"]))
            assert database.ask("count by (%s) (%s)" % (query[2], query[1]), run.end_ms), variable
    expressions = [(panel["title"], target) for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(expressions) >= 6, expressions
    for title, target in expressions:
        found = database.ask_range(filled(target["expr"]), run.start_ms + 10000, run.end_ms, 1000)
        assert found, (title, target["expr"])
        for labels, values in found:
            for name in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                assert labels.get(name), (title, labels)
            assert not any(value == "NaN" for _, value in values), (title, labels)
    # Both columns of totals equal the report's.
    for target, column in zip([target for title, target in expressions if title == "Totals of the runs"], ("value", "count")):
        found = {labels["event"]: float(value) for labels, value in database.ask(filled(target["expr"]), run.end_ms)}
        for event, figure in run.counted().items():
            assert abs(found[event] - figure[column]) < 1 + 5e-9 * figure[column], (event, column, found[event], figure)
    # An event's share of the time uses only the runs in which it is counted.
    share = next(target["expr"] for title, target in expressions if title.startswith("Part of the time"))
    at_ms = run.start_ms + 10000
    before = database.ask(filled(share), at_ms)
    other = "".join('rpistat_enabled_seconds_total{instance="%s",run="other",cpu="all"} %d %d\n'
                    % (before[0][0]["instance"], s, run.start_ms + 1000 * s) for s in range(20))
    urllib.request.urlopen(database.url("/api/v1/import/prometheus"), other.encode(), TIMEOUT).close()
    database.flush()
    variables["run"] += "|other"
    assert database.ask(filled(share), at_ms) == before, before


def check_scraped():
    """Prometheus scrapes watch --http as in examples/fleet/README.md: totals of a live run grow, and end at the report's values"""
    if not servers.Prometheus.is_there():
        raise tap.Skip("prometheus is not installed")
    with open(os.path.join(tap.root(), "examples", "fleet", "README.md"), encoding="utf-8") as file:
        scraping = re.search(r"^    (scrape_configs:\n(?:    .*\n)+)", file.read(), re.M)[1].replace("\n    ", "\n")
    with Folder() as folder, Recording(folder, "rpistat.data") as recording, Server(folder) as server:
        folder.write("token", server.token + "\n")
        scraping = scraping.replace("127.0.0.1:8080", "127.0.0.1:%d" % server.port).replace("rpistat.token", folder / "token")
        scraping = scraping.replace("scrape_interval: 15s", "scrape_interval: 1s")
        with servers.Prometheus(folder / "prometheus", scraping) as database:
            until(lambda: len(database.ask("rpistat_enabled_seconds_total", now_ms())) == 1, "nothing was scraped")
            assert one(database.ask("up", now_ms()))[1] == 1
            info = one(database.ask("rpistat_run_info", now_ms()))[0]
            assert info["command"] == "cat" and info["job"] == "rpistat", info

            def grows():
                recording.process.stdin.write(b"x" * 1000000)
                return database.ask("increase(rpistat_cpu_seconds_total[1m]) > 0", now_ms())
            until(grows, "it does not grow")
            recording.end()
            report = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)
            counts = {figure["label" if figure["kind"] == "clock" else "name"]: figure["count"] for figure in report["figures"]
                      if figure["kind"] in ("clock", "event") and figure["count"] is not None}
            counts.update({name.lower().replace(" ", "_"): counts[name] for name in list(counts) if " " in name})
            assert len(counts) > 3, counts
            until(lambda: {labels["event"]: value for labels, value in database.ask("rpistat_events_total", now_ms())} == counts,
                  "the totals are not the report's")
            folder.write("token", "0" * 32 + "\n")
            until(lambda: one(database.ask("up", now_ms()))[1] == 0, "a wrong token is taken")


def now_ms():
    return time.time() * 1000


def until(is_so, otherwise):
    """Repeat the query until it has an answer."""
    deadline = time.monotonic() + TIMEOUT
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        time.sleep(.05)


def check_service():
    """the options of the push service are accepted; systemd accepts its unit and rates it as safe"""
    name = "rpistat-push.service"
    with open(os.path.join(tap.root(), "examples", "fleet", name), encoding="utf-8") as file:
        unit = file.read()
    lines = re.findall(r"\brpistat (push .*?)(?:$|;)", unit, re.M)
    assert len(lines) == 2, lines
    for line in lines:
        words = line.replace('"', "").split()
        assert expect(FOLDER.call(*words, "--help"), 0).stdout.startswith("Usage: rpistat push"), line
    if not shutil.which("systemd-analyze"):
        raise tap.Skip("there is no systemd-analyze here")
    for other in ("fleet/" + name, "rpistat-record.service"):  # files that the first needs
        with open(os.path.join(tap.root(), "examples", other), encoding="utf-8") as file:
            text = re.sub("^(ExecStart=)rpistat", "\\1" + RPISTAT, file.read(), flags=re.M)
        FOLDER.write(os.path.basename(other), text)
    path = FOLDER / name
    answer = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True,
                            env=environment(SYSTEMD_UNIT_PATH=FOLDER.path + ":"), check=False, timeout=TIMEOUT)
    assert not [line for line in answer.stderr.splitlines() if name in line], answer.stderr
    answer = subprocess.run(["systemd-analyze", "security", "--offline=true", path], capture_output=True,
                            text=True, check=False, timeout=TIMEOUT)
    found = re.search(r"exposure level for \S+: ([0-9.]+)", answer.stdout)
    if not found:
        raise tap.Skip("systemd-analyze security: " + answer.stderr)
    assert float(found.group(1)) < 2, found.group()


def record_all():
    """Record the runs for all cases."""
    FOLDER.write("script.sim", SCRIPT)
    for name in ("whole", "killed", "away"):
        FOLDER.record("-q", "--label", name, "--tag", "build=42")
        # like CPUs that were idle, which a simulated CPU never is
        subprocess.run(["sqlite3", FOLDER / "rpistat.data", "UPDATE period SET idle_ns = enabled_ns / 4"],
                       check=True, timeout=TIMEOUT)
        RUNS[name] = Run(FOLDER, name)


DATABASES, RUNS = {}, {}
with Folder() as FOLDER:
    record_all()
    try:
        tap.main([(case.__doc__.format(kind.program), case, kind)
                  for kind in (servers.Victoria, servers.Prometheus)
                  for case in (check_totals, check_killed, check_away)]
                 + [check_scraped, check_dashboard, check_service])
    finally:
        for running in DATABASES.values():
            running.__exit__()
