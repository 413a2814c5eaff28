"""rpistat, built for another machine, prints the same as the program for this machine, to the last
digit.

usage: builds.py RPISTAT arm64|armhf|armv6|clang|core|musl FOLDER

It is built into FOLDER by tests/support/cross.sh, or examples/package/static, which install what they
need; where that cannot be had the cases are skipped. qemu-user-static runs it where it is another processor's.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import TIMEOUT, Folder, Running, counting, environment, expect, refused, tap  # noqa: E402

TARGET, PLACE = sys.argv[2:]
EMULATOR = {"arm64": ["qemu-aarch64-static"], "armhf": ["qemu-arm-static"],
            "armv6": ["qemu-arm-static", "-cpu", "arm1176"]}.get(TARGET, [])

# The commands that both programs run on one store; the answers are the same bytes.
ASKED = [("report",), ("report", "--format", "json"), ("phases", "--format", "json"), ("phases",),
         ("runs", "--format", "csv"), ("export",), ("export", "--format", "openmetrics"), ("check",),
         ("plot", "-o", "-", "--chars", "ascii")]


class Program:
    """The built program and how to run it; `refusal` is the reason if it was not built."""
    command = refusal = None


def last_line(text):
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def build():
    """the build has no warning"""
    begin = time.monotonic()
    os.makedirs(PLACE, exist_ok=True)
    script = ["examples/package/static"] if TARGET == "musl" else ["tests/support/cross.sh", TARGET, PLACE]
    done = subprocess.run(["sh", os.path.join(tap.root(), script[0]), *script[1:]], cwd=PLACE, text=True,
                          env=environment(RPISTAT_BUILD=os.path.join(PLACE, "build")),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    Program.refusal = "it was not built: " + last_line(done.stdout)
    if done.returncode == 77:
        raise tap.Skip(last_line(done.stdout))
    assert done.returncode == 0, done.stdout
    print("# built in %.0f s" % (time.monotonic() - begin))
    path = os.path.join(PLACE, "build", "src", "cli", "rpistat")
    if TARGET == "musl":
        archive, = glob.glob(os.path.join(PLACE, "rpistat_*.tar.gz"))
        shutil.rmtree(os.path.join(PLACE, "unpacked"), ignore_errors=True)
        shutil.unpack_archive(archive, os.path.join(PLACE, "unpacked"))
        path = os.path.join(PLACE, "unpacked", "bin", "rpistat")
    if EMULATOR and not shutil.which(EMULATOR[0]):
        Program.refusal = "%s is not installed" % EMULATOR[0]
        return
    root = ["-L", os.path.join(PLACE, "root")] if EMULATOR else []
    Program.command = [*EMULATOR, *root, path]


def run(folder, *arguments):
    if not Program.command:
        raise tap.Skip(Program.refusal)
    return subprocess.run([*Program.command, *arguments], cwd=folder.path, env=environment(LC_ALL="C.UTF-8"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False, timeout=TIMEOUT)


class Busy(Running):
    """A program that runs beside the recording."""

    def __init__(self, command):
        self.process = subprocess.Popen(command)


def shell(folder, command):
    """Return what a command of a document prints."""
    env = environment(CONTAINERS_CONF=folder / "containers.conf", CONTAINERS_STORAGE_CONF=folder / "storage.conf")
    done = subprocess.run(["sh", "-c", command], cwd=folder.path, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=TIMEOUT)
    assert done.returncode == 0, "%s: %s" % (command, done.stdout)
    return done.stdout


def version():
    """it runs and prints its version"""
    with Folder() as folder:
        said = expect(run(folder, "--version"), 0).stdout
        assert said == folder.call("--version").stdout, said


def same(what, own, other):
    differ = [lines for lines in zip(own.splitlines(), other.splitlines()) if lines[0] != lines[1]]
    assert own and own == other, "%s: %s" % (" ".join(what), differ[:3] or "one is longer")


def same_answers():
    """for a recording, it prints byte for byte what this machine's program prints"""
    with Folder(1) as folder:
        for arguments in ASKED:
            own = folder.call(*arguments, env=environment(LC_ALL="C.UTF-8"))
            other = run(folder, *arguments)
            expect(other, own.returncode)
            same(arguments, own.stdout, other.stdout)


def same_recording():
    """its recordings are sound and equal to those of this machine's program"""
    with Folder(1) as folder:
        expect(run(folder, "record", "--pmu", "sim:script.sim", "--label", "run1", "-o", "other.data"), 0)
        expect(folder.call("check", "-i", "other.data"), 0)
        for arguments, part in ((["report", "--format", "json"], r'"figures": \[.*?\n  \]'), (["export"], ".*")):
            same(arguments, *(re.search(part, folder.call(*arguments, "-i", store).stdout, re.DOTALL).group()
                              for store in ("rpistat.data", "other.data")))


def real_recording():
    """it records a working program, and finds its own pages next to itself"""
    with Folder() as folder:
        expect(run(folder, *counting(), "-q", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"), 0)
        found = json.loads(expect(run(folder, "report", "--format", "json"), 0).stdout)
        assert found["figures"], found
        expect(run(folder, "plot", "-o", "page.html"), 0)
        assert b"uPlot" in folder.read("page.html")


def refusals():
    """parts that are not built in are refused with a sentence that names a package"""
    with Folder(1) as folder:
        run(folder, "--version")
        for arguments, package in ((["push", "http://localhost:1"], "libcurl4-openssl-dev"),
                                   (["phases", "--pca"], "liblapacke-dev"),
                                   (["watch", "--http", "-r", "1"], "libmicrohttpd-dev")):
            refused(run(folder, *arguments), 1, package)
        if TARGET == "core":
            refused(run(folder, "code"), 1, "libdw-dev", "auto_features")
            refused(run(folder, "record", "--wall", "true"), 1, "libdw-dev")


def alone():
    r"""it needs no other file: it is one program without an interpreter"""
    with Folder() as folder:
        run(folder, "--version")
        said = subprocess.run(["readelf", "-lW", Program.command[-1]], check=True, capture_output=True, text=True)
        assert "INTERP" not in said.stdout, said.stdout


# Settings for containers here: podman keeps all its files in the test's folder; limits that need no
# rights; a runtime that accepts any version of control groups.
CONTAINERS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "%s"
"""
STORAGE = """[storage]
driver = "vfs"
graphroot = "%s/graph"
runroot = "%s/run"
"""


def container():
    """the commands of examples/Containerfile make an image, and a container from it records this machine"""
    if not Program.command:
        raise tap.Skip(Program.refusal)
    if not shutil.which("podman"):
        raise tap.Skip("podman is not installed")
    counting()
    with Folder() as folder:
        os.mkdir(folder / "examples")
        shutil.copy(os.path.join(tap.root(), "examples", "Containerfile"), folder / "examples")
        shutil.copy(glob.glob(os.path.join(PLACE, "rpistat_*.tar.gz"))[0], folder.path)
        folder.write("containers.conf", CONTAINERS % ("runc" if shutil.which("runc") else "crun"))
        folder.write("storage.conf", STORAGE % (folder.path, folder.path))
        build_it, record, report = re.findall(
            r"^#     (podman .*)$", folder.read("examples/Containerfile").decode(), re.MULTILINE)
        shell(folder, build_it)
        try:
            shell(folder, report.replace("report", "--version"))
        except AssertionError as error:
            raise tap.Skip("podman cannot run a container: " + last_line(str(error)))
        neighbour = folder.write("neighbour", "#!/bin/sh\nwhile :; do :; done\n", 0o755)
        with Busy([neighbour]):
            shell(folder, record.replace("--duration 1m", "--duration 2s"))
        said = shell(folder, report)
        assert "neighbour" in said and os.uname().nodename in said, said


CASES = [build, version, same_answers, same_recording]
OWN = {"core": [real_recording, refusals], "musl": [real_recording, refusals, alone, container]}
tap.main([(case.__doc__.splitlines()[0], case) for case in CASES + OWN.get(TARGET, [])])
