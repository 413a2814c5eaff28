"""Files that commands write: an existing file is replaced and keeps its mode, the user's own links are
followed, nothing is left behind, and an error in a recording's report does not change the exit
status.

usage: outputs.py RPISTAT
"""
import os
import shutil
import signal
import stat
import subprocess
import time

import program
from program import RPISTAT, Folder, counting, environment, expect, refused, tap

FOLDER = Folder(runs=1)
OTHER = 65534

# A command for each kind of output, by the file's name.
COMMANDS = {"a.txt": ["report"], "a.csv": ["export"], "runs.txt": ["runs"], "a.png": ["plot"],
            "a.svg": ["plot"], "a.html": ["plot"]}


def write(name, command, status=0):
    return expect(FOLDER.call(*command, "-o", name), status)


def is_new(name):
    return len(FOLDER.read(name)) > 20 and b"before" not in FOLDER.read(name)[:6]


def each(function):
    """Run a test for each kind of output, with an existing file `before` of that name."""
    def every():
        for name, command in COMMANDS.items():
            path = FOLDER.write(name, "before")
            try:
                function(path, name, command)
                assert is_new(name), name
                left = [entry for entry in os.listdir(FOLDER.path) if name in entry]
                assert all(entry in (name, "other " + name, "link " + name) for entry in left), left
            finally:
                for entry in (name, "other " + name, "link " + name):
                    if os.path.lexists(FOLDER / entry):
                        os.remove(FOLDER / entry)
    every.__doc__ = function.__doc__
    return every


@each
def test_mode(path, name, command):
    """a file keeps its mode; the mode of a new file follows the umask"""
    for mode in (0o600, 0o640, 0o666):
        os.chmod(path, mode)
        write(name, command)
        assert stat.S_IMODE(os.stat(path).st_mode) == mode, (name, oct(os.stat(path).st_mode))
    os.remove(path)
    expect(FOLDER.call(*command, "-o", name, umask=0o027), 0)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640, (name, oct(os.stat(path).st_mode))


@each
def test_hard_links(path, name, command):
    r"""a file with two names is replaced under one, and unchanged under the other"""
    os.link(path, FOLDER / ("other " + name))
    os.chmod(path, 0o640)
    write(name, command)
    assert FOLDER.read("other " + name) == b"before", name
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


@each
def test_link(path, name, command):
    """a symbolic link stays a link, and its target is written"""
    link = "link " + name
    os.symlink(name, FOLDER / link)
    os.chmod(path, 0o600)
    write(link, command)
    assert os.readlink(FOLDER / link) == name
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    os.remove(path)  # also if there is no file yet
    write(link, command)
    assert os.readlink(FOLDER / link) == name


@each
def test_owner(path, name, command):
    """root's writing does not change the owner of another user's file, and a file keeps its group"""
    if os.geteuid() != 0:
        raise tap.Skip("only root can make another user's files")
    os.chown(path, OTHER, OTHER)
    os.chmod(path, 0o640)
    write(name, command)
    found = os.stat(path)
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (OTHER, OTHER, 0o640), found
    os.chown(path, 0, OTHER)
    write(name, command)
    found = os.stat(path)
    assert (found.st_uid, found.st_gid) == (0, OTHER), (name, found)


def test_owner_not_given():
    """a user who cannot set the owner or group of a new file writes into the old file"""
    if os.geteuid() != 0:
        raise tap.Skip("only root can make another user's files")
    with Folder(runs=1) as folder:
        for name, command in COMMANDS.items():
            for owner, group in ((OTHER, 0), (0, OTHER), (0, 0)):
                path = folder.write(name, "before", 0o666)
                os.chown(path, owner, group)
                before = os.stat(path)
                expect(folder.call_as_user(*command, "-o", name), 0)
                after = os.stat(path)
                assert len(folder.read(name)) > 20, (name, owner, group)
                assert (after.st_ino, after.st_uid, after.st_gid, after.st_mode) == (
                    before.st_ino, owner, group, before.st_mode), (name, after)


def test_not_written():
    """a file that cannot be written is refused and unchanged"""
    for name, command in COMMANDS.items():
        os.mkdir(FOLDER / name)
        refused(FOLDER.call(*command, "-o", name), 1, name)
        os.rmdir(FOLDER / name)
        refused(FOLDER.call(*command, "-o", "none/" + name), 1, "directory")
    os.mkfifo(FOLDER / "pipe.png")
    refused(FOLDER.call("plot", "-o", "pipe.png"), 1, "regular")
    os.remove(FOLDER / "pipe.png")
    with Folder(runs=1) as folder:
        for name, command in COMMANDS.items():
            folder.write(name, "before", mode=0o444)
            answer = folder.call_as_user(*command, "-o", name)
            assert answer.returncode == 1 and name in answer.stderr, (name, answer)
            assert folder.read(name) == b"before", name


def test_folder_not_writable():
    """a writable file in a read-only folder is written in place, unless it has other names"""
    with Folder(runs=1) as folder:
        os.mkdir(folder / "closed")
        for name, command in COMMANDS.items():
            path = folder.write("closed/" + name, "before")
            os.chmod(path, 0o666)
            os.chmod(folder / "closed", 0o555)
            expect(folder.call_as_user(*command, "-o", "closed/" + name), 0)
            assert len(folder.read("closed/" + name)) > 20, name
            refused(folder.call_as_user(*command, "-o", "closed/new " + name), 1, "closed")
            if os.geteuid() == 0:  # the user's own file
                folder.write("closed/" + name, "before")
                os.chmod(path, 0o600)
                os.chown(path, OTHER, OTHER)
                expect(folder.call_as_user(*command, "-o", "closed/" + name), 0)
                assert len(folder.read("closed/" + name)) > 20, name
                assert (os.stat(path).st_uid, stat.S_IMODE(os.stat(path).st_mode)) == (OTHER, 0o600)
            folder.write("closed/" + name, "before", 0o666)
            os.chmod(folder / "closed", 0o755)
            os.link(path, folder / ("closed/other " + name))
            os.chmod(folder / "closed", 0o555)
            refused(folder.call_as_user(*command, "-o", "closed/" + name), 1, "several hard links")
            assert folder.read("closed/" + name) == b"before", name
            os.chmod(folder / "closed", 0o755)


def test_other_store():
    """the output of a command does not replace a store"""
    with Folder(runs=1) as folder:
        before = folder.read("rpistat.data")
        folder.write("other.data", before)
        for command in (["report"], ["phases"], ["export"], ["runs"], ["merge", "rpistat.data"]):
            refused(folder.call(*command, "-o", "other.data"), 1, "is a store")
            assert folder.read("other.data") == before, command


def test_devices():
    """devices, pipes and descriptors are written directly"""
    text = expect(FOLDER.call("report"), 0).stdout
    before = os.stat("/dev/null")
    for name in ("/dev/null", "null"):
        if name == "null":
            os.symlink("/dev/null", FOLDER / "null")
        write(name, ["report"])
        after = os.stat("/dev/null")
        assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode,
                                                                before.st_rdev), after
    assert os.readlink(FOLDER / "null") == "/dev/null"
    os.remove(FOLDER / "null")
    refused(FOLDER.call("report", "-o", "/dev/full"), 1, "No space left")
    assert write("/dev/stdout", ["report"]).stdout == text
    with open(FOLDER / "out", "w+", encoding="utf-8") as out:
        out.write("first\n")
        out.flush()
        expect(FOLDER.call("report", "-o", "/dev/stdout", stdout=out), 0)
    assert FOLDER.read("out").decode() == "first\n" + text  # as with `-o -`
    os.remove(FOLDER / "out")
    os.mkfifo(FOLDER / "pipe")
    with subprocess.Popen(["cat", FOLDER / "pipe"], stdout=subprocess.PIPE) as reader:
        write("pipe", ["report"])
        assert reader.communicate(timeout=program.TIMEOUT)[0].decode() == text
    assert stat.S_ISFIFO(os.stat(FOLDER / "pipe").st_mode)
    os.remove(FOLDER / "pipe")


# --- temporary files ---------------------------------------------------------------------------


class FakeGnuplot(Folder):
    """A store, an empty `tmp`, and a gnuplot that prints where it runs and then waits forever."""

    def __enter__(self):
        super().__enter__()
        os.mkdir(self / "bin")
        os.mkdir(self / "tmp")
        self.write("bin/gnuplot", "#!/bin/sh\necho $$ `pwd` > %s/said.new\n"
                   "mv %s/said.new %s/said\nexec sleep 600\n" % ((self.path,) * 3), mode=0o755)
        self.env = environment(PATH="%s/bin:%s" % (self.path, os.environ["PATH"]),
                               TMPDIR=self / "tmp")
        return self

    def start(self, *output):
        """Return the process, and the process number and folder of gnuplot."""
        process = subprocess.Popen([RPISTAT, "plot", "-o", *output], cwd=self.path, env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE,  # nohup ignores SIGHUP
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        end = time.monotonic() + program.TIMEOUT
        while not os.path.exists(self / "said"):
            assert process.poll() is None and time.monotonic() < end, process.returncode
            time.sleep(0.01)
        number, place = self.read("said").decode().split(None, 1)
        os.remove(self / "said")
        return process, int(number), place.strip()


def test_interrupted():
    """a signal while gnuplot draws: rpistat ends with it at once, and no temporary file is left"""
    with FakeGnuplot(runs=1) as folder:
        def names():  # without SQLite's files, which a later reader removes
            return {name for name in os.listdir(folder.path) if not name.startswith("rpistat.data-")}
        before = names()
        for output in (["a.png"], ["-", "--sixel"]):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process, gnuplot, place = folder.start(*output)
                assert os.path.dirname(place) == folder / "tmp", place
                process.send_signal(number)
                said = process.communicate(timeout=program.TIMEOUT)[1]
                assert process.returncode == -number and not said, (process.returncode, said)
                assert os.listdir(folder / "tmp") == [], os.listdir(folder / "tmp")
                assert names() == before, names()
                try:
                    os.kill(gnuplot, 0)
                    raise AssertionError("gnuplot is still there")
                except ProcessLookupError:
                    pass


def test_killed():
    """kill -9 during the writing: the earlier file is unchanged, and no other file is left"""
    with FakeGnuplot(runs=1) as folder:
        folder.write("a.png", "before")
        expect(folder.call("report"), 0)
        before = sorted(os.listdir(folder.path))
        process, gnuplot, _ = folder.start("a.png")
        process.kill()
        process.communicate(timeout=program.TIMEOUT)
        os.kill(gnuplot, signal.SIGKILL)
        left = [name for name in os.listdir(folder.path) if not name.startswith("rpistat.data-")]
        assert sorted(left) == before, left
        assert folder.read("a.png") == b"before"


def test_nobody_reads():
    """plot -o - into a pipe without a reader: nothing is left behind"""
    with FakeGnuplot(runs=1) as folder:
        env = dict(folder.env, PATH=os.environ["PATH"])
        reader, writer = os.pipe()
        os.close(reader)
        answer = folder.call("plot", "-o", "-", "--sixel", env=env, stdout=writer)
        os.close(writer)
        assert answer.returncode == -signal.SIGPIPE, answer
        assert os.listdir(folder / "tmp") == [], os.listdir(folder / "tmp")


def test_tmpdir():
    """a TMPDIR that does not exist is reported"""
    env = environment(TMPDIR=FOLDER / "none")
    refused(FOLDER.call("plot", "-o", "a.png", env=env), 1, "none", "TMPDIR")
    assert not os.path.exists(FOLDER / "a.png")


# --- the report of a recording ----------------------------------------------------------------


def test_report_refused():
    """a report that cannot be written is found before the workload starts"""
    record = counting()

    def pipe(folder):
        os.mkfifo(folder / "rpistat.txt")

    def place(folder):
        os.mkdir(folder / "rpistat.txt")

    def read_only(folder):
        folder.write("rpistat.txt", "before", mode=0o444)
    for make in (pipe, place, read_only):
        with Folder() as folder:
            make(folder)
            answer = folder.call_as_user(*record, "touch", "started") if make is read_only else \
                folder.call(*record, "touch", "started")
            refused(answer, 1, "rpistat.txt", *(["the report of rpistat.data"] if make is place else []))
            assert not os.path.exists(folder / "started")
            assert not os.path.exists(folder / "rpistat.data")


def test_report_lost():
    """a report that can no longer be written is reported, and the workload's status is kept"""
    record = counting()
    with Folder() as folder:
        answer = expect(folder.call(*record, "sh", "-c", "mkdir rpistat.txt; exit 3"), 3)
        assert "rpistat.txt" in answer.stderr, answer.stderr
        expect(folder.call("report"), 0)


def test_without_proc():
    """without /proc recording and reading work, also for ordinary users"""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise tap.Skip("a private file system needs root and unshare")
    if program.is_sanitized():
        raise tap.Skip("a sanitizer needs /proc")
    record = counting()
    with Folder() as folder:
        os.chmod(folder.path, 0o777)
        inside = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            raise tap.Skip("nothing can be mounted over /proc here")
        copy = program.copy_program(folder.path)
        user = ["setpriv", "--reuid=%d" % OTHER, "--regid=%d" % OTHER, "--clear-groups"]
        for who in ([], user if shutil.which("setpriv") else []):
            def run(*arguments, status=0):
                answer = subprocess.run([*inside, *who, copy, *arguments], cwd=folder.path,
                                        env=environment(), capture_output=True, text=True,
                                        check=False, timeout=program.TIMEOUT)
                return expect(answer, status)
            for _ in range(2):
                assert not run(*record, "sh", "-c", "exit 3", status=3).stderr
                run("report", "--format", "classic", "-o", "a.txt")
                assert run("plot", "-o", "-").stdout  # the program cannot find its scripts without /proc
                assert folder.read("a.txt") == folder.read("rpistat.txt")
            for name in ("rpistat.data", "rpistat.txt", "a.txt"):
                os.remove(folder / name)
            assert sorted(os.listdir(folder.path)) == ["plot", "rpistat", "script.sim"]


with FOLDER:
    tap.main([test_mode, test_hard_links, test_link, test_owner, test_owner_not_given,
              test_not_written, test_folder_not_writable, test_other_store, test_devices, test_interrupted, test_killed,
              test_nobody_reads, test_tmpdir, test_report_refused, test_report_lost,
              test_without_proc])
