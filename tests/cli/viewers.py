"""Formats of other people's viewers, perfetto and firefox: what stands in them is what export, phases and code say."""
import collections
import csv
import io
import json
import sqlite3

from program import SCRIPT, Folder, expect, refused, tap

import samples  # noqa: E402, in support

# Calm and busy for ten seconds each, then it sleeps; what is on a CPU in each. load comes before and behind copy.
CALM = [(["main", "load"], 8), (["main", ("copy", "/usr/lib/libz.so.1", "", 0)], 1), (["main", "load", "read"], 1)]
BUSY = [(["main", ("solve", "/usr/bin/work", "/src/solve.c", 40)], 6), (["main", "solve", ("page_fault", "[kernel]", "", 0)], 3)]
TOTALS = {"load": 800, "read": 100, "copy": 100, "solve": 600, "page_fault": 300}
REGION_MS = (12000, 15000)


def prepare(folder):
    folder.write("script.sim", SCRIPT.replace("main_tlb_miss=100k", "main_tlb_miss=0"))
    folder.record("-q")
    code = samples.Code(folder / "rpistat.data")
    for period in range(200):
        for stack, count in CALM if period < 100 else BUSY:
            code.add(period, [("solve", "/usr/bin/work", "/src/solve.c", 40) if name == "solve" else name for name in stack],
                     count)
    code.add(220, ["main"], 1)  # a tenth of a period while it sleeps
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
    """Chrome's trace events, as strictly as the viewers take them."""

    def __init__(self, found):
        self.processes, self.threads = {}, {}
        self.counters = collections.defaultdict(list)  # (process, name, unit): [(s, value)]
        self.slices = collections.defaultdict(list)    # (process, thread): [(start s, end s, name, depth)]
        self.marks, opened, self.ends = [], collections.defaultdict(list), {}
        for event in found["traceEvents"]:
            place = (event["pid"], event["tid"])
            assert event["ts"] >= 0, event
            if event["ph"] == "M":
                names = self.threads if event["name"] == "thread_name" else self.processes
                key = place if names is self.threads else event["pid"]
                assert names.setdefault(key, event["args"]["name"]) == event["args"]["name"], event
            elif event["ph"] == "C":
                (unit, value), = event["args"].items()
                series = self.counters[event["pid"], event["name"], unit]
                assert not series or (series[-1][0] < event["ts"] / 1e6 and series[-1][1] != value), event
                series.append((event["ts"] / 1e6, value))
            elif event["ph"] == "B":
                assert not opened[place] or event["ts"] >= opened[place][-1][0], event
                opened[place].append((event["ts"], event["name"], event["args"]["module"]))
            elif event["ph"] == "E":
                start, name, _ = opened[place].pop()
                assert event["ts"] >= start and event["name"] == name, event
                self.slices[place].append((start / 1e6, event["ts"] / 1e6, name, len(opened[place])))
            elif event["ph"] == "X":
                before = self.ends.get(place, 0)  # as viewers reckon it
                assert event["ts"] >= before, (event, before)
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
    """A counter stands at each rotation for what `export --rates --long` says there."""
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
    """perfetto: each figure's counter is what --rates says; phases, regions and marks have their times"""
    trace = Trace(exported("perfetto"))
    assert list(trace.processes) == [1], trace.processes
    expect_counters(trace, 1, FOLDER)
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
    """perfetto: phases do not overlap, whatever the rounding of a viewer that adds up in floating point"""
    with Folder() as folder:
        folder.write("odd.sim", "".join("phase p%d %ds instructions=%dM\n" % (n, 2 + n % 2, 50 + n % 2 * 150) for n in range(6)))
        expect(folder.call("record", "-q", "--pmu", "sim:odd.sim", "--period", "33333333ns", "-o", "rpistat.data"), 0)
        phases = Trace(exported("perfetto", folder=folder)).track("Phases")
        assert len(phases) == 6, phases


def selves(slices):
    """Time of each function without what it called."""
    ret = collections.Counter()
    for start, end, name, depth in slices:
        ret[name] += end - start
        below = [one for one in slices if one[3] == depth + 1 and one[0] >= start and one[1] <= end]
        ret[name] -= sum(one[1] - one[0] for one in below)
    return ret


def test_calls():
    """perfetto: calls are slices that nest, as long as their samples are of the period's; what goes on is one slice"""
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


def test_part():
    """both: of a part, and of a region, nothing else"""
    trace = Trace(exported("perfetto", "--from", "5s", "--to", "12500ms"))
    times = [time for series in trace.counters.values() for time, _ in series]
    times += [time for slices in trace.slices.values() for one in slices for time in one[:2]]
    assert min(times) >= 5 - 1e-6 and max(times) <= 12.5 + 1e-6, (min(times), max(times))
    (start, end, _, _), = trace.track("Region inner")
    assert start == 12 and close(end, 12.5) and not trace.marks, trace.slices
    profile = Profile(exported("firefox", "--region", "inner"))
    assert sum(profile.selves(0).values()) == 30 * 9, profile.selves(0)
    assert set(profile.selves(0)) == {"solve", "page_fault"}, profile.selves(0)


def test_cpus():
    """both: of a recording by CPU each has its own counters, calls and thread"""
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
        profile = Profile(exported("firefox", folder=folder))
        assert [thread["name"] for thread in profile.threads] == ["CPU 0", "CPU 3"]
        assert profile.selves(0)["load"] == 800 and profile.selves(1)["load"] == 0
        assert profile.selves(0)["solve"] == profile.selves(1)["solve"] == 600


# --- firefox ----------------------------------------------------------------------------------

TABLES = {
    "stackTable": ["prefix", "frame"],
    "frameTable": ["address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID",
                   "line", "column"],
    "funcTable": ["name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"],
    "resourceTable": ["lib", "name", "host", "type"],
    "nativeSymbols": ["libIndex", "address", "name", "functionSize"],
    "samples": ["stack", "time", "weight"],
    "markers": ["data", "name", "startTime", "endTime", "phase", "category"],
}


class Profile:
    """The processed format of version 55, by its types: each column is as long as its table, each index in it is one."""

    def __init__(self, found):
        self.meta, self.threads = found["meta"], found["threads"]
        assert self.meta["preprocessedProfileVersion"] == 55 and self.meta["symbolicated"] is True
        self.categories = [category["name"] for category in self.meta["categories"]]
        assert [schema["fields"][0]["key"] for schema in self.meta["markerSchema"]] == ["label"]
        assert "grey" in {category["color"] for category in self.meta["categories"]}
        assert [thread["isMainThread"] for thread in self.threads] == [True] + [False] * (len(self.threads) - 1)
        for thread in self.threads:
            self.check(thread)

    def check(self, thread):
        assert isinstance(thread["pid"], str) and isinstance(thread["tid"], int)
        for table, columns in TABLES.items():
            one = thread[table]
            for column in columns:
                assert len(one[column]) == one["length"], (table, column)
            assert set(one) == set(columns) | {"length"} | ({"weightType"} if table == "samples" else set()), one.keys()

        def indices(column, count, may_be_none=False):
            assert all((may_be_none and index is None) or 0 <= index < count for index in column), column
        stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
        texts = len(thread["stringArray"])
        assert all(prefix is None or prefix < at for at, prefix in enumerate(stacks["prefix"]))
        indices(stacks["frame"], frames["length"])
        indices(frames["category"], len(self.categories))
        indices(frames["func"], functions["length"])
        indices(functions["resource"], thread["resourceTable"]["length"])
        indices(thread["samples"]["stack"], stacks["length"], True)
        for column in (functions["name"], thread["resourceTable"]["name"], thread["markers"]["name"]):
            indices(column, texts)
        indices(functions["fileName"], texts, True)
        times = thread["samples"]["time"]
        assert times == sorted(times)
        assert all(weight > 0 or stack is None for weight, stack in
                   zip(thread["samples"]["weight"], thread["samples"]["stack"]))

    def function(self, thread, stack):
        """(name, resource, category) of a stack's innermost function."""
        frame = thread["stackTable"]["frame"][stack]
        function = thread["frameTable"]["func"][frame]
        resource = thread["resourceTable"]["name"][thread["funcTable"]["resource"][function]]
        return (thread["stringArray"][thread["funcTable"]["name"][function]], thread["stringArray"][resource],
                self.categories[thread["frameTable"]["category"][frame]])

    def selves(self, number, of=0):
        thread, ret = self.threads[number], collections.Counter()
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            if stack is not None:
                ret[self.function(thread, stack)[of]] += weight
        return ret

    def markers(self):
        thread = self.threads[0]
        table = thread["markers"]
        return [(thread["stringArray"][table["name"][at]], table["data"][at]["label"], table["startTime"][at],
                 table["endTime"][at], table["phase"][at]) for at in range(table["length"])]


def test_firefox():
    """firefox: samples by function, module and category are those of `code`; they have times, and phases are markers"""
    profile = Profile(exported("firefox"))
    assert profile.selves(0) == dict(TOTALS, main=1), profile.selves(0)
    assert profile.selves(0, 2) == {"Program": 1501, "Library": 100, "Kernel": 300}, profile.selves(0, 2)
    assert profile.selves(0, 1)["/usr/lib/libz.so.1"] == 100, profile.selves(0, 1)
    thread = profile.threads[0]
    function = [thread["stringArray"][name] for name in thread["funcTable"]["name"]]
    assert len(function) == len(set(function)) == 6, function
    assert thread["stringArray"][thread["funcTable"]["fileName"][function.index("solve")]] == "/src/solve.c"
    assert 40 in thread["frameTable"]["line"]
    times = collections.defaultdict(list)
    for stack, at in zip(thread["samples"]["stack"], thread["samples"]["time"]):
        times[stack if stack is None else profile.function(thread, stack)[0]].append(at)
    assert min(times["load"]) < 100 and 9800 < max(times["load"]) < 10000 and min(times["solve"]) >= 10000, times
    assert times["main"] == [22000] and [round(at) for at in times[None]] == [20000, 22010], times[None]
    assert close(profile.meta["interval"], 1000 / 99, 1e-5)
    markers, phases = profile.markers(), known_phases()
    found = [marker for marker in markers if marker[0] == "Phases"]
    assert [marker[1].split()[0] for marker in found] == [phase["label"] for phase in phases], found
    for marker, phase in zip(found, phases):
        assert close(marker[2], phase["start_s"] * 1000, 1e-3) and close(marker[3], phase["end_s"] * 1000, 1e-3), marker
    assert ("Region inner", "inner", 12000, 15000, 1) in markers and ("Marks", 'half "done"', 16000.000001, None, 0) in markers


def test_of_a_phase():
    """code --format firefox: of a phase alone, as many samples as the table has"""
    found = json.loads(expect(FOLDER.call("code", "B", "--format", "firefox"), 0).stdout)
    table = json.loads(expect(FOLDER.call("code", "B", "--format", "json"), 0).stdout)
    assert sum(Profile(found).selves(0).values()) == table["samples"] > 0, table


def test_thinned():
    """both: of a run that was thinned, whose samples are a block's, all are there, in order of time"""
    with Folder() as folder:
        prepare(folder)
        with sqlite3.connect(folder / "rpistat.data") as store:
            blocks = store.execute("SELECT period, last_period FROM rollup WHERE level = 1 AND set_no = 0 AND last_period < 150"
                                   " ORDER BY period").fetchall()
            assert blocks
            last = 0
            for first, last in blocks:
                store.execute("UPDATE code_count SET level = 1, part = period * 1000 + part % 1000, period = ?1"
                              " WHERE level = 0 AND period BETWEEN ?1 AND ?2 AND part < 1000000", (first, last + 1))
            store.execute("DELETE FROM period WHERE period <= ?", (last + 1,))
            store.execute("INSERT INTO thinned (run_id, cpu, level, before_period) VALUES (1, -1, 0, ?)", (last + 2,))
        store.close()
        assert Profile(exported("firefox", folder=folder)).selves(0) == dict(TOTALS, main=1)
        found = selves(Trace(exported("perfetto", folder=folder)).track("Calls"))
        assert close(found["load"], 8, .3) and close(found["solve"], 10 * 6 / 9, .3), found  # a block ends with its first set


def test_refusals():
    """what the formats have no use for is a sentence; without samples perfetto has the rest, and firefox says so"""
    for form in ("perfetto", "firefox"):
        for option in ("--rates", "--clock", "--every=1s", "--follow", "--separator=;"):
            refused(FOLDER.call("export", "--format", form, option), 2, form, "leave out")
    with Folder(runs=1) as folder:
        trace = Trace(exported("perfetto", folder=folder))
        assert trace.counters and trace.track("Phases") and not trace.track("Calls")
        refused(folder.call("export", "--format", "firefox"), 1, "has no samples of its code", "--no-samples")


with Folder() as FOLDER:
    prepare(FOLDER)
    tap.main([test_perfetto, test_adjacent, test_calls, test_part, test_cpus, test_firefox, test_of_a_phase, test_thinned, test_refusals])
