"""A store's files are emptied, cut, overwritten or deleted during recording or reading.

usage: lost.py RPISTAT
"""
import array
import fcntl
import glob
import json
import os
import pty
import sqlite3
import subprocess
import termios
import time

import program
from program import RPISTAT, Folder, counting, environment, expect, tap

STATUS = 7  # the workload's exit status
PERIODS = 10
PIPE_BYTES = 60000  # nearly the 64 KiB that a pipe holds


def wait_until(what, condition):
    """There is no event to wait for, so test the condition again until it is true or the test hangs."""
    end = time.monotonic() + program.TIMEOUT
    while not condition():
        assert time.monotonic() < end, "never: " + what
        time.sleep(0.01)


def waiting(stream):
    """The number of unread bytes in a pipe."""
    count = array.array("i", [0])
    fcntl.ioctl(stream.fileno(), termios.FIONREAD, count)
    return count[0]


def query(path, statement):
    store = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=program.TIMEOUT)
    try:
        return store.execute(statement).fetchall()
    finally:
        store.close()


class Recording(program.Running):
    """A recording with committed periods next to an earlier run; its workload ends with its input."""

    def __init__(self, folder, before=True, commit="0"):
        self.folder, self.store = folder, folder / "st.data"
        if before:
            expect(folder.call(*counting(), "-q", "--label", "good", "-o", "st.data", "true"), 0)
        self.process = subprocess.Popen(
            [RPISTAT, *counting(), "--commit", commit, "--period", "10ms", "-o", "st.data",
             "sh", "-c", "cat; exit %d" % STATUS], cwd=folder.path, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), text=True)
        self.wait_for_periods(PERIODS)

    def periods(self):
        """The number of periods in the store, as another program sees them."""
        try:
            return query(self.store, "SELECT count(*) FROM period JOIN run USING (run_id)"
                                     " WHERE state = 'recording'")[0][0]
        except sqlite3.Error:
            return 0

    def wait_for_periods(self, count):
        wait_until("%d periods" % count, lambda: self.periods() >= count)

    def saved(self):
        return glob.glob(self.store + ".saved-????????")

    def end(self):
        """Return the status and the printed lines."""
        _, stderr = self.process.communicate(timeout=program.TIMEOUT)
        assert "AddressSanitizer" not in stderr, stderr
        return self.process.returncode, stderr


def file_of(recording, end=""):
    return recording.store + end


def empty(end):
    return lambda recording: os.truncate(file_of(recording, end), 0)


def halve(end):
    return lambda recording: os.truncate(file_of(recording, end),
                                         os.path.getsize(file_of(recording, end)) // 2)


def delete(end):
    return lambda recording: os.unlink(file_of(recording, end))


def overwrite(end):
    """Overwrite a file with garbage of the same size."""
    def overwrites(recording):
        size = os.path.getsize(file_of(recording, end))
        with open(file_of(recording, end), "r+b", buffering=0) as file:
            file.write(os.urandom(size))
    return overwrites


def expect_saved(recording, first):
    """The saved file is sound, and its run is complete from a period between 1 and `first`."""
    names = recording.saved()
    assert len(names) == 1, names
    assert query(names[0], "PRAGMA integrity_check") == [("ok",)]
    assert query(names[0], "SELECT state, exit_status FROM run ORDER BY run_id DESC LIMIT 1") == [
        ("complete", STATUS)]
    rows = query(names[0], "SELECT period, start_ns FROM period WHERE run_id = (SELECT max(run_id)"
                           " FROM run) ORDER BY period")
    assert [row[0] for row in rows] == list(range(rows[0][0], rows[-1][0] + 1)), rows[0]
    assert rows[0][0] >= first, rows[0]
    if rows[0][0] > 0:
        assert query(names[0], "SELECT start_ns, length_ns FROM gap") == [(0, rows[0][1])]
    expect(recording.folder.call("check", "-i", names[0]), 0)
    return names[0]


def damaged(damage, is_kept):
    """The recording continues in another file, and the statements about the first file are true."""
    with Folder() as folder, Recording(folder) as recording:
        damage(recording)
        wait_until("the saved file", recording.saved)
        status, said = recording.end()
        assert status == STATUS and "continues in st.data.saved-" in said, (status, said)
        expect_saved(recording, 1)
        assert ("cannot be read from st.data any more" in said) == (not is_kept), said
        runs = folder.call("runs", "-i", "st.data", "--format", "json")
        assert (runs.returncode == 0) == is_kept, (runs, said)
        if is_kept:
            shown = json.loads(runs.stdout)["runs"]
            assert shown[0]["label"] == "good", shown
            kept = query(recording.store, "SELECT count(*) FROM period WHERE run_id = 2")[0][0]
            assert "keeps %d of the " % kept in said, (kept, said)


def test_store_emptied():
    """a store that is emptied"""
    damaged(empty(""), False)


def test_store_halved():
    """a store that is cut in the middle"""
    damaged(halve(""), False)


def test_log_emptied():
    """the log is emptied: the earlier run stays"""
    damaged(empty("-wal"), True)


def test_log_halved():
    """a log that is cut in the middle"""
    damaged(halve("-wal"), True)


def test_log_overwritten():
    """the log is overwritten, and its contents never get into the store: the earlier run stays"""
    with Folder() as folder, Recording(folder) as recording:
        overwrite("-wal")(recording)
        status, said = recording.end()
        assert status == STATUS and "st.data.saved-" in said, (status, said)
        assert len(recording.saved()) == 1
        has_periods = query(recording.saved()[0], "SELECT count(*) > 0 FROM period") == [(1,)]
        assert ("continues in" in said.splitlines()[-1]) == has_periods, said
        expect(folder.call("check", "-i", recording.saved()[0]), 0)
        assert query(recording.store, "PRAGMA integrity_check") == [("ok",)]
        assert query(recording.store, "SELECT label FROM run")[0] == ("good",)


def test_store_overwritten():
    """the store is overwritten, and this is noticed before success is reported"""
    with Folder() as folder, Recording(folder) as recording:
        overwrite("")(recording)
        status, said = recording.end()
        assert status == STATUS and "cannot be read from st.data any more" in said, (status, said)
        assert len(recording.saved()) == 1


def beside_deleted(end):
    with Folder() as folder, Recording(folder) as recording:
        delete(end)(recording)
        wait_until("the saved file", recording.saved)
        status, said = recording.end()
        assert status == STATUS and "with all that the store had" in said, (status, said)
        assert "moved or replaced" not in said, said
        name = expect_saved(recording, 0)
        runs = json.loads(expect(folder.call("runs", "-i", "st.data", "--format", "json"), 0).stdout)["runs"]
        assert [run["state"] for run in runs] == ["complete", "interrupted"], runs
        assert query(name, "SELECT label FROM run")[0] == ("good",)
        assert query(name, "SELECT count(*) FROM gap") == [(0,)]


def test_log_deleted():
    """the log is deleted: everything continues in a copy"""
    beside_deleted("-wal")


def test_memory_deleted():
    """the file of shared memory is deleted: everything continues in a copy"""
    beside_deleted("-shm")


def test_memory_emptied():
    """the file of shared memory is emptied: no process dies, and both files have their part"""
    with Folder() as folder, Recording(folder) as recording:
        empty("-shm")(recording)
        wait_until("the saved file", recording.saved)
        status, said = recording.end()
        assert status == STATUS and "continues in st.data.saved-" in said, (status, said)
        name = expect_saved(recording, 1)
        runs = json.loads(expect(folder.call("runs", "-i", "st.data", "--format", "json"),
                                 0).stdout)["runs"]
        assert [run["state"] for run in runs] == ["complete", "interrupted"], runs
        kept = query(recording.store, "SELECT count(*) FROM period WHERE run_id = 2")[0][0]
        assert "st.data keeps the %d periods before" % kept in said, (kept, said)
        first = query(name, "SELECT min(period) FROM period")[0][0]
        assert kept - 1 <= first <= kept, (kept, first)  # one period may be in both
        expect(folder.call("check", "-i", "st.data"), 0)


def test_all_emptied():
    """all three files are emptied: no message says that something was kept"""
    with Folder() as folder, Recording(folder) as recording:
        files = [os.open(file_of(recording, end), os.O_RDWR) for end in ("", "-wal", "-shm")]
        for file in files:
            os.ftruncate(file, 0)
            os.close(file)
        wait_until("the saved file", recording.saved)
        status, said = recording.end()
        assert status == STATUS and "continues in st.data.saved-" in said, (status, said)
        assert "st.data keeps" not in said, said
        expect_saved(recording, 1)


def test_name_taken():
    """another program has created the file for the rest of the recording: it gets another name"""
    with Folder() as folder, Recording(folder) as recording:
        uuid, = query(recording.store, "SELECT uuid FROM run ORDER BY run_id DESC LIMIT 1")[0]
        folder.write("st.data.saved-" + uuid[:8], "mine")
        empty("")(recording)
        wait_until("the saved file", lambda: glob.glob(recording.store + ".saved-????????-*[0-9a-f]"))
        status, said = recording.end()
        assert status == STATUS and "continues in st.data.saved-" in said, (status, said)
        assert folder.read("st.data.saved-" + uuid[:8]) in ("mine", b"mine")


def test_memory_emptied_at_the_end():
    """the file of shared memory is emptied when only the end is left to write"""
    with Folder() as folder:
        answer = folder.call(*counting(), "--commit", "1h", "-o", "st.data", "sh", "-c",
                             ": > st.data-shm; exit %d" % STATUS)
        assert answer.returncode == STATUS and "st.data-shm" not in answer.stdout, answer
        assert "continues in st.data.saved-" in answer.stderr, answer
        name = glob.glob(folder / "st.data.saved-????????")[0]
        assert query(name, "SELECT state, exit_status FROM run") == [("complete", STATUS)]
        expect(folder.call("check", "-i", name), 0)


def test_memory_emptied_twice():
    """the same for the saved file: the recorder ends with a sentence and the workload's status"""
    with Folder() as folder, Recording(folder) as recording:
        empty("-shm")(recording)
        wait_until("the saved file", recording.saved)
        name = recording.saved()[0]
        wait_until("periods there", lambda: query(name, "SELECT count(*) FROM period")[0][0] > 1)
        os.truncate(name + "-shm", 0)
        status, said = recording.end()
        assert status == STATUS and "has ended" in said, (status, said)


def test_reader():
    """a reader whose shared memory is emptied ends with a sentence and status 1"""
    with Folder() as folder:
        folder.write("script.sim", "clock 700M\nphase calm 4000s instructions=200M\n")
        expect(folder.call("record", "--pmu", "sim:script.sim", "-q", "-o", "st.data"), 0)
        # few commits: a reader that begins just after a checkpoint does not need the shared memory;
        # more pages than it caches
        with Recording(folder, before=False, commit="1s") as recording, subprocess.Popen(
                [RPISTAT, "export", "-r", "1", "-i", "st.data"], cwd=folder.path,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=environment()) as reader:
            wait_until("a full pipe", lambda: waiting(reader.stdout) >= PIPE_BYTES)
            empty("-shm")(recording)
            _, said = reader.communicate(timeout=program.TIMEOUT)
            assert reader.returncode == 1, (reader.returncode, said)
            assert said == "rpistat: another program truncated %s-shm while it was in use;" \
                " start the command again\n" % os.path.realpath(recording.store), said
            assert recording.end()[0] == STATUS


def test_watch():
    """watch restores the terminal, whether its memory is emptied or the recording's"""
    with Folder() as folder, Recording(folder) as recording:
        pid, leader = pty.fork()
        if pid == 0:
            os.chdir(folder.path)
            os.execve(RPISTAT, [RPISTAT, "watch", "-i", "st.data"],
                      environment(TERM="xterm", COLUMNS="80", LINES="24"))
        shown = b""
        while b"\033[?1049h" not in shown:
            shown += os.read(leader, 65536)
        empty("-shm")(recording)  # the first to use it finds it damaged, or creates it again
        assert recording.end()[0] == STATUS
        shown += program.shown_on(leader).encode()
        os.close(leader)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (0, 1), shown
        assert b"\033[?1049l" in shown and b"\033[?25h" in shown, shown


def test_kill():
    r"""a SIGBUS sent by another process ends rpistat as usual"""
    with Folder() as folder, Recording(folder, before=False) as recording:
        recording.process.send_signal(program.signal.SIGBUS)
        assert recording.process.wait(program.TIMEOUT) == -program.signal.SIGBUS
        recording.process.stdin.close()
        recording.process.stderr.close()


def test_no_false_alarm():
    """checkpoints, merges, deletion, shrinking and other recorders: nothing is lost"""
    with Folder() as folder, Recording(folder) as recording:
        other = counting() + ["-q", "--period", "1ms", "--commit", "0"]
        expect(folder.call(*other, "-o", "other.data", "sleep", "0.3"), 0)
        for number in range(8):
            expect(folder.call(*other, "-o", "st.data", "sleep", "0.2"), 0)
            newest = query(recording.store, "SELECT max(run_id) FROM run")[0][0]
            expect(folder.call("merge", "-i", "st.data", "other.data"), 0)
            expect(folder.call("runs", "--delete", "-i", "st.data", str(newest)), 0)
            store = sqlite3.connect(recording.store, timeout=30)
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if number % 4 == 1:
                store.execute("VACUUM")
                store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            store.close()
            count = query(recording.store, "SELECT count(*) FROM period WHERE run_id = 2")[0][0]
            wait_until("a commit behind it", lambda: query(
                recording.store, "SELECT count(*) FROM period WHERE run_id = 2")[0][0] > count)
        status, said = recording.end()
        assert status == STATUS and not recording.saved() and (not said or "no period was lost" in said), (status, said)
        rows = query(recording.store, "SELECT period FROM period WHERE run_id = 2 ORDER BY period")
        assert [row[0] for row in rows] == list(range(len(rows)))
        assert query(recording.store, "SELECT state FROM run WHERE run_id = 2") == [("complete",)]


if __name__ == "__main__":
    tap.main([test_store_emptied, test_store_halved, test_log_emptied, test_log_halved,
              test_log_overwritten, test_store_overwritten, test_log_deleted, test_memory_deleted,
              test_memory_emptied, test_all_emptied, test_name_taken, test_memory_emptied_at_the_end, test_memory_emptied_twice,
              test_reader, test_watch, test_kill, test_no_false_alarm])
