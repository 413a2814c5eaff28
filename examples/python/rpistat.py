"""Stores of rpistat as pandas data frames. One file, which needs pandas and the program: copy it, or name its directory in PYTHONPATH.

>>> import rpistat
>>> store = rpistat.open_store("rpistat.data")     # only read, also while it is being recorded into
>>> runs = rpistat.runs(store)                     # one row per run, with its metrics as columns
>>> rates = rpistat.rates(store)                   # of the newest run: one row per rotation, one column per metric
>>> by_phase = rates.groupby("label").mean(numeric_only=True)
>>> phases = rpistat.phases(store, 1)              # of run 1, after `rpistat phases`
>>> length_s = phases.groupby("label").length_s.sum()
>>> waiting = rpistat.waiting(store)               # one row per reading: what threads waited for
>>> regions = rpistat.regions(store)               # one row per region, with its metrics as columns

schema/README.md has all tables and views; pandas.read_sql(SQL, store) reads any of them.
"""
import csv
import io
import json
import pathlib
import sqlite3
import subprocess

import pandas

PROGRAM = "rpistat"  # the path of the program if it is not in PATH


def open_store(path="rpistat.data"):
    """Return a read-only connection."""
    return sqlite3.connect(pathlib.Path(path).resolve().as_uri() + "?mode=ro", uri=True)


def _need(store, name):
    """Raise an exception if the store has no such table or view."""
    if not store.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [name]).fetchone():
        raise RuntimeError("the store has no %s, because an older version of rpistat made it: "
                           "copy it to a new store with `rpistat merge -i NEW OLD`" % name)


def _differ(name, others):
    """The column name of a metric: NAME_metric if another column is called NAME."""
    return name + "_metric" if name in others else name


def runs(store):
    """One row per run, with its number: what `rpistat runs` shows, and for a finished run the figures of its report."""
    _need(store, "run_summary")
    frame = pandas.read_sql("SELECT * FROM run_summary", store, index_col="run_id").drop(columns="figures")
    figures = pandas.read_sql("SELECT run_id, name, value FROM estimate WHERE kind = 'metric'", store)
    figures = figures.pivot(index="run_id", columns="name", values="value")
    return frame.join(figures.rename(columns=lambda name: _differ(name, frame.columns)))


def newest(store):
    """Return the number of the newest run."""
    return store.execute("SELECT max(run_id) FROM run").fetchone()[0]


def _call(store, run, *arguments):
    """Return the standard output of a command for one run."""
    path = store.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    done = subprocess.run([PROGRAM, *arguments, "-q", "-i", path, "-r", str(run)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def rates(store, run=None):
    """The metrics of a run over time (default: of the newest run): one row per rotation of the event sets, and in a recording
    by CPU one per CPU. `label` is the phase that the row begins in, if the phases are known. `rpistat export` computes the
    rows: the view `rate` has them too, but takes 20 times as long for a day."""
    run = newest(store) if run is None else run
    text = _call(store, run, "export", "--rates")
    metrics = [name for name, in store.execute("SELECT name FROM metric WHERE run_id = ? ORDER BY metric_no", [run])]
    at = {name: n for n, name in enumerate(next(csv.reader(io.StringIO(text))))}
    named = {at[name]: name for name in ["cpu", "rotation", "time_s", "length_s"]}
    others = [*named.values(), "label"]
    # Headings have units, and the columns of intervals follow.
    named.update((at["label"] + 1 + n, _differ(name, others)) for n, name in enumerate(metrics))
    frame = pandas.read_csv(io.StringIO(text), header=0, names=range(len(at)), usecols=list(named)).rename(columns=named)
    frame["cpu"] = frame["cpu"].fillna(-1).astype(int)
    found = phases(store, run)[["time_s", "label"]].astype({"time_s": float})
    return pandas.merge_asof(frame.sort_values("time_s", kind="stable"), found, on="time_s")


def phases(store, run=None):
    """The phases that `rpistat phases` found last, in order of time. The frame is empty if
    `rpistat phases` has not been run.
    """
    _need(store, "shown_phase")
    return pandas.read_sql("SELECT * FROM shown_phase WHERE run_id = ? ORDER BY time_s", store,
                           params=[newest(store) if run is None else run])


# Columns of the tables reading and reading_rollup about threads (schema/README.md, table signal):
# the first two are in us, the others in threads.
WAITS = {"running": 0, "wait": 1, "threads": 3, "in_io": 4, "in_lock": 5, "in_message": 6, "in_timer": 7, "in_child": 8,
         "in_other": 9, "idle": 15}


def waiting(store, run=None):
    """What the threads of the workload waited for (default: in the newest run): one row per reading, or block of readings
    where the run is downsampled. All columns but the times are numbers of threads, on average: `running` on a CPU, `wait`
    for a CPU, `in_io` for a disk, `in_lock` for a lock, and so on; NaN is unknown. Recordings of CPUs have none of these."""
    _need(store, "reading")
    run, parts, before = newest(store) if run is None else run, [], 2 ** 62
    for level in range(5):  # where the run was downsampled, blocks replace finer rows, and come before them
        values = ", ".join("s%d%s AS %s" % (slot, " * 1.0 / n%d" % slot if level and slot > 1 else "", name)
                           for name, slot in WAITS.items())
        table = "reading_rollup WHERE level = %d AND last_period < %d AND" % (level, before) if level else "reading WHERE"
        part = pandas.read_sql("SELECT period, end_ns, length_us, %s FROM %s run_id = ? AND source = 0" % (values, table), store,
                               params=[run]).astype(float)
        before = int(min([before, *part.period[:1]]))
        parts.append(part)
    frame = pandas.concat([part for part in parts if len(part)] or parts[:1]).sort_values("end_ns").reset_index(drop=True)
    frame[["running", "wait"]] = frame[["running", "wait"]].div(frame.length_us, axis=0)
    frame.insert(0, "time_s", (frame.end_ns - 1000 * frame.length_us) / 1e9)
    frame.insert(1, "length_s", frame.length_us / 1e6)
    return frame.drop(columns=["period", "end_ns", "length_us"])


def regions(store, run=None):
    """The regions that a program marked in itself (default: in the newest run): one row per region, by its name, with the
    times that it was entered, its time, and its metrics as columns."""
    found = json.loads(_call(store, newest(store) if run is None else run, "report", "--format", "json"))["regions"]
    own = ["name", "entered", "time_s", "periods", "inside_s"]
    rows = [{**{name: region[name] for name in own},
             **{_differ(one["name"], own): one["value"] for one in region["figures"] if one["kind"] == "metric"}} for region in found]
    return pandas.DataFrame(rows, columns=None if rows else own).set_index("name")
