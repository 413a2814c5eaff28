#!/usr/bin/env python3
"""Meson's test logs case by case: skips with reasons, failures with output, a total.

usage: summary.py MESON-LOGS-FOLDER [FOLDER...]

Of a build that counts lines (-Db_coverage=true), the share of the lines of src/ that the tests ran
is told too, over all that was run in it.

meson counts test programs; people count cases. testlog.junit.xml has the cases of programs that
speak TAP, testlog.json each program's own verdict and output: a program that crashed after its last
good case, or said nothing at all, is a failure that only the latter knows.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

GOOD = ("OK", "EXPECTEDFAIL", "SKIP")


def program_name(text):
    """The name of a test in meson's "PROJECT:SUITE / NAME", "PROJECT.NAME" or "NAME"."""
    return text.split(" / ")[-1] if " / " in text else re.sub(r"^[\w-]+\.", "", text)


def log(folder, kind):
    """meson's log, whose name contains the setup if one was requested. Return None without a log."""
    return next(iter(glob.glob(os.path.join(glob.escape(folder), "testlog*." + kind))), None)


def read_programs(folder):
    """Results of test programs as meson wrote them: one JSON object per line."""
    path = log(folder, "json")
    if not path:
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        programs = [json.loads(line) for line in file if line.strip()]
    for program in programs:
        program["name"] = program_name(program["name"])
    return programs


def skip_reason(case):
    """The program's text after SKIP; meson puts it next to the mark."""
    message = case.find("skipped").get("message") or case.findtext("system-out") or ""
    return re.sub(r"^1\.\.0\s*#\s*skip\S*\s*", "", message.strip(), flags=re.I)


def read_cases(folder):
    """(program, case, "passed" | "failed" | "skipped", reason) for each case."""
    path = log(folder, "junit.xml")
    if not path:
        return []
    cases = []
    for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
        for case in suite.findall("testcase"):
            result, reason = "passed", ""
            if case.find("failure") is not None or case.find("error") is not None:
                result = "failed"
            elif case.find("skipped") is not None:
                result, reason = "skipped", skip_reason(case)
            name = re.sub(r"^\d+ - ", "", case.get("name"))
            cases.append((program_name(suite.get("name")), name, result, reason))
    return cases


def show_failures(programs):
    for program in programs:
        if program["result"] in GOOD:
            continue
        print("\nFAILED: %s (%s)" % (program["name"], program["result"]))
        for stream in ("stdout", "stderr"):
            for line in (program.get(stream) or "").splitlines():
                if not line.startswith("ok "):
                    print("    " + line)


def belongs(case, program):
    """Return whether a case is of this program: a TAP program is a suite of its own in meson's log,
    any other program one case of the project.
    """
    return program["name"] in (case[0], program_name(case[1]))


def coverage(build):
    """A sentence with the share of executed lines, or None if the build does not count them."""
    notes = os.path.join(build, "src", "base", "libbase.a.p")
    if not shutil.which("gcovr") or not glob.glob(os.path.join(glob.escape(notes), "*.gcno")):
        return None
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    done = subprocess.run(["gcovr", "-r", os.path.realpath(root), "--object-directory", build,
                           "-f", os.path.join(re.escape(os.path.realpath(root)), "src", ""),
                           "--json-summary", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return "coverage: not known: %s" % (done.stderr.strip().splitlines() or ["gcovr failed"])[-1]
    return "coverage: %.1f %% of lines" % json.loads(done.stdout)["line_percent"]


def count_unsaid(programs, cases):
    """Programs that failed although none of their cases did."""
    unsaid = 0
    for program in programs:
        own = [case for case in cases if belongs(case, program)]
        if program["result"] not in GOOD and not any(case[2] == "failed" for case in own):
            unsaid += 1
    return unsaid


def main():
    folder = sys.argv[1]
    programs, cases, failed, lines = [], [], 0, []
    for folder in sys.argv[1:]:
        here, own = read_programs(folder), read_cases(folder)
        failed += sum(case[2] == "failed" for case in own) + count_unsaid(here, own)
        programs += here
        cases += own
        lines.append(coverage(os.path.dirname(os.path.abspath(folder))))
    passed = sum(case[2] == "passed" for case in cases)
    skipped = [case for case in cases if case[2] == "skipped"]
    if skipped:
        print("\nSkipped:")
    for suite, name, _, reason in skipped:
        print("    %s: %s: %s" % (suite, name, reason or "no reason given"))
    show_failures(programs)
    if not cases and not programs:
        print("\nNo test ran; %s may say why." % os.path.join(os.path.dirname(folder), "test.log"))
    for line in filter(None, lines):
        print(line)
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(skipped)))
    return 1 if failed or not passed else 0


sys.exit(main())
