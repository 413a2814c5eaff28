"""runs: choosing runs, deleting them, their labels and tags, while others use the store too."""
import os
import sqlite3
import time

from program import Folder, expect, refused, silence, tap

FOLDER = Folder()


def table(*arguments):
    """Numbers of the runs that are listed."""
    lines = expect(FOLDER.call("runs", *arguments), 0).stdout.splitlines()
    return [int(line.split()[0]) for line in lines[1:]]


def said(*arguments):
    return expect(FOLDER.call("runs", *arguments), 0).stdout


def ask(statement):
    store = sqlite3.connect(FOLDER / "rpistat.data", timeout=10)
    try:
        with store:
            return store.execute(statement).fetchall()
    finally:
        store.close()


def sound():
    return expect(FOLDER.call("check"), 0).stdout


def test_choosing():
    """runs are chosen by number, label, tag, -r, --label and --tag"""
    assert table() == [1, 2, 3, 4]
    assert table("2") == table("-r", "2") == table("host=b") == [2]
    assert table("3", "1", "last", "-r", "3") == [1, 3, 4]
    assert table("nightly") == [3], "the newest of that label"
    assert table("--label", "nightly") == [1, 3]
    assert table("--tag", "host=a") == [1, 3]
    assert table("--tag", "host=a", "--tag", "build=42") == [3]
    assert table("--label", "nightly", "2", "3") == [3]
    assert said("--tag", "host=nowhere") == "The store rpistat.data holds no such run.\n"
    refused(FOLDER.call("runs", "9"), 1, "run 9", "holds runs 1 to 4")
    header, *lines = said().splitlines()
    assert [line[header.index("TAGS"):header.index("START")].strip() for line in lines] == \
        ["host=a", "host=b", "host=a build=42", "-"], lines
    assert "\nTag:" not in FOLDER.call("report", "-r", "4").stdout
    assert FOLDER.call("export", "-r", "build=42").stdout.splitlines()[1].startswith("3,")


def test_editing():
    """labels and tags are changed, of several runs at once, and the change is told"""
    assert said("4", "--set-label", "one", "--set-tag", "a=1", "--set-tag", "b=2") == \
        "Changed run 4 (label one, sim:script.sim); tags a=1, b=2.\n"
    assert table("--label", "one", "--tag", "b=2") == [4]
    assert said("--tag", "a=1", "--set-tag", "a=x=y", "--unset-tag", "b") == \
        "Changed run 4 (label one, sim:script.sim); tags a=x=y.\n"
    assert said("-q", "4", "2", "--set-label", "", "--unset-tag", "a") == ""
    assert ask("SELECT label, tags FROM run WHERE run_id IN (2, 4)") == [
        ("", '{"host":"b"}'), ("", "{}")]
    assert said("4", "--unset-tag", "a") == "Changed run 4 (sim:script.sim); no tags.\n"
    assert sound() == "rpistat.data is sound: 4 runs, 1000 periods\n"


def test_nothing_by_default():
    """nothing is deleted or changed that is not named"""
    for change in (["--delete"], ["--set-label", "x"], ["--set-tag", "a=b"], ["--unset-tag", "a"]):
        refused(FOLDER.call("runs", *change), 2, "which runs?", change[0] == "--delete" and
                "--delete" or "--set-label")
    refused(FOLDER.call("runs", "--delete", "1", "9"), 1, "run 9")
    refused(FOLDER.call("runs", "--delete", "--tag", "host=c"), 1, "nothing was changed")
    refused(FOLDER.call("runs", "1", "--shrink"), 2, "--shrink", "--delete")
    refused(FOLDER.call("runs", "--delete", "1", "-i", "none.data"), 1, "none.data")
    assert not os.path.exists(FOLDER / "none.data")
    assert table() == [1, 2, 3, 4]


def test_recorded():
    """a run that is being recorded is not deleted, nor what is named with it; others are, meanwhile"""
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


def test_deleting():
    """what was deleted is told, and what the store has now; its file shrinks when asked"""
    path = FOLDER / "rpistat.data"
    before = os.path.getsize(path)
    lines = said("--delete", "1", "--label", "nightly").splitlines()
    assert lines[0] == "Deleted run 1 (label nightly, sim:script.sim): 250 periods.", lines
    assert lines[1].startswith("rpistat.data has 2 runs, and ") and "KiB are free" in lines[1], lines
    assert os.path.getsize(path) == before and len(lines) == 2
    assert sound() == "rpistat.data is sound: 2 runs, 500 periods\n"
    line = said("--shrink")
    assert line.startswith("rpistat.data has 2 runs, and ") and "free" not in line, line
    assert os.path.getsize(path) < before
    assert "rpistat.data has no" not in said("--delete", "3", "4", "--shrink")
    assert said() == "The store rpistat.data holds no runs.\n"
    assert sound().startswith("rpistat.data is sound: 0 runs")
    FOLDER.record()
    assert table() == [6], "the number of a deleted run is not used again"


with FOLDER:
    for options in (["--label", "nightly", "--tag", "host=a"], ["--tag", "host=b"],
                    ["--label", "nightly", "--tag", "host=a", "--tag", "build=42"], []):
        FOLDER.record(*options)
    tap.main([test_choosing, test_editing, test_nothing_by_default, test_recorded, test_deleting])
