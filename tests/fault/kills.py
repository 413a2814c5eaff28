#!/usr/bin/env python3
"""A recorder that is killed at any moment leaves a sound store: kills.py RPISTAT [KILLS [SEED]]

Records `sleep` with periods of 1 ms into one store, a run a kill, and kills the recorder (SIGKILL) at
random moments, from its first millisecond on. After each kill the store must open, pass `rpistat
check`, hold what was seen in it before the kill, and lack nothing but what was being measured: the
last period ends no longer before the kill than the recorder was seen to be late.
"""
import os
import random
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
PERIOD_NS = 1000000

# A recorder that is not scheduled for so long measures nothing meanwhile, and is none the worse for it.
LATE_NS = 200 * PERIOD_NS


def newest_in(store):
    """Number of the newest run, 0 when there is none yet, and of its periods."""
    try:
        connection = sqlite3.connect("file:%s?mode=ro" % store, uri=True, timeout=5)
        row = connection.execute("SELECT run_id, (SELECT count(*) FROM period AS p WHERE p.run_id ="
                                 " r.run_id) FROM run AS r ORDER BY run_id DESC").fetchone()
        connection.close()
    except sqlite3.OperationalError:
        return 0, 0
    return row or (0, 0)


def kill_once(store, delay_s, runs_before):
    """One recording that is killed; how long before the kill its last period ended, ns, or None."""
    recorder = subprocess.Popen(
        [RPISTAT, "record", "-q", "--pmu", "software", "--period", "1ms", "-o", store, "--",
         "sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay_s)
    seen_run, seen = newest_in(store) if os.path.exists(store) else (0, 0)
    killed_ns = time.monotonic_ns()
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    try:  # the workload, which is ours too
        os.killpg(recorder.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if not os.path.exists(store) or os.path.getsize(store) == 0:
        return None  # killed before it had made a store
    answer = call("check", "-i", store)
    if answer.returncode == 1 and "is empty" in answer.stderr and not seen_run:
        return None  # killed while it made the store: its tables come in one transaction
    expect(answer, 0)
    connection = sqlite3.connect(store)
    runs = connection.execute("SELECT run_id, state, start_monotonic_ns FROM run"
                              " ORDER BY run_id").fetchall()
    assert len(runs) >= runs_before, runs
    if len(runs) == runs_before:
        return None  # killed before it had begun a run
    run_id, state, start_ns = runs[-1]
    count, last_ns = connection.execute(
        "SELECT count(*), max(start_ns + length_ns) FROM period WHERE run_id = ?",
        (run_id,)).fetchone()
    connection.close()
    assert state == "interrupted" or not count, "%s, with %d periods" % (state, count)
    assert run_id != seen_run or count >= seen, "%d periods, where %d had been seen before the kill" % (count, seen)
    return None if not count else killed_ns - start_ns - last_ns


def test_kills():
    """killed at random moments: every store opens, passes check and lacks at most the last period"""
    moments = random.Random(SEED)
    folder = tempfile.mkdtemp(prefix="rpistat-kills-")
    store = os.path.join(folder, "rpistat.data")
    lost, before_a_period = [], 0
    try:
        for _ in range(KILLS):
            runs = 0
            if os.path.exists(store) and os.path.getsize(store):
                runs = sqlite3.connect(store).execute("SELECT count(*) FROM run").fetchone()[0]
            behind_ns = kill_once(store, moments.expovariate(4), runs)
            if behind_ns is None:
                before_a_period += 1
                continue
            lost.append(behind_ns)
        assert lost, "no recorder lived to its first period"
        lost.sort()
        print("# %d kills, %d before the first period; the last period ended before the kill by: "
              "median %.2f ms, 99 %% %.2f ms, most %.2f ms"
              % (KILLS, before_a_period, lost[len(lost) // 2] / 1e6,
                 lost[len(lost) * 99 // 100] / 1e6, lost[-1] / 1e6), flush=True)
        assert lost[-1] < LATE_NS, "the last period ended %.1f ms before the kill" % (lost[-1] / 1e6)
    finally:
        shutil.rmtree(folder)


tap.main([test_kills])
