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
import stat
import subprocess
import sys
import time

from program import (RPISTAT, RUNTIME, TIMEOUT, Folder, Recording, counting, environment, expect, freeze, refused,
                     shown_on, tap)

FOLDER = Folder()
USER = 1900000000 + os.getpid() % 100000  # one without any other process

# A process called rpistat, which writes an entry into the file of the registry, and locks it: of its own
# process, or of another's.
PRETENDER = """\
import fcntl, os, sys
with open("/proc/self/comm", "w") as name:
    name.write("rpistat")
folder, pid, store, owner, locks = sys.argv[1:]
path = os.path.join(folder, pid if pid != "0" else str(os.getpid()))
file = open(path, "w")
file.write("run=1\\0store=%s\\0label=forged\\0argument=true\\0" % store)
file.flush()
os.chown(path, int(owner), int(owner))
if locks == "1":
    fcntl.lockf(file, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
os.unlink(path)
"""


def until(question):
    """Ask until the answer is yes."""
    deadline = time.monotonic() + TIMEOUT
    while not (answer := question()):
        assert time.monotonic() < deadline
    return answer


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


def has_run(store, state):
    return " %s " % state in FOLDER.call("runs", "-i", store).stdout


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
            found = until(lambda: recorders()["a.data"]["periods"] and recorders()["a.data"])
            text = FOLDER.call("status").stdout
            titles = on_terminal("status").splitlines()[0].split()
        finally:
            watch.kill()
            watch.wait()
        assert "WRITTEN/S" not in titles and titles[-2:] == ["STORE", "COMMAND"], titles
        assert found["pid"] == live.process.pid and found["recorder_state"] == "recording", found
        assert found["run"] == 1 and found["command"] == "cat" and found["target"] == "command", found
        assert found["periods"] > 0 and found["periods_per_s"] > 0 and found["written_per_s"] > 0, found
        assert found["store_bytes"] > 4096, found
        assert found["recorder_command"].endswith(" cat") and found["reason"] is None, found
        assert str(watch.pid) not in re.findall(r"^\S+ +(\d+) ", text, re.M), text
        line, = lines_of("a.data", text)
        for word in (found["user"], str(live.process.pid), "recording", "cat"):
            assert word in line.split(), (word, line)
        freeze(live.process)
        path = os.path.join(RUNTIME, str(live.process.pid))
        with open(path, "r+b") as file:
            entry = file.read()
            assert entry.startswith(b"run=1\0") and b"\0argument=cat\0" in entry, entry
            file.seek(0)
            file.write(re.sub(rb"late_ns=\d+", lambda found: b"late_ns=1".ljust(len(found.group()), b"\0"), entry))
        assert recorders()["a.data"]["recorder_state"] == "late"
        os.kill(live.process.pid, signal.SIGCONT)
        assert live.end() == 0
        assert not os.path.exists(path)
    assert "a.data" not in recorders()


def test_several():
    """several recorders of one store have a line each, with the run that each records, by whatever name one was called"""
    with Recording(FOLDER, "b.data") as one:
        record = counting() + ["-q", "--commit", "0", "--label", "other", "-o", "b.data"]
        os.symlink(RPISTAT, FOLDER / "rp")
        other = subprocess.Popen(["./rp", *record, "cat"], cwd=FOLDER.path, stdin=subprocess.PIPE,
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
    words = "a name that is longer than the report's first line has room for"
    cat = subprocess.Popen(["cat", "-", words], cwd=FOLDER.path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
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
        assert answer.stdout.startswith("Stopped run 1 (cat - '%s' (process %d)) of " % (words.replace("'", "'\\''"), cat.pid)), answer
        assert recorder.wait(TIMEOUT) == 0 and cat.poll() is None
        assert state_of("p.data")[::2] == ("complete", "stopped by `rpistat stop`")
        report = expect(FOLDER.call("report", "-i", "p.data"), 0).stdout
        assert re.match(r"cat - .*\.\.\. \(process %d\), recorded for " % cat.pid, report), report
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


def test_many():
    """many recorders: each has its line, and each run is ended by its label"""
    names = ["many%d" % number for number in range(12)]
    record = counting() + ["-q", "--commit", "0", "--period", "10ms", "-o", "many.data", "--tag", "of=many", "--label"]
    started = [subprocess.Popen([RPISTAT, *record, name, "cat"], cwd=FOLDER.path, stdin=subprocess.PIPE,
                                env=environment(), stdout=subprocess.DEVNULL) for name in names]
    try:
        until(lambda: len(lines_of("many.data", FOLDER.call("status").stdout)) == len(names))
        refused(FOLDER.call("stop", "-i", "many.data", "of=many"), 1, "could be run", "give its number")
        for name, process in zip(names, started):
            answer = expect(FOLDER.call("stop", "-i", "many.data", name), 0)
            assert "(label %s, cat)" % name in answer.stdout, answer.stdout
            assert process.wait(TIMEOUT) == 128 + signal.SIGTERM
        assert "many.data" not in recorders()
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_series():
    """--repeat is one recorder; of what is called rpistat, and is of another version, the process is told"""
    with subprocess.Popen([RPISTAT, *counting(), "-q", "--repeat", "2", "-o", "r.data", "cat"], cwd=FOLDER.path,
                          stdin=subprocess.PIPE, env=environment(), stdout=subprocess.DEVNULL) as series:
        until(lambda: "r.data" in recorders())
        lines = lines_of("r.data", FOLDER.call("status").stdout)
        assert len(lines) == 1 and " recording " in lines[0], lines
        unseen = FOLDER.call("status", env=environment(RUNTIME_DIRECTORY=None)).stdout
        line, = [line for line in unseen.splitlines() if "-o r.data cat" in line]
        assert " unknown " in line and line.split()[1] == lines[0].split()[1], (line, lines)
        assert re.search(r"^Process(es)? ([0-9]+, )*%s[:,].* the registry" % line.split()[1], unseen, re.M), unseen
        series.stdin.close()
        assert series.wait(TIMEOUT) == 0


def test_ended():
    """a recorder whose recording is over, and that waits for its command, is none"""
    record = counting() + ["-q", "--commit", "0", "--duration", "100ms", "-o", "e.data", "cat"]
    with subprocess.Popen([RPISTAT, *record], cwd=FOLDER.path, stdin=subprocess.PIPE, env=environment(),
                          stdout=subprocess.DEVNULL) as recorder:
        until(lambda: has_run("e.data", "complete"))
        until(lambda: not re.search(r"^\S+ +%d " % recorder.pid, FOLDER.call("status").stdout, re.M))
        assert recorder.poll() is None
        refused(FOLDER.call("stop", "-i", "e.data", "1"), 1, "not recorded any more: it is complete")
        recorder.stdin.close()
        assert recorder.wait(TIMEOUT) == 0


class Pretender:
    """A process called rpistat with a file in the registry: of process `of` (0: its own) and of a user, locked."""

    def __init__(self, folder=RUNTIME, of=0, owner=0, locks=1):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRETENDER, folder, str(of), FOLDER / "forged.data", str(owner or os.geteuid()),
             str(locks)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.communicate()


def test_forged():
    """a file that its process has not locked, or that is another user's, or where others write, says nothing"""
    FOLDER.record("-o", "forged.data")

    def is_believed(pretender):
        shown = [one for one in json.loads(FOLDER.call("status", "--format", "json").stdout)["recorders"]
                 if one["pid"] == pretender.pid and one["run"]]
        if not shown:
            refused(FOLDER.call("stop", "-i", "forged.data", "1"), 1, "run 1", "not recorded any more")
        assert pretender.process.poll() is None
        return bool(shown)

    with Pretender() as true:
        assert is_believed(true)  # what follows differs from it in one thing each
        os.chmod(RUNTIME, 0o777)
        assert not is_believed(true)
        os.chmod(RUNTIME, 0o755)
        other = os.path.join(RUNTIME, str(true.pid))
        os.rename(other, other + ".moved")
        os.symlink(other + ".moved", other)
        assert not is_believed(true)
        os.remove(other)
        os.rename(other + ".moved", other)
    with Pretender(locks=0) as leftover:
        assert not is_believed(leftover)
    with Pretender(FOLDER.path) as victim, Pretender(of=victim.pid):
        assert not is_believed(victim)
    if os.geteuid() == 0:
        with Pretender(owner=USER) as led:
            assert not is_believed(led)


def test_leftover():
    """what a killed recorder leaves is nothing, but that all commands know at once; and is in nobody's way"""
    with Recording(FOLDER, "k.data") as live:
        path = os.path.join(RUNTIME, str(live.process.pid))
        live.process.kill()
        live.process.wait()
        assert os.path.exists(path) and "k.data" not in recorders()
        runs, reports = ([FOLDER.call(command, "-i", "k.data", env=environment(**of)).stdout
                          for of in ({}, {"RUNTIME_DIRECTORY": None})] for command in ("runs", "report"))
        assert " interrupted " in runs[0] and " recording " in runs[1], runs  # of another user only heartbeats are known
        assert "was killed" in reports[0] and "so far" in reports[1] and "so far" not in reports[0], reports
        refused(FOLDER.call("stop", "-i", "k.data"), 1, "no run of k.data is being recorded")
        refused(FOLDER.call("runs", "-i", "k.data", "--delete", "1", env=environment(RUNTIME_DIRECTORY=None)), 1,
                "is being recorded: end its recording first")
        assert expect(FOLDER.call("runs", "-i", "k.data", "--delete", "1"), 0).stdout.startswith("Deleted run 1 (cat)")
    # the next of its number: the process is there already, and begins to record when it is told
    script = 'read line; exec "$@"'
    with subprocess.Popen(["sh", "-c", script, "sh", RPISTAT, *counting(), "-q", "-o", "k2.data", "cat"],
                          cwd=FOLDER.path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()) as again:
        os.rename(path, os.path.join(RUNTIME, str(again.pid)))
        again.stdin.write(b"\n")
        again.stdin.flush()
        assert until(lambda: recorders().get("k2.data"))["pid"] == again.pid
        again.stdin.close()
        assert again.wait(TIMEOUT) == 0
    assert not os.listdir(RUNTIME), os.listdir(RUNTIME)


def test_moved():
    """a store that was moved: the one in which the recording goes on is told"""
    with Recording(FOLDER, "m.data") as live:
        for end in ("", "-wal", "-shm"):
            if os.path.exists(FOLDER / ("m.data" + end)):
                os.rename(FOLDER / ("m.data" + end), FOLDER / ("n.data" + end))
        saved = until(lambda: [name for name in recorders() if name.startswith("m.data.saved-")])
        assert expect(FOLDER.call("stop", "-i", saved[0]), 0).stdout.startswith("Stopped run 1 (cat)")
        assert live.process.wait(TIMEOUT)


def test_other_namespace():
    """a recorder that has another number in its own PID namespace is listed as /proc has it"""
    inside = ["unshare", "--pid", "--fork", "--kill-child", RPISTAT, *counting(), "-q", "--commit", "0", "-o", "u.data",
              "cat"]
    if not shutil.which("unshare") or subprocess.call(inside[:3] + ["true"], stderr=subprocess.DEVNULL) != 0:
        raise tap.Skip("no PID namespace can be made here")
    with subprocess.Popen(inside, cwd=FOLDER.path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          env=environment()) as outside:
        until(lambda: has_run("u.data", "recording"))
        line, = [line for line in FOLDER.call("status").stdout.splitlines() if "-o u.data cat" in line]
        assert " unknown " in line and "u.data" not in recorders(), line
        refused(FOLDER.call("stop", "-i", "u.data"), 1, "no run of u.data is being recorded")
        outside.stdin.close()
        outside.wait(TIMEOUT)


def user_call(*arguments):
    return ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", FOLDER / "rpistat", *arguments]


def as_user(*arguments, **changes):
    return subprocess.run(user_call(*arguments), cwd=FOLDER.path, text=True, capture_output=True, check=False,
                          env=environment(GCOV_PREFIX=str(FOLDER.path), **changes), timeout=TIMEOUT)


class UserRecording:
    """A recording of that user, with a registry where the environment says; it has a run."""

    def __init__(self, store, **changes):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            raise tap.Skip("only root can become another user, with setpriv")
        os.chmod(FOLDER.path, 0o777)
        shutil.copy(RPISTAT, FOLDER / "rpistat")
        self.process = subprocess.Popen(
            user_call(*counting(), "-q", "--commit", "0", "-o", store, "cat"), cwd=FOLDER.path, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, env=environment(GCOV_PREFIX=str(FOLDER.path), **changes))
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()
        shutil.rmtree("/tmp/rpistat-%d" % USER, ignore_errors=True)

    def file(self, folder):
        """Its file in the folder, when it is there."""
        path = os.path.join(folder, str(self.pid))
        until(lambda: os.path.exists(path) and os.path.getsize(path))
        return path


def owned(name):
    os.makedirs(FOLDER / name)
    os.chown(FOLDER / name, USER, USER)
    return FOLDER / name


def test_folders():
    """the registry lies in the first folder that is the user's own; where that is removed, it is made again"""
    last = "/tmp/rpistat-%d" % USER
    with UserRecording("f1.data", RUNTIME_DIRECTORY=None, XDG_RUNTIME_DIR=None) as own:
        file = own.file(last)
        mode = os.stat(last)
        assert stat.S_IMODE(mode.st_mode) == 0o700 and mode.st_uid == USER and os.stat(file).st_uid == USER
        assert recorders()["f1.data"]["pid"] == own.pid  # to root
        shutil.rmtree(last)
        assert own.file(last) and until(lambda: recorders().get("f1.data"))["user"] == str(USER)
        answer = expect(as_user("stop", "-i", "f1.data", RUNTIME_DIRECTORY=None, XDG_RUNTIME_DIR=None), 0)
        assert answer.stdout.startswith("Stopped run 1 (cat) of "), answer.stdout
        assert not os.listdir(last)
    with UserRecording("f4.data", RUNTIME_DIRECTORY=owned("unit"), XDG_RUNTIME_DIR=owned("unused")) as own:
        own.file(FOLDER / "unit")  # as systemd makes it for examples/rpistat-record.service
        assert os.listdir(FOLDER / "unused") == []
        found = recorders(env=environment(RUNTIME_DIRECTORY=FOLDER / "unit"))["f4.data"]
        assert found["pid"] == own.pid and found["recorder_state"] == "recording", found
    for name in ("f5.data", "f6.data"):
        os.mkdir(last, 0o777)  # taken by somebody else: the user's is made under another name, once
        with UserRecording(name, RUNTIME_DIRECTORY=None, XDG_RUNTIME_DIR=None) as own:
            until(lambda: recorders().get(name, {}).get("recorder_state") == "recording")
            mine, = [each for each in os.listdir("/tmp") if each.startswith("rpistat-%d-" % USER)]
            assert own.file("/tmp/" + mine) and os.listdir(last) == []
            mode = os.stat("/tmp/" + mine)
            assert stat.S_IMODE(mode.st_mode) == 0o700 and mode.st_uid == USER
            expect(as_user("stop", "-i", name, RUNTIME_DIRECTORY=None, XDG_RUNTIME_DIR=None), 0)
    shutil.rmtree("/tmp/" + mine)


SPOOF = r"""
import ctypes, fcntl, os, sys
ctypes.CDLL(None).prctl(15, b"rpistat", 0, 0, 0)
folder = "/tmp/rpistat-%d" % os.getuid()
os.makedirs(folder, 0o700, exist_ok=True)
fd = os.open(folder + "/%d" % os.getpid(), os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, ("run=1|uuid=x|label=nightly|start_ns=1|period_ns=100000000|elapsed_ns=5|periods=9|store=%s|late_ns=%d|"
              % (sys.argv[1], 2**63 - 1)).replace("|", "\0").encode())
fcntl.lockf(fd, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_spoofed():
    """a recorder of another user that claims to record a store does not count: only its owner's and root's do"""
    with Recording(FOLDER, "nightly.data") as live:
        until(lambda: "nightly.data" in recorders())
        spoof = subprocess.Popen(["/usr/bin/python3", "-c", SPOOF, FOLDER / "nightly.data"], stdin=subprocess.PIPE, text=True,
                                 stdout=subprocess.PIPE, user=USER, group=USER, extra_groups=[],
                                 env=environment(RUNTIME_DIRECTORY=None))
        assert spoof.stdout.readline() == "locked\n"
        assert any(row["pid"] == spoof.pid for row in json.loads(expect(
            FOLDER.call("status", "--format", "json"), 0).stdout)["recorders"])
        answer = expect(FOLDER.call("stop", "-i", "nightly.data"), 0)
        assert answer.stdout.startswith("Stopped run 1 (cat) of "), answer.stdout
        spoof.communicate("")
        live.process.wait(timeout=TIMEOUT)
    shutil.rmtree("/tmp/rpistat-%d" % USER)


def test_other_users():
    """of another user: what its file says, or /proc; stopped when its store is named, by root; --all ends one's own"""
    with UserRecording("own.data", RUNTIME_DIRECTORY=None) as own, Recording(FOLDER, "root.data") as live:
        until(lambda: "own.data" in recorders() and "root.data" in recorders())
        line = line_of(live.process, expect(as_user("status"), 0).stdout)
        assert line.startswith("root ") and " recording " in line and "/root.data " in line, line
        refused(as_user("stop", "-i", "root.data", "1"), 1,
                "is recorded by root (process %d): only that user and root may stop it" % live.process.pid)
        os.chmod(RUNTIME, 0o700)
        text = expect(as_user("status"), 0).stdout
        os.chmod(RUNTIME, 0o755)
        line = line_of(live.process, text)
        assert line.startswith("root ") and " unknown " in line and "-o root.data cat" in line, line
        assert re.search(r"^Process(es)? ([0-9]+, )*%d[:,].* the registry that this user sees does not say" %
                         live.process.pid, text, re.M), text
        found = recorders()["own.data"]
        assert found["user"] == str(USER) and found["pid"] == own.pid, found
        assert found["recorder_state"] == "recording" and found["run"] == 1 and found["command"] == "cat", found
        answer = expect(as_user("stop", "--all"), 0)
        assert answer.stdout.startswith("Stopped run 1 (cat) of ") and answer.stdout.count("\n") == 1, answer.stdout
        assert own.process.wait(TIMEOUT) == 128 + signal.SIGTERM
        assert as_user("stop", "--all").stdout == "Nothing of this user is being recorded.\n"
        with UserRecording("named.data", RUNTIME_DIRECTORY=None) as named:
            os.chmod(until(lambda: recorders().get("named.data"))["store"], 0o600)
            assert FOLDER.call("stop", "--all", "-i", "named.data").stdout == "Nothing of this user is being recorded.\n"
            answer = expect(FOLDER.call("stop", "-i", "named.data", "1"), 0)
            assert answer.stdout.startswith("Stopped run 1 (cat) of "), answer.stdout
            assert named.process.wait(TIMEOUT) == 128 + signal.SIGTERM
        assert live.end() == 0


with FOLDER:
    tap.main([test_status, test_several, test_attached, test_ignored, test_many, test_series, test_ended, test_forged,
              test_leftover, test_moved, test_other_namespace, test_folders, test_spoofed, test_other_users])
