"""plot: kinds, selection, the interactive page. tests/unit/plot compares the pictures themselves."""
import base64
import hashlib
import html.parser
import json
import os
import re

from program import SCRIPT, Folder, expect, refused, tap

FOLDER = Folder(runs=1)
PARTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "plot")
KINDS = ["time", "phases", "scatter", "heat", "pca"]


def svg(*arguments):
    """The texts of an SVG drawn with these arguments."""
    expect(FOLDER.call("plot", "-o", "a.svg", *arguments), 0)
    with open(FOLDER / "a.svg", encoding="utf-8") as file:
        return re.findall(r"<text>(.*?)</text>", file.read())


def test_kinds():
    """--kind: each kind in each format and in both themes"""
    for kind in KINDS:
        for ending, magic in [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]:
            name = "%s.%s" % (kind, ending)
            expect(FOLDER.call("plot", "--kind", kind, "-o", name, "--theme", "dark"), 0)
            assert FOLDER.read(name)[:len(magic)] == magic, name


def test_phases():
    """the script's phases are found and named; --no-phases omits them"""
    texts = svg()
    assert "Phases" in texts and "A" in texts and "B" in texts, texts
    assert "Phases" not in svg("--no-phases")
    for kind in ["scatter", "heat", "pca"]:
        texts_without = svg("--no-phases", "--kind", kind)
        assert texts_without and not {"Phases", "A", "B"} & set(texts_without), texts_without
    expect(FOLDER.call("phases"), 0)
    assert svg() == texts


def test_choice():
    r"""--metric and --panel select panels, in any order, and can be combined"""
    every = svg()
    one = svg("--metric", "cpi")
    assert "Cycles per instruction" in one and "Mispredicted branches (%)" not in one, one
    two = svg("--panel", "MISPREDICT", "--metric", "cpi")
    assert "Cycles per instruction" in two and "Mispredicted branches (%)" in two, two
    assert len(one) < len(two) < len(every)
    texts = svg("--kind", "scatter", "--metric", "cpi,dc_miss_ratio")
    assert "CPI" in texts and "DC miss ratio (%)" in texts, texts
    assert svg("--kind", "scatter", "--metric", "cpi", "--metric", "dc_miss_ratio") == texts


def test_fit():
    """--size: panels that do not fit are omitted, and the picture says so"""
    assert any("of 6 panels fit" in text for text in svg("--size", "400x300"))
    assert not any("panels fit" in text for text in svg("--size", "800x900"))
    drawn = expect(FOLDER.call("plot", "-o", "-", "--size", "80x20"), 0).stdout
    assert "panels fit" in drawn and len(drawn.splitlines()) <= 20, drawn
    assert re.search(r"^Phases  \|-+A-+\|-+B-", drawn, re.M), drawn
    whole = expect(FOLDER.call("plot", "-o", "-"), 0).stdout
    assert "panels fit" not in whole and "Mispredicted" in whole, whole


def test_refusals():
    """an impossible picture gives one sentence"""
    refused(FOLDER.call("plot", "--kind", "pie"), 2, "pie", *KINDS)
    refused(FOLDER.call("plot", "--theme", "pink"), 2, "pink", "dark")
    refused(FOLDER.call("plot", "--metric", "none_such"), 2, "none_such", "cpi")
    refused(FOLDER.call("plot", "--metric", ","), 2, "--metric")
    refused(FOLDER.call("plot", "--panel", "none such"), 2, "none such", "Cycles per instruction")
    refused(FOLDER.call("plot", "--panel", ""), 2, "--panel")
    refused(FOLDER.call("plot", "--kind", "scatter", "--metric", "cpi"), 2, "two metrics")
    refused(FOLDER.call("plot", "--kind", "phases", "--no-phases"), 2, "--no-phases")
    for kind in KINDS[1:]:
        refused(FOLDER.call("plot", "--kind", kind, "-o", "-"), 2, "characters")
        refused(FOLDER.call("plot", "--kind", kind, "-o", "a.html"), 2, "page")
    refused(FOLDER.call("plot", "-o", "a.html", "--keep-script", "folder"), 2, "--keep-script")


class Page(html.parser.HTMLParser):
    """The relevant parts of a page: its elements, attributes and scripts."""
    def __init__(self, text):
        super().__init__()
        self.scripts, self.attributes, self.policy, self.kind = [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *attribute) for attribute in attrs]
        values = dict(attrs)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag == "script":
            self.kind = values.get("type", "run")
            self.scripts.append([self.kind, ""])

    def handle_endtag(self, tag):
        self.kind = None if tag == "script" else self.kind

    def handle_data(self, data):
        if self.kind is not None:
            self.scripts[-1][1] += data


def page(*arguments):
    expect(FOLDER.call("plot", "-o", "run.html", *arguments), 0)
    with open(FOLDER / "run.html", encoding="utf-8", newline="") as file:
        return Page(file.read())


def test_page_policy():
    """pages run only their own scripts, by hash, and load nothing"""
    with Folder(runs=2) as folder:
        expect(folder.call("compare", "1", "2", "-o", "compare.html"), 0)
        pages = {"page.html": page(), "compare.html": Page(folder.read("compare.html").decode())}
    with open(os.path.join(PARTS, "live.js"), "rb") as file:  # the server inserts the script
        live = file.read().decode()
    for name, found in pages.items():
        directives = dict(part.split(None, 1) for part in found.policy.split(";"))
        assert directives["default-src"] == "'none'" and "connect-src" not in directives, directives
        run = [text for kind, text in found.scripts if kind == "run"]
        assert len(run) == {"page.html": 3, "compare.html": 4}[name]
        hashes = {"'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                  for text in run + [live]}
        allowed = directives["script-src"].split()
        assert hashes <= set(allowed) and len(allowed) == 5, (name, allowed, hashes)
        loaded = [attribute for attribute in found.attributes if attribute[1] in ("src", "href", "srcset")
                  or attribute[1].startswith("on")]
        assert not loaded, loaded


def test_page_data():
    """the page contains the series, phases, their figures and the run's metadata"""
    data = json.loads(dict((kind, text) for kind, text in page().scripts)["application/json"])
    assert [panel["title"] for panel in data["panels"]][0] == "Cycles per instruction"
    for panel in data["panels"]:
        for line in panel["lines"]:
            sizes = {len(line[name]) for name in ("x", "value", "min", "max") if line[name] is not None}
            assert len(sizes) == 1 and sizes != {0}, (panel["title"], sizes)
    names = [data["labels"][label]["name"] for label in data["phases"]["label"]]
    assert names[:2] == ["A", "B"], names
    told = expect(FOLDER.call("phases"), 0).stdout
    drawn = svg("--size", "1600x1200"), svg("--kind", "phases", "--size", "1600x1200")
    for label in data["labels"]:
        words = "%s: %s" % (label["name"], label["words"])
        assert label["words"] and words in told, words
        for texts in drawn:  # with the class's letter, unless the words have it
            assert re.search("%s( [^:<]*)?: %s" % (label["name"], re.escape(label["words"])), "\n".join(texts)), words
    assert abs(data["phases"]["from"][1] - 10) < 0.5, data["phases"]
    assert data["phases"]["to"][-1] == data["to"]
    assert [row for row in data["run"] if row[0] == "Command"], data["run"]
    figures = {figure["label"]: figure["whole"] for figure in data["figures"]}
    assert figures["CPI"] > 1, figures
    part = json.loads(dict((kind, text) for kind, text in page("--from", "5s", "--to", "15s").scripts)[
        "application/json"])
    assert (part["from"], part["to"]) == (5, 15)
    assert len(part["panels"][0]["lines"][0]["x"]) < len(data["panels"][0]["lines"][0]["x"])


def test_remark():
    """the remark of `phases` about the whole run is below the titles of time, phases and page pictures, and in no other picture"""
    FOLDER.write("turns.sim", "default instructions=200M dc_access=50M dc_miss=2M\nrepeat 12\n"
                 "phase a 10s\nphase b 10s instructions=400M dc_miss=10M\nend\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:turns.sim", "-o", "turns.data"), 0)
    for _ in range(2):  # first detected, then stored
        subtitles = [svg("-i", "turns.data", "--kind", kind)[1] for kind in ("time", "phases", "heat")]
        subtitles.append(json.loads(dict((kind, text) for kind, text in page("-i", "turns.data").scripts)[
            "application/json"])["subtitle"])
        told = expect(FOLDER.call("phases", "-i", "turns.data"), 0).stdout
        remark = re.search(r"^(A B repeats .*)\.$", told, re.M).group(1)
        assert [remark in text for text in subtitles] == [True, True, False, True], (remark, subtitles)


def test_turn():
    """turn: one iteration of a loop on the time axis, from the usual iterations; the strip over the whole run has the loop's phases once"""
    turn = "phase a 10s\nphase b 6s instructions=400M dc_miss=10M\n"
    FOLDER.write("turn.sim", "default instructions=200M dc_access=50M dc_miss=2M\nrepeat 30\n" + turn +
                 "end\nphase a 10s\nphase c 9s instructions=90M\nphase b 6s instructions=400M dc_miss=10M\n"
                 "repeat 30\n" + turn + "end\nphase c 30s instructions=90M\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:turn.sim", "-o", "turn.data"), 0)
    texts = svg("-i", "turn.data", "--kind", "turn", "--keep-script", "turn")
    assert texts[1].startswith("One iteration of A B (16.0"), texts
    assert "10 to 90 % band of 60 iterations" in texts[1] and "Time in an iteration (hh:mm:ss)" in texts, texts
    points = [[float(word) for word in line.split()] for line in
              FOLDER.read("turn/panel-1-1.dat").decode().splitlines() if line.strip()]
    assert 0 <= points[0][0] < .5 and 15 < points[-1][0] < 16.1, points
    cpi = {"a": 700 / 200, "b": 700 / 400}
    assert all(abs(value - cpi["a" if at < 10 else "b"]) < .05 for at, value in
               (point[:2] for point in points) if abs(at - 10) > 1), points
    strip = svg("-i", "turn.data")
    assert "61 × A B" in strip and strip.count("A") == strip.count("B") == 0 and "C" in strip, strip
    inner = "phase b 4s instructions=90M\nrepeat 4\nphase c 2s\nphase d 2s instructions=400M dc_miss=10M\nend\n"
    FOLDER.write("nested.sim", "default instructions=200M dc_access=50M dc_miss=2M\nrepeat 20\n" + inner + "end\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:nested.sim", "-o", "nested.data"), 0)
    texts = svg("-i", "nested.data", "--kind", "turn")
    assert texts[1].startswith("One iteration of A, 4 x (B C) (20.0"), texts
    assert [texts.count(letter) for letter in "ABC"] == [1, 4, 4], texts
    assert "20 × (A, 4 × (B C))" in svg("-i", "nested.data", "--size", "480x300")
    wide = svg("-i", "nested.data", "--size", "3000x400")
    assert wide.count("A") == 20 and "4 × B C" in wide and "20 × (A, 4 × (B C))" not in wide, wide
    FOLDER.write("none.sim", "phase a 10s instructions=9M\nphase b 10s instructions=400M\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:none.sim", "-o", "none.data"), 0)
    refused(FOLDER.call("plot", "-i", "none.data", "--kind", "turn"), 1, "no loop")


def test_legend():
    """scatter: the legend has the phase classes with points, and no others"""
    assert {"A", "B"} <= set(svg("--kind", "scatter"))
    texts = svg("--kind", "scatter", "--to", "9s")
    assert "A" in texts and "B" not in texts, texts


def test_many_points():
    """scatter: above 262,144 rotations every second one is drawn, and the picture says so"""
    FOLDER.write("many.sim", "repeat 270\nphase a 60s instructions=300M branches=30M\nphase b 40s instructions=90M branches=20M\nend\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:many.sim", "-e", "instructions,branches", "-o", "many.data"), 0)
    texts = svg("-i", "many.data", "--kind", "scatter", "--no-phases")
    assert any("135000 points, one per period; 1 in 2 drawn" in text for text in texts), texts
    texts = svg("-i", "many.data", "--kind", "scatter", "--no-phases", "--to", "20000s")
    assert any("200000 points, one per period ·" in text for text in texts), texts


def test_shares():
    """text, JSON, picture and page have the same share for each phase, with the same digits"""
    script = SCRIPT.replace("phase calm 10s", "late 0.5s 4s\nphase calm 10s")
    script = script.replace("sleep 5s", "sleep 950ms")
    FOLDER.write("shares.sim", script)
    expect(FOLDER.call("record", "--pmu", "sim:shares.sim", "-o", "shares.data"), 0)
    found = FOLDER.call("phases", "-i", "shares.data", "--format", "json")
    found = json.loads(expect(found, 0).stdout)
    whole = sum(label["time_s"] for label in found["labels"])
    shares = {label["label"]: "%.1f %%" % (100 * label["share"]) for label in found["labels"]}
    assert len(shares) == 3 and shares["C"].startswith("4."), shares
    for label in found["labels"]:
        assert abs(label["share"] - label["time_s"] / whole) < 1e-9, label
    assert [phase["share"] for phase in found["phases"]] == [
        label["share"] for label in found["labels"]], found
    text = expect(FOLDER.call("phases", "-i", "shares.data"), 0).stdout
    told = re.findall(r"^ +([A-C]) .*? s +(\d+\.\d %)(?: |$)", text, re.M)
    assert told == 2 * list(shares.items()), (told, shares)
    texts = svg("-i", "shares.data", "--kind", "phases")
    assert ["%s · 1×" % share for share in shares.values()] == [
        text for text in texts if " · 1×" in text], texts
    data = json.loads(dict((kind, text) for kind, text in page("-i", "shares.data").scripts)[
        "application/json"])
    table = data["labelTable"]
    assert {row[0].split()[0]: row[table["head"].index("Share")] for row in table["rows"][:3]} == shares, table


def heat(name, script, *options):
    """The heat map of a recording: its texts, and for each row the boxes: from, to, standard deviations."""
    FOLDER.write(name + ".sim", script)
    expect(FOLDER.call("record", "-q", "--pmu", "sim:%s.sim" % name, "-o", name + ".data"), 0)
    texts = svg("-i", name + ".data", "--kind", "heat", "--keep-script", name, *options)
    rows = {}
    for line in FOLDER.read(name + "/heat.dat").decode().splitlines():
        start, end, row, _, colour = line.split()
        rows.setdefault(int(float(row)), []).append((float(start), float(end), spreads_of(colour)))
    return texts, rows


def spreads_of(colour):
    """The number of standard deviations for a colour between 2166AC, F7F7F7 and B2182B (2.5 standard deviations)."""
    red, blue = int(colour[2:4], 16), int(colour[6:8], 16)
    return 2.5 * (blue - 0xf7) / (0x2b - 0xf7) if blue < red else 2.5 * (red - 0xf7) / (0xf7 - 0x21)


def test_heat_noise():
    """heat: a metric with only noise is one neutral box; a change and a spike are visible"""
    events = "instructions=200M branches=20M branch_miss=1M ibuf_stall=100M dc_access=50M "
    events += "dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k"
    for noise in ["0%", "2%", "20%"]:
        script = "noise %s\nphase calm 67s %s\n" % (noise, events)
        _, rows = heat("steady" + noise[:-1], script)
        assert len(rows) == 7, rows
        assert all(len(row) == 1 and row[0][2] == 0 for row in rows.values()), rows
    more = events.replace("dc_miss=2M", "dc_miss=3M")
    script = "noise 2%%\nphase a 30s %s\nphase b 30s %s\n" % (events, more)
    _, rows = heat("change", script)
    assert all(-1.5 < spreads < -0.5 for _, end, spreads in rows[2] if end < 29), rows[2]
    assert all(0.5 < spreads < 1.5 for start, _, spreads in rows[2] if start > 31), rows[2]
    spike = events.replace("dc_miss=2M", "dc_miss=20M")
    script = "phase a 30s %s\nphase b 1s %s\nphase a 30s %s\n" % (events, spike, events)
    _, rows = heat("spike", script)
    assert [box[2] for box in rows[2] if box[0] < 30.5 < box[1]] == [2.5], rows[2]
    assert rows[2][0][2] == rows[2][-1][2] and abs(rows[2][0][2]) < 0.5, rows[2]
    small = events.replace("dc_miss=2M", "dc_miss=2002k")  # one thousandth more
    _, rows = heat("small", "phase a 30s %s\nphase b 30s %s\n" % (events, small))
    assert all(abs(box[2]) <= 0.125 for box in rows[2]), rows[2]


def test_heat_code():
    """heat with --code: one row per program, group or function: when each ran"""
    script = """\
task one 100 cgroup=/a.service
task two 200 cgroup=/b.slice
function work 0x1000 0x100
function rest 0x2000 0x100
phase first 30s code=one/work
phase second 30s code=two/work:50%,two/rest
"""
    for code, names in (("program", ["one", "two"]), ("cgroup", ["a.service", "b.slice"])):
        texts, rows = heat("who-" + code, script, "--code", code)
        assert [text for text in texts if text in names] == names, texts
        assert any(text.startswith("each %s's share of the time: deviation from its mean" % code) for text in texts), texts
        first, second = sorted(rows)[:2]  # each had half of the time, and all of its own half
        for row, sign in (rows[first], 1), (rows[second], -1):
            assert all(abs(box[2] - sign) < .13 for box in row if box[1] < 29.5), row
            assert all(abs(box[2] + sign) < .13 for box in row if box[0] > 30.5), row
        assert [text for text in texts if re.match(r"(49\.\d|50)\S* sd (49\.\d|50)", text)][1:], texts
    texts, rows = heat("who-function", script, "--code", "function")
    assert [text for text in texts if text in ("work", "rest")] == ["work", "rest"], texts
    script = script.replace("phase first", "function rare 0x3000 0x100\nphase once 200ms code=one/rare\nphase first")
    texts, rows = heat("rare-function", script, "--code", "function")
    assert "work" in texts and "rare" not in texts and "other" in texts, texts  # 20 samples of 6,000 get no row
    refused(FOLDER.call("plot", "-i", "steady0.data", "--kind", "heat", "--code", "program", "-o", "no.svg"), 1,
            "too few samples")


def test_heat_mean():
    """heat: the mean is the report's figure, not the mean of the columns; the scale has numbers"""
    texts, _ = heat("mean", "phase fast 10s instructions=350M\nphase slow 10s instructions=35M\n")
    report = expect(FOLDER.call("report", "-i", "mean.data"), 0).stdout
    told = float(re.search(r"\n    CPI +([0-9.]+)", report).group(1))
    mean = [float(text.split(" sd ")[0]) for text in texts if " sd " in text and text[0].isdigit()][0]
    assert told < 4 and abs(mean - told) < 0.005 * told, (mean, told)  # of the 11 columns
    assert {"−2", "−1", "0", "+1", "+2", "× sd", "mean, sd"} <= set(texts), texts
    part = svg("-i", "mean.data", "--kind", "heat", "--from", "12s")
    assert any(text.startswith("20 sd ") for text in part), part


with FOLDER:
    assert "calm" in SCRIPT
    tap.main([test_kinds, test_phases, test_choice, test_fit, test_refusals, test_page_policy,
              test_page_data, test_remark, test_turn, test_legend, test_many_points, test_shares, test_heat_noise, test_heat_code, test_heat_mean])
