"""Samples of the simulated processor, in the store: every count follows from the script.

usage: simulated_samples.py RPISTAT
"""
import csv
import json
import re
import sqlite3

from program import Folder, expect, refused, tap

SCRIPT = """\
task main 100
task worker 100 101
function main    0x1000 0x100 main.c:10
function solve   0x2000 0x200 solve.c:21-24
function copy    0x4000 0x40
function do_read 0xffffffff81000000 0x100
lose-samples 3s 1s
throttle 5s
phase load 10s code=main>copy>do_read:80%,main>copy
phase solve 10s dc_miss=5k code=main>solve:60%,worker/main>solve:40%
sleep 5s
phase save 10s code=main>copy
"""
# Counts by the ten seconds that they are in.
BY_FUNCTION = """
SELECT p.start_ns / 10000000000, l.function, sum(c.samples)
FROM stack_count AS c JOIN period AS p USING (run_id, cpu, period) JOIN stack_frame AS s USING (run_id, stack)
JOIN location AS l USING (run_id, frame) GROUP BY 1, 2 ORDER BY 1, 2"""
BY_TASK = """
SELECT p.start_ns / 10000000000, t.name, t.pid, t.tid, sum(c.samples)
FROM task_count AS c JOIN period AS p USING (run_id, cpu, period) JOIN task AS t USING (run_id, task)
GROUP BY 1, t.task ORDER BY 1, t.task"""


def record(folder, *options):
    """What was recorded of the script, to be asked by SQL."""
    folder.write("code.sim", SCRIPT)
    store = "%d.data" % len(options)
    expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "-o", store, *options), 0)
    expect(folder.call("check", "-i", store), 0)
    return sqlite3.connect(folder / store)


def check_counts():
    """functions and threads have their shares in every phase, but for what was lost, and none in a sleep"""
    with Folder() as folder:
        store = record(folder, "--frequency", "100")
        # 1,000 a phase; 100 lost and one throttled of the first; the last begins at 25 s
        assert store.execute(BY_FUNCTION).fetchall() == [
            (0, "copy", 179), (0, "do_read", 720), (1, "solve", 1000), (2, "copy", 500), (3, "copy", 500)]
        assert store.execute(BY_TASK).fetchall() == [
            (0, "main", 100, 100, 899), (1, "main", 100, 100, 600), (1, "worker", 100, 101, 400),
            (2, "main", 100, 100, 500), (3, "main", 100, 100, 500)]
        assert store.execute("SELECT event, frequency, threshold, stacks, samples, complete, lost, throttled, "
                             "unmapped FROM sampling").fetchall() == [
            ("cpu-clock", 100, 0, "auto", 2899, 2899, 100, 1, 0)]
        silent = store.execute("SELECT count(*) FROM stack_count JOIN period USING (run_id, cpu, period) "
                               "WHERE start_ns BETWEEN 20000000000 AND 24999999999").fetchone()
        assert silent == (0,), silent


def check_names():
    """functions have the file and line of the script, callers that of the call, and stacks go down to main"""
    with Folder() as folder:
        store = record(folder)
        lines = store.execute("SELECT DISTINCT function, file, line, how FROM location ORDER BY 1, 3").fetchall()
        assert lines == [("copy", "", 0, "map"), ("do_read", "", 0, "map"), ("main", "main.c", 10, "map")] + [
            ("solve", "solve.c", line, "map") for line in (21, 22, 23, 24)], lines
        stacks = store.execute("""
            WITH RECURSIVE chain(stack, parent, text) AS (
                SELECT s.stack, s.parent, l.function FROM stack_frame AS s JOIN location AS l USING (run_id, frame)
                UNION ALL
                SELECT c.stack, s.parent, l.function || '>' || c.text FROM chain AS c
                JOIN stack_frame AS s ON s.stack = c.parent JOIN location AS l USING (run_id, frame))
            SELECT DISTINCT text FROM chain WHERE parent IS NULL
            AND stack IN (SELECT stack FROM stack_count) ORDER BY 1""").fetchall()
        assert stacks == [("main>copy",), ("main>copy>do_read",), ("main>solve",)], stacks


def check_periods():
    """how long periods are, and in which order sets come, changes nothing in how often a stack was seen"""
    totals = []
    for options in ((), ("--period", "7s"), ("--period", "60s", "--frequency", "99")):
        with Folder() as folder:
            totals.append(record(folder, *options).execute(
                "SELECT stack, sum(samples) FROM stack_count GROUP BY 1 ORDER BY 1").fetchall())
    assert totals[0] == totals[1] == totals[2] and totals[0], totals


def check_options():
    """a threshold of an event, innermost frames alone, a part of the run, and no samples at all"""
    with Folder() as folder:
        store = record(folder, "--sample", "dc_miss:100")
        assert store.execute(BY_FUNCTION).fetchall() == [(1, "solve", 500)]
    with Folder() as folder:
        store = record(folder, "--stacks", "none")
        assert store.execute("SELECT count(*) FROM stack_frame WHERE parent IS NOT NULL").fetchone() == (0,)
    with Folder() as folder:
        store = record(folder, "--frequency", "100", "--delay", "11s", "--duration", "15s")
        assert store.execute(BY_FUNCTION).fetchall() == [(1, "solve", 400)]
    with Folder() as folder:
        store = record(folder, "--no-samples")
        assert not store.execute("SELECT * FROM sampling UNION SELECT * FROM sampling").fetchall()


def check_cgroups():
    """a task of the script may have a control group, which its process's other tasks have too"""
    with Folder() as folder:
        folder.write("code.sim", SCRIPT.replace("task main 100\n", "task main 100 cgroup=/a.slice/b.service\n"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100"), 0)
        expect(folder.call("check"), 0)
        rows = json.loads(expect(folder.call("code", "--by", "cgroup", "--format", "json"), 0).stdout)["code"]
        assert [(row["name"], row["module"], row["self"], row["processes"]) for row in rows] == [
            ("b.service", "/a.slice/b.service", 2899, 1)], rows
        folder.write("wrong.sim", "task main 100 group=/a\nphase a 1s\n")
        refused(folder.call("record", "--pmu", "sim:wrong.sim"), 2, "thread", "group=/a")


def check_missing():
    """fewer samples than expected are told of, in the run and a phase; of a few there are no shares"""
    script = SCRIPT.replace("lose-samples 3s 1s", "lose-samples 1s 8s").replace("throttle 5s\n", "")
    with Folder() as folder:
        folder.write("code.sim", script)
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100"), 0)
        # of 3,000 expected 800 are lost, of the first phase; the last is like it
        whole = "2200 samples of 3000 expected in 30.0 s of CPU time: some were lost"
        phases = expect(folder.call("phases"), 0).stdout
        assert "\n" + whole in phases and "in copy (1200 of 2000 samples)" in phases, phases
        text = expect(folder.call("code"), 0).stdout
        assert "\n" + whole in text and "1200 of 2000 " in text, text
        report = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert whole in report, report
        for command in ("report", "code"):
            found = json.loads(expect(folder.call(command, "--format", "json"), 0).stdout)
            assert (found["samples"], found["expected_samples"]) == (2200, 3000), found
        labels = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["labels"]
        assert (1200, 2000) in [(label["samples"], label["expected_samples"]) for label in labels], labels
        folder.write("code.sim", script.replace("lose-samples 1s 8s", "lose-samples 100ms 40s"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100"), 0)
        phases = expect(folder.call("phases"), 0).stdout
        assert re.search(r"^  A: only (9|1[01]) of 3000 samples$", phases, re.M), phases  # of which no function is told
    with Folder() as folder:
        folder.write("code.sim", script.replace("1s 8s", "1s 12s"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "1"), 0)
        assert "\n  A: only 18 of 30 samples\n" in expect(folder.call("phases"), 0).stdout
    with Folder() as folder:
        folder.write("code.sim", script.replace("lose-samples 1s 8s\n", "").replace("phase load 10s", "phase load 20s"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "1", "--duration", "19s"), 0)
        text = expect(folder.call("code"), 0).stdout
        assert text.splitlines()[1].startswith("19 samples of ") and "too few for shares" in text, text
        assert not re.search(r"\d %", text.split(" off the CPU")[1]), text
        for option in ("--tree", "--by=thread"):
            text = expect(folder.call("code", option), 0).stdout.split(" off the CPU")[1]
            assert not re.search(r"\d %", text), text
        text = expect(folder.call("report"), 0).stdout
        assert re.search(r"Where the time went \(19 samples.*\n  too few to tell\n", text), text
        found = json.loads(expect(folder.call("code", "--format", "json"), 0).stdout)
        assert found["samples"] == 19 and all(row["self_share"] is None and row["total_share"] is None
                                              for row in found["code"]), found
        words = expect(folder.call("phases"), 0).stdout
        assert "solve" not in words and "copy" not in words, words
        assert "Code" not in expect(folder.call("plot", "-o", "-"), 0).stdout
        expect(folder.call("plot", "-o", "page.html"), 0)
        assert '"codePanel"' not in folder.read("page.html").decode() and \
            '"counts"' not in folder.read("page.html").decode()
    with Folder() as folder:
        record(folder, "--frequency", "1")  # 30 of them
        assert "%" in expect(folder.call("code", "-i", "2.data"), 0).stdout.split(" off the CPU")[1]
        expect(folder.call("plot", "-i", "2.data", "-o", "page.html"), 0)
        assert '"codePanel"' in folder.read("page.html").decode()


WAITS = """\
task main 100
task worker 100 101
function main 0x1000 0x100 main.c:10
function solve 0x2000 0x200 solve.c:21
function hold_the_lock 0x3000 0x100 lock.c:7
function wait_pipe 0x4000 0x100 lock.c:20
function futex_wait 0xffffffff81000000 0x100
function schedule 0xffffffff81000100 0x100
phase run 2s code=main>solve
sleep 2050ms code=main>hold_the_lock>futex_wait>schedule
phase run 2s code=main>solve
sleep 1s code=main>wait_pipe>schedule:50%,worker/main>hold_the_lock>futex_wait>schedule
idle 500ms
"""


def rows_of(folder, *options):
    text = expect(folder.call("code", "--wall", "--format", "csv", *options), 0).stdout
    return list(csv.DictReader(text.splitlines()))


def check_wall():
    """time off the CPU is in the function that waits, to the microsecond, for its reason; in parts of a run, too"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS)
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
        expect(folder.call("check"), 0)
        found = {row["name"]: (int(row["self"]), int(row["waited"]), row["waited_in"]) for row in rows_of(folder)}
        assert found == {"solve": (4000000, 0, ""), "hold_the_lock": (3050000, 3050000, "futex_wait"),
                         "wait_pipe": (1000000, 1000000, "schedule"), "main": (0, 0, "")}, found
        text = expect(folder.call("code", "--wall"), 0).stdout
        assert "4.000 s on a CPU, by samples, and 4.050 s off it" in text, text
        assert "Waited 3.050 s in hold_the_lock (lock.c:7), 1.000 s in wait_pipe (lock.c:20)." in text, text
        head = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert ("Its threads waited 3.050 s in hold_the_lock (lock.c:7), 1.000 s in wait_pipe (lock.c:20) "
                "(see `rpistat code --wall`)." in head), head
        assert re.search(r"\n +37\.9 % +37\.9 % +3\.050 s +3\.050 s +futex_wait +simulated +lock\.c:7 +hold_the_lock\n", text), text
        part = {row["name"]: int(row["waited"]) for row in rows_of(folder, "--from", "3s", "--to", "7s")}
        assert part["hold_the_lock"] == 1050000 + 950000 and part["wait_pipe"] == 950000, part
        assert {row["line"]: int(row["waited"]) for row in rows_of(folder, "--lines")} == \
            {"7": 3050000, "21": 0, "20": 1000000, "10": 0}
        calls = rows_of(folder, "--tree")
        assert {row["name"]: (int(row["total"]), int(row["waited"])) for row in calls} == {
            "all": (8050000, 4050000), "main": (8050000, 4050000), "solve": (4000000, 0),
            "hold_the_lock": (3050000, 3050000), "futex_wait": (3050000, 3050000),
            "wait_pipe": (1000000, 1000000), "schedule": (1000000, 1000000)} and \
            all(calls[int(row["caller"])]["name"] == "wait_pipe" for row in calls if row["name"] == "schedule"), calls
        folded = expect(folder.call("code", "--wall", "--format", "folded"), 0).stdout
        assert sorted(folded.splitlines()) == [
            "main;hold_the_lock;futex_wait;[waiting] 3050000", "main;solve 4000000",
            "main;wait_pipe;schedule;[waiting] 1000000"], folded
        answer = json.loads(expect(folder.call("code", "--wall", "--format", "json"), 0).stdout)
        assert answer["weight"] == "us" and answer["samples"] == 400 and answer["sampling"]["waited_s"] == 4.05, answer
        expect(folder.call("merge", "-i", "merged.data", "rpistat.data"), 0)
        merged = expect(folder.call("code", "--wall", "--format", "folded", "-i", "merged.data"), 0).stdout
        assert merged == folded, merged
        samples = json.loads(expect(folder.call("code", "--format", "json"), 0).stdout)  # these are what they were
        assert samples["weight"] == "samples" and [row["name"] for row in samples["code"]] == ["solve", "main"], samples


def check_wall_without_code():
    """threads whose place in a sleep is unknown wait at an unknown place, until it ends or the run does"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", "task main 100\ntask w 100 101\nfunction f 0x1000 0x100 main.c:10\nwidth 64\n"
                     "sleep 1s\nphase work 2s instructions=200M threads=2 code=f:50%,w/f:50%\nsleep 3s\n"
                     "phase work 1s instructions=200M threads=2 code=f:50%,w/f:50%\nsleep 2s\n")
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
        found = {row["name"]: (int(row["self"]), int(row["waited"])) for row in rows_of(folder)}
        assert found == {"f": (6000000, 0), "[unknown]+0x0": (10000000, 10000000)}, found
        head = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "Its threads waited 10.0 s at an unknown place" in head, head


def check_wall_children():
    """waits for child processes are in `code --wall`, and not in the first lines of the report"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS.split("phase")[0].replace("futex_wait", "do_wait") +
                     "phase run 4s instructions=200M code=main>solve\nsleep 6s code=main>hold_the_lock>do_wait\n"
                     "sleep 1s code=main>wait_pipe>schedule\n")
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
        found = {row["name"]: int(row["waited"]) for row in rows_of(folder)}
        assert found["hold_the_lock"] == 6000000 and found["wait_pipe"] == 1000000, found
        head = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "Its threads waited 1.000 s in wait_pipe (lock.c:20) (see `rpistat code --wall`)." in head, head


def check_wall_phases():
    """the time of each phase: one works, the other mostly waits"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS.split("phase")[0] +
                     "repeat 3\nphase run 6s instructions=200M code=main>solve\nrepeat 8\nphase wait 200ms instructions=20M "
                     "code=main>hold_the_lock\nsleep 600ms code=main>hold_the_lock>schedule\nend\nend\n")
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
        text = expect(folder.call("code", "--wall"), 0).stdout
        assert re.search(r"\n  A +18\.\d+ s +0\.0 % +solve 9\d %\n  B +18\.\d+ s +7\d\.\d % +hold_the_lock 100 %\n", text), text
        part = " ".join(expect(folder.call("phases"), 0).stdout.split())
        assert re.search(r" B: .*?, waited 14\.4 s in hold_the_lock \(lock\.c:7\)", part), part
        assert part.count(", waited ") == 1, part
        part = rows_of(folder, "B")
        assert [(row["name"], row["waited"]) for row in part if int(row["self"]) > 0] == [("hold_the_lock", "14400000")], part


def check_wall_thinned():
    """thinning leaves time off the CPU as it is; time that a sleep spends in a pause is none"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS.replace("phase run", "repeat 500\nphase run", 1) + "end\n")
        expect(folder.call("record", "-q", "--wall", "--keep", "1m", "--pmu", "sim:waits.sim"), 0)
        expect(folder.call("check"), 0)
        db = sqlite3.connect(folder / "rpistat.data")
        assert db.execute("SELECT max(level) FROM code_count WHERE blocked IS NOT NULL").fetchone()[0] > 0
        assert db.execute("SELECT sum(us), (SELECT blocked_us FROM sampling) FROM blocked_time").fetchone() == \
            (2025000000, 2025000000)
        found = {row["name"]: int(row["waited"]) for row in rows_of(folder)}
        assert found["hold_the_lock"] == 1525000000 and found["wait_pipe"] == 500000000, found
        db.execute("UPDATE code_count SET blocked = '~~' WHERE blocked IS NOT NULL AND period < 1000")
        db.commit()
        assert "cannot be read" in expect(folder.call("check"), 1).stdout
        expect(folder.call("check", "--repair", "-o", "mended.data"), 0)
        expect(folder.call("check", "-i", "mended.data"), 0)
        assert 0 < sum(int(row["waited"]) for row in rows_of(folder, "-i", "mended.data")) < 2025000000
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS)
        expect(folder.call("record", "-q", "--wall", "--delay", "3s", "--duration", "7s", "--pmu", "sim:waits.sim"), 0)
        found = {row["name"]: int(row["waited"]) for row in rows_of(folder)}
        assert found.get("wait_pipe") == found.get("hold_the_lock") == 950000, found  # it was asleep at 3 s


def check_wall_refused():
    """what --wall is not of is said"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS)
        for options, sentence in ((("-a",), "--wall"), (("--no-samples",), "--no-samples"),
                                  (("--sample", "dc_miss:5"), "do not say how much time they stand for")):
            refused(folder.call("record", "--wall", "--pmu", "sim:waits.sim", *options), 2, sentence)
        expect(folder.call("record", "-q", "--pmu", "sim:waits.sim"), 0)
        refused(folder.call("code", "--wall"), 1, "`rpistat record --wall` does")
        refused(folder.call("code", "--wall", "--by", "thread"), 2, "leave out --by thread")
        refused(folder.call("code", "--wall", "--format", "pprof", "-o", "x"), 2, "leave out --wall, or take folded")
        folder.write("bad.sim", "sleep 1s instructions=5\n")
        refused(folder.call("record", "--pmu", "sim:bad.sim"), 2, "nothing but code and system signals")


def check_many_names():
    """where many functions are named, names that come again are not in the store again, and nobody sees that"""
    with Folder(runs=0) as folder:
        folder.write("many.sim", "".join("function f%d %d 16 %s.c:1-2\n" % (i, 65536 + 16 * i, "ab"[i % 2]) for i in range(2100)) +
                     "".join("phase p%d 60ms code=f%d\n" % (i, i) for i in range(2100)))
        expect(folder.call("record", "-q", "--pmu", "sim:many.sim"), 0)
        lines = expect(folder.call("code", "--lines", "--format", "csv"), 0).stdout
        for store in "rpistat.data", "merged.data", "repaired.data":
            if store == "merged.data":
                expect(folder.call("merge", "rpistat.data", "-i", store), 0)
            elif store == "repaired.data":
                expect(folder.call("check", "--repair", "-o", store), 0)
            found = sqlite3.connect(folder / store)
            assert found.execute("SELECT count(alike), sum(function = '') FROM location").fetchall() == [(52, 52)], store
            assert found.execute("SELECT count(DISTINCT function), min(line), max(line), count(*) FROM frame_name WHERE file ="
                                 " substr('ab', 1 + substr(function, 2) % 2, 1) || '.c'").fetchall() == [(2100, 1, 2, 4200)], store
            assert expect(folder.call("code", "--lines", "--format", "csv", "-i", store), 0).stdout == lines, store
            expect(folder.call("check", "-i", store), 0)


def check_refused():
    """an error in the script's code says where"""
    with Folder() as folder:
        folder.write("bad.sim", "function f 1 4\nphase a 1s code=g\n")
        refused(folder.call("record", "--pmu", "sim:bad.sim"), 2, "bad.sim:2: there is no function 'g' above")


TWO_THREADS = """\
task main 100
task w 100 101
function f 0x1000 0x100 main.c:10
default instructions=200M threads=2
phase work 10s code=f:50%,w/f:50%
sleep 10s
"""


def check_off_cpu():
    """the time off the CPU is that in which no thread ran, not what CPU time leaves of it"""
    with Folder() as folder:
        folder.write("two.sim", TWO_THREADS)
        folder.write("one.sim", TWO_THREADS.replace("threads=2", "threads=1 wait=0%").replace("f:50%,w/f:50%", "f"))
        for script, cpu_text in ("two", "20.0 s of CPU time (100 % of one CPU)"), ("one", "10.0 s of CPU time (50 % of one CPU)"):
            store = script + ".data"
            expect(folder.call("record", "-q", "--pmu", "sim:%s.sim" % script, "-o", store), 0)
            # as if there were two CPUs: the threads may have run one after another where there are more
            connection = sqlite3.connect(folder.path + "/" + store)
            connection.execute("UPDATE run SET cpu_count = 2")
            connection.commit()
            connection.close()
            found = json.loads(expect(folder.call("code", "-i", store, "--format", "json"), 0).stdout)
            assert found["off_cpu"] == 0.5, found
            assert {row["label"]: row["off_cpu"] for row in found["labels"]} == {"A": 0, "B": 1}, found["labels"]
            text = expect(folder.call("code", "-i", store), 0).stdout
            assert "; 50.0 % of the time off the CPU" in " ".join(text.split()), text
            part = json.loads(expect(folder.call("code", "-i", store, "--to", "15s", "--format", "json"), 0).stdout)
            assert abs(part["off_cpu"] - 1 / 3) < 1e-9, part["off_cpu"]
            assert cpu_text in expect(folder.call("report", "-i", store), 0).stdout
        # half of each period of two threads: nobody knows whether they ran at once
        folder.write("mixed.sim", TWO_THREADS.replace("10s", "1s"))
        expect(folder.call("record", "-q", "--pmu", "sim:mixed.sim", "--period", "2s", "-o", "mixed.data"), 0)
        text = expect(folder.call("code", "-i", "mixed.data"), 0).stdout
        assert "; at least 0.0 % of the time off the CPU" in " ".join(text.split()), text


def check_ramps():
    """shares that rise and fall steadily are ramps, in JSON and in words, and levels are none"""
    steps = [(10, .05)] + [(.25, .05 + .85 * (k + .5) / 50) for k in range(50)] + [(10, .9)]
    steps += [(length, share) for length, share in reversed(steps[:-1])]
    script = "function look 0x1000 0x100\nfunction touch 0x2000 0x100\n" + "".join(
        "phase p%d %gs instructions=%d dc_miss=%d code=look,touch:%.1f%%\n" % (k, length, 2e8 * share, 1e5 * share, 100 * share)
        for k, (length, share) in enumerate(steps))
    with Folder() as folder:
        folder.write("ramps.sim", script)
        expect(folder.call("record", "-q", "--pmu", "sim:ramps.sim", "-o", "r.data", "--frequency", "100"), 0)
        found = json.loads(expect(folder.call("phases", "-q", "-i", "r.data", "--format", "json"), 0).stdout)
        assert [one["ramp"] for one in found["phases"]] == [None, True, None, True, None], found["phases"]
        assert [one["label"] for one in found["phases"]] == ["A", "B", "C", "D", "A"], found["phases"]
        for one, start_s in zip(found["phases"], (0, 10, 22.5, 32.5, 45)):
            assert abs(one["start_s"] - start_s) < 2, found["phases"]
        assert re.match("phase B is a ramp: .*; phase D is a ramp: ", found["remark"]), found["remark"]


tap.main([check_ramps, check_off_cpu, check_counts, check_names, check_periods, check_options, check_cgroups, check_missing, check_wall, check_wall_without_code, check_wall_children, check_wall_phases, check_wall_thinned, check_wall_refused,
          check_many_names, check_refused])
