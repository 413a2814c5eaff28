#!/usr/bin/env python3
"""Many machines, simulated here by host names: recorded at the same time, pushed meanwhile, merged,
compared and drawn; all numbers agree.

usage: machines.py RPISTAT [MACHINES [FOLDER]]     the merged store and the pictures are left in FOLDER
"""
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

from program import RPISTAT, TIMEOUT, Folder, counting, environment, expect, tap
import servers  # in tests/support

MACHINES = int(sys.argv[2]) if len(sys.argv) > 2 else 20
KEEP = sys.argv[3] if len(sys.argv) > 3 else None


class Machine:
    """One machine: a host name, a store, a recording of `cat`, which ends with its input, and a push."""

    def __init__(self, folder, number, url):
        self.folder, self.host, self.store = folder, "node%02d" % number, "node%02d.data" % number
        record = counting() + ["-q", "--commit", "0", "--period", "50ms", "--label", "job", "--tag",
                               "rack=%s" % "ab"[number % 2], "-o", self.store, "cat"]
        self.recorder = subprocess.Popen(
            ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.host, RPISTAT, *record],
            cwd=folder.path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment())
        self.url, self.pusher = url, None

    def is_recording(self):
        return "recording" in self.folder.call("runs", "-i", self.store).stdout

    def push(self):
        self.pusher = subprocess.Popen(
            [RPISTAT, "push", "-q", "--follow", "--state", self.host + ".pushed", "-i", self.store, self.url],
            cwd=self.folder.path, stdin=subprocess.DEVNULL, env=environment())

    def end(self):
        for process in (self.recorder, self.pusher):
            assert process.wait(TIMEOUT) == 0, (self.host, process.args, process.returncode)

    def kill(self):
        self.recorder.stdin.close()
        for process in filter(None, (self.recorder, self.pusher)):
            if process.poll() is None:
                process.kill()
                process.wait()

    def report(self):
        return report_of(self.folder, self.store, "last")


def report_of(folder, store, run):
    """A run's report without the run's number, which depends on the store."""
    report = json.loads(expect(folder.call("report", "-i", store, "-r", str(run), "--format", "json"), 0).stdout)
    return json.loads(json.dumps(report), object_hook=lambda part: {
        key: value for key, value in part.items() if key != "run" or isinstance(value, dict)})


def counts_of(report):
    """The counts of a run by the event names of time series. A clock event whose name has blanks
    also has its old name.
    """
    counts = {figure["label" if figure["kind"] == "clock" else "name"]: figure["count"]
              for figure in report["figures"]
              if figure["kind"] in ("clock", "event") and figure["count"] is not None}
    counts.update({name.lower().replace(" ", "_"): counts[name] for name in list(counts) if " " in name})
    return counts


def wait_until(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def record(folder, database):
    """Record on all machines at the same time, and push meanwhile. Return the machines."""
    machines = []
    try:
        for number in range(MACHINES):
            machines.append(Machine(folder, number, database.url()))
        for machine in machines:
            wait_until(machine.is_recording)
            machine.push()
        attempts = itertools.count()

        def is_all_there():
            assert not any(machine.pusher.poll() for machine in machines), "a push ended"
            # VictoriaMetrics caches an empty result of a selector for ten seconds, so each attempt
            # uses another selector
            selector = '{instance=~"node.*",attempt!="%d"}' % next(attempts)
            hosts = "count(count by (instance) (rpistat_enabled_seconds_total%s > 0))" % selector
            return [value for _, value in database.ask(hosts, time.time() * 1000)] == [MACHINES]
        wait_until(is_all_there)
        for machine in machines:
            assert machine.recorder.poll() is None, machine.host  # pushed during the recording
            machine.recorder.stdin.close()
        for machine in machines:
            machine.end()
    finally:
        for machine in machines:
            machine.kill()
    return machines


def check_database(machines, database, reports):
    """Sums by machine and over all machines equal those of the reports."""
    database.flush()
    now_ms = time.time() * 1000
    rows = database.ask('sum by (instance, event) (rpistat_events_total{instance=~"node.*"})', now_ms)
    found = {machine.host: {} for machine in machines}
    for labels, value in rows:
        found[labels["instance"]][labels["event"]] = value
    assert found == {machine.host: counts_of(report) for machine, report in zip(machines, reports)}, found
    rows = database.ask('sum by (event) (rpistat_events_total{instance=~"node.*"})', now_ms)
    totals = {labels["event"]: value for labels, value in rows}
    assert totals == {name: sum(counts_of(report)[name] for report in reports) for name in totals}, totals
    assert len(totals) == len(counts_of(reports[0])), totals


def check_merged(folder, machines, reports):
    """The merged store has the same reports."""
    expect(folder.call("merge", "-i", "all.data", *(machine.store for machine in machines)), 0)
    runs = json.loads(expect(folder.call("runs", "-i", "all.data", "--format", "json"), 0).stdout)
    number = {run["host"]: run["run"] for run in runs["runs"]}
    assert len(number) == len(machines), runs
    for machine, report in zip(machines, reports):
        assert report_of(folder, "all.data", number[machine.host]) == report, machine.host
    expect(folder.call("check", "-i", "all.data"), 0)


def check_compared(folder, reports):
    """Groups by tag are compared and drawn side by side, with the figures of the reports."""
    options = ["compare", "-i", "all.data", "rack=a", "rack=b", "--no-phases"]
    answer = json.loads(expect(folder.call(*options, "--format", "json"), 0).stdout)
    compared = 0
    for change in answer["changes"]:
        values = {side: [figure["value"] for report in reports if report["run"]["tags"]["rack"] == side
                         for figure in report["figures"]
                         if figure["kind"] == change["kind"] and figure["name"] == change["name"]] for side in "ab"}
        if not values["a"] or None in values["a"] + values["b"]:
            continue
        is_geometric = all(value > 0 for value in values["a"] + values["b"])
        for side in "ab":
            mean = statistics.geometric_mean(values[side]) if is_geometric else statistics.mean(values[side])
            assert math.isclose(change[side], mean, rel_tol=1e-6), (change, side, values)
            compared += 1
    assert compared >= 6, answer
    for picture in ("all.png", "all.html"):
        expect(folder.call(*options, "-o", picture), 0)
        assert os.path.getsize(folder / picture) > 10000, picture


def check_machines():
    """{} machines recorded at the same time: pushed, merged, compared and drawn, with equal numbers"""
    if not servers.Victoria.is_there():
        raise tap.Skip("victoria-metrics is not installed (Debian's package has this name)")
    if subprocess.run(["unshare", "--uts", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise tap.Skip("host names cannot be played here (unshare --uts)")
    with Folder() as folder, servers.Victoria(folder / "database") as database:
        machines = record(folder, database)
        reports = [machine.report() for machine in machines]
        assert [report["run"]["host"] for report in reports] == [machine.host for machine in machines]
        check_database(machines, database, reports)
        check_merged(folder, machines, reports)
        check_compared(folder, reports)
        for name in ("all.data", "all.png", "all.html") if KEEP else ():
            shutil.copy(folder / name, KEEP)


if __name__ == "__main__":
    tap.main([(check_machines.__doc__.format(MACHINES), check_machines)])
