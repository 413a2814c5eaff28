#!/usr/bin/env python3
"""This machine's own counters, tested with a loop of known length.

usage: pmu.py RPISTAT LOOP WORKLOAD
"""
import os
import platform
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import counters  # noqa: E402
import tap  # noqa: E402
from recording import TURN_INSTRUCTIONS, Recording, near  # noqa: E402

RPISTAT, LOOP, WORKLOAD = map(os.path.abspath, sys.argv[1:4])
TURNS = 1000000000


def need_counters():
    """Skip the test unless the loop and hardware counters are available."""
    if subprocess.call([LOOP, "1"]) == 77:
        raise tap.Skip("no loop was written for a %s" % platform.machine())
    counters.need_counters()


def record(folder, sets, *options, command=(LOOP, str(TURNS))):
    store = os.path.join(folder, "loop.data")
    subprocess.run([RPISTAT, "record", "-q", "-o", store, "--pmu", "hardware", "--period", "10ms",
                    "--sets", os.path.join(HERE, sets), *options, "--", *command],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return Recording(store)


def check_one_set():
    """one set: the loop's instructions are counted within 1 %"""
    need_counters()
    with tempfile.TemporaryDirectory() as folder:
        recording = record(folder, "one-set.ini")
        near("instructions", recording.total("c0"), TURNS * TURN_INSTRUCTIONS, 0.01)
        assert recording.total("c1") > 0
        assert set(recording.sets()) == {0}


def check_rotation():
    """four sets in rotation: together they count the loop's instructions within 1 %"""
    # The estimates of single sets would need an idle machine: if another thread shares the core,
    # the loop's speed changes by half between periods.
    need_counters()
    with tempfile.TemporaryDirectory() as folder:
        recording = record(folder, "four-sets.ini", "--always-rotate", "--order", "fixed")
        sets = recording.sets()
        assert sets == [period % 4 for period in range(len(sets))], sets
        assert len(sets) >= 8, "too few periods: %d" % len(sets)
        near("instructions", recording.total("c0"), TURNS * TURN_INSTRUCTIONS, 0.01)


def check_exact():
    """a loop three times as long: the difference is exact, to one instruction in 100,000"""
    # the cost of starting and ending a program is in both, and cancels out
    need_counters()
    with tempfile.TemporaryDirectory() as folder:
        counts = [record(folder, "one-set.ini", command=(LOOP, str(turns))).total("c0")
                  for turns in (TURNS // 10, 3 * TURNS // 10)]
        near("instructions", counts[1] - counts[0], TURNS // 5 * TURN_INSTRUCTIONS, 0.00001)


def check_threads():
    """64 threads while four sets rotate: each set counts, and together they cover all the time"""
    need_counters()
    with tempfile.TemporaryDirectory() as folder:
        recording = record(folder, "four-sets.ini", "--always-rotate",
                           command=(WORKLOAD, "threads", "64", "30000"))
        sets = recording.sets()
        assert sets == [period % 4 for period in range(len(sets))], sets
        near("time on counters", recording.total("running_ns"), recording.total("enabled_ns"), 0.1)
        for number in range(4):
            running = recording.one("SELECT sum(running_ns) FROM period WHERE run_id = ? AND "
                                    "set_no = ?", recording.run, number)
            assert running > 0, "set %d was never on counters" % number
        assert recording.one("SELECT count(*) FROM period WHERE run_id = ? AND running_ns > 0 AND "
                             "c0 IS NULL", recording.run) == 0


tap.main([check_one_set, check_rotation, check_exact, check_threads])
