"""Phases by system metrics in simulated recordings: changes of the workload are boundaries, changes of
readings or of others are not.
"""
import contextlib
import json
import os
import re
import signal
import sqlite3
import sys

import program
from program import Folder, ask_store, expect, tap

FOLDER = Folder()

# Several sets in rotation, whose rates vary slowly.
SCRIPT = """\
clock 700M
seed 1
noise 5%
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
"""
SYSTEM = "default threads=4 rss=50M read=10M in=lock:2 wait=30%\n"


def record(name, script, *options, system=SYSTEM):
    FOLDER.write("script.sim", SCRIPT + system + script)
    expect(FOLDER.call("record", "-q", "--pmu", "sim:script.sim", "-o", name, *options), 0)


def phases(name, *options):
    """The labels and start times of the phases, in seconds."""
    answer = json.loads(expect(FOLDER.call("phases", "-i", name, "--format", "json", *options), 0).stdout)
    return [(phase["label"], phase["start_s"]) for phase in answer["phases"]]


def starts(name, *options):
    """The start times of all phases but the first."""
    return [start for _, start in phases(name, *options)][1:]


def test_steps():
    """each change alone is a boundary: memory, threads, the reason of sleep; waiting for a CPU is none"""
    for words, found in (("rss=400M", True), ("threads=12 in=lock:10", True), ("in=io:2", True), ("wait=50%", False)):
        record("steps.data", "phase one 30s\nphase other 30s %s\n" % words)
        begins = starts("steps.data")
        assert len(begins) == found and all(abs(at - 30) < 1 for at in begins), (words, begins)


def rises(script):
    """The remarks of report and of phases on memory, which must agree."""
    record("leak.data", script, system="function f 0x1000 64\nfunction g 0x2000 64\ndefault threads=1 code=f\n")
    answer = json.loads(expect(FOLDER.call("phases", "-i", "leak.data", "--format", "json"), 0).stdout)
    part = re.findall("RSS [^;]*", answer["remark"] or "")
    report = " ".join(expect(FOLDER.call("report", "-i", "leak.data"), 0).stdout.split())
    assert ("RSS" in report) == bool(part) and all(one in report for one in part), (part, report)
    return part


def leak(values, length="1s"):
    return "".join("phase leak %s rss=%dk\n" % (length, 1024 * mib) for mib in values)


def test_leak():
    """memory that rises or falls in a straight line is named, in the whole run or in its longest phase; other changes are not"""
    assert rises(leak([7 * k for k in range(1, 21)])) == ["RSS rises from 7 to 140 MiB (6.65 MiB/s)"]
    assert rises(leak([7 * k for k in range(20, 0, -1)])) == ["RSS falls from 140 to 7 MiB (6.65 MiB/s)"]
    for values in [100] * 20, [10] * 10 + [100] * 10, [7 * k for k in range(1, 11)] * 2, [100 + k for k in range(20)]:
        assert rises(leak(values)) == [], values
    teeth = [100 + 10 * (k % 10) + k for k in range(100)]
    assert rises(leak(teeth)) == ["RSS rises from 145 to 244 MiB (1 MiB/s)"]
    assert rises(leak([1] + [200 + k / 10 for k in range(60)])) == [], "the start of a program"
    line = [10 + k for k in range(100)]
    assert rises(leak(line[:97] + [50] * 3)) == ["RSS rises from 10 to 106 MiB (0.96 MiB/s)"], "a process ended"
    assert rises(leak(line[:99] + [30])) == ["RSS rises from 10 to 108 MiB (0.98 MiB/s)"], "the last part hardly rises"
    assert rises(leak(line[::-1][:97] + [90] * 3)) == ["RSS falls from 109 to 13 MiB (0.96 MiB/s)"]
    assert rises(leak(line[:96] + [50] * 4)) == [], "the last part does not rise"
    found = rises("phase other 30s code=g rss=500M\n" + leak([7 * k for k in range(1, 101)], "500ms"))
    assert found == ["RSS rises from 7 to 700 MiB in phase B (13.9 MiB/s)"], found


def test_threads():
    r"""a program with one, two and three threads has three phase classes, which recur"""
    record("threads.data", "function f 0x1000 64\n" + "".join("phase %d 6s threads=%d code=f\n" % (k, k) for k in (1, 2, 3, 1, 2)), system="")
    assert [label for label, _ in phases("threads.data")] == list("ABCAB"), phases("threads.data")


def test_short_tasks():
    """samples distinguish phases shorter than two rotations of the event sets; --min-length applies to them too"""
    script = "".join("function f%d 0x%d000 64\n" % (k, k + 1) for k in range(4))
    true = [0]
    for task in range(120):
        length_ms = 500 + 100 * (task * 7 % 11)
        script += "phase task %dms code=f%d\n" % (length_ms, task * 5 % 7 % 4)
        true.append(true[-1] + length_ms / 1000)
    record("tasks.data", script, system="")
    begins = starts("tasks.data", "--level", "fine")
    near = sum(min(abs(at - one) for one in begins) < .25 for at in true[1:-1])
    assert near > 95 and len(begins) < 121, (near, len(begins))
    begins = starts("tasks.data", "--level", "fine", "--min-length", "2s")
    assert len(begins) > 5 and all(after - at > 1.95 for at, after in zip(begins, begins[1:])), begins


def test_stretched():
    """readings that become thirteen times rarer in the middle make no boundary there, and hide no step"""
    record("stretched.data", "phase one 60s\nreading 10us\nreading 1300us 30s\n")
    assert not starts("stretched.data"), starts("stretched.data")
    other = "rss=400M threads=12 in=lock:10 read=300M written=300M"
    record("stretched.data", "repeat 2\nphase one 60s written=1M\nphase other 60s %s\nend\nreading 10us\nreading 1300us 120s\n" % other)
    assert [label for label, _ in phases("stretched.data")] == ["A", "B", "A", "B"], phases("stretched.data")
    assert all(abs(at - true) < 3 for at, true in zip(starts("stretched.data"), (60, 120, 180))), starts("stretched.data")


def test_mixed():
    """readings of memory that mix both sides of a step do not hide it"""
    record("mixed.data", "repeat 3\nphase one 10.4s read=1M\nphase other 10.4s read=300M\nend\nreading 600us\n")
    begins = starts("mixed.data")
    assert len(begins) == 5 and all(abs(at - 10.4 * k) < 1 for k, at in enumerate(begins, 1)), begins


def test_thinned():
    """a downsampled run has the same phases and the same statements"""
    script = "phase one 10m\nphase other 10m rss=400M read=300M\n"
    said = []
    for name, options in (("whole.data", []), ("thinned.data", ["--keep", "2m"])):
        record(name, script, *options)
        begins = starts(name)
        assert len(begins) == 1 and abs(begins[0] - 600) < 13, begins
        said.append(expect(FOLDER.call("report", "-i", name), 0).stdout.splitlines()[1])
    assert said[0] == said[1], said


def test_three_words():
    """plot: time off the CPU is waiting, asleep or not sampled; without readings it is one part. In the terminal the code is where it mostly waited, and its legend matches"""
    script = "function work 0x1000 64\nphase one 10s code=work%s\nsleep 10s\n"
    for more, system, words in ((" wait=60%", "default threads=1\n", ["waiting for a CPU", "asleep"]),
                                ("", "default threads=1 wait=0%\n", ["asleep"]), ("", "", ["off-CPU or not sampled"])):
        record("code.data", script % more, system=system)
        expect(FOLDER.call("plot", "-i", "code.data", "-o", "code.html"), 0)
        panel = FOLDER.read("code.html").decode().split('"codePanel":')[1]
        names = re.findall(r'"name": ?"([^"]+)", ?"colour"', panel)
        for word in ("waiting for a CPU", "asleep", "off-CPU or not sampled"):
            assert (word in names) == (word in words), names
        drawn = expect(FOLDER.call("plot", "-i", "code.data", "-o", "-"), 0).stdout
        code, names = drawn[drawn.index("\nCode "):].splitlines()[1:3]
        assert re.fullmatch(r"Code +a+\.+", code) and names.split()[:3] == ["a", "work", "."], drawn


def test_who_had_most():
    """plot: in the terminal, "all others" has the largest share only if no named part has a tenth"""
    script = "".join("function w%d 0x%d000 64\n" % (k, k + 1) for k in range(41))
    script += "phase one 10s code=w0:20%%,%s\n" % ",".join("w%d:2%%" % k for k in range(1, 41))
    script += "phase two 10s code=%s\n" % ",".join("w%d:2.5%%" % k for k in range(1, 41))
    record("many.data", script, system="")
    drawn = expect(FOLDER.call("plot", "-i", "many.data", "-o", "-"), 0).stdout
    code, names = drawn[drawn.index("\nCode "):].splitlines()[1:3]
    assert re.fullmatch(r"Code +a{30,}o{30,}", code) and re.search(r"a w0 .*o other", names), drawn


def test_one_thread():
    """plot: a thread is on a CPU, waits for one or sleeps; reasons add nothing to the sum"""
    turns = "phase work 90ms in=io:0\nsleep 10ms in=io:1\n" * 50  # the reading occurs while it sleeps
    record("one.data", "phase first 5ms in=io:0\n" + turns, system="default threads=1 wait=30%\n")
    expect(FOLDER.call("plot", "-i", "one.data", "-o", "one.html"), 0)
    panel, _ = json.JSONDecoder().raw_decode(
        FOLDER.read("one.html").decode().split('"threadsPanel":')[1].lstrip())
    assert {"running", "waiting for a CPU"} <= {line["name"] for line in panel["lines"]}, panel
    for shares in zip(*(line["share"] for line in panel["lines"])):
        assert sum(shares) < 1.01, panel


def test_machine_alone():
    """report, plot, watch: if the machine's own threads were not read: the number of waiting threads, memory, disks"""
    record("machine.data", "phase one 10s\n", system="default m_wait=3 m_available=100M m_disk_read=2M m_disk_written=6M\n")
    assert ("\n  Run queue: 3.0 threads of the machine waiting for a CPU (mean)\n  Waiting programs: not recorded\n" in
            expect(FOLDER.call("report", "-i", "machine.data"), 0).stdout)
    drawn = expect(FOLDER.call("plot", "-i", "machine.data", "-o", "-"), 0).stdout
    assert re.search(r"^Waiting +3 threads\nAvail\. +100 MiB\nDisks +read 2 MiB/s; written 6 MiB/s$", drawn, re.M), drawn
    line = "\nwaiting for a CPU: 3.0 threads  available 100 MiB  read 2 MiB/s  written 6 MiB/s\n"
    watched = expect(FOLDER.call("watch", "-i", "machine.data"), 0).stdout
    assert line not in watched, watched  # this must not look like a program's name
    ask_store(FOLDER / "machine.data", "UPDATE run SET target = 'all 2 CPUs'")
    watched = expect(FOLDER.call("watch", "-i", "machine.data"), 0).stdout
    assert line in watched, watched


def test_who_waited():
    """report: the programs whose threads waited on a machine, with parts that add up to 100 %; unknown is not 0"""
    record("waits.data", "function work 0x1000 64\nphase one 10s code=work\n", system="default m_wait=3\n")

    def store(*statements):
        with contextlib.closing(sqlite3.connect(FOLDER / "waits.data")) as db, db:
            for statement in statements:
                db.execute(statement)

    def waits(*options):
        found = json.loads(expect(FOLDER.call("report", "-i", "waits.data", "--format", "json", *options), 0).stdout)
        lines = found["answer"].splitlines()
        assert len([line for line in lines if line.startswith("Run queue: 3.0 threads")]) == 1, found["answer"]
        [waiting] = [line for line in lines if line.startswith("Waiting programs: ")]
        return waiting[len("Waiting programs: "):], found.get("waits")

    store("UPDATE run SET target = 'all 2 CPUs'")
    assert waits() == ("not recorded", None), waits()
    rows = [("as", "3e9"), ("cc1", "12e9"), ("tar", "NULL"), ("xz", "8.4e9"), ("sh", "6.6e9"), ("cat", "0")]
    store(*("INSERT INTO program VALUES (1, %d, '%s', 0, 0, 0, 0, 0, CAST(%s AS INTEGER))" % (number, *row)
            for number, row in enumerate(rows)))
    assert waits() == ("cc1 40 %, xz 28 %, sh 22 %, 1 other 10 % (share of the waiting time)",
                       [{"name": name, "wait_s": s} for name, s in (("cc1", 12), ("xz", 8.4), ("sh", 6.6), ("as", 3))]), waits()
    assert waits("--from", "5s") == ("unknown (known for the whole run only)", None)
    assert expect(FOLDER.call("check", "-i", "waits.data"), 0).stdout.startswith("waits.data: OK (")
    store("UPDATE sampling SET no_wait = 'the recording was paused'")
    assert waits() == ("not recorded (the recording was paused)", None), waits()


def test_waits_are_recorded():
    """record: on a machine, who waited for a CPU: programs alive at the end, and short-lived ones"""
    long, short = "hog-%d" % os.getpid(), "brief-%d" % os.getpid()  # names that no other process has
    workload = "import os, subprocess, sys\n"
    workload += "hogs = [subprocess.Popen(['./%s'], stdout=-3, stderr=-3) for cpu in range(2 * os.cpu_count())]\n" % long
    workload += "print(*[hog.pid for hog in hogs], flush=True)\n"
    workload += "for turn in range(20): subprocess.run(['./%s'])\n" % short
    for name, loop in ((long, "while kill -0 %d 2>&-; do :; done" % os.getpid()),
                       (short, "i=0; while [ $i -lt 9999 ]; do i=$((i + 1)); done")):
        FOLDER.write(name, "#!/bin/sh\n%s\n" % loop)
        os.chmod(FOLDER / name, 0o755)
    answer = FOLDER.call(*program.counting(), "-q", "-a", "-o", "live.data", "--", sys.executable, "-c", workload)
    for pid in answer.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    if answer.returncode != 0:
        raise tap.Skip("a machine cannot be recorded here: " + answer.stderr)
    with contextlib.closing(sqlite3.connect(FOLDER / "live.data")) as db:
        (why,), = db.execute("SELECT no_wait FROM sampling").fetchall() or [("no samples are taken here",)]
        waits = {name: s for name, s in db.execute("SELECT name, wait_ns / 1e9 FROM program")}
        elapsed_s, = db.execute("SELECT elapsed_ns / 1e9 FROM run").fetchone()
    if why:
        raise tap.Skip(why)
    assert 0 < waits[short] < elapsed_s, waits
    assert 0 < waits[long] < 2 * os.cpu_count() * elapsed_s, waits


with FOLDER:
    tap.main([test_steps, test_leak, test_threads, test_short_tasks, test_stretched, test_mixed, test_thinned, test_three_words, test_who_had_most, test_one_thread, test_machine_alone, test_who_waited,
              test_waits_are_recorded])
