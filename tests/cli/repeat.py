"""record --repeat: a command several times in a row, as one group of runs."""
import json
import os
import pty
import re
import signal

from program import RPISTAT, Folder, counting, environment, expect, refused, shown_on, tap

# The next number of its calls, and what it does in which: fails, is ended, or says that it is ready.
WORKLOAD = """\
echo x >>calls
n=$(wc -l <calls)
[ $n != "$FAIL" ] || exit 4
[ $n != "$DIE" ] || kill -KILL $$
[ $n != "$WAIT" ] || { echo ready; exec sleep 600; }
"""


def series(*options, **variables):
    """The options of a series of a workload."""
    return counting() + ["-q", "--no-samples", "--repeat", "3", *options, "--", "sh", "-c", WORKLOAD]


def runs(folder):
    return json.loads(expect(folder.call("runs", "--format", "json"), 0).stdout)["runs"]


def check_group():
    """as many runs as asked for, with one label and the same tags, each of its own; the last has the report"""
    with Folder() as folder:
        expect(folder.call(*series("--label", "before", "--tag", "build=42")), 0)
        found = runs(folder)
        assert [(run["label"], run["tags"], run["state"]) for run in found] == [
            ("before", {"build": "42"}, "complete")] * 3, found
        assert len({run["uuid"] for run in found}) == 3, found
        assert folder.read("calls").count(b"x") == 3
        assert b"Total periods" in folder.read("rpistat.txt")


def check_simulated():
    """the simulated processor repeats its script, and each run is the same"""
    with Folder() as folder:
        folder.record("-q", "--repeat", "2", "--no-samples")
        csv = [expect(folder.call("export", "-r", run), 0).stdout.replace("\n%s," % run, "\n")
               for run in ("1", "2")]
        assert csv[0] == csv[1] and len(csv[0]) > 1000, csv


def check_failure():
    """a run that fails, or is killed, ends the series; it is kept, and the status is its own"""
    for variable, status in (("FAIL", 4), ("DIE", 137)):
        with Folder() as folder:
            answer = expect(folder.call(*series(), env=environment(**{variable: "2"})), status)
            assert answer.stderr == "rpistat: a run that failed ended the series: 2 of 3 runs were recorded\n", \
                answer.stderr
            assert len(runs(folder)) == 2


def check_refused():
    """a command that is not there is said once; other targets have nothing to repeat"""
    with Folder() as folder:
        refused(folder.call("record", "--repeat", "3", "no-such-program"), 127, "no-such-program")
        refused(folder.call("record", "--repeat", "3"), 2, "no command")
        for target in (["-p", "1"], ["-a"], ["-C", "0"], ["-G", "x"]):
            refused(folder.call("record", "--repeat", "3", *target), 2, "--repeat and %s exclude each other" % target[0])
        for number in ("0", "1001", "x"):
            refused(folder.call("record", "--repeat", number, "true"), 2, "--repeat " + number, "between 1 and 1000")
        assert not os.path.exists(folder / "rpistat.data")


def check_signal():
    """a signal, from the terminal or to rpistat alone, ends the series with the run that it meets"""
    for typed in (True, False):
        with Folder() as folder:
            command = [RPISTAT, *series()]
            pid, leader = pty.fork()
            if pid == 0:
                os.chdir(folder.path)
                os.execve(RPISTAT, command, environment(WAIT="2"))
            shown = ""
            while "ready" not in shown:
                shown += os.read(leader, 4096).decode()
            if typed:
                os.write(leader, b"\x03")
            else:
                os.kill(pid, signal.SIGTERM)
            shown += shown_on(leader)
            _, status = os.waitpid(pid, 0)
            os.close(leader)
            name = "SIGINT" if typed else "SIGTERM"
            assert os.waitstatus_to_exitcode(status) == 128 + getattr(signal, name), (status, shown)
            assert name + " ended the series: 2 of 3 runs were recorded" in shown, shown
            assert "next: " not in shown, shown
            assert [run["state"] for run in runs(folder)] == ["complete"] * 2


def check_preparing():
    """Ctrl-C ends a series at once also where it meets a run that is not begun yet"""
    with Folder() as folder:
        os.mkfifo(folder / "sets.ini")  # who reads it waits
        pid, leader = pty.fork()
        if pid == 0:
            os.chdir(folder.path)
            os.execve(RPISTAT, [RPISTAT, "record", "--repeat", "2", "--sets", "./sets.ini", "true"], environment())
        end = os.open(folder / "sets.ini", os.O_WRONLY)
        os.write(leader, b"\x03")
        shown = shown_on(leader)
        os.close(end)
        _, status = os.waitpid(pid, 0)
        os.close(leader)
        assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGINT, (status, shown)
        assert not os.path.exists(folder / "rpistat.data"), shown


def check_terminal():
    """at the end a terminal is told which runs these are, and how to compare them; nothing in between"""
    with Folder() as folder:
        for expected in ("next: record what is to be compared in the same way, then .*rpistat compare 1-2 3-4",
                         "next: .*rpistat compare 1-2 3-4"):
            leader, follower = pty.openpty()
            folder.call("record", "--pmu", "sim:script.sim", "--repeat", "2", stdout=follower, stderr=follower)
            os.close(follower)
            shown = shown_on(leader)
            os.close(leader)
            assert re.search(expected + "$", shown.strip()), shown
            assert len(re.findall("next: ", shown)) == 1, shown


tap.main([check_group, check_simulated, check_failure, check_refused, check_signal, check_preparing,
          check_terminal])
