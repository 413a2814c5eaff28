"""Marks and regions of a run: --from mark:NAME, the report's statements, --region."""
import csv
import io
import json
import re
import sqlite3

from program import Folder, expect, refused, tap

FOLDER = Folder(runs=1)  # 25 s in periods of 100 ms: calm, busy from 10 s on, asleep from 20 s on
S = 10**9


def add_marks(folder, marks, run=1):
    store = sqlite3.connect(folder / "rpistat.data")
    with store:
        store.executemany("INSERT INTO mark VALUES (?, ?, ?, ?)",
                          [(run, round(at * S), number, text)
                           for number, (at, text) in enumerate(marks)])
    store.close()


def exported(*options):
    return list(csv.DictReader(io.StringIO(expect(FOLDER.call("export", *options), 0).stdout)))


def periods(*options):
    return [int(row["period"]) for row in exported(*options)]


PARTS = [  # --from and --to, the first and the last period
    ("mark:warm", None, 20, 249),
    ("mark:warm.1", "mark:warm.2", 20, 119),
    ("mark:warm.2", "mark:done", 120, 149),  # the first one after --from
    ("mark:warm", "mark:done", 20, 49),
    ("mark:warm.2", "mark:done.1", None, None),
    (None, "mark:v1.2", 0, 29),
    ("mark:v1.2.1", "mark:two words", 30, 39),
    ("10s", "mark:done", 100, 149),
    ("mark:done.2", "mark:warm", None, None),
]


def test_part():
    """--from mark:NAME and --to mark:NAME, NAME.2 for the second; names may have blanks and periods"""
    for begin, end, first, last in PARTS:
        part = [word for option, text in (("--from", begin), ("--to", end)) if text
                for word in (option, text)]
        if first is None:
            refused(FOLDER.call("export", *part), 2, "--from must be before --to")
            continue
        found = periods(*part)
        assert (found[0], found[-1]) == (first, last), (part, found[0], found[-1])
    for command in ("report", "phases", "plot"):
        expect(FOLDER.call(command, "--from", "mark:warm", "--to", "mark:done"), 0)


def test_part_wrong():
    """for a mark that the run does not have, the error names the run's marks"""
    refused(FOLDER.call("report", "--from", "mark:"), 2, "mark:NAME.2")
    refused(FOLDER.call("report", "--from", "mark:wram"), 1, "'mark:wram' is not in run 1",
            "choose from its marks: warm, region load begin, v1.2, two words")
    refused(FOLDER.call("report", "--to", "mark:warm.3"), 1, "2 marks of this name")
    with Folder(runs=1) as folder:
        refused(folder.call("report", "--to", "mark:warm"), 1, "no marks", "--control")
        add_marks(folder, [(1, "m%d" % number * 20) for number in range(40)])
        refused(folder.call("report", "--to", "mark:warm"), 1, "m0m0", ", ...")


# Regions of the same run: with whole periods and without; two threads at a time, nested in another;
# shorter than a period; without an end; entered too often.
REGIONS = [
    (2, "region load begin"), (4.05, "region load end"), (6, "region load begin"),
    (8, "region load end"), (11.02, "region outer begin"), (12, "region in it begin"),
    (12.5, "region in it begin"), (13, "region in it end"), (14, "region in it end"),
    (15.5, "region outer end"), (16.01, "region short begin"), (16.05, "region short end"),
    (17, "region left begin"), (24, "region quick: 1000 entries, 0.250000 s"),
]
NAMES = "name", "entered", "marked", "not_ended", "at_once", "time_s", "periods", "inside_s"
FOUND = [
    ("load", 2, 2, 0, 1, 4.05, 40, 4), ("outer", 1, 1, 0, 1, 4.48, 44, 4.4),
    ("in it", 2, 2, 0, 2, 2.5, 20, 2), ("short", 1, 1, 0, 1, 0.04, 0, 0),
    ("left", 0, 0, 1, None, None, 0, 0), ("quick", 1000, 0, 0, None, 0.25, 0, 0),
]


def report(*options):
    return expect(FOLDER.call("report", *options), 0).stdout


def regions(*options):
    return json.loads(report("--format", "json", *options))["regions"]


def figure(figures, name):
    return [one for one in figures if one["name"] == name][0]


def test_regions():
    """a region's entries and times come from its marks; its figures come exactly from the periods completely inside"""
    found = regions()
    assert [tuple(region[name] for name in NAMES) for region in found] == FOUND, found
    assert [bool(region["figures"]) for region in found] == [True] * 3 + [False] * 3
    for region, per_s in zip(found, (2e6, 10e6, 10e6)):
        misses = figure(region["figures"], "dc_miss")
        assert misses["value"] == per_s * region["inside_s"], misses
        assert abs(misses["per_s"] - per_s) < 1 and misses["share"] == 0.25, misses
    assert figure(found[0]["figures"], "dc_miss_ratio")["value"] == 4, found[0]
    part = {region["name"]: region for region in regions("--from", "7s", "--to", "12.7s")}
    assert set(part) == {"load", "outer", "in it"}, part
    assert [part[name]["time_s"] for name in ("load", "outer", "in it")] == [1, 1.68, 0.9], part
    assert [part[name]["periods"] for name in ("load", "outer", "in it")] == [10, 16, 7], part


def test_regions_text():
    """the report's table of regions, the regions that it omits, and the marks that belong to no region"""
    text = report()
    block = text[text.index("\nRegions of the program (event counts: estimates for the whole time)\n"):text.index("\nMarks\n")]
    for name, entered, _, _, at_once, time_s, inside, inside_s in FOUND:
        time = "-" if time_s is None else "%.3f" % time_s
        assert re.search(r"^  %s +%d +%s +%s +%d +%.3f " % (name, entered, time, at_once or "-",
                                                          inside, inside_s), block, re.M), block
    assert re.search(r"^  load .* 8000000 ", block, re.M), block
    words = " ".join(block.split())
    assert "Too short for metrics: short, quick. No measurement period (0.100 s)" in words, words
    assert "to mark each entry: quick." in words and "Entered but not left: left." in words, words
    assert text.endswith("""
Marks
  00:00:02.000  warm
  00:00:03.000  v1.2
  00:00:04.000  two words
  00:00:05.000  done
  00:00:12.000  warm
  00:00:15.000  done
"""), text
    assert "Regions" not in report("--format", "classic") and "Marks" not in report("--format", "classic")
    with Folder(runs=1) as folder:
        add_marks(folder, [(1, "mark %d" % number) for number in range(35)])
        text = expect(folder.call("report"), 0).stdout
        assert "  mark 29\n  5 more rows (--format json)\n" in text, text
        assert "Regions of" not in text, text
        folder.record("-e", "instructions")
        add_marks(folder, [(1, "region load begin"), (3, "region load end")], 2)
        text = expect(folder.call("report"), 0).stdout
        assert "\nRegions of the program\n" in text, text


def test_region():
    """--region: the periods completely inside any entry, in report, JSON, CSV and export"""
    inside = list(range(20, 40)) + list(range(60, 80))
    assert periods("--region", "load") == inside
    assert periods("--region", "load", "--from", "3s") == inside[10:]
    assert periods("--region", "in it") == list(range(120, 140))
    assert len(exported("--region", "outer", "--rates")) == 12
    text = report("--region", "load")
    assert re.search(r"Region reported: +load, entered 2 times, 4.050 s inside, of which 4.000 s in",
                     text), text
    assert re.search(r"Total periods: +40\n", text) and re.search(r"\n    DC misses +\d+ +8000000 ", text), text
    assert "completely inside region load." in " ".join(text.split()), text
    assert "Regions of" not in text, text
    found = json.loads(report("--region", "outer", "--format", "json"))
    assert [region["name"] for region in found["regions"]] == ["outer"], found["regions"]
    assert figure(found["figures"], "dc_miss")["value"] == 44000000, found["figures"]
    rows = list(csv.DictReader(io.StringIO(report("--region", "outer", "--format", "csv"))))
    assert figure(rows, "dc_miss")["value"] == "44000000", rows


def test_region_wrong():
    """an unknown region, or one shorter than the periods, is refused with the existing regions"""
    for command in "report", "export":
        refused(FOLDER.call(command, "--region", "lod"), 1, "no region 'lod'",
                "load, outer, in it, short, left, quick")
        refused(FOLDER.call(command, "--region", "quick"), 1, "(0.100 s) is entirely inside 'quick'",
                "1000 entries", "shorter --period")
        refused(FOLDER.call(command, "--region", "short"), 1, "0.040 s in 1 entries")
        refused(FOLDER.call(command, "--region", "load", "--from", "9s"), 1, "no region 'load' in this time range")
        with Folder(runs=1) as folder:
            refused(folder.call(command, "--region", "load"), 1, "no regions", "man librpistat-region")
    refused(FOLDER.call("export", "--region", "load", "--follow"), 2, "--follow", "--region")


def kept(name):
    return FOLDER.read("kept/" + name).decode()


def test_pictures():
    """one row per region for the longest four, each labelled once; other marks are dotted lines"""
    expect(FOLDER.call("plot", "--keep-script", "kept", "-o", "regions.svg"), 0)
    bars = [tuple(map(float, line.split())) for line in kept("regions.dat").splitlines()]
    assert [(round(a, 2), round(row - 0.15)) for a, _, row, _ in bars] == [
        (2, 0), (6, 0), (11.02, 1), (12, 2), (16.01, 3)], bars
    assert [round(b, 2) for _, b, _, _ in bars[:4]] == [4.05, 8, 15.5, 14], bars
    lines = [float(line) for line in kept("marks.dat").splitlines()]
    assert lines == [2, 3, 4, 5, 12, 15], lines
    texts = [line[1:] for line in kept("text.gp").splitlines() if line.startswith("|")]
    first = texts.index("load")
    assert texts[first:first + 5] == ["load", "outer", "in it", "short", "warm"], texts
    panels = kept("panels.gp")
    assert "low = 4\nhigh = 0\n" in panels, panels  # the rows of the regions
    assert "region load" not in kept("text.gp")
    expect(FOLDER.call("plot", "--from", "9s", "--keep-script", "kept", "-o", "part.svg"), 0)
    assert [line.split()[2] for line in kept("regions.dat").splitlines()] == ["0.15", "1.15", "2.15"]
    drawing = expect(FOLDER.call("plot", "-o", "-"), 0).stdout
    assert "CPU use" in drawing or "Cycles" in drawing, drawing


def test_page():
    """the page has the rows and times of regions; its marks are the other marks"""
    expect(FOLDER.call("plot", "-o", "regions.html"), 0)
    text = FOLDER.read("regions.html").decode()
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text,
                                re.S).group(1))
    found = [(one["name"], one["entered"], one["time"]) for one in data["regions"]]
    assert found == [("load", 2, 4.05), ("outer", 1, 4.48), ("in it", 2, 2.5),
                     ("short", 1, 0.04)], found
    assert [round(at, 2) for at in data["regions"][0]["at"]] == [2, 4.05, 6, 8], data["regions"]
    assert [mark["text"] for mark in data["marks"]][:2] == ["warm", "v1.2"], data["marks"]


with FOLDER:
    add_marks(FOLDER, [(2, "warm"), (3, "v1.2"), (4, "two words"), (5, "done"), (12, "warm"),
                       (15, "done")] + REGIONS)
    tap.main([test_part, test_part_wrong, test_regions, test_regions_text, test_region,
              test_region_wrong, test_pictures, test_page])
