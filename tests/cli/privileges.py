"""Rights: rpistat gives up the rights of its file, and the workload gets none of them.

usage: privileges.py RPISTAT WORKLOAD
"""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import program
from program import RPISTAT, Folder, environment, expect, tap

WORKLOAD = os.path.abspath(sys.argv[2])
USER = 65534
PERFMON = 1 << 38
NOBODY = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
SETS = ["CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs"]


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return int(file.read())


def sets_of(text):
    """The capability sets in a /proc/PID/status."""
    return dict(re.findall(r"^(%s):\s*(\w+)$" % "|".join(SETS), text, re.M))


class Guest(Folder):
    """A folder that everybody may write to, with a copy of the program that belongs to root."""

    def __init__(self, mode=0o755, capabilities=None):
        super().__init__()
        self.mode, self.capabilities = mode, capabilities

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            raise tap.Skip("only root can become another user, with setpriv")
        super().__enter__()
        os.chmod(self.path, 0o777)
        self.rpistat = program.copy_program(self.path)
        os.chmod(self.rpistat, self.mode)
        if self.capabilities:
            setcap = shutil.which("setcap") or "/usr/sbin/setcap"
            if not os.path.exists(setcap):
                self.__exit__()
                raise tap.Skip("there is no setcap here")
            done = subprocess.run([setcap, self.capabilities, self.rpistat], capture_output=True,
                                  text=True, check=False)
            if done.returncode:
                self.__exit__()
                raise tap.Skip("no file can be given capabilities here: " + done.stderr)
        return self

    def run(self, *arguments, options=(), **more):
        return subprocess.run([*NOBODY, *options, self.rpistat, *arguments], cwd=self.path,
                              env=environment(**more), text=True, capture_output=True,
                              check=False, stdin=subprocess.DEVNULL, timeout=program.TIMEOUT)

    def status(self, *options, of=None):
        """The capability sets of a process that the user starts, directly or as the workload of `of`."""
        command = ["cat", "/proc/self/status"]
        if of:
            return sets_of(expect(self.run("--pmu", "software", *command, options=options),
                                  0).stdout)
        return sets_of(subprocess.run([*NOBODY, *options, *command], text=True, check=True,
                                      capture_output=True).stdout)

    def events(self):
        store = sqlite3.connect(self / "rpistat.data")
        rows = store.execute("SELECT name, state, modifiers FROM event"
                             " WHERE set_no >= 0").fetchall()
        store.close()
        return {row[0]: row[1:] for row in rows}

    def owned(self):
        """The written file belongs to the user."""
        for name in ("rpistat.data", "rpistat.txt"):
            assert os.stat(self / name).st_uid == USER, name

    def may_not_write(self, *options):
        """A file without write permission for the user is not written."""
        path = self / "roots"
        os.mkdir(path, 0o755)
        for command in (["report", "-o"], ["plot", "-o"], ["--pmu", "sim:script.sim", "-o"],
                        ["record", "--pmu", "sim:script.sim", "-o"]):
            answer = self.run(*command, os.path.join(path, "x.png"), options=options)
            assert answer.returncode in (1, 2) and "denied" in answer.stderr, answer
        assert os.listdir(path) == []


def test_capability():
    """CAP_PERFMON of the file: the kernel is counted, but only for this user"""
    with Guest(capabilities="cap_perfmon+ep") as guest:
        if paranoid() > 2 and guest.run("--pmu", "software", "true").returncode:
            raise tap.Skip("CAP_PERFMON is not enough here")
        assert guest.status(of="rpistat") == guest.status()
        guest.owned()
        events = guest.events()
        assert events["context_switches"] == ("measured", ""), events
        assert events["minor_faults"] == ("measured", ""), events
        guest.may_not_write()


def test_more_capabilities():
    """further capabilities of the file are never used"""
    rights = "cap_perfmon,cap_dac_override,cap_fowner,cap_chown,cap_sys_admin,cap_setuid+ep"
    with Guest(capabilities=rights) as guest:
        assert guest.status(of="rpistat") == guest.status()
        guest.owned()
        guest.may_not_write()
        secret = guest.write("secret.ini", "[plan]\nname = secret\n", 0o600)
        answer = guest.run("events", "--sets", secret)
        assert answer.returncode and "denied" in answer.stderr, answer


def running_sets(guest, options):
    """The capability sets of each thread of a recorder at work."""
    process = subprocess.Popen([*NOBODY, *options, guest.rpistat, "--pmu", "software", "sleep",
                                "30"], cwd=guest.path, env=environment(), text=True,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + program.TIMEOUT
        while time.monotonic() < until:
            found, folder = [], "/proc/%d/task" % process.pid
            for task in os.listdir(folder):
                with open("%s/%s/status" % (folder, task), encoding="utf-8") as file:
                    found.append(sets_of(file.read()))
            if len(found) > 1:  # the writer's thread exists, so counters are open
                return found
            assert process.poll() is None, process.stderr.read()
        raise AssertionError("no recording after %d s" % program.TIMEOUT)
    finally:
        process.terminate()
        process.communicate(timeout=program.TIMEOUT)


def test_given_up():
    """during the recording no thread has the capability that opening counters needed"""
    for capabilities, options in (("cap_perfmon,cap_dac_override+ep", []),
                                  (None, ["--inh-caps", "+perfmon", "--ambient-caps",
                                          "+perfmon"])):
        with Guest(capabilities=capabilities) as guest:
            for sets in running_sets(guest, options):
                for name in ("CapPrm", "CapEff", "CapAmb"):
                    assert int(sets[name], 16) == 0, (capabilities, sets)


def test_ambient():
    """CAP_PERFMON of the user, as of a service: the kernel is counted; the workload has the user's capabilities"""
    options = ["--inh-caps", "+perfmon", "--ambient-caps", "+perfmon"]
    with Guest() as guest:
        own = guest.status(*options)
        if int(own["CapEff"], 16) != PERFMON:
            raise tap.Skip("setpriv cannot give CAP_PERFMON here")
        assert guest.status(*options, of="rpistat") == own
        assert guest.events()["context_switches"] == ("measured", "")
        guest.owned()


def test_setuid():
    """a copy with root's set-user-ID bit runs as the user who started it"""
    with Guest(mode=0o6755) as guest:
        assert guest.status(of="rpistat") == guest.status()
        guest.owned()
        guest.may_not_write()
        ids = expect(guest.run("--pmu", "software", "id"), 0).stdout
        assert "euid" not in ids and "egid" not in ids, ids


def test_no_helpers():
    """programs found through PATH get no rights"""
    with Guest(mode=0o4755, capabilities="cap_perfmon,cap_dac_override+ep") as guest:
        expect(guest.run("--pmu", "sim:script.sim"), 0)
        os.mkdir(guest / "bin")
        guest.write("bin/gnuplot", "#!/bin/sh\ncat /proc/self/status > %s\n" % (guest / "seen"),
                    0o755)
        guest.run("plot", PATH="%s:%s" % (guest / "bin", os.environ["PATH"]))
        with open(guest / "seen", encoding="utf-8") as file:
            assert sets_of(file.read()) == guest.status()


def test_setuid_workload():
    """a workload for which Linux disables counters: no counts, instead of 0"""
    with Guest() as guest:
        if paranoid() > 2:
            raise tap.Skip("perf_event_paranoid is %d" % paranoid())
        copy = shutil.copy(WORKLOAD, guest / "workload")
        os.chmod(copy, 0o4755)
        plain = subprocess.run([*NOBODY, copy, "ids"], text=True, capture_output=True, check=False)
        if "\neuid 0\n" not in plain.stdout:
            raise tap.Skip("setuid has no effect in %s" % guest.path)
        expect(guest.run("--pmu", "software", "./workload", "ids"), 0)
        store = sqlite3.connect(guest / "rpistat.data")
        counts = store.execute("SELECT c0, c1, c2 FROM period").fetchall()
        totals = store.execute("SELECT count FROM event WHERE set_no >= 0").fetchall()
        store.close()
        assert counts and all(row == (None, None, None) for row in counts), counts
        assert all(row == (None,) for row in totals), totals
        # Linux ignores the bits of a script, and it is counted
        guest.write("script", "#!/bin/sh\n:\n", 0o4755)
        expect(guest.run("--pmu", "software", "-o", "s.data", "./script"), 0)
        store = sqlite3.connect(guest / "s.data")
        faults = store.execute("SELECT count FROM event WHERE name = 'minor_faults'").fetchone()
        store.close()
        assert faults[0] > 0, faults


def unit():
    path = os.path.join(tap.root(), "examples", "rpistat-record.service")
    with open(path, encoding="utf-8") as file:
        return path, file.read()


def test_service():
    """the service: record -a works with its capabilities, without new privileges, as nobody"""
    path, text = unit()
    line = re.search(r"^ExecStart=rpistat (.*)$", text, re.M).group(1)
    assert re.search(r"^Environment=XDG_CONFIG_HOME=%E$", text, re.M), text
    assert re.search(r"^CapabilityBoundingSet=CAP_PERFMON$", text, re.M), text
    with Guest() as guest:
        line = line.replace("${STATE_DIRECTORY}", guest.path).replace("%b", "boot")
        os.makedirs(guest / "etc/rpistat")
        shutil.copy(os.path.join(os.path.dirname(path), "rpistat.config"), guest / "etc/rpistat/config")
        answer = guest.run(*line.split(), "--duration", "1500ms", XDG_CONFIG_HOME=guest / "etc", options=[
            "--bounding-set", "-all,+perfmon", "--inh-caps", "-all,+perfmon", "--ambient-caps",
            "+perfmon", "--no-new-privs"])
        if "perfmon" in answer.stderr.lower() and "setpriv" in answer.stderr:
            raise tap.Skip("setpriv: " + answer.stderr)
        expect(answer, 0)
        store = sqlite3.connect(guest / "boot.data")
        cpus, state, period_ns = store.execute("SELECT count(DISTINCT cpu), min(state), min(period_ns)"
                                               " FROM period, run").fetchone()
        store.close()
        assert cpus == os.cpu_count() and state == "complete", (cpus, state)
        assert period_ns == 10**9, "the file of options was not read"


def calls_of(unit_text):
    """The system calls that a unit's SystemCallFilter allows."""
    allowed, sets = set(), {}
    name = None
    for line in subprocess.run(["systemd-analyze", "syscall-filter"], text=True, check=True,
                               capture_output=True).stdout.splitlines():
        if line.startswith("@"):
            name = line
        elif name and line.strip() and not line.strip().startswith("#"):
            sets.setdefault(name, []).append(line.strip())

    def whole(word):
        return {call for inner in sets[word] for call in whole(inner)} if word in sets else {word}
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit_text, re.M):
        calls = {call for word in line.lstrip("~").split() for call in whole(word)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def test_unit_calls():
    """the service may open counters, and may drop its capability"""
    if not shutil.which("systemd-analyze"):
        raise tap.Skip("there is no systemd-analyze here")
    allowed = calls_of(unit()[1])
    assert {"perf_event_open", "capset", "read"} <= allowed, allowed
    assert "chroot" not in allowed, allowed


def test_unit_file():
    """systemd accepts the service's file, and rates it as safe"""
    if not shutil.which("systemd-analyze"):
        raise tap.Skip("there is no systemd-analyze here")
    _, text = unit()
    with Folder() as folder:
        name = folder.write("rpistat-record.service", text.replace(
            "ExecStart=rpistat", "ExecStart=" + RPISTAT).replace("Documentation=", "#"))
        answer = subprocess.run(["systemd-analyze", "verify", name], text=True, check=False,
                                capture_output=True)
        ours = [line for line in answer.stderr.splitlines() if "rpistat-record" in line]
        assert not ours, ours
        answer = subprocess.run(["systemd-analyze", "security", "--offline=true", name], text=True,
                                check=False, capture_output=True)
        found = re.search(r"exposure level for \S+: ([0-9.]+)", answer.stdout)
        if not found:
            raise tap.Skip("systemd-analyze security: " + answer.stderr)
        assert float(found.group(1)) < 2, found.group()


tap.main([test_capability, test_more_capabilities, test_given_up, test_ambient, test_setuid,
          test_no_helpers, test_setuid_workload, test_service, test_unit_calls,
          test_unit_file])
