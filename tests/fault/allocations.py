#!/usr/bin/env python3
"""Failing allocations at each point: allocations.py RPISTAT LIBRARY [CASES]

Runs each command again and again, with another allocation that fails each time, alone or with all
that follow: CASES of them a command, spread over the whole run, or every one (CASES 0). A command
either ends with status 1 and a sentence, or does exactly what it does with memory: a failure that
is passed over and a wrong answer with status 0 would be worse than none. The store stays sound.
"""
import concurrent.futures
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from program import Folder, counting, environment, expect, tap  # noqa: E402

LIBRARY = os.path.abspath(sys.argv[2])
CASES = int(sys.argv[3]) if len(sys.argv) > 3 else 20
RECORD = ["record", "-q", "--pmu", "sim:script.sim", "-o", "NAME.data"]
SAMPLES = """\
task main 100
function main  0x1000 0x100 main.c:10
function solve 0x2000 0x200 solve.c:21-24
phase load 5s dc_miss=5k code=main:80%,main>solve
phase solve 5s code=main>solve
"""


def call(folder, arguments, **variables):
    return folder.call(*arguments, env=environment(LD_PRELOAD=LIBRARY, **variables), timeout=300)


def run_of(store):
    """The runs in a store: (state, periods) of each run, [] without a run."""
    try:
        connection = sqlite3.connect("file:%s?mode=ro" % store, uri=True)
        rows = connection.execute("SELECT state, (SELECT count(*) FROM period AS p WHERE p.run_id ="
                                  " r.run_id) FROM run AS r ORDER BY run_id").fetchall()
        connection.close()
        return rows
    except sqlite3.OperationalError:
        return []


def look_at_store(folder, store, what, answer, runs):
    """After a recording: the store is sound, and complete if the recorder says so."""
    check = folder.call("check", "-i", store)
    if check.returncode == 1 and ("is empty" in check.stderr or "no store" in check.stderr):
        assert answer.returncode == 1, what + ": no store, and status 0"
        return
    assert check.returncode == 0, "%s: %s%s" % (what, check.stdout, check.stderr)
    with open(folder / store, "rb") as file:
        assert file.read(20)[18:] == b"\2\2", what + ": the store has no write-ahead log any more"
    if answer.returncode == 0:
        assert run_of(folder / store) == runs, "%s: %s" % (what, run_of(folder / store))


def try_once(folder, arguments, existing, name, **variables):
    """Return the answer of a command with its own output files NAME.data and NAME.svg."""
    if existing:
        shutil.copy(folder / "rpistat.data", folder / name + ".data")
    return call(folder, [word.replace("NAME", name) for word in arguments], **variables)


def fail_one(folder, arguments, existing, usual, number, on):
    """Run one case. Return 1 if the command failed."""
    name = "allocation%d" % number
    what = "%s, allocation %d%s" % (arguments[0], number, on)
    answer = try_once(folder, arguments, existing, name,
                      RPISTAT_FAULT_ALLOC="%d%s" % (number, on))
    assert answer.returncode in (0, 1), "%s: status %d, %s" % (
        what, answer.returncode, answer.stderr)
    if answer.returncode == 1:
        last = answer.stderr.splitlines()[-1:] or [""]
        assert last[0].startswith("rpistat: ") and len(last[0]) > 20, "%s: %r" % (
            what, answer.stderr)
    elif arguments[0] != "record":
        assert answer.stdout.replace(name, "usual") == usual.stdout, what + ": another answer"
    if arguments[0] in ("record", "merge"):
        look_at_store(folder, name + ".data", what, answer, usual.runs)
    return answer.returncode


def fail_each(arguments, existing=False, script=None):
    with Folder(2 if arguments[0] == "compare" else 0 if script else 1) as folder:
        if script:
            folder.write("script.sim", script)
            folder.record()
        usual = expect(try_once(folder, arguments, existing, "usual",
                                RPISTAT_FAULT_COUNT=folder / "count"), 0)
        usual.runs = run_of(folder / "usual.data")
        total = int(folder.read("count").split()[0])
        assert total > 10, "the library is not loaded"
        step = max(total / CASES, 1) if CASES else 1
        numbers = sorted({int(i * step) + 1 for i in range(int(total / step))})
        # a recorder without memory tries for 10 s to write its data: many wait at the same time
        with concurrent.futures.ThreadPoolExecutor(24 if arguments[0] == "record" else 2) as pool:
            failed = sum(pool.map(
                lambda case: fail_one(folder, arguments, existing, usual, case[1],
                                      "+" if case[0] % 2 else ""), enumerate(numbers)))
        print("# %s: %d of %d allocations failed in turn; %d times the command said so, else it did "
              "without" % (" ".join(arguments), len(numbers), total, failed), flush=True)


def end_without_report():
    """The process that makes the report has no memory from some point on: the recording is complete,
    and has the status of its workload.
    """
    said = 0
    with Folder() as folder:
        for number in [1, 3, 10, 30, 100, 300, 1000]:
            store = "end%d.data" % number
            answer = call(folder, [*counting(), "-o", store, "--", "sh", "-c", "exit 3"],
                          RPISTAT_FAULT_ALLOC="%d+" % number,
                          RPISTAT_FAULT_PROCESS="rpistat report")
            assert answer.returncode == 3, "%d: %s" % (number, answer.stderr)
            lines = [line for line in answer.stderr.splitlines() if "has no report" in line]
            assert len(lines) <= 1 and all(
                line.startswith("rpistat: run 1 is in the store, but has no report: out of memory")
                for line in lines), answer.stderr
            said += len(lines)
            expect(folder.call("check", "-i", store), 0)
            assert run_of(folder / store)[0][0] == "complete"
    assert said >= 4, said


COMMANDS = [["report"], ["runs"], ["phases"], ["phases", "--format", "json"],
            ["compare", "--format", "json"],
            ["check"], ["check", "--repair", "-o", "NAME.new"],
            ["merge", "-i", "NAME.data", "rpistat.data"], ["export"], ["export", "--long"],
            ["export", "--rates"], ["export", "--format", "openmetrics"], ["export", "--format", "perfetto"],
            ["events", "--pmu", "sim:script.sim", "--sets", "arm1176"], ["plot", "-o", "NAME.svg"],
            ["plot", "-o", "NAME.html"], ["watch", "--once"]]
OF_SAMPLES = [["code"], ["code", "--tree", "--format", "csv"], ["code", "--format", "pprof", "-o", "NAME.pb"],
              ["export", "--format", "perfetto"], ["export", "--every", "1s"],
              ["report"], ["phases"], ["plot", "-o", "NAME.html"]]

tap.main([("a recording's end without memory", end_without_report),
          ("%s without memory" % " ".join(RECORD), fail_each, RECORD),
          ("%s into a store without memory" % " ".join(RECORD), fail_each, RECORD, True)]
         + [("%s without memory" % " ".join(command), fail_each, command) for command in COMMANDS]
         + [("%s of samples without memory" % " ".join(command), fail_each, command, False, SAMPLES)
            for command in OF_SAMPLES])
