"""rpistat check: a sound store, a damaged store, and its repair.

usage: check.py RPISTAT
"""
import os
import re
import signal
import sqlite3
import subprocess
import time

import program
from program import Folder, expect, refused, tap

PAGE = 4096


def change(folder, sql, name="rpistat.data"):
    connection = sqlite3.connect(folder / name)
    connection.executescript(sql)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def one(folder, sql, name="rpistat.data"):
    connection = sqlite3.connect(folder / name)
    try:
        return connection.execute(sql).fetchone()[0]
    finally:
        connection.close()


def overwrite(folder, place, length, byte=0xa5):
    """Overwrite some bytes of rpistat.data. Return the new contents."""
    change(folder, "")
    data = bytearray(folder.read("rpistat.data"))
    data[place:place + length] = bytes([byte]) * len(data[place:place + length])
    folder.write("rpistat.data", bytes(data))
    return bytes(data)


def repair(folder):
    """Run check --repair into new.data, and assert that it is sound and readable. Return the message."""
    answer = expect(folder.call("check", "--repair", "-o", "new.data"), 0)
    assert not answer.stderr, answer.stderr
    after = expect(folder.call("check", "-i", "new.data"), 0)
    assert ": OK (" in after.stdout and "error" not in after.stdout, after.stdout
    expect(folder.call("report", "-i", "new.data"), 0)
    return answer.stdout


def test_sound():
    """a sound store: one line and status 0; with -q nothing"""
    with Folder(2) as folder:
        periods = one(folder, "SELECT count(*) FROM period")
        answer = expect(folder.call("check"), 0)
        assert answer.stdout == "rpistat.data: OK (2 runs, %d periods)\n" % periods, answer.stdout
        assert not answer.stderr, answer.stderr
        answer = expect(folder.call("check", "-q"), 0)
        assert not answer.stdout and not answer.stderr, answer
        expect(folder.call("check", "-o", "found.txt"), 0)
        assert folder.read("found.txt").startswith(b"rpistat.data: OK ("), folder.read("found.txt")


def test_wrong():
    """faults are described in words, with the remedy; status 1"""
    with Folder(1) as folder:
        change(folder, "DELETE FROM period WHERE period BETWEEN 10 AND 14")
        answer = expect(folder.call("check"), 1)
        lines = answer.stdout.splitlines()
        assert lines[0].startswith("error: run 1: 1 time range is missing, and no row of gap says why "
                                   "(first: before period 15, at 1.000 s; 0.500 s"), lines
        assert all(line.startswith("error: ") for line in lines[:-2]), lines
        assert "rpistat.data: damaged (1 run, " in lines[-2], lines
        assert ", 1 error)" in lines[-2] and "check --repair -i rpistat.data -o NEW" in lines[-1]
        quiet = expect(folder.call("check", "-q"), 1).stdout.splitlines()
        assert quiet == lines[:-2], quiet
        said = repair(folder)
        assert "run 1: 245 periods of 250 saved; 0.500 s is missing (1 time range; see table gap)" in said, said
        assert one(folder, "SELECT reason FROM gap", "new.data") == \
            "lost when the store was damaged: 5 periods"


def damage_leaf(folder):
    """Overwrite a page with rows of table period; the damaged file."""
    whole = folder.read("rpistat.data")
    for page in range(len(whole) // PAGE - 1, 0, -1):
        if whole[page * PAGE] != 10:  # not a leaf of a table without rowids
            continue
        before = overwrite(folder, page * PAGE, PAGE)
        try:
            one(folder, "SELECT sum(length_ns) FROM period")
        except sqlite3.DatabaseError:
            return before
        folder.write("rpistat.data", whole)
    raise AssertionError("no leaf of table period")


def test_damaged_page():
    """a damaged page costs only its own rows, and the damaged file is unchanged"""
    with Folder(2) as folder:
        change(folder, "")
        before = damage_leaf(folder)
        answer = expect(folder.call("check"), 1)
        assert "error: the file is damaged (SQLite: " in answer.stdout, answer.stdout
        assert ": its periods cannot be read (database disk" in answer.stdout, answer.stdout
        said = repair(folder)
        assert folder.read("rpistat.data") == before
        saved = one(folder, "SELECT sum(merged) FROM finest", "new.data")
        assert 500 - PAGE // 40 <= saved <= 500, saved  # blocks can contain the lost periods
        assert one(folder, "SELECT count(*) FROM period", "new.data") < 500
        assert "new.data: saved (2 runs, %d periods)\n" % saved in said, said
        assert one(folder, "SELECT count(*) FROM run WHERE label IN ('run1', 'run2')",
                   "new.data") == 2


def test_only_blocks():
    """repair distinguishes periods that are left only as sums of blocks"""
    with Folder(1) as folder:
        change(folder, "DELETE FROM period WHERE period < 160")
        said = repair(folder)
        saved, fine = [one(folder, "SELECT %s" % what, "new.data") for what in
                       ("sum(merged) FROM finest", "count(*) FROM period")]
        assert 0 < fine < saved <= 250, (fine, saved)
        assert "run 1: %d periods" % saved in said and " saved, %d of them as sums of blocks" % (saved - fine) in said, said


def test_damaged_head():
    """repair restores the first page and the tables' definitions"""
    for sql in "", "VACUUM":  # after VACUUM, views are stored after the rows
        with Folder(1) as folder:
            change(folder, sql)
            before, files = overwrite(folder, 0, PAGE), set(os.listdir(folder.path))
            refused(folder.call("check"), 1, "rpistat.data")
            said = repair(folder)
            assert int(re.match("run 1: ([0-9]+) periods ", said)[1]) == 250, said
            assert one(folder, "SELECT label FROM run", "new.data") == "run1"
            assert folder.read("rpistat.data") == before
            assert set(os.listdir(folder.path)) - files == {"new.data"}, os.listdir(folder.path)


def test_truncated():
    """a file whose end is missing"""
    with Folder(1) as folder:
        change(folder, "")
        os.truncate(folder / "rpistat.data", len(folder.read("rpistat.data")) - 2 * PAGE - 100)
        expect(folder.call("check"), 1)
        assert "see table gap" in repair(folder)


def test_where_to():
    r"""--repair needs a new file, and changes no other file"""
    with Folder(1) as folder:
        refused(folder.call("check", "--repair"), 2, "-o")
        refused(folder.call("check", "--repair", "-o", "-"), 2, "-o")
        refused(folder.call("check", "--repair", "-o", "rpistat.data"), 2, "rpistat.data")
        folder.write("mine.txt", "mine")
        refused(folder.call("check", "--repair", "-o", "mine.txt"), 1, "mine.txt exists; name a new file")
        assert folder.read("mine.txt") == b"mine"
        refused(folder.call("check", "--repair", "-o", "no/new.data"), 1, "no")
        refused(folder.call("check", "-i", "none.data"), 1, "none.data")
        folder.write("text.data", "no store, " * 1000)
        refused(folder.call("check", "-i", "text.data"), 1, "text.data")
        refused(folder.call("check", "--repair", "-i", "text.data", "-o", "new.data"), 1,
                "nothing in text.data")
        assert not os.path.exists(folder / "new.data")


def test_read_only():
    """a store without write permission can be checked"""
    with Folder(1) as folder:
        change(folder, "")
        os.chmod(folder / "rpistat.data", 0o444)
        answer = expect(folder.call_as_user("check"), 0)
        assert ": OK (" in answer.stdout, answer


def test_escapes():
    """names in the store cannot send control characters to the terminal"""
    with Folder(1) as folder:
        change(folder, "CREATE TABLE \"\x1b[31mred\" (x)")
        answer = expect(folder.call("check"), 0)
        assert "warning: table \\x1b[31mred was added by another program" in answer.stdout, answer.stdout
        assert "\x1b" not in answer.stdout


def recording(folder):
    """Start recording a sleeping program. Return when the run is in the store."""
    recorder = subprocess.Popen([program.RPISTAT, *program.counting(), "-q", "--period", "1ms",
                                 "--", "sleep", "60"], cwd=folder.path,
                                stdin=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + program.TIMEOUT
    while "recording" not in folder.call("runs").stdout:
        assert time.monotonic() < deadline and recorder.poll() is None
        time.sleep(0.01)
    return recorder


def test_live():
    """a store is sound during the recording, and after the recorder was killed"""
    program.counting()
    with Folder(1) as folder:
        recorder = recording(folder)
        try:
            for _ in range(5):
                answer = expect(folder.call("check"), 0)
                assert "warning" not in answer.stdout, answer.stdout
        finally:
            os.killpg(recorder.pid, signal.SIGKILL)  # and the workload
            recorder.wait()
        for _ in range(2):  # at first its file in the registry says so, then its heartbeat
            answer = expect(folder.call("check"), 0)
            assert "warning: run 2" in answer.stdout, answer.stdout
            program.silence(folder / "rpistat.data")
        assert "run 2: " in repair(folder)
        assert one(folder, "SELECT state FROM run WHERE run_id = 2", "new.data") == "interrupted"
        change(folder, "VACUUM INTO '%s'" % (folder / "none.data"))
        change(folder, "DELETE FROM period WHERE run_id = 2; DELETE FROM rollup WHERE run_id = 2;"
               "DELETE FROM reading WHERE run_id = 2; DELETE FROM reading_rollup WHERE run_id = 2;"
               "DELETE FROM code_count WHERE run_id = 2",
               "none.data")  # like a store whose recorder was killed before its first commit
        for name in ("rpistat.data", "none.data"):  # if that is known, there is nothing to report
            folder.record("-q", "-o", name)
            assert one(folder, "SELECT state FROM run WHERE run_id = 2", name) == "interrupted"
            answer = expect(folder.call("check", "-i", name), 0)
            assert "warning" not in answer.stdout and "OK (3 runs" in answer.stdout, answer.stdout


tap.main([test_sound, test_wrong, test_damaged_page, test_only_blocks, test_damaged_head, test_truncated,
          test_where_to, test_read_only, test_escapes, test_live])
