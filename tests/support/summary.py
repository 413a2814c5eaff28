#!/usr/bin/env python3
"""What meson's test logs say, case by case: skips with reasons, failures with output, a total.

usage: summary.py MESON-LOGS-FOLDER

meson counts test programs; people count cases. testlog.junit.xml has the cases of programs that
speak TAP, testlog.json each program's own verdict and output: a program that crashed after its last
good case, or said nothing at all, is a failure that only the latter knows.
"""
import json
import os
import re
import sys
import xml.etree.ElementTree

GOOD = ("OK", "EXPECTEDFAIL", "SKIP")


def program_name(text):
    """The name of a test in meson's "PROJECT:SUITE / NAME", "PROJECT.NAME" or "NAME"."""
    return text.split(" / ")[-1] if " / " in text else re.sub(r"^[\w-]+\.", "", text)


def read_programs(folder):
    """Results of test programs, as meson wrote them: one JSON object a line."""
    path = os.path.join(folder, "testlog.json")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        programs = [json.loads(line) for line in file if line.strip()]
    for program in programs:
        program["name"] = program_name(program["name"])
    return programs


def skip_reason(case):
    """What the program said behind SKIP; meson puts it beside the mark."""
    message = case.find("skipped").get("message") or case.findtext("system-out") or ""
    return re.sub(r"^1\.\.0\s*#\s*skip\S*\s*", "", message.strip(), flags=re.I)


def read_cases(folder):
    """(program, case, "passed" | "failed" | "skipped", reason) for every case."""
    path = os.path.join(folder, "testlog.junit.xml")
    if not os.path.exists(path):
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
    """Whether a case is of this program: a TAP program is a suite of its own in meson's log, any
    other program one case of the project's."""
    return program["name"] in (case[0], program_name(case[1]))


def main():
    folder = sys.argv[1]
    programs, cases = read_programs(folder), read_cases(folder)
    failed = sum(case[2] == "failed" for case in cases)
    for program in programs:
        own = [case for case in cases if belongs(case, program)]
        if program["result"] not in GOOD and not any(case[2] == "failed" for case in own):
            failed += 1
    passed = sum(case[2] == "passed" for case in cases)
    skipped = [case for case in cases if case[2] == "skipped"]
    if skipped:
        print("\nSkipped:")
    for suite, name, _, reason in skipped:
        print("    %s: %s: %s" % (suite, name, reason or "no reason given"))
    show_failures(programs)
    if not cases and not programs:
        print("\nNo test ran; %s may say why." % os.path.join(os.path.dirname(folder), "test.log"))
    print("%d passed, %d failed, %d skipped" % (passed, failed, len(skipped)))
    return 1 if failed or not passed else 0


sys.exit(main())
