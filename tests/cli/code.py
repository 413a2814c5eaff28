"""code: where the samples of a run were; their export; functions in phases and reports."""
import contextlib
import csv
import io
import json
import os
import pty
import random
import re
import sqlite3
import subprocess

from program import Folder, RPISTAT, ask_store, environment, expect, refused, tap

from samples import Code  # in tests/support
from words import CLASS_TITLE, CODE_TITLE

# Two phase classes, A B sleep A B, of 80, 60, 40, 80 and 60 periods; C is the sleep.
SCRIPT = """\
clock 700M
seed 1
noise 3%
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase calm 8s
phase busy 6s dc_miss=10M main_tlb_miss=900k
sleep 4s
phase calm 8s
phase busy 6s dc_miss=10M main_tlb_miss=900k
"""
WORK = "/usr/bin/work"
MAIN = ("main", WORK, "/src/work.c", 10)
LOAD = ("load", WORK, "/src/load.c", 7)
LOAD_ON = ("load", WORK, "/src/load.c", 9)
SOLVE = ("solve;\x1b[31m", WORK, "/src/solve.c", 40)  # a hostile name
COPY = ("copy_page", "[kernel]", "", 0)
BARE = ("", "/usr/lib/libz.so.1", "", 0)  # a module without names

FOLDER = Folder()


def prepare():
    """Make runs 1 (with samples at known places) and 2 (without samples)."""
    folder = FOLDER.__enter__()
    folder.write("script.sim", SCRIPT)
    folder.record("-q")
    folder.record("-q", "--label", "bare", "--duration", "2s")
    code = Code(folder / "rpistat.data")
    for period in range(320):
        if period < 80 or 180 <= period < 260:
            code.add(period, [MAIN, LOAD], 3)
            code.add(period, [MAIN, LOAD_ON], 1)
            code.add(period, [MAIN, LOAD, COPY], 4)
            code.add(period, [MAIN], 1)
            code.add(period, [MAIN, BARE], 1, task=("helper", 100, 101))
        elif period < 140 or period >= 260:
            code.add(period, [MAIN, SOLVE], 8)
            code.add(period, [MAIN, SOLVE, SOLVE], 1)
            code.add(period, [MAIN, LOAD], 1, task=("other", 200, 200))
    code.write(complete=280, lost=2800)
    expect(folder.call("phases", "-r", "1"), 0)
    store = sqlite3.connect(folder / "rpistat.data")
    with store:  # correct a boundary that is one period off, so that counts are exact
        for at in (80, 140, 180, 260):
            store.execute("UPDATE phase SET first_period = ?1, start_ns = ?1 * 100000000"
                          " WHERE abs(first_period - ?1) <= 3", [at])
            store.execute("UPDATE phase SET last_period = ?1 - 1, end_ns = ?1 * 100000000"
                          " WHERE abs(last_period + 1 - ?1) <= 3", [at])
    store.close()
    return folder


def set_target(folder, target):
    """Make the run look like one of an attached target instead of a command."""
    ask_store(folder / "rpistat.data", "UPDATE run SET target = ?", (target,))


def code(*arguments, status=0):
    return expect(FOLDER.call("code", "-r", "1", *arguments), status)


def found_by(*arguments):
    return json.loads(code("--format", "json", *arguments).stdout)


def shares(*arguments):
    return {row["name"]: (row["self"], row["total"]) for row in found_by(*arguments)["code"]}


# --- the table --------------------------------------------------------------------------------


def test_functions():
    """functions with their own time and with the time of the functions that they called; recursion counts once"""
    found = found_by()
    assert found["samples"] == 2800 and found["unnamed"] == 160 and found["off_cpu"] == 0.125, found
    assert {row["name"]: (row["self"], row["total"]) for row in found["code"]} == {
        "main": (160, 2800), "load": (640 + 120, 1400), "copy_page": (640, 640),
        "solve;\x1b[31m": (1080, 1080), "libz.so.1+0x1040": (160, 160)}, found["code"]
    rows = {row["name"]: row for row in found["code"]}
    assert rows["load"]["line"] == 7 and rows["load"]["file"] == "/src/load.c", rows
    assert rows["copy_page"]["in_kernel"] and not rows["main"]["in_kernel"], rows
    assert rows["libz.so.1+0x1040"]["named_by"] == "none", rows
    assert [row["unnamed_share"] for row in found["labels"]] == [.1, 0, None], found["labels"]
    assert [row["self"] for row in found["code"]] == sorted(
        (row["self"] for row in found["code"]), reverse=True)
    assert abs(rows["load"]["self_share"] - 760 / 2800) < 1e-6, rows


def test_by():
    """lines, modules, processes and threads"""
    lines = [(row["name"], row["line"], row["self"]) for row in found_by("--lines")["code"]]
    assert ("load", 9, 160) in lines and ("load", 7, 600) in lines, lines
    assert shares("--by", "module") == {
        WORK: (2000, 2800), "[kernel]": (640, 640), "/usr/lib/libz.so.1": (160, 160)}
    threads = {(row["name"], row["pid"], row["tid"]): row["self"]
               for row in found_by("--by", "thread")["code"]}
    assert found_by("--by", "thread")["unnamed"] is None, "threads say nothing of it"
    assert threads == {("work", 100, 100): 2520, ("helper", 100, 101): 160,
                       ("other", 200, 200): 120}, threads
    assert shares("--by", "process") == {"work": (2680, 2680), "other": (120, 120)}
    assert sum(line.startswith("other") for line in
               code("--by", "thread", "--format", "csv").stdout.splitlines()) == 1


def test_phase():
    """--phase takes a label, its second time, and numbers; also times and a region of the run"""
    assert shares("B") == shares("b") == {
        "main": (0, 1200), "load": (120, 120), "solve;\x1b[31m": (1080, 1080)}, shares("B")
    assert shares("B.2")["load"] == shares("1")["load"] == (60, 60), (shares("B.2"), shares("1"))
    assert shares("A.2") == shares("3") != shares("A"), shares("A.2")
    assert shares("0-1")["main"] == (80, 1400), shares("0-1")
    part = shares("--from", "7s", "--to", "9s")
    assert part["solve;\x1b[31m"] == (90, 90) and part["copy_page"] == (40, 40), part
    assert shares("B", "--from", "20s") == shares("B.2")
    assert shares("--from", "phase:B", "--to", "phase:B") == shares("B.1")
    store = sqlite3.connect(FOLDER / "rpistat.data")
    with store:  # only whole periods count: 10.1 s to 10.9 s
        store.execute("INSERT INTO mark VALUES (1, 10050000000, 0, 'region inner begin')")
        store.execute("INSERT INTO mark VALUES (1, 10950000000, 0, 'region inner end')")
    store.close()
    assert shares("--region", "inner")["solve;\x1b[31m"] == (72, 72), shares("--region", "inner")
    refused(FOLDER.call("code", "-r", "1", "Z"), 1, "no phase 'Z'", "A to C")
    refused(FOLDER.call("code", "-r", "1", "7"), 1, "no phase '7'")
    refused(FOLDER.call("code", "-r", "1", "--region", "outer"), 1, "outer", "inner")
    refused(FOLDER.call("code", "-r", "1", "A", "--from", "8.5s", "--to", "9s"), 1, "no measurement period")


def test_labels():
    """next to this, the functions of each phase, with the kernel's work for them"""
    labels = {row["label"]: row for row in found_by()["labels"]}
    assert list(labels) == ["A", "B", "C"], labels
    top = {label: (row["top"][0]["name"], row["top"][0]["line"]) if row["top"] else None
           for label, row in labels.items()}
    assert top == {"A": ("load", 7), "B": ("solve;\x1b[31m", 40), "C": None}, top
    assert abs(labels["A"]["top"][0]["self_share"] - .8) < .01, labels
    assert (labels["A"]["off_cpu"], labels["C"]["off_cpu"]) == (0, 1), labels
    assert found_by("B")["labels"] == [], "one phase alone"


def test_text():
    r"""the text has the sampling event and how reliable the shares are; it is as wide as the terminal, and whole in a pipe"""
    with contextlib.closing(sqlite3.connect(FOLDER / "rpistat.data")) as store:
        for stacks, advice in ("auto", "build with -fno-omit-frame-pointer and record with --stacks fp"), ("fp", "or record with --stacks auto"):
            with store:
                store.execute("UPDATE sampling SET stacks = ? WHERE run_id = 1", [stacks])
            assert advice in " ".join(code().stdout.split()), stacks
    text = code().stdout
    assert "\n2800 samples (cpu-clock, 99 Hz per CPU)." in text and "off-CPU for at least 12.5 % of the\nelapsed time." in text, text
    assert "Complete call stacks: 10 % of the samples. Trust Self" in text and "-fno-omit-frame-pointer" in text, text
    assert "Complete call stacks in the whole run: 10 % of the samples." in code("B").stdout
    assert "Lost: 50.0 % of the run's samples" in text, text
    assert re.search(r"^ +27\.1 % +50\.0 % +760 +work +load\.c:7 +load$", text, re.M), text
    assert re.search(r"^ +A +1600 +0\.0 % +load \(load\.c:7\) 80 %", text, re.M), text
    assert "5.7 % of the samples are in functions without symbols" in text and "--resolve" in text, text
    assert "\x1b" not in text, text
    few = code("--at-most", "2").stdout
    assert "3 more rows (--at-most N)" in few and "copy_page" not in few, few
    command = ["/usr/bin/work", "x" * 500]
    store = sqlite3.connect(FOLDER / "rpistat.data")
    with store:
        (before,), = store.execute("SELECT command FROM run WHERE run_id = 1").fetchall()
        store.execute("UPDATE run SET command = ? WHERE run_id = 1", [json.dumps(command)])
    title, *lines = shown_in(60).splitlines()
    assert re.fullmatch(r"Code of run 1, /usr/bin/work x+\.\.\.", title) and len(title) == 60, title
    assert all(len(line) <= 100 for line in lines), lines
    assert " ".join(code("A.2").stdout.split()).startswith("Code of run 1, %s, phase A.2 " % " ".join(command))
    with store:
        store.execute("UPDATE run SET command = ? WHERE run_id = 1", [before])
    store.close()


def test_advice():
    """advice fits the runtime, and its cause has at least 3 % of the samples"""
    no_map, java, node = "its compiler wrote no map", "/usr/lib/libjvm.so", "/usr/bin/node"
    to_java = ["PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"]
    option = "ecord with --jit-names"
    with Folder() as folder:
        folder.write("script.sim", SCRIPT)
        for run, (samples, path, reason, runtime, expected, *target) in enumerate([
                (4, BARE[1], "stripped", java, ["-fno-omit-frame-pointer", "--resolve", "stripped"]),
                (2, BARE[1], "stripped", java, ["-fno-omit-frame-pointer"]),
                (4, "/tmp/perf-7.map", no_map, java, [*to_java, no_map]),
                (2, "/tmp/perf-7.map", no_map, java, ["-fno-omit-frame-pointer"]),
                (4, "/tmp/perf-7.map", no_map, node, ["--perf-basic-prof", no_map]),
                (4, "/tmp/perf-7.map", no_map, java, [option, no_map], "command"),
                (4, "/tmp/perf-7.map", no_map, node, [option, no_map], "command"),
                (4, "/tmp/perf-7.map", no_map, WORK, [no_map], "command")], 1):
            folder.record("-q", "--duration", "2s")
            code = Code(folder / "rpistat.data", run)
            for period in range(20):
                code.add(period, [("main", runtime, "", 0)], 96)
                code.add(period, [MAIN, ("", path, "", 0)], samples)
            code.write(complete=280)
            with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store, store:
                store.execute("UPDATE module SET kind = 'jit' WHERE path LIKE '/tmp/%'")
                store.execute("UPDATE run SET target = ? WHERE run_id = ?", [target[0] if target else "process 7", run])
                store.execute("INSERT INTO location SELECT run_id, frame, 0, ?, '', 0, 'none', NULL FROM frame NATURAL JOIN module"
                              " WHERE run_id = ? AND path = ?", [reason, run, path])
            text = " ".join(expect(folder.call("code", "-r", str(run)), 0).stdout.split())
            found = [word for word in ("-fno-omit-frame-pointer", *to_java, option, "--perf-basic-prof", "--resolve", "stripped",
                                   no_map) if word in text]
            assert found == expected, (run, found, text)


def shown_in(columns):
    """The command's output on a terminal with this number of columns."""
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", 0) as end:
        subprocess.run([RPISTAT, "code", "-r", "1", "-q"], cwd=FOLDER.path, stdout=slave, check=True,
                       env=environment(COLUMNS=str(columns), TERM="xterm"), timeout=300)
        os.close(slave)
        shown = b""
        try:
            while part := end.read(65536):
                shown += part
        except OSError:
            pass
    return shown.decode()


def test_tree():
    """--by tree: callers above, largest share first, a module without names as one row"""
    text = code("--tree").stdout
    rows = re.findall(r"^ +([\d.]+) % +(?:([\d.]+) %)?( +)(\S+)", text, re.M)
    assert [(total, name) for total, _, _, name in rows if name != "of"][:6] == [
        ("100.0", "main"), ("50.0", "load"), ("22.9", "copy_page"), ("38.6", "solve;\\x1b[31m"),
        ("4.3", "solve;\\x1b[31m"), ("5.7", "[libz.so.1]")], rows
    calls = found_by("--tree")["calls"]
    assert calls[0]["caller"] is None and calls[0]["total"] == 2800, calls[0]
    for row in calls[1:]:
        assert row["caller"] < row["call"], row
    assert sum(row["self"] for row in calls) == 2800, calls
    sheet = list(csv.DictReader(io.StringIO(code("--tree", "--format", "csv").stdout)))
    assert [row["call"] for row in sheet] == [str(row["call"]) for row in calls], sheet
    part = code("--tree", "--from", "7.9s", "--to", "9.5s").stdout  # 1 of 160 samples is too few
    assert "\n160 samples" in part and "load" in part and "libz" not in part, part


# --- other formats ----------------------------------------------------------------------------


def folded(text):
    """{stack: samples}, as flamegraph.pl reads lines."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(.*)\s+?(\d+)", line)  # the count is after the last blank
        assert match and match.group(1) not in found, line
        found[match.group(1)] = int(match.group(2))
    return found


def test_folded():
    """folded stacks: one line each, whatever the functions' names contain"""
    all_of_it = folded(code("--format", "folded").stdout)
    solve = "solve: [31m"
    assert all_of_it == {"main": 160, "main;load": 760, "main;load;copy_page": 640,
                         "main;[libz.so.1]": 160, "main;" + solve: 960,
                         "main;%s;%s" % (solve, solve): 120}, all_of_it
    assert folded(expect(FOLDER.call("export", "-r", "1", "--format", "folded"), 0).stdout) == all_of_it
    assert folded(code("B", "--format", "folded").stdout)["main;load"] == 120
    assert ", phase B\n" in code("b").stdout
    refused(FOLDER.call("code", "-r", "1", "Z"), 1, "has no phase 'Z'; choose from A to C (see `rpistat phases`)")
    refused(FOLDER.call("code", "-r", "1", "--format", "folded", "-o", "/dev/full"), 1,
            "cannot write the export: No space left")
    for command in (["export", "--format", "folded"], ["export", "--format", "pprof", "-o", "empty.pb"], ["code", "--format", "folded"]):
        refused(FOLDER.call(*command, "-r", "1", "--from", "1h", "--to", "2h"), 1, "no measurement period in this selection")
    part = expect(FOLDER.call("export", "-r", "1", "--format", "folded", "--from", "phase:B", "--to",
                              "phase:B"), 0).stdout
    assert folded(part)["main;load"] == 60, part


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """{number: values} of a message in protobuf's wire format."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        assert key & 7 in (0, 2), key
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            assert at <= len(data)
        found.setdefault(key >> 3, []).append(value)
    return found


def packed(data):
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


class Profile:
    """A pprof profile (profile.proto), as far as rpistat writes it."""

    def __init__(self, data):
        whole = fields(data)
        self.text = [text.decode() for text in whole[6]]
        assert self.text[0] == ""
        self.types = [self.type_of(data) for data in whole[1]]
        self.period = (self.type_of(whole[11][0]), whole[12][0])
        self.mapping = {one[1][0]: one for one in map(fields, whole[3])}
        self.function = {one[1][0]: one for one in map(fields, whole[5])}
        self.location = {one[1][0]: one for one in map(fields, whole[4])}
        self.samples = [self.sample(fields(data)) for data in whole[2]]

    def type_of(self, data):
        one = fields(data)
        return self.text[one[1][0]], self.text[one[2][0]]

    def sample(self, one):
        labels = [fields(data) for data in one.get(3, [])]
        return ([name for location in packed(one[1][0]) for name in self.names(location)],
                packed(one[2][0]), {self.text[label[1][0]]: self.text[label[2][0]] for label in labels})

    def names(self, number):
        """The (function, line) pairs of a location, innermost first; if there are none, its module."""
        location = self.location[number]
        lines = [fields(data) for data in location.get(4, [])]
        if not lines:
            return [self.text[self.mapping[location[2][0]][5][0]]]
        return [(self.text[self.function[line[1][0]][2][0]], line.get(2, [0])[0]) for line in lines]


def test_pprof():
    """a profile for pprof: samples and time by stack, line and phase; modules with their build-ids"""
    store = sqlite3.connect(FOLDER / "rpistat.data")
    with store:
        store.execute("UPDATE module SET build_id = 'abcd1234' WHERE path = ?", [WORK])
        frame = store.execute("SELECT frame FROM location WHERE function = 'load' AND line = 9").fetchone()[0]
        store.execute("INSERT INTO location VALUES (1, ?, 1, 'outer', '/src/load.c', 5, 'debug', NULL)", [frame])
    store.close()
    expect(FOLDER.call("export", "-r", "1", "--format", "pprof", "-o", "all.pb"), 0)
    profile = Profile(FOLDER.read("all.pb"))
    assert profile.types == [("samples", "count"), ("time", "nanoseconds")], profile.types
    assert profile.period == (("time", "nanoseconds"), 10**9 // 99), profile.period
    assert sum(values[0] for _, values, _ in profile.samples) == 2800, profile.samples
    assert all(values[1] == values[0] * (10**9 // 99) for _, values, _ in profile.samples)
    stacks = {(tuple(stack), labels.get("phase")): values[0] for stack, values, labels in profile.samples}
    assert stacks[(("load", 9), ("outer", 5), ("main", 10)), "A"] == 160, stacks  # inlined: the caller follows
    assert stacks[("/usr/lib/libz.so.1", ("main", 10)), "A"] == 160, stacks
    assert stacks[(("load", 7), ("main", 10)), "B"] == 120, stacks
    assert "abcd1234" in {profile.text[one[6][0]] for one in profile.mapping.values() if 6 in one}
    expect(FOLDER.call("code", "-r", "1", "B", "--format", "pprof", "-o", "b.pb"), 0)
    profile = Profile(FOLDER.read("b.pb"))
    assert {labels["phase"] for _, _, labels in profile.samples} == {"B"}, profile.samples
    assert sum(values[0] for _, values, _ in profile.samples) == 1200, profile.samples


# --- elsewhere --------------------------------------------------------------------------------


def test_phases():
    """phases have the main function of each class; below half of the samples, with its share"""
    words = expect(FOLDER.call("phases", "-r", "1"), 0).stdout.split(CLASS_TITLE)[1]
    words = " ".join(words.split())
    assert re.search(r" A: in load \(load\.c:7\), .* B: in solve;\\x1b\[31m \(solve\.c:40\), .* run: 11 %\) "
                     r"C: [^,]*$", words), words
    labels = json.loads(expect(FOLDER.call("phases", "-r", "1", "--format", "json"), 0).stdout)["labels"]
    assert [label["top"][0]["name"] for label in labels[:2]] == ["load", "solve;\x1b[31m"], labels
    bare = json.loads(expect(FOLDER.call("phases", "-r", "bare", "--format", "json"), 0).stdout)
    assert "top" not in bare["labels"][0], bare


def test_report():
    """the report, also of a part, has where the time went; the layout of 2013 does not"""
    text = expect(FOLDER.call("report", "-r", "1"), 0).stdout
    assert re.search(CODE_TITLE + r" function \(2800 samples.*\n  load \(load\.c:\d\) 50\.0 %, solve", text), text
    part = expect(FOLDER.call("report", "-r", "1", "--from", "8s", "--to", "10s"), 0).stdout
    assert re.search(CODE_TITLE + r" function \(200 samples.*\n  solve.* 90\.0 %", part), part
    assert CODE_TITLE not in FOLDER.call("report", "-r", "1", "--format", "classic").stdout
    assert CODE_TITLE not in FOLDER.call("report", "-r", "bare").stdout
    top = json.loads(FOLDER.call("report", "-r", "1", "--format", "json").stdout)["top"]
    assert top[0]["name"] == "load" and top[0]["self_share"] == .5, top


def test_answer():
    """the report begins with the answer, in text and JSON: for the run, for a part, for too few samples"""
    def answer(*which):
        text = expect(FOLDER.call("report", *which), 0).stdout.split("\n\nSystem")[0]
        found = json.loads(expect(FOLDER.call("report", *which, "--format", "json"), 0).stdout)["answer"]
        assert " ".join(text.split()) == " ".join(found.split()), (text, found)
        return found.splitlines()
    assert answer("-r", "1") == [
        "sim:script.sim ran for 32.0 s, 28.0 s of CPU time (88 % of one CPU), exit status 0.",
        "CPU time: load 50 %, solve;\\x1b[31m 39 %, main 6 % (2800 samples)",
        "Phases: 5 in 3 classes; time per class: A (load) 16.0 s, B (solve;\\x1b[31m) 12.0 s, C (mostly off-CPU) 4.0 s",
        "Difference: largest in main miss rate (4.45 PTI in B, 0.50 PTI in A, 2.20 PTI in the whole run)"], answer("-r", "1")
    assert answer("-r", "1", "--from", "8s", "--to", "10s") == [
        "2.000 s of sim:script.sim, 2.000 s of CPU time (100 % of one CPU).",
        "Selection: in solve;\\x1b[31m (90 % of samples, rest of the run: 35 %), 2.2 x the main miss rate of the rest of the run, "
        "DC miss ratio 20 % (rest of the run: 10 %), CPU use 100 % (rest of the run: 87 %)",
        "CPU time: solve;\\x1b[31m 90 %, load 10 % (200 samples)",
        "Phases: the whole selection is in phase B"], answer("-r", "1", "--from", "8s", "--to", "10s")
    few = answer("-r", "1", "--from", "0s", "--to", "100ms")
    assert len(few) == 2 and few[0].startswith("0.100 s of sim:script.sim, "), few
    assert few[1].startswith("Selection: ") and ": in " not in few[1], few  # 10 samples
    bare = answer("-r", "bare")
    assert len(bare) == 2 and bare[0].startswith("sim:script.sim ran for 2.000 s, "), bare
    with Folder() as folder:  # no difference for software events; wrong phases do not prevent a report
        folder.write("script.sim", SCRIPT)
        folder.record("-q")
        expect(folder.call("phases"), 0)
        assert "\n  Difference: " in expect(folder.call("report"), 0).stdout
        ask_store(folder / "rpistat.data", "UPDATE run SET pmu = 'software'")
        text = expect(folder.call("report"), 0).stdout
        assert "\n  Phases: 5 in 3 classes" in text and "Difference" not in text, text
        ask_store(folder / "rpistat.data", "DELETE FROM detection")
        text = expect(folder.call("report"), 0).stdout
        assert "Phases: unknown (the store rpistat.data is damaged" in text and "\n    Cycles " in text, text


def test_programs():
    """several processes whose code has mostly no names: programs are named, not libraries; one process, or one program with nearly all samples: modules are named"""
    with Folder() as folder:
        folder.write("script.sim", SCRIPT)
        for run in (1, 2, 3):
            folder.record("-q")
            seen = Code(folder / "rpistat.data", run=run)
            cc1, libc = ("", "/usr/lib/gcc/cc1", "", 0), ("", "/usr/lib/libc.so.6", "", 0)
            for period in range(320):
                pid = 100 + (period // 10 if run != 2 else 0)
                seen.add(period, [cc1], 3, task=("cc1", pid, pid))
                seen.add(period, [libc], 3, task=("cc1", pid, pid))
                seen.add(period, [MAIN], 2, task=("cc1", pid, pid))
                seen.add(period, [libc], 2, task=("cc1", pid, pid) if run == 3 and period % 10 else ("as", 100, 100) if run == 2 else ("as", 999, 999))
            seen.write()
        expect(folder.call("phases", "-r", "1"), 0)
        report = expect(folder.call("report", "-r", "1"), 0).stdout
        assert re.search(CODE_TITLE + r" program and function.*\n  cc1 \(32 sampled processes\) 80\.0 %, as 20\.0 %; functions: \[libc\.so\.6\] 50\.0 %, main \(work\.c:10\)\s+20\.0 %, other code without symbols 30\.0 %\n",
                         report), report
        found = json.loads(expect(folder.call("report", "-r", "1", "--format", "json"), 0).stdout)
        assert found["unnamed_share"] == .8, found
        assert {row["unnamed_share"] for row in json.loads(expect(folder.call("code", "-r", "1", "--format", "json"), 0).stdout)["labels"]} == {.8}
        top = found["top"]
        assert [(row["name"], row["self_share"], row["module"]) for row in top] == [
            ("cc1", .8, None), ("as", .2, None)], top
        text = expect(folder.call("code", "-r", "1"), 0).stdout
        assert "\nPrograms: cc1 80.0 %, as 20.0 % of the samples\n" in text and "cc1 80 %, as 20 %; [libc.so.6] 50 %; other code without symbols 30 %" in " ".join(text.split()), text
        words = expect(folder.call("phases", "-r", "1"), 0).stdout.split(CLASS_TITLE)[1]
        words = " ".join(words.split())
        assert "stands out" not in words and "[cc1]" not in words, words  # the phases are named
        found = json.loads(expect(folder.call("code", "-r", "1", "--by", "program", "--format", "json"), 0).stdout)
        assert [(row["name"], row["self"], row["pid"]) for row in found["code"]] == [
            ("cc1", 2560, None), ("as", 640, None)], found
        text = expect(folder.call("code", "-r", "1", "--by", "program"), 0).stdout.split()
        assert text.count("Sampled") == text.count("processes") == 1 and "Processes" not in text, text
        panel = expect(folder.call("plot", "-r", "1", "-o", "-"), 0).stdout
        assert "a cc1\n" in panel, panel
        assert "a cc1\n" in expect(folder.call("plot", "-r", "1", "-o", "-", "--panel", "code"), 0).stdout
        panel = expect(folder.call("plot", "-r", "1", "-o", "-", "--panel", "per instruction"), 0).stdout
        assert "per instruction" in panel and "a cc1\n" not in panel, panel
        report = expect(folder.call("report", "-r", "3"), 0).stdout
        assert "CPU time: cc1 98 %; functions: [libc.so.6] 50 %, [cc1] 30 %, main 20 % (" in report, report
        top = json.loads(expect(folder.call("report", "-r", "3", "--format", "json"), 0).stdout)["top"]
        assert [(row["name"], row["self_share"]) for row in top] == [("[libc.so.6]", .5), ("[cc1]", .3), ("main", .2)], top
        assert "[libc.so.6] 50 %, [cc1] 30 %" in expect(folder.call("code", "-r", "3"), 0).stdout
        panel = expect(folder.call("plot", "-r", "3", "-o", "-"), 0).stdout
        assert "a cc1\n" not in panel and "libc.so.6" in panel, panel
        assert "[libc" in expect(folder.call("plot", "-r", "1", "--code", "function", "-o", "-"), 0).stdout
        report = expect(folder.call("report", "-r", "2"), 0).stdout
        assert re.search(r"\n  \[libc\.so\.6\] 50\.0 %, \[cc1\] 30\.0 %", report), report
        ask_store(folder / "rpistat.data", "UPDATE module SET kind = 'jit', path = '/tmp/perf-7.map' WHERE path LIKE '%libc%'")
        top = json.loads(expect(folder.call("report", "-r", "2", "--format", "json"), 0).stdout)["top"]
        assert [row["name"] for row in top][:2] == ["[JIT code]", "[cc1]"], top
        with sqlite3.connect(folder / "rpistat.data") as store:  # the code of fewer samples is merged
            store.execute("UPDATE module SET kind = 'file', path = '/usr/lib/libc.so.6' WHERE kind = 'jit'")
            store.execute("UPDATE module SET kind = 'jit', path = '/tmp/perf-7.map' WHERE path LIKE '%cc1%'")
        store.close()
        top = json.loads(expect(folder.call("report", "-r", "2", "--format", "json"), 0).stdout)["top"]
        assert [row["name"] for row in top][:2] == ["[libc.so.6]", "[JIT code]"], top
        assert "Programs" not in expect(folder.call("code", "-r", "2"), 0).stdout


def test_processes_at_boundaries():
    """a process that has samples only in the period of a phase's boundary is not counted there"""
    gzip, md5 = ("", "/usr/bin/gzip", "", 0), ("", "/usr/bin/md5sum", "", 0)
    with Folder() as folder:
        folder.write("script.sim", "clock 700M\nseed 1\nnoise 3%\nphase work 24s instructions=200M\n")
        folder.record("-q")
        seen = Code(folder / "rpistat.data")
        for period in range(240):
            if period < 81:
                seen.add(period, [gzip], 10 if period < 80 else 3, task=("gzip", 100, 100))
            if 80 <= period < 160:
                seen.add(period, [gzip], 7, task=("gzip", 101, 101))
                seen.add(period, [md5], 3, task=("md5sum", 200, 200))
            if period >= 160:  # two processes in the whole phase
                seen.add(period, [gzip], 1, task=("gzip", 102 + period % 2, 102 + period % 2))
                seen.add(period, [md5], 9, task=("md5sum", 202 + period % 2, 202 + period % 2))
        seen.write()
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["phases"]
        assert [(phase["label"], phase["first"]) for phase in found] == [("A", 0), ("B", 80), ("C", 160)], found
        words = " ".join(expect(folder.call("phases"), 0).stdout.split(CLASS_TITLE)[1].split())
        assert " B: in gzip C: in md5sum (2 sampled processes), " in words, words


def test_tiny_shares():
    """lists of programs and functions are without shares that would be printed as 0.0 %"""
    with Folder() as folder:
        folder.write("script.sim", SCRIPT)
        folder.record("-q")
        seen = Code(folder / "rpistat.data")
        for function, samples, task in (("solve", 4990, ("cc1", 100, 100)), ("load", 8, ("as", 200, 200)), ("tiny", 2, ("awk", 300, 300))):
            seen.add(1, [function], samples, task=task)
        seen.write()
        assert "\nPrograms: cc1 99.8 %, as 0.2 % of the samples\n" in expect(folder.call("code"), 0).stdout
        report = expect(folder.call("report"), 0).stdout
        assert "\n  solve 99.8 %, load 0.2 %\n" in report, report


def test_turns_of_programs():
    """programs that alternate are phases, whatever their functions; also in two runs in which a program has two names"""
    draw = random.Random(1)
    with Folder() as folder:
        folder.write("script.sim", "clock 700M\nseed 1\nnoise 3%\nphase work 32s instructions=200M\n")
        for run, other in ((1, "old"), (2, "new"), (3, "sh")):
            folder.record("-q")
            seen = Code(folder / "rpistat.data", run=run)
            for period in range(320):
                name = other if period // 80 % 2 else "sh"
                seen.add(period, ["f%d" % draw.randrange(30)], task=(name, 100, 100))
            seen.write()
        for run, labels in ((1, "ABAB"), (2, "ABAB"), (3, "A")):
            found = json.loads(expect(folder.call("phases", "-r", str(run), "--format", "json"), 0).stdout)["phases"]
            assert "".join(phase["label"] for phase in found) == labels, (run, found)
            assert all(abs(phase["first"] - 80 * k) <= 5 for k, phase in enumerate(found)), found
        rows = json.loads(expect(folder.call("compare", "1", "2", "--format", "json"), 0).stdout)["rows"]
        assert [(row["label"], row["a_times"], row["b_times"]) for row in rows] == [
            (None, 1, 1), ("A", 2, 2), ("B", 2, 2)], rows


def three_phases(folder):
    """Record three phases of 120 periods without samples. Return their Code."""
    folder.write("script.sim", "clock 700M\nseed 1\nnoise 3%\nphase a 12s instructions=200M\n"
                 "phase b 12s instructions=400M\nphase c 12s instructions=100M\n")
    folder.record("-q")
    return Code(folder / "rpistat.data")


def test_stands_out():
    """a program that runs more in one phase than in others is named as a difference, also for a part of the run; for a part that is too short it is unknown"""
    def rows_of(found):
        return [(row["kind"], row["name"], round(row["self_share"], 3), round(row["elsewhere_share"], 3))
                for row in found["stands_out"]]
    with Folder() as folder:
        seen = three_phases(folder)
        for period in range(360):
            is_b = 120 <= period < 240
            seen.add(period, [MAIN], 50, task=("cc1", 5000, 5000, "/build"))
            seen.add(period, [LOAD], 40 if is_b else 49, task=("as", 4999, 4999, "/build"))
            seen.add(period, ["draw"], 9 if is_b else 0, task=("soffice.bin", 4, 4, "/office"))
            seen.add(period, [LOAD], 1, task=("soffice.bin", 4, 4, "/office"))
        seen.write()
        set_target(folder, "all 2 CPUs")
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
        first, b, *rest = found["labels"]
        assert rows_of(b) == [("function", "draw", .09, 0), ("program", "soffice.bin", .1, .01),
                              ("control group", "/office", .1, .01)], b["stands_out"]
        assert all(label["stands_out"] == [] for label in [first, *rest]), (first, rest)
        words = " ".join(expect(folder.call("phases"), 0).stdout.split(CLASS_TITLE)[1].split())
        assert "10 % of samples in soffice.bin (elsewhere 1 %), 9 % in draw (elsewhere 0 %)" in words, words
        assert "stands out" not in words and words.count("50 % of samples in main (work.c:10)") == len(rest) + 1, words
        part = json.loads(expect(folder.call("report", "--from", "13s", "--to", "20s", "--format", "json"), 0).stdout)
        assert rows_of(part)[:2] == [("function", "draw", .09, .016), ("program", "soffice.bin", .1, .026)], part
        assert part["words"] in part["answer"] and "soffice.bin" in part["words"], part
        whole = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)
        answer = whole["answer"].splitlines()  # for a machine: the programs, and the times when they differed
        assert answer[1].startswith("CPU time: cc1 50 %, as 46 %, soffice.bin 4 % ("), answer
        assert re.match(r"Programs of phases: soffice\.bin in B \(10 % of its samples, 1 % elsewhere; from 12\.0 s on\)",
                        answer[2]), answer
        assert "words" not in whole and "stands_out" not in whole, whole
        few = json.loads(expect(folder.call("report", "--from", "13s", "--to", "13.5s", "--format", "json"), 0).stdout)
        assert "stands_out" not in few, few["stands_out"]  # five periods are one block: unknown


def test_callers():
    """phases in the same function are distinguished by the nearest caller that differs, in text, JSON and pictures"""
    with Folder() as folder:
        seen = three_phases(folder)
        for period in range(360):
            outer = ("small", "large")[period // 120] if period < 240 else "write"
            inner = ["draw"] if period >= 240 else [outer, "walk", "step", "step"]
            seen.add(period, ["main", *inner], 8)
            seen.add(period, ["main", *inner, COPY], 1)  # the kernel's work for this function
            seen.add(period, ["main"], 1)
        seen.write()
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["labels"]
        callers = [[(row["name"], round(row["self_share"], 3), round(row["elsewhere_share"], 3))
                    for row in label["stands_out"] if row["kind"] == "caller"] for label in found]
        assert [len(rows) for rows in callers] == [1, 1, 0], found
        for (name, own, rest), expected in zip((callers[0][0], callers[1][0]), ("small", "large")):
            assert name == expected and abs(own - .9) < .02 and rest < .02, callers
        words = " ".join(expect(folder.call("phases"), 0).stdout.split())
        assert "A: in step, called by small" in words and "B: in step, called by large" in words, words
        assert "A small: step" in words and "B large: step" in words and "C draw" in words, words
        report = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "A (small: step) 12.0 s, B (large: step) 12.0 s, C (draw) 12.0 s" in report, report
        expect(folder.call("plot", "-o", "p.svg"), 0)
        picture = folder.read("p.svg").decode()
        assert ">A: in step, called by small, " in picture and ">B: in step, called by large, " in picture, picture
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=2)  # the stacks of A begin where the C library calls main
        for period in range(360):
            outer = ["__libc_start_call_main"] if period < 120 else ["main", "large"]
            seen.add(period, [*outer, "step" if period < 240 else "draw"], 10)
        seen.write()
        found = json.loads(expect(folder.call("phases", "-r", "2", "--format", "json"), 0).stdout)["labels"]
        assert [[row["name"] for row in label["stands_out"] if row["kind"] == "caller"] for label in found] == [[], ["large"], []], found


def test_places():
    """phases in one function, which have the same callers, are distinguished by its lines, or by its blocks of 64 bytes; the line is that of the class"""
    def places_of(folder, run):
        found = json.loads(expect(folder.call("phases", "-r", run, "--format", "json"), 0).stdout)["labels"]
        words = " ".join(expect(folder.call("phases", "-r", run), 0).stdout.split())
        return [[(row["name"], row["line"], round(row["self_share"], 1), round(row["elsewhere_share"], 1))
                 for row in label["stands_out"] if row["kind"] == "place"] for label in found], words

    with Folder() as folder:
        seen = three_phases(folder)
        for period in range(360):
            for line in 10, 20, 30:
                seen.add(period, [("main", WORK, "/src/work.c", line)], 8 if line == 10 * (1 + period // 120) else 1)
        seen.write()
        found, words = places_of(folder, "1")
        assert found == [[("main", line, .8, .1)] for line in (10, 20, 30)], found
        assert "A: in main (work.c:10)" in words and "C main (work.c:30)" in words and "+0x" not in words, words
        expect(folder.call("plot", "-r", "1", "-o", "p.svg"), 0)
        assert ">A: in main (work.c:10)" in folder.read("p.svg").decode()
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=2)  # without lines: the frames of `main` are at 0x1000, 0x1010 and 0x1020
        for period in range(360):
            for n, block in enumerate(["one", "two", "three"]):
                seen.add(period, [block], 8 if n == period // 120 else 1)
        seen.write()
        ask_store(folder / "rpistat.data", "UPDATE frame SET function = 4096, address = 4096 + 160 * frame WHERE run_id = 2")
        ask_store(folder / "rpistat.data", "UPDATE location SET function = 'main' WHERE run_id = 2")
        found, words = places_of(folder, "2")
        assert found == [[("main+0x%x" % at, None, .8, .1)] for at in (0, 0x80, 0x140)], found
        assert "A: in main+0x0" in words and "C main+0x140" in words and "build with -g" in words, words
        ask_store(folder / "rpistat.data", "UPDATE location SET how = 'none' WHERE run_id = 2")
        found, words = places_of(folder, "2")
        assert [rows[0][0] for rows in found] == ["work+0x1000", "work+0x1080", "work+0x1140"], found
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=3)  # each of the lines 30 and 40 is half of the last phase, in the same block
        for period in range(360):
            line = [10, 20, 30, 30, 40][period // 60 - 1 if period >= 240 else period // 120]
            seen.add(period, [("main", WORK, "/src/work.c", line)], 7 if line == 40 else 8)
        seen.write()
        ask_store(folder / "rpistat.data", "UPDATE frame SET function = 4096, address = 4096 + 160 * min(frame, 2) + 16 * (frame = 3) WHERE run_id = 3")
        found, words = places_of(folder, "3")
        assert [[row[:2] for row in rows] for rows in found] == [[("main", line)] for line in (10, 20, 30)], found
        assert "C: in main (work.c:30)" in words and "+0x" not in words, words
        text = expect(folder.call("code", "-r", "3"), 0).stdout
        assert ["main (work.c:%d) 100 %%" % line in text for line in (10, 20, 30, 40)] == [True, True, True, False], text


def test_few():
    """a class with fewer than 20 samples, nearly all in a function that others lack: the function without a share, in each command"""
    with Folder() as folder:
        folder.write("script.sim", "phase a 12s instructions=200M\nphase b 2s instructions=400M\nphase c 12s instructions=100M\n")
        folder.record("-q")
        seen = Code(folder / "rpistat.data")
        for period in range(260):
            if not 120 <= period < 140:
                seen.add(period, ["main", "load" if period < 120 else "draw"], 10)
            elif period < 136:
                seen.add(period, ["main", "copy"])
        seen.write()
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["labels"][1]
        assert [(row["name"], row["self_share"]) for row in found["stands_out"] if row["kind"] == "function"] == [("copy", 1)], found
        assert found["samples"] == 16 and found["unnamed_share"] is None, found
        words = " ".join(expect(folder.call("phases"), 0).stdout.split())
        assert "most samples in copy (elsewhere 0 %)" in words, words
        text = expect(folder.call("code"), 0).stdout
        assert "mostly copy" in text and "too few samples" not in text, text


def test_totals():
    """a phase whose samples are spread over inner functions is named after the function that called them, in text and JSON"""
    with Folder() as folder:
        seen = three_phases(folder)
        for period in range(360):
            for n in range(5):
                inner = [["load", "parse"], ["Grid::operator[]"],
                         ["run_model", "std::sys::backtrace::__rust_begin_short_backtrace", "list_extend"]][period // 120] + [f"lib{n}"][:period // 120 != 1]
                seen.add(period, ["_start", "main", "start_thread", *inner, *[COPY][:n == 0]], 2)
            seen.add(period, ["_start", "main"], 1)
        seen.write()
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["labels"]
        totals = [[(row["name"], round(row["self_share"], 3), round(row["elsewhere_share"], 3))
                   for row in label["stands_out"] if row["kind"] == "function with callees"] for label in found]
        assert totals == [[("parse", .909, 0)], [], [("run_model", .909, 0)]], totals
        words = " ".join(expect(folder.call("phases"), 0).stdout.split())
        assert "A: 91 % of samples in parse and its callees (elsewhere 0 %)" in words, words
        assert "B: in Grid::operator[]" in words and "C: 91 % of samples in run_model and its callees" in words, words
        report = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "A (parse) 12.0 s, B (Grid::operator[]) 12.0 s, C (run_model) 12.0 s" in report, report
        part = json.loads(expect(folder.call("explain", "--from", "0s", "--to", "6s", "--format", "json"), 0).stdout)
        assert [row["name"] for row in part["stands_out"] if row["kind"] == "function with callees"] == ["parse"], part
        set_target(folder, "cgroup build")  # the top names are programs
        grouped = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["labels"]
        assert [[(row["name"], round(row["self_share"], 3)) for row in label["stands_out"] if row["kind"] == "function with callees"]
                for label in grouped] == [[("parse", .909)], [], [("run_model", .909)]], grouped
        text = expect(folder.call("code"), 0).stdout
        assert "idle" not in text and "[...]" not in text, text


def test_described():
    """a function of the program describes a phase better than the library that it calls; a smaller share also names; a library without symbols is named, not its address; what a phase lacks is not listed"""
    io, z = ("write_all", "/usr/lib/libio.so.2", "", 0), ("", "/usr/lib/libz.so.1", "", 0)
    with Folder() as folder:
        seen = three_phases(folder)
        for period in range(360):
            if period < 120:
                seen.add(period, ["main", "save", io], 10)
            elif period < 240:
                seen.add(period, ["main", "parse", "f%d" % (period % 7)], 3)
                for n in range(7):
                    seen.add(period, ["main", "f%d" % n])
            else:
                seen.add(period, ["main", z], 7)
                seen.add(period, ["main", "f%d" % (period % 7)], 3)
        seen.write()
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["labels"]
        totals = [[(row["name"], round(row["self_share"], 3), round(row["elsewhere_share"], 3))
                   for row in label["stands_out"] if row["kind"] == "function with callees"] for label in found]
        assert totals == [[("save", 1, 0)], [("parse", .3, 0)], []], totals
        words = " ".join(expect(folder.call("phases"), 0).stdout.split(CLASS_TITLE)[1].split())
        assert "A: in write_all, 100 % of samples in save and its callees (elsewhere 0 %)" in words, words
        assert "B: 30 % of samples in parse and its callees (elsewhere 0 %)" in words, words
        assert "C: in [libz.so.1], CPI" in words and "itself" not in words, words
        report = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "A (save) 12.0 s, B (parse) 12.0 s, C ([libz.so.1]) 12.0 s" in report, report
        ask_store(folder / "rpistat.data", "UPDATE module SET kind = 'jit', path = '/tmp/perf-7.map' WHERE path LIKE '%libz%'")
        words = expect(folder.call("phases"), 0).stdout
        assert "C: in [JIT code], CPI" in words and "[JIT code]: `rpistat code` shows" in words, words
        for change, advice in [("UPDATE run SET target = 'command'", "record with --jit-names"),
                               ("UPDATE frame SET module = (SELECT module FROM module WHERE kind = 'jit') WHERE frame IN"
                                " (SELECT frame FROM location WHERE function = 'f0')", "its runtime did not name")]:
            ask_store(folder / "rpistat.data", change)
            for command in "phases", "report":
                text = expect(folder.call(command), 0).stdout
                assert re.search(r"\[JIT code\]: [^\[]*" + advice.replace(" ", r"\s+"), text), text
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=2)
        for period in range(360):
            for n in range(10):  # one cluster of 3 s, which may be chance
                seen.add(period, ["main", *["walk"][:120 <= period < 150], "f%d" % n])
        seen.write()
        words = " ".join(expect(folder.call("phases", "-r", "2", "--no-samples"), 0).stdout.split(CLASS_TITLE)[1].split())
        assert "B: 25 % of samples in walk and its callees (perhaps by chance; elsewhere: 0 %)" in words, words
        assert "A: 10 % of samples in f0 (elsewhere 10 %)" in words, words


def test_compared_names():
    """compare: classes have the names of their code, with both names if the sides run different functions"""
    for first, second in ("solve", "search"), (60 * "n" + "::a", 60 * "n" + "::b"):
        check_compared_names(first, second)


def check_compared_names(first, second):
    with Folder() as folder:
        for run in 1, 2:
            seen = three_phases(folder) if run == 1 else Code(folder / "rpistat.data", run=run)
            for period in range(360):
                for n in range(3):
                    seen.add(period, ["main", ["load", first if run == 1 else second, "f%d" % n][period // 120]], 3)
            seen.write()
            if run == 1:
                folder.record("-q")
        text = expect(folder.call("compare", "1", "2"), 0).stdout
        names = re.findall(r"^  ([A-Z](?: \S+)*)  +1 ", text, re.MULTILINE)
        first, second = (name if len(name) < 24 else "..." + name[-3:] for name in (first, second))
        assert names == ["A load", "B %s / %s" % (first, second), "C"], text
        found = json.loads(expect(folder.call("compare", "1", "2", "--format", "json"), 0).stdout)
        assert [row["label"] for row in found["rows"]] == [None, "A", "B", "C"], found


def test_machine():
    r"""for a machine, programs are named and then functions, however many functions have names; a process number never is"""
    with Folder() as folder:
        folder.write("script.sim", SCRIPT)
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=1)
        for period in range(320):
            seen.add(period, [MAIN], 6, task=("cc1", 5000 + period // 10, 5000 + period // 10))
            seen.add(period, [LOAD], 4, task=("as", 4999, 4999))
        seen.write()
        expect(folder.call("phases"), 0)
        for target, programs in (("command", False), ("all 2 CPUs", True), ("CPU 0-1", True), ("cgroup build", True)):
            set_target(folder, target)
            report = " ".join(expect(folder.call("report"), 0).stdout.split(CODE_TITLE)[1].split())
            code = expect(folder.call("code"), 0).stdout
            words = " ".join(expect(folder.call("phases"), 0).stdout.split(CLASS_TITLE)[1].split())
            panel = expect(folder.call("plot", "-o", "-"), 0).stdout
            assert ("functions: main (work.c:10) 60.0 %, load" in report) == programs, report
            assert ("Sampled Share processes Program 60.0 % 32 cc1 40.0 % 1 as" in report) == programs, report
            assert "Cgroup" not in report, report
            assert ("cc1 60 %, as 40 %; main (work.c:10) 60 %" in code) == programs, code
            assert "stands out" not in words, words
            assert ("a cc1\n" in panel) == programs, panel
            assert not re.search(r"\b50[0-3]\d\b", words + report), (words, report)
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=2)
        for period in range(320):  # nearly all samples are of one program
            calm = period < 80 or 180 <= period < 260
            seen.add(period, [MAIN if calm else LOAD], 19, task=("cc1", 5000, 5000))
            seen.add(period, [MAIN], 1, task=("as", 4999, 4999))
        seen.write()
        set_target(folder, "all 2 CPUs")
        text = expect(folder.call("phases"), 0).stdout
        assert "\n  A cc1: main " in text and "\n  B cc1: load " in text, text
        report = " ".join(expect(folder.call("report"), 0).stdout.split("\n\n")[0].split())
        assert ": A (cc1: main) 16" in report and ", B (cc1: load) 12" in report, report


UNIT, CONTAINER = "/system.slice/make.service", "/system.slice/docker-%s.scope" % ("0123456789abcdef" * 4)


def test_others():
    """in the report of a machine, the printed shares of programs and of all others add up to 100 %"""
    with Folder() as folder:
        folder.write("script.sim", SCRIPT)
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=1)
        for period in range(40):
            for number, (name, samples) in enumerate((("a", 5), ("b", 5), ("c", 5), ("d", 1), ("e", 1))):
                seen.add(period, [MAIN], samples, task=(name, 10 + number, 10 + number))
        seen.write()
        set_target(folder, "all 2 CPUs")
        answer = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)["answer"]
        assert ": a 30 %, b 29 %, c 29 %, 2 others 12 % (680 samples)" in answer, answer


def test_cgroups():
    """by control group: containers by their number, units by their name, including the groups below them"""
    with Folder() as folder:
        folder.write("script.sim", SCRIPT)
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=1)
        for period in range(320):
            seen.add(period, [MAIN], 6, task=("cc1", 5000 + period // 10, 5000 + period // 10, UNIT + "/job"))
            seen.add(period, [LOAD], 1, task=("make", 4000, 4000, UNIT))
            seen.add(period, [LOAD], 2, task=("db", 4999, 4999, CONTAINER))
            seen.add(period, [LOAD], 1, task=("kworker", 3, 3))
        seen.write()
        set_target(folder, "all 2 CPUs")
        expect(folder.call("check"), 0)
        expected = [("make.service", .7, 33, UNIT), ("0123456789ab", .2, 1, CONTAINER), ("[unknown]", .1, 1, None)]
        rows = json.loads(expect(folder.call("code", "--by", "cgroup", "--format", "json"), 0).stdout)["code"]
        assert [(row["name"], row["self_share"], row["processes"], row["module"]) for row in rows] == expected, rows
        assert all(row[name] is None for row in rows for name in ("pid", "tid", "in_kernel", "named_by")), rows
        found = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)
        assert [(row["name"], row["self_share"], row["processes"], row["module"]) for row in found["cgroups"]] == expected
        assert [(row["name"], row["samples"], row["processes"]) for row in found["programs"]] == [
            ("cc1", 1920, 32), ("db", 640, 1), ("make", 320, 1), ("kworker", 320, 1)], found["programs"]
        text = " ".join(expect(folder.call("report"), 0).stdout.split())
        assert "Sampled Share processes Cgroup 70.0 % 33 make.service 20.0 % 1 0123456789ab 10.0 % 1 [unknown]" in text, text
        text = expect(folder.call("code", "--by", "cgroup", "A", "--at-most", "1"), 0).stdout
        assert "make.service" in text and "2 more rows (--at-most N)" in text and "0123456789ab" not in text, text
        assert "a make.service\n" in expect(folder.call("plot", "-o", "-", "--code", "cgroup"), 0).stdout
        for what in ("cgroup", "program", "function"):
            expect(folder.call("plot", "--kind", "heat", "--code", what, "--keep-script", what, "-o", what + ".svg"), 0)
            names = re.findall(r">([^<>]+)</text>", folder.read(what + ".svg").decode())
            wanted = {"cgroup": "make.service", "program": "cc1", "function": "main"}[what]
            assert wanted in [name.strip() for name in names], names
        expect(folder.call("merge", "-i", "other.data", "rpistat.data"), 0)
        assert json.loads(expect(folder.call("code", "-i", "other.data", "--by", "cgroup", "--format", "json"), 0)
                          .stdout)["code"] == rows
        folder.record("-q")
        seen = Code(folder / "rpistat.data", run=2)
        seen.add(1, [MAIN], 50)
        seen.write()
        for command in (["code", "--by", "cgroup"], ["plot", "-o", "-", "--code", "cgroup"],
                        ["plot", "--kind", "heat", "--code", "cgroup", "-o", "no.svg"]):
            refused(folder.call(*command), 1, "run 2", "control groups", "-a, -C or -G")


def test_without():
    """a run without samples: the message says this, and how to get samples"""
    for command in [["code"], ["code", "A"], ["export", "--format", "folded"],
                    ["export", "--format", "pprof", "-o", "x.pb"]]:
        refused(FOLDER.call(*command, "-r", "bare"), 1, "has no samples", "--no-samples")


prepare()
try:
    tap.main([test_functions, test_by, test_phase, test_labels, test_text, test_advice, test_tree, test_folded,
              test_report, test_answer, test_pprof, test_phases, test_programs,
              test_processes_at_boundaries, test_tiny_shares, test_turns_of_programs, test_stands_out, test_callers, test_places, test_few, test_totals, test_described, test_compared_names, test_machine, test_others, test_cgroups, test_without])
finally:
    FOLDER.__exit__()
