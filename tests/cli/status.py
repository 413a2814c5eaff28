"""status and stop: who records on this machine, and the end of a recording.

Other recordings of this machine are not ours to end: those of the tests are told by their stores,
and --all is asked as a user who has no others.
"""
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from program import RPISTAT, TIMEOUT, Folder, Recording, counting, environment, expect, freeze, refused, shown_on, silence, tap

FOLDER = Folder()

# Processes that are called rpistat and have something open: a database that is locked, no database.
PRETENDER = """\
import os, sqlite3, sys
with open("/proc/self/comm", "w") as name:
    name.write("rpistat")
if sys.argv[1] == "damaged.data":
    with open("damaged.data", "wb") as file:
        file.write(b"SQLite format 3\\0" + 5000 * b"x")
    kept = os.open("damaged.data", os.O_RDWR)
else:
    store = sqlite3.connect(sys.argv[1])
    store.execute("CREATE TABLE t (a)")
    store.commit()
print("ready", flush=True)
sys.stdin.read()
"""


def recorders(folder=FOLDER, **options):
    """{name of the store: its recorder} of those whose store is in the folder."""
    found = json.loads(expect(folder.call("status", "--format", "json", **options), 0).stdout)
    return {os.path.basename(one["store"]): one for one in found["recorders"]
            if one["store"] and os.path.dirname(one["store"]) == os.path.realpath(folder.path)}


def lines_of(store, text):
    path = os.path.join(os.path.realpath(FOLDER.path), store)
    return [line for line in text.splitlines() if path in line.split()]


def line_of(process, text):
    line, = [line for line in text.splitlines() if line.split()[1:2] == [str(process.pid)]]
    return line


def state_of(store):
    answer = sqlite3.connect(FOLDER / store)
    row = answer.execute("SELECT state, exit_signal, end_reason FROM run").fetchone()
    answer.close()
    return row


def on_terminal(*arguments):
    """What is shown on a terminal of 80 columns."""
    leader, follower = pty.openpty()
    with subprocess.Popen([RPISTAT, *arguments], cwd=FOLDER.path, stdin=subprocess.DEVNULL, stdout=follower,
                          env=environment(COLUMNS="80", TERM="xterm")):
        os.close(follower)
        shown = shown_on(leader)
        os.close(leader)
    return shown


def test_status():
    """a recorder's run, store, user and rate are told; readers are none, nor is what has ended"""
    with Recording(FOLDER, "a.data") as live:
        watch = subprocess.Popen([RPISTAT, "watch", "-i", "a.data", "-o", "w.svg", "-q"], cwd=FOLDER.path,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment())
        try:
            found = recorders()["a.data"]
            text = FOLDER.call("status").stdout
            titles = on_terminal("status").splitlines()[0].split()
        finally:
            watch.kill()
            watch.wait()
        assert "SINCE" not in titles and titles[-4:] == ["WRITTEN/S", "SIZE", "STORE", "COMMAND"], titles
        assert found["pid"] == live.process.pid and found["recorder_state"] == "recording", found
        assert found["run"] == 1 and found["command"] == "cat" and found["target"] == "command", found
        assert found["periods"] > 0 and found["periods_per_s"] > 0 and found["written_per_s"] > 0, found
        assert found["store_bytes"] > 0 and found["store_bytes"] % 4096 == 0, found
        assert found["recorder_command"].endswith(" cat") and found["reason"] is None, found
        assert str(watch.pid) not in re.findall(r"^\S+ +(\d+) ", text, re.M), text
        line, = lines_of("a.data", text)
        for word in (found["user"], str(live.process.pid), "recording", "cat"):
            assert word in line.split(), (word, line)
        deadline = time.monotonic() + TIMEOUT
        while recorders()["a.data"]["recorder_state"] != "late":
            assert time.monotonic() < deadline
            silence(FOLDER / "a.data")  # until its next heartbeat, in some seconds
        assert live.end() == 0
    assert "a.data" not in recorders()


def test_several():
    """several recorders of one store have a line each, with the run that each records"""
    with Recording(FOLDER, "b.data") as one:
        record = counting() + ["-q", "--commit", "0", "--label", "other", "-o", "b.data"]
        other = subprocess.Popen([RPISTAT, *record, "cat"], cwd=FOLDER.path, stdin=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, env=environment())
        try:
            deadline = time.monotonic() + TIMEOUT
            while len(lines := [line.split() for line in
                                lines_of("b.data", FOLDER.call("status").stdout)
                                if " recording " in line]) < 2:
                assert time.monotonic() < deadline
            assert {tuple(line[1:3]) for line in lines} == {
                (str(one.process.pid), "1"), (str(other.pid), "2")}, lines
            refused(FOLDER.call("stop", "-i", "b.data", "3"), 1, "run 3")
            refused(FOLDER.call("stop", "-i", "b.data"), 2, "which run? b.data has several")
            answer = expect(FOLDER.call("stop", "-i", "b.data", "other"), 0)
            assert re.match(r"Stopped run 2 \(label other, cat\) of \S+b\.data: \d+ periods? in .*; the signal "
                            r"ended its command too\.\n$", answer.stdout), answer.stdout
            assert other.wait(TIMEOUT) == 128 + signal.SIGTERM
            assert one.process.poll() is None
            expect(FOLDER.call("stop", "-i", "b.data"), 0)
            refused(FOLDER.call("stop", "-i", "b.data"), 1, "no run of b.data is being recorded")
            refused(FOLDER.call("stop", "-i", "b.data", "other"), 1, "not recorded any more: it is complete")
        finally:
            other.stdin.close()
            other.kill()
            other.wait()


def test_attached():
    """a recording of a process that was running ends, and the process goes on"""
    cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    record = counting() + ["-q", "--commit", "0", "--period", "10ms", "-o", "p.data", "-p", str(cat.pid)]
    recorder = subprocess.Popen([RPISTAT, *record], cwd=FOLDER.path, stdin=subprocess.DEVNULL,
                                env=environment(), stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + TIMEOUT
        while recorders().get("p.data", {}).get("recorder_state") != "recording":
            if recorder.poll() is not None:
                raise tap.Skip("cannot record a running process here: %s" % recorder.stderr.read())
            assert time.monotonic() < deadline
        answer = expect(FOLDER.call("stop", "-i", "p.data", "1"), 0)
        assert answer.stdout.startswith("Stopped run 1 (cat (process %d)) of " % cat.pid), answer.stdout
        assert recorder.wait(TIMEOUT) == 0 and cat.poll() is None
        assert state_of("p.data")[::2] == ("complete", "stopped by SIGTERM")
    finally:
        for process in (recorder, cat):
            process.kill()
            process.communicate()


def test_ignored():
    """a command that ignores the signal: the recording ends at once and leaves it; --timeout is told"""
    script = "trap '' TERM; echo ready; cat; echo went on"
    record = counting() + ["-q", "--commit", "0", "-o", "i.data"]
    with subprocess.Popen([RPISTAT, *record, "--", "sh", "-c", script], cwd=FOLDER.path, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as recorder:
        assert recorder.stdout.readline() == "ready\n"
        deadline = time.monotonic() + TIMEOUT
        while recorders().get("i.data", {}).get("recorder_state") != "recording":
            assert time.monotonic() < deadline
        freeze(recorder)  # it cannot end
        refused(FOLDER.call("stop", "-i", "i.data", "1", "--timeout", "10ms"), 1, "run 1",
                "still being recorded after", "process %d" % recorder.pid)
        os.kill(recorder.pid, signal.SIGCONT)
        assert recorder.wait(TIMEOUT) == 128 + signal.SIGTERM
        assert state_of("i.data")[0] == "complete"
        recorder.stdin.close()
        assert recorder.stdout.read() == "went on\n"


def test_bad_stores():
    """what only calls itself a recorder, and has a bad store, is a line with the reason"""
    processes = []
    try:
        for name in ("damaged.data", "foreign.data"):
            processes.append(subprocess.Popen(
                [sys.executable, "-c", PRETENDER, name], cwd=FOLDER.path, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE))
            assert processes[-1].stdout.readline() == b"ready\n"
        with Recording(FOLDER, "good.data") as live:
            found = recorders()
            text = FOLDER.call("status").stdout
            assert found["good.data"]["recorder_state"] == "recording", found
            assert live.end() == 0
        for name, reason in (("damaged.data", "is damaged"), ("foreign.data", "another program's")):
            assert found[name]["recorder_state"] == "unknown" and reason in found[name]["reason"], found[name]
            assert found[name]["run"] is None and found[name]["store_bytes"] is None, found[name]
            assert re.search(r"^Process %d: .*%s" % (found[name]["pid"], reason), text, re.M), text
    finally:
        for process in processes:
            process.communicate()


def test_moved():
    """a store that was deleted or moved is told by its name of now"""
    with Recording(FOLDER, "m.data") as live:
        for end in ("", "-wal", "-shm"):
            if os.path.exists(FOLDER / ("m.data" + end)):
                os.rename(FOLDER / ("m.data" + end), FOLDER / ("n.data" + end))
        names = [name for name in recorders() if name[:6] in ("m.data", "n.data")]
        assert len(names) == 1 and names[0] != "m.data", names
        live.end()


def as_user(user, *arguments, rpistat):
    return subprocess.run(["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups",
                           rpistat, *arguments], cwd=FOLDER.path, env=environment(GCOV_PREFIX=str(FOLDER.path)), text=True,
                          capture_output=True, check=False, timeout=TIMEOUT)


def test_other_users():
    """of another user: listed as /proc has it, the store is opened if it is named; --all ends one's own"""
    user = 1900000000 + os.getpid() % 100000  # one without any other process
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise tap.Skip("only root can become another user, with setpriv")
    os.chmod(FOLDER.path, 0o777)
    rpistat = shutil.copy(RPISTAT, FOLDER / "rpistat")
    assert as_user(user, "stop", "--all", rpistat=rpistat).stdout == "Nothing of this user is being recorded.\n"
    with Recording(FOLDER, "root.data") as live:
        text = expect(as_user(user, "status", rpistat=rpistat), 0).stdout
        line = line_of(live.process, text)
        assert line.startswith("root ") and "root.data" in line, line
        refused(as_user(user, "stop", "-i", "root.data", "1", rpistat=rpistat), 1,
                "is recorded by root (process %d): only that user and root may stop it" % live.process.pid)
        os.chmod(FOLDER / "root.data", 0o600)
        text = expect(as_user(user, "status", rpistat=rpistat), 0).stdout
        line = line_of(live.process, text)
        assert line.startswith("root ") and " unknown " in line and "-o root.data cat" in line, line
        assert "Process %d: Linux does not show" % live.process.pid in text and "as it does root" in text, text
        for name, stop in (("own.data", lambda: as_user(user, "stop", "--all", rpistat=rpistat)),
                           ("named.data", lambda: FOLDER.call("stop", "-i", "named.data", "1"))):
            with subprocess.Popen(["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups",
                                   rpistat, *counting(), "-q", "--commit", "0", "-o", name, "cat"],
                                  cwd=FOLDER.path, env=environment(), stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL) as own:
                deadline = time.monotonic() + TIMEOUT
                while not re.search(r"recording +\S+ s +[1-9]", FOLDER.call("runs", "-i", name).stdout):
                    assert time.monotonic() < deadline
                found = recorders()[name]
                assert found["user"] == str(user) and found["pid"] == own.pid, found
                assert found["recorder_state"] == "unknown" and found["run"] is None, found
                assert "another user's, whose store is not opened" in found["reason"], found
                assert found["recorder_command"].endswith(name + " cat"), found
                answer = expect(stop(), 0)
                assert answer.stdout.startswith("Stopped run 1 (cat) of "), answer.stdout
                assert answer.stdout.count("\n") == 1 and live.process.poll() is None
                assert own.wait(TIMEOUT) == 128 + signal.SIGTERM
        assert live.end() == 0


with FOLDER:
    tap.main([test_status, test_several, test_attached, test_ignored, test_bad_stores, test_moved,
              test_other_users])
