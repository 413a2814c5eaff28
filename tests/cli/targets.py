"""What a recording counts, and when: running processes, CPUs, a control group; delay and --control.

usage: targets.py RPISTAT THREADS          THREADS is the program of threads.c
"""
import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import program
from program import RPISTAT, Folder, Stolen, ask_store, counting, environment, expect, refused, tap, undisturbed

THREADS = os.path.abspath(sys.argv[2])
MS = 1000000


def cpu_ns(pid):
    """The CPU time of a process and all its threads, including ended ones: the exact sum of schedstat."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class Workload:
    """threads.c with these arguments; `with Workload("stay", "2") as workload`."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        self.process = subprocess.Popen([THREADS, *self.arguments], stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = self.process.pid
        return self

    def __exit__(self, *unused):
        self.end()
        self.process.stdout.close()

    def end(self):
        self.process.kill()
        self.process.wait()


class Recording:
    """rpistat record with these options and a control pipe, whose acknowledgements the test reads."""

    def __init__(self, folder, *arguments, options=("--delay", "off"), **more):
        self.folder, self.path = folder, folder / "ctl"
        for path in (self.path, self.path + ".ack"):
            os.mkfifo(path)
        self.command = os.open(self.path, os.O_RDWR)
        self.answers = os.fdopen(os.open(self.path + ".ack", os.O_RDWR), "rb", buffering=0)
        self.process = subprocess.Popen(
            [RPISTAT, *counting(), "--control", "fifo:" + self.path, *options, *arguments],
            cwd=folder.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment(), **more)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self.command)
        self.answers.close()

    def write(self, data):
        os.write(self.command, data)

    def answer(self):
        line = b""
        while not line.endswith(b"\n"):
            ready = select.select([self.answers], [], [], 0.2)[0]
            if ready:
                line += self.answers.read(1)
            elif self.process.poll() is not None:
                raise AssertionError("rpistat ended: " + self.process.stderr.read())
        return line.decode().rstrip("\n")

    def ask(self, command, answer="ack"):
        self.write(command.encode() + b"\n")
        found = self.answer()
        assert found == answer or (answer == "error" and found.startswith("error: ")), found

    def end(self, status=0):
        output, errors = self.process.communicate(timeout=program.TIMEOUT)
        assert self.process.returncode == status, (self.process.returncode, errors)
        assert not output and not errors, (output, errors)
        return Store(self.folder / "rpistat.data")

    def count_between(self, pids, wait):
        """Count while wait() runs. Return the minimum and maximum of the processes' true count."""
        stolen = Stolen()
        self.ask("mark attached")
        before = sum(map(cpu_ns, pids))
        self.ask("enable")
        inside = sum(map(cpu_ns, pids))
        wait()
        end_inside = sum(map(cpu_ns, pids))
        self.ask("disable")
        after = sum(map(cpu_ns, pids))
        self.ask("stop")
        return end_inside - inside, after - before + stolen.ns()


class Store:
    """The newest run of a store, as plain SQL."""

    def __init__(self, path):
        store = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        self.query = lambda sql: store.execute(sql).fetchall()
        run = self.query("SELECT run_id, state, elapsed_ns, end_reason, target FROM run "
                         "ORDER BY run_id DESC")[0]
        self.run, self.state, self.elapsed_ns, self.end_reason, self.target = run
        self.periods = self.query("SELECT cpu, start_ns, length_ns FROM period WHERE run_id = %d "
                                  "ORDER BY cpu, period" % self.run)
        self.gaps = self.query("SELECT start_ns, length_ns, reason FROM gap WHERE run_id = %d "
                               "ORDER BY start_ns" % self.run)
        self.marks = self.query("SELECT time_ns, text FROM mark WHERE run_id = %d "
                                "ORDER BY time_ns" % self.run)
        assert self.state == "complete", self.state

    def task_clock(self):
        """The counted CPU time in ns."""
        set_no, slot = self.query("SELECT set_no, slot FROM event WHERE spec = 'task-clock' AND "
                                  "set_no >= 0 AND run_id = %d" % self.run)[0]
        return self.query("SELECT sum(c%d) FROM period WHERE run_id = %d AND set_no = %d"
                          % (slot, self.run, set_no))[0][0]

    def track(self, cpu):
        return [(start, length) for number, start, length in self.periods if number == cpu]

    def cpus(self):
        return sorted({row[0] for row in self.periods})

    def check_covered(self):
        """Periods and gaps cover the run without a hole or overlap."""
        for cpu in self.cpus():
            at = 0
            for start, length in sorted(self.track(cpu) + [gap[:2] for gap in self.gaps]):
                assert start == at, (cpu, start, at)
                at = start + length
            assert at == self.elapsed_ns, (cpu, at, self.elapsed_ns)


def counted(store, least, most, tolerance=0.03):
    found = store.task_clock()
    assert least * (1 - tolerance) <= found <= most * (1 + tolerance), \
        "counted %.3f s of %.3f to %.3f s" % (found / 1e9, least / 1e9, most / 1e9)


def computing(pids, ns):
    """Return a function that returns when the processes have used this CPU time."""
    end = sum(map(cpu_ns, pids)) + ns

    def wait():
        while sum(map(cpu_ns, pids)) < end:
            time.sleep(0.01)
    return wait


@undisturbed
def count_process(*arguments):
    with Folder() as folder, Workload(*arguments) as workload:
        with Recording(folder, "-p", str(workload.pid)) as recording:
            times = recording.count_between([workload.pid], computing([workload.pid], 300 * MS))
            counted(recording.end(), *times)


# --- processes --------------------------------------------------------------------------------


def test_attach():
    """-p counts all threads of a running process"""
    count_process("stay", "3")


@undisturbed
def test_coming_and_going():
    """-p counts threads that start and end, within 3 %"""
    with Folder() as folder, Workload("churn", "4", "5000") as workload:
        with Recording(folder, "-p", str(workload.pid)) as recording:
            times = recording.count_between([workload.pid], computing([workload.pid], 800 * MS))
            counted(recording.end(), *times)


def test_chain():
    """-p counts a process whose threads follow one another, each exactly once"""
    count_process("chain", "5000")


def test_attach_often():
    """attaching works even if threads end at the same time"""
    record = counting()
    with Workload("churn", "4", "300") as workload:
        for _ in range(10):
            with Folder() as folder:
                expect(folder.call(*record, "-p", str(workload.pid), "--duration", "1ms"), 0)


@undisturbed
def test_several():
    """-p A,B and -p A -p B count both, and count a process named twice once"""
    with Workload("stay", "1") as one, Workload("stay", "1") as two:
        pids = [one.pid, two.pid]
        for options in [["-p", "%d,%d" % (*pids,)], ["-p", str(pids[0]), "-p", str(pids[1])],
                        ["-p", "%d,%d,%d" % (pids[0], pids[1], pids[0])]]:
            with Folder() as folder, Recording(folder, *options) as recording:
                store = recording.count_between(pids, computing(pids, 200 * MS))
                counted(recording.end(), *store)


def test_attach_command():
    """-p stores the command line of each process"""
    record = [*counting(), "--duration", "1ms"]
    with Folder() as folder, Workload("rest", "0") as one, Workload("rest", "0") as two:
        line = "%s rest 0" % THREADS
        expect(folder.call(*record, "-p", str(one.pid)), 0)
        expect(folder.call(*record, "-p", "%d,%d" % (one.pid, two.pid)), 0)
        store = sqlite3.connect(folder / "rpistat.data")
        commands = [json.loads(text) for text, in store.execute("SELECT command FROM run")]
        store.close()
        assert commands == [[THREADS, "rest", "0"], [line, line]], commands
        listed = expect(folder.call("runs"), 0).stdout
        assert "%s (process %d)\n" % (line, one.pid) in listed, listed
        assert "(process %d, %d)" % (one.pid, two.pid) in expect(folder.call("report"), 0).stdout


def test_attach_end():
    r"""-p ends with the last of the processes, with exit status 0; their end is no error"""
    with Folder() as folder, Workload("rest", "1") as one, Workload("rest", "0") as two:
        with Recording(folder, "-p", "%d,%d" % (one.pid, two.pid), options=[]) as recording:
            recording.ask("mark started")
            one.end()
            recording.ask("mark one has ended")
            two.end()
            store = recording.end()
            assert [text for _, text in store.marks] == ["started", "one has ended"], store.marks
            assert str(one.pid) in store.target, store.target
            store.check_covered()
        text = expect(folder.call("report"), 0).stdout
        assert re.search(r"\n  Recording ended: +the process ended, exit status unknown\n", text), text
        answer = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)["answer"]
        assert "; recording ended: the process ended, exit status unknown." in answer, answer
        ask_store(folder / "rpistat.data", "UPDATE run SET state = 'interrupted'")
        assert "the process ended" not in expect(folder.call("report"), 0).stdout


def test_attach_ending():
    """a process that ends during attachment is recorded to its end, or reported as gone"""
    record = counting()
    for number in range(10):
        with Folder() as folder:
            process = subprocess.Popen(["sleep", "0.00%d" % number])
            timer = threading.Thread(target=process.wait)
            timer.start()  # so that it does not become a zombie
            answer = folder.call(*record, "-p", str(process.pid))
            timer.join()
            assert answer.returncode in (0, 1), answer
            if answer.returncode == 1:
                refused(answer, 1, str(process.pid))
            else:
                assert Store(folder / "rpistat.data").periods


def test_attach_stop():
    """-p does not affect the process: it continues when a signal ends the recording, status 0"""
    for number in [signal.SIGINT, signal.SIGTERM]:
        with Folder() as folder, Workload("rest", "1") as workload:
            with Recording(folder, "-p", str(workload.pid), options=[]) as recording:
                recording.ask("mark started")
                recording.process.send_signal(number)
                store = recording.end()
                assert signal.Signals(number).name in store.end_reason, store.end_reason
                assert workload.process.poll() is None


def test_no_process():
    """a process that does not exist, or a thread, is reported, and no store is left"""
    record = counting()
    with Folder() as folder, Workload("rest", "1") as workload:
        gone = subprocess.Popen(["true"])
        gone.wait()
        refused(folder.call(*record, "-p", str(gone.pid)), 1, "no such process", str(gone.pid))
        thread = [tid for tid in os.listdir("/proc/%d/task" % workload.pid)
                  if int(tid) != workload.pid][0]
        # Linux answers EINVAL for a thread, before 6.9 also ENOENT
        refused(folder.call(*record, "-p", thread), 1, "thread", thread)
        for text in ["", "x", "0", "-1", "1,,2", "1.5", "99999999999"]:
            refused(folder.call(*record, "-p", text), 2, "-p")
        refused(folder.call(*record, "-p", str(workload.pid), "true"), 2, "-p")
        refused(folder.call(*record, "-p", str(workload.pid), "-a"), 2, "-p", "-a")
        assert os.listdir(folder.path) == ["script.sim"], os.listdir(folder.path)


def test_other_user():
    """another user's process is refused with the reason"""
    record = counting()
    if os.geteuid() != 0:
        raise tap.Skip("only root can become somebody else")
    with Folder() as folder, Workload("rest", "0") as workload:
        os.chmod(folder.path, 0o777)
        plain = folder.call_as_user(*record, "true")
        if plain.returncode != 0:
            raise tap.Skip("other users can count nothing here: " + plain.stderr)
        refused(folder.call_as_user(*record, "-p", str(workload.pid)), 1, str(workload.pid),
                "another user")


# --- CPUs ---------------------------------------------------------------------------------------


def online():
    cpus = set()
    with open("/sys/devices/system/cpu/online", encoding="ascii") as file:
        for item in file.read().strip().split(","):
            first, _, last = item.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
    return sorted(cpus)


def whole_machine():
    """The options that record the machine. The test is skipped if this is not permitted."""
    with Folder() as folder:
        answer = folder.call(*counting(), "-C", str(online()[0]), "true")
        if answer.returncode == 1 and "not permitted" in answer.stderr:
            raise tap.Skip(answer.stderr)
    return counting()


def test_all_cpus():
    """-a records one track per CPU, with the same number of contiguous periods"""
    record = whole_machine()
    with Folder() as folder:
        expect(folder.call(*record, "-a", "--period", "10ms", "--duration", "300ms"), 0)
        store = Store(folder / "rpistat.data")
        assert store.cpus() == online(), store.cpus()
        counts = {len(store.track(cpu)) for cpu in store.cpus()}
        assert len(counts) == 1, counts
        # a recorder that gets no CPU makes fewer periods, and says how many it missed
        missed, = store.query("SELECT total(missed) FROM period WHERE cpu = %d" % online()[0])[0]
        stretched = store.query("SELECT 1 FROM mark WHERE text LIKE '%stretched%'")
        assert stretched or abs(counts.pop() + missed - store.elapsed_ns / (10 * MS)) <= 2, (store.periods, missed)
        store.check_covered()
        expect(folder.call("report"), 0)


def test_cpus_periods():
    """for a recording by CPU all commands have the same number of periods, and the same elapsed time"""
    record = whole_machine()
    cpus = online()[:2]
    if len(cpus) < 2:
        raise tap.Skip("one CPU only")
    with Folder() as folder:
        listed = ",".join(str(cpu) for cpu in cpus)
        expect(folder.call(*record, "-C", listed, "--period", "10ms", "--duration", "300ms"), 0)
        read = lambda *words: expect(folder.call(*words), 0).stdout  # noqa: E731
        store = Store(folder / "rpistat.data")
        number = len(store.track(cpus[0]))
        assert len(store.periods) == 2 * number, store.periods
        elapsed = re.search(r"Elapsed time: +(\S+ s)\n", read("report")).group(1)
        assert re.search(r"Total periods: +(\d+)\n", read("report")).group(1) == str(number)
        assert re.search(r"complete +%s +%d  " % (elapsed, number), read("runs")), read("runs")
        assert "  complete  %s  %d periods" % (elapsed, number) in read("watch"), read("watch")
        assert read("check") == "rpistat.data: OK (1 run, %d periods)\n" % number, read("check")
        assert store.query("SELECT periods FROM run_summary") == [(number,)]
        found = json.loads(read("phases", "--format", "json"))
        assert found["observations"] == number, found
        read("check", "--repair", "-o", "new.data")
        assert "(1 run, %d periods)\n" % number in read("check", "-i", "new.data")


def test_cpu_list():
    """-C records the CPUs of its list; an offline CPU is reported, and so is a malformed list"""
    record = whole_machine()
    cpu = online()[0]
    with Folder() as folder:
        expect(folder.call(*record, "-C", str(cpu), "--period", "10ms", "--duration", "50ms"), 0)
        assert Store(folder / "rpistat.data").cpus() == [cpu]
    with Folder() as folder:
        offline = str(max(online()) + 1)
        refused(folder.call(*record, "-C", offline, "true"), 1, "-C", "CPU " + offline, "online")
        for text in ["x", "", "1-", "3-1", "0,", "-1", "0-99999999"]:
            refused(folder.call(*record, "-C", text, "true"), 2, "-C")
        assert os.listdir(folder.path) == ["script.sim"], os.listdir(folder.path)


HALF_BUSY = """import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
print("ready", flush=True)
while True:
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    time.sleep(0.01)
"""


def idle_ticks():
    """The idle time of each CPU, including waiting for disks, in ticks."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [line.split() for line in file if line.startswith("cpu")]
    return {int(line[0][3:]): int(line[4]) + int(line[5]) for line in fields[1:]}


def check_cpu_use(*options):
    """Idle time is between the values of /proc/stat just inside and just outside the recording. One CPU is at least half busy, the others as they are."""
    tick, cpu = 1000000000 // os.sysconf("SC_CLK_TCK"), online()[-1]
    busy = subprocess.Popen([sys.executable, "-c", HALF_BUSY, str(cpu)], stdout=subprocess.PIPE)
    with Folder() as folder, Recording(folder, "-a", *options) as recording:
        try:
            busy.stdout.readline()
            recording.ask("mark attached")
            outside = idle_ticks()
            recording.ask("enable")
            inside, before = idle_ticks(), cpu_ns(busy.pid)
            time.sleep(1)
            computed, inside_end = cpu_ns(busy.pid) - before, idle_ticks()
            recording.ask("disable")
            outside_end = idle_ticks()
            recording.ask("stop")
        finally:
            busy.kill()
            busy.communicate()
        store = recording.end()
        found = store.query("SELECT cpu, sum(idle_ns), sum(enabled_ns), max(idle_ns > enabled_ns), "
                            "min(idle_ns), sum(length_ns) FROM period GROUP BY cpu")
        assert [row[0] for row in found] == online(), found
        for number, idle, enabled, over, least, length in found:
            low = (inside_end[number] - inside[number] - 1) * tick
            high = (outside_end[number] - outside[number] + 1) * tick
            assert low <= idle <= high and not over and least >= 0, (low, high, found)
            # the rest is used by at least the program that computed there
            assert number != cpu or enabled - idle >= computed - 2 * tick, (computed, found)
            report = expect(folder.call("report", "--cpu", str(number)), 0).stdout
            use = re.findall(r"\n    (?:CPU use|cpu_use) +([\d.]+)", report)
            expected = min(100, 100 * (enabled - idle) / length)
            assert abs(float(use[0]) - expected) < 0.002, (use, expected)


def test_cpu_use():
    """-a: the use of a CPU is its time that was not idle, with one event set and with several"""
    whole_machine()
    check_cpu_use()
    check_cpu_use("--period", "10ms", "--always-rotate", "-e", "page-faults", "-e", "context-switches",
                  "--metric", "cpu_use=100 * cpu_seconds / seconds")


def test_cpus_with_command():
    """-a with a command ends with it and with its status; the command has its own streams"""
    record = whole_machine()
    with Folder() as folder:
        answer = expect(folder.call(*record, "-a", "sh", "-c", "echo out; exit 5"), 5)
        assert answer.stdout == "out\n" and not answer.stderr, answer
        store = Store(folder / "rpistat.data")
        assert store.cpus() == online()
        assert store.query("SELECT exit_status FROM run") == [(5,)]
        store.check_covered()
        expect(folder.call(*record, "-a", "sh", "-c", "kill -9 $$"), 137)


def test_cpus_stopped():
    """-a ends at a signal, with status 0 and a complete store"""
    whole_machine()
    for number in [signal.SIGINT, signal.SIGTERM]:
        with Folder() as folder, Recording(folder, "-a", options=[]) as recording:
            recording.ask("mark started")
            recording.process.send_signal(number)
            store = recording.end()
            assert store.cpus() == online()
            store.check_covered()
            expect(folder.call("report"), 0)


# --- control groups -----------------------------------------------------------------------------


class Group:
    """A control group of the perf_event controller or of version 2, whichever is mounted."""

    def __enter__(self):
        with open("/proc/self/mounts", encoding="utf-8") as file:
            mounts = [line.split()[:4] for line in file]
        self.path, self.names = None, []
        # Version 2 can only count if version 1 does not have the controller.
        held = any("perf_event" in options.split(",") for _, _, kind, options in mounts
                   if kind == "cgroup")
        for _, place, kind, options in mounts:
            if kind == ("cgroup" if held else "cgroup2") and \
                    (not held or "perf_event" in options.split(",")):
                self.path = os.path.join(place, "rpistat-test-%d" % os.getpid())
        if not self.path:
            raise tap.Skip("no hierarchy of control groups that can count is mounted")
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise tap.Skip("no control group can be made: %s" % error)
        return self

    def below(self, name):
        """The path of a new group inside this one."""
        self.names.append(name)
        os.mkdir(os.path.join(self.path, name))
        return os.path.join(self.path, name)

    def elsewhere(self):
        """The paths of groups of version 1 in hierarchies that cannot count."""
        with open("/proc/self/mounts", encoding="utf-8") as file:
            places = [line.split()[1] for line in file if line.split()[2] == "cgroup" and "perf_event" not in line]
        return [entry.path for place in places for entry in os.scandir(place) if entry.is_dir()]

    def add(self, pid):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))

    def __exit__(self, *unused):
        for _ in range(100):  # a killed process leaves the group a moment later
            try:
                while self.names:
                    os.rmdir(os.path.join(self.path, self.names[-1]))
                    self.names.pop()
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


@undisturbed
def test_cgroup():
    """-G counts only the processes of a control group"""
    record = whole_machine()
    with Folder() as folder, Group() as group, Workload("stay", "1") as other:
        with Workload("churn", "2", "3000") as workload:
            group.add(workload.pid)
            with Recording(folder, "-G", group.path) as recording:
                try:
                    times = recording.count_between([workload.pid],
                                                    computing([workload.pid], 500 * MS))
                except AssertionError as error:
                    if "cgroup hierarchy" in str(error):
                        raise tap.Skip(error)
                    raise
                store = recording.end()
                assert store.cpus() == [-1], store.cpus()
                counted(store, *times)
        assert other.process.poll() is None
        refused(folder.call(*record, "-G", group.path + "/none", "true"), 1, "none")
        refused(folder.call(*record, "-G", folder.path, "true"), 1, "group " + folder.path,
                "not in the cgroup hierarchy that can count events", "name a directory below /sys/fs/cgroup")
        for path in group.elsewhere():
            refused(folder.call(*record, "-G", path, "true"), 1, "group " + path, "not in the cgroup hierarchy that can count")


# In each group a busy shell; in the second also its short-lived children, with a name that no process beside this test has.
# The group of a process is read when the process is first sampled, so each shell lives for several periods.
JOB = "job-%d" % os.getpid()
IN_GROUPS = """
count() { i=0; while [ $i -lt $1 ]; do i=$((i + 1)); done; }
(echo 0 >"$1/cgroup.procs" && count 800000) &
(echo 0 >"$2/cgroup.procs" && for n in $(seq 25); do
     ./$3 -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'; done) &
wait
"""
PLACES = """
SELECT DISTINCT c.path FROM task AS t JOIN task_count AS n USING (run_id, task)
LEFT JOIN cgroup AS c USING (run_id, cgroup) WHERE name = ?"""


def record_groups(folder, store, command, options):
    """Record again until the recorder got a CPU often enough to read each group before its shell ends."""
    deadline = time.monotonic() + program.TIMEOUT
    while True:
        expect(folder.call(*counting(), "--frequency", "997", *options, "-o", store, *command), 0)
        with contextlib.closing(sqlite3.connect(folder / store)) as found:
            longest_ns, elapsed_ns = found.execute("SELECT max(length_ns), max(elapsed_ns) FROM period JOIN run USING (run_id)").fetchone()
        if longest_ns < elapsed_ns / 4:
            return
        assert time.monotonic() < deadline, (longest_ns, elapsed_ns)
        os.unlink(folder / store)


def test_cgroups():
    """-a has the control group of each process, also of ended ones; with several -G, only of these"""
    record = whole_machine()
    with Folder() as folder, Group() as group:
        place = [group.below("docker-%s.scope" % ("0123456789abcdef" * 4)), group.below("job.service")]
        shutil.copy("/bin/sh", folder / JOB)
        command = ["sh", "-c", IN_GROUPS, "sh", *place, JOB]
        try:
            for store, options in ("all.data", ["-a"]), ("two.data", ["-G", place[0], "-G", place[1]]):
                record_groups(folder, store, command, options)
        except AssertionError as error:
            if "cgroup hierarchy" in str(error):
                raise tap.Skip(error)
            raise
        wanted = ["/" + "/".join(path.split("/")[-2:]) for path in place]
        for name in ("all.data", "two.data"):
            rows = json.loads(expect(folder.call("code", "-i", name, "--by", "cgroup", "--format", "json"), 0).stdout)["code"]
            found = {row["module"]: row for row in rows}
            assert found[wanted[0]]["name"] == "0123456789ab" and found[wanted[1]]["name"] == "job.service", rows
            assert found[wanted[1]]["processes"] > 5, rows
            if name == "two.data":
                assert set(found) == set(wanted), rows
            with contextlib.closing(sqlite3.connect(folder / name)) as store:
                assert store.execute(PLACES, (JOB,)).fetchall() == [(wanted[1],)], store.execute(PLACES, (JOB,)).fetchall()
            expect(folder.call("check", "-i", name), 0)
        assert "job.service" in expect(folder.call("report", "-i", "all.data"), 0).stdout
        for first, second in (place[0], group.path), (group.path, place[1]), (place[0], place[0]):
            refused(folder.call(*record, "-G", first, "-G", second, "true"), 2, "contains all of", "leave one of them out")
        # for one's own command, the control group is not read
        expect(folder.call(*record, *command), 0)
        refused(folder.call("code", "--by", "cgroup"), 1, "control groups")


def test_cgroup_root():
    """-G with the root group is the whole machine by CPU, and at most the time of its CPUs"""
    record = whole_machine()
    with open("/proc/self/mounts", encoding="utf-8") as file:
        roots = [place for _, place, kind, *_ in map(str.split, file)
                 if kind in ("cgroup", "cgroup2") and os.stat(place).st_ino == 1]
    if not roots:
        raise tap.Skip("no root of a hierarchy of control groups is mounted")
    with Folder() as folder:
        expect(folder.call(*record, "-G", roots[-1], "--period", "20ms", "--duration", "500ms"), 0)
        store = Store(folder / "rpistat.data")
        found = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)
        use = [row["value"] for row in found["figures"] if row["name"] == "cpu_use"]
        assert all(0 <= one <= 101 * len(online()) for one in use), use
        assert store.cpus() == online(), store.cpus()


# --- delay and control --------------------------------------------------------------------------


def test_delay():
    """--delay begins with a gap of this length, then counts"""
    record = counting()
    with Folder() as folder:
        expect(folder.call(*record, "--delay", "50ms", "--period", "10ms", "sleep", "3"), 0)
        store = Store(folder / "rpistat.data")
        assert len(store.gaps) == 1 and store.gaps[0][0] == 0, store.gaps
        assert store.gaps[0][1] >= 50 * MS and "delay" in store.gaps[0][2], store.gaps
        assert store.periods[0][1] == store.gaps[0][1]
        store.check_covered()
        report = expect(folder.call("report"), 0).stdout
        assert "delay" in report, report


def test_delay_longer():
    """a workload that ends before the delay leaves a complete run and its status"""
    with Folder() as folder:
        expect(folder.call(*counting(), "--delay", "1h", "sh", "-c", "exit 4"), 4)
        store = Store(folder / "rpistat.data")
        assert not store.periods and len(store.gaps) == 1, (store.periods, store.gaps)
        expect(folder.call("report"), 0)


def test_delay_refused():
    """--delay off needs --control, and a delay must be a time"""
    with Folder() as folder:
        refused(folder.call(*counting(), "--delay", "off", "true"), 2, "--delay", "--control")
        refused(folder.call(*counting(), "--delay", "soon", "true"), 2, "--delay")


def test_control():
    """enable, disable, mark and stop have their effect, and are acknowledged"""
    with Folder() as folder, Workload("stay", "1") as workload:
        wait = computing([workload.pid], 60 * MS)
        with Recording(folder, "-p", str(workload.pid), "--period", "10ms") as recording:
            recording.ask("mark before")
            recording.ask("enable")
            recording.ask("enable")  # already enabled
            wait()
            recording.ask("mark within é")
            recording.ask("disable")
            recording.ask("disable")
            recording.ask("mark between")
            recording.ask("enable")
            computing([workload.pid], 30 * MS)()
            recording.ask("stop")
            store = recording.end()
        reasons = [reason for _, _, reason in store.gaps]
        assert reasons == ["not yet enabled", "paused"], store.gaps
        assert "--control" in store.end_reason, store.end_reason
        store.check_covered()
        assert [text for _, text in store.marks] == ["before", "within é", "between"], store.marks
        before, within, between = [at for at, _ in store.marks]
        (first, first_length, _), (second, second_length, _) = store.gaps
        assert first <= before <= first + first_length < within <= second, (store.gaps, store.marks)
        assert second <= between <= second + second_length, (store.gaps, store.marks)
        report = expect(folder.call("report"), 0).stdout
        assert "paused" in report and "not yet enabled" in report, report


def test_control_together():
    r"""commands that arrive together or in pieces are executed one after the other"""
    with Folder() as folder, Workload("rest", "1") as workload:
        with Recording(folder, "-p", str(workload.pid), "--period", "10ms") as recording:
            recording.write(b"enable\nmark one\ndisable\nenable\n\nmark two\nsto")
            for _ in range(5):
                assert recording.answer() == "ack"
            recording.write(b"p\n")
            assert recording.answer() == "ack"
            store = recording.end()
        assert [text for _, text in store.marks] == ["one", "two"], store.marks
        assert [reason for _, _, reason in store.gaps] == ["not yet enabled", "paused"], store.gaps


def test_control_wrong():
    """a wrong command is answered with an error, and changes nothing"""
    with Folder() as folder, Workload("rest", "0") as workload:
        with Recording(folder, "-p", str(workload.pid), options=[]) as recording:
            for command in ["enabled", "Enable", "mark", "mark ", "stop now", "x" * 1500,
                            "mark " + "y" * 5000, "\xff\xfe"]:
                recording.ask(command, "error")
            recording.ask("mark " + "z" * 500)
            recording.ask("stop")
            store = recording.end()
        assert [len(text) for _, text in store.marks] == [500] and not store.gaps, store.marks


def test_control_regions():
    """the end of a region that has not begun is an error, and no mark; entries may be nested"""
    with Folder() as folder, Workload("rest", "1") as workload:
        with Recording(folder, "-p", str(workload.pid), options=[]) as recording:
            for command, answer in [("q end", "error"), ("q begin", "ack"), ("q q begin", "ack"), ("qq end", "error"), ("q begin", "ack"),
                                    ("q end", "ack"), ("q q end", "ack"), ("q q end", "error"), ("q end", "ack"), ("q end", "error"),
                                    ("end", "ack"), ("a begin", "ack"), ("b begin", "ack"), ("b end", "ack"), ("a end", "ack"),
                                    ("never begin", "ack")]:
                recording.ask("mark region " + command, answer)
            recording.ask("stop")
            store = recording.end()
        assert [text[7:] for _, text in store.marks] == [
            "q begin", "q q begin", "q begin", "q end", "q q end", "q end", "end", "a begin", "b begin", "b end", "a end", "never begin"], store.marks


def test_control_own_pipes():
    """pipes that do not exist are created for this user only, and removed at the end"""
    with Folder() as folder:
        path = folder / "own"
        process = subprocess.Popen([RPISTAT, *counting(), "--control", "fifo:own", "sleep", "60"],
                                   cwd=folder.path, env=environment())
        while not os.path.exists(path + ".ack"):
            assert process.poll() is None
            time.sleep(0.01)
        assert os.stat(path).st_mode & 0o777 == 0o600
        # Nobody reads the answers, and there are more than a pipe holds: the recorder must not
        # wait.
        with open(path, "wb", buffering=0) as pipe:
            for _ in range(300):
                pipe.write(b"x\n" * 100)
            pipe.write(b"mark last\nstop\n")
        process.send_signal(signal.SIGCONT)
        while os.path.exists(path):
            time.sleep(0.01)
        assert process.poll() is None, "the workload's status was not waited for"
        process.terminate()
        process.wait(program.TIMEOUT)
        assert sorted(os.listdir(folder.path)) == ["rpistat.data", "rpistat.txt", "script.sim"]
        store = Store(folder / "rpistat.data")
        assert [text for _, text in store.marks] == ["last"], store.marks


def test_control_flood():
    """endless commands do not keep the recording from its periods or its end"""
    for command in ["mark x", "enable"]:
        for duration in "500ms", "5s", "50s":  # a loaded machine may give the recorder little time
            with Folder() as folder, Workload("rest", "1") as workload:
                with Recording(folder, "-p", str(workload.pid), "--period", "10ms", options=[
                        "--duration", duration]) as recording:
                    with subprocess.Popen(["yes", command], stdout=recording.command) as flood:
                        try:
                            store = recording.end()
                        finally:
                            flood.kill()
            if len(store.periods) > 3:
                break
        assert len(store.periods) > 3, store.periods


def test_control_refused():
    """a PATH that is a file, a folder or does not exist is reported, and unchanged"""
    with Folder() as folder:
        folder.write("file", "mine\n")
        os.symlink("file", folder / "link")
        for path in ["file", "link", ".", "none/pipe"]:
            refused(folder.call(*counting(), "--control", "fifo:" + path, "true"), 1, path)
        for text in ["fifo:", "pipe:x", "x", ""]:
            refused(folder.call(*counting(), "--control", text, "true"), 2, "--control")
        assert folder.read("file") == b"mine\n"
        assert sorted(name for name in os.listdir(folder.path) if "pipe" in name) == []


# --- limits -------------------------------------------------------------------------------------


def test_descriptors():
    """the number of required file descriptors is checked before the start, and the reason is explained"""
    whole_machine()

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    with Folder() as folder:
        answer = folder.call(*counting(), "-a", "sh", "-c", "echo ran", preexec_fn=limit)
        refused(answer, 1, "file descriptors", "20", "ulimit")
        with Workload("rest", "30") as workload:
            answer = folder.call(*counting(), "-p", str(workload.pid), preexec_fn=limit)
            refused(answer, 1, "file descriptors", "ulimit")

    def soft():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 4096))
    with Folder() as folder:
        answer = expect(folder.call(*counting(), "sh", "-c", "ulimit -Sn", preexec_fn=soft), 0)
        assert answer.stdout == "20\n", "the workload's own limit: " + answer.stdout


tap.main([
    test_attach, test_coming_and_going, test_chain, test_attach_often, test_several,
    test_attach_command, test_attach_end, test_attach_ending, test_attach_stop, test_no_process, test_other_user,
    test_all_cpus, test_cpus_periods, test_cpu_list, test_cpu_use, test_cpus_with_command,
    test_cpus_stopped, test_cgroup, test_cgroups, test_cgroup_root,
    test_delay, test_delay_longer, test_delay_refused, test_control, test_control_together,
    test_control_wrong, test_control_regions, test_control_own_pipes, test_control_flood, test_control_refused,
    test_descriptors,
])
