#!/usr/bin/env python3
"""Counters whose reading fails, in a real recording: reads.py RPISTAT LIBRARY

Reads of counters are interrupted, cut short, or fail, every one or every so many (preload.c). An
interruption is nothing; what could not be read is NULL in the store and never a wrong number, or the
recording ends with a sentence. The store is sound and the workload is left alone.
"""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from program import Folder, counting, environment, expect, tap  # noqa: E402

LIBRARY = os.path.abspath(sys.argv[2])
WORK = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done > finished"
OPTIONS = ["-q", "--period", "10ms", "--sets", "sets.ini", "-o", "rpistat.data", "--", "sh", "-c", WORK]
SETS = """\
[plan]
name = reads
title = Two sets of events of the kernel

[event task_clock]
event = task-clock

[event switches]
event = context-switches

[event faults]
event = page-faults

[event moves]
event = cpu-migrations

[set one]
events = task_clock, switches

[set two]
events = faults, moves
"""


def record(folder, fault):
    folder.write("sets.ini", SETS)
    answer = folder.call(*counting(), *OPTIONS, env=environment(
        LD_PRELOAD=LIBRARY, RPISTAT_FAULT_READ=fault, RPISTAT_FAULT_COUNT=folder / "count"))
    assert int(folder.read("count").split()[1]) > 0, "no counter was read"
    assert os.path.exists(folder / "finished"), answer.stderr or "the workload did not come to its end"
    check = folder.call("check", "-i", "rpistat.data")
    assert check.returncode == 0, check.stdout + check.stderr
    return answer


def query(folder, statement):
    connection = sqlite3.connect(folder / "rpistat.data")
    rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def interrupted():
    """interrupted reads are repeated: nothing is missing"""
    with Folder() as folder:
        expect(record(folder, "2:eintr"), 0)
        (periods, missing), = query(folder, "SELECT count(*), sum(c0 IS NULL OR c1 IS NULL) FROM period")
        assert periods > 1 and missing == 0, (periods, missing)
        print("# %d periods, every second read interrupted: %d counts missing" % (periods, missing))


def unreadable(fault):
    with Folder() as folder:
        answer = record(folder, fault)
        periods, counted = query(folder, "SELECT count(*), count(c0) + count(c1) FROM period")[0]
        if answer.returncode != 0:
            expect(answer, 1)
            assert answer.stderr.splitlines()[-1].startswith("rpistat: "), answer.stderr
            assert "Success" not in answer.stderr, answer.stderr
        wrong = query(folder, "SELECT count(*) FROM period WHERE cycles < 0 OR cycles > 1000 * length_ns")
        assert wrong == [(0,)], "counts that cannot be"
        print("# reads %s: status %d, %d periods, %d of %d counts read; the store is sound. %s"
              % (fault, answer.returncode, periods, counted, 2 * periods, answer.stderr.strip()))


tap.main([interrupted]
         + [("every %s read of a counter: %s" % tuple(fault.split(":")), unreadable, fault)
            for each in (2, 3, 7) for fault in ("%d:%s" % (each, kind) for kind in
                                                ("eintr", "short", "zero", "eio"))])
