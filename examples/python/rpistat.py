"""Stores of rpistat as pandas data frames. One file, which needs pandas alone: copy it, or name its folder in PYTHONPATH.

>>> import rpistat
>>> store = rpistat.open_store("rpistat.data")     # only read, also while it is being recorded into
>>> runs = rpistat.runs(store)                     # a row a run, its figures as columns
>>> rates = rpistat.rates(store)                   # of the newest run: a row a rotation, a column a figure
>>> by_phase = rates.groupby("label").mean(numeric_only=True)
>>> phases = rpistat.phases(store, 1)              # of run 1, after `rpistat phases`
>>> length_s = phases.groupby("label").length_s.sum()

schema/README.md has all tables and views; pandas.read_sql(SQL, store) reads any of them.
"""
import pathlib
import sqlite3

import pandas


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
    """The figures of a run over time, the newest unless one is named: a row a rotation of the event sets, and in a recording
    by CPU one for each CPU; `label` is the phase that it begins in, where phases are known."""
    frame = pandas.read_sql("SELECT cpu, rotation, time_s, length_s, metric, value FROM rate WHERE run_id = ?", store,
                            params=[newest(store) if run is None else run])
    frame = frame.pivot(index=["cpu", "rotation", "time_s", "length_s"], columns="metric", values="value").reset_index()
    found = phases(store, run)[["time_s", "label"]].astype({"time_s": float})
    return pandas.merge_asof(frame.sort_values("time_s", kind="stable"), found, on="time_s")


def phases(store, run=None):
    """The phases that `rpistat phases` found last, in order of time; none, unless it was asked for."""
    return pandas.read_sql("SELECT * FROM shown_phase WHERE run_id = ? ORDER BY time_s", store,
                           params=[newest(store) if run is None else run])
