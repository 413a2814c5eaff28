"""Calling the program that is tested: argv[1] of every test here."""
import atexit
import functools
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import tap  # noqa: E402

RPISTAT = os.path.abspath(sys.argv[1])

# The registry of recorders of this test: it sees no others', and others do not see its own.
os.environ["RUNTIME_DIRECTORY"] = RUNTIME = tempfile.mkdtemp(prefix="rpistat-runtime-")
os.chmod(RUNTIME, 0o755)
atexit.register(shutil.rmtree, RUNTIME, ignore_errors=True)

# The figures that tests expect are those of sets in a fixed order, but where they say --order.
CONFIG = tempfile.mkdtemp(prefix="rpistat-config-")
atexit.register(shutil.rmtree, CONFIG, ignore_errors=True)
os.chmod(CONFIG, 0o755)
os.mkdir(os.path.join(CONFIG, "rpistat"))
with open(os.path.join(CONFIG, "rpistat", "config"), "w", encoding="ascii") as file:
    file.write("order = fixed\n")

TIMEOUT = 300  # seconds after which a call hangs, and has failed: a loaded machine takes long
COMMANDS = ["record", "runs", "report", "phases", "plot", "watch", "export", "events", "verify",
            "check", "code", "compare", "merge", "status", "stop", "push", "import"]
READING = ["runs", "report", "phases", "plot", "export"]

# Two sets of ten seconds each on the simulated processor, then a pause.
SCRIPT = """\
clock 700M
seed 1
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase calm 10s
phase busy 10s dc_miss=10M
sleep 5s
"""


def environment(**changes):
    """The environment of a call: this one's, without what changes how rpistat looks and what it
    reads."""
    result = {key: value for key, value in os.environ.items()
              if key not in ("COLUMNS", "LINES", "NO_COLOR", "LC_ALL", "LANG", "LC_NUMERIC",
                          "RPISTAT_STORE")}
    result["XDG_CONFIG_HOME"] = CONFIG
    result.update(changes)
    return {key: value for key, value in result.items() if value is not None}


def call(*arguments, env=None, **options):
    """Run rpistat; the answer has returncode, stdout and stderr (text)."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("timeout", TIMEOUT)
    return subprocess.run([RPISTAT, *arguments], env=env or environment(), text=True,
                          encoding="utf-8", check=False, **options)


def is_sanitized():
    """Is rpistat built with a sanitizer? It takes more of everything then."""
    with open(RPISTAT, "rb") as file:
        return re.search(rb"__asan_init|__tsan_init", file.read())


class Stolen:
    """Time that the CPUs spend on interrupts or another virtual machine's work from now on: schedstat
    leaves it out where the kernel can tell, and perf's task clock does not."""
    TICK_NS = 1000000000 // os.sysconf("SC_CLK_TCK")

    @classmethod
    def so_far(cls):
        with open("/proc/stat", encoding="ascii") as file:
            return sum(map(int, file.readline().split()[6:9])) * cls.TICK_NS

    def __init__(self):
        self.before = self.so_far()

    def ns(self):
        """Since this object was made; the kernel tells it in whole ticks of each CPU."""
        now = self.so_far()
        return now - self.before + (self.TICK_NS * os.cpu_count() if now else 0)


def undisturbed(function):
    """A test that compares perf's clock with the scheduler's: interrupts, switches and the work of
    other virtual machines are in the one and not in the other, so one agreement in three counts. Or
    one whose store other tests read, as `rpistat status` reads all that are recorded into."""
    @functools.wraps(function)
    def repeated(*arguments):
        for _ in range(2):
            try:
                return function(*arguments)
            except AssertionError as error:
                print("# tried again: %s" % str(error).partition("\n")[0])
        return function(*arguments)
    return repeated


def expect(answer, status):
    """The call ended with this status."""
    assert answer.returncode == status, "status %d instead of %d, stderr: %s, stdout: %s" % (
        answer.returncode, status, answer.stderr, answer.stdout)
    return answer


def refused(answer, status, *words):
    """Nothing on standard output, one sentence on standard error, with these words in it."""
    expect(answer, status)
    assert not answer.stdout, "standard output: " + answer.stdout
    assert answer.stderr.startswith("rpistat: "), "standard error: " + answer.stderr
    assert answer.stderr.endswith("\n") and answer.stderr.count("\n") == 1, answer.stderr
    assert len(answer.stderr) > len("rpistat: ") + 10, answer.stderr
    for word in words:
        assert word in answer.stderr, "no '%s' in: %s" % (word, answer.stderr)
    return answer


def shown_on(master):
    """What a terminal shows until its other end is closed, with line feeds alone."""
    shown = b""
    while select.select([master], [], [], TIMEOUT)[0]:
        try:
            part = os.read(master, 65536)
        except OSError:  # it is closed
            break
        if not part:
            break
        shown += part
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")


class Folder:
    """A temporary folder, with a store of so many simulated runs; `with Folder() as folder`."""

    def __init__(self, runs=0):
        self.runs = runs

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="rpistat-cli-")
        self.write("script.sim", SCRIPT)
        for number in range(1, self.runs + 1):
            self.record("--label", "run%d" % number)
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.path, ignore_errors=True)

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def write(self, name, content, mode=0o644):
        path = self / name
        with open(path, "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self / name, "rb") as file:
            return file.read()

    def call(self, *arguments, **options):
        options.setdefault("cwd", self.path)
        return call(*arguments, **options)

    def call_as_user(self, *arguments):
        """call() as somebody who is not root, in this folder, which everybody may write then."""
        if os.geteuid() != 0:
            return self.call(*arguments)
        os.chmod(self.path, 0o777)
        copy = shutil.copy(RPISTAT, self / "rpistat")  # root's folders may be closed to others
        runtime = os.path.join(RUNTIME, "nobody")
        os.makedirs(runtime, exist_ok=True)
        os.chown(runtime, 65534, 65534)
        env = environment(RUNTIME_DIRECTORY=runtime,
                          GCOV_PREFIX=str(self.path))  # where a build that counts lines may write
        try:
            return subprocess.run([copy, *arguments], cwd=self.path, env=env, text=True,
                                  capture_output=True, check=False, timeout=TIMEOUT, user=65534,
                                  group=65534, extra_groups=[])
        except PermissionError as error:
            raise tap.Skip("cannot become another user: %s" % error)

    def record(self, *options, **more):
        """Add a simulated run to rpistat.data."""
        return expect(self.call("record", "--pmu", "sim:script.sim", *options, **more), 0)


def silence(path):
    """Make the recorders of a store appear not to have written for long: their heartbeats are old."""
    store = sqlite3.connect(path, timeout=60)
    with store:
        store.execute("UPDATE heartbeat SET realtime_ns = realtime_ns - 1000000000000")
    store.close()


def freeze(process):
    """Stop a child of ours, and return when each of its threads has stopped: SIGCONT lets it go on."""
    process.send_signal(signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])


def counting():
    """The options that record a real workload here; skips the case where nothing can be counted."""
    answer = call("events", "--pmu", "software", "task-clock")
    if answer.returncode != 0:
        raise tap.Skip("nothing can be counted here: " + (answer.stderr or answer.stdout))
    return ["record", "--pmu", "software"]


class Running:
    """Something with a process, which ends with its block."""

    process = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Recording(Running):
    """A recording of `cat`, which ends when its input does; it has committed periods."""

    def __init__(self, folder, store):
        record = counting() + ["-q", "--commit", "0", "--period", "10ms", "-o", store]
        self.process = subprocess.Popen([RPISTAT, *record, "cat"], cwd=folder.path,
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        env=environment())
        self.folder, self.store = folder, store
        deadline = time.monotonic() + TIMEOUT
        while not self.has_periods():
            assert time.monotonic() < deadline and self.process.poll() is None

    def has_periods(self):
        answer = self.folder.call("runs", "-i", self.store)
        return re.search(r"recording +\S+ s +[1-9]", answer.stdout)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(TIMEOUT)

    def end_waited_for(self, *arguments):
        """End it when a command with --wait, on a terminal of its own, says that it waits for that;
        the command's status, and what it shows behind."""
        pid, leader = pty.fork()
        if pid == 0:
            os.chdir(self.folder.path)
            os.execve(RPISTAT, [RPISTAT, *arguments], environment(TERM="xterm"))
        shown = b""
        while b"waiting for the recording to end" not in shown:
            assert select.select([leader], [], [], TIMEOUT)[0], shown
            shown += os.read(leader, 65536)  # fails when the command has ended
        assert self.end() == 0
        said = shown_on(leader)
        os.close(leader)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said

    def __exit__(self, *unused):
        super().__exit__(*unused)
        self.process.stdin.close()
