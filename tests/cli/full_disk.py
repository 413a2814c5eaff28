"""A disk that is full, or that becomes full during a recording: a small one in a mount namespace.

usage: full_disk.py RPISTAT
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import program
from program import RPISTAT, Folder, counting, environment, expect, tap

INSIDE = "--inside"  # argv[2]: this program again, in the namespace, on the folder argv[4]
RECORD = ["record", "--pmu", "software", "--period", "1ms", "-o", "disk/rpistat.data"]


def in_namespace(case):
    """Run a function of this file with a file system of 8 MiB in `disk` of a folder."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise tap.Skip("a private file system needs root and unshare")
    counting()
    with Folder() as folder:
        os.mkdir(folder / "disk")
        mount = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=8m none disk && exec \"$@\"",
                 "sh"]
        if subprocess.run([*mount, "true"], cwd=folder.path, capture_output=True,
                          check=False).returncode != 0:
            raise tap.Skip("no small file system can be mounted here")
        answer = subprocess.run([*mount, sys.executable, os.path.abspath(__file__), RPISTAT, INSIDE,
                                 case.__name__, folder.path], cwd=folder.path, check=False,
                                capture_output=True, text=True, timeout=program.TIMEOUT)
        assert answer.returncode == 0, answer.stdout + answer.stderr


def wait_until(what, condition):
    """There is no event to wait for, so test the condition again until it is true or the test's time limit is over."""
    end = time.monotonic() + program.TIMEOUT
    while not condition():
        assert time.monotonic() < end, "never: " + what
        time.sleep(0.01)


class Recording:
    """A recording whose workload waits for its standard input to end."""

    def __init__(self, options=()):
        self.errors = open("errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [RPISTAT, *RECORD, *options, "cat"], stdin=subprocess.PIPE, stderr=self.errors,
            env=environment(), text=True)

    def said(self):
        with open("errors", encoding="utf-8") as file:
            return file.read().splitlines()

    def periods(self):
        try:
            return query("SELECT count(*) FROM period")[0][0]
        except sqlite3.Error:
            return 0

    def end(self):
        self.process.stdin.close()
        return self.process.wait(program.TIMEOUT)


def query(statement):
    store = sqlite3.connect("file:disk/rpistat.data?mode=ro", uri=True, timeout=60)
    try:
        return store.execute(statement).fetchall()
    finally:
        store.close()


def fill(left=0):
    """Fill the disk except for this number of bytes."""
    with open("disk/fill", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(file.tell() - left)


def contiguous():
    rows = query("SELECT period, start_ns, length_ns FROM period ORDER BY period")
    end = 0
    for number, (period, start, length) in enumerate(rows):
        assert (period, start) == (number, end), (number, period, start, end)
        end = start + length
    assert query("PRAGMA integrity_check") == [("ok",)]
    return len(rows), end


def freed_again():
    recording = Recording()
    wait_until("some periods are in the store", lambda: recording.periods() >= 10)
    fill()
    wait_until("the full disk is said", recording.said)
    before = recording.periods()
    assert recording.process.poll() is None, "the recording ended"
    os.unlink("disk/fill")
    wait_until("the end of it is said", lambda: len(recording.said()) >= 2)
    wait_until("more periods are in the store", lambda: recording.periods() >= before + 10)
    assert recording.end() == 0, recording.said()
    count, end = contiguous()
    assert query("SELECT state, elapsed_ns, (SELECT count(*) FROM gap) FROM run") == [
        ("complete", end, 0)], "%d periods, %d ns" % (count, end)
    said = recording.said()
    assert len(said) == 2 and all("disk/rpistat.data" in line for line in said), said
    assert "full" in said[0] or "space" in said[0], said
    report = subprocess.run([RPISTAT, "report", "-i", "disk/rpistat.data"], check=False, text=True,
                            capture_output=True, env=environment())
    assert report.returncode == 0 and str(count) in report.stdout.replace(",", ""), report


def full_to_the_end():
    recording = Recording()
    wait_until("some periods are in the store", lambda: recording.periods() >= 10)
    fill()
    wait_until("the full disk is said", recording.said)
    assert recording.end() == 1, recording.said()
    said = recording.said()
    assert "disk/rpistat.data" in said[-1], said
    os.unlink("disk/fill")
    # the recorder has exited, so heartbeats do not delay this
    shown = subprocess.run([RPISTAT, "runs", "-i", "disk/rpistat.data", "--format", "json"],
                           check=False, text=True, capture_output=True, env=environment())
    assert json.loads(shown.stdout)["runs"][0]["state"] == "interrupted", shown
    stop = subprocess.run([RPISTAT, "stop", "-i", "disk/rpistat.data", "1"], check=False, text=True,
                          capture_output=True, env=environment())
    assert stop.returncode == 1 and "is interrupted" in stop.stderr, stop
    watch = subprocess.run([RPISTAT, "watch", "--once", "-i", "disk/rpistat.data"], check=False,
                           text=True, capture_output=True, env=environment())
    assert watch.returncode == 0 and "run 1  interrupted" in watch.stdout, watch
    status = subprocess.run([RPISTAT, "status", "--format", "json"], check=False, text=True,
                            capture_output=True, env=environment())
    stores = [row["store"] or "" for row in json.loads(status.stdout)["recorders"]]
    assert not any(store.endswith("disk/rpistat.data") for store in stores), stores
    count, _ = contiguous()
    assert count >= 10
    program.silence("disk/rpistat.data")
    # the state that the next recording finds
    again = subprocess.run([RPISTAT, *RECORD, "true"], check=False, text=True, capture_output=True,
                           env=environment(), stdin=subprocess.DEVNULL)
    assert again.returncode == 0 and not again.stderr, again
    assert query("SELECT state FROM run ORDER BY run_id") == [("interrupted",), ("complete",)]


def full_at_the_start():
    fill()
    answer = subprocess.run([RPISTAT, *RECORD, "touch", "started"], check=False, text=True,
                            capture_output=True, env=environment(), stdin=subprocess.DEVNULL)
    program.refused(answer, 1, "disk/rpistat.data")
    assert not os.path.exists("started") and os.listdir("disk") == ["fill"], os.listdir("disk")
    os.unlink("disk/fill")
    expect(subprocess.run([RPISTAT, *RECORD, "touch", "started"], check=False, text=True,
                          capture_output=True, env=environment(), stdin=subprocess.DEVNULL), 0)
    assert os.path.exists("started")


def full_while_changing():
    def rpistat(*arguments):
        return subprocess.run([RPISTAT, *arguments], check=False, text=True, capture_output=True,
                              env=environment())

    for name, marks in ("small.data", 0), ("middle.data", 2000), ("large.data", 10000):
        expect(rpistat("record", "-q", "--pmu", "sim:script.sim", "-o", name), 0)
        store = sqlite3.connect(name)
        with store:
            store.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= ?) INSERT"
                          " INTO mark SELECT 1, i, 0, printf('%900d', i) FROM n LIMIT ?", (marks, marks))
        store.close()
    into = ("-i", "disk/rpistat.data")
    expect(rpistat("merge", *into, "middle.data"), 0)
    refused = program.refused(rpistat("merge", *into, "large.data"), 1, "disk/rpistat.data", "its disk is full")
    assert refused.stdout == ""
    assert query("SELECT run_id FROM run") == [(1,)] and query("SELECT DISTINCT run_id FROM mark") == [(1,)]
    assert ": OK (1 run, 250 periods)" in expect(rpistat("check", *into), 0).stdout
    expect(rpistat("merge", *into, "small.data"), 0)
    fill(left=1 << 20)  # deleting a run needs as much space as the run
    program.refused(rpistat("runs", *into, "--delete", "1"), 1, "disk/rpistat.data", "its disk is full")
    assert ": OK (2 runs, 500 periods)" in expect(rpistat("check", *into), 0).stdout
    assert query("SELECT count(*) FROM mark") == [(2000,)]
    os.unlink("disk/fill")
    expect(rpistat("runs", *into, "--delete", "1"), 0)
    assert query("SELECT run_id FROM run") == [(2,)] and query("SELECT count(*) FROM mark") == [(0,)]


def full_while_importing():
    """a new store is deleted; a store with another run keeps that run, and the message names the part that stays"""
    def rpistat(*arguments):
        return subprocess.run([RPISTAT, *arguments], check=False, text=True, capture_output=True, env=environment())

    with open("large.csv", "w", encoding="ascii") as file:
        file.write("time,a,b\n" + "".join("%d,%d,%d\n" % (i, i * 7919 % 1000003, i * 31 % 977) for i in range(1, 50000)))
    with open("small.csv", "w", encoding="ascii") as file:
        file.write("time,a\n1,2\n2,3\n")
    # with 700 kB, the rows cannot be deleted; with 400 kB, the log is full after some rows; with 100 kB, there can be no store
    for left, lost in (700_000, "the file is not imported"), (400_000, "the file is not imported"), (100_000, "free some space"):
        fill(left)
        program.refused(rpistat("import", "-o", "disk/rpistat.data", "large.csv"), 1, "disk/rpistat.data", "its disk is full", lost)
        assert os.listdir("disk") == ["fill"], os.listdir("disk")
        os.unlink("disk/fill")
    expect(rpistat("import", "-o", "disk/rpistat.data", "small.csv"), 0)
    fill(700_000)
    answer = program.refused(rpistat("import", "-o", "disk/rpistat.data", "large.csv"), 1, "its disk is full", "the file is not imported")
    kept = [(1,), (2,)] if "a part stays in run 2" in answer.stderr else [(1,)]
    assert query("SELECT run_id FROM run ORDER BY run_id") == kept, (answer.stderr, query("SELECT run_id, state FROM run"))
    os.unlink("disk/fill")
    if len(kept) == 2:
        program.silence("disk/rpistat.data")
    expect(rpistat("import", "-o", "disk/rpistat.data", "small.csv"), 0)  # marks the part as interrupted
    if len(kept) == 2:
        expect(rpistat("runs", "-i", "disk/rpistat.data", "--delete", "2"), 0)
    assert query("SELECT DISTINCT state FROM run") == [("complete",)]
    assert ": OK (2 runs, 4 periods)" in expect(rpistat("check", "-i", "disk/rpistat.data"), 0).stdout


CASES = [("fills during an import: a new store is deleted, and the message names a part that stays in another store", full_while_importing),
         ("fills while runs are merged and deleted: an error, and no part of a run is left", full_while_changing),
         ("full at the start: said, nothing started, nothing left behind", full_at_the_start),
         ("fills and is freed again: nothing is lost, said once and once that it is over",
          freed_again),
         ("full to the end: status 1, what was committed can be read, the next run works",
          full_to_the_end)]

if sys.argv[2:3] == [INSIDE]:
    globals()[sys.argv[3]]()
else:
    tap.main([(name, in_namespace, case) for name, case in CASES])
