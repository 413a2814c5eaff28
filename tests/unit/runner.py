#!/usr/bin/env python3
"""How tests are run: builds and test runs print their progress, and no case is skipped without a
reason.

usage: runner.py
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

TIMEOUT = 300  # seconds after which a call counts as hanging, and has failed

# A build that writes one line, and waits until its reader has seen the progress.
SCRIPT = """
cd "$1"
. ./install.sh
progress_every_s=0.1
work() { echo "$line"; read -r unused <go; return 7; }
run_shown build.log work
echo "status $?"
"""


# Two calls of apt-get in three fail, because of a lock.
APT_GET = """#!/bin/sh
echo "$*" >>calls
[ $(($(wc -l <calls) % 3)) = 0 ] || { echo "E: $message" >&2; exit 100; }
"""


def text_of(name):
    with open(os.path.join(tap.root(), name), encoding="utf-8") as file:
        return file.read()


def lines_of(line):
    """The lines that are printed while the log ends with a line, and after that."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(tap.root(), "tests", "support", "install.sh"), encoding="utf-8") as source, \
                open(os.path.join(folder, "install.sh"), "w", encoding="utf-8") as copy:
            copy.write(source.read())
        os.mkfifo(os.path.join(folder, "go"))
        process = subprocess.Popen(["sh", "-c", SCRIPT, "sh", folder], env={**os.environ, "line": line}, text=True,
                                   stdout=subprocess.PIPE)
        first = process.stdout.readline().strip()
        with open(os.path.join(folder, "go"), "w", encoding="ascii") as go:
            go.write("\n")
        rest = process.stdout.read().split("\n")  # until each process has closed it
        assert process.wait(TIMEOUT) == 0
        return first, rest[-2]


def check_build():
    """a build prints ninja's count, and returns the command's status"""
    assert lines_of("[3/528] Compiling C object a.o") == ("build.log: build step 3 of 528", "status 7")


def check_tests():
    """a test run prints meson's count and the last finished test"""
    line = "12/66 rpistat:cli+exact / cli/help              OK                4.69s   10 subtests passed"
    assert lines_of(line) == ("build.log: ran 12 of 66 test programs, last cli/help", "status 7")


def install_with(message):
    """The status of an installation, its errors and the calls of apt-get, which fails with the message."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("apt-get", APT_GET), ("sudo", '#!/bin/sh\nexec "$@"\n')):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        done = subprocess.run(["sh", "-c", '. "$1"; lock_every_s=0; install_missing "one false\ntwo true\nthree false"', "install",
                               os.path.join(tap.root(), "tests", "support", "install.sh")], cwd=folder, capture_output=True,
                              text=True, timeout=TIMEOUT, env={**os.environ, "PATH": folder + ":" + os.environ["PATH"], "message": message})
        with open(os.path.join(folder, "calls"), encoding="ascii") as file:
            return done.returncode, done.stderr, file.read().split("\n")[:-1]


def check_lock():
    """the installation of packages waits while another program holds a lock of apt-get, and for no other error"""
    update, install = "-qq update", "-qq install -y --no-install-recommends one three"
    assert install_with("Could not get lock /var/lib/apt/lists/lock. It is held by process 7") == (0, "", 3 * [update] + 3 * [install])
    assert install_with("no network") == (1, "E: no network\ninstall: apt-get could not install one three\n", [update])


def check_start():
    """quickstart and tests/run print their expected duration at the start, equal to that in the documents"""
    times = {}
    for name, count in (("examples/quickstart", 1), ("tests/run", 2)):
        times[name] = re.findall(r"(\d+ (?:seconds|minutes)) on two idle cores", text_of(name))
        assert len(times[name]) == count, times
    assert "On two idle cores, the build takes %s and the tests about %s." % (
        times["examples/quickstart"][0], times["tests/run"][0]) in " ".join(text_of("README.md").split()), times
    for time in times["tests/run"]:
        assert time + " on two idle cores" in text_of("tests/README.md"), time
    assert "\nexec sh tests/run --all\n" in text_of(".ci/run")


def check_readme():
    """each file that a README of src names exists; each file of measure is in the README of measure"""
    folder = os.path.join(tap.root(), "src")
    modules = [""] + [name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, "README.md"))]
    found = set()
    for module in modules:
        for name in re.findall(r"`((?:[a-z_]+/)*[a-z_.0-9-]+\.(?:c|h|md|py|sql|json|scd|js|gp))`",
                               text_of(os.path.join("src", module, "README.md"))):
            places = [os.path.join(place, name) for place in ("", "src", "src/" + module, "include", "include/rpistat")]
            places += [os.path.join("tests/unit/events", name), os.path.join("src/*", name)]
            assert name[0] == "_" or any(glob.glob(os.path.join(tap.root(), place)) for place in places), (module, name)
            found.add((module, name))
    assert len(found) > 100, found
    missing = {name for name in os.listdir(os.path.join(folder, "measure"))
               if name.endswith(".c") and ("measure", name) not in found}
    assert not missing, missing


def check_quarters():
    """each case is in one of four quarters; without a quarter all are run"""
    cases = list(range(11))
    with unittest.mock.patch.dict(os.environ):
        os.environ.pop("RPISTAT_TEST_QUARTER", None)
        assert tap.quarter(cases) == cases
        found = []
        for number in range(4):
            os.environ["RPISTAT_TEST_QUARTER"] = str(number)
            found += tap.quarter(cases)
    assert sorted(found) == cases, found


def check_skips():
    """a case that is skipped has a reason, or it fails"""
    mend = os.path.join(tap.root(), "tests", "support", "mend_skips.py")
    for said, found in (("1..1\n# skipped: no root\nok 1 # SKIP test_a\n", "ok 1 - test_a # SKIP no root"),
                        ("1..1\nno root\nnot ok 1 # SKIP test_a\n", "ok 1 - test_a # SKIP no root"),
                        ("1..1\nok 1 # SKIP test_a\n", "not ok 1 - test_a was skipped without a reason"),
                        ("1..2\nok 1 - b\nok 2 # SKIP test_a\n", "not ok 2 - test_a was skipped without a reason")):
        done = subprocess.run([sys.executable, mend, "printf", "%s", said], stdout=subprocess.PIPE, text=True, check=True,
                              timeout=TIMEOUT)
        assert done.stdout.splitlines()[-1] == found, (said, done.stdout)


def check_listed():
    """each function test_... or check_... of a Python test is called, or is in the list of its cases"""
    for where, _, names in os.walk(os.path.join(tap.root(), "tests")):
        for name in names:
            text = text_of(os.path.join(where, name)) if name.endswith(".py") else ""
            unused = [] if "globals()" in text else [function for function in re.findall(r"^def ((?:test|check)_\w+)", text, re.M)
                                                     if len(re.findall(r"\b%s\b" % function, text)) == 1]
            assert not unused, (name, unused)


tap.main([check_build, check_tests, check_lock, check_start, check_readme, check_quarters, check_skips, check_listed])
