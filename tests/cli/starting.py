"""A recording that starts while another program holds the store's lock, and one that cannot start. A
locked store prevents no command from running and changes no exit status. A refused recording leaves
nothing.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time

from program import RPISTAT, RUNTIME, TIMEOUT, Folder, counting, environment, expect, freeze, is_sanitized, refused, tap

MANY = 15 if is_sanitized() else 20  # few enough to finish within the 60 s of a locked store
HOLDER = """\
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def until(question):
    """Repeat the question until the answer is true."""
    deadline = time.monotonic() + TIMEOUT
    while not (answer := question()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answer


@contextlib.contextmanager
def locked(folder, store="rpistat.data", alone=False):
    """Hold the store's lock; with `alone`, nobody can even read it. Return the connection."""
    holder = sqlite3.connect(folder / store, isolation_level=None, timeout=TIMEOUT)
    if alone:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("SELECT count(*) FROM run").fetchone()
    try:
        yield holder
    finally:
        holder.close()


def start(folder, *options, user=None, stderr=subprocess.PIPE, env=None):
    """Start a recording in the folder."""
    who = {"user": user, "group": user, "extra_groups": []} if user else {}
    return subprocess.Popen([folder.program if user else RPISTAT, *counting(), "-q", *options],
                            cwd=folder.path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=stderr, text=True, env=env or environment(), **who)


def ended(process, status):
    """Return its standard error when it has ended with this status."""
    said = process.communicate(timeout=2 * TIMEOUT)[1]
    assert process.returncode == status, (process.returncode, said)
    return said


def runs(folder, store="rpistat.data"):
    return json.loads(expect(folder.call("runs", "-i", store, "--format", "json"), 0).stdout)["runs"]


def lines(folder, name):
    try:
        return folder.read(name).count(b"\n")
    except FileNotFoundError:
        return 0


def saved_in(said):
    """The file that a recording's message names, since its store stayed locked."""
    command = said.partition("`")[2].partition("`")[0].split()
    assert command[:4] == ["rpistat", "merge", "-i", "rpistat.data"], said
    return command[4]


def recorder(folder, process=None):
    """The entry of `status` for the recorder of the folder's store, or for this process."""
    found = json.loads(expect(folder.call("status", "--format", "json"), 0).stdout)["recorders"]
    return next((one for one in found if one["store"] == os.path.realpath(folder / "rpistat.data")
                 and process in (None, one["pid"])), None)


# --- many at once ---------------------------------------------------------------------------------

def start_many(folder, user, is_new, count):
    """All commands run while the store is locked, and all runs are stored in it."""
    first = 0 if is_new else 1
    if not is_new:
        expect(folder.call(*counting(), "-q", "true"), 0)
        if user:
            os.chown(folder / "rpistat.data", user, user)
            os.chown(folder / "rpistat.txt", user, user)
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        if not is_new:
            stack.enter_context(locked(folder))
        processes = [start(folder, "--no-samples", "--system-metrics", "off", "sh", "-c",
                           "echo ran >>ran; exit 3", user=user,
                           env=environment(RUNTIME_DIRECTORY=folder.runtime))
                     for _ in range(count)]
        until(lambda: lines(folder, "ran") == count)  # without the lock's holder
    is_slow = time.monotonic() - begin > 30  # of the 60 s that a recording waits
    said = [ended(process, 3) for process in processes]
    assert is_slow or not any(said), said
    for saved in filter(None, said):
        expect(folder.call("merge", saved_in(saved)), 0)
        os.unlink(folder / saved_in(saved))
    found = runs(folder)
    assert [run["run"] for run in found] == list(range(1, first + count + 1)), found
    assert [run["exit_status"] for run in found[first:]] == [3] * count, found
    assert {run["state"] for run in found} == {"complete"}, found
    assert not glob.glob(folder / "rpistat.data?*"), os.listdir(folder.path)
    expect(folder.call("check"), 0)


def with_many(user, is_new, count=MANY):
    with Folder() as folder:
        folder.program, folder.runtime = RPISTAT, RUNTIME
        if user:
            if os.geteuid() != 0:
                raise tap.Skip("only root becomes another user")
            os.chmod(folder.path, 0o777)
            folder.program = shutil.copy(RPISTAT, folder / "program")
            folder.runtime = folder / "runtime"
            os.mkdir(folder.runtime, 0o700)
            os.chown(folder.runtime, user, user)
        start_many(folder, user, is_new, count)


def check_many_in_a_store():
    """many recordings that start while the store is locked all run, and are all in it"""
    with_many(None, False)


def check_many_in_a_new_store():
    """the same for many that create the store together"""
    with_many(None, True)


def check_many_of_a_user():
    """the same for an ordinary user, with a store and without"""
    with_many(30002, False, 20)
    with_many(30002, True, 20)


# --- while there is no number ---------------------------------------------------------------------

def check_all_that_is_recorded():
    """samples, system metrics, markers, regions and periods from before the run's number are kept"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        for alone in (False, True):
            number = 3 if alone else 2
            with locked(folder, alone=alone):
                process = start(folder, "--control", "fifo:control", "--period", "10ms", "--frequency", "999",
                                "sh", "-c", "while [ ! -e go%d ]; do :; done; exit 7" % number)
                until(lambda process=process: recorder(folder) or process.poll() is not None)
                with open(os.open(folder / "control", os.O_WRONLY | os.O_NONBLOCK), "w") as control:
                    control.write("mark before the number\n")
                assert recorder(folder)["run"] is None, recorder(folder)
            until(lambda number=number: recorder(folder)["run"] == number)
            with contextlib.closing(sqlite3.connect(folder / "rpistat.data", timeout=TIMEOUT)) as store:
                for table, least in (("period", 2), ("mark", 1), ("reading", 1), ("sampling", 1)):
                    until(lambda number=number, table=table, least=least: store.execute(
                        "SELECT count(*) >= ? FROM %s WHERE run_id = ?" % table, (least, number)).fetchone()[0])
            folder.write("go%d" % number, "")
            assert ended(process, 7) == ""
            run = runs(folder)[-1]
            assert (run["run"], run["state"], run["exit_status"]) == (number, "complete", 7), run
            with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store:
                begin, = store.execute("SELECT min(start_ns) FROM period WHERE run_id = ?",
                                       (number,)).fetchone()
                assert begin < 1000000000, begin
                text, = store.execute("SELECT text FROM mark WHERE run_id = ?", (number,)).fetchone()
                assert text == "before the number", text


def check_stop():
    r"""`stop` ends a waiting recorder by its label and by its store; 0 is no number"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        for choice in (["nightly"], ["-i", "rpistat.data"]):
            with locked(folder):
                process = start(folder, "--label", "nightly", "sleep", "600")
                until(lambda: recorder(folder))
                assert "lock" in recorder(folder)["reason"], recorder(folder)
                refused(folder.call("stop", "-i", "rpistat.data", "0"), 1)
                answer = refused(folder.call("stop", "--timeout", "100ms", *choice), 1, "lock",
                                 str(process.pid))
                assert "run 0" not in answer.stderr, answer.stderr
            ended(process, 128 + signal.SIGTERM)
        assert [run["exit_signal"] for run in runs(folder)[1:]] == [signal.SIGTERM] * 2, runs(folder)
        expect(folder.call("report", "-r", runs(folder)[1]["uuid"]), 0)  # by the uuid that `stop` finds


def check_stop_waits():
    r"""`stop` waits for a recorder that waits for the lock, and then knows the run's number"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        with locked(folder):
            process = start(folder, "--label", "nightly", "sleep", "600")
            until(lambda: recorder(folder))
            stop = subprocess.Popen([RPISTAT, "stop", "nightly"], cwd=folder.path, text=True,
                                    stdout=subprocess.PIPE, env=environment())
        assert "run 2" in stop.communicate(timeout=TIMEOUT)[0]
        assert stop.returncode == 0
        ended(process, 128 + signal.SIGTERM)


def check_series():
    r"""a series continues and knows its runs, although each began without a number"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        holder = sqlite3.connect(folder / "rpistat.data", isolation_level=None, timeout=TIMEOUT)
        holder.execute("BEGIN IMMEDIATE")
        process = start(folder, "--repeat", "3", "--no-samples", "sh", "-c", "echo ran >>ran")
        for number in (1, 2, 3):
            until(lambda number=number: lines(folder, "ran") == number)
            holder.execute("COMMIT")
            until(lambda number=number: process.poll() is not None or
                  [run["state"] for run in runs(folder)].count("complete") > number)
            holder.execute("BEGIN IMMEDIATE")
        holder.close()
        assert ended(process, 0) == ""
        assert [run["run"] for run in runs(folder)] == [1, 2, 3, 4], runs(folder)


def check_stopped_holder():
    """a stopped process holds the lock: the command runs, its status is returned, and the run is kept"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, folder / "rpistat.data"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline() == "held\n"
        freeze(holder)
        process = start(folder, "sh", "-c", "echo ran >>ran; exit 5")
        until(lambda: lines(folder, "ran") == 1)
        holder.kill()
        holder.communicate()
        assert ended(process, 5) == ""
        assert [(run["run"], run["exit_status"]) for run in runs(folder)] == [(1, 0), (2, 5)]


def check_stays_locked():
    """after a minute, the run is in a file of its own; a run that had begun is in a copy of the store"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        begun = start(folder, "--commit", "0", "sh", "-c", "while [ ! -e go ]; do sleep 1; done; exit 4")
        until(lambda: recorder(folder) and recorder(folder)["run"] == 2)
        with locked(folder):
            waiting = start(folder, "sh", "-c", "echo ran >>ran; exit 5")
            until(lambda: lines(folder, "ran") == 1)
            folder.write("go", "")
            for process, status in ((waiting, 5), (begun, 4)):
                saved = folder / saved_in(ended(process, status))
                assert stat.S_ISREG(os.lstat(saved).st_mode), saved
                assert runs(folder, saved)[-1]["exit_status"] == status, runs(folder, saved)
        for saved in sorted(glob.glob(folder / "rpistat.data.saved-*")):
            if not saved.endswith(("-wal", "-shm")):
                expect(folder.call("merge", saved), 0)
        assert sorted((run["exit_status"], run["state"]) for run in runs(folder)) == [
            (0, "complete"), (4, "complete"), (5, "complete")], runs(folder)
        expect(folder.call("check"), 0)


def signalled(folder, process, status):
    """Send signals until the recorder has ended. Return its run, which is in a file of its own."""
    def has_ended():
        process.send_signal(signal.SIGTERM)
        return process.poll() is not None

    until(has_ended)
    run, = runs(folder, folder / saved_in(ended(process, status)))
    return run


def check_signals_while_locked():
    """a signal after the recording ends the wait for the lock; a recorder without a signal continues to wait"""
    with Folder() as folder:
        expect(folder.call(*counting(), "-q", "true"), 0)
        with locked(folder):
            process = start(folder, "sh", "-c", "echo $$ >pid; exit 6")
            until(lambda: lines(folder, "pid") == 1)
            until(lambda: not os.path.exists("/proc/" + folder.read("pid").decode().strip()))
            other = start(folder, "sh", "-c", "exit 5")
            assert signalled(folder, process, 6)["exit_status"] == 6
            with subprocess.Popen(["sleep", "1000"]) as sleeper:
                process = start(folder, "-p", str(sleeper.pid))
                until(lambda: recorder(folder, process.pid))
                signalled(folder, process, 0)
                sleeper.kill()
        assert ended(other, 5) == ""  # its wait would have lasted a minute
        assert [run["exit_status"] for run in runs(folder)] == [0, 5], runs(folder)


# --- refusals -------------------------------------------------------------------------------------

def everything(folder):
    """Names and contents of all files in the folder."""
    return {name: os.path.isfile(folder / name) and folder.read(name) for name in os.listdir(folder.path)}


def refusals(folder):
    """Options of recordings that cannot start, with the exit status."""
    no_interpreter = folder.write("no-interpreter", "#!/nonexistent/interpreter\n", 0o755)
    os.mkdir(folder / "sub")
    folder.write("config.ini", "[nonsense\n")
    record = counting()
    return [
        ([*record, "-p", "999999999"], 1), ([*record, "-G", "no/such/group"], 1),
        ([*record, "-a", "--control", "fifo:no/such/fifo", "--duration", "1s"], 1),
        ([*record, "-e", "no-such-event", "true"], 1), ([*record, "no-such-command"], 127),
        ([*record, "./sub"], 126), ([*record, no_interpreter], 127),
        ([*record, "-a", "--", no_interpreter], 127), ([*record, "--repeat", "3", no_interpreter], 127),
        (["record", "--pmu", "sim:no-such.sim"], 1), (["record", "--pmu", "sim:config.ini"], 1),
    ]


def check_refusals():
    """if a recording cannot start for any reason, no new store or file remains, and an old one is unchanged"""
    with Folder() as folder:
        cases = refusals(folder)
        for is_new in (True, False):
            if not is_new:
                expect(folder.call(*counting(), "-q", "true"), 0)
            for options, _ in cases:
                before = everything(folder)
                answer = folder.call(*options)
                assert answer.returncode in (1, 2, 126, 127) and answer.stderr, (options, answer)
                after = everything(folder)
                assert after.keys() == before.keys(), (options, answer, after.keys() - before.keys())
                if not is_new:
                    assert [run["run"] for run in runs(folder)] == [1], (options, runs(folder))
        expect(folder.call(*counting(), "-q", "true"), 0)
        assert [run["run"] for run in runs(folder)] == [1, 2], runs(folder)


def check_refused_to_a_user():
    """the whole machine without permission: no store remains"""
    with Folder() as folder:
        before = set(os.listdir(folder.path)) | {"rpistat", "plot"}
        answer = folder.call_as_user("record", "-a", "--duration", "1ms")
        if answer.returncode == 0:
            raise tap.Skip("every user may count the whole machine here")
        assert set(os.listdir(folder.path)) <= before, os.listdir(folder.path)


tap.main([check_many_in_a_store, check_many_in_a_new_store, check_many_of_a_user,
          check_all_that_is_recorded, check_stop, check_stop_waits, check_series, check_stopped_holder,
          check_stays_locked, check_signals_while_locked, check_refusals,
          check_refused_to_a_user])
