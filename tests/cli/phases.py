"""phases: simulated runs with known phases, and tables; --from and --to by phase."""
import csv
import io
import json
import math
import os
import re
import random
import sqlite3

from program import Folder, ask_store, environment, expect, is_sanitized, refused, tap

import samples  # in ../support, which program.py adds to the path
from words import CLASS_TITLE, ITERATIONS, START

# Boundaries at 8, 14, 18 and 27 s; the second and last phase are alike, and the first and fourth.
SCRIPT = """\
clock 700M
seed 5
noise 3%
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase calm 8s
phase busy 6s dc_miss=10M main_tlb_miss=900k
sleep 4s
phase calm 9s
phase busy 5s dc_miss=10M main_tlb_miss=900k
"""
STARTS = [0, 80, 140, 180, 270, 320]
LABELS = "ABCAB"

FOLDER = Folder()


def phases(*arguments, **options):
    return expect(FOLDER.call("phases", *arguments, **options), 0)


def rows_of(text):
    return [(row["label"], int(row["first"]), int(row["last"]))
            for row in csv.DictReader(io.StringIO(text))]


def check_known(rows):
    assert "".join(label for label, _, _ in rows) == LABELS, rows
    for (_, first, last), start, end in zip(rows, STARTS, STARTS[1:]):
        assert abs(first - start) <= 3 and abs(last + 1 - end) <= 3, rows
    assert rows[0][1] == 0 and rows[-1][2] == 319, rows
    for before, after in zip(rows, rows[1:]):
        assert after[1] == before[2] + 1, rows


def stored(sql, name="rpistat.data"):
    return ask_store(FOLDER / name, sql)


# --- what is written --------------------------------------------------------------------------


def test_csv():
    """--format csv: phase,label,first,last,...; the script's phases, with labels that recur; all figures of the JSON"""
    answer = phases("--format", "csv")
    assert not answer.stderr, answer.stderr
    assert answer.stdout.startswith("phase,label,first,last,earliest,") and \
        "\n0,A,0," in answer.stdout, answer.stdout
    check_known(rows_of(answer.stdout))
    said = json.loads(phases("--format", "json").stdout)
    for row, phase in zip(csv.DictReader(io.StringIO(answer.stdout)), said["phases"]):
        for name, value in phase["figures"].items():
            sure = phase["intervals"].get(name, {})
            for cell, expected in ((name, value), (name + "_low", sure.get("low")),
                                   (name + "_high", sure.get("high"))):
                assert (float(row[cell]) if row[cell] else None) == expected, (cell, row, phase)
        assert len(row) == 19 + 3 * len(phase["figures"]) > 30, row


def test_text():
    """the tables of phases and of phase classes, in 100 columns"""
    text = phases().stdout
    lines = text.splitlines()
    assert all(len(line) <= 100 and line == line.rstrip() for line in lines), text
    assert lines[0] == "Phases of run 1, sim:phases.sim", text
    assert lines[1].startswith("5 phases in 3 classes (32.0 s, 320 measurement periods, "), text
    first = [line.split() for line in lines if line[:2] == "  " and line[2:3].isalpha()]
    heads = [line for line in first if line[0] in ("Phase", "Class")]
    assert heads[0][:2] == ["Phase", "Start"] and heads[1][:3] == ["Class", "Phases", "Total"], text
    assert [line[0] for line in first].count("A") == 3, text  # two phases and the class
    assert [line[:2] for line in first if line[1:2] == ["00:00.0"]] == [["A", "00:00.0"]], text
    # the figures: misses distinguish the phases, with their confidence
    a, b = [[line for line in first if line[0] == label][-1] for label in "AB"]
    assert any(line[:3] == ["C", "mostly", "off-CPU"] for line in first), text
    assert "Main miss" in text and "CPI" in text and "CPU use (%)" in text, text
    assert any(cell.startswith(("0.49", "0.50")) for cell in a), text
    assert any(cell.startswith(("4.4", "4.5")) for cell in b), text
    assert any(cell.startswith("±0.0") for cell in a) and "± and ranges: 95 % intervals" in text, text
    assert re.search(r"\d ±0\.\d+ sd 0\.\d", text), text


BURSTS = """\
clock 700M
noise 3%
default instructions=200M code=main>work
repeat 8
phase work 3s
phase flush 300ms instructions=20M code=main>work:40%,main>flush
end
phase work 2s
"""


def test_bursts():
    """regular outliers are bursts, with number, length, period and function; other outliers stay"""
    with open(FOLDER / "bursts.sim", "w", encoding="ascii") as script:
        script.write("function main 0x1000 0x100\nfunction work 0x2000 0x100\n"
                     "function flush 0x3000 0x100\n" + BURSTS)
    expect(FOLDER.call("record", "-q", "-o", "bursts.data", "-e", "instructions",
                       "--pmu", "sim:bursts.sim"), 0)
    found = json.loads(phases("-i", "bursts.data", "--format", "json").stdout)
    burst, = found["bursts"]
    assert burst["occurrences"] == 8 and abs(burst["length_s"] - .3) < .11, burst
    assert abs(burst["every_s"] - 3.3) < .05 and burst["words"] == "in flush, 0.11 x the rate of instructions of the whole run", burst
    assert sum(one["burst"] for one in found["outliers"]) >= 8, found["outliers"]
    text = phases("-i", "bursts.data").stdout
    assert "8 bursts of 0.3 s, every 3.3 s, from 00:03.0 to 00:26.1: " in " ".join(text.split()), text
    assert not json.loads(phases("--format", "json").stdout)["bursts"]


def test_callers():
    """an inner function that two functions call in turn does not distinguish phases; its callers do, also in comparisons"""
    for check in (10, 14):
        FOLDER.write("callers.sim", "clock 700M\nnoise 3%%\nfunction main 0x1000 0x100\nfunction solve 0x2000 0x100\n"
                     "function check 0x3000 0x100\nfunction multiply 0x4000 0x100\ndefault instructions=200M\n"
                     "phase solve 10s code=main>solve>multiply\nphase check %ds code=main>check>multiply\n"
                     "phase solve 10s code=main>solve>multiply\n" % check)
        expect(FOLDER.call("record", "-q", "-o", "callers.data", "-e", "instructions", "--pmu", "sim:callers.sim"), 0)
        found = json.loads(phases("-i", "callers.data", "--format", "json").stdout)["phases"]
        assert [one["label"] for one in found] == ["A", "B", "A"], found
        assert all(abs(one["start_s"] - start) < .3 for one, start in zip(found, (0, 10, 10 + check))), found
    compared = json.loads(expect(FOLDER.call("compare", "-i", "callers.data", "--format", "json", "1", "2"), 0).stdout)
    assert [(row["label"], row["a_times"], row["b_times"]) for row in compared["rows"]] == [
        (None, 1, 1), ("A", 2, 2), ("B", 1, 1)], compared["rows"]


def test_few_samples():
    """10 samples per second are independent draws: a mix of 70 to 30 that becomes 30 to 70 for 10 s is a phase"""
    FOLDER.write("few.sim", "clock 700M\nnoise 3%\nfunction main 0x1000 0x100\nfunction solve 0x2000 0x100\n"
                 "function check 0x3000 0x100\ndefault instructions=2M\n" + "".join(
                     "repeat 100\nphase %d 10ms code=main>solve:%d%%,main>check\nsleep 90ms code=main\nend\n"
                     % (share, share) for share in (70, 30, 70)))
    expect(FOLDER.call("record", "-q", "-o", "few.data", "-e", "instructions", "--pmu", "sim:few.sim"), 0)
    found = json.loads(phases("-i", "few.data", "--format", "json").stdout)["phases"]
    assert [one["label"] for one in found] == ["A", "B", "A"], found
    assert all(abs(one["start_s"] - start) < 1 for one, start in zip(found, (0, 10, 20))), found


def test_stripped():
    """functions without names count as their module, except those that are the main function of a phase class; in a comparison all count as modules, since addresses may differ"""
    FOLDER.write("stripped.sim", "clock 700M\nnoise 3%\nfunction main 0x1000 0x100\nfunction work 0x2000 0x100\n"
                 "function flush 0x3000 0x100\nfunction other 0x4000 0x100\ndefault instructions=200M\n"
                 "phase a 20s code=main>work:80%,main:9%,main>other\nphase b 20s code=main>flush:70%,main>other\n")
    for _ in range(2):
        expect(FOLDER.call("record", "-q", "-o", "stripped.data", "-e", "instructions", "--pmu", "sim:stripped.sim"), 0)
    store = sqlite3.connect(FOLDER / "stripped.data")
    with store:
        store.execute("DELETE FROM location")
        store.execute("UPDATE frame SET function = address")
    store.close()
    found = json.loads(phases("-i", "stripped.data", "--format", "json").stdout)
    tops = [[one["name"] for one in label["top"]] for label in found["labels"]]
    assert tops == [["simulated+0x2000", "other [simulated]"], ["simulated+0x3000", "other [simulated]"]], tops
    expect(FOLDER.call("plot", "-q", "-i", "stripped.data", "-o", "stripped.svg"), 0)
    picture = FOLDER.read("stripped.svg").decode()
    assert "in simulated+0x2000" in picture and "in simulated+0x3000" in picture
    compared = expect(FOLDER.call("compare", "-i", "stripped.data", "--format", "json", "1", "2"), 0).stdout
    assert "[simulated]" in compared and "simulated+0x" not in compared, compared


def test_share_of_module():
    """a share of a module is that of all its code without names, on both sides, also of a function that is shown by address"""
    FOLDER.write("module.sim", "clock 700M\nfunction main 0x1000 0x100\nfunction work 0x2000 0x100\nfunction other 0x4000 0x100\n"
                 "default instructions=200M\nphase a 20s code=main>work:70%,main:20%,main>other\n"
                 "phase b 20s code=main>work:10%,main:5%,main>other\n")
    expect(FOLDER.call("record", "-q", "-o", "module.data", "-e", "instructions", "--pmu", "sim:module.sim"), 0)
    ask_store(FOLDER / "module.data", "DELETE FROM location WHERE function <> 'other'")
    ask_store(FOLDER / "module.data", "UPDATE frame SET function = address WHERE address >= 8192")
    words = " ".join(phases("-i", "module.data").stdout.split(CLASS_TITLE)[1].split())
    assert "A: in simulated+0x2000, 90 % of samples in [simulated] (elsewhere 15 %)" in words, words
    code = " ".join(expect(FOLDER.call("code", "-i", "module.data"), 0).stdout.split())
    assert "simulated+0x2000 70 %, other [simulated] 20 %" in code, code
    for path, top in ("/bin/simulated", "simulated+0x2000 (70 % of samples, rest of the run: 10 %)"), (
            "/usr/lib/libs.so.1", "[libs.so.1] (90 % of samples, rest of the run: 15 %)"):
        ask_store(FOLDER / "module.data", "UPDATE module SET path = '%s'" % path)
        found = json.loads(expect(FOLDER.call("explain", "-i", "module.data", "--to", "20s", "--format", "json"), 0).stdout)
        shares = {row["name"]: (round(row["self_share"], 2), round(row["elsewhere_share"], 2)) for row in found["stands_out"]}
        assert found["words"].startswith("in " + top) and shares["[%s]" % path.split("/")[-1]] == (.9, .15), found


def test_outliers():
    """mixed rotations at a boundary are not listed as outliers; if there are many outliers the first are listed, and none if very many"""
    def found(name, spikes):
        draw = random.Random(4)
        rows = [(10 if i < 150 else 50) + draw.gauss(0, 1) for i in range(400)]
        for i in spikes:
            rows[i] += 400
        FOLDER.write(name, "value\n" + "".join("%.3f\n" % row for row in rows))
        text = " ".join(phases("--csv", name).stdout.split())
        return [one["first"] for one in json.loads(phases("--csv", name, "--format", "json").stdout)["outliers"]], text

    edges, text = found("few.csv", [40, 113, 150, 290])
    assert edges == [40, 113, 290] and "3 outliers (rows unlike those around them): 40, 113, 290." in text, text
    many = sorted(random.Random(5).sample(range(5, 395), 30))
    text = found("many.csv", many)[1]
    [said] = re.findall(r"\d+ outliers \(rows unlike those around them\): (.*), \d+ more \(--format json\)", text)
    assert len(said.split(", ")) == 10, text
    text = found("most.csv", range(5, 395, 7))[1]
    assert re.search(r"1\d % of the rows are outliers, unlike the rows around them \(--format json lists them\)", text), text


def test_json():
    """--format json: one object with the content of the text, and more"""
    found = json.loads(phases("--format", "json").stdout)
    rows = rows_of(phases("--format", "csv").stdout)
    assert [(p["label"], p["first"], p["last"]) for p in found["phases"]] == rows, found
    assert found["observations"] == 320 and found["unit"] == "period", found
    for phase in found["phases"]:
        assert phase["earliest"] <= phase["first"] <= phase["latest"], phase
        assert 0 <= phase["confidence"] <= 1 and 0 <= phase["label_confidence"] <= 1, phase
        assert abs(phase["start_s"] - phase["first"] / 10) < 1e-6, phase
        sure = phase["intervals"]
        assert "cpu_use" not in sure, sure
        for name in sure:
            value = phase["figures"][name]
            assert sure[name]["certainty"] != "interval" or \
                sure[name]["low"] <= value <= sure[name]["high"], (name, value, sure)
    assert found["phases"][0]["intervals"]["dc_miss_ratio"]["certainty"] == "interval"
    assert any(figure.get("certainty") == "interval" for figure in found["figures"])
    asleep = found["phases"][2]["figures"]
    assert asleep["cpi"] is None and asleep["cpu_use"] == 0, asleep
    assert abs(found["phases"][1]["figures"]["dc_miss_ratio"] - 20) < 1, found["phases"][1]
    labels = {label["label"]: label for label in found["labels"]}
    assert labels["A"]["occurrences"] == 2 and labels["C"]["occurrences"] == 1, labels
    assert abs(labels["A"]["time_s"] - 17) < 0.7, labels
    misses = [f for f in found["figures"] if f["name"] == "dc_miss_ratio"][0]
    assert 0.96 < misses["explained"] < 1, misses
    assert found["parameters"]["sensitivity"] == 0, found["parameters"]


def test_words():
    """each class is described by its differences from the run, in text and JSON; a single class has no description"""
    words = {label["label"]: label["words"]
             for label in json.loads(phases("--format", "json").stdout)["labels"]}
    assert re.match(r"0\.2\d x the main miss rate of the whole run, DC miss ratio 4\.0 % \(whole run: \S+ %\)", words["A"]), words
    assert re.match(r"2\.[12] x the main miss rate of the whole run, DC miss ratio 20 % \(whole run: ", words["B"]), words
    assert words["C"] == "CPU use 0 % (whole run: 88 %)", words
    lines = phases().stdout.splitlines()
    told = lines[lines.index(CLASS_TITLE + " run:") + 1:]
    told = " ".join(" ".join(told[:told.index("")] if "" in told else told).split())
    assert told == " ".join("%s: %s" % (label, words[label]) for label in "ABC"), told
    # named code is in the table of phase classes, with the run's value
    tables = json.loads(phases("--format", "json").stdout)
    whole = {figure["name"]: figure["whole"] for figure in tables["figures"]}
    assert "(whole run: %.0f %%)" % whole["cpu_use"] in words["C"], whole
    headings = "\n".join(lines[lines.index(next(line for line in lines if "Class" in line)) - 4:][:40])
    assert all(part in headings for part in ("Main miss", "DC miss", "CPU use (%)", "  all ", "explained")), headings
    alone = ["--from", "phase:C", "--to", "phase:C"]
    assert CLASS_TITLE not in phases(*alone).stdout
    assert json.loads(phases("--format", "json", *alone).stdout)["labels"][0]["words"] is None
    FOLDER.write("two.csv", table())
    text = phases("--csv", "two.csv").stdout
    assert re.search(CLASS_TITLE + r" table:\n  A: level \S+ \(all: \S+\)\n  B: level", text), text


def test_formats_are_the_c_locales():
    """csv and json are equal in each locale, and in a file"""
    for form in ["csv", "json"]:
        plain = phases("--format", form).stdout
        assert phases("--format", form, env=environment(LC_ALL="C.UTF-8")).stdout == plain
        expect(FOLDER.call("phases", "--format", form, "-o", "out"), 0)
        assert FOLDER.read("out").decode() == plain
        assert phases("--format", form).stdout == plain, "not the same twice"


def test_components():
    """--pca: loadings of each metric, and each component's share of the variance"""
    text = phases("--pca").stdout
    assert "Principal components" in text and "  Component  Variance  " in text, text
    found = json.loads(phases("--pca", "--format", "json").stdout)["components"]
    assert sum(component["share"] for component in found) <= 1, found
    # metrics that change together are on one side of a component
    assert any(component["loadings"]["dc_miss_ratio"] * component["loadings"]["main_miss_rate"] > 0.3
               for component in found[:2]), found
    assert "components" not in json.loads(phases("--format", "json").stdout)
    refused(FOLDER.call("phases", "--pca", "--metric", "cpi"), 1, "at least 2 metrics")


def test_options():
    """--metric, --min-length, --sensitivity and --exact have their effect"""
    only = rows_of(phases("--metric", "cpu_use", "--format", "csv").stdout)
    assert [first for _, first, _ in only] == [0, 140, 180], only
    assert "".join(label for label, _, _ in only) == "ABA", only
    long = rows_of(phases("--min-length", "7s", "--format", "csv").stdout)
    assert all(last - first + 1 >= 70 for _, first, last in long), long
    assert rows_of(phases("--min-length", "70", "--format", "csv").stdout) == long
    coarse = rows_of(phases("--sensitivity", "-12", "--format", "csv").stdout)
    assert len(coarse) == 1, coarse
    check_known(rows_of(phases("--exact", "--format", "csv").stdout))
    part = rows_of(phases("--from", "5s", "--to", "12s", "--format", "csv").stdout)
    assert part[0][1] == 50 and part[-1][2] == 119 and len(part) == 2, part
    assert abs(part[1][1] - 80) <= 3, part


# --- levels -----------------------------------------------------------------------------------

# Two long stages with two short phases each: a level of 2 phases, one of 12, and possibly some
# between.
NESTED = "".join(SCRIPT.splitlines(True)[:5]) + 3 * (
    "phase one 4s\nphase two 4s instructions=600M ibuf_stall=300M\n") + 3 * (
    "phase three 4s dc_miss=10M main_tlb_miss=900k\n"
    "phase four 4s dc_miss=10M main_tlb_miss=900k instructions=600M ibuf_stall=300M\n")


def test_levels():
    """--level, --at-most and --sensitivity accept a level of the tree, from one phase to the finest"""
    def found(*options):
        return json.loads(expect(
            folder.call("phases", "-q", "--format", "json", *options), 0).stdout)

    def starts(*options):
        return [phase["first"] for phase in found(*options)["phases"]]

    with Folder() as folder:
        folder.write("nested.sim", NESTED)
        expect(folder.call("record", "-q", "--pmu", "sim:nested.sim"), 0)
        levels = [level["phases"] for level in found()["levels"]]
        assert levels == list(range(1, 13)), levels
        assert [level["phases"] for level in found()["levels"] if level["shown"]] == [
            len(found()["phases"])], found()
        assert len(starts("--level", "fine")) == 12
        two = starts("--level", "2")
        assert len(two) == 2 and abs(two[1] - 240) <= 3, two
        for size in levels:
            assert len(starts("--level", str(size))) == size
            assert set(starts("--level", str(size))) <= set(starts("--level", "fine"))
        sizes = [len(starts("--at-most", str(most))) for most in range(1, 14)]
        assert sizes == [max(level for level in levels if level <= most)
                         for most in range(1, 14)], sizes
        every = 6 if is_sanitized() else 1
        steps = [len(starts("--sensitivity=%d" % step)) for step in range(-12, 13, every)]
        assert steps == sorted(steps) and steps[0] == 1 and steps[-1] == 12, steps
        assert steps[12 // every] == len(found()["phases"]), steps
        answer = expect(folder.call("phases", "--level", "2"), 0).stdout
        assert re.search(r"^More or less detail: --level N \(1 to 12 phases\) or --level fine$", answer, re.M), answer
        for size in 2, len(found()["phases"]):  # letters of the default level are the same in all commands
            answer = expect(folder.call("phases", "--level", str(size)), 0).stdout
            assert ("use the letters of the default level" in answer) == (size == 2), answer
        os.mkdir(folder / "rpistat")
        folder.write("rpistat/config", "[phases]\nlevel = 2\n")
        # Stored if the choice applies to all commands.
        for env, periods in (({}, None), ({"XDG_CONFIG_HOME": folder.path}, 240)):
            expect(folder.call("phases", env=environment(**env)), 0)
            part = expect(folder.call("export", "--from", "phase:B", "--to", "phase:B"), 0).stdout
            assert (abs(len(part.splitlines()) - 1 - 240) <= 3) == (periods == 240), part
        missing = folder.call("phases", "--level", "9999")
        assert missing.returncode == 2 and "no level has 9999 phases" in missing.stderr, missing
        assert "choose at most 12" in missing.stderr, missing


def test_small_steps():
    """a metric 1.4 times as large for ten minutes, or 1.2 times for 30 s, is a phase with exact boundaries; noise is none; two phases that differ from the one between them are two classes"""
    def starts_of(folder, noise, *steps):
        folder.write("steps.sim", "\n".join(SCRIPT.splitlines()[:1] + ["seed 1", "noise %d%%" % noise] +
                                            SCRIPT.splitlines()[3:5] + ["phase a %s dc_miss=%s" % step
                                                                        for step in steps]) + "\n")
        expect(folder.call("record", "-q", "--pmu", "sim:steps.sim", "-o", "steps.data"), 0)
        return [(phase["label"], phase["start_s"]) for phase in json.loads(expect(
            folder.call("phases", "-i", "steps.data", "--run", "last", "--format", "json"), 0).stdout)["phases"]]

    with Folder() as folder:
        found = {"1.4": (starts_of(folder, 5, ("20m", "2M"), ("10m", "2800k"), ("20m", "2M")), (1200, 1800))}
        for noise in (1, 5, 10):
            found["1.2, %d %%" % noise] = (
                starts_of(folder, noise, ("2m", "2M"), ("30s", "2400k"), ("2m", "2M")), (120, 150))
            assert starts_of(folder, noise, ("5m", "2M")) == [("A", 0)]
        for name, (phase, edges) in found.items():
            assert [label for label, _ in phase] == list("ABA"), (name, phase)
            assert all(abs(start - edge) < 1.5 for (_, start), edge in zip(phase[1:], edges)), (name, phase)
        three = starts_of(folder, 3, ("20s", "4M"), ("100s", "2M"), ("10s", "8M"))
        assert [label for label, _ in three] == list("ABC"), three


def test_thinned():
    """a downsampled run is analysed in its coarsest blocks: its end and its gaps are no phases; a step is; --from uses periods, as the message says; compare treats all runs equally"""
    def record(folder, name, *work, options=()):
        folder.write("thin.sim", "seed 1\nnoise 5%\nlate 5m 20s\ndefault dc_access=50M dc_miss=2M\n" +
                     "\n".join(work) + "\n")
        expect(folder.call("record", "-q", "--pmu", "sim:thin.sim", "-o", name + ".data", *options), 0)

    def found(folder, name, *arguments):
        return json.loads(expect(folder.call("phases", "-i", name + ".data", "--format", "json",
                                             *arguments), 0).stdout)

    keep = ["-e", "dc_access,dc_miss", "--keep", "1m"]
    with Folder() as folder:
        record(folder, "loop", "repeat 130", "phase a 4s", "phase b 3s dc_miss=6M", "end", options=keep)
        loop = found(folder, "loop")
        assert [phase["label"] for phase in loop["phases"]] == ["A", "A"], len(loop["phases"])  # a gap between them
        assert loop["block_rotations"] == 16, loop["observations"]
        since = loop["periods_from_s"]
        assert 820 < since < 880, since
        text = expect(folder.call("phases", "-i", "loop.data"), 0).stdout
        said = re.search(r"^Full detail from (\d+):(\d\d\.\d) on \(--from (\d\d:(\d\d):([\d.]+))\); older periods are downsampled$", text, re.M)
        assert said and [int(said[1]), float(said[2])] == [int(said[4]), float(said[5])], text
        assert since <= 60 * int(said[4]) + float(said[5]) < since + .1, (since, said[3])
        part = found(folder, "loop", "--from", said[3])
        assert len(part["phases"]) > 10 and "block_rotations" not in part, len(part["phases"])
        assert part["periods_from_s"] is None and part["observations"] >= 600, part["observations"]
        before = found(folder, "loop", "--to", "5m")
        assert before["block_rotations"] == 16 and before["periods_from_s"] is None, before
        record(folder, "step", "phase a 10m", "phase b 5m dc_miss=2500k", "phase a 10m",
               options=["-e", "dc_access,dc_miss", "--metric", "ratio=dc_miss/dc_access", "--keep", "2m"])
        step = [(phase["label"], phase["start_s"]) for phase in found(folder, "step")["phases"]]
        assert [label for label, _ in step] == list("ABA"), step
        assert abs(step[1][1] - 600) < 3.3 and abs(step[2][1] - 900) < 3.3, step
        record(folder, "plain", "repeat 130", "phase a 4s", "phase b 3s dc_miss=6M", "end", options=keep[:2])
        assert found(folder, "plain")["periods_from_s"] is None
        told = expect(folder.call("compare", "-i", "loop.data", "-i", "plain.data", "1", "1"), 0).stdout
        assert "in blocks of 16 rotations" in " ".join(told.split()), told


def test_exports():
    """each row of an export has the number and letter of the phase at its middle, as phases --format csv; a long run has none until phases are detected, and a note says so"""
    found = list(csv.DictReader(io.StringIO(phases("--format", "csv").stdout)))

    def check(form, middle):
        table = list(csv.DictReader(io.StringIO(expect(FOLDER.call("export", *form), 0).stdout)))
        for row in table:
            at, = [phase for phase in found
                   if float(phase["start_s"]) <= middle(row) < float(phase["end_s"])]
            assert (row["phase"], row["label"]) == (at["phase"], at["label"]), (form, row, at)
        assert {row["label"] for row in table} == set(LABELS), form

    for form in ([], ["--long"]):
        check(form, lambda row: float(row["time_s"]) + .001)
    for form in (["--rates"], ["--rates", "--long"], ["--every", "1s"]):
        check(form, lambda row: float(row["time_s"]) + (float(row["length_s"]) - .1) / 2)
    row = json.loads(expect(FOLDER.call("export", "--format", "jsonl"), 0).stdout.splitlines()[100])
    assert (row["phase"], row["label"]) == (1, "B"), row
    with Folder() as folder:
        folder.write("long.sim", "noise 3%\nphase a 6000s dc_miss=2M\nphase b 4001s dc_miss=9M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:long.sim", "-e", "dc_access,dc_miss"), 0)
        answer = expect(folder.call("export"), 0)
        assert "`rpistat phases`" in answer.stderr and ",0,A," not in answer.stdout, answer.stderr
        expect(folder.call("phases"), 0)
        answer = expect(folder.call("export"), 0)
        assert not answer.stderr and ",0,A," in answer.stdout and ",1,B," in answer.stdout, answer.stderr


def test_variation():
    """phases explain a share of each metric's variance, and most of it for the metric that distinguishes them"""
    with Folder() as folder:
        folder.write("nap.sim", "phase work 20s instructions=200M\nsleep 20s\nphase rest 100ms instructions=1k\n"
                     "sleep 20s\nphase work 20s instructions=200M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:nap.sim"), 0)
        figures = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["figures"]
        for figure in figures:
            assert figure["explained"] is None or 0 <= figure["explained"] <= 1, figure
        assert max(figure["explained"] or 0 for figure in figures if figure["apart"] > .5) > .9, figures


def test_drift():
    """a metric with a drift has no phases, and the size of the drift is printed"""
    rows = ["load,other"] + ["%.3f,%.3f" % (10 + row / 20 + random.Random(row).gauss(0, .3),
                                             random.Random(-row).gauss(5, 1)) for row in range(400)]
    with Folder() as folder:
        folder.write("t.csv", "\n".join(rows) + "\n")
        answer = expect(folder.call("phases", "--csv", "t.csv"), 0).stdout
        assert "\n1 phase (400 rows, " in answer, answer
        match = re.search(r"^The values drift: load from (\S+) to (\S+)\.$", answer, re.M)
        assert match, answer
        assert abs(float(match.group(1)) - 11) < .3 and abs(float(match.group(2)) - 29) < .3, answer
        remark = json.loads(expect(folder.call(
            "phases", "--csv", "t.csv", "--format", "json"), 0).stdout)["remark"]
        assert remark.startswith("the values drift: load from"), remark
        rising = [float(row.split(",")[0]) for row in rows[1:]]
        rows = ["burst,load,other"] + ["%.3f,%.3f,%.3f" % (
            9 * (row % 30 == 0) + random.Random(-row).gauss(0, .1), load,
            5 + math.sin(row / 60)) for row, load in enumerate(rising)]
        folder.write("t.csv", "\n".join(rows) + "\n")
        answer = expect(folder.call("phases", "--csv", "t.csv"), 0).stdout
        assert re.search(r"^The values repeat every 30 rows, and drift: load from \S+ to \S+,", answer, re.M), answer
        folder.write("t.csv", "t,load\n" + "".join("%d,%.3f\n" % (row, 10 + (load - 10) / 15) for row, load in enumerate(rising)))
        expect(folder.call("import", "t.csv"), 0)
        answer = expect(folder.call("phases"), 0).stdout
        # Even if it is small.
        assert re.search(r"^The values drift: load from 10\S* to 11\S*\.$", answer, re.M), answer


def test_uncertain_classes():
    """the share of the time with an uncertain class is in text, JSON and the report, from 2 % on"""
    for length, step, is_doubtful in (20, 1, True), (60, 2, False):
        noise = random.Random(step)
        values = [step * level for level in (10, 13, 11, 13, 10) for _ in range(length)]
        with Folder() as folder:
            folder.write("t.csv", "t,load\n" + "".join(
                "%d,%.3f\n" % (row, value + noise.gauss(0, 1 / step)) for row, value in enumerate(values)))
            expect(folder.call("import", "t.csv"), 0)
            found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
            share = sum((phase["last"] - phase["first"] + 1) * (1 - phase["label_confidence"])
                        for phase in found["phases"]) / len(values)
            assert (share > .02) == is_doubtful and len(found["phases"]) == 5, found["phases"]
            remark = "lasses are uncertain: %.0f %% of the time may belong to another class" % (100 * share)
            assert found["remark"] == ("c" + remark if is_doubtful else None), found["remark"]
            for command in "phases", "report":
                text = " ".join(expect(folder.call(command), 0).stdout.split())
                assert (remark in text) == is_doubtful, text


def test_few_rows():
    """among very few rows none is an outlier, since the normal range is unknown"""
    with Folder() as folder:
        folder.write("t.csv", "t,a,b\n0,8,61\n1,8,61\n2,9,4500\n3,8,61\n4,8,60\n5,8,61\n")
        for command in ["phases", "--csv", "t.csv", "--format", "json"], ["import", "t.csv"], ["phases", "--format", "json"]:
            answer = expect(folder.call(*command), 0).stdout
            assert command[0] == "import" or json.loads(answer)["outliers"] == [], answer


# --- kept with the run ------------------------------------------------------------------------


def test_kept():
    """the result is stored with the run, once per settings; the result for a part is not"""
    store = sqlite3.connect(FOLDER / "rpistat.data")
    for table in ("detection", "phase", "outlier"):
        store.execute("DELETE FROM %s" % table)
    store.commit()
    store.close()
    rows = rows_of(phases("--format", "csv").stdout)
    phases()
    phases("--from", "5s")
    assert stored("SELECT count(*) FROM detection") == [(1,)]
    shown = "SELECT label, first_period, last_period FROM shown_phase ORDER BY phase"
    assert stored(shown) == rows, stored(shown)
    phases("--metric", "cpi")
    kept = stored("SELECT parameters FROM detection ORDER BY detection DESC")
    settings = json.loads(kept[0][0])
    assert len(kept) == 2, kept
    assert settings["signals"] == ["cpi"] and settings["min_length"] == 9, settings
    phases()
    assert stored(shown) == rows, stored(shown)
    part = expect(FOLDER.call("report", "--from", "phase:B", "--to", "phase:B"), 0).stdout
    usual = [level["shown"] for level in json.loads(phases("--format", "json").stdout)["levels"]]
    for options in (["--level", "fine"], ["--level", "1"], ["--at-most", "2"], ["--sensitivity", "-12"]):
        chosen = [level["shown"] for level in json.loads(phases(*options, "--format", "json").stdout)["levels"]]
        assert ("use the letters of the default level" in phases(*options).stdout) == (
            chosen != usual), options
        assert stored(shown) == rows, (options, stored(shown))  # letters are unchanged
    assert expect(FOLDER.call("report", "--from", "phase:B", "--to", "phase:B"), 0).stdout == part


def test_kept_levels():
    """all levels of a run with a loop are stored, the finest last, with the remarks on the run"""
    with Folder() as folder:
        head, turn = SCRIPT.split("phase calm 8s")
        turn = "phase calm 8s" + turn[:turn.index("sleep")] + "phase fast 5s instructions=400M\n"
        folder.write("loop.sim", head + 6 * turn)
        expect(folder.call("record", "-q", "--pmu", "sim:loop.sim"), 0)
        answer = expect(folder.call("phases"), 0)
        store = sqlite3.connect(folder / "rpistat.data")
        (remark, shown), = store.execute("SELECT remark, shown_level FROM detection").fetchall()
        levels = [number for number, in store.execute(
            "SELECT count(*) FROM phase GROUP BY level ORDER BY level")]
        last = store.execute("SELECT label, first_period, last_period FROM phase WHERE level ="
                             " (SELECT max(level) FROM phase) ORDER BY phase").fetchall()
        store.close()
        fine = expect(folder.call("phases", "--level", "fine", "--format", "csv"), 0).stdout
        assert remark.startswith("A B C repeats (6 iterations, mean 19.0 s)"), remark
        assert remark[1:] in answer.stdout, answer.stdout
        assert levels == sorted(set(levels)) and 0 <= shown < len(levels) > 2, (levels, shown)
        assert last == rows_of(fine), last
        assert ": OK (" in expect(folder.call("check"), 0).stdout


def test_long_turn():
    """an unusual iteration that takes much of a loop's time is printed with the number of iterations"""
    with Folder() as folder:
        head, turn = SCRIPT.split("phase calm 8s")
        turn = "phase calm 8s" + turn[:turn.index("sleep")] + "phase fast 5s instructions=400M\n"
        folder.write("loop.sim", head + 4 * turn + turn.replace("8s", "40s") + 4 * turn)
        expect(folder.call("record", "-q", "--pmu", "sim:loop.sim"), 0)
        text = expect(folder.call("phases"), 0).stdout
        assert re.search(r"^A B C repeats \(9 iterations, mean 19\.0 s; 1 outlier takes 5[01]\.. s\)\.$",
                         text, re.M), text


def test_no_order():
    """many phases of few classes without order: the classes are printed, and how to list the phases"""
    kinds = ["instructions=400M dc_miss=1M", "instructions=150M dc_miss=6M", "instructions=90M main_tlb_miss=900k"]
    dice = random.Random(3)
    order = [0]
    while len(order) < 90:
        order.append((order[-1] + dice.choice((1, 2))) % 3)
    with Folder() as folder:
        folder.write("many.sim", SCRIPT.split("phase calm 8s")[0] + "".join(
            "phase p%d %dms %s\n" % (kind, dice.randrange(3000, 6000), kinds[kind]) for kind in order))
        expect(folder.call("record", "-q", "--pmu", "sim:many.sim", "-e", "instructions,r0b"), 0)
        text = expect(folder.call("phases"), 0).stdout
        rows = list(csv.DictReader(io.StringIO(expect(folder.call("phases", "--format", "csv"), 0).stdout)))
        listed = expect(folder.call("phases", "--level", "90"), 0).stdout
        report = expect(folder.call("report"), 0).stdout
    assert "\nToo many phases to list, in no repeating order; --level 90 lists them.\n" in text, text
    assert "\n90 phases in 3 classes (" in text and START not in text, text
    assert "CPU use" not in text, text  # it is 100 % all the time
    assert [row["label"] for row in rows] == ["ABC"[sorted(set(order), key=order.index).index(kind)] for kind in order], rows
    assert "Too many phases" not in listed and len(re.findall(r"^  [ABC]\??  +\d\d:\d\d\.\d", listed, re.M)) == 90, listed
    assert "Phases: 90 in 3 classes; time per class: A " in report, report


def test_largest_classes():
    """the first lines of the report list the classes with most time, in the order of their letters"""
    with Folder() as folder:
        folder.write("twelve.sim", SCRIPT.split("phase calm 8s")[0] + "".join(
            "phase p%d %ds instructions=%dM\n" % (k, seconds, 20 * 1.55 ** k)
            for k, seconds in enumerate((4, 5, 9, 4, 10, 8, 12, 11, 6, 7, 5, 13))))
        expect(folder.call("record", "-q", "--pmu", "sim:twelve.sim", "-e", "instructions,r0b"), 0)
        report = " ".join(expect(folder.call("report"), 0).stdout.split())
    assert "Phases: 12 in 12 classes; time per class: B 5.0 s, C 9.0 s, E 10.0 s, F 8.0 s, G 12.0 s, H 11.0 s, " \
        "I 6.0 s, J 7.0 s, K 5.0 s, L 13.0 s, 2 more classes" in report, report[:600]


def test_nested_loops():
    """a loop inside a loop: in text, JSON and the store; --from turn:3.2 is an iteration of the inner loop"""
    part = {"A": "phase a 8s instructions=30M dc_miss=9M\n", "B": "phase b 4s instructions=300M branches=90M\n",
            "C": "phase c 2s instructions=200M\n", "D": "phase d 2s instructions=90M dc_miss=6M\n", "E": "phase e 3s instructions=20M\n"}
    letters = "A" + "".join("B" + "CD" * times + "E" for times in (5, 6, 5, 5, 4, 5))
    with Folder() as folder:
        folder.write("nested.sim", SCRIPT.split("phase calm 8s")[0] + "".join(part[letter] for letter in letters))
        expect(folder.call("record", "-q", "--pmu", "sim:nested.sim"), 0)
        text = expect(folder.call("phases"), 0).stdout
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
        report = expect(folder.call("report"), 0).stdout
        times = {"turn:3": (66, 93), "turn:3.2": (74, 78), "turn:3.5": (86, 90)}
        for turn, (start, end) in times.items():
            got = json.loads(expect(folder.call("report", "--from", turn, "--to", turn, "--format", "json"), 0).stdout)
            assert abs(got["start_s"] - start) < .3 and abs(got["end_s"] - end) < .3, (turn, got["start_s"], got["end_s"])
        for start in range(0, 20, 4):  # no box of the strip is divided
            drawn = expect(folder.call("plot", "-o", "-", "--size", "100x30", "--chars", "ascii", "--from", str(start + .1)), 0).stdout
            strip, = re.findall("^Phases +(.*)", drawn, re.M)
            assert not re.search(r"([A-Z])-*\|-*\1", strip), strip
        assert "repeats" not in expect(folder.call("report", "--from", "turn:3.2", "--to", "turn:3.4"), 0).stdout
        for turn, status in (("turn:7", 1), ("turn:3.6", 1), ("turn:3.2.1", 1), ("turn:3.", 2), ("turn:3.2.1.1", 2), ("turn:.2", 2)):
            expect(folder.call("report", "--from", turn), status)
        folder.write("thin.sim", "noise 8%\nseed 1\ndefault instructions=300M branches=40M\nphase load 60s instructions=120M\nrepeat 12\n"
                     "phase setup 20s branches=64M\nrepeat 8\nphase solve 12s\nphase exchange 4s instructions=90M\nend\n"
                     "phase save 15s instructions=60M\nend\n")
        expect(folder.call("record", "-q", "--pmu", "sim:thin.sim", "-e", "instructions,branches", "--keep", "2m", "-o", "thin.data"), 0)
        thinned = expect(folder.call("phases", "-i", "thin.data"), 0).stdout
    assert "[B, 8 x (C A), D] repeats (12 iterations, mean 2 min 43 s)." in thinned and "blocks of 16 rotations" in thinned, thinned
    assert [phase["label"] for phase in found["phases"]] == list(letters), found["phases"]
    assert "\n[B, 4 to 6 x (C D), E] repeats (6 iterations, mean 27." in text, text
    assert "[B, 4 to 6 x (C D), E] repeats (6 iterations, mean 27." in " ".join(report.split()), report
    assert re.findall(r"^ +(B|4 to 6 x|C|D|E)  .*? (\d+\.\d) s +\d+\.\d\d ", text, re.M)[0][0] == "B", text
    loop, = found["loops"]
    assert (loop["first_phase"], loop["phases"], loop["turns"], loop["odd_turns"]) == (1, 72, 6, 0), loop
    assert [(one["depth"], one["label"], one["turns_min"], one["turns_max"]) for one in loop["parts"]] == [
        (1, "B", None, None), (1, None, 4, 6), (2, "C", None, None), (2, "D", None, None), (1, "E", None, None)], loop
    assert [abs(one["part_s"] - length) < .2 for one, length in zip(loop["parts"], (4, 20, 2, 2, 3))] == [True] * 5, loop
    third = [phase for phase in found["phases"] if phase["turn"] == 3]
    assert [phase["part"] for phase in third] == list(range(1, 13)), third
    assert [phase["depth"] for phase in third] == [1] + 10 * [2] + [1], third
    assert [phase["inner_turn"] for phase in third] == [None] + ["3.%d" % (k // 2) for k in range(2, 12)] + [None], third


def test_loops():
    """text folds a loop and names an unusual iteration; CSV and JSON have each phase; --from turn:12"""
    part = {"B": "phase b 4s instructions=200M\n", "C": "phase c 2s instructions=90M dc_miss=6M\n",
            "D": "phase d 3s instructions=300M branches=90M\n"}
    turns = ["BCD"] * 7 + ["BD"] + ["BCD"] * 12
    with Folder() as folder:
        folder.write("loop.sim", SCRIPT.split("phase calm 8s")[0] + "phase a 8s instructions=30M dc_miss=9M\n" + "".join(
            part[letter] for turn in turns for letter in turn) + "phase a 8s instructions=30M dc_miss=9M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:loop.sim"), 0)
        text = expect(folder.call("phases"), 0).stdout
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
        rows = list(csv.DictReader(io.StringIO(expect(folder.call("phases", "--format", "csv"), 0).stdout)))
        fine = expect(folder.call("phases", "--level", "fine"), 0).stdout
        report = expect(folder.call("report"), 0).stdout
        (first, last), = sqlite3.connect(folder / "rpistat.data").execute(
            "SELECT min(phase), max(phase) FROM shown_phase WHERE turn = 12").fetchall()
        part = expect(folder.call("report", "--from", "turn:12", "--to", "turn:12"), 0).stdout
        expect(folder.call("report", "--from", "turn:21"), 1)
        expect(folder.call("report", "--from", "turn:none"), 2)
    assert "B C D repeats (20 iterations, mean 9.0" in text, text
    assert re.search(r"^  20 iterations from 00:0[78]\.. to 03:0[56]\.., mean 9\.. s \(sd 0\... s\):$", text, re.M), text
    assert len(re.findall(r"^    [BCD] .* s +0\.\d\d  ", text, re.M)) == 3, text
    assert re.search(r"^    outlier iteration: 01:1.\.. \(phases B D\)$", text, re.M), text
    assert len(re.findall(r"^  [A-F] +\d\d:\d\d", text, re.M)) == 2, text
    assert len(re.findall(r"^  [A-F] +\d\d:\d\d", fine, re.M)) == 61 and ITERATIONS not in fine, fine
    assert "B C D repeats (20 iterations" in " ".join(report.split()), report
    loop, = found["loops"]
    assert (loop["first_phase"], loop["phases"], loop["turns"], loop["odd_turns"]) == (1, 59, 20, 1), loop
    assert abs(loop["turn_s"] - 9) < .1 and [one["label"] for one in loop["parts"]] == ["B", "C", "D"], loop
    assert len(rows) == len(found["phases"]) == 61
    shown = [level["rows"] for level in found["levels"] if level["shown"]]
    assert shown == [2 + 3 + 1], found["levels"]
    for row, phase in zip(rows, found["phases"]):
        assert row["turn"] == str(phase["turn"] or "") and row["part"] == str(phase["part"] or ""), (row, phase)
    assert [row["part"] for row in rows[20:28]] == ["2", "3", "", "", "1", "2", "3", "1"], rows[20:28]
    assert (first, last) == (33, 35) and rows[33]["turn"] == "12", (first, last, rows[33])
    assert re.match(r"(8\.9|9\.[01]).* s of ", part), part


def test_read_only():
    """a read-only store gives one line and the phases; -q omits the line"""
    with Folder() as folder:
        folder.write("phases.sim", SCRIPT)
        expect(folder.call("record", "-q", "--pmu", "sim:phases.sim"), 0)
        os.chmod(folder / "rpistat.data", 0o444)
        os.chmod(folder.path, 0o555)
        try:
            answer = expect(folder.call_as_user("phases", "--format", "csv"), 0)
        finally:
            os.chmod(folder.path, 0o777)
        check_known(rows_of(answer.stdout))
        store = sqlite3.connect(folder / "rpistat.data")
        kept = store.execute("SELECT count(*) FROM phase").fetchone()[0]
        store.close()
        assert (kept == 0) == ("cannot store the phases" in answer.stderr), (kept, answer.stderr)
        assert answer.stderr.count("\n") <= 1, answer.stderr


# --- by phase ---------------------------------------------------------------------------------


def periods(*part, **options):
    """The numbers of the exported periods."""
    answer = expect(FOLDER.call("export", *part, **options), 0)
    return [int(row["period"]) for row in csv.DictReader(io.StringIO(answer.stdout))]


def test_by_phase():
    """--from phase:B --to phase:B is this phase alone; .2 is its second time; lower case works"""
    rows = rows_of(phases("--format", "csv").stdout)
    for name, number in [("A", 0), ("phase:b", 1), ("B.1", 1), ("C", 2), ("A.2", 3), ("b.2", 4)]:
        name = name if name.startswith("phase:") else "phase:" + name
        _, first, last = rows[number]
        assert periods("--from", name, "--to", name) == list(range(first, last + 1)), name
        assert periods("--from", name)[0] == first and periods("--to", name)[-1] == last, name
    assert periods("--from", "10s", "--to", "phase:C") == list(range(100, rows[2][2] + 1))
    whole = FOLDER.call("report").stdout
    assert expect(FOLDER.call("report", "--from", "phase:B", "--to", "phase:B"), 0).stdout != whole
    inside = rows_of(phases("--from", "phase:B", "--to", "phase:C", "--format", "csv").stdout)
    assert len(inside) == 2 and inside[0][1] == rows[1][1], inside
    for command in ["report"], ["explain"], ["export"], ["explain", "--format", "json"]:
        said = [expect(FOLDER.call(*command, "--from", "phase:" + name, "--to", "phase:" + name), 0).stderr for name in ("b", "B.1", "C")]
        assert said == ["rpistat: phase:b is the first of 2 phases B (write phase:b.2 for the second; see `rpistat phases`)\n", "", ""], said
    said = expect(FOLDER.call("explain", "--from", "phase:A", "--to", "phase:A", "--against", "phase:B,phase:B"), 0).stderr
    assert "phase:A is the first of 2" in said and "phase:B is the first of 2" in said, said


def test_by_phase_found_now():
    """in a run whose phases were never detected, they are detected now and not stored"""
    with Folder() as folder:
        folder.write("phases.sim", SCRIPT)
        expect(folder.call("record", "-q", "--pmu", "sim:phases.sim"), 0)
        answer = expect(folder.call("export", "--from", "phase:B", "--to", "phase:B"), 0)
        assert 55 <= answer.stdout.count("\n") - 1 <= 65, answer.stdout
        store = sqlite3.connect(folder / "rpistat.data")
        assert store.execute("SELECT count(*) FROM phase").fetchone() == (0,)
        store.close()


def test_by_phase_wrong():
    r"""unknown phases, phases that the run does not have, and a wrong order"""
    for text in ["phase:", "phase:1", "phase:B.0", "phase:B.x", "phase:B.", "phase:AAAAAAAAAAAAAAAAAAA"]:
        refused(FOLDER.call("report", "--from", text), 2, "--from", "phase:B.2")
    refused(FOLDER.call("report", "--from", "phase:D"), 1, "choose a phase from A to C")
    refused(FOLDER.call("report", "--to", "phase:B.3"), 1, "2 phases of this class")
    refused(FOLDER.call("export", "--from", "phase:C", "--to", "phase:A"), 2, "--from must be before --to")
    refused(FOLDER.call("report", "--from", "phases:B"), 2, "--from")


# --- tables -----------------------------------------------------------------------------------


def table(separator=",", decimal=".", header="time,level,other"):
    """200 rows, 1 s apart, with one column that has steps at 60 and 140, and one of noise with missing cells."""
    noise = random.Random(7)
    lines = [header.replace(",", separator)] if header else []
    for row in range(200):
        level = noise.gauss(5 if 60 <= row < 140 else 1, 0.5)
        cells = [str(row), "%.3f" % level, "" if row % 9 == 4 else "%.3f" % noise.gauss(0, 1)]
        lines.append(separator.join(cells).replace(".", decimal))
    return "\n".join(lines) + "\n"


def test_tables():
    """--csv: each separator and decimal mark, with and without a header, from a file or standard input"""
    expected = [("A", 0, 59), ("B", 60, 139), ("A", 140, 199)]
    FOLDER.write("t.csv", table())
    assert rows_of(phases("--csv", "t.csv", "--format", "csv").stdout) == expected
    assert "level" in phases("--csv", "t.csv").stdout
    for arguments in [(";", ","), ("\t", "."), (";", ".")]:
        FOLDER.write("t2.csv", table(*arguments))
        assert rows_of(phases("--csv", "t2.csv", "--format", "csv").stdout) == expected, arguments
    FOLDER.write("t3.csv", table(header=None))
    assert rows_of(phases("--csv", "t3.csv", "--format", "csv").stdout) == expected
    with open(FOLDER / "t.csv", encoding="ascii") as file:
        answer = phases("--csv", "-", "--format", "json", stdin=file)
    found = json.loads(answer.stdout)
    assert found["parameters"]["signals"] == ["level", "other"] and found["unit"] == "row", found
    assert "start_s" not in found["phases"][0], found
    only = json.loads(phases("--csv", "t.csv", "--metric", "other", "--format", "json").stdout)
    assert len(only["phases"]) == 1 and only["parameters"]["signals"] == ["other"], only


def test_skewed_columns():
    """--csv: a column whose noise grows with its level is analysed as logarithms and printed as it is"""
    noise = random.Random(2)
    rows = [math.exp(noise.gauss(1.5 if row // 60 % 2 else 0, 1)) for row in range(300)]
    FOLDER.write("skewed.csv", "v\n" + "".join("%.6g\n" % value for value in rows))
    found = json.loads(phases("--csv", "skewed.csv", "--format", "json", "--level", "fine").stdout)
    starts = [phase["first"] for phase in found["phases"]]
    assert len(starts) == 5, starts
    for start, expected in zip(starts, range(0, 300, 60)):
        assert abs(start - expected) <= 8, starts
    whole = found["figures"][0]["whole"]
    assert abs(whole - sum(rows) / len(rows)) < 1e-3 * whole, (whole, sum(rows) / len(rows))


def test_imported_like_csv():
    """an imported table has the same phases as with --csv: seasons, noise, logarithms, numbers of rows"""
    noise = random.Random(3)
    tables = {
        "season": [(20 * math.sin(math.pi * row / 72) + 5 * (row >= 720) + noise.gauss(100, 2),) for row in range(1440)],
        "noise": [(noise.gauss(50, 2 if row < 400 else 12),) for row in range(800)],
        "skewed": [(10 ** (row // 100 % 2 + 1) * math.exp(noise.gauss(0, .5)),) for row in range(800)],
        "numbered": [(3 * row, noise.gauss(3 * (row // 200 % 2), 1)) for row in range(800)],
        "gaps": [(noise.gauss(3 * (row // 150 % 2), 1), "" if row % 7 == 3 else noise.gauss(9, 1)) for row in range(600)],
    }
    for name, rows in tables.items():
        lines = ["when," + ",".join("ab"[:len(rows[0])])]
        for number, cells in enumerate(rows):
            time = number + 50 * (name == "gaps" and number >= 300)
            lines.append(",".join([str(time)] + [cell if cell == "" else "%.5g" % cell for cell in cells]))
        with Folder() as folder:
            folder.write("t.csv", "\n".join(lines) + "\n")
            answer = expect(folder.call("phases", "--csv", "t.csv", "--format", "json"), 0).stdout
            file = json.loads(answer)["phases"]
            expect(folder.call("import", "--map", "when=time", "t.csv"), 0)
            run = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["phases"]
        for key in ("first", "last", "label", "confidence"):
            assert [phase[key] for phase in file] == [phase[key] for phase in run], (name, key, file, run)
        assert len(file) > 1, name


def test_tables_need_no_store():
    """--csv works without a store, and creates none"""
    with Folder() as folder:
        folder.write("t.csv", table())
        before = os.listdir(folder.path)
        expect(folder.call("phases", "--csv", "t.csv"), 0)
        assert sorted(os.listdir(folder.path)) == sorted(before)


def test_own_exports():
    """--csv reads each form that export writes"""
    for form in ["wide", "rates"]:
        expect(FOLDER.call("export", "--format", form, "-o", "export.csv"), 0)
        rows = rows_of(phases("--csv", "export.csv", "--format", "csv").stdout)
        width = 4 if form == "rates" else 1  # number of event sets in a rotation
        for start in STARTS[1:-1]:
            assert any(abs(first - start / width) <= 3 for _, first, _ in rows), (form, rows)


def test_short_tables():
    """a table of 4 to 11 rows gets an answer, whatever its numbers are"""
    for count in range(4, 12):
        FOLDER.write("few.csv", "x,y\n" + "".join("%d,%d\n" % (row ** 2, -row ** 9) for row in range(count)))
        assert rows_of(phases("--csv", "few.csv", "--format", "csv").stdout)
    FOLDER.write("few.csv", "phase,x,share\n1,2,3\n1,3,4\n1,2,3\n1,2,9\n5,2,9\n9,9,9\n")
    assert rows_of(phases("--csv", "few.csv", "--format", "csv").stdout)


def test_bad_tables():
    """input that is no table: a sentence and status 1"""
    for content, words in [
            (b"", ["no rows"]),
            (b"a,b\n1,2\n", ["1 row", "at least"]),
            (b"a,b\n1,2\n3\n4,5\n", ["line 3: the row has 1 cell"]),
            (b"a,b\nx,y\nz,w\n", ["no column of measured values"]),
            (b"\x7fELF\0\0\0\1\2\3", ["the format of bad.csv is unknown"]),
            (bytes(range(256)) * 20, ["check that this is a text file"]),
            (b"time\n1\n2\n3\n4\n5\n", ["no column of measured values"])]:
        FOLDER.write("bad.csv", content)
        refused(FOLDER.call("phases", "--csv", "bad.csv"), 1, "bad.csv", *words)
    refused(FOLDER.call("phases", "--csv", "missing.csv"), 1, "missing.csv", "No such file")
    refused(FOLDER.call("phases", "--csv", FOLDER.path), 1, "is a directory")


def test_odd_tables():
    r"""constant columns, empty columns, infinities, huge numbers, 10,000 columns: each gets one answer"""
    wide = "\n".join(",".join(str((row * row + column) % 5) for column in range(10000))
                     for row in range(12)) + "\n"
    for content in ["a,b\n" + "1,2\n" * 50, "a,b\n" + "1,\n" * 20 + "2,NaN\n" * 20,
                    "a\n" + "inf\n1\n-inf\n2\n1e308\n-1e308\n" * 10, wide]:
        FOLDER.write("odd.csv", content)
        rows = rows_of(phases("--csv", "odd.csv", "--format", "csv").stdout)
        assert rows and rows[0][:2] == ("A", 0), rows
        phases("--csv", "odd.csv")
    FOLDER.write("odd.csv", "a,b\n" + "1,2\n" * 50)
    assert rows_of(phases("--csv", "odd.csv", "--format", "csv").stdout) == [("A", 0, 49)]


# --- wrong usage ------------------------------------------------------------------------------


def test_wrong_usage():
    """options that make no sense are refused with status 2"""
    FOLDER.write("t.csv", table())
    for arguments, words in [
            (["--metric", "nothing"], ["nothing", "cpi"]),
            (["--metric", "cpi,,cpu_use"], ["empty name"]),
            (["--metric", ""], ["empty name"]),
            (["--min-length", "0"], ["--min-length"]),
            (["--min-length", "1.5"], ["--min-length", "500ms"]),
            (["--sensitivity", "x"], ["--sensitivity"]),
            (["--sensitivity", "13"], ["--sensitivity"]),
            (["--format", "xml"], ["unknown; write one of text, json, csv"]),
            (["--separator", ";"], ["--csv"]),
            (["--csv", "t.csv", "--from", "1s"], ["--from"]),
            (["--csv", "t.csv", "--to", "phase:B"], ["--to"]),
            (["--csv", "t.csv", "--min-length", "1s"], ["rows"]),
            (["--csv", "t.csv", "--separator", "x"], ["--separator"]),
            (["--csv", "t.csv", "--separator", ",", "--decimal", ","], ["both"]),
            (["--csv", "t.csv", "--metric", "nothing"], ["nothing", "level"]),
            (["--csv", "t.csv", "-o", "t.csv"], ["t.csv"]),
            (["more"], ["more"])]:
        refused(FOLDER.call("phases", *arguments), 2, *words)


# --- samples of the code ----------------------------------------------------------------------


def sampled(folder):
    """A program that loads, solves and saves, twice, with equal counts in each period."""
    folder.write("three.sim", "noise 1%\nseed 3\nphase all 18s instructions=100M branches=5M\n")
    expect(folder.call("record", "-q", "--no-samples", "-e", "instructions,branches", "--pmu", "sim:three.sim"), 0)
    code, dice = samples.Code(folder / "rpistat.data"), random.Random(1)
    stacks = [[["main", "load"]] * 8 + [["main", "load", "copy"]] * 2,
              [["main", "solve"]] * 9 + [["main", "solve", ("page", "[kernel]", "", 0)]],
              [["main", "save"]] * 7 + [["main", "save", "copy"]] * 3]
    for period in range(180):
        for _ in range(10):
            code.add(period, dice.choice(stacks[period // 30 % 3]))
    code.write()


def test_samples():
    """changes of code make phases where counters do not change; the stored result has the settings"""
    with Folder() as folder:
        sampled(folder)
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
        starts = [phase["first"] for phase in found["phases"]]
        assert [phase["label"] for phase in found["phases"]] == list("ABCABC"), found["phases"]
        assert all(abs(start - 30 * k) <= 3 for k, start in enumerate(starts)), starts
        looked_at = found["parameters"]["signals"]
        assert looked_at[-1:] == ["samples"], looked_at
        assert "branches_rate" in looked_at, looked_at
        store = sqlite3.connect(folder / "rpistat.data")
        (kept,), = store.execute("SELECT parameters FROM detection").fetchall()
        store.close()
        assert json.loads(kept) == found["parameters"], kept
        for arguments, count, signals in [
                (["--no-samples"], 1, looked_at[:-1]),
                (["--metric", "branches_rate"], 1, ["branches_rate"]),
                (["--metric", "samples"], 6, ["samples"]),
                (["--metric", "samples in solve,branches_rate"], 5, ["branches_rate", "samples in solve"]),
                (["--from", "3s", "--to", "9s"], 2, None)]:
            part = json.loads(expect(folder.call("phases", "--format", "json", *arguments), 0).stdout)
            assert len(part["phases"]) == count, (arguments, part["phases"])
            assert signals is None or part["parameters"]["signals"] == signals, part["parameters"]
        expect(folder.call("phases", "--pca"), 0)
        refused(folder.call("phases", "--metric", "samples in nothing"), 2, "samples in nothing",
                "rpistat code")
        refused(folder.call("phases", "--metric", "samples", "--no-samples"), 2, "--no-samples")
    refused(FOLDER.call("phases", "--metric", "samples"), 2, "has no samples")


def test_code_without_names():
    """if nothing has a name, pages of code distinguish phases"""
    with Folder() as folder:
        sampled(folder)
        store = sqlite3.connect(folder / "rpistat.data")
        with store:
            store.execute("UPDATE location SET how = 'none', function = 'stripped'")
            store.execute("UPDATE frame SET address = 65536 * frame + 16")
        store.close()
        found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
        assert len(found["phases"]) == 6, found["phases"]


def test_naming():
    """whether names are known does not change the phases, if the starts of functions are known"""
    with Folder() as folder:
        sampled(folder)
        answers = []
        for change in [
                "UPDATE frame SET function = 65536 * (frame + 1)",
                "INSERT INTO location SELECT run_id, frame, depth + 1, function, file, line, how, alike FROM location",
                "UPDATE location SET function = 'fill' WHERE depth = 0",  # this function is inlined in all of them
                "UPDATE location SET function = 'fill'",  # all have the same name
                "UPDATE location SET how = 'none', function = 'stripped'"]:
            ask_store(folder / "rpistat.data", change)
            found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
            answers.append((found["phases"], found["levels"]))
        assert len(answers[0][0]) == 6, answers[0]
        assert all(answer == answers[0] for answer in answers), answers


def test_short_runs():
    """a run too short for phases is refused, and so is --cpu for a run that was not recorded by CPU"""
    with Folder() as folder:
        folder.write("short.sim", "phase one 250ms instructions=1M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:short.sim"), 0)
        refused(folder.call("phases"), 1, "3 measurement periods", "at least")
        refused(folder.call("phases", "--from", "10s"), 1, "no measurement periods in this range")
        refused(folder.call("phases", "--cpu", "0"), 1, "not counted per CPU")


def test_nothing_counted():
    """text has no columns of zeros; JSON has the figure"""
    with Folder() as folder:
        folder.write("one.sim", "noise 3%\nphase one 8s instructions=200M dc_access=50M dc_miss=2M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:one.sim"), 0)
        text = expect(folder.call("phases"), 0).stdout
        assert "DC miss" in text and "IBUF stall" not in text, text
        said = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)
        assert said["phases"][0]["figures"]["ibuf_stall_percent"] == 0, said["phases"]


with FOLDER:
    FOLDER.write("phases.sim", SCRIPT)
    expect(FOLDER.call("record", "-q", "--pmu", "sim:phases.sim"), 0)
    tap.main([test_csv, test_text, test_callers, test_few_samples, test_stripped, test_share_of_module, test_outliers, test_json, test_bursts, test_words,
              test_formats_are_the_c_locales, test_components, test_options, test_levels, test_small_steps, test_thinned, test_exports,
              test_variation, test_drift, test_uncertain_classes, test_few_rows, test_kept, test_kept_levels, test_long_turn, test_no_order, test_largest_classes, test_nested_loops, test_loops, test_read_only,
              test_by_phase, test_by_phase_found_now, test_by_phase_wrong, test_tables,
              test_skewed_columns, test_imported_like_csv, test_tables_need_no_store, test_own_exports, test_short_tables, test_bad_tables,
              test_odd_tables, test_wrong_usage, test_samples, test_code_without_names, test_naming, test_short_runs, test_nothing_counted])
