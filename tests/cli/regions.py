"""A workload that measures its own regions: they become marks of the recording, and nothing else
changes.

usage: regions.py RPISTAT REGIONS
"""
import os
import re
import sqlite3
import struct
import subprocess
import sys
import time

import program
import counters
from program import Folder, expect, tap

REGIONS = os.path.abspath(sys.argv[2])

# Waits until the recorder's socket exists, as for children of the workload, and sends.
SEND = """\
import os, socket, sys
link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
link.connect("\\0rpistat-region.%d" % os.getpid())
for text in sys.argv[1:]:
    link.send(bytes.fromhex(text))
"""


def marks(folder):
    connection = sqlite3.connect(folder / "rpistat.data")
    return connection.execute("SELECT time_ns, text FROM mark ORDER BY time_ns").fetchall()


def texts(folder):
    return [text for _, text in marks(folder)]


def test_marks():
    """begin and end of each entry are marks, in order; of a short region only one of them"""
    with Folder() as folder:
        expect(folder.call(*program.counting(), "--", REGIONS), 0)
        found = texts(folder)
        for text, count in ("slow begin", 2), ("slow end", 2), ("quick begin", 1), ("quick end", 1):
            assert found.count("region " + text) == count, (text, found)
        assert found.index("region slow begin") < found.index("region quick begin"), found
        assert found.index("region quick end") < found.index("region slow end"), found
        totals = re.compile(r"region quick: 1000 entries, \d+\.\d+ s$")
        assert len(list(filter(totals.match, found))) == 1, found
        elapsed = sqlite3.connect(folder / "rpistat.data").execute(
            "SELECT elapsed_ns FROM run").fetchone()[0]
        assert all(0 <= when <= elapsed for when, _ in marks(folder)), (marks(folder), elapsed)


def test_children():
    """regions of child processes are marked too"""
    with Folder() as folder:
        expect(folder.call(*program.counting(), "--", REGIONS), 0)
        found = texts(folder)
        assert "region in a child begin" in found and "region in a child end" in found, found


def test_unasked():
    """a program that does not request counting is marked with times, and otherwise unaffected"""
    with Folder() as folder:
        answer = expect(folder.call(*program.counting(), "--", REGIONS, "unasked"), 0)
        assert texts(folder) == ["region slow begin", "region slow end"], texts(folder)
        assert re.search(r"^Region slow\n  Entered: +1\n  Elapsed: .*\n\Z", answer.stdout, re.M), \
            answer.stdout
        alone = subprocess.run([REGIONS, "unasked"], stdout=subprocess.PIPE, text=True, check=True)
        assert alone.stdout == "Self-measurement\n  nothing is counted: the program did not call " \
            "rps_region_open\n", alone.stdout


def test_environment():
    r"""the workload's environment has no trace of the recorder"""
    with Folder() as folder:
        answer = expect(folder.call(*program.counting(), "--", "env",
                                    env={"A": "b", "PATH": "/bin"}), 0)
        assert sorted(answer.stdout.split()) == ["A=b", "PATH=/bin"], answer.stdout


def wire(name, *stamps, magic=b"rpsreg1\0", count=None):
    """A message as the library sends it, in hexadecimal."""
    data = magic + struct.pack("=IIQQ80s", len(stamps) if count is None else count, 0, 0, 0, name)
    for stamp, kind in stamps:
        data += struct.pack("=qII", stamp, kind, 0)
    return data.hex()


def test_nonsense():
    r"""malformed messages, and messages with a time outside the run, are ignored"""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with Folder() as folder:
        folder.write("send.py", SEND)
        expect(folder.call(*program.counting(), "--", sys.executable, "send.py", "00",
                           wire(b"old", (now - 10**9, 0)), wire(b"late", (now + 10**13, 0)),
                           wire(b"magic", (now + 10**6, 0), magic=b"rpsreg0\0"),
                           wire(b"many", (now + 10**6, 0), count=2),
                           wire(b"n" * 80, (now + 10**6, 0)), wire(b"", (now + 10**6, 0)),
                           "ff" * 4096), 0)
        assert texts(folder) == [], texts(folder)


def test_other_user():
    """messages of another user are ignored"""
    if os.geteuid() != 0:
        raise tap.Skip("only root can become another user")
    with Folder() as folder:
        answer = subprocess.Popen([program.RPISTAT, *program.counting(), "--", "sh", "-c",
                                   "echo $$; read line"], cwd=folder.path, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pid = int(answer.stdout.readline())
        for user, name in ((65534, b"foreign"), (0, b"own")):
            send = "import os, socket, sys, time\n" \
                   "os.setuid(%d)\n" \
                   "link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n" \
                   "link.connect('\\0rpistat-region.%d')\n" \
                   "try:\n" \
                   "    link.send(bytes.fromhex(sys.argv[1]))\n" \
                   "except ConnectionError: # nobody else is let in\n" \
                   "    pass\n" % (user, pid)
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            subprocess.run([sys.executable, "-c", send, wire(name, (now, 0))], check=True)
        answer.communicate("go\n", timeout=program.TIMEOUT)
        assert answer.returncode == 0
        assert texts(folder) == ["region own begin"], texts(folder)


LISTEN = """\
import os, socket, sys
os.setuid(65534)
link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
link.bind("\\0rpistat-region.%s" % sys.argv[1])
link.listen(100)
os.write(1, b"ready\\n")
heard = b""
while True:
    peer = link.accept()[0]
    heard += peer.recv(65536)
    os.write(1, b"heard %d bytes\\n" % len(heard))
"""


def test_foreign_recorder():
    """a program that is not recorded sends nothing to another user who waits for it"""
    if os.geteuid() != 0:
        raise tap.Skip("only root can become another user")
    workload = subprocess.Popen(["sh", "-c", "read line; exec \"$0\"", REGIONS], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with subprocess.Popen([sys.executable, "-c", LISTEN, str(workload.pid)], text=True,
                          stdout=subprocess.PIPE) as foreign:
        assert foreign.stdout.readline() == "ready\n"
        workload.communicate("go\n", timeout=program.TIMEOUT)
        assert workload.returncode == 0
        foreign.terminate()
        said = foreign.stdout.read()
        assert "heard" not in said or "heard 0 bytes" in said, said


def test_shared_counters():
    """while hardware counters record a program, it can still count its own regions with them"""
    counters.need_counters()
    with Folder() as folder:
        answer = expect(folder.call("record", "--pmu", "hardware", "--", REGIONS, "busy"), 0)
        figures = dict(re.findall(r"^  (\w[\w ]*): +(\d+)$", answer.stdout, re.M))
        # 0.2 s of any processor's time, a part of which the recording uses
        assert int(figures.get("Instructions", 0)) > 10**6, answer.stdout
        assert int(figures.get("Cycles", 0)) > 10**6, answer.stdout
        assert "software" not in answer.stdout.lower(), answer.stdout


FLOOD = """\
import os, socket, struct, time
link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
link.connect("\\0rpistat-region.%d" % os.getpid())
for i in range(100):
    mark = struct.pack("=qII", time.clock_gettime_ns(time.CLOCK_MONOTONIC), 0, 0)
    link.send(b"rpsreg1\\0" + struct.pack("=IIQQ80s", 24, 0, 0, 0, b"f") + 24 * mark)
"""


def test_flood():
    """a workload that sends endlessly is no longer read, and the recording reports this"""
    with Folder() as folder:
        folder.write("flood.py", FLOOD)
        expect(folder.call(*program.counting(), "--", sys.executable, "flood.py"), 0)
        found = texts(folder)
        assert found.count("region f begin") >= 200, len(found)
        dropped = [text for text in found if "were dropped" in text]
        assert len(dropped) == 1, found[-3:]
        assert int(dropped[0].split()[0]) + found.count("region f begin") == 2400, dropped


tap.main([test_marks, test_children, test_unasked, test_environment, test_nonsense, test_other_user,
          test_foreign_recorder, test_shared_counters, test_flood])
