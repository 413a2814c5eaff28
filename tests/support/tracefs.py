"""Tracepoints need a mounted tracefs. If it is not mounted, root mounts it for a test alone."""
import os
import shutil
import subprocess
import sys


def can_count(rpistat, pmu, event):
    return subprocess.run([rpistat, "events", "--pmu", pmu, event], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def begin_again(rpistat):
    """Restart this test in its own mount namespace with tracefs, if this is possible, and if a missing
    tracefs is the only obstacle to counting system calls.
    """
    inside = ["unshare", "-m", "sh", "-c",
              "mount -t tracefs nodev /sys/kernel/tracing && exec \"$@\"", "sh"]
    if os.geteuid() == 0 and shutil.which("unshare") and \
            not can_count(rpistat, "software", "syscalls") \
            and subprocess.run([*inside, "test", "-e", "/sys/kernel/tracing/events"], check=False,
                               stderr=subprocess.DEVNULL).returncode == 0 \
            and "RPISTAT_TRACEFS" not in os.environ:
        os.environ["RPISTAT_TRACEFS"] = "mounted"
        os.execvp("unshare", [*inside, sys.executable, *sys.argv])
