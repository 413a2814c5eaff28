"""Tracepoints are found where tracefs is mounted: where it is not, root mounts it for a test alone."""
import os
import shutil
import subprocess
import sys


def can_count(rpistat, pmu, event):
    return subprocess.run([rpistat, "events", "--pmu", pmu, event], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def begin_again(rpistat):
    """Start this test anew in a mount namespace of its own that has tracefs, if that can be and is
    what keeps system calls from being counted."""
    inside = ["unshare", "-m", "sh", "-c",
              "mount -t tracefs nodev /sys/kernel/tracing && exec \"$@\"", "sh"]
    if os.geteuid() == 0 and shutil.which("unshare") and \
            not can_count(rpistat, "software", "syscalls") \
            and subprocess.run([*inside, "test", "-e", "/sys/kernel/tracing/events"], check=False,
                               stderr=subprocess.DEVNULL).returncode == 0 \
            and "RPISTAT_TRACEFS" not in os.environ:
        os.environ["RPISTAT_TRACEFS"] = "mounted"
        os.execvp("unshare", [*inside, sys.executable, *sys.argv])
