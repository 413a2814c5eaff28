"""Stores of rpistat as pandas data frames. One file, which needs pandas and the program: copy it, or name its directory in PYTHONPATH.

>>> import rpistat
>>> store = rpistat.open_store("rpistat.data")     # only read, also while it is being recorded into
>>> runs = rpistat.runs(store)                     # a row a run, its figures as columns
>>> rates = rpistat.rates(store)                   # of the newest run: a row a rotation, a column a figure
>>> by_phase = rates.groupby("label").mean(numeric_only=True)
>>> phases = rpistat.phases(store, 1)              # of run 1, after `rpistat phases`
>>> length_s = phases.groupby("label").length_s.sum()

schema/README.md has all tables and views; pandas.read_sql(SQL, store) reads any of them.
"""
import io
import pathlib
import sqlite3
import subprocess

import pandas

PROGRAM = "rpistat"  # a path, if it is not in PATH


def open_store(path="rpistat.data"):
    """A connection that cannot write."""
    return sqlite3.connect(pathlib.Path(path).resolve().as_uri() + "?mode=ro", uri=True)


def runs(store):
    """A row a run, by its number: what `rpistat runs` shows, and of a run that has ended the figures of its report."""
    frame = pandas.read_sql("SELECT * FROM run_summary", store, index_col="run_id").drop(columns="figures")
    figures = pandas.read_sql("SELECT run_id, name, value FROM estimate WHERE kind = 'metric'", store)
    return frame.join(figures.pivot(index="run_id", columns="name", values="value"))


def newest(store):
    """The number of the newest run."""
    return store.execute("SELECT max(run_id) FROM run").fetchone()[0]


def rates(store, run=None):
    """The metrics of a run over time (default: of the newest run): one row per rotation of the event sets, and in a recording
    by CPU one per CPU. `label` is the phase that the row begins in, if the phases are known. `rpistat export` computes the
    rows: the view `rate` has them too, but takes 20 times as long for a day."""
    run = newest(store) if run is None else run
    path = store.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    done = subprocess.run([PROGRAM, "export", "-q", "--rates", "-i", path, "-r", str(run)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    metrics = [name for name, in store.execute("SELECT name FROM metric WHERE run_id = ? ORDER BY metric_no", [run])]
    at = {name: n for n, name in enumerate(done.stdout.partition("\n")[0].split(","))}
    named = {at[name]: name for name in ["cpu", "rotation", "time_s", "length_s"]}
    named.update((at["label"] + 1 + n, name) for n, name in enumerate(metrics))  # headings have units, and intervals follow
    frame = pandas.read_csv(io.StringIO(done.stdout), header=0, names=range(len(at)), usecols=list(named)).rename(columns=named)
    frame["cpu"] = frame["cpu"].fillna(-1).astype(int)
    found = phases(store, run)[["time_s", "label"]].astype({"time_s": float})
    return pandas.merge_asof(frame.sort_values("time_s", kind="stable"), found, on="time_s")


def phases(store, run=None):
    """The phases that `rpistat phases` found last, in order of time; none, unless it was asked for."""
    return pandas.read_sql("SELECT * FROM shown_phase WHERE run_id = ? ORDER BY time_s", store,
                           params=[newest(store) if run is None else run])
