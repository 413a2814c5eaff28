"""Samples of the simulated processor, in the store: every count follows from the script.

usage: simulated_samples.py RPISTAT
"""
import sqlite3

from program import Folder, expect, refused, tap

SCRIPT = """\
task main 100
task worker 100 101
function main    0x1000 0x100 main.c:10
function solve   0x2000 0x200 solve.c:21-24
function copy    0x4000 0x40
function do_read 0xffffffff81000000 0x100
lose-samples 3s 1s
throttle 5s
phase load 10s code=main>copy>do_read:80%,main>copy
phase solve 10s dc_miss=5k code=main>solve:60%,worker/main>solve:40%
sleep 5s
phase save 10s code=main>copy
"""
# Counts by the ten seconds that they are in.
BY_FUNCTION = """
SELECT p.start_ns / 10000000000, l.function, sum(c.samples)
FROM stack_count AS c JOIN period AS p USING (run_id, cpu, period) JOIN stack AS s USING (run_id, stack)
JOIN location AS l USING (run_id, frame) GROUP BY 1, 2 ORDER BY 1, 2"""
BY_TASK = """
SELECT p.start_ns / 10000000000, t.name, t.pid, t.tid, sum(c.samples)
FROM task_count AS c JOIN period AS p USING (run_id, cpu, period) JOIN task AS t USING (run_id, task)
GROUP BY 1, t.task ORDER BY 1, t.task"""


def record(folder, *options):
    """What was recorded of the script, to be asked by SQL."""
    folder.write("code.sim", SCRIPT)
    store = "%d.data" % len(options)
    expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "-o", store, *options), 0)
    expect(folder.call("check", "-i", store), 0)
    return sqlite3.connect(folder / store)


def check_counts():
    """functions and threads have their shares in every phase, but for what was lost, and none in a sleep"""
    with Folder() as folder:
        store = record(folder, "--frequency", "100")
        # 1,000 a phase; 100 lost and one throttled of the first; the last begins at 25 s
        assert store.execute(BY_FUNCTION).fetchall() == [
            (0, "copy", 179), (0, "do_read", 720), (1, "solve", 1000), (2, "copy", 500), (3, "copy", 500)]
        assert store.execute(BY_TASK).fetchall() == [
            (0, "main", 100, 100, 899), (1, "main", 100, 100, 600), (1, "worker", 100, 101, 400),
            (2, "main", 100, 100, 500), (3, "main", 100, 100, 500)]
        assert store.execute("SELECT event, frequency, threshold, stacks, samples, complete, lost, throttled, "
                             "unmapped FROM sampling").fetchall() == [
            ("cpu-clock", 100, 0, "fp", 2899, 2899, 100, 1, 0)]
        silent = store.execute("SELECT count(*) FROM stack_count JOIN period USING (run_id, cpu, period) "
                               "WHERE start_ns BETWEEN 20000000000 AND 24999999999").fetchone()
        assert silent == (0,), silent


def check_names():
    """functions have the file and line of the script, callers that of the call, and stacks go down to main"""
    with Folder() as folder:
        store = record(folder)
        lines = store.execute("SELECT DISTINCT function, file, line, how FROM location ORDER BY 1, 3").fetchall()
        assert lines == [("copy", "", 0, "map"), ("do_read", "", 0, "map"), ("main", "main.c", 10, "map")] + [
            ("solve", "solve.c", line, "map") for line in (21, 22, 23, 24)], lines
        stacks = store.execute("""
            WITH RECURSIVE chain(stack, parent, text) AS (
                SELECT s.stack, s.parent, l.function FROM stack AS s JOIN location AS l USING (run_id, frame)
                UNION ALL
                SELECT c.stack, s.parent, l.function || '>' || c.text FROM chain AS c
                JOIN stack AS s ON s.stack = c.parent JOIN location AS l USING (run_id, frame))
            SELECT DISTINCT text FROM chain WHERE parent IS NULL
            AND stack IN (SELECT stack FROM stack_count) ORDER BY 1""").fetchall()
        assert stacks == [("main>copy",), ("main>copy>do_read",), ("main>solve",)], stacks


def check_periods():
    """how long periods are, and in which order sets come, changes nothing in how often a stack was seen"""
    totals = []
    for options in ((), ("--period", "7s"), ("--period", "60s", "--frequency", "99")):
        with Folder() as folder:
            totals.append(record(folder, *options).execute(
                "SELECT stack, sum(samples) FROM stack_count GROUP BY 1 ORDER BY 1").fetchall())
    assert totals[0] == totals[1] == totals[2] and totals[0], totals


def check_options():
    """a threshold of an event, innermost frames alone, a part of the run, and no samples at all"""
    with Folder() as folder:
        store = record(folder, "--sample", "dc_miss:100")
        assert store.execute(BY_FUNCTION).fetchall() == [(1, "solve", 500)]
    with Folder() as folder:
        store = record(folder, "--stacks", "none")
        assert store.execute("SELECT count(*) FROM stack WHERE parent IS NOT NULL").fetchone() == (0,)
    with Folder() as folder:
        store = record(folder, "--frequency", "100", "--delay", "11s", "--duration", "15s")
        assert store.execute(BY_FUNCTION).fetchall() == [(1, "solve", 400)]
    with Folder() as folder:
        store = record(folder, "--no-samples")
        assert not store.execute("SELECT * FROM sampling UNION SELECT * FROM sampling").fetchall()


def check_refused():
    """an error in the script's code says where"""
    with Folder() as folder:
        folder.write("bad.sim", "function f 1 4\nphase a 1s code=g\n")
        refused(folder.call("record", "--pmu", "sim:bad.sim"), 2, "bad.sim:2: there is no function 'g' above")


tap.main([check_counts, check_names, check_periods, check_options, check_refused])
