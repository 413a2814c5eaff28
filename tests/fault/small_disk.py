#!/usr/bin/env python3
"""A real disk that is full for a while, or until the end: small_disk.py RPISTAT

The disk is a tmpfs of 2 MiB, which only root may mount. The recorded program reads its standard
input, so that the recording goes on for as long as it is wanted; what happened is learnt from the
recorder's own messages. (The usual commits and durability: cli/full_disk.py. What the ring has no
room for: slow_disk.c.)
"""
import contextlib
import os
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from program import RPISTAT, Folder, counting, environment, expect, tap  # noqa: E402


@contextlib.contextmanager
def small_disk(folder, size="2m"):
    place = folder / "disk"
    os.mkdir(place)
    answer = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", place],
                            capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise tap.Skip("no tmpfs can be mounted: " + answer.stderr.strip())
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def fill(place):
    """Write a file until the disk is full. Return its path."""
    path = os.path.join(place, "filler")
    with open(path, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
    return path


class Recorder:
    """A recording that continues until end()."""

    def __init__(self, store, *options):
        self.process = subprocess.Popen(
            [RPISTAT, *counting(), "--period", "1ms", *options, "-o", store, "--", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=environment())

    def says(self, text):
        """Wait for a message."""
        for line in self.process.stderr:
            if text in line:
                return line
        raise AssertionError("the recorder ended without saying '%s'" % text)

    def end(self):
        self.process.stdin.close()
        rest = self.process.stderr.read()
        return self.process.wait(), rest


def query(store, statement):
    connection = sqlite3.connect(store)
    row, = connection.execute(statement).fetchall()
    connection.close()
    return row


def committed(store, least, pause_s=0):
    """Wait until this number of periods is in the store."""
    while True:
        with contextlib.suppress(sqlite3.OperationalError):
            if os.path.exists(store) and query(store, "SELECT count(*) FROM period")[0] >= least:
                return
        time.sleep(pause_s)


def full_for_a_while(*options):
    with Folder() as folder, small_disk(folder) as place:
        store = os.path.join(place, "rpistat.data")
        recorder = Recorder(store, *options)
        committed(store, 1)
        for _ in range(2):
            filler = fill(place)
            recorder.says("cannot write")
            os.remove(filler)
            assert "no period was lost" in recorder.says("possible again")
        status, rest = recorder.end()
        assert status == 0, rest
        expect(folder.call("check", "-i", store), 0)
        state, periods, gaps = query(store, "SELECT state, (SELECT count(*) FROM period),"
                                            " (SELECT count(*) FROM gap) FROM run")
        assert state == "complete" and gaps == 0, (state, gaps)
        print("# full twice: %d periods, no gap" % periods)


def full_to_the_end(*options):
    with Folder() as folder, small_disk(folder) as place:
        store = os.path.join(place, "rpistat.data")
        recorder = Recorder(store, *options)
        committed(store, 1)
        filler = fill(place)
        recorder.says("cannot write")
        status, rest = recorder.end()
        assert status == 1 and "could not be written" in rest and "disk is full" in rest, rest
        before, = query(store, "SELECT count(*) FROM period")
        os.remove(filler)
        with contextlib.closing(sqlite3.connect(store)) as connection:
            connection.execute("UPDATE heartbeat SET realtime_ns = 0")  # as if a minute later
            connection.commit()
        expect(folder.call("check", "-i", store), 0)
        runs = expect(folder.call("runs", "-i", store), 0)
        assert "interrupted" in runs.stdout, runs.stdout
        expect(folder.call("report", "-i", store), 0)
        after, gaps = query(store, "SELECT (SELECT count(*) FROM period), (SELECT count(*) FROM gap)")
        assert after == before > 0 and gaps == 0, (before, after, gaps)
        print("# full to the end: %d periods are kept; %s" % (before, rest.strip().splitlines()[-1]))


def too_small_for_the_log():
    """Each commit leaves some pages in the log: soon more than the disk can hold, without a checkpoint."""
    with Folder() as folder, small_disk(folder, "640k") as place:
        store = os.path.join(place, "rpistat.data")
        recorder = Recorder(store, "--period", "2ms", "--commit", "0")
        committed(store, 300, pause_s=0.1)  # a constant reader would prevent the log's checkpoint
        status, said = recorder.end()
        assert status == 0 and not said, (status, said)
        expect(folder.call("check", "-i", store), 0)
        periods, last, gaps = query(store, "SELECT count(*), max(period), (SELECT count(*) FROM gap) FROM period")
        assert periods == last + 1 > 200 and gaps == 0, (periods, last, gaps)
        print("# %d periods on a disk of 512 KiB" % periods)


tap.main([("too small for the log of --commit 0", too_small_for_the_log),
          ("full for a while, --durability full", full_for_a_while, "--durability", "full"),
          ("full to the end, --commit 0", full_to_the_end, "--commit", "0")])
