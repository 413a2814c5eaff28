"""Calling the program that is tested: argv[1] of every test here."""
import atexit
import contextlib
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

# A shell ignores SIGINT in what it starts with `&`, and so would all recordings of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The registry of recorders for this test: it does not see other recorders, and they do not see its
# own.
os.environ["RUNTIME_DIRECTORY"] = RUNTIME = tempfile.mkdtemp(prefix="rpistat-runtime-")
os.chmod(RUNTIME, 0o755)
atexit.register(shutil.rmtree, RUNTIME, ignore_errors=True)

# The figures that tests expect are those of sets in fixed order, unless they use --order.
CONFIG = tempfile.mkdtemp(prefix="rpistat-config-")
atexit.register(shutil.rmtree, CONFIG, ignore_errors=True)
os.chmod(CONFIG, 0o755)
os.mkdir(os.path.join(CONFIG, "rpistat"))
with open(os.path.join(CONFIG, "rpistat", "config"), "w", encoding="ascii") as file:
    file.write("order = fixed\n")

TIMEOUT = 300  # seconds after which a call counts as hanging; a loaded machine needs much time
COMMANDS = ["record", "runs", "report", "phases", "plot", "watch", "export", "events", "verify",
            "check", "code", "compare", "history", "merge", "status", "stop", "push", "import", "explain"]
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
    """The environment of a call: this process's, without variables that affect rpistat's output or
    input.
    """
    result = {key: value for key, value in os.environ.items()
              if key not in ("COLUMNS", "LINES", "NO_COLOR", "LC_ALL", "LANG", "LC_NUMERIC",
                          "RPISTAT_STORE")}
    result["XDG_CONFIG_HOME"] = CONFIG
    result.update(changes)
    return {key: value for key, value in result.items() if value is not None}


def call(*arguments, env=None, **options):
    """Run rpistat. Return returncode, stdout and stderr (text)."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("timeout", TIMEOUT)
    return subprocess.run([RPISTAT, *arguments], env=env or environment(), text=True,
                          encoding="utf-8", check=False, **options)


@contextlib.contextmanager
def german():
    """The environment of a German user: with the locale of this system, or one that localedef makes."""
    installed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    with tempfile.TemporaryDirectory(prefix="rpistat-locale-") as folder:
        if "de_DE.utf8" in installed:
            yield environment(LC_ALL="de_DE.UTF-8")
            return
        made = os.path.join(folder, "de_DE.UTF-8")
        if shutil.which("localedef"):  # it warns of this and that, and without Debian's `locales` leaves an empty folder
            subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", "--no-archive", made], capture_output=True, check=False)
        if not os.path.isfile(os.path.join(made, "LC_NUMERIC")):
            raise tap.Skip("there is no locale de_DE, and localedef cannot make it; Debian's package locales is missing")
        yield environment(LC_ALL="de_DE.UTF-8", LOCPATH=folder)


def is_sanitized():
    """Return whether rpistat is built with a sanitizer, which needs more time and memory."""
    with open(RPISTAT, "rb") as file:
        return re.search(rb"__asan_init|__tsan_init", file.read())


class Stolen:
    """The CPU time lost to interrupts and other virtual machines from now on. schedstat excludes it if
    the kernel can measure it; perf's task clock includes it.
    """
    TICK_NS = 1000000000 // os.sysconf("SC_CLK_TCK")

    @classmethod
    def so_far(cls):
        with open("/proc/stat", encoding="ascii") as file:
            return sum(map(int, file.readline().split()[6:9])) * cls.TICK_NS

    def __init__(self):
        self.before = self.so_far()

    def ns(self):
        """The time since this object was made; the kernel counts whole ticks of each CPU."""
        now = self.so_far()
        return now - self.before + (self.TICK_NS * os.cpu_count() if now else 0)


def undisturbed(function):
    """Retry a test that compares perf's clock with the scheduler's up to three times: interrupts,
    switches and other virtual machines affect only one of them. Also for a test whose store others
    read, as `rpistat status` reads all stores in use.
    """
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
    """Assert that the call ended with this status."""
    assert answer.returncode == status, "status %d instead of %d, stderr: %s, stdout: %s" % (
        answer.returncode, status, answer.stderr, answer.stdout)
    return answer


def refused(answer, status, *words):
    """Assert that standard output is empty, and standard error is one sentence with these words."""
    expect(answer, status)
    assert not answer.stdout, "standard output: " + answer.stdout
    assert answer.stderr.startswith("rpistat: "), "standard error: " + answer.stderr
    assert answer.stderr.endswith("\n") and answer.stderr.count("\n") == 1, answer.stderr
    assert len(answer.stderr) > len("rpistat: ") + 10, answer.stderr
    for word in words:
        assert word in answer.stderr, "no '%s' in: %s" % (word, answer.stderr)
    return answer


def shown_on(master):
    """The output on a terminal until its other end is closed, with plain line feeds."""
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


def copy_program(folder):
    """Copy rpistat into a folder, with the files of plot next to it, since other users may have no
    access to root's folders.
    """
    plot = os.path.join(folder, "plot")
    if not os.path.exists(plot):
        shutil.copytree(os.path.join(os.path.dirname(RPISTAT), "plot"), plot)
    return shutil.copy(RPISTAT, os.path.join(folder, "rpistat"))


def ask_store(path, statement, values=()):
    """Execute a statement of SQL in a store, and commit. Return the rows."""
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as store, store:
        return store.execute(statement, values).fetchall()


class Folder:
    """A temporary folder with a store of this many simulated runs; `with Folder() as folder`."""

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
        """Run call() as an ordinary user in this folder, which becomes writable for everybody."""
        if os.geteuid() != 0:
            return self.call(*arguments)
        os.chmod(self.path, 0o777)
        copy = copy_program(self.path)
        runtime = os.path.join(RUNTIME, "nobody")
        os.makedirs(runtime, exist_ok=True)
        os.chown(runtime, 65534, 65534)
        env = environment(RUNTIME_DIRECTORY=runtime,
                          GCOV_PREFIX=str(self.path))  # the directory for the files of a build that counts lines
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
    """Make the recorders of a store look silent, by making their heartbeats old."""
    store = sqlite3.connect(path, timeout=60)
    with store:
        store.execute("UPDATE heartbeat SET realtime_ns = realtime_ns - 1000000000000")
    store.close()


def freeze(process):
    """Stop a child process, and return when each of its threads has stopped. SIGCONT continues it."""
    process.send_signal(signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])


def counting():
    """The options that record a real workload here. The test is skipped if nothing can be counted."""
    answer = call("events", "--pmu", "software", "task-clock")
    if answer.returncode != 0:
        raise tap.Skip("nothing can be counted here: " + (answer.stderr or answer.stdout))
    return ["record", "--pmu", "software"]


class Running:
    """An object with a process, which ends with its block."""

    process = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Recording(Running):
    """A recording of `cat`, which ends when its input ends; it has committed periods."""

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
        """End the recording when a command with --wait, on its own terminal, says that it waits for
        it. Return the command's status and its later output.
        """
        pid, leader = pty.fork()
        if pid == 0:
            os.chdir(self.folder.path)
            os.execve(RPISTAT, [RPISTAT, *arguments], environment(TERM="xterm"))
        shown = b""
        while b"waiting for the recording to end" not in shown:
            assert select.select([leader], [], [], TIMEOUT)[0], shown
            shown += os.read(leader, 65536)  # raises an exception when the command has ended
        assert self.end() == 0
        said = shown_on(leader)
        os.close(leader)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said

    def __exit__(self, *unused):
        super().__exit__(*unused)
        self.process.stdin.close()
