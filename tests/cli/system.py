"""System signals: what readings beside the counters say, in every command. Readings are put into the
store by hand, so that each sum and each word is known beforehand."""
import csv
import io
import json
import os
import re
import sqlite3

from program import Folder, expect, refused, tap

FOLDER = Folder()

# On a CPU for two seconds, off it for eight, then two more.
SCRIPT = """\
clock 700M
seed 1
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase work 2s
sleep 8s
phase work 2s
"""

TREE = ["running", "wait", "unseen", "threads", "in_io", "in_lock", "in_message", "in_timer",
        "in_child", "in_other", "rss", "read", "written", "disk_read", "disk_written"]
GAUGES = ["threads", "rss"] + [name for name in TREE if name.startswith("in_")]


def store(name):
    return sqlite3.connect(FOLDER / name)


def record(name, reading, steal=0):
    """A run with what reading(period) says of the tree: a dictionary, None: no reading."""
    expect(FOLDER.call("record", "-q", "--pmu", "sim:script.sim", "-o", name), 0)
    db = store(name)
    run, = db.execute("SELECT max(run_id) FROM run").fetchone()
    for table in ("signal", "reading", "reading_rollup"):
        db.execute("DELETE FROM %s WHERE run_id = ?" % table, (run,))
    for slot, signal in enumerate(TREE):
        unit = "KiB" if slot > 9 else "threads" if slot > 2 else "us"
        db.execute("INSERT INTO signal (run_id, source, slot, name, label, unit, kind, origin,"
                   " explain, state, reason) VALUES (?, 0, ?, ?, ?, ?, ?, '', '', 'read', '')",
                   (run, slot, signal, signal, unit, "gauge" if signal in GAUGES else "counter"))
    periods = db.execute("SELECT period, start_ns, length_ns FROM period WHERE run_id = ?"
                         " ORDER BY period", (run,)).fetchall()
    for period, start_ns, length_ns in periods:
        values = reading(period)
        end_ns, length_us = start_ns + length_ns, length_ns // 1000
        if values is not None:
            db.execute("INSERT INTO reading (run_id, source, period, end_ns, length_us, %s)"
                       " VALUES (%s)" % (", ".join("s%d" % TREE.index(key) for key in values),
                                         ", ".join("?" * (5 + len(values)))),
                       (run, 0, period, end_ns, length_us, *values.values()))
        if steal:
            db.execute("INSERT INTO reading (run_id, source, period, end_ns, length_us, s0, s1)"
                       " VALUES (?, 1, ?, ?, ?, 3, ?)",
                       (run, period, end_ns, length_us, int(steal * length_us)))
    db.commit()
    db.close()
    return len(periods)


def is_off(period):
    return 20 <= period < 100


def waiting(period):
    """One thread, which waits for four fifths of the time that it is off the CPU."""
    values = dict.fromkeys(TREE, 0)
    values.update(threads=1, rss=102400 if is_off(period) else 10240)
    values["wait" if is_off(period) else "running"] = 80000 if is_off(period) else 100000
    return values


def locked(period):
    """Four threads, of which two or three are in locks; one waits for a child."""
    values = dict.fromkeys(TREE, 0)
    values.update(threads=4, in_lock=3 if is_off(period) else 2, in_child=1, rss=1024, written=10240)
    if not is_off(period):
        values["running"] = 100000
    return values


def report(name, *arguments):
    return expect(FOLDER.call("report", "-i", name, *arguments), 0).stdout


def words(text):
    return " ".join(text.split())


def test_one_thread():
    """report: of one thread what is on a CPU, waiting and asleep is all of the time"""
    record("waiting.data", waiting)
    assert ("Of 12.0 s: 4.0 s on a CPU, 6.4 s waiting for one (others had it), 1.6 s asleep. "
            in words(report("waiting.data"))), report("waiting.data")
    system = json.loads(report("waiting.data", "--format", "json"))["system"]
    for name, value in (("on_cpu_s", 4), ("wait_s", 6.4), ("asleep_s", 1.6), ("threads_s", 12),
                        ("unseen_s", 0), ("in_lock_s", 0), ("rss_low_mib", 10),
                        ("rss_high_mib", 100), ("rss_mib", 70)):
        assert abs(system[name] - value) < 0.02, (name, system)
    assert system["m_wait"] is None and system["stolen"] is None, system
    for form in ("markdown", "html"):
        assert "6.4 s waiting for one" in report("waiting.data", "--format", form)
    part = words(report("waiting.data", "--from", "4s", "--to", "6s"))
    assert "Of 2.0 s: 0.0 s on a CPU, 1.6 s waiting for one (others had it), 0.4 s asleep." in part


def test_threads():
    """report: of several threads what they wanted and slept in; those waiting for children are not"""
    record("locked.data", locked, steal=0.05 * (os.cpu_count() or 1))
    text = words(report("locked.data"))
    assert ("Its threads wanted a CPU for 4.0 s: they had one for 4.0 s (100 %) and waited 0.0 s. "
            "Asleep: 32.0 s in locks. The hypervisor took 5 % of the CPUs. " in text), text
    system = json.loads(report("locked.data", "--format", "json"))["system"]
    assert abs(system["threads_s"] - 36) < 0.05 and abs(system["asleep_s"] - 32) < 0.05, system
    assert abs(system["stolen"] - 0.05) < 1e-3 and system["m_wait"] == 3, system


def test_unseen():
    """report: threads that ended unread are told, and never shared out"""
    record("unseen.data", lambda period: dict.fromkeys(TREE, 0) | {
        "threads": 1, "running": 0 if is_off(period) else 50000,
        "unseen": 0 if is_off(period) else 200000})
    text = words(report("unseen.data"))
    assert "8.0 s of short-lived threads were not seen, 2.0 of them on a CPU." in text, text


def test_not_read():
    """nothing is said of what was not read: no wait, no reasons, no readings"""
    record("none.data", lambda period: None)
    record("bare.data", lambda period: {"threads": 1, "rss": 1024})
    for name in ("none.data", "bare.data"):
        text = report(name)
        assert "waiting for one" not in text and "asleep" not in text, text
    assert "system" not in json.loads(report("none.data", "--format", "json"))
    assert json.loads(report("bare.data", "--format", "json"))["system"]["wait_s"] is None
    assert "wait_s_per_s" not in expect(FOLDER.call("export", "-i", "none.data"), 0).stdout
    row = table("export", "-i", "bare.data")[5]
    assert row["wait_s_per_s"] == row["in_io"] == "" and row["rss_mib"] == "1", row


def table(*arguments):
    return list(csv.DictReader(io.StringIO(expect(FOLDER.call(*arguments), 0).stdout)))


def test_export():
    """export: cells behind all others, and the format signals, a row a reading"""
    for form in ([], ["--rates"]):
        wide = table("export", "-i", "waiting.data", *form)
        assert list(wide[0])[-14:-1][:2] == ["wait_s_per_s", "threads"], list(wide[0])
        assert list(wide[0])[-1] == "m_wait"
        number = 50 if not form else len(wide) // 2
        assert abs(float(wide[number]["wait_s_per_s"]) - 0.8) < 1e-3, wide[number]
        assert float(wide[number]["rss_mib"]) == 100 and wide[number]["m_wait"] == "", wide[number]
    rows = table("export", "-i", "waiting.data", "--format", "signals")
    assert len(rows) == 120 and rows[50]["wait_us"] == "80000" and rows[50]["rss_kib"] == "102400"
    assert rows[50]["source"] == "tree" and rows[50]["rss_kib_low"] == "", rows[50]
    for option in ("--rates", "--clock", "--follow"):
        refused(FOLDER.call("export", "--format", "signals", option, "-i", "waiting.data"), 2,
                "signals")


def test_phases():
    """phases: words for each kind; what differs alone is told of memory"""
    text = words(expect(FOLDER.call("phases", "-i", "waiting.data"), 0).stdout)
    assert "100 % waiting for a CPU" in text and "rss 100 MiB" in text and "rss 10.0 MiB" in text, text
    assert "B (waiting for a CPU) 8.000 s" in report("waiting.data"), report("waiting.data")
    assert "B (asleep in locks) 8.000 s" in report("locked.data"), report("locked.data")
    text = words(expect(FOLDER.call("phases", "-i", "locked.data"), 0).stdout)
    assert "asleep in locks" in text and "rss" not in text, text


def steps(period):
    values = dict.fromkeys(TREE, 0)
    values.update(threads=1, running=100000, rss=10240 if period < 60 else 204800)
    return values


def test_detector():
    """phases: memory that steps is a boundary, though all that is counted stays alike"""
    FOLDER.write("script.sim", re.sub(r"(?m)^(sleep|phase) .*\n", "", SCRIPT) + "phase work 12s\n")
    for name, reading, found in (("steps.data", steps, [0, 60]), ("flat.data", waiting_flat, [0])):
        record(name, reading)
        answer = json.loads(expect(FOLDER.call("phases", "-i", name, "--format", "json"), 0).stdout)
        assert [phase["first"] for phase in answer["phases"]] == found, answer["phases"]
    FOLDER.write("script.sim", SCRIPT)


def waiting_flat(period):
    """Waiting that comes and goes makes no phase."""
    values = dict.fromkeys(TREE, 0)
    values.update(threads=1, running=100000, wait=0 if period < 60 else 90000, rss=10240)
    return values


def test_drawn():
    """plot and watch: panels in characters, and the second line"""
    text = expect(FOLDER.call("plot", "-i", "locked.data", "-o", "-"), 0).stdout
    assert re.search(r"(?m)^Threads +[a-z]*b", text) and "in locks" in text, text
    assert "1 to 1 MiB, 1 at the end" in text, text
    text = expect(FOLDER.call("plot", "-i", "none.data", "-o", "-"), 0).stdout
    assert "Threads" not in text and "RSS" not in text, text
    text = expect(FOLDER.call("watch", "-i", "locked.data"), 0).stdout
    assert re.search(r"CPU 3\d %  waiting 0 %  asleep 6\d %  RSS 1 MiB  written 100 MiB/s", text), text


def test_compare():
    """compare: rows, and a remark where a side waited"""
    text = words(expect(FOLDER.call("compare", "-i", "locked.data", "-i", "waiting.data", "1", "1"),
                        0).stdout)
    assert ("The machine was busy: A waited for a CPU 0 %, B 62 % of the time it wanted one. Judge "
            "CPU time, not elapsed time." in text), text
    assert re.search(r"Waiting for a CPU 0 s 6\.4\d* s", text), text
    text = words(expect(FOLDER.call("compare", "-i", "none.data", "-i", "waiting.data", "1", "1"),
                        0).stdout)
    assert "busy" not in text and "Waiting for a CPU" not in text, text


with FOLDER:
    FOLDER.write("script.sim", SCRIPT)
    tap.main([test_one_thread, test_threads, test_unseen, test_not_read, test_export, test_phases,
              test_detector, test_drawn, test_compare])
