"""System calls: counted only on request, counted exactly, and with their cost reported.

usage: syscalls.py RPISTAT WORKLOAD
"""
import os
import sqlite3
import sys

import program
from program import RPISTAT, Folder, call, expect, tap

import tracefs

WORKLOAD = os.path.abspath(sys.argv[2])
CALLS = 100000
OTHER_MAX = 500  # system calls of the workload's start and end


def record(folder, *options):
    """Record this number of calls. Return the events, {name: (label, count, cost_ns)}, and the report."""
    program.counting()  # skips the test if nothing can be counted
    answer = expect(folder.call("record", "-q", *options, "--", WORKLOAD, "call", str(CALLS)), 0)
    assert "calls %d\n" % CALLS in answer.stdout, answer
    store = sqlite3.connect(folder / "rpistat.data")
    rows = store.execute("SELECT name, label, count, cost_ns FROM event WHERE set_no >= 0 AND run_id "
                         "= (SELECT max(run_id) FROM run)").fetchall()
    store.close()
    report = expect(folder.call("report"), 0).stdout
    return {row[0]: row[1:] for row in rows}, " ".join(report.split())


def need_syscalls():
    answer = call("events", "--pmu", "software", "syscalls")
    if answer.returncode != 0:
        raise tap.Skip("system calls cannot be counted here: " + answer.stdout + answer.stderr)


def test_default():
    """by default no system calls are counted, and nothing mentions them"""
    with Folder() as folder:
        for options in [], ["--pmu", "software"], ["--sets", "software"]:
            events, report = record(folder, *options)
            assert events and "syscalls" not in events, events
            assert "System calls" not in report and "Counting cost" not in report, report
            assert all(cost is None for _, _, cost in events.values()), events


def check_counted(*options):
    need_syscalls()
    with Folder() as folder:
        events, report = record(folder, *options)
        name = next(name for name in events if "sys" in name)
        label, count, cost = events.pop(name)
        assert CALLS <= count <= CALLS + OTHER_MAX, (count, report)
        assert cost > 0, events
        assert "Counting cost: %s took about %d ns longer each (measured when the recording began)," \
            " in total about" % (label, cost) in report, report
        assert all(cost is None for _, _, cost in events.values()), events
        return events, report


def test_scenario():
    """--scenario syscalls counts them and their rate, in addition to the other events"""
    events, report = check_counted("--scenario", "syscalls")
    assert {"task_clock", "minor_faults", "context_switches", "block_io"} <= set(events), events
    for label in "System calls ", "Call density ", "CPU use ":
        assert label in report, (label, report)


def test_tracepoints():
    """tracepoints of single system calls are counted by name, SYSTEM:NAME, as in perf"""
    need_syscalls()
    names = ["syscalls:sys_enter_futex", "syscalls:sys_enter_getppid"]
    answer = call("events", "--pmu", "software", *names)
    if answer.returncode != 0:
        raise tap.Skip("this kernel has no tracepoints of single system calls: " + answer.stdout)
    with Folder() as folder:
        events, report = record(folder, "-e", ",".join(names), "--metric", names[1] + "/seconds")
        counts = {label: count for label, count, _ in events.values()}
        assert counts[names[1]] == CALLS, counts
        assert 0 <= counts[names[0]] < OTHER_MAX, counts
        assert names[1] + "/seconds " in report, report


def test_listed():
    """`rpistat events` says that they are not counted by default"""
    with Folder() as folder:
        lines = expect(folder.call("events", "--sets", "software"), 0).stdout.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith("  Set syscalls"))
        assert "not by default" in lines[head] and "raw_syscalls:sys_enter" in lines[head + 1], lines
        assert sum("raw_syscalls" in line for line in lines) == 1, lines


tracefs.begin_again(RPISTAT)
tap.main([test_default, test_listed, test_scenario, test_tracepoints,
          ("-e syscalls counts them", check_counted, "-e", "syscalls"),
          ("-e raw_syscalls:sys_enter counts them", check_counted, "-e", "raw_syscalls:sys_enter")])
