"""Estimates at the start and at the end of a run: the printed intervals hold, or the report has the
reason for their absence.

usage: estimates.py RPISTAT
"""
import csv
import io
import json
import re

from program import Folder, ask_store, expect, tap

SEEDS = range(1, 11)
SETS = ["-e", "instructions,branches", "-e", "dc_access,dc_miss", "-e", "main_tlb_miss,micro_tlb_miss",
        "-e", "data_stall,pc_change"]

# Rates per second. The last 300 ms differ from the 20 s before.
END = """\
counters 2
phase run 20s instructions=70M branches=1M dc_access=5M dc_miss=500 main_tlb_miss=100 micro_tlb_miss=100
phase end 300ms instructions=200M branches=20M dc_access=5M dc_miss=200k main_tlb_miss=200k micro_tlb_miss=200k
"""
END_TOTALS = {"instructions": 1460e6, "branches": 26e6, "dc_access": 101.5e6, "dc_miss": 70e3, "main_tlb_miss": 62e3,
              "micro_tlb_miss": 62e3}

# Only the events of one set are different in the first 100 ms.
START = """\
counters 2
phase start 100ms instructions=10M branches=1M dc_access=5M dc_miss=500k main_tlb_miss=50M micro_tlb_miss=50M
phase run 30s instructions=10M branches=1M dc_access=5M dc_miss=500k main_tlb_miss=100k micro_tlb_miss=100k
"""
START_TOTALS = {"instructions": 301e6, "branches": 30.1e6, "dc_access": 150.5e6, "dc_miss": 15.05e6,
                "main_tlb_miss": 8e6, "micro_tlb_miss": 8e6}

# Constant rates, with two or three periods for each of seven sets.
FEW = """\
counters 2
phase run 2s instructions=100M branches=10M dc_access=20M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=1M ibuf_stall=5M \
branch_miss=1M data_stall=3M pc_change=2M external_access=1M lsu_stall=1M dc_writeback=1M imicro_tlb_miss=1M
"""
FEW_SETS = ["-e", "instructions,branches", "-e", "dc_access,dc_miss", "-e", "micro_tlb_miss,main_tlb_miss",
            "-e", "ibuf_stall,branch_miss", "-e", "data_stall,pc_change", "-e", "external_access,lsu_stall",
            "-e", "dc_writeback,imicro_tlb_miss"]

# A few events per second, so that estimates are not integers.
SMALL = """\
counters 2
phase run 10100ms instructions=10M branches=7 dc_access=5 dc_miss=3
"""
SMALL_SETS = ["-e", "instructions,branches", "-e", "dc_access,dc_miss"]

FOLDER = Folder()


def ask(name, statement):
    return ask_store(FOLDER / name, statement)


def record(name, script, *options):
    """Record the script into a new store. Return its name."""
    FOLDER.write("script.sim", script)
    expect(FOLDER.call("record", "-q", "--pmu", "sim:script.sim", "-o", name, *options), 0)
    return name


def read(*arguments):
    return expect(FOLDER.call(*arguments), 0).stdout


def figures(name, kind="event"):
    return [row for row in json.loads(read("report", "-i", name, "--format", "json"))["figures"] if row["kind"] == kind]


def judge(name, totals):
    """For events with a known total, return how many have an interval, and which intervals are wrong."""
    given, wrong = 0, []
    for row in figures(name):
        total = totals.get(row["name"])
        if total is None or row["certainty"] != "interval":
            continue
        given += 1
        slack = 1 + 1e-5 * total  # the simulated processor counts integers per period
        if not row["low"] - slack <= total <= row["high"] + slack:
            wrong.append((name, row["name"], row["low"], row["value"], row["high"], total))
    return given, wrong


def test_end():
    """a change at the end that a set did not see is in the interval, or there is no interval and a reason"""
    words = 0
    for seed, option in ((seed, option) for option in ((), ("--fine-start",)) for seed in SEEDS):
        name = record("end%d%s.data" % (seed, "".join(option)), END, *SETS, "--order", "random:%d" % seed, *option)
        assert judge(name, END_TOTALS)[1] == [], judge(name, END_TOTALS)
        unseen = [row["label"] for row in figures(name) if row["certainty"] == "end not counted"]
        words += len(unseen)
        text = read("report", "-i", name)
        for label in unseen:
            assert re.search(r"%s +\d+ +\d+ +(none seen; )?its end was not counted" % label, text), (label, text)
    assert words > 40, words


def test_start():
    """the first rotation is short, so that each set sees the start: no interval is wrong"""
    given = 0
    for seed in SEEDS:
        name = record("begin%d.data" % seed, START, *SETS, "--order", "random:%d" % seed)
        more, wrong = judge(name, START_TOTALS)
        assert wrong == [], wrong
        given += more
        found = lengths(name)
        assert found[:4] == [10000000] * 4 and set(found[4:-1]) == {100000000}, found[:8]
    assert given > 30, given


def test_fine_start():
    """with --fine-start each set sees the start, and all intervals hold"""
    given = 0
    for seed in SEEDS:
        name = record("start%d.data" % seed, START, *SETS, "--order", "random:%d" % seed, "--fine-start")
        more, wrong = judge(name, START_TOTALS)
        assert wrong == [], wrong
        given += more
    assert given == len(SEEDS) * len(START_TOTALS), given


def lengths(name):
    return [row[0] for row in ask(name, "SELECT length_ns FROM period ORDER BY period")]


def test_fine_lengths():
    """periods begin at 10 ms, are equal within a rotation, grow during the run, and end at --period; in both orders"""
    for order in ("random:1", "fixed"):
        found = lengths(record(order[:5] + ".data", START, *SETS, "--order", order, "--fine-start"))
        assert len(found) == 536 and set(found[:100]) == {10000000}, found
        assert set(found[336:535]) == {100000000}, found[330:]
        start_ns = 0
        for at in range(0, 336, 4):
            # The periods return to the grid.
            assert max(found[at:at + 4]) - min(found[at:at + 4]) < 400000, found[at:at + 4]
            assert abs(found[at + 1] - max(10000000, start_ns // 100)) < 400000, (at, found[at])
            start_ns += sum(found[at:at + 4])
    text = read("report", "-i", "fixed.data")
    assert re.search(r"Measurement period: +0.100 s, shorter at the start\n", text), text
    assert "fixed.data: OK (" in read("check", "-i", "fixed.data")


def test_fine_nothing():
    """--fine-start changes nothing for a single set, for periods of at most 10 ms, and after a delay"""
    one = ["-e", "instructions,branches"]
    assert set(lengths(record("one.data", START, *one, "--fine-start"))[:-1]) == {100000000}
    assert set(lengths(record("short.data", START, *SETS, "--fine-start", "--period", "5ms"))[:-1]) == {5000000}
    found = lengths(record("delay.data", START, *SETS, "--fine-start", "--delay", "15s"))
    assert set(found[:100]) == {10000000} and max(found) == 100000000, found
    text = read("report", "-i", "one.data")
    assert re.search(r"Measurement period: +0.100 s\n", text), text


def test_fine_readers():
    """reading commands merge the short periods to the length of --period"""
    noisy = "noise 40%\nseed 3\n" + START.replace("=50M", "=100k")
    name = record("noisy.data", noisy, *SETS, "--order", "random:1", "--fine-start")
    found = json.loads(read("phases", "-i", name, "--format", "json"))
    assert 250 <= found["observations"] <= 301, found["observations"]
    assert ", 536 measurement periods, " in read("phases", "-i", name)
    rows = list(csv.DictReader(io.StringIO(read("export", "-i", name, "--every", "1s"))))
    assert [int(row["rotations"]) for row in rows[:2]] == [24, 18], rows[:2]
    even = record("even.data", noisy, *SETS, "--order", "random:1")
    spread = []
    for one in (name, even):
        row = list(csv.DictReader(io.StringIO(read("export", "-i", one, "--every", "4s"))))[0]
        spread.append(float(row["dc_miss_rate_per_s_max"]) - float(row["dc_miss_rate_per_s_min"]))
    assert spread[0] < 1.5 * spread[1], spread
    read("plot", "-i", name, "--kind", "scatter", "-o", "scatter.svg")
    points = re.search(rb"(\d+) points", FOLDER.read("scatter.svg"))
    assert points and 70 <= int(points[1]) <= 80, points  # 75 without the option


def test_fine_times():
    """outliers and bursts have the times of their periods, not times computed from their numbers"""
    quiet, loud = ("%s %s instructions=100M branches=10M dc_access=20M dc_miss=" % (phase, length) for phase, length in
                   (("phase run", "2s"), ("phase out", "100ms")))
    name = record("outlier.data", "counters 2\n" + quiet + "1M\n" + loud + "10M\n" + (quiet + "1M\n") * 15, *SETS[:4], "--fine-start")
    found = json.loads(read("phases", "-i", name, "--format", "json"))["outliers"]
    assert found and all(1.8 < one["start_s"] < one["end_s"] < 2.3 for one in found), found
    burst = loud.replace("100ms", "300ms").replace("100M branches=10M", "300M branches=60M") + "20M\n"
    again = "counters 2\nnoise 3%\n" + quiet + "1M\nrepeat 15\n" + quiet + "1M\n" + burst + "end\n" + quiet + "1M\n"
    name = record("bursts.data", again, *SETS[:2], "--order", "random:1", "--fine-start")
    burst, = json.loads(read("phases", "-i", name, "--format", "json"))["bursts"]
    assert burst["occurrences"] == 15 and abs(burst["every_s"] - 2.3) < .05 and .2 < burst["length_s"] < .5, burst


def test_few():
    """constant rates in two or three readings: too few periods, in each format"""
    name = record("few.data", FEW, *FEW_SETS, "--order", "random:1")
    found = {row["name"]: row["certainty"] for row in figures(name)}
    assert set(found.values()) <= {"interval", "too few periods", "none seen"}, found
    few = [event for event, certainty in found.items() if certainty == "too few periods"]
    assert len(few) >= 10, found
    of_csv = {row["name"]: row["certainty"] for row in csv.DictReader(io.StringIO(read("report", "-i", name, "--format", "csv")))}
    assert all(of_csv[event] == "too few periods" for event in few), of_csv
    assert dict(ask(name, "SELECT name, certainty FROM event WHERE certainty = 'too few periods'")).keys() == set(few)
    for form in ("text", "markdown", "html"):
        text = read("report", "-i", name, "--format", form)
        assert text.count("too few periods") >= len(few) and "rare bursts" not in text, text


def test_rounded():
    """estimates are rounded equally in text, JSON, CSV, Markdown and HTML; the layout of 2013 truncates"""
    above = 0
    for seed in SEEDS:
        name = record("small%d.data" % seed, SMALL, *SMALL_SETS, "--order", "random:%d" % seed)
        estimate = dict(ask(name, "SELECT name, estimate FROM event WHERE name <> 'clock'"))
        of_json = {row["name"]: row["value"] for row in figures(name)}
        of_csv = {row["name"]: row["value"] for row in csv.DictReader(io.StringIO(read("report", "-i", name, "--format", "csv")))}
        text, old = read("report", "-i", name), read("report", "-i", name, "--format", "classic")
        page, markdown = (read("report", "-i", name, "--format", form) for form in ("html", "markdown"))
        for event, value in estimate.items():
            rounded = int(value + .5)
            above += rounded > int(value)
            assert of_json[event] == rounded and int(of_csv[event]) == rounded, (event, value)
            assert re.search(r"\n +%s +\d+ +%d " % (event, rounded), text), (event, value, text)
            assert re.search(r"\n +%s: +\d+  \[%d\]" % (event, value), old), (event, value, old)
            assert re.search(r"\| %s \| \d+ \| %d \|" % (event.replace("_", r"\\_"), rounded), markdown), (event, markdown)
            assert re.search(r"%s</t[dh]><td[^>]*>\d+</td><td[^>]*>%d</td>" % (event, rounded), page), (event, page)
    assert above > 5, above


with FOLDER:
    tap.main([test_end, test_start, test_fine_start, test_fine_lengths, test_fine_nothing, test_fine_readers, test_fine_times, test_few, test_rounded])
