"""--format json and csv: valid by schema/output.schema.json, and the same figures as the text.

usage: formats.py RPISTAT REGIONS
"""
import contextlib
import csv
import datetime
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import program
from program import RPISTAT, Folder, ask_store, counting, environment, expect, refused, silence, tap

import samples  # in tests/support
from words import CODE_TITLE, PER_CPU

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, if python3 is another Python
try:
    import jsonschema
except ImportError:
    jsonschema = None

REGIONS = os.path.abspath(sys.argv[2])
with open(os.path.join(tap.root(), "schema", "output.schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
COMMANDS = ["runs", "report", "phases", "code", "events", "verify", "check", "compare", "history", "merge", "status", "explain"]

# Events of the simulated processor in the roles of top-down, and one event that it does not have.
TOPDOWN = """\
[plan]
name = topdown
[event one]
event = instructions
role = slots_retired
[event two]
event = branches
role = ops_issued
[event none]
event = no_such_pmu/event=1/
[set all]
events = one, two, none
[metric retiring]
label = Retiring
formula = 100 * one / clock
unit = %
"""


def prepare():
    """Make a store with a simulated run, a run half of which cannot be counted, and what this machine
    can record: regions, all CPUs, a killed recorder.
    """
    folder = Folder(runs=0).__enter__()
    folder.write("topdown.ini", TOPDOWN)
    folder.record("--label", "a, \"b\"", "--tag", "build=42", "--tag", "odd=\n'")
    folder.record("--sets", "./topdown.ini", "--duration", "350ms", "--label", "topdown")
    with sqlite3.connect(folder / "rpistat.data") as store:
        store.execute("INSERT INTO gap VALUES (1, 15000000000, 0, -1, 100000000, 'no disk')")
        store.execute("INSERT INTO mark VALUES (1, 5000000000, 0, 'warm')")
    store.close()
    code = samples.Code(folder / "rpistat.data")
    for period in range(250):
        code.add(period, ["main", ("solve", "/bin/prog", "solve.c", 40)], 2)
        code.add(period, ["main", ("", "/lib/libz.so", "", 0)], task=("helper", 100, 101))
    code.write()
    with contextlib.suppress(tap.Skip):
        real = counting() + ["-q", "--period", "10ms"]
        expect(folder.call(*real, "--label", "regions", "--", REGIONS), 0)
        folder.call(*real, "--label", "machine", "-a", "--duration", "100ms")
        with Live(folder, "--label", "killed") as live:
            live.process.kill()
        silence(folder / "rpistat.data")
    return folder


class Live:
    """A recording in progress, whose first periods are in the store."""

    def __init__(self, folder, *options, store="rpistat.data"):
        self.folder, self.store = folder, store
        record = counting() + ["-q", "--commit", "0", "--period", "10ms", "-o", store, *options]
        self.process = subprocess.Popen([RPISTAT, *record, "cat"], cwd=folder.path,
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        env=environment())

    def __enter__(self):
        deadline = time.monotonic() + program.TIMEOUT
        while not self.has_periods():
            assert time.monotonic() < deadline and self.process.poll() is None
        return self

    def has_periods(self):
        answer = self.folder.call("runs", "-i", self.store)
        return re.search(r"recording +\S+ s +[1-9]", answer.stdout)

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait(timeout=program.TIMEOUT)


FOLDER = prepare()


def no_constant(name):
    raise AssertionError("%s is not JSON" % name)


def validated(command, text):
    """Return the object in a command's JSON, after checking it against the schema."""
    found = json.loads(text, parse_constant=no_constant)
    if jsonschema:
        schema = {**SCHEMA, "$ref": "#/$defs/" + {"explain": "explanation"}.get(command, command)}
        del schema["anyOf"]
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(found))
        assert not errors, [(list(error.absolute_path), error.message[:300]) for error in errors]
    return found


def found_by(*arguments, status=0, folder=None):
    answer = expect((folder or FOLDER).call(*arguments, "--format", "json"), status)
    return validated(arguments[0], answer.stdout)


def rows_by(*arguments, status=0, folder=None):
    text = expect((folder or FOLDER).call(*arguments, "--format", "csv"), status).stdout
    return list(csv.DictReader(io.StringIO(text)))


def cell(value):
    """Return a JSON value as CSV would have it, with numbers as numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return float(value)
    return "'" + value if value[:1] in ("=", "+", "-", "@") else value  # spreadsheets must not read it as a formula


def check_same(objects, rows):
    """The rows of a CSV are the objects in JSON, in the same order, except for values that are no cells."""
    assert len(objects) == len(rows), (len(objects), len(rows))
    for one, row in zip(objects, rows):
        flat = {name: ";".join(map("=".join, value.items())) if name == "tags" else value
                for name, value in one.items() if name == "tags" or not isinstance(value, (dict, list))}
        assert list(flat) == list(row), (list(flat), list(row))
        for name, value in flat.items():
            value, text = cell(value.replace("\n", "\\n") if name == "tags" else value), row[name]
            assert (float(text) if isinstance(value, float) else text) == value, (name, value, row)


def runs_of_store():
    return {run["label"]: run for run in found_by("runs")["runs"]}


# --- each command -----------------------------------------------------------------------------


def test_schema():
    """the schema is valid (draft 2020-12), allows no unknown name, and so on"""
    if not jsonschema:
        raise tap.Skip("python3-jsonschema is not installed: JSON was parsed and not validated")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    good = found_by("runs")
    for version in 0, 2, "1", None:
        assert not list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(good)), good
        assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors({**good, "format": version})), version
    assert SCHEMA["$id"] == "urn:rpistat:output:%d" % good["format"], SCHEMA["$id"]
    for name, value in ("odd", 1), ("state", None), ("periods", "1"), ("start", "today"):
        text = json.dumps({**good, "runs": [{**good["runs"][0], name: value}]})
        if name == "state":
            text = re.sub(r'"state": null, ', "", text)
        try:
            validated("runs", text)
        except AssertionError:
            continue
        raise AssertionError("the schema allows %s" % text)


def test_runs():
    """runs: agrees with the text, and has the run's start and end in UTC"""
    found = found_by("runs")
    check_same(found["runs"], rows_by("runs"))
    lines = FOLDER.call("runs", env=environment(TZ="UTC0")).stdout.splitlines()[1:]
    assert len(lines) == len(found["runs"]) >= 2, found
    for run, line in zip(found["runs"], lines):
        words = line.split()
        assert words[0] == str(run["run"]) and run["state"] in words, (run, line)
        assert run["start"].replace("T", " ")[:16] in line, (run, line)
        assert " %d " % run["periods"] in line and line.endswith("  " + run["command"]), (run, line)
    first = found["runs"][0]
    assert found["store"] == "rpistat.data" and first["label"] == "a, \"b\"", found
    assert first["tags"] == {"build": "42", "odd": "\n'"} and first["elapsed_s"] == 25, first
    assert first["argv"] == ["sim:script.sim"] and first["exit_signal"] is None, first
    assert first["gap_count"] == 1 and first["periods"] == 250, first
    starts = [run["start"] for run in found["runs"]]
    assert starts == sorted(starts) and starts[0] < first["end"], starts


def lines_of(text, label):
    return [line for line in text.splitlines()
            if re.match(r"    %s( \(|  )" % re.escape(label), line)]


def is_near(number, value):
    """Compare a number with one decimal in the text with JSON's nine digits."""
    return abs(float(number) - value) <= 0.051 + 1e-8 * value


def check_figure(figure, text):
    """The text has a line with the figure's numbers, or the words for an unknown value."""
    lines = lines_of(text, figure["label"])
    assert lines, (figure, text)
    if figure["certainty"] == "hardly counted":
        wanted = r"hardly counted"
    elif figure["value"] is None:
        wanted = r"not counted|unknown"
    elif figure["kind"] == "metric" and figure["unit"] == "/s":  # it is next to the count of its event
        lines = [line for line in lines
                 if any(is_near(number, figure["value"]) for number in re.findall(r"\d+\.\d\b", line))]
        wanted = r""
    elif figure["kind"] == "metric":
        # the value has nine digits, the text three decimals
        near = 5e-9 * abs(figure["value"]) + 5.1e-4
        wanted = r"\s(%s)\b" % "|".join(number for number in re.findall(r"\s(-?\d+\.\d{3})\b", text)
                                      if abs(float(number) - figure["value"]) <= near)
        assert wanted != r"\s()\b", (figure, text)
    elif figure["certainty"] == "interval":
        wanted = r"\s%d\s.*\b%d\b" % (figure["count"], figure["value"])
    else:
        wanted = r"\s%d\b" % figure["count"]
    if figure["family"] == "Software" and figure["per_s"] is not None:
        lines = [line for line in lines
                 if any(is_near(number, figure["per_s"]) for number in re.findall(r"\d+\.\d\b", line))]
    matching = [line for line in lines if re.search(wanted, line)]
    assert matching, (figure, wanted, lines)
    if figure["low"] is not None:
        slack = 1e-8 * abs(figure["value"])
        assert figure["low"] - slack <= figure["value"] <= figure["high"] + slack, figure
        assert any("±" in line or " to " in line for line in matching), (figure, matching)


def check_report(found, text):
    """Each statement of the text is in the JSON, with the same numbers."""
    figures = [figure for figure in found["figures"] if figure["cpu"] == -1]
    assert [figure["kind"] for figure in figures].count("clock") == 1, figures
    for figure in figures:
        check_figure(figure, text)
    labels = {figure["label"] for figure in figures}
    block = text[text.index("\nPerformance events"):].split("\n\nRemarks")[0].split(PER_CPU)[0]
    block = block.split("\nRegions of")[0].split("\n" + CODE_TITLE)[0].split("\nMarks\n")[0]
    rows = block[block.index("\n    " + found["figures"][0]["label"]):]
    for line in rows.splitlines():
        label, family = re.match(r"    (\S.*?)( \(\w+\) |  )", line), re.match(r"  (\S.*?)( \([\d.,]+ of [\d.,]+ periods\))?$", line)
        assert label.group(1) in labels if label else not line or family.group(1) in {
            figure["family"] or word for figure in figures for word in ("Events", "Metrics")}, line
    assert re.search(r"Number: +%d\n" % found["run"]["run"], text), text
    assert re.search(r"Total periods: +%d\n" % found["periods"], text), text
    words = " ".join(text.split())
    for remark in found["remarks"]:
        assert " ".join(remark.split()) in words, (remark, text)
    assert ("\nRemarks\n" in text) == bool(found["remarks"]), found["remarks"]


def test_report():
    """report: JSON has the figures of the text, for each kind of recording; CSV has the same rows"""
    runs = runs_of_store()
    for run in runs.values():
        which = ["report", "-r", str(run["run"])]
        found = found_by(*which)
        check_same(found["figures"], rows_by(*which))
        assert found["run"] == run, (found["run"], run)
        check_report(found, expect(FOLDER.call(*which), 0).stdout)
    found = found_by("report", "-r", "1")
    misses = [one for one in found["figures"] if one["name"] == "dc_miss"]
    assert [(one["count"], one["value"], one["share"]) for one in misses] == [
        (30000000, 120000000, 0.25)], misses
    assert found["gaps"][0]["start_s"] == 15 and found["gaps"][0]["end_s"] == 15.1, found["gaps"]
    assert found["gaps"][0]["reason"] == "no disk" and found["marks"][0]["text"] == "warm", found
    none = [one for one in found_by("report", "-r", "topdown")["figures"] if one["name"] == "none"]
    assert none[0]["state"] == "unsupported" and none[0]["reason"], none
    assert none[0]["count"] is None and none[0]["value"] is None, none
    explained = found_by("report", "-r", "1", "--explain")
    assert all("explain" in figure for figure in explained["figures"]), explained


def apart(start, end, length_s):
    """The difference between two times of day in milliseconds."""
    times = [datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ") for text in (start, end)]
    return abs((times[1] - times[0]).total_seconds() - length_s) * 1000


def test_report_part():
    """report --from --to: the times of the part, in seconds of the run and by the clock"""
    found = found_by("report", "-r", "1", "--from", "4s", "--to", "14s")
    check_report(found, FOLDER.call("report", "-r", "1", "--from", "4s", "--to", "14s").stdout)
    assert (found["start_s"], found["end_s"], found["periods"]) == (4, 14, 100), found
    assert apart(found["run"]["start"], found["start"], 4) < 1.1, found
    assert apart(found["start"], found["end"], 10) < 1.1, found
    assert not found["gaps"] and [mark["start_s"] for mark in found["marks"]] == [5], found


def test_real():
    """regions are marks; a killed run is interrupted; each CPU of -a has its figures"""
    counting()
    runs = runs_of_store()
    found = found_by("report", "-r", "regions")
    assert "region slow begin" in [mark["text"] for mark in found["marks"]], found["marks"]
    entered = {region["name"]: region["entered"] for region in found["regions"]}
    assert entered == {"slow": 2, "quick": 1000, "in a child": 1}, found["regions"]
    assert runs["killed"]["state"] == "interrupted", runs["killed"]
    assert runs["killed"]["exit_status"] is None, runs["killed"]
    if "machine" not in runs:
        raise tap.Skip("this user may not record the whole machine")
    which = ["report", "-r", "machine", "--cpu", "each"]
    found, text = found_by(*which), FOLDER.call(*which).stdout
    check_report(found, text)
    check_same(found["figures"], rows_by(*which))
    names = {figure["name"] for figure in found["figures"]}
    for cpu in found["cpus"]:
        figures = [one for one in found["figures"] if one["cpu"] == cpu]
        assert {one["name"] for one in figures} == names, (cpu, figures)
        row = [line for line in text.splitlines() if re.match(r"  %d +\d" % cpu, line)]
        for one in figures:
            if one["kind"] == "event" and one["value"] is not None:
                assert any(re.search(r"\s%d\b" % one["value"], line) for line in row), (one, row)


def test_live():
    r"""during the recording, a run has no end, and its figures are those so far"""
    with Folder() as folder, Live(folder):
        run = found_by("runs", folder=folder)["runs"][0]
        assert run["state"] == "recording" and run["end"] is None and run["periods"] > 0, run
        found = found_by("report", folder=folder)
        assert found["run"]["state"] == "recording" and found["periods"] > 0, found
        assert found["figures"][0]["value"] is not None, found["figures"][0]


def test_status():
    """status: both formats have the same names for a recorder, and `runs` has the same names for the run"""
    with Folder() as folder, Live(folder, "--label", "x") as live:
        rows = [row for row in rows_by("status", folder=folder) if row["pid"] == str(live.process.pid)]
        found = [one for one in found_by("status", folder=folder)["recorders"]
                 if one["pid"] == live.process.pid]
        assert len(found) == len(rows) == 1 and list(found[0]) == list(rows[0]), (found, rows)
        run = found_by("runs", folder=folder)["runs"][0]
        for name in ("run", "uuid", "label", "command", "target", "start", "period_s"):
            assert found[0][name] == run[name] and cell(run[name]) == (
                float(rows[0][name]) if name in ("run", "period_s") else rows[0][name]), (name, found, rows)


def test_empty():
    """a store without runs: no rows, but the names of the columns"""
    with Folder(runs=1) as folder:
        names = folder.call("runs", "--format", "csv").stdout.splitlines()[0]
        with sqlite3.connect(folder / "rpistat.data") as store:
            store.execute("PRAGMA foreign_keys = ON")
            store.execute("DELETE FROM run")
        store.close()
        assert found_by("runs", folder=folder)["runs"] == [], names
        assert folder.call("runs", "--format", "csv").stdout == names + "\n", names
        for command in ["report", "phases"]:
            refused(folder.call(command, "--format", "json"), 1, "no run")


def with_figures(phases):
    """The CSV cells of each phase's figures, with the ends of their intervals."""
    return [{**phase, **phase["figures"],
             **{"%s_%s" % (name, end): phase["intervals"].get(name, {}).get(end)
                for name in phase["figures"] for end in ("low", "high")}} for phase in phases]


def test_phases():
    """phases: JSON and CSV have the same rows, with times by the clock; a table without times has none"""
    found, rows = found_by("phases", "-r", "1"), rows_by("phases", "-r", "1")
    check_same(with_figures(found["phases"]), rows)
    text = FOLDER.call("phases", "-r", "1").stdout
    start = runs_of_store()["a, \"b\""]["start"]
    assert len(found["phases"]) >= 3 and found["run"] == 1, found
    for phase in found["phases"]:
        assert apart(start, phase["start"], phase["start_s"]) < 1.1, phase
        assert re.search(r"  %s .*\d\d:%04.1f " % (phase["label"], phase["start_s"] % 60), text), text
    found_by("phases", "-r", "1", "--pca")
    FOLDER.write("t.csv", "a,b\n" + "".join("%d,%d\n" % (i > 20, i % 3) for i in range(40)))
    table = found_by("phases", "--csv", "t.csv")
    check_same(with_figures(table["phases"]), rows_by("phases", "--csv", "t.csv"))
    assert "start_s" not in table["phases"][0] and table["run"] is None, table


def test_code():
    """code: rows of each kind and the tree; next to them the functions of phases and reports"""
    for by in ["function", "line", "module", "process", "thread"]:
        found = found_by("code", "-r", "1", "--by", by)
        check_same(found["code"], rows_by("code", "-r", "1", "--by", by))
        assert sum(row["self"] for row in found["code"]) == found["samples"] == 750, found
        assert found["by"] == by and found["sampling"]["taken"] == 750, found
    found = found_by("code", "-r", "1", "--latency")
    check_same(found["code"], rows_by("code", "-r", "1", "--latency"))
    assert sum(row["self"] for row in found["code"]) == round(1e6 * found["latency_s"]) > 0, found
    assert sum(row["cpu_share"] for row in found["code"]) > .999, found
    found = found_by("code", "-r", "1", "--tree")
    check_same(found["calls"], rows_by("code", "-r", "1", "--tree"))
    found = found_by("code", "-r", "1", "A")
    assert found["part"] == "phase A" and found["labels"] == [], found
    assert found_by("report", "-r", "1")["top"][0]["name"] == "solve"
    assert found_by("phases", "-r", "1")["labels"][0]["top"][0]["line"] == 40


def test_explain():
    """explain: metrics and code that differ, with the rest of the run and with another window"""
    for against in [], ["--against", "12s,18s"]:
        found = found_by("explain", "1", "--from", "2s", "--to", "8s", *against)
        check_same(found["metrics"], rows_by("explain", "1", "--from", "2s", "--to", "8s", *against))
        assert (found["other_from_s"], found["other_to_s"]) == ((12, 18) if against else (None, None)), found
        assert found["metrics"] and found["tested"] >= len(found["metrics"]), found


def test_events():
    """events: JSON has what the text has about each event, with its status"""
    script = "sim:" + FOLDER.write("denied.sim", "fail r0b denied\nphase a 1s\n")
    for arguments, status in (["--sets", "arm1176"], 0), (["r07", "r0b"], 1), (["r07", "none"], 2):
        arguments = ["events", "--pmu", script, *arguments]
        text = expect(FOLDER.call(*arguments), status).stdout
        found = found_by(*arguments, status=status)
        check_same(found["events"], rows_by(*arguments, status=status))
        said = re.findall(r"^    (\S+) .*  (yes|no)(?:\n        (\S.*))?$", text, re.M)
        assert said == [(one["name"], "yes" if one["countable"] else "no", one["reason"] or "")
                        for one in found["events"]], (said, found["events"])
    found = found_by("events", "--explain")
    assert [one["pmu"] for one in found["pmus"]] == ["hardware", "software", "sim"], found["pmus"]
    assert {one["plan"] for one in found["events"]} == {one["plan"] for one in found["plans"]}
    assert "arm1176" in found["other_plans"] + [one["plan"] for one in found["plans"]], found
    refused(FOLDER.call("events", "--sets", "none", "--format", "json"), 2, "none")


def test_check():
    """check: the faults, with the status of the text; a repair lists what it saved"""
    sound = found_by("check")
    assert sound["sound"] == (not sound["wrong"]) and sound["run_count"] >= 2, sound
    with Folder(runs=1) as folder:
        assert found_by("check", folder=folder) == {
            "format": 1, "store": "rpistat.data", "findings": [], "sound": True, "run_count": 1, "periods": 250,
            "wrong": 0, "odd": 0}
        ask_store(folder / "rpistat.data", "UPDATE period SET cycle = cycle + 1 WHERE period = 3")
        text = expect(folder.call("check"), 1).stdout
        found = found_by("check", status=1, folder=folder)
        check_same(found["findings"], rows_by("check", status=1, folder=folder))
        assert ["%s: %s" % ({"wrong": "error", "odd": "warning"}[one["kind"]], one["finding"]) for one in found["findings"]] == [
            line for line in text.splitlines() if line.startswith(("error: ", "warning: "))], text
        assert found["wrong"] == 1 and not found["sound"], found
        saved = found_by("check", "--repair", "-o", "new.data", folder=folder)
        assert saved["run_count"] == 1 and saved["dropped"] == 1, saved
        assert found_by("check", "-i", "new.data", folder=folder)["sound"]
        refused(folder.call("check", "-i", "none.data", "--format", "json"), 1, "none.data")


def test_merge():
    """merge: one row per run, with its numbers in both stores; a second merge finds the runs present"""
    with Folder(runs=2) as folder:
        added = found_by("merge", "-i", "all.data", "rpistat.data", folder=folder)
        assert [(row["from_store"], row["from_run"], row["result"], row["run"], row["periods"])
                for row in added["runs"]] == [("rpistat.data", number, "added", number, 250)
                                              for number in (1, 2)], added
        found = found_by("merge", "-i", "all.data", "rpistat.data", folder=folder)
        assert {row["result"] for row in found["runs"]} == {"present"}, found
        check_same(found["runs"], rows_by("merge", "-i", "all.data", "rpistat.data", folder=folder))
        store = sqlite3.connect(folder / "rpistat.data")
        with store:
            store.execute("UPDATE run SET host = 'another' WHERE run_id = 1")
            store.execute("UPDATE run SET elapsed_ns = 2 * elapsed_ns WHERE run_id = 2")
        store.close()
        found = found_by("merge", "-i", "all.data", "rpistat.data", status=1, folder=folder)
        assert [(row["result"], row["run"], row["differing_run"]) for row in found["runs"]] == [
            ("copied", 3, 1), ("unsound", 2, None)], found


def test_verify():
    """verify: one row per comparison, right or wrong as the status"""
    counting()
    answer = FOLDER.call("verify", "--pmu", "software", "--format", "json")
    found = validated("verify", answer.stdout)
    rows = found["comparisons"]
    assert [row["usable"] for row in found["pmus"]] == [True], found["pmus"]
    assert found["compared_count"] == len(rows) >= 3, found
    assert found["right_count"] == sum(row["right"] for row in rows), found
    assert answer.returncode == (found["right_count"] < len(rows)), (answer.returncode, found)
    for row in rows:
        assert row["right"] == (abs(row["error"]) <= row["tolerance"]), row
    text = FOLDER.call("verify", "--pmu", "software", "--format", "csv").stdout
    sheet = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in sheet] == [row["name"] for row in rows], sheet
    assert set(sheet[0]) == set(rows[0]), sheet
    assert {row["expected"] for row in sheet if row["workload"] == "touch"} == {"4096"}, sheet


def test_compare():
    """compare: the changes are the rows of the CSV; events that only one side counted are in none"""
    limits = ["--fail-if", "cpi>+1%", "--fail-if", "A:cpi<-1%"]
    with Folder() as folder:
        for number in (1, 2, 3):
            folder.write("script.sim", program.SCRIPT.replace("seed 1", "seed %d\nnoise 2%%" % number))
            folder.record("-q", "--label", "a \"b\"")
        found = found_by("compare", "1,2", "3", *limits, folder=folder, status=4)
        check_same(found["changes"], rows_by("compare", "1,2", "3", folder=folder))
        assert [run["side"] for run in found["runs"]] == ["A", "A", "B"], found["runs"]
        assert [(row["limit"], row["label"]) for row in found["limits"]] == [("cpi>+1%", None), ("A:cpi<-1%", "A")]
    found = found_by("compare", "1", "2")
    assert found["remarks"] and not {"cpi", "retiring"} & {figure["name"] for figure in found["figures"]}, found
    check_same(found["changes"], rows_by("compare", "1", "2"))


def test_history():
    """history: the values are the rows of the CSV, and the JSON has levels, outliers and limits"""
    with Folder() as folder:
        for number in range(1, 10):
            folder.write("script.sim", program.SCRIPT.replace("seed 1", "seed %d\nnoise 2%%" % number))
            folder.record("-q", "--label", "a", "--tag", "commit=c%d" % (number // 4))
        ask_store(folder / "rpistat.data", "UPDATE run SET elapsed_ns = elapsed_ns * iif(run_id = 5, 3000, 1000 + run_id % 4) / 1000")
        found = found_by("history", "a", "--fail-if", "elapsed>+900%", folder=folder)
        assert [row["decision"] for row in found["limits"]] == ["holds"], found["limits"]
        assert ("elapsed", 5) in [(row["name"], row["run"]) for row in found["outliers"]], found["outliers"]
        check_same([{**row, **row["figures"]} for row in found["runs"]], rows_by("history", "a", folder=folder))
        assert {row["name"] for row in found["levels"]} == set(found["runs"][0]["figures"]), found["levels"]
        assert [run["tags_changed"] for run in found["runs"]] == ["commit=c0", None, None, "commit=c1"] + 3 * [None] + ["commit=c2", None], found["runs"]


# --- all of them ------------------------------------------------------------------------------


def test_unknown():
    """an unknown format is refused, with the list of formats"""
    for command in COMMANDS:
        refused(FOLDER.call(command, "--format", "xml"), 2, "xml", "text, json, csv")


def test_files():
    """the same with -o FILE and in another locale"""
    plain = FOLDER.call("report", "-r", "1", "--format", "json").stdout
    expect(FOLDER.call("report", "-r", "1", "-o", "report.json"), 0)
    assert FOLDER.read("report.json").decode() == plain
    german = environment(LC_ALL="de_DE.UTF-8", TZ="TST-5")
    assert FOLDER.call("report", "-r", "1", "--format", "json", env=german).stdout == plain


def test_help():
    """help: commands and options as in the text, without old names; one question per command"""
    found = found_by("help")
    assert found["version"] == expect(FOLDER.call("--version"), 0).stdout.split()[1], found["version"]
    assert sorted(row["name"] for row in found["commands"]) == sorted(program.COMMANDS), found
    for row in found["commands"]:
        text = expect(FOLDER.call(row["name"], "--help"), 0).stdout
        assert text.startswith("Usage: rpistat %s %s\n\n%s\n\nOptions:\n" % (row["name"], row["usage"], row["description"])), row
        assert "  %s\n" % row["summary"] in FOLDER.call("--help").stdout, row
        assert row["answers"].endswith("?") and row["answers"].count("?") == 1, row
        lines = [" ".join(line.split()) for line in text.split("\nOptions:\n")[1].split("\n\n")[0].splitlines()]
        for option in row["options"]:
            words = "-%s, " % option["letter"] if option["letter"] else ""
            words += "--" + option["name"]
            if option["argument"]:
                words += ("" if option["argument"].startswith("[") else " ") + option["argument"]
            words += " " + option["help"]
            if option["default"] or option["letter"] == "o":
                words += " (default %s)" % (option["default"] or "standard output")
            assert lines.pop(0) == words, (row["name"], words)
        assert not lines, lines
        assert found_by("help", row["name"])["commands"] == [row], row["name"]
    phases, = (row["options"] for row in found["commands"] if row["name"] == "phases")
    choices = {option["name"]: option["choices"] for option in phases}
    assert choices["format"] == ["text", "json", "csv", "markdown", "html"] and not choices["quiet"], choices
    assert FOLDER.call("help", "--format=json").stdout == FOLDER.call("help", "--format", "json").stdout
    assert FOLDER.call("help", "--format", "text", "plot").stdout == FOLDER.call("plot", "--help").stdout
    refused(FOLDER.call("help", "--format"), 2, "--format", "json")
    refused(FOLDER.call("help", "--format", "csv"), 2, "'csv'", "json")
    refused(FOLDER.call("help", "plot", "code"), 2, "'code'")
    refused(FOLDER.call("help", "plto", "--format", "json"), 2, "plot")


def test_manual():
    r"""the manual page has each name of the schema with its unit, and no other name"""
    folder = os.path.join(tap.root(), "src", "man")
    page = subprocess.run([sys.executable, os.path.join(folder, "json_page.py"),
                           os.path.join(tap.root(), "schema", "output.schema.json"),
                           os.path.join(tap.root(), "include", "rpistat", "system_metrics.h"),
                           os.path.join(folder, "rpistat-json.5.scd.in")],
                          capture_output=True, text=True, check=True, timeout=program.TIMEOUT).stdout
    section = page.split("\n# NAMES\n")[1].split("\n# ")[0]
    listed = dict(re.findall(r"^\*(\w+)\*(?: \(([^)]*)\))?\n\t\S", section, re.M))
    used = {name for kind in SCHEMA["$defs"].values() for name in kind.get("properties", ())}
    for kind in SCHEMA["$defs"].values():
        used |= set(kind.get("additionalProperties", {}).get("properties", ())) \
            if isinstance(kind.get("additionalProperties"), dict) else set()
    FOLDER.write("system.sim", "default rss=1M\nphase a 1s\n")
    expect(FOLDER.call("record", "--pmu", "sim:system.sim", "-o", "system.data"), 0)
    used |= set(json.loads(expect(FOLDER.call("report", "-i", "system.data", "--format", "json"), 0).stdout)["system"])
    assert {"rss_high_mib", "fds"} < used and set(listed) == used, (set(listed) ^ used)
    for name, unit in listed.items():
        described = SCHEMA["$defs"].get(name, {}).get("description", "")
        assert bool(unit) == described.endswith("(%s)" % unit) or not described, (name, unit)


def test_jq():
    """jq finds a figure by its name, and a run by its label"""
    if not shutil.which("jq"):
        raise tap.Skip("jq is not installed")

    def ask(arguments, question):
        text = FOLDER.call(*arguments, "--format", "json").stdout
        return subprocess.run(["jq", "-r", question], input=text, capture_output=True, text=True,
                              check=True, timeout=program.TIMEOUT).stdout.split()
    assert ask(["report", "-r", "1"], '.figures[] | select(.name == "cpi") | .value') == ["3.5"]
    assert ask(["report", "-r", "1"], '.figures[] | select(.name == "dc_miss") | .value') == [
        "120000000"]
    assert ask(["runs"], '.runs[] | select(.["label"] == "topdown") | .run') == ["2"]
    assert ask(["phases", "-r", "1"], ".phases | map(.end_s - .start_s) | add") == ["25"]


CASES = [test_schema, test_runs, test_report, test_report_part, test_real, test_live, test_status, test_empty,
         test_phases, test_code, test_explain, test_events, test_check, test_merge, test_verify, test_compare, test_history, test_help, test_unknown, test_files,
         test_manual, test_jq]
try:
    tap.main(CASES)
finally:
    FOLDER.__exit__()
