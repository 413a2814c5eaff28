"""examples/python/rpistat.py with a real pandas: its example as it stands, and its frames beside what the program says."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

from program import RPISTAT, TIMEOUT, Folder, environment, expect, tap

PROGRAMS = os.path.dirname(RPISTAT) + os.pathsep + os.environ["PATH"]
MODULE = os.path.join(tap.root(), "examples", "python")
ASKED = """
import json, rpistat
store = rpistat.open_store("rpistat.data")
runs, rates, phases = rpistat.runs(store), rpistat.rates(store, 1), rpistat.phases(store, 1)
try:
    store.execute("DELETE FROM run")
except Exception as error:
    refused = str(error)
print(json.dumps({"runs": json.loads(runs.to_json(orient="index")), "rates": json.loads(rates.to_json(orient="records", double_precision=15)),
                  "phases": json.loads(phases.to_json(orient="records", double_precision=15)),
                  "newest": rpistat.newest(store), "unphased": len(rpistat.rates(store, 2)),
                  "labels": rpistat.rates(store, 2).label.notna().sum().item(), "refused": refused}))
"""


def python():
    """One that has pandas: Debian's is for its own Python alone."""
    for program in (sys.executable, "/usr/bin/python3"):
        if shutil.which(program) and subprocess.run([program, "-c", "import pandas"], capture_output=True, check=False,
                                                    timeout=TIMEOUT).returncode == 0:
            return program
    raise tap.Skip("pandas is not installed (Debian: python3-pandas)")


def asked(text):
    answer = subprocess.run([python(), "-W", "error", "-c", text], cwd=FOLDER.path, env=environment(PYTHONPATH=MODULE, PATH=PROGRAMS), text=True,
                            capture_output=True, check=False, timeout=TIMEOUT)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def rows(*arguments):
    return list(csv.DictReader(io.StringIO(expect(FOLDER.call(*arguments), 0).stdout)))


def test_example():
    """the lines of its help run as they stand"""
    expect(FOLDER.call("phases"), 0)
    with open(os.path.join(MODULE, "rpistat.py"), encoding="utf-8") as file:
        lines = [line[4:] for line in file if line.startswith(">>> ")]
    assert len(lines) > 5, lines
    said = asked("".join(lines) + "print(list(length_s.index), round(float(length_s.sum()), 3), by_phase.cpi['B'] > 0)")
    phases = rows("phases", "-r", "1", "--format", "csv")
    assert said.split("]")[0] == str(sorted({phase["label"] for phase in phases})).rstrip("]"), said
    assert said.split("]")[1].split() == ["25.0", "True"], said


def test_frames():
    """runs, rates and phases are what runs, export --rates and phases say; the store is only read"""
    found = json.loads(asked(ASKED))
    report = json.loads(expect(FOLDER.call("report", "-r", "1", "--format", "json"), 0).stdout)
    one = found["runs"]["1"]
    assert set(found["runs"]) == {"1", "2"} and found["newest"] == 2 and one["label"] == "run1", found["runs"]
    figures = {figure["name"]: figure["value"] for figure in report["figures"] if figure["kind"] == "metric"}
    assert len(figures) > 5
    for name, value in figures.items():
        assert abs(one[name] - value) <= 1e-6 * abs(value), (name, one[name], value)
    table = rows("export", "-r", "1", "--rates")
    assert [row["time_s"] for row in found["rates"]] == [float(row["time_s"]) for row in table]
    assert [row["label"] for row in found["rates"]] == [row["label"] for row in table]
    for mine, row in zip(found["rates"], table):
        assert (mine["cpi"] is None) == (row["cpi"] == "") and (not row["cpi"] or abs(mine["cpi"] - float(row["cpi"])) <= 1e-7), row
    phases = rows("phases", "-r", "1", "--format", "csv")
    assert [phase["label"] for phase in found["phases"]] == [phase["label"] for phase in phases]
    for mine, phase in zip(found["phases"], phases):
        assert abs(mine["time_s"] - float(phase["start_s"])) < 1e-6, (mine, phase)
    assert found["unphased"] == len(table) and found["labels"] == 0, found["labels"]
    assert "readonly" in found["refused"], found["refused"]


WORK = """
import rpistat
for path in ("short.data", "long.data"):
    store, steps = rpistat.open_store(path), []
    store.set_progress_handler(lambda: steps.append(0), 100)
    for name in ("runs", "phases", "rates"):
        steps.clear()
        found = getattr(rpistat, name)(store)
        print(name, len(found), len(steps))
"""


def test_work():
    """no function reads the periods through Python's SQLite: a run that is ten times as long takes as many steps there"""
    for name, length in (("short", "10s"), ("long", "100s")):
        FOLDER.write(name + ".sim", "default instructions=200M\nphase a %s\n" % length)
        expect(FOLDER.call("record", "-q", "--pmu", "sim:%s.sim" % name, "-o", name + ".data"), 0)
    found = [line.split() for line in asked(WORK).splitlines()]
    for short, long in zip(found[:3], found[3:]):
        assert abs(int(short[2]) - int(long[2])) <= 2, found
    assert int(found[5][1]) == 10 * int(found[2][1]) > 0, found


with Folder(runs=2) as FOLDER:
    expect(FOLDER.call("phases", "-r", "1"), 0)
    tap.main([test_frames, test_work, test_example])
