"""examples/python/rpistat.py with a real pandas: its example as it stands, and its frames compared
with the program's output.
"""
import contextlib
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys

from program import RPISTAT, TIMEOUT, Folder, ask_store, environment, expect, tap

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
    """The Python that has pandas: Debian's pandas is only for Debian's Python."""
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
    """the lines of the module's help run as they stand"""
    expect(FOLDER.call("phases"), 0)
    with open(os.path.join(MODULE, "rpistat.py"), encoding="utf-8") as file:
        lines = [line[4:] for line in file if line.startswith(">>> ")]
    assert len(lines) > 5, lines
    said = asked("".join(lines) + "print(list(length_s.index), round(float(length_s.sum()), 3), by_phase.cpi['B'] > 0)")
    phases = rows("phases", "-r", "1", "--format", "csv")
    assert said.split("]")[0] == str(sorted({phase["label"] for phase in phases})).rstrip("]"), said
    assert said.split("]")[1].split() == ["25.0", "True"], said


def test_frames():
    """runs, rates and phases agree with runs, export --rates and phases; the store is only read"""
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


MORE = """
import json, rpistat
store = rpistat.open_store("marked.data")
print(json.dumps({"waiting": json.loads(rpistat.waiting(store, 1).to_json(orient="records", double_precision=15)),
                  "regions": json.loads(rpistat.regions(store).to_json(orient="index", double_precision=15)),
                  "none": len(rpistat.regions(rpistat.open_store("rpistat.data")))}))
"""


def mark():
    """Make a run of ten seconds with system metrics and a region from 2 s to 5 s."""
    FOLDER.write("marked.sim", "default instructions=200M threads=4\nphase a 5s wait=20% in=lock:1\nphase b 5s\n")
    if os.path.exists(FOLDER / "marked.data"):
        return
    expect(FOLDER.call("record", "-q", "--pmu", "sim:marked.sim", "-o", "marked.data"), 0)
    ask_store(FOLDER / "marked.data", "INSERT INTO mark VALUES (1, 2000000000, 0, 'region solve begin'), (1, 5000000000, 1, 'region solve end')")


def test_more():
    """waiting agrees with export --format signals, in threads; regions agree with the report's, with their metrics"""
    mark()
    found = json.loads(asked(MORE))
    table = [row for row in rows("export", "-i", "marked.data", "--format", "signals") if row["source"] == "tree"]
    assert len(table) == len(found["waiting"]) > 50, (len(table), len(found["waiting"]))
    for mine, row in zip(found["waiting"], table):
        assert abs(mine["time_s"] + mine["length_s"] - float(row["end_s"])) < 1e-9, (mine, row)
        for name in ("running", "wait"):
            assert abs(mine[name] - float(row[name + "_us"]) / 1e6 / float(row["length_s"])) < 1e-9, (name, mine, row)
        assert mine["in_lock"] == float(row["in_lock"]) and mine["threads"] == 4, (mine, row)
    assert found["waiting"][10]["wait"] > 0 and found["waiting"][-1]["wait"] == 0
    region, = json.loads(expect(FOLDER.call("report", "-i", "marked.data", "--format", "json"), 0).stdout)["regions"]
    assert set(found["regions"]) == {"solve"} and found["none"] == 0, found
    mine = found["regions"]["solve"]
    assert (mine["entered"], mine["time_s"], mine["inside_s"]) == (1, 3, region["inside_s"]), mine
    cpi, = (figure["value"] for figure in region["figures"] if figure["name"] == "cpi")
    assert abs(mine["cpi"] - cpi) < 1e-9, (mine, cpi)


def test_notebook():
    """the notebook runs from the first to the last cell, and shows metrics, phases, waiting and regions"""
    done = subprocess.run([python(), "-c", "import nbconvert, ipykernel"], capture_output=True, check=False, timeout=TIMEOUT)
    if done.returncode != 0:
        raise tap.Skip("nbconvert or ipykernel is not installed (Debian: jupyter-nbconvert, python3-ipykernel)")
    mark()
    expect(FOLDER.call("phases", "-i", "marked.data"), 0)
    with open(os.path.join(MODULE, "run.ipynb"), encoding="utf-8") as file:
        FOLDER.write("run.ipynb", file.read().replace("rpistat.data", "marked.data"))
    done = subprocess.run([python(), "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done", "run.ipynb"],
                          cwd=FOLDER.path, text=True, capture_output=True, check=False, timeout=TIMEOUT,
                          env=environment(PYTHONPATH=MODULE, PATH=PROGRAMS, HOME=FOLDER.path))
    assert done.returncode == 0, done.stderr
    cells = [cell for cell in json.loads(FOLDER.read("done.ipynb"))["cells"] if cell["cell_type"] == "code"]
    shown = ["".join(output["data"]["text/plain"]) for cell in cells for output in cell["outputs"]]
    assert len(shown) == len(cells), shown
    for text, words in zip(shown, ("cpi", "cpi", "B", "cpi", "in_lock", "solve")):
        assert words in text, (words, text)


ODD = """
import json, sqlite3, rpistat
store = rpistat.open_store("odd.data")
runs, rates = rpistat.runs(store), rpistat.rates(store)
print(json.dumps({"runs": runs[["label", "label_metric"]].values.tolist(), "rates": rates[[name for name in rates if name != "rotation"]].values.tolist(),
                  "columns": list(rates)}))
old, refused = rpistat.open_store("old.data"), []
for name, store in (("runs", old), ("rates", old), ("phases", old), ("waiting", sqlite3.connect(":memory:"))):
    try:
        getattr(rpistat, name)(store, *[1][:name != "runs"])
    except RuntimeError as error:
        refused.append(str(error))
print(json.dumps(refused))
"""


def test_odd_columns():
    """columns with a comma, a quote or the name of another column have the right values; a store without views gives a sentence"""
    FOLDER.write("odd.csv", 'time,"a,b ""q""",label\n' + "".join("%d,%d,%d\n" % (n, 3 * n, 5) for n in range(1, 9)))
    expect(FOLDER.call("import", "-q", "-o", "odd.data", "odd.csv"), 0)
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "old.data")
    with contextlib.closing(sqlite3.connect(FOLDER / "old.data")) as store, store:
        for name, kind in store.execute("SELECT name, type FROM sqlite_master WHERE type = 'view'").fetchall():
            store.execute("DROP %s %s" % (kind, name))
    found, refused = (json.loads(line) for line in asked(ODD).splitlines())
    assert found["runs"] == [["", 5]], found
    assert "label" in found["columns"] and "label_metric" in found["columns"], found["columns"]
    assert all(row[found["columns"].index("label_metric") - 1] == 5 for row in found["rates"]), found
    assert len(refused) == 4 and all("rpistat merge -i NEW OLD" in text for text in refused), refused


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
    """no function reads periods through Python's SQLite: ten times as many periods take the same number of steps there"""
    for name, length in (("short", "10s"), ("long", "100s")):
        FOLDER.write(name + ".sim", "default instructions=200M\nphase a %s\n" % length)
        expect(FOLDER.call("record", "-q", "--pmu", "sim:%s.sim" % name, "-o", name + ".data"), 0)
    found = [line.split() for line in asked(WORK).splitlines()]
    for short, long in zip(found[:3], found[3:]):
        assert abs(int(short[2]) - int(long[2])) <= 2, found
    assert int(found[5][1]) == 10 * int(found[2][1]) > 0, found


with Folder(runs=2) as FOLDER:
    expect(FOLDER.call("phases", "-r", "1"), 0)
    tap.main([test_frames, test_more, test_odd_columns, test_notebook, test_work, test_example])
