"""runs: selection, deletion, labels and tags of runs, while others use the store."""
import os
import re
import shutil
import sqlite3
import time
import unicodedata

from program import Folder, Recording, environment, expect, refused, silence, tap

FOLDER = Folder()


def table(*arguments):
    """The numbers of the listed runs."""
    lines = expect(FOLDER.call("runs", *arguments), 0).stdout.splitlines()
    return [int(line.split()[0]) for line in lines[1:]]


def columns(text):
    """The width of a text on a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def said(*arguments):
    return expect(FOLDER.call("runs", *arguments), 0).stdout


def ask(statement):
    store = sqlite3.connect(FOLDER / "rpistat.data", timeout=60)
    try:
        with store:
            return store.execute(statement).fetchall()
    finally:
        store.close()


def sound():
    return expect(FOLDER.call("check"), 0).stdout


def test_choosing():
    """runs are selected by number, label, tag, -r, --label and --tag"""
    assert table() == [1, 2, 3, 4]
    assert table("2") == table("-r", "2") == table("host=b") == [2]
    assert table("3", "1", "last", "-r", "3") == [1, 3, 4]
    assert table("nightly") == [3], "the newest of that label"
    assert table("--label", "nightly") == [1, 3]
    assert table("--tag", "host=a") == [1, 3]
    assert table("--tag", "host=a", "--tag", "build=42") == [3]
    assert table("--label", "nightly", "2", "3") == [3]
    assert said("--tag", "host=nowhere") == "The store rpistat.data holds no such run.\n"
    refused(FOLDER.call("runs", "9"), 1, "run 9", "has runs 1 to 4")
    header, *lines = said().splitlines()
    assert [line[header.index("TAGS"):header.index("START")].strip() for line in lines] == \
        ["host=a", "host=b", "host=a build=42", "-"], lines
    assert "\n  Tags:" not in FOLDER.call("report", "-r", "4").stdout
    assert FOLDER.call("export", "-r", "build=42").stdout.splitlines()[1].startswith("3,")


def test_many():
    """many runs: selection by host and time, order by column; the host is shown if it differs"""
    kept = ask("SELECT host, start_realtime_ns FROM run ORDER BY run_id")
    assert "HOST" not in said()
    day = 86400 * 10**9
    for run, (host, days) in enumerate((("web1", 9), ("web2", 1), ("db", 3), ("web1", 1)), 1):
        ask("UPDATE run SET host = '%s', start_realtime_ns = %d WHERE run_id = %d"
            % (host, time.time_ns() - days * day - 10**9, run))
    header, *lines = said().splitlines()
    assert [line[header.index("HOST"):header.index("STATE")].strip() for line in lines] == \
        ["web1", "web2", "db", "web1"], lines
    assert "HOST" not in said("--host", "web1")
    assert table("--host", "web1") == [1, 4] and table("--host", "web*") == [1, 2, 4]
    assert table("--host", "web2", "--host", "db") == [2, 3] and table("--host", "web?", "2", "3") == [2]
    assert table("--since", "2d") == [2, 4] and table("--until", "2d") == [1, 3]
    assert table("--since", "4d", "--until", "1d12h", "--tag", "build=42") == [3]
    for days, runs in ((9.5, [1, 2, 3, 4]), (2, [2, 4])):
        moment = time.time() - days * 86400
        for form in ("%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S"):
            assert table("--since", time.strftime(form, time.localtime(moment))) == runs
    date = time.strftime("%Y-%m-%d", time.localtime(time.time() - 5 * 86400))
    assert table("--since", date) == [2, 3, 4] and table("--until", date) == [1]
    clock = time.strftime("%H:%M", time.localtime(time.time() - 120))  # today's or yesterday's
    assert table("--since", clock) == []
    for wrong in ("2026-02-30", "25:00", "2026-11-21T9", "x", "5"):
        refused(FOLDER.call("runs", "--since", wrong), 2, "--since", wrong, "2d", "2026-11-21")
    assert table("--sort", "-run") == [4, 3, 2, 1]
    assert table("--sort", "host") == [3, 1, 4, 2] and table("--sort", "-host") == [2, 1, 4, 3]
    assert table("--sort", "start") == [1, 3, 2, 4], "2 was put back before 4"
    assert table("--sort", "-label", "--host", "web*") == [1, 2, 4]
    assert table("--sort", "periods") == table("--sort", "-elapsed") == [1, 2, 3, 4]
    rows = said("--sort", "-host", "--format", "csv").splitlines()
    assert [row.split(",")[0] for row in rows] == ["run", "2", "1", "4", "3"], rows
    ask("UPDATE run SET start_realtime_ns = NULL WHERE run_id = 3")
    assert table("--since", "9999d") == table("--until", "0") == [1, 2, 4]
    header, line = said("3").splitlines()
    assert line[header.index("START"):].startswith("? "), line
    for run, (host, start) in enumerate(kept, 1):
        ask("UPDATE run SET host = '%s', start_realtime_ns = %d WHERE run_id = %d" % (host, start, run))


def test_editing():
    """labels and tags of several runs are changed together, and the change is printed"""
    assert said("4", "--set-label", "one", "--set-tag", "a=1", "--set-tag", "b=2") == \
        "Changed run 4 (label one, sim:script.sim); tags a=1, b=2.\n"
    assert table("--label", "one", "--tag", "b=2") == [4]
    assert said("--tag", "a=1", "--set-tag", "a=x=y", "--unset-tag", "b") == \
        "Changed run 4 (label one, sim:script.sim); tags a=x=y.\n"
    assert said("-q", "4", "2", "--set-label", "", "--unset-tag", "a") == ""
    assert ask("SELECT label, tags FROM run WHERE run_id IN (2, 4)") == [
        ("", '{"host":"b"}'), ("", "{}")]
    assert said("4", "--unset-tag", "a") == "Changed run 4 (sim:script.sim); no tags.\n"
    assert sound() == "rpistat.data: OK (4 runs, 1000 periods)\n"


def test_nothing_by_default():
    """nothing is deleted or changed without being named"""
    for change in (["--delete"], ["--set-label", "x"], ["--set-tag", "a=b"], ["--unset-tag", "a"]):
        refused(FOLDER.call("runs", *change), 2, "no runs chosen", change[0] == "--delete" and
                "--delete" or "--set-label")
    refused(FOLDER.call("runs", "--delete", "1", "9"), 1, "run 9")
    refused(FOLDER.call("runs", "--delete", "--tag", "host=c"), 1, "nothing was changed")
    refused(FOLDER.call("runs", "1", "--shrink"), 2, "--shrink", "--delete")
    refused(FOLDER.call("runs", "--delete", "1", "-i", "none.data"), 1, "none.data")
    assert not os.path.exists(FOLDER / "none.data")
    assert table() == [1, 2, 3, 4]


def test_recorded():
    """a run in progress is not deleted, nor are runs named with it; others are, at the same time"""
    FOLDER.record()
    ask("UPDATE run SET state = 'recording', elapsed_ns = NULL WHERE run_id = 5")
    ask("INSERT INTO heartbeat SELECT 5, %d, boot_id, 5000000000 FROM run WHERE run_id = 5"
        % time.time_ns())
    refused(FOLDER.call("runs", "--delete", "2", "5"), 1, "run 5", "is being recorded",
            "nothing was deleted")
    refused(FOLDER.call("runs", "--shrink"), 1, "run 5", "is being recorded")
    assert table() == [1, 2, 3, 4, 5]
    assert said("--delete", "2").startswith("Deleted run 2 (sim:script.sim): 250 periods.\n")
    silence(FOLDER / "rpistat.data")
    assert said("--delete", "last").startswith("Deleted run 5 (sim:script.sim): 250 periods.\n")
    assert table() == [1, 3, 4]


def test_waiting():
    """a large run is not deleted next to a recorder; with --wait, deletion begins when the recorder has ended"""
    refused(FOLDER.call("runs", "--wait"), 2, "--wait", "--delete")
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "live.data")
    store = sqlite3.connect(FOLDER / "live.data")
    with store:
        store.execute("WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1001000) INSERT"
                      " INTO period SELECT 1, -1, 1000000000000 + i, i, i, 0, i, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1,"
                      " 1, 1, 1, 1 FROM n")
    store.close()
    with Recording(FOLDER, "live.data") as recording:
        refused(FOLDER.call("runs", "-i", "live.data", "--delete", "1"), 1, "run 1", "more than 1000000 periods",
                "is being recorded", "--wait")
        status, shown = recording.end_waited_for("runs", "-i", "live.data", "--delete", "1", "--wait")
    assert status == 0 and "Deleted run 1 " in shown, shown
    assert 1 not in table("-i", "live.data")


def test_deleting():
    """the deleted runs and the rest of the store are printed; the file shrinks on request"""
    path = FOLDER / "rpistat.data"
    before = os.path.getsize(path)
    lines = said("--delete", "1", "--label", "nightly").splitlines()
    assert lines[0] == "Deleted run 1 (label nightly, sim:script.sim): 250 periods.", lines
    assert lines[1].startswith("rpistat.data has 2 runs, and ") and "KiB are free" in lines[1], lines
    assert os.path.getsize(path) == before and len(lines) == 2
    assert sound() == "rpistat.data: OK (2 runs, 500 periods)\n"
    line = said("--shrink")
    assert line.startswith("rpistat.data has 2 runs, and ") and "free" not in line, line
    assert os.path.getsize(path) < before
    assert "rpistat.data has no" not in said("--delete", "3", "4", "--shrink")
    assert said() == "The store rpistat.data holds no runs.\n"
    assert sound().startswith("rpistat.data: OK (0 runs")
    FOLDER.record()
    assert table() == [6], "the number of a deleted run is not used again"


def test_wide_characters():
    """columns are aligned in every locale: Chinese characters need two columns, combining accents none"""
    labels = ("\u6f22\u5b57\u306e\u5b9f\u884c", "cafe\u0301", "na\u00efve", "\U0001f600 smile", "plain")
    with Folder() as folder:
        for label in labels:
            folder.record("-q", "--label", label)
        for locale in ("C", "C.UTF-8", "xx_YY.UTF-8"):
            header, *lines = expect(folder.call("runs", env=environment(LC_ALL=locale)), 0).stdout.splitlines()
            assert {columns(line[:line.index(" 20")]) for line in lines} == {header.index(" START")}, (locale, lines)
        folder.write("own.ini", "[event a]\nevent = r07\nlabel = \u547d\u4ee4\n[event b]\nevent = r0b\n"
                     "label = n\u00e9e\n[set s]\nevents = a, b\n")
        folder.record("-q", "--sets", "own.ini")
        classic = expect(folder.call("report", "--format", "classic", env=environment(LC_ALL="C")), 0).stdout
        starts = re.findall("(?m)^  (?:\u547d\u4ee4|n\u00e9e|Cycles): +", classic)
        assert len(starts) == 3 and {columns(start) for start in starts} == {22}, classic


with FOLDER:
    for options in (["--label", "nightly", "--tag", "host=a"], ["--tag", "host=b"],
                    ["--label", "nightly", "--tag", "host=a", "--tag", "build=42"], []):
        FOLDER.record(*options)
    tap.main([test_choosing, test_many, test_editing, test_nothing_by_default, test_recorded, test_waiting, test_deleting,
              test_wide_characters])
