"""Counting without permission: the messages, and what still works.

usage: denied.py RPISTAT WORKLOAD
"""
import ctypes
import errno
import json
import os
import platform
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys

import program
from program import RPISTAT, Folder, environment, expect, refused, tap

WORKLOAD = os.path.abspath(sys.argv[2])
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
MMAP = {"x86_64": 9, "aarch64": 222}
CAPSET = {"x86_64": 126, "aarch64": 91}
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


def filter_of(number, error, length=None):
    """A seccomp filter: the system call fails with the error, and all others are allowed. With a
    length, it fails only if its second argument has this value.
    """
    load, equal, back, allow, answer = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000
    second = [(load, 0, 0, 24), (equal, 0, 1, length)] if length else []
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in
                    [(load, 0, 0, 0), (equal, 0, 1 + len(second), number)] + second +
                    [(back, 0, 0, answer | error), (back, 0, 0, allow)])


def deny(error, call=None, length=None):
    """For preexec_fn: from now on, perf_event_open or another call fails with the error."""
    number = (call or PERF_EVENT_OPEN).get(platform.machine())
    if number is None:
        raise tap.Skip("the system call's number on %s is not known here" % platform.machine())
    code = ctypes.create_string_buffer(filter_of(number, error, length))
    size = len(code.raw) // 8
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare():
        # struct sock_fprog has a short, padding and a pointer
        text = struct.pack("@HP", size, ctypes.addressof(code))
        set_no_new_privs, set_seccomp, mode_filter = 38, 22, 2
        if libc.prctl(set_no_new_privs, 1, 0, 0, 0) != 0 or \
                libc.prctl(set_seccomp, mode_filter, ctypes.c_char_p(text)) != 0:
            os._exit(99)
    if subprocess.call(["true"], preexec_fn=prepare) == 99:
        raise tap.Skip("no seccomp filter can be set here")
    return prepare


def nothing(error, options, words):
    """One sentence, status 1, no store; the workload does not run."""
    prepare = deny(error)
    with Folder() as folder:
        answer = folder.call(*options, "touch", "started", preexec_fn=prepare)
        refused(answer, 1, *words)
        assert os.listdir(folder.path) == ["script.sim"], os.listdir(folder.path)


def test_events_denied():
    """events: has the reason for each kind of counter that cannot be used, and does not fail"""
    prepare = deny(errno.EPERM)
    with Folder() as folder:
        answer = expect(folder.call("events", preexec_fn=prepare), 0)
        assert answer.stdout.count("cannot be used: not permitted") >= 2, answer.stdout
        expect(folder.call("events", "--pmu", "software", "task-clock", preexec_fn=prepare), 1)


def test_no_samples():
    """without memory for samples there are none, and the report says so; if samples were requested, the recording is refused"""
    prepare = deny(errno.EACCES, MMAP, 512 * 1024 + resource.getpagesize())  # the size of a ring of the sampler
    with Folder() as folder:
        if folder.call("-o", "first.data", "true").returncode != 0:
            raise tap.Skip("nothing can be counted here")
        expect(folder.call("true", preexec_fn=prepare), 0)
        assert b"no samples of the code: cannot sample" in folder.read("rpistat.txt")
        for option in ("--stacks=fp", "--frequency=99", "--sample=task-clock"):
            refused(folder.call(option, "true", preexec_fn=prepare), 1, "cannot sample")


def test_simulated():
    """a simulated processor needs no permission"""
    prepare = deny(errno.EPERM)
    with Folder() as folder:
        expect(folder.call("record", "--pmu", "sim:script.sim", preexec_fn=prepare), 0)


# --- as somebody who is not root -----------------------------------------------------------------


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return int(file.read())


class Guest(Folder):
    """A folder that everybody may write to, with copies of the programs, for the user nobody."""

    def __enter__(self):
        if os.geteuid() != 0:
            raise tap.Skip("only root can become another user")
        super().__enter__()
        os.chmod(self.path, 0o777)
        self.rpistat = shutil.copy(RPISTAT, self / "rpistat")
        self.workload = shutil.copy(WORKLOAD, self / "workload")
        return self

    def run(self, *arguments, **options):
        return subprocess.run([self.rpistat, *arguments], cwd=self.path, env=environment(),
                              text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=program.TIMEOUT, **NOBODY, **options)

    def events(self):
        store = sqlite3.connect(self / "rpistat.data")
        rows = store.execute("SELECT name, state, modifiers, reason, count FROM event WHERE "
                             "set_no >= 0 AND run_id = (SELECT max(run_id) FROM run)").fetchall()
        store.close()
        return {row[0]: dict(zip(("state", "modifiers", "reason", "count"), row[1:]))
                for row in rows}


def test_nobody():
    """as nobody: records what perf_event_paranoid allows, or prints one sentence that names this setting"""
    with Guest() as guest:
        answer = guest.run("./workload", "touch", "5000")
        if answer.returncode == 0:
            assert paranoid() < 3, "it counts though perf_event_paranoid is %d" % paranoid()
            assert "faults 500" in answer.stdout and not answer.stderr, answer
            assert "rpistat.data" in os.listdir(guest.path)
        else:
            refused(answer, 1, "perf_event_paranoid")
            assert "rpistat.data" not in os.listdir(guest.path)
        if paranoid() > 1:
            refused(guest.run("--wall", "./workload", "true"), 1, "--wall", "perf_event_paranoid")
        refused(guest.run("./workload", "true", preexec_fn=deny(errno.EACCES)), 1, "run as root",
                "where it is at most 2, give rpistat CAP_PERFMON", "entirely")


def test_nobody_software():
    """as nobody: without permission for the kernel, user space is counted as :u; switches are absent, not 0"""
    if paranoid() != 2:
        raise tap.Skip("perf_event_paranoid is %d, not 2" % paranoid())
    with Guest() as guest:
        expect(guest.run("--pmu", "software", "./workload", "touch", "5000"), 0)
        events = guest.events()
        faults = events["minor_faults"]
        assert faults["state"] == "measured" and faults["modifiers"] == "u", faults
        assert 5000 <= faults["count"] <= 5500, faults
        for name in ("context_switches", "cpu_migrations"):
            event = events[name]
            assert event["state"] == "not permitted" and event["count"] is None, event
            assert "perf_event_paranoid" in event["reason"], event


def test_tracepoints():
    """as nobody: without tracefs, all events but tracepoints are recorded, and the report has the reason"""
    with Guest() as guest:
        answer = guest.run("--scenario", "syscalls", "./workload", "touch", "1000")
        if paranoid() > 2:
            raise tap.Skip("perf_event_paranoid is %d" % paranoid())
        expect(answer, 0)
        event = guest.events()["block_io"]
        assert event["state"] != "measured" and event["count"] is None, event
        assert event["reason"], event
        report = expect(guest.run("report"), 0).stdout
        assert "Block I/O" in report and " ".join(event["reason"].split()) in \
            " ".join(report.split()), (event["reason"], report)


def test_no_tracefs():
    """root without tracefs: all events but tracepoints are recorded, and the report has the reason"""
    program.counting()
    with Folder() as folder:
        hide = "for f in /sys/kernel/tracing /sys/kernel/debug; do " \
               "[ ! -d $f ] || mount -t tmpfs none $f || exit 99; done; exec \"$@\""
        answer = private(["sh", "-c", hide, "sh", RPISTAT, "--scenario", "syscalls",
                          WORKLOAD, "touch", "1000"], folder)
        if answer.returncode == 99:
            raise tap.Skip("tracefs cannot be hidden here: " + answer.stderr)
        expect(answer, 0)
        report = expect(folder.call("report"), 0).stdout
        assert "Block I/O" in report and "trac" in report.lower(), report
        found = sqlite3.connect(folder / "rpistat.data").execute(
            "SELECT state, count, reason FROM event WHERE name = 'block_io'").fetchone()
        assert found[0] == "unsupported" and found[1] is None and found[2], found


def private(command, folder):
    """Run in a mount namespace of its own."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise tap.Skip("a private mount namespace needs root and unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        raise tap.Skip("no private mount namespace can be made here")
    return subprocess.run(["unshare", "-m", *command], cwd=folder.path, env=environment(),
                          text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=program.TIMEOUT)


def test_setuid():
    """if a workload changes its user, a message says that it is no longer counted, and it runs normally"""
    with Guest() as guest:
        if paranoid() > 2:
            raise tap.Skip("perf_event_paranoid is %d" % paranoid())
        os.chmod(guest.workload, 0o4755)
        plain = subprocess.run(["./workload", "ids"], cwd=guest.path, text=True, check=False,
                               capture_output=True, **NOBODY)
        if "\neuid 0\n" not in plain.stdout:
            raise tap.Skip("setuid has no effect in %s" % guest.path)
        answer = expect(guest.run("./workload", "ids"), 0)
        assert "uid 65534\neuid 0\n" in answer.stdout, answer
        report = " ".join(expect(guest.run("report"), 0).stdout.split())
        assert "changes its user" in report and "on a counter" not in report, report
        answer = expect(guest.run("check"), 0)
        assert "as recorded: the recorder could not read it" in answer.stdout, answer.stdout
        store = sqlite3.connect(guest / "rpistat.data")
        command, fitting = store.execute("SELECT command, fitting FROM run").fetchone()
        store.close()
        assert json.loads(command) == ["./workload", "ids"] and "changes its user" in fitting


def test_capset():
    """a sandbox without capset, as for a service, does not matter if the program has no capabilities"""
    prepare = deny(errno.EPERM, CAPSET)
    with Guest() as guest:
        expect(guest.run("record", "--pmu", "sim:script.sim", preexec_fn=prepare), 0)
        assert "complete" in expect(guest.run("runs", preexec_fn=prepare), 0).stdout


# Root is not advised to become root.
ADVICE = "even to root" if os.geteuid() == 0 else "run as root"

tap.main(
    [("perf_event_open answers %s: %s" % (errno.errorcode[error], how), nothing, error, options,
      words)
     for error, words in [(errno.EPERM, ["not permitted", ADVICE]),
                          (errno.EACCES, ["perf_event_paranoid", ADVICE]),
                          (errno.ENOSYS, ["perf_event_open"])]
     for how, options in [("default", []), ("software", ["--pmu", "software"]),
                          ("hardware", ["record", "--pmu", "hardware"])]] +
    [test_events_denied, test_no_samples, test_simulated, test_nobody, test_nobody_software, test_tracepoints,
     test_no_tracefs, test_setuid, test_capset])
