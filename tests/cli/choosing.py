"""Choosing what is counted: -e, --metric, --scenario, --sets, on the simulated processor."""
import csv
import io
import json
import os
import re
import platform

from program import Folder, ask_store, call, expect, refused, tap


def query(folder, statement):
    return ask_store(folder.path + "/rpistat.data", statement)


def simulate(folder, *options):
    return expect(folder.call("record", "--pmu", "sim:script.sim", *options), 0)


def test_events():
    """each -e makes one set, from names, roles and numbers; the sets rotate with --always-rotate"""
    with Folder() as folder:
        simulate(folder, "--always-rotate", "-e", "instructions,branches", "-e", "l1d_miss,r09")
        assert query(folder, "SELECT set_no, slot, name, config FROM event WHERE set_no >= 0 "
                     "ORDER BY 1, 2") == [(0, 0, "instructions", 7), (0, 1, "branches", 5),
                                          (1, 0, "l1d_miss", 11), (1, 1, "r09", 9)]
        assert query(folder, "SELECT sum(c0), sum(c1) FROM period WHERE set_no = 0 AND "
                     "start_ns < 20000000000") == [(2000000000, 200000000)]


def test_counts_do_not_depend_on_sets():
    """an event has the same estimate from a document and from -e"""
    with Folder() as folder:
        simulate(folder)
        simulate(folder, "-e", "r07,r01", "-e", "r09,r0b", "-e", "r04,r0f", "-e", "r05,r06")
        sums = query(folder, "SELECT run_id, set_no, sum(c0), sum(c1) FROM period GROUP BY 1, 2")
        assert [row[1:] for row in sums if row[0] == 1] == [row[1:] for row in sums if row[0] == 2]


def test_cycles():
    """-e cycles uses no counter, and has its own column beside the period's cycles"""
    with Folder() as folder:
        simulate(folder, "-e", "cycles,instructions,branches", "--metric",
                 "cpi=cycles/instructions", "--metric", "cycle=cycles/1000000")
        rows = list(csv.DictReader(io.StringIO(expect(folder.call("export"), 0).stdout)))
        assert query(folder, "SELECT count(DISTINCT set_no) FROM period") == [(1,)]
        assert rows and all(row["cycles_event"] == row["cycles"] for row in rows), rows[:3]
        rates = list(csv.DictReader(io.StringIO(
            expect(folder.call("export", "--rates", "--to", "10s"), 0).stdout)))
        assert {row["cpi"] for row in rates} == {"3.5"}, rates[:3]
        assert {row["cycle_metric"] for row in rates} == {"70"}, rates[:3]


def test_column_names():
    """an export has no two columns with one name: a metric or event with the name of another column becomes NAME_metric or NAME_event"""
    with Folder() as folder:
        folder.write("script.sim", "phase work 10s instructions=200M threads=2 wait=10%\n")
        simulate(folder, "-e", "instructions,cycles", *("--metric=%s=%d*instructions/instructions" % one for one in (
            ("wait_s", 1), ("x", 2), ("x_min", 3), ("threads", 4), ("label", 5), ("y_low", 6), ("y", 7))))
        for form in ([], ["--rates"], ["--every", "5s"]):
            lines = expect(folder.call("export", "--to", "10s", *form), 0).stdout.splitlines()
            names = lines[0].split(",")
            assert len(set(names)) == len(names) and "threads" in names, names
            explained = expect(folder.call("export", "--to", "10s", "--explain", *form), 0).stdout.splitlines()[1:]
            assert [row.split(",")[0] for row in explained] == names, explained
            first, = (json.loads(line) for line in expect(folder.call(
                "export", "--to", "10s", "--format", "jsonl", *form), 0).stdout.splitlines()[:1])
            assert list(first) == names, first
            if form:
                values = dict(zip(names, lines[1].split(",")))
                changed = {"label_metric": "5", "threads_metric": "4", **({"x": "2", "x_min": "3", "y_low_metric": "6", "y": "7"} if "--rates" in form
                           else {"wait_s_metric": "1", "wait_s_metric_max": "1", "x_min": "2", "x_min_metric": "3", "x_min_metric_min": "3"})}
                assert {name: values.get(name) for name in changed} == changed, values
            else:
                assert "cycles_event" in names, names


def test_many_events():
    """if there are more events than counters, the sets rotate"""
    with Folder() as folder:
        simulate(folder, "-e", "r01,r04,r05,r06,r07,r09,r0b,r0f,r02")
        assert query(folder, "SELECT count(*), max(slot) FROM event WHERE set_no >= 0 AND "
                     "state = 'measured'") == [(9, 1)]


def test_metric():
    """the metric of --metric is in the report and in the rates"""
    with Folder() as folder:
        simulate(folder, "-e", "instructions,branches", "--metric", "ipc=instructions/clock",
                 "--metric", "share = 100 * branches / (instructions + 0)")
        report = expect(folder.call("report", "--to", "20s"), 0).stdout
        assert re.search(r"\n    ipc +0\.286\b", report), report
        assert re.search(r"\n    share +10\.000\b", report), report
        rows = list(csv.DictReader(io.StringIO(
            expect(folder.call("export", "--rates", "--to", "10s"), 0).stdout)))
        assert {row["share"] for row in rows} == {"10"}, rows[:3]


def test_division_by_nothing():
    """a metric whose events were not counted is missing, not zero"""
    with Folder() as folder:
        simulate(folder, "-e", "instructions,r20", "--metric", "x=instructions/r20")
        rows = list(csv.DictReader(io.StringIO(
            expect(folder.call("export", "--rates"), 0).stdout)))
        assert {row["x"] for row in rows} == {""}, rows[:3]


def test_scenario():
    """--scenario keeps the events that a question needs, and adds the metrics"""
    with Folder() as folder:
        simulate(folder, "--scenario", "l1")
        names = {row[0] for row in query(folder, "SELECT role FROM event WHERE set_no >= 0")}
        assert {"l1d_access", "l1d_miss", "instructions"} <= names, names
        assert "branches" not in names and "dtlb_miss" not in names, names
        report = expect(folder.call("report", "--to", "10s"), 0).stdout
        assert "hit ratio" in report and "density" in report, report
        for scenario in ["tlb", "ipc", "branches"]:
            simulate(folder, "--scenario", scenario)


def test_refusals():
    """events that cannot be counted are refused with one sentence, and no store is made"""
    simulated = ["record", "--pmu", "sim:script.sim"]
    with Folder() as folder:
        refused(folder.call(*simulated, "-e", "instrctions"), 2, "instrctions", "instructions")
        refused(folder.call(*simulated, "-e", ""), 2)
        refused(folder.call(*simulated, "-e", "instructions,"), 2)
        refused(folder.call(*simulated, "-e", "r04", "--sets", "arm1176"), 2, "--sets")
        refused(folder.call(*simulated, "--scenario", "none"), 2, "none")
        refused(folder.call(*simulated, "--scenario", "l2"), 2, "l2")
        refused(folder.call(*simulated, "--scenario", "syscalls"), 1, "nothing can be counted")
        refused(folder.call(*simulated, "-e", "r04", "--metric", "x=r05/r04"), 2, "r05")
        refused(folder.call(*simulated, "--metric", "x"), 2, "x")
        refused(folder.call(*simulated, "--sets", "none"), 2, "none", "generic")
        folder.write("own.ini", "[plan]\nname = own\n[event a]\nevent = instrctions\n"
                     "[set s]\nevents = a\n")
        refused(folder.call(*simulated, "--sets", "./own.ini"), 2, "own.ini:4", "instrctions")
        folder.write("own.ini", "[event a]\nevent = r07\n[set s]\nevents = a\n"
                     "[metric m]\nformula = a / b\n")
        refused(folder.call(*simulated, "--sets", "./own.ini"), 2, "own.ini:6", "b")
        assert sorted(os.listdir(folder.path)) == ["own.ini", "script.sim"], sorted(os.listdir(folder.path))


def test_one_reason():
    """events: the reason why a document cannot be counted is printed once, not for each event"""
    documents = expect(call("events"), 0).stdout.split("\nEvent sets ")[1:]
    assert len(documents) > 1, documents
    for document in documents:
        rows = re.findall(r"^    \w+ +\S+ .*? (?:yes|no)\b(.*)$", document, re.M)
        assert len(rows) < 3 or len(set(rows)) > 1 or not rows[0].startswith(": "), document


def test_other_processor():
    """sets for another processor are not used with the machine's own counters"""
    if expect(call("events"), 0).stdout.split("\n")[1].split()[1] != "yes":
        raise tap.Skip("this machine has no hardware counters")
    other = "arm1176" if platform.machine() != "armv6l" else "amd-zen"
    with Folder() as folder:
        refused(folder.call("record", "--pmu", "hardware", "--sets", other, "--", "true"), 1,
                other, "processor")
        assert sorted(os.listdir(folder.path)) == ["script.sim"]


tap.main([test_events, test_counts_do_not_depend_on_sets, test_cycles, test_column_names, test_many_events, test_metric, test_division_by_nothing,
          test_scenario, test_refusals, test_one_reason, test_other_processor])
