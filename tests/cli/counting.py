"""Real recordings compared with what the workload knows: CPU time, page faults, and when it slept.

usage: counting.py RPISTAT WORKLOAD

Nothing here compares with a clock of the test's own: lengths and times are those of the store and
of the workload.
"""
import json
import os
import re
import sqlite3
import sys

import program
from program import Folder, Stolen, expect, tap, undisturbed

WORKLOAD = os.path.abspath(sys.argv[2])
PERIOD_NS = 10000000
PERIOD = ["--period", "10ms"]
SOFTWARE = ["--pmu", "software", "--sets", "software"]

# Two sets that alternate on each machine, each with the CPU time of its own periods.
TURNS = """\
[plan]
name = turns
[event time_a]
event = task-clock
unit = ns
[event time_b]
event = task-clock
unit = ns
[event faults]
event = minor-faults
[set a]
events = time_a, faults
[set b]
events = time_b
"""


class Run:
    """One recording of the workload: `said` has its own numbers; the store's are read with SQL."""

    def __init__(self, folder, options, *task):
        program.counting()  # skips the test if nothing can be counted
        stolen = Stolen()
        answer = expect(folder.call("record", *PERIOD, *options, "--", WORKLOAD, *task), 0)
        self.stolen_ns = stolen.ns()
        assert not answer.stderr, answer.stderr
        self.said = {name: int(number) for name, number in
                     (line.split() for line in answer.stdout.splitlines())}
        self.store = sqlite3.connect(folder / "rpistat.data")
        self.info = self.rows("SELECT pmu, set_count, elapsed_ns, start_monotonic_ns, period_ns "
                              "FROM run WHERE run_id = :run")[0]

    def rows(self, sql):
        newest = self.store.execute("SELECT max(run_id) FROM run").fetchone()[0]
        return self.store.execute(sql, {"run": newest}).fetchall()

    def sum(self, column):
        return self.rows("SELECT sum(%s) FROM period WHERE run_id = :run" % column)[0][0]

    def count(self, *names):
        """The sum of the raw counts of the events with these names, or None if there are none."""
        marks = ", ".join("'%s'" % name for name in names)
        return self.rows("SELECT sum(count) FROM sample WHERE run_id = :run AND event IN (%s)"
                         % marks)[0][0]

    def whole(self):
        """Periods are numbered, contiguous, unique, and add up to the elapsed time; the sets rotate;
        the cycle timestamp is the sum of the cycles.
        """
        rows = self.rows("SELECT period, set_no, start_ns, length_ns, cycle, cycles, running_ns, "
                         "enabled_ns FROM period WHERE run_id = :run ORDER BY period")
        sets, elapsed, time, total = self.info[1], self.info[2], 0, 0
        assert rows
        for number, row in enumerate(rows):
            period, set_no, start, length, cycle, cycles, running, enabled = row
            total += cycles
            assert (period, set_no, start, cycle) == (number, number % sets, time, total), row
            # a thread that starts while sets are switched may keep the old set for one period
            assert length > 0 and (0 <= running <= enabled or sets > 1), row
            time += length
        assert time == elapsed, (time, elapsed)
        assert self.sum("running_ns") <= 1.02 * self.sum("enabled_ns"), rows
        # deadlines are on the grid, at multiples if a mark says so; the workload's end can be
        # anywhere
        late = self.sum("missed")
        if not self.rows("SELECT * FROM mark WHERE run_id = :run AND text LIKE '%stretched%'"):
            assert abs(len(rows) + late - elapsed / PERIOD_NS) <= 2, (len(rows), late, elapsed)
        order = self.rows("SELECT period FROM period WHERE run_id = :run ORDER BY cycle, period")
        assert [row[0] for row in order] == list(range(len(rows))), "another order by cycle"
        assert not self.rows("SELECT * FROM gap WHERE run_id = :run")
        return rows


def near(what, value, low, high, percent, slack=0):
    low, high = low * (1 - percent / 100) - slack, high * (1 + percent / 100) + slack
    assert value is not None and low <= value <= high, \
        "%s: %s, expected %.0f to %.0f" % (what, value, low, high)


def cpu_time(run):
    """Its CPU time agrees with the workload's schedstat within 3 %."""
    low = run.said["cpu_ns"]
    high = run.said.get("cpu_whole_ns", low)
    near("time enabled", run.sum("enabled_ns"), low, high, 3, run.stolen_ns)
    if run.info[0] == "software":
        near("task clock", run.count("task_clock"), low, high, 3, run.stolen_ns)


@undisturbed
def check_cpu_time(options, task):
    with Folder() as folder:
        run = Run(folder, options, *task)
        run.whole()
        cpu_time(run)


@undisturbed
def test_children():
    """300 short children are counted completely: CPU time within 3 %, faults within 0.4 %"""
    with Folder() as folder:
        run = Run(folder, SOFTWARE, "children", "300", "1000")
        run.whole()
        cpu_time(run)
        # each child has about forty faults of its own, so a lost child would be detected
        faults = run.said["faults"]
        assert faults > 6000, faults
        near("minor faults", run.count("minor_faults"), faults, faults, 0.4)  # about 30 are before the exec


USER = """\
import os, resource
def work(what):
    kept = bytearray(64 << 20)
    while sum(os.times()[:2]) < .2:
        what()
    del kept
if os.fork() == 0:
    work(lambda: os.stat("/"))
    os._exit(0)
os.wait()
work(lambda: sum(range(1000)))
print(*os.times()[:4])
"""


def test_used():
    """CPU time and peak memory of a command agree with the kernel's, including its children"""
    with Folder() as folder:
        recorded = expect(folder.call("-q", "--no-samples", sys.executable, "-c", USER), 0)
        user, system, child_user, child_system = map(float, recorded.stdout.split())
        run, = json.loads(expect(folder.call("runs", "--format", "json"), 0).stdout)["runs"]
        assert user + child_user <= run["user_s"] + .05 and system + child_system <= run["system_s"] + .05, (run, recorded.stdout)
        assert run["user_s"] + run["system_s"] < 2 * (user + system + child_user + child_system), (run, recorded.stdout)
        assert 64 << 20 < run["memory_bytes"] < 128 << 20, run
        text = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "CPU time: %.3f s in user mode, %.3f s in the kernel Peak memory: %.1f MiB" % \
            (run["user_s"], run["system_s"], run["memory_bytes"] / (1 << 20)) in text, text
        text = " ".join(expect(folder.call("report", "--from", "0.1"), 0).stdout.split())
        assert " in the kernel (whole run) Peak memory: " in text and " MiB (of the largest process, whole run) " in text, text
        expect(folder.call("-q", "--no-samples", "true"), 0)  # a few ticks give no shares
        text = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert re.search(r" CPU time: 0\.0\d\d s, exec and exit included Peak memory: ", text), text
        with sqlite3.connect(folder / "rpistat.data") as store:
            store.execute("UPDATE run SET memory_bytes = NULL")
            store.execute("DELETE FROM reading_rollup")
            store.execute("INSERT OR REPLACE INTO reading (run_id, period, source, end_ns, length_us, s3, s10) VALUES (2, 0, 0, 20000000, 20000, 1, 2765)")
        store.close()
        text = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "Peak memory: at least 2.7 MiB (highest reading) " in text, text
        with sqlite3.connect(folder / "rpistat.data") as store:
            store.execute("UPDATE reading SET s3 = 2 WHERE source = 0")  # perhaps of two processes
            store.execute("UPDATE run SET target = 'all 2 CPUs'")
        store.close()
        text = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert re.search(r" Command's CPU time: 0\.0\d\d s, exec and exit included Command's peak memory: unknown ", text), text


def test_faults():
    """30,000 page faults of a program that touches 30,000 pages, within 1 %"""
    with Folder() as folder:
        run = Run(folder, SOFTWARE, "touch", "30000")
        run.whole()
        near("the workload's own count", run.said["faults"], 30000, 30000, 0.1)
        near("minor faults", run.count("minor_faults"), 30000, 30000, 1)


def test_faults_beside():
    """page faults are counted all the time, while event sets of another PMU rotate"""
    if not os.path.exists("/sys/bus/event_source/devices/msr/events/smi"):
        raise tap.Skip("this machine has no PMU msr with two events")
    for _ in range(20):  # if the recorder gets no CPU between two sets, faults are missed; multiplexed ones have half
        with Folder() as folder:
            run = Run(folder, ["--pmu", "software", "--always-rotate", "-e", "msr/tsc/", "-e",
                               "minor-faults", "-e", "msr/smi/"], "touch", "30000")
            figures = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)["figures"]
            assert run.rows("SELECT count(*) FROM event_set") == [(2,)]
        [faults] = [figure for figure in figures if figure["name"] == "minor_faults"]
        if faults["share"] > 0.98:
            break
    assert faults["certainty"] == "counted" and faults["share"] > 0.98, faults
    near("minor faults", faults["value"], 30000, 30000, 2)


def zeros(options):
    """While the workload sleeps, the counts are 0 and not NULL, and the cycle timestamp does not advance."""
    for ms in 400, 4000, 40000:  # a loaded machine may give the recorder, or the workload, little time
        if are_zeros(options, ms) >= 5:
            return
    raise AssertionError("too few periods in 40 s")


def are_zeros(options, ms):
    """Check the periods in which the workload slept. Return their number."""
    with Folder() as folder:
        run = Run(folder, options, "sleep", str(ms))
        run.whole()
        start = run.info[3]
        inside = "run_id = :run AND start_ns >= %d AND start_ns + length_ns <= %d" % (
            run.said["from_ns"] - start, run.said["to_ns"] - start)
        rows = run.rows("SELECT cycle, cycles, enabled_ns, running_ns, set_no, c0, c1, c2, c3, c4, "
                        "c5, c6, c7 FROM period WHERE %s ORDER BY period" % inside)
        # it may have fallen asleep later, after waiting for the CPU; but it was awake no longer
        # than it says, and from then on it slept
        awake = sum(row[2] for row in rows)
        assert awake <= run.said["awake_ns"] * 1.05 + 100000 + run.stolen_ns, (awake, run.said)
        asleep = max((i + 1 for i, row in enumerate(rows) if row[2] > 0), default=0)
        measured = {set_no: [bool(mark) for mark in marks] for set_no, *marks in run.rows(
            "SELECT set_no, %s FROM event WHERE run_id = :run AND set_no >= 0 GROUP BY set_no"
            % ", ".join("total(slot = %d AND state = 'measured')" % slot for slot in range(8)))}
        for row in rows[asleep:]:
            expected = [0 if mark else None for mark in measured[row[4]]]
            assert row[1:4] == (0, 0, 0), row
            assert list(row[5:]) == expected, (row, expected)
            assert row[0] == rows[asleep][0], "the cycle timestamp went on: %s" % (row,)
        wrong = run.rows("SELECT * FROM sample WHERE run_id = :run AND period IN (SELECT period "
                         "FROM period WHERE enabled_ns = 0 AND %s) AND scaled IS NOT 0.0" % inside)
        assert not wrong, "estimates of a sleeping workload that are not 0: %s" % wrong
        return len(rows) - asleep


@undisturbed
def test_rotation():
    """64 threads and two event sets that rotate: the sum of the sets is the whole"""
    with Folder() as folder:
        folder.write("turns.ini", TURNS)
        run = Run(folder, ["--pmu", "software", "--always-rotate", "--sets", folder / "turns.ini"],
                  "threads", "64", "15000")
        rows = run.whole()
        assert run.info[1] == 2 and {row[1] for row in rows} == {0, 1}, run.info
        cpu = run.said["cpu_ns"]
        cpu_time_of_turns = run.count("time_a", "time_b")
        near("time enabled", run.sum("enabled_ns"), cpu, cpu, 3, run.stolen_ns)
        # the time while sets are switched belongs to neither set
        switching = 2 * run.sum("switch_ns")
        near("task clock of both sets", cpu_time_of_turns, cpu, cpu, 3, run.stolen_ns + switching)
        assert run.count("time_a") > 0 and run.count("time_b") > 0
        assert not run.rows("SELECT * FROM period WHERE run_id = :run AND running_ns > 0 AND c0 IS "
                            "NULL"), "NULL though it was counted"


def test_clock():
    """an event that is the clock event is counted too, in the periods of its set"""
    with Folder() as folder:
        for choice in ["software", "auto"]:
            clock = Run(folder, ["--pmu", choice, "-e", "page-faults"], "threads", "1", "1000").rows(
                "SELECT spec FROM event WHERE run_id = :run AND set_no = -1")[0][0]
            for us in "100000", "1000000", "10000000":
                run = Run(folder, ["--pmu", choice, "--always-rotate", "-e", "page-faults," + clock,
                                   "-e", "context-switches"], "threads", "1", us)
                slot, = run.rows("SELECT slot FROM event WHERE run_id = :run AND set_no = 0 AND spec = '%s'" % clock)[0]
                rows = run.rows("SELECT cycles, c%d FROM period WHERE run_id = :run AND set_no = 0" % slot)
                if len(rows) > 2:
                    break
            assert len(rows) > 2 and all(cycles == count for cycles, count in rows), rows
            assert sum(count for _, count in rows) > 0, rows


ONE, MANY = ["threads", "1", "300000"], ["threads", "64", "15000"]

tap.main(
    [("CPU time of %s is its schedstat within 3 %%" % what, check_cpu_time, options, task)
     for what, options, task in [("a single thread: software", SOFTWARE, ONE), ("a single thread: default", [], ONE),
                                 ("64 threads", SOFTWARE, MANY)]] +
    [test_children, test_used, test_faults, test_faults_beside,
     ("a workload that sleeps gives true zeros: software", zeros, SOFTWARE),
     ("a workload that sleeps gives true zeros: default", zeros, []),
     ("a workload that sleeps gives true zeros: sets in rotation", zeros, ["--always-rotate"]),
     test_rotation, test_clock])
