"""status and stop: the recorders of this machine, and the end of a recording. Other recordings on this
machine must not be ended: the tests identify their own by store, and run --all as a user who has no
others.
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
USER = 1900000000 + os.getpid() % 100000  # a user without other processes

# A process called rpistat, which writes an entry into the file of the registry, and locks it: of its own
# process, or of another's. It has the real and the effective user of the last arguments.
PRETENDER = """\
import fcntl, os, sys
with open("/proc/self/comm", "w") as name:
    name.write("rpistat")
folder, pid, store, owner, locks, real, effective = sys.argv[1:]
path = os.path.join(folder, pid if pid != "0" else str(os.getpid()))
file = open(path, "w")
file.write("run=1\\0store=%s\\0label=forged\\0argument=true\\0" % store)
file.flush()
os.chown(path, int(owner), int(owner))
os.setresuid(int(real), int(effective), -1)
if locks == "1":
    fcntl.lockf(file, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()
os.setresuid(-1, os.getresuid()[2], -1)
os.unlink(path)
"""


def until(question):
    """Repeat the question until the answer is true."""
    deadline = time.monotonic() + TIMEOUT
    while not (answer := question()):
        assert time.monotonic() < deadline
    return answer


def recorders(folder=FOLDER, **options):
    """{name of the store: its recorder} for stores in the folder."""
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
    """The output on a terminal of 80 columns."""
    leader, follower = pty.openpty()
    with subprocess.Popen([RPISTAT, *arguments], cwd=FOLDER.path, stdin=subprocess.DEVNULL, stdout=follower,
                          env=environment(COLUMNS="80", TERM="xterm")):
        os.close(follower)
        shown = shown_on(leader)
        os.close(leader)
    return shown


def test_status():
    """a recorder's run, store, user and rate are listed; readers and finished recordings are not"""
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
    """several recorders of one store have one line each, with the recorded run, under any name of the store"""
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
            refused(FOLDER.call("stop", "-i", "b.data"), 2, "several runs of b.data are being recorded")
            answer = expect(FOLDER.call("stop", "-i", "b.data", "other"), 0)
            assert re.match(r"Stopped run 2 \(label other, cat\) of \S+b\.data: \d+ periods? in .*; the signal "
                            r"ended its command too\.\n$", answer.stdout), answer.stdout
            assert other.wait(TIMEOUT) == 128 + signal.SIGTERM
            assert one.process.poll() is None
            expect(FOLDER.call("stop", "-i", "b.data"), 0)
            refused(FOLDER.call("stop", "-i", "b.data"), 1, "no run of b.data that this user can see is being recorded")
            refused(FOLDER.call("stop", "-i", "b.data", "other"), 1, "not being recorded any more: it is complete")
        finally:
            other.stdin.close()
            other.kill()
            other.wait()


def test_attached():
    """the recording of a running process ends, and the process continues"""
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
    """if a command ignores the signal, the recording ends at once and leaves it running; --timeout reports this"""
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
    """many recorders: one line each, and each run can be ended by its label"""
    names = ["many%d" % number for number in range(12)]
    record = counting() + ["-q", "--commit", "0", "--period", "10ms", "-o", "many.data", "--tag", "of=many", "--label"]
    started = [subprocess.Popen([RPISTAT, *record, name, "cat"], cwd=FOLDER.path, stdin=subprocess.PIPE,
                                env=environment(), stdout=subprocess.DEVNULL) for name in names]
    try:
        until(lambda: len(lines_of("many.data", FOLDER.call("status").stdout)) == len(names))
        refused(FOLDER.call("stop", "-i", "many.data", "of=many"), 1, "is ambiguous: run", "give its number")
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
    """--repeat is one recorder; for an rpistat of another version, the process is listed"""
    with subprocess.Popen([RPISTAT, *counting(), "-q", "--repeat", "2", "-o", "r.data", "cat"], cwd=FOLDER.path,
                          stdin=subprocess.PIPE, env=environment(), stdout=subprocess.DEVNULL) as series:
        until(lambda: "r.data" in recorders())
        lines = lines_of("r.data", FOLDER.call("status").stdout)
        assert len(lines) == 1 and " recording " in lines[0], lines
        unseen = FOLDER.call("status", env=environment(RUNTIME_DIRECTORY=None)).stdout
        line, = [line for line in unseen.splitlines() if "-o r.data cat" in line]
        assert " unknown " in line and line.split()[1] == lines[0].split()[1], (line, lines)
        assert re.search(r"Process(es)? ([0-9]+, )*%s[:,].* unknown here, because" % line.split()[1], " ".join(unseen.split())), unseen
        series.stdin.close()
        assert series.wait(TIMEOUT) == 0


def test_ended():
    """a recorder whose recording has ended, and which waits for its command, is not listed"""
    record = counting() + ["-q", "--commit", "0", "--duration", "100ms", "-o", "e.data", "cat"]
    with subprocess.Popen([RPISTAT, *record], cwd=FOLDER.path, stdin=subprocess.PIPE, env=environment(),
                          stdout=subprocess.DEVNULL) as recorder:
        until(lambda: has_run("e.data", "complete"))
        until(lambda: not re.search(r"^\S+ +%d " % recorder.pid, FOLDER.call("status").stdout, re.M))
        assert recorder.poll() is None
        refused(FOLDER.call("stop", "-i", "e.data", "1"), 1, "not being recorded any more: it is complete")
        recorder.stdin.close()
        assert recorder.wait(TIMEOUT) == 0


class Pretender:
    """A process named rpistat with a locked file in the registry, of process `of` (0: its own) and of a user."""

    def __init__(self, folder=RUNTIME, of=0, owner=0, locks=1, real=-1, effective=-1):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRETENDER, folder, str(of), FOLDER / "forged.data", str(owner or os.geteuid()),
             str(locks), str(real), str(effective)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.communicate()


def test_forged():
    """a file that its process has not locked, that belongs to another user, or that others may write, is ignored"""
    FOLDER.record("-o", "forged.data")

    def is_believed(pretender, folder=RUNTIME):
        env = environment(RUNTIME_DIRECTORY=folder)
        shown = [one for one in json.loads(FOLDER.call("status", "--format", "json", env=env).stdout)["recorders"]
                 if one["pid"] == pretender.pid and one["run"]]
        if not shown:
            refused(FOLDER.call("stop", "-i", "forged.data", "1", env=env), 1, "run 1", "not being recorded any more")
        assert pretender.process.poll() is None
        return bool(shown)

    with Pretender() as true:
        assert is_believed(true)  # the following entries differ from it in one thing each
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
        folder = owned("forged")
        with Pretender(folder, owner=USER, real=USER, effective=USER) as user:
            assert is_believed(user, folder)
        with Pretender(folder, owner=USER, real=USER) as set_user_id:  # its user could make it lock the file
            assert not is_believed(set_user_id, folder)


def test_leftover():
    """the file of a killed recorder is ignored by all commands at once, and disturbs nobody"""
    with Recording(FOLDER, "k.data") as live:
        path = os.path.join(RUNTIME, str(live.process.pid))
        live.process.kill()
        live.process.wait()
        assert os.path.exists(path) and "k.data" not in recorders()
        runs, reports = ([FOLDER.call(command, "-i", "k.data", env=environment(**of)).stdout
                          for of in ({}, {"RUNTIME_DIRECTORY": None})] for command in ("runs", "report"))
        # Only heartbeats of another user's recorder are known.
        assert " interrupted " in runs[0] and " recording " in runs[1], runs
        assert "was killed" in reports[0] and "so far" in reports[1] and "so far" not in reports[0], reports
        refused(FOLDER.call("stop", "-i", "k.data"), 1, "no run of k.data that this user can see is being recorded")
        refused(FOLDER.call("runs", "-i", "k.data", "--delete", "1", env=environment(RUNTIME_DIRECTORY=None)), 1,
                "is being recorded; stop it first (nothing was deleted)")
        assert expect(FOLDER.call("runs", "-i", "k.data", "--delete", "1"), 0).stdout.startswith("Deleted run 1 (cat)")
    # the next entry with its number: the process exists already, and begins to record on request
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
    """if a store was moved, the store in which the recording continues is listed"""
    with Recording(FOLDER, "m.data") as live:
        for end in ("", "-wal", "-shm"):
            if os.path.exists(FOLDER / ("m.data" + end)):
                os.rename(FOLDER / ("m.data" + end), FOLDER / ("n.data" + end))
        saved = until(lambda: [name for name in recorders() if name.startswith("m.data.saved-")])
        assert expect(FOLDER.call("stop", "-i", saved[0]), 0).stdout.startswith("Stopped run 1 (cat)")
        assert live.process.wait(TIMEOUT)


def test_other_namespace():
    """a recorder with another number in its own PID namespace is listed with its number in /proc"""
    inside = ["unshare", "--pid", "--fork", "--kill-child", RPISTAT, *counting(), "-q", "--commit", "0", "-o", "u.data",
              "cat"]
    if not shutil.which("unshare") or subprocess.call(inside[:3] + ["true"], stderr=subprocess.DEVNULL) != 0:
        raise tap.Skip("no PID namespace can be made here")
    with subprocess.Popen(inside, cwd=FOLDER.path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          env=environment()) as outside:
        until(lambda: has_run("u.data", "recording"))
        line, = [line for line in FOLDER.call("status").stdout.splitlines() if "-o u.data cat" in line]
        assert " unknown " in line and "u.data" not in recorders(), line
        refused(FOLDER.call("stop", "-i", "u.data"), 1, "no run of u.data that this user can see is being recorded")
        outside.stdin.close()
        outside.wait(TIMEOUT)


def user_call(*arguments):
    return ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", FOLDER / "rpistat", *arguments]


def as_user(*arguments, **changes):
    return subprocess.run(user_call(*arguments), cwd=FOLDER.path, text=True, capture_output=True, check=False,
                          env=environment(GCOV_PREFIX=str(FOLDER.path), **changes), timeout=TIMEOUT)


class UserRecording:
    """A recording of another user, with the registry that the environment names; it has a run."""

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
        """Its file in the folder, when it exists."""
        path = os.path.join(folder, str(self.pid))
        until(lambda: os.path.exists(path) and os.path.getsize(path))
        return path


def owned(name):
    os.makedirs(FOLDER / name)
    os.chown(FOLDER / name, USER, USER)
    return FOLDER / name


def test_folders():
    """the registry is in the first folder that belongs to the user; if it is removed, it is created again"""
    last = "/tmp/rpistat-%d" % USER
    with UserRecording("f1.data", RUNTIME_DIRECTORY=None, XDG_RUNTIME_DIR=None) as own:
        file = own.file(last)
        mode = os.stat(last)
        assert stat.S_IMODE(mode.st_mode) == 0o700 and mode.st_uid == USER and os.stat(file).st_uid == USER
        assert recorders()["f1.data"]["pid"] == own.pid  # as seen by root
        shutil.rmtree(last)
        assert own.file(last) and until(lambda: recorders().get("f1.data"))["user"] == str(USER)
        answer = expect(as_user("stop", "-i", "f1.data", RUNTIME_DIRECTORY=None, XDG_RUNTIME_DIR=None), 0)
        assert answer.stdout.startswith("Stopped run 1 (cat) of "), answer.stdout
        assert not os.listdir(last)
    with UserRecording("f4.data", RUNTIME_DIRECTORY=owned("unit"), XDG_RUNTIME_DIR=owned("unused")) as own:
        own.file(FOLDER / "unit")  # as systemd creates it for examples/rpistat-record.service
        assert os.listdir(FOLDER / "unused") == []
        found = recorders(env=environment(RUNTIME_DIRECTORY=FOLDER / "unit"))["f4.data"]
        assert found["pid"] == own.pid and found["recorder_state"] == "recording", found
    for name in ("f5.data", "f6.data"):
        os.mkdir(last, 0o777)  # taken by another user: the user's folder gets another name, once
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
    """a recorder of another user that claims to record a store does not count: only those of its owner and of root do"""
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
    """another user's recorder: the contents of its file, or /proc; root stops it by its store; --all ends only one's own"""
    with UserRecording("own.data", RUNTIME_DIRECTORY=None) as own, Recording(FOLDER, "root.data") as live:
        until(lambda: "own.data" in recorders() and "root.data" in recorders())
        line = line_of(live.process, expect(as_user("status"), 0).stdout)
        assert line.startswith("root ") and " recording " in line and "/root.data " in line, line
        refused(as_user("stop", "-i", "root.data", "1"), 1,
                "is recorded by root (process %d); ask that user or root to stop it" % live.process.pid)
        os.chmod(RUNTIME, 0o700)
        text = expect(as_user("status"), 0).stdout
        os.chmod(RUNTIME, 0o755)
        line = line_of(live.process, text)
        assert line.startswith("root ") and " unknown " in line and "-o root.data cat" in line, line
        assert re.search(r"Process(es)? ([0-9]+, )*%d[:,].* unknown here, because" % live.process.pid, " ".join(text.split())), text
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
