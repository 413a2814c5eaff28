#!/usr/bin/env python3
"""Run a test program and correct its report of skipped cases: mend_skips.py COMMAND [ARG...]

cmocka up to 1.1.5 (Debian 12) writes `not ok 3 # SKIP name` for a case that called skip(), which
meson counts as a failure, and it has no place for a reason. This writes `ok 3 - name # SKIP reason`
instead, where the reason is the line that the case printed last. A case that is skipped without a reason
has failed. Everything else passes through, and so does the exit status.
"""
import os
import re
import signal
import subprocess
import sys

SKIPPED = re.compile(r"^(?:not )?ok (\d+) # SKIP (\S+)\s*$")


def mend(line, before):
    match = SKIPPED.match(line)
    if not match:
        return line
    reason = re.sub(r"^[#\s]*(skipped:\s*)?", "", before.strip())
    if re.match(r"(not )?ok \d|\d+\.\.\d", reason):
        reason = ""
    if not reason:
        return "not ok %s - %s was skipped without a reason\n" % match.groups()
    return "ok %s - %s # SKIP %s\n" % (match.group(1), match.group(2), reason)


def main():
    before = ""
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, encoding="utf-8",
                          errors="backslashreplace") as program:
        for line in program.stdout:
            sys.stdout.write(mend(line, before))
            sys.stdout.flush()
            before = line
    if program.returncode < 0:  # exit with the same signal, so that a crash is reported as one
        signal.signal(-program.returncode, signal.SIG_DFL)
        os.kill(os.getpid(), -program.returncode)
    sys.exit(program.returncode)


main()
