"""merge: many stores into one; statements about each run; copies give the same answers."""
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
    """The store that a recorder leaves if it is killed after this number of periods."""
    execute(name, ("DELETE FROM period WHERE run_id = ? AND period >= ?", (run, periods)),
            ("DELETE FROM rollup WHERE run_id = ? AND last_period >= ?", (run, periods)),
            ("UPDATE event_set SET periods = NULL WHERE run_id = ?", (run,)),
            ("UPDATE run SET state = 'interrupted', elapsed_ns = (SELECT max(start_ns + length_ns)"
             " FROM period AS p WHERE p.run_id = run.run_id) WHERE run_id = ?", (run,)))


def test_equal():
    """a copy of a copy gives the same answers as the run; phases are copied, and not detected again"""
    FOLDER.call("phases", "-r", "1")
    assert said("-i", "copy.data", "rpistat.data") == \
        "run 1 of rpistat.data is run 1 now: 250 periods\nrun 2 of rpistat.data is run 2 now: 250 periods\n"
    said("-i", "again.data", "copy.data")
    assert execute("again.data", ("SELECT run_id FROM detection",)) == [(1,)]
    for command in (["report"], ["phases"], ["export"], ["export", "--rates"], ["runs"]):
        one = expect(FOLDER.call(*command), 0).stdout
        assert expect(FOLDER.call(*command, "-i", "again.data"), 0).stdout == one, command
    assert sound("again.data") == "again.data: OK (2 runs, 500 periods)\n"
    assert said("-i", "again.data", "rpistat.data", "copy.data") == \
        "2 runs of rpistat.data were there already\n2 runs of copy.data were there already\n"
    assert said("-q", "-i", "one.data", "-r", "run2", "copy.data") == ""
    assert execute("one.data", ("SELECT run_id, label FROM run",)) == [(1, "run2")]


def test_part():
    """--from and --to save a part of a run: a sound run that begins at 0, with the values of that part once"""
    assert said("-i", "part.data", "-r", "1", "--from", "5", "--to", "10.1", "rpistat.data") == \
        "run 1 of rpistat.data is run 1 now: 48 periods\n"
    assert sound("part.data") == "part.data: OK (1 run, 48 periods)\n"
    values = ("SELECT sum(c0), sum(c1), sum(cycles), sum(length_ns), max(start_ns + length_ns) - min(start_ns)"
              " FROM period WHERE run_id = 1")
    first, last = execute("rpistat.data", ("SELECT min(period), max(period) FROM period WHERE run_id = 1 AND rotation"
                                           " BETWEEN 13 AND 24",))[0]
    inside = execute("rpistat.data", (values + " AND period BETWEEN %d AND %d" % (first, last),))
    assert execute("part.data", (values,)) == inside
    assert execute("part.data", ("SELECT elapsed_ns, user_ns, recorder_cpu_ns, state,"
                                 " json_extract(tags, '$.part_of') FROM run",)) == \
        [(inside[0][-1], None, None, "complete",
          execute("rpistat.data", ("SELECT uuid FROM run WHERE run_id = 1",))[0][0])]
    assert execute("part.data", ("SELECT min(start_ns), min(period), min(rotation), min(cycle - cycles) FROM period",)) == \
        [(0, 0, 0, 0)]
    assert said("-i", "part.data", "-r", "1", "--from", "5", "--to", "10.1", "rpistat.data") == \
        "1 run of rpistat.data was there already\n"
    said("-i", "part.data", "-r", "1", "--from", "phase:B", "rpistat.data")
    start = json.loads(expect(FOLDER.call("phases", "-r", "1", "--format", "json"), 0).stdout)["phases"][1]["start_s"]
    whole, part = (execute(name, ("SELECT start_realtime_ns FROM run ORDER BY run_id DESC LIMIT 1 OFFSET ?", (of,)))[0][0]
                   for name, of in (("rpistat.data", 1), ("part.data", 0)))
    assert -0.1 < (part - whole) / 1e9 - start < 0.4, (part - whole, start)
    refused(FOLDER.call("merge", "--from", "5", "rpistat.data", "copy.data"), 2, "one run", "name one store")
    refused(FOLDER.call("merge", "-i", "none.data", "--from", "5", "--to", "5.001", "rpistat.data"), 1, "no complete rotation",
            "within its 25.0 s")


def part(store, *arguments):
    """Merge a part of run 1 of `store`. Return the new run's row, and its offset from the whole run in ns."""
    name = "parts of %s" % store
    said("-i", name, "-r", "1", *arguments, store)
    store_row, row = (execute(of, ("SELECT start_monotonic_ns, elapsed_ns, state, end_reason, exit_status, run_id FROM run"
                                   " ORDER BY run_id DESC LIMIT 1 OFFSET ?", (at,)))[0] for of, at in ((store, 1), (name, 0)))
    assert sound(name).startswith(name + ": OK")
    return name, row[5], row[1:5], row[0] - store_row[0]


def test_part_beside_its_run():
    """a part is a run of its own, also next to the whole run, and has the same uuid in all stores"""
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "both.data")
    uuids = execute("both.data", ("SELECT uuid FROM run ORDER BY run_id",))
    options = ("-r", "1", "--from", "5", "--to", "10.1", "rpistat.data")
    assert said("-i", "both.data", *options) == "run 1 of rpistat.data is run 3 now: 48 periods\n"
    assert said("-i", "both.data", *options) == "1 run of rpistat.data was there already\n"
    assert sound("both.data") == "both.data: OK (3 runs, 548 periods)\n"
    found = execute("both.data", ("SELECT uuid FROM run ORDER BY run_id",))
    assert found[:2] == uuids and uuid.UUID(found[2][0]).version == 8, found
    assert execute("part.data", ("SELECT uuid FROM run WHERE run_id = 1",)) == found[2:]
    assert said("-i", "both.data", "-r", "1", "part.data") == "1 run of part.data was there already\n"


def test_part_with_end():
    """a part with the end of the run has the pause there, the exit status and the state; another part does not"""
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "paused.data")
    end = execute("paused.data", ("SELECT elapsed_ns FROM run WHERE run_id = 1",))[0][0]
    execute("paused.data", ("UPDATE run SET elapsed_ns = ?, exit_status = 3 WHERE run_id = 1", (end + 2 * 10 ** 9,)),
            ("INSERT INTO gap VALUES (1, ?, 0, -1, 2000000000, 'paused')", (end,)))
    gaps = "SELECT start_ns, length_ns FROM gap WHERE run_id = ?"
    name, number, row, shift = part("paused.data", "--from", "5", "--to", "%.3f" % (end / 1e9 + 1))
    whole = execute("paused.data", ("SELECT max(start_ns + length_ns) FROM period WHERE run_id = 1 AND rotation IN (SELECT"
                                    " rotation FROM period WHERE run_id = 1 GROUP BY rotation HAVING count(*) = 4)",))[0][0]
    assert row == (whole - shift, "complete", "", None) and whole < end, (row, whole, shift)
    assert execute(name, (gaps, (number,))) == [], execute(name, (gaps, (number,)))
    name, number, row, shift = part("paused.data", "--from", "5")
    assert row == (end + 2 * 10 ** 9 - shift, "complete", "", 3), (row, end, shift)
    assert execute(name, (gaps, (number,))) == [(end - shift, 2 * 10 ** 9)]
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "killed.data")
    cut("killed.data", 1, 101)
    execute("killed.data", ("UPDATE run SET end_reason = 'the recorder was killed, or its disk was full' WHERE run_id = 1",),
            *(("DELETE FROM " + table,) for table in ("detection", "phase", "outlier")))
    end = execute("killed.data", ("SELECT elapsed_ns FROM run WHERE run_id = 1",))[0][0]
    _, _, row, shift = part("killed.data", "--from", "5")
    assert row == (end - shift, "interrupted", "the recorder was killed, or its disk was full", 0), (row, end, shift)
    _, _, row, shift = part("killed.data", "--from", "5", "--to", "8")
    assert row[1:] == ("complete", "", None), row


def test_part_names():
    """merging the same part again replaces the earlier one if the run has more names now, and keeps the label"""
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "named.data")
    execute("named.data", ("INSERT OR IGNORE INTO module VALUES (1, 0, 'file', '/bin/x', '')",),
            ("INSERT OR IGNORE INTO frame VALUES (1, 0, 0, 4096, NULL)",),
            ("DELETE FROM location WHERE run_id = 1",))
    options = ("-i", "names.data", "-r", "1", "--from", "5", "--to", "10.1", "named.data")
    said(*options)
    execute("names.data", ("UPDATE run SET label = 'mine'",))
    execute("named.data", ("INSERT INTO location VALUES (1, 0, 0, 'f', '', 0, 'symbol', NULL)",))
    assert said(*options) == "run 1 of named.data is run 2 now, in the place of run 1, which had less data: 48 periods\n"
    assert execute("names.data", ("SELECT r.run_id, label, function FROM run AS r JOIN location USING (run_id)",)) == \
        [(2, "mine", "f")]
    assert said(*options) == "1 run of named.data was there already\n"


def test_part_regions():
    """a region that is open at an edge of the part begins or ends there; a region that ended before is omitted"""
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "regions.data")
    execute("regions.data", *(("INSERT INTO mark VALUES (1, ?, ?, ?)", (int(at * 10 ** 9), number, "region " + text))
                              for number, (at, text) in enumerate((
                                  (1, "early begin"), (2, "early end"), (2.5, "a begin"), (3, "a begin"), (4, "a end"),
                                  (7, "a b begin"), (8, "a b end"), (12, "late begin"), (13, "a begin"), (14, "a end"),
                                  (15, "a end"), (16, "a: 3 entries, 13.5 s")))))
    name, number, row, shift = part("regions.data", "--from", "5", "--to", "10.1")
    assert execute(name, ("SELECT time_ns, text FROM mark WHERE run_id = ? ORDER BY time_ns, mark_no", (number,))) == [
        (0, "region a begin"), (7 * 10 ** 9 - shift, "region a b begin"), (8 * 10 ** 9 - shift, "region a b end"),
        (row[0], "region a end")]
    name, number, row, shift = part("regions.data", "--from", "5")
    assert execute(name, ("SELECT count(*) FROM mark WHERE run_id = ? AND text GLOB '*entries*'", (number,))) == [(0,)]


def test_many():
    r"""the stores of twenty machines, into a new store and at the same time into another"""
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
    assert sound("all.data") == "all.data: OK (21 runs, 5250 periods)\n"
    merges = [subprocess.Popen([RPISTAT, "merge", "-q", "-i", "beside.data", name], cwd=FOLDER.path,
                               env=environment()) for name in names[:3]]
    assert [merge.wait(300) for merge in merges] == [0, 0, 0]
    assert sound("beside.data") == "beside.data: OK (4 runs, 1000 periods)\n"


def test_recorded():
    """a run in progress is left out and named, in both stores; its stored beginning is replaced"""
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
    assert "run 2 of rpistat.data is run 3 now, in the place of run 2, which had less data: 250 periods\n" \
        in said("-i", "here.data", "rpistat.data")
    assert sound("here.data") == "here.data: OK (2 runs, 500 periods)\n"
    row = json.loads(said("-i", "here.data", "--format", "json", "rpistat.data"))["runs"][1]
    assert (row["result"], row["run"], row["replaced_run"]) == ("present", 3, None), row


def test_forged():
    """headers are not trusted: damaged runs are left out; a different run is added beside the good one"""
    said("-i", "kept.data", "-r", "1", "rpistat.data")
    good = execute("kept.data", ("SELECT * FROM period",))
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "forged.data")
    execute("forged.data", ("UPDATE run SET elapsed_ns = elapsed_ns + 1 WHERE run_id = 1",),
            ("DELETE FROM period WHERE run_id = 1",), ("DELETE FROM rollup WHERE run_id = 1",))
    answer = expect(FOLDER.call("merge", "-i", "kept.data", "forged.data"), 1)
    assert answer.stdout == "run 2 of forged.data is run 2 now: 250 periods\n", answer.stdout
    assert re.fullmatch(r"rpistat: run 1 of forged.data was not merged, because it is damaged \(1 time range is"
                        r" missing.*\); save it with `rpistat check --repair -i forged.data -o NEW` and merge NEW\n", answer.stderr), answer.stderr
    answer = expect(FOLDER.call("merge", "-q", "-i", "kept.data", "--format", "json", "forged.data"), 1)
    assert [row["result"] for row in json.loads(answer.stdout)["runs"]] == ["unsound", "present"], answer.stdout
    assert "was not merged, because it is damaged" in answer.stderr
    assert execute("kept.data", ("SELECT * FROM period WHERE run_id = 1",)) == good
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "forged.data")
    execute("forged.data", ("UPDATE run SET host = 'another' WHERE run_id = 1",))
    assert said("-i", "kept.data", "forged.data") == \
        "run 1 of forged.data is run 3 now, in addition to run 1, which has the same uuid but other data:" \
        " 250 periods\n1 run of forged.data was there already\n"
    row = json.loads(said("-i", "kept.data", "--format", "json", "forged.data"))["runs"][0]
    assert (row["result"], row["run"], row["differing_run"]) == ("present", 3, None), row
    uuid, = execute("kept.data", ("SELECT uuid FROM run WHERE run_id = 1",))[0]
    assert "3  " in expect(FOLDER.call("runs", "-i", "kept.data", "-r", "copy_of=" + uuid), 0).stdout
    assert execute("kept.data", ("SELECT * FROM period WHERE run_id = 1",)) == good
    assert sound("kept.data") == "kept.data: OK (3 runs, 750 periods)\n"


def test_nightly():
    """copies of a live store that is downsampled, merged one after the other, are one run"""
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
    assert sound("nights.data") == "nights.data: OK (1 run, 50000 periods)\n"
    assert said("-i", "nights.data", "night3.data", "live.nights") == \
        "1 run of night3.data was there already\n1 run of live.nights was there already\n"


def has_periods(name, count):
    try:
        return os.path.exists(FOLDER / name) and \
            execute(name, ("SELECT max(period) > ? FROM period", (count,)))[0][0]
    except sqlite3.OperationalError:  # the store is being created
        return False


def test_beside_a_recorder():
    """a recorder that writes to the destination at the same time loses nothing"""
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
    """--wait begins when no recorder uses the store; without a recorder it does not wait"""
    with Recording(FOLDER, "busy.data") as recording:
        status, out = recording.end_waited_for("merge", "--wait", "-i", "busy.data", "rpistat.data")
    assert status == 0 and "run 1 of rpistat.data is run 2 now" in out, out
    assert execute("busy.data", ("SELECT state FROM run",)) == [("complete",)] * 3
    assert said("--wait", "-q", "-i", "fresh.data", "rpistat.data") == ""


def test_refused():
    """if a merge is impossible the reason is printed, and no store is made"""
    answer = refused(FOLDER.call("merge", "-i", "none.data", "nothing.data"), 1, "nothing.data", "its name")
    assert " -i" not in answer.stderr, "-i is the store that gets the runs: " + answer.stderr
    refused(FOLDER.call("merge", "-i", "none.data", "-r", "nobody", "nothing.data"), 1, "nothing.data")
    assert not os.path.exists(FOLDER / "none.data")
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "bare.data")
    expect(FOLDER.call("runs", "-i", "bare.data", "--delete", "1", "2"), 0)
    assert said("-i", "none.data", "bare.data") == "bare.data holds no runs: there is nothing to merge\n"
    assert not os.path.exists(FOLDER / "none.data")
    FOLDER.write("kept.txt", "kept")
    refused(FOLDER.call("merge", "-o", "kept.txt", "nothing.data"), 1, "nothing.data")
    assert FOLDER.read("kept.txt") == b"kept"
    refused(FOLDER.call("merge", "rpistat.data"), 1, "the same store")
    refused(FOLDER.call("merge", "-i", "copy.data", "-r", "9", "rpistat.data"), 1, "run 9",
            "has runs 1 to 2; see `rpistat runs`")
    refused(FOLDER.call("report", "-i", "copy.data", "-r", "9"), 1, "see `rpistat runs -i copy.data`")
    refused(FOLDER.call("compare", "-i", "copy.data", "label:x"), 1, "see `rpistat runs -i copy.data`")


def test_bad_between():
    """a bad store does not stop the merge of the others: each is reported, and the status is 1"""
    FOLDER.write("text.data", "no store\n" * 100)
    for options in (["-i", "most.data"], ["-i", "rows.data", "--format", "json"]):
        answer = expect(FOLDER.call("merge", *options, "missing.data", "text.data", ".", "rpistat.data"), 1)
        assert [line.startswith("rpistat: ") and name in line for line, name in zip(
            answer.stderr.splitlines(), ("missing.data", "text.data", "directory"))] == [True] * 3, answer.stderr
        assert len(json.loads(answer.stdout)["runs"]) == 2 if "json" in options else \
            "run 2 of rpistat.data is run 2 now: 250 periods\n" in answer.stdout, answer.stdout
    refused(FOLDER.call("merge", "-i", "text.data", "rpistat.data", "copy.data"), 1, "text.data")


with FOLDER:
    tap.main([test_equal, test_part, test_part_beside_its_run, test_part_with_end, test_part_names,
              test_part_regions, test_many, test_recorded, test_forged, test_nightly, test_beside_a_recorder, test_waiting, test_refused, test_bad_between])
