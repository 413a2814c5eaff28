"""The format perfetto for trace viewers: its data equal those of export, phases and code."""
import collections
import csv
import io
import json
import sqlite3

from program import SCRIPT, Folder, ask_store, expect, refused, tap

import samples  # noqa: E402, in support

# Calm and busy for ten seconds each, then asleep, with the calls on the CPU in each. load runs
# before and after copy.
CALM = [(["main", "load"], 8), (["main", ("copy", "/usr/lib/libz.so.1", "", 0)], 1), (["main", "load", "read"], 1)]
BUSY = [(["main", ("solve", "/usr/bin/work", "/src/solve.c", 40)], 6), (["main", "solve", ("page_fault", "[kernel]", "", 0)], 3)]
TOTALS = {"load": 800, "read": 100, "copy": 100, "solve": 600, "page_fault": 300}
REGION_MS = (12000, 15000)
PID_MAX = 1 << 22  # the processes above it belong to rpistat


def prepare(folder):
    folder.write("script.sim", SCRIPT.replace("main_tlb_miss=100k", "main_tlb_miss=0"))
    folder.record("-q")
    code = samples.Code(folder / "rpistat.data")
    for period in range(200):
        for stack, count in CALM if period < 100 else BUSY:
            code.add(period, [("solve", "/usr/bin/work", "/src/solve.c", 40) if name == "solve" else name for name in stack],
                     count, task=("helper", 100, 101) if "read" in stack else ("work", 100, 100))
    code.add(220, ["main"], 1)  # a tenth of a period during the sleep
    code.write()
    with sqlite3.connect(folder / "rpistat.data") as store:
        store.executemany("INSERT INTO mark (run_id, time_ns, mark_no, text) VALUES (1, ?, 0, ?)",
                          [(REGION_MS[0] * 1000000, "region inner begin"), (REGION_MS[1] * 1000000, "region inner end"),
                           (16000000001, 'half "done"')])
    store.close()
    expect(folder.call("phases"), 0)


def exported(form, *arguments, folder=None):
    return json.loads(expect((folder or FOLDER).call("export", "--format", form, *arguments), 0).stdout)


def known_phases():
    return json.loads(expect(FOLDER.call("phases", "--format", "json"), 0).stdout)["phases"]


def close(a, b, most=1e-6):
    return abs(a - b) <= most


# --- perfetto ---------------------------------------------------------------------------------


class Trace:
    """Chrome's trace events, parsed as strictly as by the viewers."""

    def __init__(self, found):
        self.processes, self.threads = {}, {}
        self.counters = collections.defaultdict(list)  # (process, name, unit): [(s, value)]
        self.slices = collections.defaultdict(list)    # (process, thread): [(start s, end s, name, depth)]
        self.marks, opened, self.ends = [], collections.defaultdict(list), {}
        self.samples = collections.Counter()  # (process, thread)
        for event in found["traceEvents"]:
            place = (event["pid"], event["tid"])
            assert place[1] < 1 << 31 and (place[0] > PID_MAX) == (place[1] > PID_MAX), event
            assert event["ts"] >= 0 and ("args" in event) == (event["ph"] in "MC"), event
            if event["ph"] == "M":
                names = self.threads if event["name"] == "thread_name" else self.processes
                key = place if names is self.threads else event["pid"]
                assert names.setdefault(key, event["args"]["name"]) == event["args"]["name"], event
            elif event["ph"] == "C":
                (unit, value), = event["args"].items()
                series = self.counters[event["pid"], event["name"], unit]
                assert not series or (series[-1][0] < event["ts"] / 1e6 and series[-1][1] != value), event
                if place[0] < PID_MAX and value == 0:  # the end of a thread
                    self.samples[place] += series[-1][1] * (event["ts"] / 1e6 - series[-1][0])
                series.append((event["ts"] / 1e6, value))
            elif event["ph"] == "B":
                assert not opened[place] or event["ts"] >= opened[place][-1][0], event
                # Speedscope does not order events of the same time.
                assert event["ts"] > self.ends.get(place, -1), event
                opened[place].append((event["ts"], event["name"], event["cat"]))
            elif event["ph"] == "E":
                # Speedscope also compares the arguments, Perfetto the category.
                start, name, module = opened[place].pop()
                assert event["ts"] > start and event["name"] == name and event["cat"] == module, event
                self.ends[place] = event["ts"]
                self.slices[place].append((start / 1e6, event["ts"] / 1e6, name, len(opened[place])))
            elif event["ph"] == "X":
                before = self.ends.get(place, 0)  # computed as viewers do
                assert event["ts"] >= before, (event, before)
                assert event["dur"] >= 0, event
                self.ends[place] = event["ts"] + event["dur"]
                self.slices[place].append((event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6, event["name"], 0))
            else:
                assert event["ph"] == "i" and event["s"] == "t", event
                self.marks.append((event["ts"] / 1e6, event["name"]))
        assert not any(opened.values()), opened
        assert set(self.slices) <= set(self.threads), self.threads
        assert {place[0] for place in self.counters} <= set(self.processes), self.processes

    def track(self, name, process=None):
        return [one for place, slices in self.slices.items() for one in slices
                if self.threads[place] == name and process in (None, self.processes[place[0]])]


def expect_counters(trace, process, folder, *arguments):
    """At each rotation, a counter has the value of `export --rates --long`."""
    said = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)["figures"]
    label = {figure["name"]: figure["label"] for figure in said if figure["kind"] == "metric"}
    table = expect(folder.call("export", "--rates", "--long", *arguments), 0).stdout
    at, compared = collections.Counter(), 0
    for row in csv.DictReader(io.StringIO(table)):
        key = (process, label[row["metric"]], row["unit"] or "value")
        series = trace.counters[key]
        while at[key] < len(series) and series[at[key]][0] <= float(row["time_s"]) + 1e-9:
            at[key] += 1
        if row["value"]:
            value = float(row["value"])
            assert at[key] > 0 and close(series[at[key] - 1][1], value, 1e-8 * abs(value)), (row, series[at[key] - 1])
            compared += 1
    assert compared > 300, compared


def test_perfetto():
    """perfetto: the counter of each metric agrees with --rates; phases, regions and marks have their times"""
    trace = Trace(exported("perfetto"))
    assert trace.processes.keys() == {PID_MAX + 1, 100}, trace.processes
    expect_counters(trace, PID_MAX + 1, FOLDER)
    phases = known_phases()
    assert len(phases) >= 3, phases
    found = trace.track("Phases")
    assert [name.split()[0] for _, _, name, _ in found] == [phase["label"] for phase in phases], found
    for (start, end, _, _), phase in zip(found, phases):
        assert close(start, phase["start_s"]) and close(end, phase["end_s"]), (start, end, phase)
    assert found[0][2].endswith(" (load)") and found[1][2].endswith(" (solve)"), found
    (start, end, name, _), = trace.track("Region inner")
    assert start == 12 and close(end, 15) and name == "inner", trace.slices
    assert trace.marks == [(16.000000001, 'half "done"')], trace.marks


def test_adjacent():
    """perfetto: phases do not overlap, even with the rounding of a viewer that adds in floating point"""
    with Folder() as folder:
        folder.write("odd.sim", "".join("phase p%d %ds instructions=%dM\n" % (n, 2 + n % 2, 50 + n % 2 * 150) for n in range(6)))
        expect(folder.call("record", "-q", "--pmu", "sim:odd.sim", "--period", "33333333ns", "-o", "rpistat.data"), 0)
        phases = Trace(exported("perfetto", folder=folder)).track("Phases")
        assert len(phases) == 6, phases


def selves(slices):
    """The time of each function without the functions that it called."""
    ret = collections.Counter()
    for start, end, name, depth in slices:
        ret[name] += end - start
        below = [one for one in slices if one[3] == depth + 1 and one[0] >= start and one[1] <= end]
        ret[name] -= sum(one[1] - one[0] for one in below)
    return ret


def test_calls():
    """perfetto: calls are nested slices, as long as their share of the period's samples; a call that continues is one slice"""
    slices = Trace(exported("perfetto")).track("Calls")
    mains = [one for one in slices if one[2] == "main"]
    assert len(mains) == 2 and close(mains[0][0], 0) and close(mains[0][1], 20), mains
    asleep = mains[1][1] - mains[1][0]
    assert close(mains[1][0], 22) and close(asleep, .1 / 9.9), mains
    found = selves(slices)
    for name, share in [("load", 8), ("read", 1), ("copy", 1), ("solve", 10 * 6 / 9), ("page_fault", 10 * 3 / 9), ("main", asleep)]:
        assert close(found[name], share, 1e-4), (name, found)
    assert all(one[3] == {"main": 0, "page_fault": 2, "read": 2}.get(one[2], 1) for one in slices), slices
    assert len([one for one in slices if one[2] == "load"]) == 100, "what load is in is not together"


def test_threads():
    """perfetto: each process and thread with samples has a track; slices have the names and ends of phases"""
    trace = Trace(exported("perfetto"))
    assert trace.processes[100] == "work", trace.processes
    assert trace.threads[100, 100] == "work" and trace.threads[100, 101] == "helper", trace.threads
    for thread, times in (("work", [(0, 20), (22, 22.1)]), ("helper", [(0, 10)])):
        expected = [(round(max(start, first), 6), round(min(end, last), 6), name)
                    for first, last in times for start, end, name, _ in trace.track("Phases") if start < last and end > first]
        found = [(round(start, 6), round(end, 6), name) for start, end, name, _ in trace.track(thread)]
        assert found == expected and len(found) > 1, (found, expected)
    assert close(trace.samples[100, 100], sum(TOTALS.values()) - 99, .01) and close(trace.samples[100, 101], 100, .01), trace.samples
    with Folder() as folder:  # with a gap of 0.2 s
        prepare(folder)
        ask_store(folder / "rpistat.data", "DELETE FROM code_count WHERE period IN (50, 51)")
        times = [(round(start, 6), round(end, 6)) for start, end, _, _ in
                 Trace(exported("perfetto", "--to", "10s", folder=folder)).track("helper")]
        assert times[:2] == [(0, 5), (5.2, 9.8)], times
        with sqlite3.connect(folder / "rpistat.data") as store:
            names = [name for name, in store.execute("SELECT name FROM pragma_table_info('gap')")]
            gap = {"run_id": 1, "start_ns": 5000000000, "cpu": -1, "length_ns": 200000000, "reason": "paused"}
            store.execute("INSERT INTO gap (%s) VALUES (%s)" % (", ".join(names), ", ".join("?" * len(names))), [gap.get(name, 0) for name in names])
        store.close()
        with sqlite3.connect(folder / "rpistat.data") as store:  # from 7 s, the thread 101 has another name
            store.execute("INSERT INTO task (run_id, task, pid, tid, name, start_ns) VALUES (1, 9, 100, 101, 'renamed', 7000000000)")
            task, = store.execute("SELECT task FROM task WHERE name = 'helper'").fetchone()
            store.execute("UPDATE code_count SET tasks = replace(tasks, '[%d]', '[9]') WHERE period >= 70" % task)
        store.close()
        trace = Trace(exported("perfetto", folder=folder))
        assert {name for pid, name, _ in trace.counters if pid == 100} == {"Samples of work 100", "Samples of helper 101"}, list(trace.counters)
        assert trace.threads[100, 101] == "helper" and len(trace.track("helper")) > 2, trace.threads
        (start, end, name, _), = trace.track("Gaps")
        assert (start, round(end, 6), name) == (5, 5.2, "paused"), (start, end, name)


def test_part():
    """perfetto: a part or a region has nothing from outside it"""
    trace = Trace(exported("perfetto", "--from", "5s", "--to", "12500ms"))
    times = [time for series in trace.counters.values() for time, _ in series]
    times += [time for slices in trace.slices.values() for one in slices for time in one[:2]]
    assert min(times) >= 5 - 1e-6 and max(times) <= 12.5 + 1e-6, (min(times), max(times))
    (start, end, _, _), = trace.track("Region inner")
    assert start == 12 and close(end, 12.5) and not trace.marks, trace.slices
    trace = Trace(exported("perfetto", "--region", "inner"))
    assert close(sum(trace.samples.values()), 30 * 9, .01), trace.samples
    assert set(selves(trace.track("Calls"))) == {"main", "solve", "page_fault"}, trace.slices


def test_cpus():
    """perfetto: in a recording by CPU, each CPU has its counters and calls; a thread has one track"""
    with Folder() as folder:
        prepare(folder)
        with sqlite3.connect(folder / "rpistat.data") as store:
            for table in ("period", "rollup", "code_count"):
                names = [name for name, in store.execute("SELECT name FROM pragma_table_info(?)", (table,))]
                others = ", ".join("3" if name == "cpu" else name for name in names)
                store.execute("UPDATE %s SET cpu = 0" % table)
                store.execute("INSERT INTO %s (%s) SELECT %s FROM %s" % (table, ", ".join(names), others, table))
            store.execute("DELETE FROM code_count WHERE cpu = 3 AND period < 100")
        store.close()
        trace = Trace(exported("perfetto", folder=folder))
        for cpu in (0, 3):
            process, = [number for number, name in trace.processes.items() if name == "CPU %d" % cpu]
            expect_counters(trace, process, folder, "--cpu", str(cpu))
            found = selves(trace.track("Calls", "CPU %d" % cpu))
            assert close(found["load"], 0 if cpu else 8, 1e-4) and close(found["solve"], 10 * 6 / 9, 1e-4), found
        assert close(trace.samples[100, 100], 900 + 2 * 901, .01), trace.samples
        found = exported("perfetto", "--cpu", "sum", folder=folder)
        assert {event["pid"] for event in found["traceEvents"]} == set(Trace(found).processes), Trace(found).processes
        assert [round(end, 6) for _, end, _, _ in trace.track("work")[1:]] == [20, 22.1], trace.track("work")
    with Folder() as folder:  # a thread moves from CPU 0 to CPU 3 after a gap of ten intervals, and back without a gap
        prepare(folder)
        with sqlite3.connect(folder / "rpistat.data") as store:
            store.execute("DELETE FROM code_count WHERE period = 50")
            store.execute("UPDATE sampling SET frequency = 100")
            for table, where in (("period", ""), ("rollup", ""), ("code_count", " WHERE period BETWEEN 51 AND 79")):
                store.execute("UPDATE %s SET cpu = 3%s" % (table, where))
            store.execute("UPDATE code_count SET cpu = 0 WHERE cpu = -1")
            names = [name for name, in store.execute("SELECT name FROM pragma_table_info('period')")]
            store.execute("INSERT INTO period (%s) SELECT %s FROM period" % (
                ", ".join(names), ", ".join("0" if name == "cpu" else name for name in names)))
        store.close()
        found = [(round(start, 6), round(end, 6)) for start, end, _, _ in Trace(exported("perfetto", folder=folder)).track("helper")]
        assert found[:2] == [(0, 5), (5.1, 9.8)], found


def test_thinned():
    """perfetto: a downsampled run, whose samples belong to blocks: all are there, in time order"""
    with Folder() as folder:
        prepare(folder)
        with sqlite3.connect(folder / "rpistat.data") as store:
            blocks = store.execute("SELECT period, last_period FROM rollup WHERE level = 1 AND set_no = 0 AND last_period < 150"
                                   " ORDER BY period").fetchall()
            assert blocks
            last = 0
            for first, last in blocks:
                store.execute("UPDATE code_count SET level = 1, part = part / 1000000 * 1000000 + period * 1000 + part % 1000,"
                              " period = ?1 WHERE level = 0 AND period BETWEEN ?1 AND ?2", (first, last + 1))
            store.execute("DELETE FROM period WHERE period <= ?", (last + 1,))
            store.execute("INSERT INTO thinned (run_id, cpu, level, before_period) VALUES (1, -1, 0, ?)", (last + 2,))
        store.close()
        trace = Trace(exported("perfetto", folder=folder))
        assert close(sum(trace.samples.values()), sum(TOTALS.values()) + 1, .01), trace.samples
        found = selves(trace.track("Calls"))
        assert close(found["load"], 8, .3) and close(found["solve"], 10 * 6 / 9, .3), found  # a block ends with its first set


def test_refusals():
    """options that the format does not support give a sentence; without samples, the rest is exported"""
    for option in ("--rates", "--clock", "--every=1s", "--follow", "--separator=;", "--explain"):
        refused(FOLDER.call("export", "--format", "perfetto", option), 2, "perfetto", "leave out")
    with Folder(runs=1) as folder:
        trace = Trace(exported("perfetto", folder=folder))
        assert trace.counters and trace.track("Phases") and not trace.track("Calls")


with Folder() as FOLDER:
    prepare(FOLDER)
    tap.main([test_perfetto, test_adjacent, test_calls, test_threads, test_part, test_cpus, test_thinned, test_refusals])
