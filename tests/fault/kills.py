#!/usr/bin/env python3
"""A recorder that is killed at any moment leaves a sound store: kills.py RPISTAT [KILLS [SEED]]

Records `sleep` with periods of 1 ms into one store, a run a kill, and kills the recorder (SIGKILL) at
random moments, from its first millisecond on; with the usual commits, one a second, and with --commit 0.
After each kill the store must open, pass `rpistat check` and hold what was seen in it before the kill.
(That nothing but what was handed over since the last commit is lost: killed.c.)
"""
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from program import RPISTAT, call, expect, tap  # noqa: E402

KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 25
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
def newest_in(store):
    """The number of the newest run, or 0 if there is none yet, and of its periods."""
    try:
        connection = sqlite3.connect("file:%s?mode=ro" % store, uri=True, timeout=60)
        row = connection.execute("SELECT run_id, (SELECT count(*) FROM period AS p WHERE p.run_id ="
                                 " r.run_id) FROM run AS r ORDER BY run_id DESC").fetchone()
        connection.close()
    except sqlite3.OperationalError:
        return 0, 0
    return row or (0, 0)


def runs_in(store):
    """(run_id, state, start_monotonic_ns) of each run; [] before its tables are created."""
    if not os.path.exists(store) or os.path.getsize(store) == 0:
        return []
    connection = sqlite3.connect(store, timeout=60)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run'").fetchall():
            return []  # killed while it created the store: its tables come in one transaction
        return connection.execute("SELECT run_id, state, start_monotonic_ns FROM run"
                                  " ORDER BY run_id").fetchall()
    finally:
        connection.close()


def kill_once(store, delay_s, options):
    """Kill one recording. Return how long before the kill its last period ended in ns, or None."""
    runs_before = len(runs_in(store))
    recorder = subprocess.Popen(
        [RPISTAT, "record", "-q", "--pmu", "software", "--period", "1ms", *options, "-o", store, "--",
         "sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay_s)
    seen_run, seen = newest_in(store) if os.path.exists(store) else (0, 0)
    killed_ns = time.monotonic_ns()
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    try:  # and the workload
        os.killpg(recorder.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    runs = runs_in(store)
    assert len(runs) >= runs_before, runs
    if not runs:
        return None  # killed before it created a store
    expect(call("check", "-i", store), 0)
    if len(runs) == runs_before:
        return None  # killed before its run began
    run_id, state, start_ns = runs[-1]
    connection = sqlite3.connect(store)
    count, last, last_ns = connection.execute(
        "SELECT count(*), max(period), max(start_ns + length_ns) FROM period WHERE run_id = ?",
        (run_id,)).fetchone()
    connection.close()
    assert state == "recording", state
    assert run_id != seen_run or count >= seen, "%d periods, where %d had been seen before the kill" % (count, seen)
    assert not count or last == count - 1, "%d periods, and the last is number %d" % (count, last)
    return None if not count else killed_ns - start_ns - last_ns


def kill_many(*options):
    moments = random.Random(SEED)
    folder = tempfile.mkdtemp(prefix="rpistat-kills-")
    store = os.path.join(folder, "rpistat.data")
    try:
        # every second one is killed after its second commit
        behind = [kill_once(store, moments.expovariate(4) + number % 2, options)
                  for number in range(KILLS)]
        lost = sorted(each for each in behind if each is not None)
        if lost:
            print("# %d kills, %d before the first commit; the last period ended before the kill by: "
                  "median %.2f ms, 99 %% %.2f ms, most %.2f ms"
                  % (KILLS, KILLS - len(lost), lost[len(lost) // 2] / 1e6,
                     lost[len(lost) * 99 // 100] / 1e6, lost[-1] / 1e6), flush=True)
        if not runs_in(store):
            return
        connection = sqlite3.connect(store)
        connection.execute("UPDATE heartbeat SET realtime_ns = 0")  # as if a minute later
        connection.commit()
        connection.close()
        shown = expect(call("runs", "-i", store), 0).stdout.splitlines()[1:]
        assert len(shown) == len(runs_in(store)), shown
        assert all("interrupted" in line for line in shown), shown
    finally:
        shutil.rmtree(folder)


def start(store, *options):
    """A recorder with periods of 1 ms, in a session of its own."""
    return subprocess.Popen(
        [RPISTAT, "record", "-q", "--pmu", "software", "--period", "1ms", "--commit", "0", *options, "-o", store,
         "--", "sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)


def kill(recorder):
    try:
        os.killpg(recorder.pid, signal.SIGKILL)  # and the workload
    except ProcessLookupError:
        pass
    recorder.wait()


def stores(folder):
    """The store files: a killed recorder also leaves other files."""
    return [os.path.join(folder, name) for name in os.listdir(folder)
            if not re.search(r"\.new-[0-9a-f]{8}(-journal)?$|-wal$|-shm$|\.txt$", name)]


def expect_whole(folder):
    """Each store can be opened and is complete; there is no file next to it that would be refused."""
    for store in stores(folder):
        answer = expect(call("check", "-i", store), 0)
        assert "empty" not in answer.stderr, answer
        expect(call("runs", "-i", store), 0)
    return len(stores(folder))


def kill_at_once():
    """Use a new store each time; the next recording into it works."""
    moments = random.Random(SEED)
    kills, made = 2 * KILLS, 0
    for _ in range(kills):
        with tempfile.TemporaryDirectory(prefix="rpistat-kills-") as folder:
            store = os.path.join(folder, "rpistat.data")
            recorder = start(store)
            time.sleep(moments.uniform(0, 0.06))
            kill(recorder)
            made += expect_whole(folder)
            expect(call("record", "-q", "--pmu", "software", "-o", store, "true"), 0)
    print("# %d kills in the first 60 ms, %d had made the store; every one opens" % (kills, made), flush=True)


def has_period(store):
    return os.path.exists(store) and newest_in(store)[1] > 0


def kill_moved():
    """Move the store during the recording, and kill the recorder at about the time when it saves the rest."""
    moments = random.Random(SEED)
    kills, saved = (KILLS + 3) // 4, 0  # each takes a second
    for _ in range(kills):
        with tempfile.TemporaryDirectory(prefix="rpistat-kills-") as folder:
            store = os.path.join(folder, "rpistat.data")
            recorder = start(store)
            until = time.monotonic() + 300
            while not has_period(store):
                assert time.monotonic() < until and recorder.poll() is None
                time.sleep(0.01)
            os.rename(store, store + ".moved")
            until = time.monotonic() + 300
            while not any(".saved-" in name for name in os.listdir(folder)):  # it checks every second
                assert time.monotonic() < until and recorder.poll() is None
                time.sleep(0.0005)
            time.sleep(moments.uniform(0, 0.15))
            kill(recorder)
            saved += expect_whole(folder) - 1
            assert os.path.exists(store + ".moved")
    print("# %d kills after a move, %d had saved a copy; every store opens" % (kills, saved), flush=True)


tap.main([("killed at random moments: every store opens and passes check", kill_many),
          ("killed at random moments, --commit 0", kill_many, "--commit", "0"),
          ("killed in the first 60 ms: there is a whole store, or none", kill_at_once),
          ("killed when the store was moved: what there is is whole", kill_moved)])
