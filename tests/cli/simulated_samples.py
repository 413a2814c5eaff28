"""Samples of the simulated processor in the store: each count follows from the script.

usage: simulated_samples.py RPISTAT
"""
import contextlib
import csv
import json
import re
import sqlite3

from program import Folder, ask_store, expect, refused, tap

from words import CODE_TITLE, OFF_CPU

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
# Counts by intervals of ten seconds.
BY_FUNCTION = """
SELECT p.start_ns / 10000000000, l.function, sum(c.samples)
FROM stack_count AS c JOIN period AS p USING (run_id, cpu, period) JOIN stack_frame AS s USING (run_id, stack)
JOIN location AS l USING (run_id, frame) GROUP BY 1, 2 ORDER BY 1, 2"""
BY_TASK = """
SELECT p.start_ns / 10000000000, t.name, t.pid, t.tid, sum(c.samples)
FROM task_count AS c JOIN period AS p USING (run_id, cpu, period) JOIN task AS t USING (run_id, task)
GROUP BY 1, t.task ORDER BY 1, t.task"""


def record(folder, *options):
    """Record the script. Return the store for SQL."""
    folder.write("code.sim", SCRIPT)
    store = "%d.data" % len(options)
    expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "-o", store, *options), 0)
    expect(folder.call("check", "-i", store), 0)
    return sqlite3.connect(folder / store)


def check_counts():
    """functions and threads have their shares in each phase, except for lost samples; a sleep has none"""
    with Folder() as folder:
        store = record(folder, "--frequency", "100")
        # 1,000 per phase; 100 lost and one throttled in the first; the last begins at 25 s
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
    """functions have the script's file and line, callers have those of the call, and stacks reach main"""
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
    """the length of periods and the order of sets do not change how often a stack is counted"""
    totals = []
    for options in ((), ("--period", "7s"), ("--period", "60s", "--frequency", "99")):
        with Folder() as folder:
            totals.append(record(folder, *options).execute(
                "SELECT stack, sum(samples) FROM stack_count GROUP BY 1 ORDER BY 1").fetchall())
    assert totals[0] == totals[1] == totals[2] and totals[0], totals


def check_options():
    """a threshold of an event, innermost frames only, a part of the run, and no samples"""
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
    """a task in the script may have a control group, which all tasks of its process have"""
    with Folder() as folder:
        folder.write("code.sim", SCRIPT.replace("task main 100\n", "task main 100 cgroup=/a.slice/b.service\n"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100"), 0)
        expect(folder.call("check"), 0)
        rows = json.loads(expect(folder.call("code", "--by", "cgroup", "--format", "json"), 0).stdout)["code"]
        assert [(row["name"], row["module"], row["self"], row["processes"]) for row in rows] == [
            ("b.service", "/a.slice/b.service", 2899, 1)], rows
        folder.write("wrong.sim", "task main 100 group=/a\nphase a 1s\n")
        refused(folder.call("record", "--pmu", "sim:wrong.sim"), 2, "thread", "group=/a")


def without_off_cpu(text):
    """The text without the share of time in which no thread ran."""
    return re.sub(r"off-CPU\s+for [^%]*%", "", text)


def check_missing():
    """if there are fewer samples than expected, the run and a phase report it; very few samples give no shares"""
    script = SCRIPT.replace("lose-samples 3s 1s", "lose-samples 1s 8s").replace("throttle 5s\n", "")
    with Folder() as folder:
        folder.write("code.sim", script)
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100"), 0)
        # of 3,000 expected samples 800 of the first phase are lost; the last is similar
        whole = "2200 of 3000 expected samples in 30.0 s of CPU time: some were lost"
        phases = expect(folder.call("phases"), 0).stdout
        assert "\n" + whole in phases and "in copy (only 1200 of 2000 expected samples arrived)" in phases, phases
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
        # No function of it is printed.
        assert re.search(r"^  A: only (9|1[01]) of 3000 expected samples arrived$", phases, re.M), phases
    with Folder() as folder:
        folder.write("code.sim", script.replace("1s 8s", "1s 12s"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "1"), 0)
        assert "\n  A: only 18 of 30 expected samples arrived\n" in expect(folder.call("phases"), 0).stdout
    with Folder() as folder:
        folder.write("code.sim", script.replace("lose-samples 1s 8s\n", "").replace("phase load 10s", "phase load 20s"))
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "1", "--duration", "19s"), 0)
        text = expect(folder.call("code"), 0).stdout
        assert text.splitlines()[1].startswith("19 samples (cpu-clock, 1 Hz per CPU).") and "Too few samples for shares" in text, text
        assert not re.search(r"\d %", without_off_cpu(text)), text
        for option in ("--tree", "--by=thread"):
            text = without_off_cpu(expect(folder.call("code", option), 0).stdout)
            assert not re.search(r"\d %", text), text
        text = expect(folder.call("report"), 0).stdout
        assert re.search(CODE_TITLE + r" function \(19 samples.*\n  Too few samples for shares\n", text), text
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
        record(folder, "--frequency", "1")  # 30 samples
        assert "%" in without_off_cpu(expect(folder.call("code", "-i", "2.data"), 0).stdout)
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
    """time off the CPU is in the waiting function, to the microsecond, with its reason; also in parts of a run"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS)
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
        expect(folder.call("check"), 0)
        found = {row["name"]: (int(row["self"]), int(row["waited"]), row["waited_in"]) for row in rows_of(folder)}
        assert found == {"solve": (4000000, 0, ""), "hold_the_lock": (3050000, 3050000, "futex_wait"),
                         "wait_pipe": (1000000, 1000000, "schedule"), "main": (0, 0, "")}, found
        text = expect(folder.call("code", "--wall"), 0).stdout
        assert "Threads: 4.000 s running (estimated from samples), 4.050 s asleep" in text, text
        assert "Off-CPU: 3.0 s in hold_the_lock (lock.c:7), 1.0 s in wait_pipe (lock.c:20)\n" in text, text
        head = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert ("Off-CPU: threads waited 3.0 s in hold_the_lock (lock.c:7), 1.0 s in wait_pipe (lock.c:20) "
                "(measured by --wall; see `rpistat code --wall`) " in head), head
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
        samples = json.loads(expect(folder.call("code", "--format", "json"), 0).stdout)  # these are unchanged
        assert samples["weight"] == "samples" and [row["name"] for row in samples["code"]] == ["solve", "main"], samples


def check_wall_without_code():
    """threads whose place in a sleep is unknown wait at an unknown place until the end of the sleep or run"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", "task main 100\ntask w 100 101\nfunction f 0x1000 0x100 main.c:10\nwidth 64\n"
                     "sleep 1s\nphase work 2s instructions=200M threads=2 code=f:50%,w/f:50%\nsleep 3s\n"
                     "phase work 1s instructions=200M threads=2 code=f:50%,w/f:50%\nsleep 2s\n")
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
        found = {row["name"]: (int(row["self"]), int(row["waited"])) for row in rows_of(folder)}
        assert found == {"f": (6000000, 0), "[unknown]+0x0": (10000000, 10000000)}, found
        head = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "Off-CPU: threads waited 10.0 s at an unknown place" in head, head


def check_wall_children():
    """waits for child processes, and for the end of threads, are in `code --wall`, but not in the first lines of the report"""
    for wait, place in (("do_wait", "hold_the_lock"), ("__pthread_clockjoin_ex>futex_wait", "__pthread_clockjoin_ex")):
        with Folder(runs=0) as folder:
            folder.write("waits.sim", WAITS.split("phase")[0] + "function do_wait 0xffffffff81000200 0x100\n"
                         "function __pthread_clockjoin_ex 0x5000 0x100\n"
                         "phase run 4s instructions=200M code=main>solve\nsleep 6s code=main>hold_the_lock>%s\n"
                         "sleep 1s code=main>wait_pipe>schedule\n" % wait)
            expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--pmu", "sim:waits.sim"), 0)
            found = {row["name"]: int(row["waited"]) for row in rows_of(folder)}
            assert found[place] == 6000000 and found["wait_pipe"] == 1000000, found
            for unknown_us, more in ((10000, ""), (20000, ", 0.020 s in unknown waits")):  # 1 % of all waits
                ask_store(folder / "rpistat.data", "UPDATE sampling SET blocked_off_us = %d" % unknown_us)
                head = " ".join(expect(folder.call("report"), 0).stdout.split())
                assert ("Off-CPU: threads waited 1.0 s in wait_pipe (lock.c:20)%s (measured by --wall; see `rpistat code --wall`) "
                        % more) in head, head


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
    """downsampling does not change time off the CPU; the part of a sleep in a pause does not count"""
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
    """--wall with unsuitable recordings is refused with the reason"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS)
        for options, sentence in ((("-a",), "--wall"), (("--no-samples",), "--no-samples"),
                                  (("--sample", "dc_miss:5"), "measures no time")):
            refused(folder.call("record", "--wall", "--pmu", "sim:waits.sim", *options), 2, sentence)
        expect(folder.call("record", "-q", "--pmu", "sim:waits.sim"), 0)
        refused(folder.call("code", "--wall"), 1, "record it with `rpistat record --wall`")
        refused(folder.call("code", "--wall", "--by", "thread"), 2, "off-CPU time by thread; leave out --by")
        refused(folder.call("code", "--wall", "--format", "pprof", "-o", "x"), 2, "leave out --wall, or use --format folded")
        folder.write("bad.sim", "sleep 1s instructions=5\n")
        refused(folder.call("record", "--pmu", "sim:bad.sim"), 2, "only code and system metrics")


def lines_of(folder, *arguments):
    """The lines of `plot --function` on a page: {(panel, line): [(start in s, end in s, share in %)]}; for CPUs there is one panel per name."""
    expect(folder.call("plot", "-o", "f.html", *arguments), 0)
    data = json.loads(folder.read("f.html").decode().split('id="data">\n')[1].split("\n</script>")[0])
    panels = [panel for panel in data["panels"] if "with callees" in panel["title"]]
    assert panels == data["panels"][:len(panels)], [panel["title"] for panel in data["panels"]]
    first = data["panels"][0]["lines"][0]["x"]
    lines = {}
    for panel in panels:
        for line in panel["lines"]:
            x, value = line["x"] or first, line["value"]
            assert line["isStepped"] and value[::2] == value[1::2] and x[1:-1:2] == x[2::2], line
            lines[panel["title"], line["label"]] = list(zip(x[::2], x[1::2], value[::2]))
    return lines


def during(points, start_s, end_s):
    """The shares of steps that are completely inside a time range."""
    found = [value for begin, end, value in points if start_s <= begin and end <= end_s]
    assert found, (points, start_s, end_s)
    return found


def check_functions():
    """plot --function: the share of samples with a function in the stack, in steps; a gap is unknown"""
    script = SCRIPT.replace("lose-samples 3s 1s\nthrottle 5s\n", "")
    title = "Functions with callees (% of CPU and off-CPU time)"
    with Folder(runs=0) as folder:
        folder.write("code.sim", script)
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100", "--period", "100ms"), 0)
        names = "--function=copy", "--function=do_read", "--function=solve", "--function=main"
        lines = lines_of(folder, *names)
        assert list(lines) == [(title, name) for name in ("copy", "do_read", "solve", "main")], list(lines)
        for name, shares in ("copy", (100, 0, 0, 100)), ("do_read", (80, 0, 0, 0)), ("solve", (0, 100, 0, 0)), ("main", (100, 100, 0, 100)):
            for (start_s, end_s), share in zip(((0, 10), (10, 20), (20, 25), (25, 35)), shares):
                found = during(lines[title, name], start_s, end_s)  # a step has 50 samples, of which 4 in 5 may be one more
                assert all(abs(value - share) <= (2 if share == 80 else 0) for value in found), (name, start_s, found)
        part = lines_of(folder, "--function=do_read", "--from", "12s")
        assert {value for values in part.values() for _, _, value in values} == {0}, part
        assert list(part) == [("do_read with callees (% of CPU and off-CPU time)", "do_read")], list(part)
        with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store:
            store.execute("INSERT INTO gap VALUES (1, 21000000000, 0, -1, 3000000000, 'test')")
            store.commit()
        values = lines_of(folder, "--function=main")["main with callees (% of CPU and off-CPU time)", "main"]
        assert all((value is None) == (21 <= begin and end <= 24) for begin, end, value in values), values
        assert {21, 24} <= {begin for begin, _, _ in values}, values
        assert {value for begin, _, value in values if 20 <= begin < 25} == {0, None}, values
        assert lines_of(folder, "--function=main", "--code", "none") == {("main with callees (% of CPU and off-CPU time)", "main"): values}
        assert lines_of(folder, "--function=main", "--panel", "main") == lines_of(folder, "--function=main", "--panel", "FUNCTIONS"), values
        alone = expect(folder.call("plot", "-o", "-", "--size", "80x24", "--function", "solve", "--panel", "functions"), 0).stdout
        rows = [row.split(" ")[0] for row in re.sub(r"(?m)^ +", "", alone).split("\n")]
        assert "Code" not in alone and "no data" not in alone and rows.index("0") - rows.index("100") > 12, alone
        refused(folder.call("plot", "-o", "-", "--function", "solve", "--panel", "xyz"), 2, "'xyz'", "choose from 'Functions with callees', ")
        terminal = expect(folder.call("plot", "-o", "-", "--function", "solve", "--metric", "cpi", "--code", "none"), 0).stdout
        assert "solve with callees (% of CPU and off-CPU time)" in terminal and terminal.count("Code") == 0, terminal


def check_functions_wall():
    """plot --function --wall: the share of the threads' time, including sleep"""
    with Folder(runs=0) as folder:
        folder.write("waits.sim", WAITS)
        expect(folder.call("record", "-q", "--wall", "--frequency", "100", "--period", "50ms", "--pmu", "sim:waits.sim"), 0)
        names = "--function=hold_the_lock", "--function=solve", "--function=wait_pipe"
        title = "Functions with callees (% of the threads' time)"
        lines = lines_of(folder, "--wall", *names)
        lock, solve, pipe = ([value for _, _, value in lines[title, name]] for name in ("hold_the_lock", "solve", "wait_pipe"))
        # steps of half a second; in one run 0.05 s of both, then 0.05 s of one thread and 0.45 s of two
        assert lock == [0] * 4 + [100] * 4 + [10] + [0] * 3 + [47.368, 50, 50], lock
        assert solve == [100] * 4 + [0] * 4 + [90] + [100] * 3 + [5.2632, 0, 0], solve
        assert pipe == [0] * 12 + [47.368, 50, 50], pipe
        samples = lines_of(folder, *names)["Functions with callees (% of CPU and off-CPU time)", "hold_the_lock"]
        assert {value for _, _, value in samples} == {0}, samples
        refused(folder.call("plot", "-o", "-", "--function", "the_"), 1, "names that contain it: hold_the_lock;")


def check_functions_cpus():
    """plot --function with --cpu: a panel per name with a line per CPU, or their sum"""
    script = SCRIPT.replace("lose-samples 3s 1s\nthrottle 5s\n", "")
    with Folder(runs=0) as folder:
        folder.write("code.sim", script)
        expect(folder.call("record", "-q", "--pmu", "sim:code.sim", "--frequency", "100", "--period", "100ms"), 0)
        with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store:  # as of two CPUs, the second of which never ran solve
            tables = [name for name, sql in store.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'") if " cpu INTEGER" in sql and name != "gap"]
            for table in tables:
                columns = [row[1] for row in store.execute("PRAGMA table_info(%s)" % table)]
                store.execute("UPDATE %s SET cpu = 0 WHERE cpu = -1" % table)
                store.execute("INSERT INTO %s (%s) SELECT %s FROM %s" % (
                    table, ", ".join(columns), ", ".join("1" if column == "cpu" else column for column in columns), table))
            store.execute("DELETE FROM code_count WHERE cpu = 1 AND period IN (SELECT period FROM period WHERE start_ns >= 10000000000)")
            store.commit()
        lines = lines_of(folder, "--function=solve", "--function=copy", "--cpu", "each")
        assert list(lines) == [(name + " with callees (% of CPU and off-CPU time)", "CPU %d" % cpu) for name in ("solve", "copy") for cpu in (0, 1)], list(lines)
        solve = [set(during(lines["solve with callees (% of CPU and off-CPU time)", "CPU %d" % cpu], 10, 20)) for cpu in (0, 1)]
        assert solve == [{100}, {0}], solve
        lines = lines_of(folder, "--function=solve", "--cpu", "sum")
        assert set(during(lines["solve with callees (% of CPU and off-CPU time)", "solve"], 10, 20)) == {50}, lines


def check_functions_names():
    """an exact name has priority over names without parameters; for unknown names the nearest are printed; unsuitable runs and options are refused with the reason"""
    script = ("function log(int) 0x1000 0x100\nfunction log(char*) 0x2000 0x100\nfunction main 0x3000 0x100\n"
              "phase a 5s code=main>log(int):60%,main>log(char*)\n")
    with Folder(runs=0) as folder:
        folder.write("names.sim", script)
        expect(folder.call("record", "-q", "--pmu", "sim:names.sim", "--frequency", "100"), 0)
        lines = lines_of(folder, "--function", "log", "--function", "log(int)")
        found = {label: {value for _, _, value in values} for (_, label), values in lines.items()}
        assert list(found) == ["log, 2 functions", "log(int)"] and found["log, 2 functions"] == {100} and \
            all(abs(value - 60) <= 2 for value in found["log(int)"]), found
        assert list(lines_of(folder, "--function", "log")) == [("log, 2 functions with callees (% of CPU and off-CPU time)", "log, 2 functions")]
        module = lines_of(folder, "--function", "simulated")  # all functions are in this module
        assert list(module) == [("simulated with callees (% of CPU and off-CPU time)", "simulated")] and \
            {value for _, _, value in module.popitem()[1]} == {100}, module
        assert list(lines_of(folder, "--function", "log(int)")) == [("log(int) with callees (% of CPU and off-CPU time)", "log(int)")]
        refused(folder.call("plot", "-o", "-", "--function", "mian"), 1, "'mian'", "did you mean main?")
        refused(folder.call("plot", "-o", "-", "--function", "ai"), 1, "is named 'ai'; see `rpistat code`")
        refused(folder.call("plot", "-o", "-", "--function", "other"), 1, "is named 'other'; see `rpistat code`")
        with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store:
            store.execute("UPDATE task SET name = 'worker'")
            store.commit()
        refused(folder.call("plot", "-o", "-", "--function", "worker"), 1, "threads have this name (--code thread shows them)")
        refused(folder.call("plot", "-o", "-", "--function", ""), 2, "--function")
        refused(folder.call("plot", "-o", "-", *9 * ["--function=main"]), 2, "at most 8 times")
        refused(folder.call("plot", "-o", "x.svg", "--kind", "heat", "--function", "main"), 2, "--kind time")
        refused(folder.call("plot", "-o", "-", "--wall"), 2, "--wall", "add --function")
        refused(folder.call("plot", "-o", "-", "--wall", "--function", "main"), 1, "record it with `rpistat record --wall`")
        refused(folder.call("plot", "-o", "-", "--function", "main", "--from", "4.9s"), 1, "too few samples")
        expect(folder.call("record", "-q", "--pmu", "sim:names.sim", "--no-samples", "-o", "none.data"), 0)
        refused(folder.call("plot", "-i", "none.data", "-o", "-", "--function", "main"), 1, "samples")


# Hand-computed: one thread for 10.05 s; four for 9.95 s, which begin in the middle of a period; one thread that
# waits for a CPU for half of 10 s. All sleep for 5 s.
LATENCY = """\
task main 100
task w1 100 101
task w2 100 102
task w3 100 103
function main     0x1000 0x100 main.c:10
function serial   0x2000 0x100 s.c:20
function parallel 0x3000 0x100 p.c:30
default instructions=100M
phase serial   10050ms threads=1 code=main>serial
phase parallel 9950ms threads=4 code=main/main>parallel:25%,w1/parallel:25%,w2/parallel:25%,w3/parallel:25%
sleep 5s threads=4 in=timer:4
phase half     10s threads=1 wait=50% code=main>serial
"""
# The period of 10.0 to 10.1 s has .05 s + 4 x .05 s of CPU time, so each of its 5 + 20 samples weighs .4.
SERIAL_US = 1000 * 10000 + 5 * 4000 + 500 * 20000
PARALLEL_US = 3960 * 2500 + 20 * 4000


def latency_of(folder, *options):
    return json.loads(expect(folder.call("code", "--latency", "--format", "json", *options), 0).stdout)


def selves(found):
    return {row["name"]: row["self"] for row in found["code"] if row["self"] > 0}


def record_latency(folder, name, script):
    folder.write("latency.sim", script)
    expect(folder.call("record", "-q", "--order", "fixed", "--frequency", "100", "--pmu", "sim:latency.sim", "-o", name), 0)


def check_latency():
    """--latency: samples share the time in which a thread ran or waited, to the microsecond"""
    with Folder(runs=0) as folder:
        record_latency(folder, "rpistat.data", LATENCY)
        found = latency_of(folder)
        assert selves(found) == {"serial": SERIAL_US, "parallel": PARALLEL_US}, found["code"]
        assert [found[name] for name in ("latency_s", "busy_s", "elapsed_s", "cpu_s", "wait_s")] == [30, 30, 35, 54.85, 5], found
        assert found["weight"] == "us" and found["samples"] == 5485, found
        [share] = [row["cpu_share"] for row in found["code"] if row["name"] == "serial"]
        assert abs(share - 1505 / 5485) < 1e-9, found["code"]
        assert sum(row["samples"] for row in found["labels"]) == 5485, found["labels"]
        assert [row["top"][0]["name"] for row in found["labels"] if row["top"]] == ["serial", "parallel"], found["labels"]
        part = selves(latency_of(folder, "--from", "11s", "--to", "20s"))
        assert part == {"parallel": 9000000}, part
        for by in ("thread", "process", "program", "module", "line"):
            found = latency_of(folder, "--by", by)
            assert sum(row["self"] for row in found["code"]) == 30000000, found
            assert abs(sum(row["cpu_share"] for row in found["code"]) - 1) < 1e-6, found
        found = latency_of(folder, "--by", "thread")
        assert {row["name"]: row["self"] for row in found["code"]} == {
            "main": SERIAL_US + PARALLEL_US // 4, "w1": PARALLEL_US // 4, "w2": PARALLEL_US // 4, "w3": PARALLEL_US // 4}
        calls = latency_of(folder, "--tree")["calls"]
        assert {(row["name"], row["total"]) for row in calls} == {
            ("all", 30000000), ("main", SERIAL_US + PARALLEL_US // 4), ("serial", SERIAL_US),
            ("parallel", PARALLEL_US // 4), ("parallel", PARALLEL_US * 3 // 4)}, calls
        folded = expect(folder.call("code", "--latency", "--format", "folded"), 0).stdout
        assert sorted(folded.splitlines()) == ["main;parallel %d" % (PARALLEL_US // 4), "main;serial %d" % SERIAL_US,
                                               "parallel %d" % (PARALLEL_US * 3 // 4)], folded
        text = " ".join(expect(folder.call("code", "--latency"), 0).stdout.split())
        assert "about 30.000 s of 35.000 s, in which a thread ran or waited for a CPU (from samples: 30.000 s)" in text, text
        assert "Threads: 54.850 s running, 5.000 s waiting for a CPU" in text and "Shares are about" not in text and "serial has 66.7 % of the latency, and 27.4 % of the CPU time." in text, text
        assert selves(json.loads(expect(folder.call("code", "--format", "json"), 0).stdout)) == {"serial": 1505, "parallel": 3980}
        ask_store(folder / "rpistat.data", "UPDATE sampling SET frequency = 50")  # twice as many samples as expected
        found = latency_of(folder)
        assert (found["latency_s"], found["busy_s"]) == (30, 30), found
        assert selves(found) == {"serial": SERIAL_US, "parallel": PARALLEL_US}, found["code"]


def check_latency_thinned():
    """--latency: blocks of downsampled periods use their mean number of threads; the sum is unchanged"""
    with Folder(runs=0) as folder:
        script = LATENCY.replace("phase serial ", "repeat 30\nphase serial ").replace("10050ms", "60s").replace("9950ms", "60s") + "end\n"
        folder.write("latency.sim", script)
        expect(folder.call("record", "-q", "--keep", "1m", "--order", "fixed", "--frequency", "100", "--pmu", "sim:latency.sim"), 0)
        [(level,)] = sqlite3.connect(folder / "rpistat.data").execute("SELECT max(level) FROM code_count").fetchall()
        found = latency_of(folder)
        assert level > 0 and abs(found["latency_s"] - found["busy_s"]) < 4, found
        assert abs(found["busy_s"] - 30 * 130) < 100, found
        own = selves(found)
        assert abs(own["serial"] / sum(own.values()) - 70 / 130) < .05, own


def check_latency_starved():
    """--latency: a thread that hardly gets a CPU has all of the time, even if Linux counts waits only when they end"""
    with Folder(runs=0) as folder:
        record_latency(folder, "rpistat.data", "function f 0x1000 0x100\nphase a 20s threads=1 wait=96% instructions=1M code=f\n")
        found = latency_of(folder)
        assert (found["latency_s"], found["busy_s"], found["samples"]) == (20, 20, 80), found
        ask_store(folder / "rpistat.data", "UPDATE reading SET s1 = CASE WHEN period % 2 THEN 192000 ELSE 0 END WHERE source = 0")
        found = latency_of(folder)
        assert 18 < found["busy_s"] <= 20 and abs(found["latency_s"] - found["busy_s"]) < .5, found


def check_latency_sums():
    """--latency: fractions of microseconds add up, and the samples of a gap share the time of the period that ends it"""
    with Folder(runs=0) as folder:
        folder.write("thirds.sim", "task main 100\ntask w1 100 101\ntask w2 100 102\nfunction f 0x1000 0x100\n"
                     "phase a 7s threads=3 instructions=1M code=main/f:34%,w1/f:33%,w2/f:33%\n")
        expect(folder.call("record", "-q", "--order", "fixed", "--period", "7ms", "--frequency", "1000", "--pmu", "sim:thirds.sim"), 0)
        found = latency_of(folder, "--by", "thread")  # a sample weighs 333 1/3 us, and a thread mostly has 7 per period
        assert found["samples"] == 21000 and sum(selves(found).values()) == 7000000, found
    with Folder(runs=0) as folder:
        record_latency(folder, "rpistat.data", "late 10s 30s\nfunction f 0x1000 0x100\nphase a 70s instructions=1M code=f\n")
        found = latency_of(folder)
        assert found["samples"] == 7000 and found["busy_s"] == found["elapsed_s"] and found["elapsed_s"] < 40, found
        assert abs(found["latency_s"] - found["busy_s"]) < .11, found  # the period before the gap has its samples in the gap
        text = expect(folder.call("code", "--latency"), 0).stdout
        [gap] = re.findall(r"Not recorded: ([0-9.]+) s", text)
        assert abs(float(gap) + found["elapsed_s"] - 70) < .2, text
        assert "Not recorded" not in expect(folder.call("code", "--latency", "--from", "50s"), 0).stdout
        part = latency_of(folder, "--from", "50s")  # the time that was not chosen is no gap
        assert part["latency_s"] == part["busy_s"] and part["busy_s"] > 19, part


def check_latency_compared():
    """compare --latency: the seconds of functions are latency"""
    with Folder(runs=0) as folder:
        for length in ("9950ms", "14950ms"):
            record_latency(folder, "rpistat.data", LATENCY.replace("9950ms", length))
        for options, a, b in (((), 39.8, 59.8), (("--latency",), 9.98, 14.98)):
            found = json.loads(expect(folder.call("compare", "1", "2", "--format", "json", *options), 0).stdout)
            assert found["function_time"] == ("latency" if options else "cpu"), found
            [row] = [row for row in found["rows"][0]["functions"] if row["name"] == "parallel"]
            assert abs(row["a"] - a) < .011 and abs(row["b"] - b) < .011, row
        text = expect(folder.call("compare", "1", "2", "--latency"), 0).stdout
        assert "\nLatency by function, from samples\n" in text, text
        refused(folder.call("compare", "--latency", "--no-samples"), 2, "leave out --no-samples or --latency")


def check_latency_refused():
    """--latency: for one thread the shares are unchanged; unsuitable recordings are refused"""
    with Folder(runs=0) as folder:
        record_latency(folder, "one.data", "function f 0x1000 0x100\nphase a 5s instructions=1M code=f\nsleep 1s\n")
        text = " ".join(expect(folder.call("code", "--latency", "-i", "one.data"), 0).stdout.split())
        assert "Shares are about those without --latency" in text and " 5.000 s of 6.000 s" in text, text
        assert "waiting for a CPU was not recorded" in text, text
        few = latency_of(folder, "-i", "one.data", "--to", "100ms")
        assert selves(few) == {"f": 100000} and few["code"][0]["self_share"] is None, few
        text = expect(folder.call("code", "--latency", "--tree", "-i", "one.data", "--to", "100ms"), 0).stdout
        assert "Too few samples for shares" in text and "%" not in text.split("\n\n")[1], text
        refused(folder.call("code", "--latency", "--wall", "-i", "one.data"), 2, "leave one of them out")
        ask_store(folder / "one.data", "UPDATE run SET target = 'CPU 0-3'")
        refused(folder.call("code", "--latency", "-i", "one.data"), 1, "recorded CPUs", "processes (-p)")
        expect(folder.call("record", "-q", "--sample", "instructions:1000", "--pmu", "sim:latency.sim", "-o", "event.data"), 0)
        refused(folder.call("code", "--latency", "-i", "event.data"), 1, "once per 1000 events", "--sample EVENT:N")
        expect(folder.call("record", "-q", "--no-samples", "--pmu", "sim:latency.sim", "-o", "none.data"), 0)
        refused(folder.call("code", "--latency", "-i", "none.data"), 1, "has no samples")


def check_many_names():
    """if many functions are named, names that recur are stored once, and the output is the same"""
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
    """an error in the script's code is reported with its place"""
    with Folder() as folder:
        folder.write("bad.sim", "function f 1 4\nphase a 1s code=g\n")
        refused(folder.call("record", "--pmu", "sim:bad.sim"), 2, "bad.sim:2: function 'g' is not defined above this line")


TWO_THREADS = """\
task main 100
task w 100 101
function f 0x1000 0x100 main.c:10
default instructions=200M threads=2
phase work 10s code=f:50%,w/f:50%
sleep 10s
"""


def check_off_cpu():
    """the time off the CPU is the time in which no thread ran, not the difference from CPU time"""
    with Folder() as folder:
        folder.write("two.sim", TWO_THREADS)
        folder.write("one.sim", TWO_THREADS.replace("threads=2", "threads=1 wait=0%").replace("f:50%,w/f:50%", "f"))
        for script, cpu_text in ("two", "20.0 s of CPU time (100 % of one CPU)"), ("one", "10.0 s of CPU time (50 % of one CPU)"):
            store = script + ".data"
            expect(folder.call("record", "-q", "--pmu", "sim:%s.sim" % script, "-o", store), 0)
            # as if there were two CPUs: with more, the threads may have run one after another
            connection = sqlite3.connect(folder.path + "/" + store)
            connection.execute("UPDATE run SET cpu_count = 2")
            connection.commit()
            connection.close()
            found = json.loads(expect(folder.call("code", "-i", store, "--format", "json"), 0).stdout)
            assert found["off_cpu"] == 0.5, found
            assert {row["label"]: row["off_cpu"] for row in found["labels"]} == {"A": 0, "B": 1}, found["labels"]
            text = expect(folder.call("code", "-i", store), 0).stdout
            assert "off-CPU for 50.0 % of the elapsed time." in " ".join(text.split()), text
            part = json.loads(expect(folder.call("code", "-i", store, "--to", "15s", "--format", "json"), 0).stdout)
            assert abs(part["off_cpu"] - 1 / 3) < 1e-9, part["off_cpu"]
            assert cpu_text in expect(folder.call("report", "-i", store), 0).stdout
        # half of each period, with two threads: it is unknown whether they ran at the same time
        folder.write("mixed.sim", TWO_THREADS.replace("10s", "1s"))
        expect(folder.call("record", "-q", "--pmu", "sim:mixed.sim", "--period", "2s", "-o", "mixed.data"), 0)
        text = expect(folder.call("code", "-i", "mixed.data"), 0).stdout
        assert OFF_CPU not in text.splitlines()[1] and text.splitlines()[1].endswith(" per CPU)."), text
        # two threads run for 1 of 4 s, at the same time or not: at least 2 s without a thread. For CPUs, it is the unused share
        folder.write("quarter.sim", "task main 100\ntask w 100 101\nfunction f 0x1000 0x100\n"
                     "phase work 1s instructions=200M threads=2 code=f:50%,w/f:50%\nsleep 3s\n")
        expect(folder.call("record", "-q", "--pmu", "sim:quarter.sim", "--period", "4s", "-o", "quarter.data"), 0)
        for target, least in ("command", True), ("cgroup build", True), ("all 2 CPUs", False):
            ask_store(folder / "quarter.data", "UPDATE run SET cpu_count = 2, target = ?", (target,))
            found = json.loads(expect(folder.call("code", "-i", "quarter.data", "--format", "json"), 0).stdout)
            text = " ".join(expect(folder.call("code", "-i", "quarter.data"), 0).stdout.split())
            assert found["off_cpu"] == .5 and ("off-CPU for at least 50.0 % of" in text) == least, (target, text)


def check_ramps():
    """shares that rise or fall steadily are ramps, in JSON and in words; constant shares are none"""
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


tap.main([check_functions, check_functions_wall, check_functions_cpus, check_functions_names, check_ramps, check_off_cpu,
          check_counts, check_names, check_periods, check_options, check_cgroups, check_missing, check_wall,
          check_wall_without_code, check_wall_children, check_wall_phases, check_wall_thinned, check_wall_refused,
          check_latency, check_latency_thinned, check_latency_starved, check_latency_sums, check_latency_compared, check_latency_refused,
          check_many_names, check_refused])
