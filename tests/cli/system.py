"""System metrics in each command. Recordings are simulated, so that each sum and each word is known."""
import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from program import Folder, RPISTAT, counting, environment, expect, refused, tap

from words import ASLEEP, DEADLOCK, IDLE, LIMIT, PHASES, THREADS, WAITING

FOLDER = Folder()

EVENTS = """\
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
"""

# One thread that others keep from the CPU.
WAITING = """\
default threads=1 in=io:0 rss=10M
phase work 2s
phase busy 8s wait=80% rss=100M
sleep 2s
"""

# Four threads, of which two or three wait for locks; one waits for a child.
LOCKED = """\
default threads=4 in=lock:2,child:1 wait=0%% rss=1M written=100M
default m_wait=3 m_steal=%dms
phase work 2s
sleep 8s in=lock:3,child:1
phase work 2s
""" % (50 * (os.cpu_count() or 1))


def store(name):
    return sqlite3.connect(FOLDER / name)


def record(name, script, *arguments):
    """Record a run of this script."""
    FOLDER.write("script.sim", EVENTS + script)
    expect(FOLDER.call("record", "-q", *arguments, "--pmu", "sim:script.sim", "-o", name), 0)


def rows(name, question):
    db = store(name)
    answer = db.execute(question).fetchall()
    db.close()
    return answer


def report(name, *arguments):
    return expect(FOLDER.call("report", "-i", name, *arguments), 0).stdout


def words(text):
    return " ".join(text.split())


def system(name, *arguments):
    return json.loads(report(name, "--format", "json", *arguments))["system"]


def near(answer, **expected):
    for key, value in expected.items():
        assert abs(answer[key] - value) < 1e-6, (key, answer)


def test_one_thread():
    """report: for one thread, time on a CPU, waiting and asleep add up to the whole"""
    record("waiting.data", WAITING)
    assert ("Threads: 3.6 s running (30 %), 6.4 s waiting for a CPU (53 %, others used it), 2.0 s asleep (17 %, in unknown waits); "
            "total 12.0 s " in words(report("waiting.data"))), report("waiting.data")
    near(system("waiting.data"), on_cpu_s=3.6, wait_s=6.4, asleep_s=2, threads_s=12, unseen_s=0,
         in_lock_s=0, rss_low_mib=10, rss_high_mib=100, rss_mib=70)
    assert system("waiting.data")["m_wait"] is None and system("waiting.data")["stolen"] is None
    for form in ("markdown", "html"):
        assert "6.4 s waiting for a CPU" in report("waiting.data", "--format", form)
    part = words(report("waiting.data", "--from", "4s", "--to", "6s"))
    assert ("Threads: 0.4 s running (20 %), 1.6 s waiting for a CPU (80 %, others used it), 0.0 s asleep (0 %); "
            "total 2.0 s " in part), part


def test_descriptors():
    """report, export, plot, watch and the store's view: open file descriptors; phases do not use them"""
    record("fds.data", "default threads=1\nphase few 6s fds=10\nphase many 6s fds=400\n")
    near(system("fds.data"), fds=205, fds_low=10, fds_high=400)
    assert [row["fds"] for row in table("export", "-i", "fds.data")] == ["10"] * 60 + ["400"] * 60
    assert "\nFDs 400\n" in FOLDER.call("watch", "--once", "-i", "fds.data").stdout
    assert store("fds.data").execute("SELECT min(fds), max(fds), count(*) FROM reading_tree").fetchall() == [(10, 400, 120)]
    expect(FOLDER.call("plot", "-i", "fds.data", "-o", "fds.html"), 0)
    assert "Open file descriptors (sum over processes)" in FOLDER.read("fds.html").decode()
    found = json.loads(expect(FOLDER.call("phases", "-i", "fds.data", "--format", "json"), 0).stdout)
    assert len(found["phases"]) == 1, found["phases"]
    assert system("waiting.data")["fds"] is None


def test_threads():
    """report: for several threads, CPU demand and reasons of sleep; threads that wait for children are excluded"""
    record("locked.data", LOCKED)
    text = words(report("locked.data"))
    assert ("Threads: 4.0 s running (11 %), 0.0 s waiting for a CPU (0 %), 32.0 s asleep (89 %, in lock or thread waits); "
            "total 36.0 s, not counting 12.0 s waiting for children Steal time: 5 % of all CPUs' time (taken by the hypervisor) " in text), text
    near(system("locked.data"), threads_s=36, asleep_s=32, in_lock_s=32, stolen=0.05, m_wait=3)
    record("never.data", "default threads=3 wait=0%\nsleep 8s in=timer:2,message:1\n")  # no thread ever ran or waited
    text = words(report("never.data"))
    assert ("Threads: 0.0 s running (0 %), 0.0 s waiting for a CPU (0 %), "
            "24.0 s asleep (100 %: 16.0 s in timers, 8.0 s in pipes, sockets or polls); total 24.0 s " in text), text
    record("many.data", "phase build 3s threads=40 wait=75% in=message:5,child:5,io:20\n")
    text = words(report("many.data"))
    assert ("Threads: 7.5 s running (7 %), at most 22.5 s waiting for a CPU (21 %), "
            "75.0 s asleep (71 %: 60.0 s in block I/O, 15.0 s in pipes, sockets or polls); total 105.0 s, "
            "not counting 15.0 s waiting for children" in text), text
    record("idling.data", "default threads=2 wait=0% idle=0\nphase work 4s in=timer:1\nphase late 1s idle=1\n")
    assert "total 9.0 s, not counting 1.0 s of idle threads" in words(report("idling.data")), report("idling.data")
    record("child.data", "default threads=1 wait=0%\nsleep 3s in=child:1\n")
    assert "Threads: 3.0 s waiting for children (100 %)" in words(report("child.data")), report("child.data")


def test_bytes():
    """report: bytes read and written, with those of disks; for a machine those of its disks; not below 10 MB"""
    line = "I/O: read 30.0 MiB (3.0 MiB from disks), wrote 6.0 MiB (3.0 MiB to disks)"
    for store, script, wanted in (("io.data", "read=10M written=2M disk_read=1M disk_written=1M", line),
                                  ("little.data", "read=1M written=1M disk_read=1M disk_written=1M", None),
                                  ("disks.data", "m_disk_read=1M m_disk_written=8M",
                                   "I/O: the machine read 3.0 MiB from disks and wrote 24.0 MiB to disks")):
        record(store, "phase a 3s " + script + "\n")
        text = words(report(store))
        assert wanted + " " in text if wanted else "I/O:" not in text, text


def test_unseen():
    """report: threads that ended unread are reported, and not distributed; for one thread the parts add up to the whole"""
    record("little.data", "default threads=1 in=io:0 wait=70%\nphase work 9900ms\nsleep 100ms in=child:1\n")
    assert ("Threads: 3.0 s running (30 %), 6.9 s waiting for a CPU (70 %, others used it), 0.0 s asleep (0 %); "
            "total 9.9 s " in words(report("little.data"))), report("little.data")
    record("unseen.data", "phase work 2s seen=50% unseen=2s\nsleep 8s\nphase work 2s seen=50% unseen=2s\n")
    text = words(report("unseen.data"))
    assert "6.0 s unknown (30 %, exited between readings); total at least 20.0 s " in text, text
    near(system("unseen.data"), unseen_s=8, unseen_on_cpu_s=2)


def test_sums():
    """report: parts add up to the whole, also if readings have more, or threads ended unread"""
    record("short.data", "default threads=1\nphase work 2s in=message:0 wait=50% unseen=100ms\n"
           "sleep 8s in=message:1\n")
    assert ("Threads: 1.0 s running (10 %), 1.0 s waiting for a CPU (10 %, others used it), 8.2 s asleep (80 %, in pipes, sockets or polls); "
            "total 10.2 s " in words(report("short.data"))), report("short.data")
    near(system("short.data"), in_message_s=8, asleep_s=8, in_unknown_s=0, unknown_s=0.2)
    for name in ("waiting.data", "locked.data", "many.data", "little.data", "unseen.data", "short.data"):
        time = system(name)
        near(time, threads_s=sum(time[key] for key in ("on_cpu_s", "wait_s", "asleep_s", "unknown_s")),
             asleep_s=sum(time["in_%s_s" % key] or 0 for key in ("io", "lock", "message", "timer", "other", "unknown")))


def test_not_read():
    """nothing is printed for what was not read: no wait, no reasons, no readings"""
    record("none.data", "phase work 2s\nsleep 8s\nphase work 2s\n")
    record("bare.data", "default threads=1 rss=1M\nphase work 2s\nsleep 8s\nphase work 2s\n")
    for name in ("none.data", "bare.data"):
        text = report(name)
        assert WAITING not in text and ASLEEP not in text and THREADS not in text, text
    assert "system" not in json.loads(report("none.data", "--format", "json"))
    assert json.loads(report("bare.data", "--format", "json"))["system"]["wait_s"] is None
    assert "wait_s_per_s" not in expect(FOLDER.call("export", "-i", "none.data"), 0).stdout
    row = table("export", "-i", "bare.data")[5]
    assert row["wait_s_per_s"] == row["in_io"] == "" and row["rss_mib"] == "1", row
    assert rows("none.data", "SELECT count(*) FROM signal") == [(0,)]
    assert rows("bare.data", "SELECT DISTINCT state, reason FROM signal WHERE name IN ('wait', 'in_io')") == [
        ("unsupported", "the script does not set it")]


def test_hidden():
    """report: the time asleep of another user's threads, and that the reason is not known"""
    record("hidden.data", "default threads=4\nphase work 2s wait=50%\nsleep 2s\n")
    text = words(report("hidden.data"))
    assert "4.0 s waiting for a CPU (25 %), 8.0 s asleep (50 %, in unknown waits); total 16.0 s " in text, text
    assert system("hidden.data")["in_lock_s"] is None and system("hidden.data")["in_unknown_s"] == 8


def table(*arguments):
    return list(csv.DictReader(io.StringIO(expect(FOLDER.call(*arguments), 0).stdout)))


def test_export():
    """export: cells after all others, and the format signals with one row per reading"""
    for form in ([], ["--rates"]):
        wide = table("export", "-i", "waiting.data", *form)
        names = list(wide[0])[list(wide[0]).index("wait_s_per_s"):]
        assert names[1] == "threads" and names[-3:] == ["m_wait", "idle", "fds"], names
        number = 50 if not form else len(wide) // 2
        assert abs(float(wide[number]["wait_s_per_s"]) - 0.8) < 1e-3, wide[number]
        assert float(wide[number]["rss_mib"]) == 100 and wide[number]["m_wait"] == "", wide[number]
    listed = table("export", "-i", "waiting.data", "--format", "signals")
    assert len(listed) == 120 and listed[50]["wait_us"] == "80000", listed[50]
    assert list(listed[0])[-9:] == [name + part for name in ("idle", "fds", "futex") for part in ("", "_low", "_high")], list(listed[0])
    assert listed[50]["rss_kib"] == "102400" and listed[50]["rss_kib_low"] == "", listed[50]
    assert sum(int(row["wait_us"]) for row in listed) == 6400000
    assert {row["source"] for row in listed} == {"tree"}
    for option in ("--rates", "--clock", "--follow"):
        refused(FOLDER.call("export", "--format", "signals", option, "-i", "waiting.data"), 2,
                "signals")


def test_export_every():
    """export --every: means of gauges, sums of counters, extremes of readings; samples of programs"""
    script = "task make 100\ntask cc1 200\nfunction f 0x1000 0x100 f.c:1\n" \
             "default instructions=1M threads=2 code=make/f\nphase a %ds rss=10M m_net_in=2M p_energy=3J\n" \
             "phase b %ds wait=50%% rss=30M read=8M m_net_in=1M p_energy=5J code=make/f:50%%,cc1/f:50%%\nphase c %ds rss=10M\n"
    for name, times, keep in (("every.data", 1, []), ("every_thinned.data", 60, ["--keep", "1m"]),
                              ("every_long.data", 360, [])):  # an interval of 18000 periods
        record(name, script % (4 * times, 2 * times, 4 * times), *keep)
        found = table("export", "-i", name, "--every", "%ds" % (5 * times))
        assert len(found) == 2 and list(found[0])[:8] == list(table("export", "-i", name, "--every", "1h")[0])[:8], found
        assert abs(sum(float(row["wait_s"]) for row in found) / times - 2) < 1e-3, found
        assert abs(sum(float(row["m_net_in_mib"]) for row in found) / times - 10) < 1e-3, found
        assert abs(sum(float(row["read_mib"]) for row in found) / times - 16) < .1, found
        for row in found:
            assert (row["rss_mib_min"], row["rss_mib_max"]) == ("10", "30") and 10 < float(row["rss_mib"]) < 30, row
            assert row["wait_s_per_s_min"] == "0" and abs(float(row["wait_s_per_s_max"]) - 1) < .01, row
            assert row["m_net_out_mib"] == row["m_net_out_mib_s_max"] == row["fds"] == "", row
        programs = [name for name in found[0] if name.startswith("program")]
        assert programs == ["program_make_samples", "program_cc1_samples"] == list(found[0])[-2:], programs
        for every in ("%ds" % (5 * times), "7s"):
            parts = table("export", "-i", name, "--every", every)
            assert [sum(int(row[program]) for row in parts) for program in programs] == [1683 * times, 99 * times], every
    # periods of different lengths are weighted in a mean, also as blocks in the store
    record("weights.data", "late 3s 6s\ndefault instructions=1M\nphase a 3s threads=1\nphase b 6200ms threads=5\nphase c 10s threads=1\n")
    (row,), (mean,) = table("export", "-i", "weights.data", "--every", "1h"), rows(
        "weights.data", "SELECT sum(1.0 * s3 * length_us) / sum(length_us) FROM reading WHERE source = 0")
    assert row["block"] == "1" and abs(float(row["threads"]) - mean[0]) < 1e-6, (row["threads"], mean)
    script = "".join("task p%d %d\n" % (n, 100 * n) for n in range(1, 13)) + "function f 0x1000 0x100 f.c:1\n" + \
             "".join("phase a %ds instructions=1M code=p%d/f\n" % (n, n) for n in range(1, 13))
    record("programs.data", script)
    row, = table("export", "-i", "programs.data", "--every", "1h")
    names = [name for name in row if name.startswith("program")]
    assert names == ["program_p%d_samples" % n for n in range(12, 2, -1)] + ["programs_other_samples"], names
    assert [int(row[name]) for name in names] == [99 * n for n in range(12, 2, -1)] + [99 * 3], row


def test_phases():
    """phases: a description of each class; for memory only what differs"""
    text = words(expect(FOLDER.call("phases", "-i", "waiting.data"), 0).stdout)
    assert "waits for a CPU 80 % of the time that it could run" in text and "RSS 100 MiB summed over processes (elsewhere 10 MiB)" in text, text
    assert "RSS 10 MiB summed over processes (elsewhere 100 MiB)" in text, text
    # threads that ended unread, in 10 % of the time of the threads of one phase: its RSS is a lower limit
    record("ended.data", "default threads=2 in=lock:1 wait=0%\nphase a 6s rss=10M\nphase b 6s rss=100M unseen=1200ms\n")
    text = words(expect(FOLDER.call("phases", "-i", "ended.data"), 0).stdout)
    assert "RSS 10 MiB summed over processes (elsewhere at least 100 MiB)" in text, text
    assert "RSS at least 100 MiB summed over processes (elsewhere 10 MiB)" in text, text
    found = words(expect(FOLDER.call("explain", "-i", "ended.data", "--from", "6s", "--to", "12s"), 0).stdout)
    assert "RSS at least 100 MiB summed over processes (rest of the run: 10 MiB)" in found, found
    for idle, is_listed in (0, True), (1, False):  # an idle thread waits for a lock, too, but is not counted as one
        record("pool.data", "default threads=2 wait=0%% idle=%d\nphase a 6s\nphase b 6s threads=3 in=lock:1 idle=0\n" % idle)
        found = words(expect(FOLDER.call("explain", "-i", "pool.data", "--from", "6s", "--to", "12s"), 0).stdout)
        assert ("has 1.0 threads asleep in lock or thread waits" in found) == is_listed, found
    record("starved.data", "phase work 2s\nphase starved 8s wait=99.5%\nphase work 2s\n")
    assert "B (waiting for a CPU) 8.0 s" in report("starved.data"), report("starved.data")
    assert "B (waiting for locks, threads or timers) 8.0 s" in words(report("locked.data")), report("locked.data")
    record("empty.data", "default threads=1 in=io:0 wait=0%\nphase work 2s\nsleep 8s in=timer:1\nphase work 2s\n")
    with contextlib.closing(store("empty.data")) as db, db:  # as of a control group without processes
        db.execute("DELETE FROM reading_rollup")
        db.execute("UPDATE reading SET s3 = 0, s7 = 0 WHERE source = 0 AND period BETWEEN 20 AND 99")
    assert "B (mostly no process) 8.0 s" in report("empty.data"), report("empty.data")
    text = words(expect(FOLDER.call("phases", "-i", "locked.data"), 0).stdout)
    assert "sleeps in lock or thread waits" in text and "RSS" not in text, text


def test_detector():
    """phases: a step of memory is a boundary, even if all counts stay the same; a change in waiting is not"""
    record("steps.data", "phase a 6s rss=10M wait=0%\nphase b 6s rss=200M\n")
    record("flat.data", "default threads=100 rss=10M in=lock\nphase a 6s\nphase b 6s in=lock:98 wait=50% m_wait=9\n")
    for name, found in (("steps.data", [0, 60]), ("flat.data", [0])):
        answer = json.loads(expect(FOLDER.call("phases", "-i", name, "--format", "json"), 0).stdout)
        assert [phase["first"] for phase in answer["phases"]] == found, answer["phases"]


def test_drawn():
    """plot and watch: panels in characters, and the second line"""
    text = expect(FOLDER.call("plot", "-i", "locked.data", "-o", "-"), 0).stdout
    assert re.search(r"(?m)^Threads +[rl]*l", text) and "l in lock or thread waits" in text, text
    assert re.search(r"^RSS +1 MiB$", text, re.M), text
    record("asleep.data", "default wait=0% threads=1\nsleep 4s in=timer:1\nphase work 4s in=io:0\n")
    text = expect(FOLDER.call("plot", "-i", "asleep.data", "-o", "-"), 0).stdout
    assert re.search(r"(?m)^Threads +-{30,}[ri]{30,}$", text) and "- mostly asleep" in text, text
    record("states.data", "default wait=0% threads=9\nphase w 2s wait=99.5% threads=1\nphase i 2s in=io:8\nphase l 2s in=lock:8\n"
                          "phase p 2s in=message:8\nphase r 2s\nsleep 2s in=timer:9\n")
    for columns in 40, 60, 80, 100:  # each letter has its name below
        text = expect(FOLDER.call("plot", "-i", "states.data", "-o", "-", env=environment(COLUMNS=str(columns))), 0).stdout
        letters, below = re.search(r"(?ms)^Threads +(\S+)\n(.*?)(?:^\S|\Z)", text).groups()
        assert set("wilpr-") <= set(letters) and set(letters) == set(re.findall(r"(?:^|  )(\S) [a-z]{2}", below, re.M)), text
        assert max(map(len, text.splitlines())) <= columns, text
    text = expect(FOLDER.call("plot", "-i", "none.data", "-o", "-"), 0).stdout
    assert "Threads" not in text and "RSS" not in text, text
    text = expect(FOLDER.call("watch", "-i", "locked.data"), 0).stdout
    assert re.search(r"threads running 3\d %  waiting 0 %  asleep 6\d %  RSS 1 MiB  written 100 MiB/s", text), text
    record("short.data", "phase work 1030ms threads=1 wait=0%\n")
    expect(FOLDER.call("plot", "-i", "short.data", "-o", "short.html"), 0)
    at = json.loads(re.search(rb'(?s)"threadsPanel": .*?"at": (\[.*?\])', FOLDER.read("short.html")).group(1))
    assert len(at) == 11 and at[-1] == 1.03, at  # the short reading at the end gets no step
    record("early.data", "phase work 50ms threads=1 wait=0%\n", "--period", "5ms")
    expect(FOLDER.call("plot", "-i", "early.data", "-o", "early.html"), 0)
    panel = re.search(rb'(?s)"threadsPanel": .*?"at": (\[.*?\]).*?"share": (\[.*?\])', FOLDER.read("early.html"))
    at, share = (json.loads(part) for part in panel.groups())
    assert at[0] == 0.01 and set(share) == {1}, (at, share)  # the first 10 ms are unknown, not 0


def test_panels():
    """--panel selects the panels of threads, system metrics and code by the names that the picture shows"""
    def drawn(*names, output="-"):
        return FOLDER.call("plot", "-i", "locked.data", "-o", output, *[word for name in names for word in ("--panel", name)])

    for names, shown in ((("threads",), {"Threads"}), (("summed OVER",), {"RSS"}), (("rss",), {"RSS"}), (("RSS", "Threads"), {"RSS", "Threads"}),
                         (("per instruction",), set()), (("per instruction", "rss"), {"RSS"})):
        text = expect(drawn(*names), 0).stdout
        assert {name for name in ("Threads", "RSS", "FDs") if re.search("(?m)^%s " % name, text)} == shown, (names, text)
        assert ("per instruction" in text) == ("per instruction" in names), (names, text)
    for name in "threads", "rss":
        expect(drawn(name, output="p.svg"), 0)
        picture = FOLDER.read("p.svg").decode()
        assert ("Threads: mean number" in picture, "RSS (MiB, summed" in picture) == (name == "threads", name == "rss"), name
    refused(drawn("power"), 1, "has no data for this panel")
    refused(drawn("none such"), 2, "or 'Threads', 'Code' and")
    refused(FOLDER.call("plot", "-i", "locked.data", "--kind", "heat", "-o", "h.svg", "--panel", "threads"), 2, "has 'threads' in its title")


def test_answer():
    """report: a phase's words in one pair of brackets; no phase of a short run; a rate appears once"""
    record("talk.data", "default threads=1 in=io:0 wait=0%\nphase work 3s\nsleep 4s in=message:1\nphase work 3s\n")
    assert "B (waiting for data or timers) 4.0 s" in report("talk.data"), report("talk.data")
    assert PHASES + " 1 (" in report("flat.data"), report("flat.data")
    record("brief.data", "phase work 500ms\n")
    assert PHASES not in report("brief.data"), report("brief.data")
    expect(FOLDER.call(*counting(), "-q", "-o", "once.data", "true"), 0)
    text = report("once.data")
    (elapsed_ns,), = rows("once.data", "SELECT elapsed_ns FROM run")
    if elapsed_ns < 10**9:  # too short for a share and a rate; a loaded machine may take longer
        assert len(re.findall(r"(?m)^ +Minor faults +\d", text)) == 1 and "/s" not in text, text
        assert re.search(r"while recording, \S+ s afterwards", text), text
    figures = json.loads(report("once.data", "--format", "json"))["figures"]
    assert [one["unit"] for one in figures if one["label"] == "Minor faults"] == ["events", "/s"], figures
    with contextlib.closing(store("once.data")) as db:  # what ticks of 10 ms cannot show is unknown
        others_ns, wait_us, end_ns, elapsed_ns = db.execute(
            "SELECT others_cpu_ns, wait, end_ns, elapsed_ns FROM run JOIN reading_tree USING (run_id) ORDER BY period").fetchone()
    assert others_ns is None or elapsed_ns >= 10**9, (others_ns, elapsed_ns)
    assert wait_us is None or end_ns > 10**7, (wait_us, end_ns)
    if end_ns <= 10**7:
        assert json.loads(report("once.data", "--format", "json"))["system"]["wait_s"] is None
        row = next(csv.DictReader(expect(FOLDER.call("export", "-i", "once.data"), 0).stdout.splitlines()))
        assert row["wait_s_per_s"] == row["in_timer"] == "", row


def test_compare():
    """compare: rows, and a remark if one side waited"""
    text = words(expect(FOLDER.call("compare", "-i", "locked.data", "-i", "waiting.data", "1", "1"),
                        0).stdout)
    assert re.search("The machine was busy: other programs used at least 0 % of the CPU time that run 1 of locked.data "
                     r"could have used \(0 s of \S+ s\), and at least 64 % of that of run 1 of waiting.data \(\S+ s of 10 s\)\.", text), text
    assert re.search(r"Waiting for a CPU 0 s 6\.4\d* s", text), text
    answer = json.loads(expect(FOLDER.call("compare", "-i", "locked.data", "-i", "waiting.data", "1", "1", "--format", "json"), 0).stdout)["answer"]
    assert "other programs took at least 64 % of the CPU time that one side could have used: compare CPU time, not elapsed time" in answer, answer
    text = words(expect(FOLDER.call("compare", "-i", "none.data", "-i", "waiting.data", "1", "1"),
                        0).stdout)
    assert "busy" not in text and "Waiting for a CPU" not in text.split("Remarks")[0], text


# Each second: 0.5 s waiting while it runs, 1,000 KiB read; memory peaks in one period.
LONG = """\
default threads=2 in=lock wait=50% read=1000K rss=10M
phase a 29900ms
phase peak 100ms rss=300M
phase b 1800s
sleep 1770s
"""


def test_thinned():
    """--keep: sums and peaks are kept"""
    record("fine.data", LONG)
    record("thin.data", LONG, "--keep", "1m")
    fine, thin = (rows(name, "SELECT count(*) FROM reading")[0][0] for name in ("fine.data", "thin.data"))
    assert fine == 36000 and thin < 4000, (fine, thin)
    for name in ("fine.data", "thin.data"):
        near(system(name), on_cpu_s=915, wait_s=915, threads_s=7200, in_lock_s=1830 + 2 * 1770,
             rss_low_mib=10, rss_high_mib=300)
        listed = table("export", "-i", name, "--format", "signals")
        assert sum(int(row["readings"]) for row in listed) == 36000
        assert sum(int(row["wait_us"]) for row in listed) == 915000000, name
        assert sum(int(row["read_kib"]) for row in listed) == 1000 * 3600, name
    peak, = [row for row in listed if int(row["period"]) <= 299 <= int(row["last_period"])]
    assert (peak["readings"], peak["rss_kib_low"], peak["rss_kib"], peak["rss_kib_high"]) == (
        "16", "10240", str((15 * 10240 + 307200) // 16), "307200"), peak
    expect(FOLDER.call("check", "-i", "thin.data"), 0)


def test_region():
    """report --region: the blocks inside the region, and readings up to them"""
    db = store("fine.data")
    db.executemany("INSERT INTO mark (run_id, mark_no, time_ns, text) SELECT 1, count(*), ?, ? FROM mark",
                   [(int(at * 1e9), "region r " + what) for at, what in
                    ((100.3, "begin"), (1000.7, "end"), (1500, "begin"), (1500.5, "end"))])
    db.commit()
    db.close()
    near(system("fine.data", "--region", "r"), wait_s=450.2 + 0.25, read_mib_s=1000 / 1024, rss_high_mib=10)


def test_merged():
    """merge: readings are copied, each to its run"""
    expect(FOLDER.call("merge", "-i", "merged.data", "waiting.data", "locked.data", "thin.data"), 0)
    for run, name in enumerate(("waiting.data", "locked.data", "thin.data"), 1):
        assert system("merged.data", "-r", str(run)) == system(name), name
        assert words(report("merged.data", "-r", str(run))).count("asleep") == words(report(name)).count("asleep")
    expect(FOLDER.call("check", "-i", "merged.data"), 0)


def test_killed():
    """a killed recording has all readings up to its last period"""
    FOLDER.write("script.sim", EVENTS + "phase a 300d threads=2 in=lock wait=50% read=1M\n")
    recorder = subprocess.Popen([RPISTAT, "record", "-q", "--pmu", "sim:script.sim", "-o", "killed.data",
                                 "--commit", "0", "--order", "fixed"], cwd=FOLDER.path)
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                if rows("killed.data", "SELECT count(*) > 5000 FROM reading") == [(1,)]:
                    break
            except sqlite3.Error:
                pass
            time.sleep(0.05)
    finally:
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
    expect(FOLDER.call("check", "-i", "killed.data"), 0)
    (periods, readings), = rows("killed.data", "SELECT (SELECT count(*) FROM period), count(*) FROM reading")
    assert readings > 5000 and 0 <= periods - readings <= 1, (periods, readings)
    time_s = system("killed.data")  # the last period may lack its reading: it has CPU time but no time of threads
    near(time_s, wait_s=readings / 20, in_lock_s=time_s["asleep_s"])
    assert abs(time_s["in_lock_s"] - readings / 10) < 0.11, time_s
    listed = table("export", "-i", "killed.data", "--format", "signals")
    assert len(listed) == readings
    assert sum(int(row["read_kib"]) for row in listed) == 1024 * readings // 10


def test_failed():
    """a failed reading is NULL, no cell, and in no sum"""
    record("failed.data", "fail-reading 2s 1s\nphase a 10s threads=3 in=io wait=50% read=10M rss=9M\n")
    assert rows("failed.data", "SELECT min(period), max(period), count(*) FROM reading WHERE s1 IS NULL"
                " AND s3 NOTNULL AND s10 IS NULL") == [(19, 28, 10)]
    assert rows("failed.data", "SELECT count(*), min(s1), max(s1) FROM reading WHERE s1 NOTNULL") == [
        (90, 50000, 50000)]
    listed = table("export", "-i", "failed.data", "--format", "signals")
    assert [row["period"] for row in listed if row["wait_us"] == ""] == [str(n) for n in range(19, 29)]
    wide = table("export", "-i", "failed.data")
    assert [row["rss_mib"] for row in wide] == ["9"] * 19 + [""] * 10 + ["9"] * 71
    near(system("failed.data"), wait_s=4.5, in_io_s=18, rss_low_mib=9, read_mib_s=10)


def test_factor():
    """expensive readings are taken less often, with a mark; the sums are the same"""
    dear = "reading 1240us\nphase a 30s threads=100 in=io wait=50% read=10M rss=9M\n"
    record("dear.data", dear)
    periods = [period for period, in rows("dear.data", "SELECT period FROM reading ORDER BY period")]
    assert periods == [0, 1, 2, *range(15, 300, 13), 299], periods
    assert rows("dear.data", "SELECT time_ns, text FROM mark") == [
        (300000000, "system metrics are read every 1.300 s: 100 threads")]
    near(system("dear.data"), on_cpu_s=15, wait_s=15, in_io_s=2970, read_mib_s=10)
    record("rich.data", dear, "--system-metrics-budget", "2%")
    assert rows("rich.data", "SELECT count(*) FROM reading") == [(300,)]
    assert rows("rich.data", "SELECT count(*) FROM mark") == [(0,)]
    near(system("rich.data"), on_cpu_s=15, wait_s=15, in_io_s=2970, read_mib_s=10)


def test_options():
    """--system-metrics: selects among the readings that exist"""
    script = "phase a 1s threads=2 in=io m_wait=2\n"
    for what, sources in (("all", [0, 1]), ("tree", [0]), ("machine", [1]), ("off", [])):
        record(what + ".data", script, "--system-metrics", what)
        for name in ("signal", "reading"):
            assert rows(what + ".data", "SELECT DISTINCT source FROM %s ORDER BY 1" % name) == [
                (source,) for source in sources], (what, name)


def test_heard():
    """children that end between two readings are known, with samples and without"""
    for options in ([], ["--no-samples"]):
        name = "heard%d.data" % len(options)
        expect(FOLDER.call(*counting(), "-q", *options, "--period", "1m", "-o", name, "--", "sh", "-c",
                           "for i in 1 2 3 4 5; do sleep 0.03; done"), 0)
        (unseen, elapsed), = rows(name, "SELECT (SELECT sum(s2) FROM reading WHERE source = 0), elapsed_ns / 1000 FROM run")
        assert 150000 <= unseen <= 2 * elapsed, (unseen, elapsed)


LIMITED = """\
default threads=1 in=io:0 g_throttled=0 g_memory=64M
phase work 2s
phase stopped 4s wait=75%% g_throttled=%s g_read=3M
"""


def test_group():
    """a control group's limit: a sentence from 5 % of the time, the row of compare, sums in the store"""
    record("limited.data", LIMITED % "750ms")
    text = words(report("limited.data"))
    assert ("Threads: 3.0 s running (50 %), 3.0 s waiting for a CPU (50 %), 0.0 s asleep (0 %); total 6.0 s "
            "CPU limit: the control group's limit stopped it for 3.0 s P" in text), text
    near(system("limited.data"), throttled_s=3)
    record("hardly.data", LIMITED % "74ms")
    assert LIMIT not in report("hardly.data"), report("hardly.data")
    near(system("hardly.data"), throttled_s=0.296)
    record("wide.data", "phase work 2s threads=4 wait=0% g_throttled=3s\n")
    assert LIMIT + " the control group's limit stopped it for 6.0 s (sum over CPUs)" in words(report("wide.data"))
    record("others.data", "phase work 2s threads=1 wait=50% g_throttled=1.5s\n")
    assert "stopped it for 3.0 s (sum over CPUs)" in words(report("others.data")), report("others.data")
    record("alone.data", "phase work 2s g_throttled=1s\n")
    assert LIMIT + " the control group's limit stopped it for 2.000 s (sum over CPUs)" in words(report("alone.data")), report("alone.data")
    text = words(expect(FOLDER.call("compare", "-i", "limited.data", "-i", "hardly.data", "1", "1"), 0).stdout)
    assert re.search(r"Stopped by a CPU limit 3\.00 s 0\.296 s", text), text
    assert rows("limited.data", "SELECT name, total, lowest, highest, state FROM signal WHERE source = 2 ORDER BY slot") == [
        ("g_throttled", 3000000, 0, 750000, "read"), ("g_memory", 6 * 65536, 65536, 65536, "read"),
        ("g_read", 12288, 0, 3072, "read"), ("g_written", None, None, None, "unsupported")]
    listed = table("export", "-i", "limited.data", "--format", "signals")
    assert sum(int(row["g_throttled_us"] or 0) for row in listed) == 3000000
    assert {row["source"] for row in listed} == {"tree", "group"}
    wide = table("export", "-i", "limited.data")
    assert list(wide[0])[-7:] == ["m_wait", "g_throttled_s_per_s", "g_memory_mib", "g_read_mib_s", "g_written_mib_s", "idle", "fds"]
    assert [(row["period"], row["g_throttled_s_per_s"], row["g_memory_mib"]) for row in wide if row["g_memory_mib"]] == [
        (str(10 * n + 9), "0" if n < 2 else "0.75", "64") for n in range(6)]
    assert {row["g_written_mib_s"] for row in wide} == {""}
    expect(FOLDER.call("check", "-i", "limited.data"), 0)


def test_late():
    """a recorder that was stopped for seconds has one long reading, and all sums"""
    record("late.data", "late 2s 3s\nphase a 10s threads=2 in=lock:1 wait=50% read=1000K\n")
    lengths = [length for length, in rows("late.data", "SELECT length_us FROM reading ORDER BY period")]
    assert sorted(lengths)[-2:] == [100000, 3100000] and sum(lengths) == 10000000, lengths
    near(system("late.data"), on_cpu_s=5, wait_s=5, in_lock_s=10, threads_s=20, read_mib_s=1000 / 1024)


def test_long_wait():
    """a wait longer than its period is stored where it ends, and shown for all the time that its thread was off the CPU"""
    record("long.data", "default threads=1 rss=1M wait=50%\nphase a 10s\n")
    db = store("long.data")
    db.execute("UPDATE reading SET s1 = CASE WHEN period = 50 THEN 4000000 ELSE 0 END")
    db.execute("DELETE FROM reading_rollup")
    db.commit()
    db.close()
    near(system("long.data"), on_cpu_s=5, wait_s=4, asleep_s=1)
    row = table("export", "-i", "long.data")[50]
    assert row["wait_s_per_s"] == "40", row
    part = words(report("long.data", "--from", "5s", "--to", "5.1s"))
    assert "Threads: 0.050 s running (50 %), 0.050 s waiting for a CPU (50 %, others used it), " in part, part
    expect(FOLDER.call("plot", "-i", "long.data", "-o", "long.html"), 0)
    assert re.search(rb'"threadsPanel": \{[^}]*?"top": (\d+)', FOLDER.read("long.html")).group(1) == b"1"


def test_partial():
    """if some readings of a sum are unknown, the store has the number of known ones"""
    assert rows("failed.data", "SELECT name, readings FROM signal WHERE name IN ('wait', 'threads', 'read')") == [
        ("wait", 90), ("threads", 100), ("read", 90)]


EXEC = """\
import os, threading, time
def spin():
    os.execv("/bin/sh", ["sh", "-c", "> executed; until [ -e read ]; do i=$((i+1)); done"])
for target in (time.sleep, time.sleep, spin):
    threading.Thread(target=target, args=(99,) if target != spin else (), daemon=True).start()
time.sleep(99)
"""


def test_exec():
    """a thread other than the first executes another program: it is still read, as one thread"""
    FOLDER.write("exec.py", EXEC)
    with subprocess.Popen([RPISTAT, *counting(), "-q", "--period", "5ms", "--commit", "0", "--system-metrics-budget", "100%",
                           "-o", "exec.data", "--", "python3", "exec.py"], cwd=FOLDER.path) as recorder:
        try:
            deadline, threads = time.monotonic() + 300, []
            while not os.path.exists(FOLDER / "executed"):
                assert time.monotonic() < deadline and recorder.poll() is None
                time.sleep(0.01)
            since_ns = time.monotonic_ns()
            while len(threads) < 3:
                assert time.monotonic() < deadline and recorder.poll() is None
                threads = [n for n, in rows("exec.data", "SELECT s3 FROM reading JOIN run USING (run_id) WHERE source = 0 AND "
                                            "start_monotonic_ns + end_ns > %d" % since_ns)]
                time.sleep(0.01)
        finally:
            FOLDER.write("read", "")
    assert recorder.returncode == 0 and threads == [1] * len(threads), threads


# Six threads, four of which are idle while the first one sleeps in a timer.
PARKED = """\
default threads=6 wait=0%
phase work 2s in=timer:1,lock:4
sleep 8s in=timer:2 idle=4
"""


def make_old(name):
    """Move idle threads to locks, as in stores that do not have this metric."""
    db = store(name)
    for table in ("reading", "reading_rollup"):
        db.execute("UPDATE %s SET s5 = s5 + s15, s15 = NULL WHERE source = 0" % table)
    db.execute("UPDATE reading_rollup SET n15 = NULL, l15 = NULL, h15 = NULL WHERE source = 0")
    db.execute("DELETE FROM signal WHERE source = 0 AND slot = 15")
    db.commit()
    db.close()


def test_idle():
    """idle threads are in no reason, total or name, and have a line, a number and a column of their own"""
    for name in ("parked.data", "old.data"):
        record(name, PARKED)
    make_old("old.data")
    expect(FOLDER.call("check", "-i", "parked.data"), 0)
    near(system("parked.data"), idle_s=32, threads_s=28, asleep_s=26, in_lock_s=8, in_timer_s=18)
    assert words(report("parked.data")).count(", not counting 3 idle threads ") == 1, report("parked.data")
    assert ", not counting 4 idle threads " in words(report("parked.data", "--from", "3s"))
    assert "B (asleep in timers) 8.0 s" in report("parked.data"), report("parked.data")
    assert system("old.data")["idle_s"] is None
    near(system("old.data"), threads_s=60, asleep_s=58, in_lock_s=40, in_timer_s=18)
    text = words(report("old.data"))
    assert "40.0 s in lock or thread waits" in text and IDLE not in text, text
    for name, cell in (("parked.data", "4"), ("old.data", "")):
        for form in ([], ["--format", "signals"]):
            last = table("export", "-i", name, *form)[-1]
            assert last["idle"] == cell, (name, form, last)
    text = expect(FOLDER.call("watch", "-i", "parked.data"), 0).stdout
    assert re.search(r"asleep 100 %  4 idle", text), text
    expect(FOLDER.call("plot", "-i", "parked.data", "-o", "parked.html"), 0)
    top = json.loads(re.search(rb'"threadsPanel": \{[^}]*?"top": ([\d.]+)', FOLDER.read("parked.html")).group(1))
    assert top == 5, top  # one on a CPU and four in locks in the first part


def test_disks():
    """phases: for a machine, the disk reads and writes of a class, unless they may be a chance burst"""
    record("disks.data", "default threads=1 wait=0% m_wait=1\nphase a 8s\nphase b 8s branches=40M\nphase c 8s\n")
    db = store("disks.data")
    for table in ("period", "rollup"):
        db.execute("UPDATE %s SET cpu = 0" % table)  # like a recording by CPU
    for table in ("reading", "reading_rollup"):
        db.execute("DELETE FROM %s WHERE source = 0" % table)
    # 200 MiB/s are read in b, and 2 MiB/s elsewhere; 1 MiB/s is written, and 1 GiB at once in a
    db.execute("UPDATE reading SET s7 = length_us * iif(period BETWEEN 80 AND 159, 0.2048, 0.002048), "
               "s8 = length_us * iif(period BETWEEN 20 AND 29, 1.048576, 0.001024)")
    db.commit()
    db.close()
    text = words(expect(FOLDER.call("phases", "-i", "disks.data"), 0).stdout)
    assert "reads 200 MiB/s from disks (elsewhere 2.0 MiB/s)" in text, text
    assert text.count("from disks") == 1 and "to disks" not in text, text
    db = store("disks.data")
    # readings differ in length: 7 of 10 MiB/s take three times as long as 8 of 50 MiB/s
    db.execute("UPDATE reading SET length_us = length_us * iif(period < 80, 3, 1)")
    db.execute("UPDATE reading SET s8 = 0, s7 = length_us * iif(period BETWEEN 80 AND 159, 20480, "
               "iif(period < 80, 1024, 5120)) / 100000")
    db.commit()
    db.close()
    text = words(expect(FOLDER.call("phases", "-i", "disks.data"), 0).stdout)
    assert "reads 200 MiB/s from disks (elsewhere 21 MiB/s)" in text, text


def test_idle_is_no_boundary():
    """phases, compare: threads that become idle are no boundary, and an old store has the same phases"""
    script = "default threads=6 wait=0%%\nphase a 2s in=timer:5\nphase b 4s in=lock:4,timer:1\nphase c 4s %s\n"
    record("turned.data", script % "in=timer:1 idle=4")
    record("before.data", script % "in=timer:1 idle=4")
    make_old("before.data")
    found = [[phase["first"] for phase in json.loads(expect(FOLDER.call(
        "phases", "-i", name, "--format", "json"), 0).stdout)["phases"]] for name in ("turned.data", "before.data")]
    assert found == [[0, 20]] * 2, found
    answer = json.loads(expect(FOLDER.call("compare", "-i", "before.data", "-i", "turned.data", "1", "1",
                                           "--format", "json"), 0).stdout)
    assert [(row["label"], row["a_times"], row["b_times"], row["a_start_s"], row["b_start_s"]) for row in answer["rows"]] == [
        (None, 1, 1, 0, 0), ("A", 1, 1, 0, 0), ("B", 1, 1, 2, 2)], answer["rows"]


def test_deadlock():
    """report: the first sentence says that no thread ran and all slept in futex, if their timeouts are known"""
    record("stuck.data", "sleep 10s threads=3 in=lock:2 idle=1 futex=3 wait=0%\n")
    time_line = report("stuck.data").splitlines()[1:]
    text = words(" ".join(time_line))
    assert text.startswith("Note: possible deadlock (no thread ran; threads asleep in futex: 3) Threads: "), text
    assert "total 20.0 s, not counting 1 idle thread" in text, text
    record("parked.data", "sleep 10s threads=3 idle=3 futex=3 wait=0%\n")
    assert DEADLOCK in report("parked.data") and "Threads: 3 idle threads\n" in report("parked.data"), report("parked.data")
    record("began.data", "phase work 100ms threads=3 in=lock:2 futex=2 wait=0%\nsleep 9900ms threads=3 in=lock:2 idle=1 futex=3\n")
    text = words(report("began.data"))
    assert "Note: possible deadlock (no thread ran for 99.0 % of the elapsed time; threads asleep in futex: 3)" in text, text
    for name, script in (("sleeps", "sleep 10s threads=3 in=lock:2,timer:1 futex=2 wait=0%\n"),
                         ("older", "sleep 10s threads=3 in=lock:2 idle=1 wait=0%\n"),
                         ("works", "phase a 1s threads=3 in=lock:2 futex=2 wait=0%\nsleep 9s in=lock:3 futex=3\n")):
        record(name + ".data", script)
        assert DEADLOCK not in report(name + ".data"), report(name + ".data")


PARKED_THREADS = """\
import threading, time
event, lock = threading.Event(), threading.Lock()
for _ in range(3):
    threading.Thread(target=event.wait, daemon=True).start()
time.sleep(1.5)
"""

CROSSED_LOCKS = """\
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *take(void *is_first)
{
    pthread_mutex_lock(is_first ? &one : &two);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(is_first ? &two : &one);
    return NULL;
}
int main(void)
{
    pthread_t thread[2];
    pthread_barrier_init(&both, NULL, 2);
    for (long i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, take, (void *)i) != 0)
            abort();
    pthread_join(thread[0], NULL);
}
"""


def record_on_time(name, status, *command):
    """Record again until a loaded machine let each reading be at most 0.2 s after the one before it. The command's status is
    always this one."""
    deadline, longest_us = time.monotonic() + 300, None
    while longest_us is None or longest_us > 200000:
        assert time.monotonic() < deadline, "the longest distance of readings is %s us" % longest_us
        with contextlib.suppress(FileNotFoundError):
            os.unlink(FOLDER / name)
        expect(FOLDER.call(*counting(), "-q", "-o", name, "--", *command), status)
        (longest_us,), = rows(name, "SELECT max(length_us) FROM reading WHERE source = 0")
    return system(name)


def test_real_threads():
    """parked threads are idle from their first reading; threads that wait for a mutex are in locks"""
    FOLDER.write("parked.py", PARKED_THREADS)
    answer = record_on_time("real.data", 0, "python3", "parked.py")
    if answer["idle_s"] is None:
        raise tap.Skip("this kernel does not tell in what threads sleep")
    assert answer["idle_s"] > 3 and answer["in_lock_s"] < answer["idle_s"] / 3, answer
    if not shutil.which("cc"):
        raise tap.Skip("no C compiler")
    FOLDER.write("deadlock.c", CROSSED_LOCKS)
    subprocess.run(["cc", "-pthread", "-o", "deadlock", "deadlock.c"], cwd=FOLDER.path, check=True)
    answer = record_on_time("dead.data", 124, "timeout", "3", "./deadlock")
    assert answer["in_lock_s"] > 4, answer  # two threads, neither of which becomes idle
    assert 1.5 < answer["idle_s"] < 3.5, answer  # the first one, in pthread_join
    assert "threads asleep in futex: 3)" in words(report("dead.data")), report("dead.data")
    answer = record_on_time("event.data", 0, "python3", "-c", "import threading; threading.Event().wait(2)")
    assert answer["in_timer_s"] > 1 and answer["in_lock_s"] < .5, answer
    assert DEADLOCK not in report("event.data"), report("event.data")


with FOLDER:
    tap.main([test_one_thread, test_descriptors, test_threads, test_bytes, test_unseen, test_sums, test_not_read, test_export, test_export_every, test_phases,
              test_detector, test_drawn, test_panels, test_compare, test_thinned, test_region, test_merged, test_killed,
              test_failed, test_factor, test_options, test_heard, test_group, test_exec, test_hidden,
              test_late, test_long_wait, test_partial, test_idle, test_disks, test_idle_is_no_boundary,
              test_deadlock, test_real_threads, test_answer])
