"""record --repeat: a command several times in sequence, as one group of runs."""
import json
import os
import pty
import re
import signal
import statistics
import threading
import time

from program import RPISTAT, Folder, counting, environment, expect, refused, shown_on, tap

# Prints the number of its call. Depending on it, the call fails, is killed, or says that it is
# ready.
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
    """the requested number of runs, with one label and equal tags; each run is separate; the last has the report"""
    with Folder() as folder:
        expect(folder.call(*series("--label", "before", "--tag", "build=42")), 0)
        found = runs(folder)
        assert [(run["label"], run["tags"], run["state"]) for run in found] == [
            ("before", {"build": "42"}, "complete")] * 3, found
        assert len({run["uuid"] for run in found}) == 3, found
        assert folder.read("calls").count(b"x") == 3
        assert b"Total periods" in folder.read("rpistat.txt")


def check_simulated():
    """the simulated processor repeats its script, and all runs are equal"""
    with Folder() as folder:
        folder.record("-q", "--repeat", "2", "--no-samples")
        csv = [expect(folder.call("export", "-r", run), 0).stdout.replace("\n%s," % run, "\n")
               for run in ("1", "2")]
        assert csv[0] == csv[1] and len(csv[0]) > 1000, csv


def check_failure():
    """a run that fails or is killed ends the series; it is kept, and its status is returned"""
    for variable, status in (("FAIL", 4), ("DIE", 137)):
        with Folder() as folder:
            answer = expect(folder.call(*series(), env=environment(**{variable: "2"})), status)
            assert answer.stderr == "rpistat: a run failed and ended the series: 2 of 3 runs were recorded\n", \
                answer.stderr
            assert len(runs(folder)) == 2


def check_refused():
    """a missing command is reported once; other targets cannot be repeated"""
    with Folder() as folder:
        refused(folder.call("record", "--repeat", "3", "no-such-program"), 127, "no-such-program")
        refused(folder.call("record", "--repeat", "3"), 2, "no command")
        for target in (["-p", "1"], ["-a"], ["-C", "0"], ["-G", "x"]):
            refused(folder.call("record", "--repeat", "3", *target), 2, "--repeat and %s exclude each other" % target[0])
        for number in ("0", "1001", "x"):
            refused(folder.call("record", "--repeat", number, "true"), 2, "--repeat " + number, "between 1 and 1000")
        assert not os.path.exists(folder / "rpistat.data")


def check_signal():
    """a signal, from the terminal or to rpistat alone, ends the series with the current run, also during warm-up"""
    for typed, warmup in ((True, 0), (False, 0), (True, 2), (False, 2)):
        with Folder() as folder:
            command = [RPISTAT, *(series("--warmup", "2") if warmup else series())]
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
            assert name + " ended the series: %d of 3 runs were recorded" % (0 if warmup else 2) in shown, shown
            assert "next: " not in shown, shown
            assert warmup or [run["state"] for run in runs(folder)] == ["complete"] * 2


def check_preparing():
    """Ctrl-C ends a series at once, also between two runs"""
    with Folder() as folder:
        os.mkfifo(folder / "sets.ini")  # the reader of this pipe waits
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


def check_warmup():
    """--warmup first runs the command without recording; if it fails, nothing is recorded"""
    with Folder() as folder:
        expect(folder.call(*series("--warmup", "2")), 0)
        assert folder.read("calls").count(b"x") == 5 and len(runs(folder)) == 3
        expect(folder.call(*counting(), "-q", "--no-samples", "--warmup", "1", "sh", "-c", "echo x >>once"), 0)
        assert folder.read("once").count(b"x") == 2 and len(runs(folder)) == 4
    with Folder() as folder:
        answer = expect(folder.call(*series("--warmup", "2"), env=environment(FAIL="2")), 4)
        assert answer.stderr == ("rpistat: a warm-up run failed and ended the series: 0 of 3 runs were "
                                 "recorded\n"), answer.stderr
        assert not os.path.exists(folder / "rpistat.data")
        refused(folder.call("record", "--repeat", "2", "--warmup", "1", "no-such-program"), 127, "no-such-program")


def check_prepare():
    """--prepare runs a shell command before each run and warm-up run; if it fails, the series ends"""
    with Folder() as folder:
        for name in ("a", "b"):
            folder.write(name, "#!/bin/sh\necho %s >>calls\n" % name, 0o755)
        prepare = ["--prepare", "echo prepared >>calls; test $(wc -l <calls) != \"$FAIL\""]
        command = [*counting(), "-q", "--no-samples", "--repeat", "2", *prepare]
        expect(folder.call(*command, "--warmup", "1", "--alternate", "./a", "--", "./b"), 0)
        assert folder.read("calls").decode().split() == ["prepared", "a", "prepared", "b"] * 3, folder.read("calls")
        assert [run["label"] for run in runs(folder)] == ["a", "b"] * 2
        os.remove(folder / "calls")
        answer = expect(folder.call(*command, "-o", "x.data", "./a", env=environment(FAIL="3")), 1)
        assert answer.stderr == ("rpistat: the --prepare command failed (status 1) and ended the series: 1 of 2 "
                                 "runs were recorded\n"), answer.stderr
        assert folder.read("calls").decode().split() == ["prepared", "a", "prepared"], folder.read("calls")
        os.remove(folder / "calls")
        expect(folder.call(*command, "-o", "y.data", "./a", env=environment(FAIL="1")), 1)
        assert not os.path.exists(folder / "y.data")
        expect(folder.call(*counting(), "-q", "--no-samples", "-o", "z.data", *prepare, "./a"), 0)
        assert folder.read("calls").decode().split() == ["prepared"] * 2 + ["a"], folder.read("calls")


def check_alternate():
    """--alternate runs two commands alternately, labelled by their programs or by --label"""
    with Folder() as folder:
        for name in ("old", "new"):
            folder.write(name, "#!/bin/sh\necho %s $1 >>calls\n" % name, 0o755)

        def turns(*options):
            if os.path.exists(folder / "calls"):
                os.remove(folder / "calls")
            expect(folder.call(*counting(), "-q", "--no-samples", "--repeat", "2", *options), 0)
            return folder.read("calls").decode().split("\n")[:-1], [run["label"] for run in runs(folder)][-4:]
        assert turns("--warmup", "1", "--alternate", "--", "./old", "--", "./new", "-x") == (
            ["old", "new -x"] * 3, ["old", "new"] * 2)
        assert turns("--alternate", "./new", "-6", "--", "./new", "-9") == (
            ["new -6", "new -9"] * 2, ["new -6", "new -9"] * 2)
        assert turns("--alternate", "./new", "-6", "x y", "z", "--", "./new", "-6", "z")[1] == ["new 'x y'", "new"] * 2
        assert turns("--label", "slow,fast", "--alternate", "./new", "--", "./new") == (
            ["new"] * 4, ["slow", "fast"] * 2)
        sides = json.loads(expect(folder.call("compare", "slow", "fast", "--format", "json"), 0).stdout)
        assert (sides["a_name"], sides["b_name"]) == ("slow", "fast"), sides


def terminal(folder, *arguments, **variables):
    """The output of a series on a terminal."""
    leader, follower = pty.openpty()
    folder.call(*arguments, stdin=follower, stdout=follower, stderr=follower, env=environment(**variables))
    os.close(follower)
    shown = shown_on(leader)
    os.close(leader)
    return shown


def feed(folder, lengths):
    """Give each run of a series its own script, after the previous run has read its script and begun."""
    for number, length in enumerate(lengths):
        while number > 0 and not folder.call("runs", str(number)).stdout:
            time.sleep(0.02)
        folder.write("length.sim", "default instructions=1M\nphase a %s\n" % length)


def check_odd():
    """at the end: the outlier and what to do about the first run; compare's mean, and the range"""
    with Folder() as folder:
        os.mkfifo(folder / "length.sim")  # the reader of this pipe waits
        feeder = threading.Thread(target=feed, args=(folder, ["4s", "200ms", "210ms", "190ms", "205ms", "195ms"]), daemon=True)
        feeder.start()
        shown = terminal(folder, "record", "--pmu", "sim:length.sim", "--repeat", "6", "--label", "x")
        feeder.join()
        lengths = [run["elapsed_s"] for run in runs(folder)]
        mean = statistics.geometric_mean(lengths)
        found = re.search(r"rpistat: x, runs 1-6: geometric mean ([\d.]+) s \(sd [\d.]+ s, \d+\.\d %; 0\.\d+ to 4\.\d+ s\)[,\s]", shown)
        assert found and found[1] == "%.*f" % (len(found[1].split(".")[1]), mean), (shown, mean)
        assert re.search(r"rpistat: run 1 is an outlier \(4 s\); it was the first run: try --warmup 1", shown), shown
        assert shown.count(" is an outlier ") == 1, shown


def check_summary():
    """at the end: CPU time of real runs, and how to compare both sides"""
    with Folder() as folder:
        shown = terminal(folder, *counting(), "--no-samples", "--repeat", "2", "--label", "x", "true")
        assert re.search(r"rpistat: x, runs 1-2: geometric mean [\d.]+ s \(.* s\), CPU time [\d.]+ s \(sd [\d.]+ s\)", shown), shown
        shown = terminal(folder, *counting(), "--no-samples", "--repeat", "2", "--alternate", "sh", "-c", "true", "--", "true")
        assert re.search(r"rpistat: sh, runs 3,5: .*\s+rpistat: true, runs 4,6: .*\s+(rpistat: other programs used.*\s+)?"
                         r"rpistat: next: .*rpistat compare 3,5 4,6", shown), shown


def check_terminal():
    """at the end, a terminal gets the runs' numbers and how to compare them; nothing before"""
    with Folder() as folder:
        for expected in ("next: record the other version in the same way, then .*rpistat compare 1-2 3-4",
                         "next: .*rpistat compare 1-2 3-4"):
            leader, follower = pty.openpty()
            folder.call("record", "--pmu", "sim:script.sim", "--repeat", "2", stdout=follower, stderr=follower)
            os.close(follower)
            shown = shown_on(leader)
            os.close(leader)
            assert re.search(expected + "$", shown.strip()), shown
            assert len(re.findall("next: ", shown)) == 1, shown


tap.main([check_group, check_simulated, check_failure, check_refused, check_signal, check_preparing,
          check_warmup, check_prepare, check_alternate, check_odd, check_summary, check_terminal])
