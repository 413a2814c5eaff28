"""Signals during a recording: the workload gets them, and the store is complete in each case."""
import fcntl
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import termios

import program
from program import RPISTAT, Folder, counting, environment, expect, tap

# A workload that prints when it is ready, then waits for what its first argument names.
WORKLOAD = """
import os, signal, sys, time
how = sys.argv[1]
def leave(number, frame):
    print("got %d" % number, flush=True)
    os._exit(7)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if how != "default":
        signal.signal(number, signal.SIG_IGN if how == "ignore" else leave)
    else:
        signal.signal(number, signal.SIG_DFL)
if how == "stubborn":
    def note(number, frame):
        print("got %d" % number, flush=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, note)
if how == "session":
    os.setsid()
elif how == "group":
    os.setpgid(0, 0)
print(os.getpid(), flush=True)
while True: # pause() could begin between a signal and its handler, and wait for another
    time.sleep(0.02)
"""


class Recording:
    """A recording of the workload, ready for signals; `with Recording(how) as recording`."""

    def __init__(self, how):
        self.how, self.pid, self.terminal = how, None, None

    def __enter__(self):
        record = counting()
        self.folder = Folder()
        self.folder.__enter__()
        self.terminal, slave = os.openpty()

        def lead():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for number in (signal.SIGHUP, signal.SIGQUIT):  # ignored with nohup, and after sh's &
                signal.signal(number, signal.SIG_DFL)
        self.process = subprocess.Popen(
            [RPISTAT, *record, "--period", "10ms", sys.executable, "-c", WORKLOAD, self.how],
            cwd=self.folder.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, preexec_fn=lead, env=environment())
        os.close(slave)
        self.pid = int(self.process.stdout.readline())
        return self

    def __exit__(self, *unused):
        for pid in [self.pid, self.process.pid if self.process.poll() is None else None]:
            try:
                if pid:
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait(program.TIMEOUT)
        os.close(self.terminal)
        self.folder.__exit__()

    def type(self, keys):
        os.write(self.terminal, keys)

    def end(self):
        """Wait for rpistat's end. Return its status, which is negative if a signal ended it."""
        return self.process.wait(program.TIMEOUT)

    def workload_lives(self):
        try:
            with open("/proc/%d/stat" % self.pid, encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def complete(self):
        """The store holds one run with a regular end and periods, and the report works."""
        store = sqlite3.connect(self.folder / "rpistat.data")
        rows = store.execute("SELECT state, (SELECT count(*) FROM period) FROM run").fetchall()
        store.close()
        assert len(rows) == 1 and rows[0][0] == "complete" and rows[0][1] > 0, rows
        expect(self.folder.call("report"), 0)
        assert os.path.exists(self.folder / "rpistat.txt")


def passed_on(number):
    with Recording("default") as recording:
        os.kill(recording.process.pid, number)
        assert recording.end() == 128 + number
        assert not recording.workload_lives()
        recording.complete()


def handled(number):
    with Recording("handle") as recording:
        os.kill(recording.process.pid, number)
        status = recording.end()
        assert recording.process.stdout.readline() == "got %d\n" % number
        assert status == 7, status
        recording.complete()


def ignored(number):
    with Recording("ignore") as recording:
        os.kill(recording.process.pid, number)
        assert recording.end() == 128 + number
        assert recording.workload_lives(), "the workload ignores the signal, and was ended"
        recording.complete()


def second(first, number):
    with Recording("stubborn") as recording:
        os.kill(recording.process.pid, first)
        assert recording.process.stdout.readline() == "got %d\n" % first
        assert recording.process.poll() is None
        os.kill(recording.process.pid, number)
        assert recording.end() == 128 + number
        assert recording.workload_lives()
        recording.complete()


def test_terminal():
    """Ctrl-C on the terminal ends the workload as without rpistat"""
    with Recording("default") as recording:
        recording.type(b"\x03")
        assert recording.end() == 128 + signal.SIGINT
        assert not recording.workload_lives()
        recording.complete()


def test_terminal_own_session():
    """Ctrl-C on the terminal also reaches a workload that left its process group"""
    for how in ["session", "group"]:
        with Recording(how) as recording:
            recording.type(b"\x03")
            assert recording.process.stdout.readline() == "got 2\n"
            assert recording.end() == 7
            recording.complete()


def test_terminal_stubborn():
    """each Ctrl-C on the terminal reaches the workload once, and the recording continues"""
    with Recording("stubborn") as recording:
        for _ in range(3):
            recording.type(b"\x03")
            assert recording.process.stdout.readline() == "got 2\n"
        recording.type(b"\x1c")  # quit, which the workload does not handle
        assert recording.end() == 128 + signal.SIGQUIT
        assert recording.process.stdout.read() == ""
        recording.complete()


def test_workload_killed():
    r"""if another process kills the workload, the run ends with 128 and the signal's number"""
    with Recording("default") as recording:
        os.kill(recording.pid, signal.SIGKILL)
        assert recording.end() == 128 + signal.SIGKILL
        recording.complete()


def test_recorder_killed():
    """if the recorder is killed, the workload continues, and the run is shown as interrupted"""
    with Recording("stubborn") as recording:
        path = recording.folder / "rpistat.data"
        # first a few committed periods
        while True:
            store = sqlite3.connect(path, timeout=60)
            count = store.execute("SELECT count(*) FROM period").fetchone()[0]
            store.close()
            if count >= 3:
                break
        os.kill(recording.process.pid, signal.SIGKILL)
        recording.process.wait(program.TIMEOUT)
        assert recording.workload_lives()
        shown = expect(recording.folder.call("runs"), 0).stdout
        assert "interrupted" in shown, shown
        program.silence(path)
        expect(recording.folder.call("report"), 0)
        expect(recording.folder.call("export", "-o", "x.csv"), 0)


def simulated(number):
    """A signal ends a simulated recording that would take minutes, and the store is complete."""
    with Folder() as folder:
        folder.write("long.sim", "phase a 8000h instructions=1M\n")
        with subprocess.Popen([RPISTAT, "record", "-q", "--no-samples", "-e", "instructions", "--pmu", "sim:long.sim"],
                              cwd=folder.path, env=environment(), preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:
            try:
                while not os.path.exists(folder / "rpistat.data") or periods(folder) == 0:
                    assert process.poll() is None
                process.send_signal(number)
                assert process.wait(program.TIMEOUT) == 0
            finally:
                process.kill()
        with sqlite3.connect(folder / "rpistat.data") as store:
            row = store.execute("SELECT state, end_reason, exit_status FROM run").fetchone()
        store.close()
        assert row == ("complete", "stopped by " + number.name, None), row
        expect(folder.call("check"), 0)


def periods(folder):
    """The number of periods in the store, 0 while it has no tables."""
    store = sqlite3.connect(folder / "rpistat.data")
    try:
        return store.execute("SELECT count(*) FROM (SELECT 1 FROM period LIMIT 1)").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        store.close()


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

tap.main(
    [("%s sent to rpistat alone ends the workload; 128 and its number" % number.name, passed_on,
      number) for number in SIGNALS] +
    [("%s that the workload handles is left to it" % number.name, handled, number)
     for number in SIGNALS] +
    [("%s that the workload ignores ends the recording alone" % number.name, ignored, number)
     for number in SIGNALS] +
    [("a second signal, %s after %s, ends the recording alone" % (number.name, first.name), second,
      first, number)
     for first, number in [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)]] +
    [("%s ends a simulated recording" % number.name, simulated, number) for number in SIGNALS] +
    [test_terminal, test_terminal_own_session, test_terminal_stubborn, test_workload_killed, test_recorder_killed])
