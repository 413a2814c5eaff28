"""merge: many stores into one, what is said of each run, and the same answers from the copies."""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time
import uuid

from program import RPISTAT, Folder, Recording, environment, expect, refused, silence, tap

FOLDER = Folder(runs=2)
MACHINES = 20


def execute(name, *statements):
    with contextlib.closing(sqlite3.connect(FOLDER / name, timeout=60)) as store, store:
        for statement in statements:
            rows = store.execute(*statement).fetchall()
    return rows


def said(*arguments):
    return expect(FOLDER.call("merge", *arguments), 0).stdout


def sound(name):
    return expect(FOLDER.call("check", "-i", name), 0).stdout


def cut(name, run, periods):
    """What a recorder that was killed behind so many periods leaves."""
    execute(name, ("DELETE FROM period WHERE run_id = ? AND period >= ?", (run, periods)),
            ("DELETE FROM rollup WHERE run_id = ? AND last_period >= ?", (run, periods)),
            ("UPDATE event_set SET periods = NULL WHERE run_id = ?", (run,)),
            ("UPDATE run SET state = 'interrupted', elapsed_ns = (SELECT max(start_ns + length_ns)"
             " FROM period AS p WHERE p.run_id = run.run_id) WHERE run_id = ?", (run,)))


def test_equal():
    """a copy of a copy answers as the run itself; phases come along, and are not looked for again"""
    FOLDER.call("phases", "-r", "1")
    assert said("-i", "copy.data", "rpistat.data") == \
        "run 1 of rpistat.data is run 1 now: 250 periods\nrun 2 of rpistat.data is run 2 now: 250 periods\n"
    said("-i", "again.data", "copy.data")
    assert execute("again.data", ("SELECT run_id FROM detection",)) == [(1,)]
    for command in (["report"], ["phases"], ["export"], ["export", "--rates"], ["runs"]):
        one = expect(FOLDER.call(*command), 0).stdout
        assert expect(FOLDER.call(*command, "-i", "again.data"), 0).stdout == one, command
    assert sound("again.data") == "again.data is sound: 2 runs, 500 periods\n"
    assert said("-i", "again.data", "rpistat.data", "copy.data") == \
        "2 runs of rpistat.data were there already\n2 runs of copy.data were there already\n"
    assert said("-q", "-i", "one.data", "-r", "run2", "copy.data") == ""
    assert execute("one.data", ("SELECT run_id, label FROM run",)) == [(1, "run2")]


def test_many():
    """the stores of twenty machines, into a new one and merged at the same time into another"""
    names = ["machine%d.data" % number for number in range(MACHINES)]
    for number, name in enumerate(names):
        shutil.copy(FOLDER / "rpistat.data", FOLDER / name)
        execute(name, ("UPDATE run SET uuid = ?, host = ? WHERE run_id = 1",
                       (str(uuid.UUID(int=number)), "host%d" % number)))
    lines = said("-i", "all.data", *names).splitlines()
    assert lines[:3] == ["run 1 of machine0.data is run 1 now: 250 periods",
                         "run 2 of machine0.data is run 2 now: 250 periods",
                         "run 1 of machine1.data is run 3 now: 250 periods"], lines
    assert lines[-1] == "1 run of machine19.data was there already", lines
    assert execute("all.data", ("SELECT count(*), count(DISTINCT host) FROM run",)) == [(21, 21)]
    assert sound("all.data") == "all.data is sound: 21 runs, 5250 periods\n"
    merges = [subprocess.Popen([RPISTAT, "merge", "-q", "-i", "beside.data", name], cwd=FOLDER.path,
                               env=environment()) for name in names[:3]]
    assert [merge.wait(300) for merge in merges] == [0, 0, 0]
    assert sound("beside.data") == "beside.data is sound: 4 runs, 1000 periods\n"


def test_recorded():
    """a run that is still recorded is left out and named, there and here; its beginning is replaced"""
    said("-i", "here.data", "rpistat.data")
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "there.data")
    recording = ("INSERT INTO heartbeat SELECT run_id, ?, boot_id, 5000000000 FROM run WHERE run_id = 2",
                 (time.time_ns(),))
    execute("there.data", ("UPDATE run SET state = 'recording', elapsed_ns = NULL WHERE run_id = 2",),
            recording)
    assert said("-i", "here.data", "there.data") == \
        "run 2 of there.data was left out: it is still being recorded\n" \
        "1 run of there.data was there already\n"
    execute("here.data", ("UPDATE run SET state = 'recording', elapsed_ns = NULL WHERE run_id = 2",),
            recording)
    assert "run 2 of rpistat.data was left out: it is still being recorded, as run 2 of here.data\n" in \
        said("-i", "here.data", "rpistat.data")
    silence(FOLDER / "here.data")
    cut("here.data", 2, 100)
    assert "run 2 of rpistat.data is run 3 now, in the place of run 2, which was its beginning: 250 periods\n" \
        in said("-i", "here.data", "rpistat.data")
    assert sound("here.data") == "here.data is sound: 2 runs, 500 periods\n"
    row = json.loads(said("-i", "here.data", "--format", "json", "rpistat.data"))["runs"][1]
    assert (row["result"], row["run"], row["replaced_run"]) == ("present", 3, None), row


def test_forged():
    """a header is not believed: what is not sound is left out, what differs comes in beside the good run"""
    said("-i", "kept.data", "-r", "1", "rpistat.data")
    good = execute("kept.data", ("SELECT * FROM period",))
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "forged.data")
    execute("forged.data", ("UPDATE run SET elapsed_ns = elapsed_ns + 1 WHERE run_id = 1",),
            ("DELETE FROM period WHERE run_id = 1",), ("DELETE FROM rollup WHERE run_id = 1",))
    answer = expect(FOLDER.call("merge", "-i", "kept.data", "forged.data"), 1)
    assert answer.stdout == "run 2 of forged.data is run 2 now: 250 periods\n", answer.stdout
    assert re.fullmatch(r"rpistat: run 1 of forged.data was left out, since it is not sound \(1 stretch is"
                        r" missing.*\): `rpistat check -i forged.data` says more.*\n", answer.stderr), answer.stderr
    answer = expect(FOLDER.call("merge", "-q", "-i", "kept.data", "--format", "json", "forged.data"), 1)
    assert [row["result"] for row in json.loads(answer.stdout)["runs"]] == ["unsound", "present"], answer.stdout
    assert "was left out, since it is not sound" in answer.stderr
    assert execute("kept.data", ("SELECT * FROM period WHERE run_id = 1",)) == good
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "forged.data")
    execute("forged.data", ("UPDATE run SET host = 'another' WHERE run_id = 1",))
    assert said("-i", "kept.data", "forged.data") == \
        "run 1 of forged.data is run 3 now, a copy beside run 1, which has its uuid and differs from it:" \
        " 250 periods\n1 run of forged.data was there already\n"
    row = json.loads(said("-i", "kept.data", "--format", "json", "forged.data"))["runs"][0]
    assert (row["result"], row["run"], row["differing_run"]) == ("present", 3, None), row
    uuid, = execute("kept.data", ("SELECT uuid FROM run WHERE run_id = 1",))[0]
    assert "3  " in expect(FOLDER.call("runs", "-i", "kept.data", "-r", "copy_of=" + uuid), 0).stdout
    assert execute("kept.data", ("SELECT * FROM period WHERE run_id = 1",)) == good
    assert sound("kept.data") == "kept.data is sound: 3 runs, 750 periods\n"


def test_nightly():
    """copies of a live store that is thinned, merged one after the other, are one run"""
    FOLDER.write("nights.sim", "clock 700M\nseed 3\ndefault instructions=200M\nphase work 5000s\n")
    with subprocess.Popen([RPISTAT, "record", "-q", "--pmu", "sim:nights.sim", "--keep", "1m", "--commit", "50ms",
                           "-o", "live.nights"], cwd=FOLDER.path, env=environment()) as recorder:
        for night in range(5):
            while recorder.poll() is None and not has_periods("live.nights", night * 10000):
                time.sleep(0.01)
            with contextlib.closing(sqlite3.connect(FOLDER / "live.nights", timeout=60)) as live, \
                    contextlib.closing(sqlite3.connect(FOLDER / ("night%d.data" % night))) as copy:
                live.backup(copy)
            silence(FOLDER / ("night%d.data" % night))
        assert recorder.wait(300) == 0
    for name in ["night%d.data" % night for night in range(5)] + ["live.nights"]:
        told = said("-i", "nights.data", name)
        assert re.search("is run . now|was there already", told) and "copy" not in told, told
        assert execute("nights.data", ("SELECT count(*) FROM run",)) == [(1,)]
        sound("nights.data")
    assert execute("nights.data", ("SELECT max(level) = 1 FROM finest",)) == [(1,)]
    assert sound("nights.data") == "nights.data is sound: 1 run, 50000 periods\n"
    assert said("-i", "nights.data", "night3.data", "live.nights") == \
        "1 run of night3.data was there already\n1 run of live.nights was there already\n"


def has_periods(name, count):
    try:
        return os.path.exists(FOLDER / name) and \
            execute(name, ("SELECT max(period) > ? FROM period", (count,)))[0][0]
    except sqlite3.OperationalError:  # it is just being made
        return False


def test_beside_a_recorder():
    """a recording into the store that gets the runs loses nothing"""
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "large.data")
    execute("large.data", ("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)"
                           " INSERT INTO mark SELECT 1, i, 0, 'x' FROM n",))
    with Recording(FOLDER, "live.data") as recording:
        assert "is run 2 now" in said("-i", "live.data", "large.data")
        assert recording.process.poll() is None
        assert recording.end() == 0
    count, first, last, late = execute("live.data", (
        "SELECT count(*), min(period), max(period), sum(start_ns <> before) FROM (SELECT *,"
        " lag(start_ns + length_ns) OVER (ORDER BY period) AS before FROM period WHERE run_id = 1)",))[0]
    assert (first, last, late) == (0, count - 1, 0), (count, first, last, late)
    assert execute("live.data", ("SELECT count(*) FROM gap",)) == [(0,)]
    assert execute("live.data", ("SELECT count(*) FROM mark WHERE run_id = 2",)) == [(150000,)]
    sound("live.data")


def test_waiting():
    """--wait begins when nobody records into the store; where none is there it does not wait"""
    with Recording(FOLDER, "busy.data") as recording:
        status, out = recording.end_waited_for("merge", "--wait", "-i", "busy.data", "rpistat.data")
    assert status == 0 and "run 1 of rpistat.data is run 2 now" in out, out
    assert execute("busy.data", ("SELECT state FROM run",)) == [("complete",)] * 3
    assert said("--wait", "-q", "-i", "fresh.data", "rpistat.data") == ""


def test_refused():
    """what cannot be merged is said, and no store is made for it"""
    answer = refused(FOLDER.call("merge", "-i", "none.data", "nothing.data"), 1, "nothing.data", "its name")
    assert " -i" not in answer.stderr, "-i is the store that gets the runs: " + answer.stderr
    refused(FOLDER.call("merge", "-i", "none.data", "-r", "nobody", "nothing.data"), 1, "nothing.data")
    assert not os.path.exists(FOLDER / "none.data")
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "bare.data")
    expect(FOLDER.call("runs", "-i", "bare.data", "--delete", "1", "2"), 0)
    assert said("-i", "none.data", "bare.data") == "bare.data holds no runs: there is nothing to merge\n"
    assert not os.path.exists(FOLDER / "none.data")
    refused(FOLDER.call("merge", "rpistat.data"), 1, "the same store")
    refused(FOLDER.call("merge", "-i", "copy.data", "-r", "9", "rpistat.data"), 1, "run 9",
            "holds runs 1 to 2: `rpistat runs` lists them")
    refused(FOLDER.call("report", "-i", "copy.data", "-r", "9"), 1, "`rpistat runs -i copy.data` lists them")
    refused(FOLDER.call("compare", "-i", "copy.data", "label:x"), 1, "`rpistat runs -i copy.data` lists them")


def test_bad_between():
    """a bad store does not keep those after it out: each is said, and the status is 1"""
    FOLDER.write("text.data", "no store\n" * 100)
    for options in (["-i", "most.data"], ["-i", "rows.data", "--format", "json"]):
        answer = expect(FOLDER.call("merge", *options, "missing.data", "text.data", ".", "rpistat.data"), 1)
        assert [line.startswith("rpistat: ") and name in line for line, name in zip(
            answer.stderr.splitlines(), ("missing.data", "text.data", "folder"))] == [True] * 3, answer.stderr
        assert len(json.loads(answer.stdout)["runs"]) == 2 if "json" in options else \
            "run 2 of rpistat.data is run 2 now: 250 periods\n" in answer.stdout, answer.stdout
    refused(FOLDER.call("merge", "-i", "text.data", "rpistat.data", "copy.data"), 1, "text.data")


with FOLDER:
    tap.main([test_equal, test_many, test_recorded, test_forged, test_nightly, test_beside_a_recorder, test_waiting, test_refused, test_bad_between])
