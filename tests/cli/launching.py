#!/usr/bin/env python3
"""Commands that cannot be started, and signals that commands receive."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from program import RPISTAT, TIMEOUT, Folder, counting, environment, expect, is_sanitized, refused, \
    tap

from words import SCALED


def runs(path):
    """The states of the runs in a store."""
    store = sqlite3.connect(path)
    states = [row[0] for row in store.execute("SELECT state FROM run ORDER BY run_id")]
    store.close()
    return states


def compiled(folder, name, source, *options):
    """A compiled C program in the folder. The test is skipped without a compiler."""
    folder.write(name + ".c", source)
    if not shutil.which("cc"):
        raise tap.Skip("there is no C compiler")
    subprocess.run(["cc", "-O1", *options, "-o", folder / name, folder / (name + ".c")],
                   check=True, timeout=TIMEOUT)
    return "./" + name


def check_nothing_remains(folder, before):
    left = sorted(set(os.listdir(folder.path)) - set(before))
    assert not left, "left: %s" % left


def check_refused(folder, command, status, *words, options=()):
    """The command fails in this way with each kind of recording, and nothing remains."""
    before = os.listdir(folder.path)
    record = counting() + ["-q", "-o", "new.data", *options]
    for more in [], ["--no-samples"], ["--repeat", "3"], ["--system-metrics", "off"]:
        refused(folder.call(*record, *more, "--", *command), status, *words)
        check_nothing_remains(folder, before)
    refused(folder.call(*record, "--warmup", "1", "--", *command), status, *words)
    check_nothing_remains(folder, before)


def check_interpreter():
    """a script whose interpreter is missing, is no program, or has a missing interpreter itself"""
    with Folder() as folder:
        folder.write("missing", "#! /no/such/interpreter -x\n", 0o755)
        check_refused(folder, ["./missing"], 127, "'/no/such/interpreter'", "./missing")
        folder.write("crlf", "#!/bin/sh\r\necho hi\r\n", 0o755)
        check_refused(folder, ["./crlf"], 127, "'/bin/sh\\r'", "./crlf", "CRLF")
        folder.write("plain", "text\n", 0o644)
        folder.write("closed", "#!%s\n" % (folder / "plain"), 0o755)
        check_refused(folder, ["./closed"], 126, "'%s'" % (folder / "plain"), "./closed")
        folder.write("directory", "#!/tmp\n", 0o755)
        check_refused(folder, ["./directory"], 126, "'/tmp'", "./directory", "directory")
        folder.write("nested", "#!%s\n" % (folder / "missing"), 0o755)
        check_refused(folder, ["./nested"], 127, "'%s'" % (folder / "missing"), "./nested")


def check_loader():
    """a program whose loader is missing"""
    with Folder() as folder:
        command = compiled(folder, "program", "int main(void) { return 0; }\n",
                           "-Wl,--dynamic-linker=/lib/ld-none.so.2")
        check_refused(folder, [command], 127, "'/lib/ld-none.so.2'", "./program")


def check_busy_file():
    """a program file that is open for writing"""
    with Folder() as folder:
        shutil.copy("/bin/true", folder / "busy")
        with open(folder / "busy", "r+b"):
            check_refused(folder, ["./busy"], 126, "./busy", "writing")


def check_long_arguments():
    """arguments that are valid for the program but too long to execute it"""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, 1 << 19))

    # Linux adds the first lines of all four scripts to the command's arguments. They are longer
    # than the part of rpistat's own arguments that the command does not get, for each location of
    # rpistat.
    with Folder() as folder:
        interpreters = ["/bin/sh", "./1", "./2", "./3"]
        for name, interpreter in zip(["1", "2", "3", "script"], interpreters):
            folder.write(name, "#!" + interpreter + " " + "x" * 200 + "\n", 0o755)
        env = environment()
        record = [*counting(), "-q", "-o", "new.data", "--", "./script"]
        for size in range(131072, 0, -64):
            arguments = ["y" * 1000] * (size // 1000) + ["y" * (size % 1000)]
            try:
                answer = subprocess.run([RPISTAT, *record, *arguments], env=env, cwd=folder.path,
                                        preexec_fn=limit, capture_output=True, text=True,
                                        timeout=TIMEOUT, check=False)
                break
            except OSError:
                pass
        refused(answer, 126, "./script", "arguments")
        check_nothing_remains(folder, ["1", "2", "3", "script", "script.sim"])


def check_shell_semantics():
    r"""files that execvp passes to the shell are run: an empty file, a file without an interpreter"""
    with Folder() as folder:
        record = counting() + ["-q"]
        folder.write("empty", "", 0o755)
        folder.write("bare", "exit 7\n", 0o755)
        expect(folder.call(*record, "--", "./empty"), 0)
        expect(folder.call(*record, "--", "./bare"), 7)
        assert runs(folder / "rpistat.data") == ["complete", "complete"]


def check_existing_store():
    r"""a store with runs keeps them, and gets no new run"""
    with Folder(1) as folder:
        folder.write("missing", "#!/no/such/interpreter\n", 0o755)
        refused(folder.call(*counting(), "-q", "--", "./missing"), 127, "/no/such/interpreter")
        assert runs(folder / "rpistat.data") == ["complete"]
        tables = sqlite3.connect(folder / "rpistat.data")
        for name, in tables.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND"
                                    " sql LIKE '%run_id%'").fetchall():
            left = tables.execute("SELECT count(*) FROM %s WHERE run_id > 1" % name).fetchone()
            assert left == (0,), name
        tables.close()
        expect(folder.call("check"), 0)


def check_all_cpus():
    """with -a, whose counters are enabled before the command starts"""
    with Folder() as folder:
        folder.write("missing", "#!/no/such/interpreter\n", 0o755)
        before = os.listdir(folder.path)
        answer = folder.call(*counting(), "-q", "-a", "-o", "new.data", "--", "./missing")
        if answer.returncode == 1:
            raise tap.Skip("all CPUs cannot be counted: " + answer.stderr)
        refused(answer, 127, "/no/such/interpreter")
        check_nothing_remains(folder, before)


# --- signals ---------------------------------------------------------------------------------------

def call_ignoring(folder, *arguments):
    """Call rpistat like a parent that ignores SIGCHLD."""
    return folder.call(*arguments,
                       preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


# Linux shows signal 17 as bit 16.
IGNORED = ("import sys; ignored = [l for l in open('/proc/self/status') if l.startswith('SigIgn')][0];"
           "sys.exit(5 + (int(ignored.split()[1], 16) >> 16 & 1))")


def check_ignored_children():
    """a parent that ignores SIGCHLD: the exit status is kept, and the command also ignores the signal"""
    with Folder() as folder:
        record = counting() + ["-q"]
        command = [sys.executable, "-c", IGNORED]
        expect(call_ignoring(folder, *record, "--", *command), 6)
        expect(folder.call(*record, "--", *command), 5)
        expect(call_ignoring(folder, *record, "--repeat", "3", "--warmup", "1", "-o", "b.data", "--",
                             "true"), 0)
        assert runs(folder / "b.data") == ["complete"] * 3
        # a failing warm-up run ends the series with its status
        expect(call_ignoring(folder, *record, "--repeat", "2", "--warmup", "1", "--", *command), 6)
        if shutil.which("gnuplot"):
            expect(call_ignoring(folder, "plot", "-i", "b.data", "-o", "b.png"), 0)
            assert folder.read("b.png").startswith(b"\x89PNG")


# --- programs that Linux stops counting ------------------------------------------------------------------

# usage: spin SECONDS [DONE GO]. It computes for this CPU time, without the time before its exec. Then it creates the file DONE,
# and ends when there is a file GO.
SPIN = """\
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const struct timespec pause = {0, 5000000};
    struct timespec began, used;
    double seconds = argc > 1 ? atof(argv[1]) : 1;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while ((double)(used.tv_sec - began.tv_sec) + 1e-9 * (double)(used.tv_nsec - began.tv_nsec) < seconds);
    if (argc > 3 && open(argv[2], O_CREAT | O_WRONLY, 0600) < 0)
        return 1;
    while (argc > 3 && access(argv[3], F_OK) != 0)
        nanosleep(&pause, NULL);
    return 0;
}
"""


def dropped_programs(folder):
    """The names of programs that compute for this time, and that Linux does not let another user count."""
    if os.geteuid() != 0:
        raise tap.Skip("only root can make such programs")
    compiled(folder, "spin", SPIN)
    names = ["suid", "unread"]
    for name in "suid", "unread", "cap":
        shutil.copy(folder / "spin", folder / name)
    os.chmod(folder / "suid", 0o4755)
    os.chmod(folder / "unread", 0o711)
    if shutil.which("setcap") and subprocess.run(
            ["setcap", "cap_net_raw+ep", folder / "cap"], check=False).returncode == 0:
        names.append("cap")
    return names


def cpu_times(path):
    """The command's CPU time by Linux, the periods' CPU time, the number of periods without counts, of
    all periods, and the lines about the run. Times are in seconds.
    """
    store = sqlite3.connect(path)
    row = store.execute(
        "SELECT (user_ns + system_ns) / 1e9, (SELECT sum(enabled_ns) FROM period) / 1e9,"
        " (SELECT sum(c0 IS NULL) FROM period), (SELECT count(*) FROM period), fitting FROM run"
        " ORDER BY run_id DESC LIMIT 1").fetchone()
    store.close()
    return row


def report_of(folder, store):
    """The report as one line."""
    return " ".join(expect(folder.call("report", "-i", store), 0).stdout.split())


class LettingGo(threading.Thread):
    """Lets each program of a recording end when a period, and with "tree" a reading of its CPU time, began after its work. So
    no reading comes too late, and no period has the work of two programs."""
    BEGAN = {"off": "SELECT max(start_ns) FROM period",
             "tree": "SELECT max(end_ns - 1000 * length_us) FROM reading WHERE source = 0"}

    def __init__(self, folder, store, option):
        super().__init__()
        self.folder, self.store, self.began, self.has_ended = folder, store, self.BEGAN[option], threading.Event()

    def wait_until(self, is_true):
        while not self.has_ended.wait(0.01) and not is_true():
            pass

    def began_ns(self):
        with contextlib.closing(sqlite3.connect(self.folder / self.store, timeout=60)) as store:
            return (store.execute("SELECT start_monotonic_ns + (%s) FROM run" % self.began).fetchone() or (None,))[0] or 0

    def run(self):
        for number in "123":
            self.wait_until(lambda: os.path.exists(self.folder / (self.store + ".done" + number)))
            done_ns = time.monotonic_ns()
            self.wait_until(lambda: self.began_ns() > done_ns)
            self.folder.write(self.store + ".go" + number, "")

    def __enter__(self):
        self.start()

    def __exit__(self, *unused):
        self.has_ended.set()
        self.join()


def check_dropped():
    """a set-user-ID program, one with capabilities, one that may not be read: its CPU time is known, its counts are missing"""
    with Folder() as folder:
        for name in dropped_programs(folder):
            store = name + ".data"
            with LettingGo(folder, store, "tree"):
                answer = folder.call_as_user(*counting(), "-q", "--period", "30ms", "--commit", "0", "-o", store, "--",
                                             "./" + name, ".3", store + ".done1", store + ".go1")
            if answer.returncode == 1:
                raise tap.Skip("another user may not count here: " + answer.stderr)
            expect(answer, 0)
            used, in_periods, missing, periods, fitting = cpu_times(folder / store)
            assert used >= .3 and .9 * .3 < in_periods < 1.1 * used, (used, in_periods)
            assert missing == periods, (missing, periods)
            assert fitting.count("Linux stops counting") == 1, fitting
            text = report_of(folder, store)
            assert text.count("Linux stops counting") == 1, text


def check_incomplete(folder, store):
    """The values of run 1 are its counts, without an interval, and short processes are not named as a cause."""
    report = json.loads(expect(folder.call("report", "-i", store, "--format", "json"), 0).stdout)
    figures = {figure["name"]: figure for figure in report["figures"]}
    for event in "task_clock", "minor_faults":
        figure = figures[event]
        assert figure["certainty"] == "incomplete", figure
        # the counters of one set do not begin in the same nanosecond, so a period that both
        # programs share may also lack its counts
        assert figure["count"] <= figure["value"] * 1.001 and figure["value"] <= 1.3 * figure["count"], figure
        # spin used 0.3 s: what the other program used is not added
        assert event != "task_clock" or figure["value"] < .35e9, figure
        assert figure["low"] is None, figure
    for command in "report", "phases", "code":
        text = " ".join(folder.call(command, "-i", store).stdout.split())
        assert "are not sampled" not in text and SCALED not in text, text


def check_larger_time():
    """the CPU time of the answer is the larger one if counted time and resource usage of the command differ"""
    with Folder() as folder:
        folder.write("script.sim", "phase a 2s\n")
        folder.record("-q")
        for counted, used_s, words in ((True, 4, "with 4.000 s of CPU time (2.0 CPUs)"), (True, 1, "2.000 s of CPU time"),
                                       (False, 4, "2.000 s of CPU time")):
            with sqlite3.connect(folder / "rpistat.data") as store:
                store.execute("UPDATE run SET target = 'command', user_ns = ?, system_ns = 0, fitting = ?",
                              (used_s * 10**9, "2.000 s of CPU time were counted, but Linux reports" if counted else ""))
            store.close()
            answer = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)["answer"]
            assert words in answer, answer
        folder.write("script.sim", "phase a 1s\nsleep 9s\n")
        for used_s, words in ((2, "2.000 s of CPU time (20 % of one CPU, 10 % counted)"), (1.1, "1.100 s of CPU time (11 % of one CPU)")):
            folder.record("-q")
            with sqlite3.connect(folder / "rpistat.data") as store:
                store.execute("UPDATE run SET target = 'command', user_ns = ?, system_ns = 0, fitting = ?",
                              (int(used_s * 10**9), "1.000 s of CPU time were counted, but Linux reports"))
            store.close()
            answer = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)["answer"]
            assert words in answer, answer


def check_dropped_in_the_middle():
    """the same in the middle of a run: one remark, and periods of that program have no counts"""
    with Folder() as folder:
        command = "./spin .1 {1}.done1 {1}.go1; ./{0} .2 {1}.done2 {1}.go2; ./spin .1 {1}.done3 {1}.go3"
        for name in dropped_programs(folder):
            for option in "off", "tree":
                store = "%s-%s.data" % (name, option)
                with LettingGo(folder, store, option):
                    answer = folder.call_as_user(*counting(), "-q", "--period", "30ms", "--commit", "0", "--system-metrics", option,
                                                 "-o", store, "--", "sh", "-c", command.format(name, store))
                if answer.returncode == 1:
                    raise tap.Skip("another user may not count here: " + answer.stderr)
                expect(answer, 0)
                used, in_periods, missing, periods, fitting = cpu_times(folder / store)
                assert used >= .39, used
                assert fitting.count("Linux stops counting") == 1, fitting
                if option == "tree":
                    assert .9 * .4 < in_periods < 1.1 * used, (used, in_periods)
                    assert 0 < missing < periods, (missing, periods)
                text = report_of(folder, store)
                assert text.count("Linux stops counting") == 1, text
                told = float(re.search(r", (\S+) s of CPU time", text).group(1))
                assert abs(told - used) < .05 * used, (told, used)
                if option == "tree":
                    check_incomplete(folder, store)
            expect(folder.call_as_user(*counting(), "-q", "-o", store, "--", "./spin", ".1"), 0)
            expect(folder.call_as_user(*counting(), "-q", "-o", store, "--", "./" + name, ".1"), 0)
            for runs_compared in ("2", "3"), ("2", "1"):
                told = expect(folder.call("compare", "-i", store, *runs_compared, "--format", "json"), 0).stdout
                assert "another program" not in told and "Linux stops counting" in told, told
            assert "Record longer" not in report_of(folder, store)


# --- processes that outlive the command ---------------------------------------------------------------

def check_left():
    """processes that the command leaves running: a sentence with their numbers at the end and in the report"""
    with Folder() as folder:
        for name, options in ("a", []), ("b", ["--no-samples"]):
            store = name + ".data"
            answer = expect(folder.call(
                *counting(), *options, "-o", store, "--", "sh", "-c",
                "setsid sleep 1000 >/dev/null 2>&1 & echo $!; sleep 1000 >/dev/null 2>&1 & echo $!"), 0)
            left = answer.stdout.split()
            for number in left:
                os.kill(int(number), signal.SIGKILL)
            words = "record -p " + ",".join(left)
            assert answer.stderr.count("2 processes") == 1 and words in answer.stderr, answer.stderr
            assert words in report_of(folder, store)
            told = folder.call("report", "-i", store, "--format", "json").stdout
            assert any(words in remark for remark in json.loads(told)["remarks"]), told
        answer = expect(folder.call(*counting(), "-o", "c.data", "--", "sh", "-c",
                                    "sleep 0.1 & wait"), 0)
        assert "record -p" not in answer.stderr + report_of(folder, "c.data"), answer.stderr


CHAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int generations = argc > 1 ? atoi(argv[1]) : 0;

    for (int i = 0; i <= generations; i++)
        if (fork() != 0)
            _exit(0);
    printf("%ld\\n", (long)getpid());
    fflush(stdout);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    pause();
    return 0;
}
"""


def check_left_by_a_chain():
    """a daemon is found, even if each process of a chain forks the next and exits, and the command has ended"""
    with Folder() as folder:
        command = compiled(folder, "chain", CHAIN)
        for name, options in ("a", []), ("b", ["--no-samples"]):
            answer = expect(folder.call(*counting(), *options, "-o", name + ".data", "--", command,
                                        "3000"), 0)
            os.kill(int(answer.stdout), signal.SIGKILL)
            assert "record -p " in answer.stderr, answer.stderr


# --- peak memory --------------------------------------------------------------------------------------

TOUCH = """\
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    size_t size = argc > 1 ? (size_t)atol(argv[1]) << 10 : 0;
    char *place = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(place, 1, size);
    return 0;
}
"""


def check_peak_memory():
    """peak memory is the command's, or unknown if earlier memory cannot be excluded"""
    if is_sanitized():
        raise tap.Skip("a sanitizer's memory is there before the command")
    with Folder() as folder:
        command = compiled(folder, "touch", TOUCH, "-static")
        expect(folder.call(*counting(), "-q", "-o", "none.data", "--", command), 0)
        assert "Peak memory: unknown" in report_of(folder, "none.data")
        for kib in 4000, 6000, 20000:
            expect(folder.call(*counting(), "-q", "--repeat", "2", "-o", "a.data", "--", command,
                               str(kib)), 0)
        store = sqlite3.connect(folder / "a.data")
        peaks = [row[0] for row in store.execute("SELECT memory_bytes >> 10 FROM run")]
        store.close()
        for kib, peak in zip((4000, 4000, 6000, 6000, 20000, 20000), peaks):
            assert kib <= peak < kib + 1000, (kib, peak)


# --- little memory ------------------------------------------------------------------------------------

def check_memory_limits():
    """with a memory limit of any size the command runs, with the limit; below 32 MiB without samples"""
    if is_sanitized():
        raise tap.Skip("a sanitizer takes more address space than these limits allow")
    with Folder() as folder:
        for option, limit in ("v", resource.RLIMIT_AS), ("d", resource.RLIMIT_DATA):
            for mib in 64, 40, 24, 20:
                store = "%s%d.data" % (option, mib)
                answer = folder.call(
                    *counting(), "-q", "-o", store, "--", "sh", "-c",
                    "ulimit -%s; exit 3" % option, preexec_fn=lambda: resource.setrlimit(
                        limit, (mib << 20, mib << 20)))
                expect(answer, 3)
                assert answer.stdout == "%d\n" % (mib << 10), answer.stdout
                db = sqlite3.connect(folder / store)
                assert db.execute("SELECT state FROM run").fetchall() == [("complete",)]
                fitting, = db.execute("SELECT fitting FROM run").fetchone()
                db.close()
                assert ("less than 32 MiB" in fitting) == (mib < 32), fitting
        refused(folder.call(*counting(), "-q", "-o", "asked.data", "--sample", "task-clock", "true",
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                  (24 << 20, 24 << 20))),
                1, "32 MiB")


def check_jit_names():
    """--jit-names asks runtimes for names by variables, whose options stay; the command must be rpistat's"""
    asked = {"NODE_OPTIONS": "--perf-basic-prof", "PYTHONPERFSUPPORT": "1", "DOTNET_PerfMapEnabled": "1",
             "JAVA_TOOL_OPTIONS": "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions"
                                  " -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer"}
    with Folder() as folder:
        def seen_by_command(*options, **before):
            answer = subprocess.run([RPISTAT, *counting(), "-q", *options, "--", "env"], cwd=folder.path, text=True,
                                    env=environment(**before), capture_output=True, timeout=TIMEOUT, check=False)
            expect(answer, 0)
            pairs = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
            return {name: pairs[name] for name in asked if name in pairs}

        before = {"NODE_OPTIONS": "--no-warnings", "DOTNET_PerfMapEnabled": "0"}
        assert seen_by_command(**before) == before
        assert seen_by_command("--jit-names") == asked
        assert seen_by_command("--jit-names", **before) == {**asked, "NODE_OPTIONS": "--no-warnings --perf-basic-prof"}
        refused(folder.call("record", "--jit-names", "-p", str(os.getpid())), 2, "--jit-names")
        refused(folder.call("record", "--jit-names", "-a"), 2, "--jit-names")


# --- another PID namespace ----------------------------------------------------------------------------

def check_foreign_proc():
    r"""if /proc numbers the processes of another PID namespace, nothing is read by number"""
    def foreign(*arguments):
        return subprocess.run(["unshare", "-fp", RPISTAT, *arguments], cwd=folder.path, text=True,
                              env=environment(), capture_output=True, timeout=TIMEOUT, check=False)

    with Folder() as folder:
        probe = subprocess.run(["unshare", "-fp", "sh", "-c", "readlink /proc/self; echo $$"],
                               capture_output=True, text=True, check=False)
        if probe.returncode != 0 or probe.stdout.split()[-1] != "1":
            raise tap.Skip("no PID namespace can be made: " + probe.stderr)
        expect(foreign(*counting(), "-q", "--", "sleep", "0.3"), 0)
        store = sqlite3.connect(folder / "rpistat.data")
        sources, fitting = store.execute("SELECT (SELECT count(*) FROM reading), fitting"
                                         " FROM run").fetchone()
        store.close()
        assert sources == 0, sources
        assert "another PID namespace" in fitting, fitting
        assert "another PID namespace" in folder.call("report").stdout
        for arguments in (["status"], ["stop", "--all"], ["record", "-q", "-o", "p.data", "-p", "1"],
                          [*counting(), "-q", "-o", "s.data", "--system-metrics", "tree", "true"]):
            refused(foreign(*arguments), 1, "another PID namespace")


tap.main([check_interpreter, check_loader, check_busy_file, check_long_arguments,
          check_shell_semantics, check_existing_store, check_all_cpus, check_ignored_children,
          check_dropped, check_dropped_in_the_middle, check_larger_time, check_left, check_left_by_a_chain,
          check_peak_memory, check_memory_limits, check_jit_names, check_foreign_proc])
