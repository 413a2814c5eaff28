"""Times of day: --clock, --x-axis clock, --from 14:30, the times in views; --every and --follow."""
import csv
import io
import json
import os
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile

import program
from program import RPISTAT, Folder, Recording, ask_store, environment, expect, refused, silence, tap

# A zone with summer time that needs no tables; run 1 begins 10.2 s before summer time ends.
ZONE = "CET-1CEST,M3.5.0,M10.5.0/3"
SUMMER_ENDS_S = 1792890000
START_NS = SUMMER_ENDS_S * 10**9 - 10200000000
FOLDER = Folder(runs=1)
HERE = environment(TZ=ZONE)


def begin_at(start_ns):
    ask_store(FOLDER / "rpistat.data", "UPDATE run SET start_realtime_ns = ?", (start_ns,))


def rows(*arguments, env=None, delimiter=","):
    text = expect(FOLDER.call("export", *arguments, env=env or HERE), 0).stdout
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def test_column():
    """export --clock adds a column after time_s, with each moment's offset from UTC, and changes nothing else"""
    for form in ([], ["--rates"], ["--long"], ["--rates", "--long"], ["--every", "3s"]):
        plain, clock = rows(*form), rows(*form, "--clock")
        names = list(clock[0])
        assert names.index("time") == names.index("time_s") + 1, names
        assert list(plain[0]) == [name for name in names if name != "time"]
        if form != ["--every", "3s"]:  # its intervals then follow the clock
            assert plain == [{key: row[key] for key in row if key != "time"} for row in clock]
    times = [row["time"] for row in rows("--clock")]
    assert times[0] == "2026-10-25T02:59:49.800+02:00", times[0]
    assert times[101:104] == ["2026-10-25T02:59:59.900+02:00", "2026-10-25T02:00:00.000+01:00",
                              "2026-10-25T02:00:00.100+01:00"], times[101:104]
    assert rows("--clock", env=environment(TZ="UTC"))[0]["time"] == "2026-10-25T00:59:49.800+00:00"
    for form in ([], ["--format", "jsonl", "--decimal", "."]):
        text = expect(FOLDER.call("export", *form, "--clock=local", env=HERE), 0).stdout
        assert re.findall(r'"?(2026-10-25 [^,"]+)"?,', text) == [time[:-6].replace("T", " ") for time in times], text[:400]


PARTS = [  # --from and --to, the first and the last period
    (["--from", "02:59:55"], 52, 249),
    (["--from", "02:59:49.8"], 0, 249),
    (["--from", "02:00"], 102, 249),
    (["--from", "2026-10-25T02:59:59.5"], 97, 249),
    (["--from", "2026-10-25T02:00:00+01:00"], 102, 249),
    (["--from", "2026-10-25T01:00Z", "--to", "2026-10-25T01:00:01Z"], 102, 111),
    (["--from", "02:59:50", "--to", "02:00:05"], 2, 151),
    (["--from", "12", "--to", "02:00:05"], 120, 151),
    (["--to", "2026-10-24T21:00-04:00"], 0, 101),
]
OUTSIDE = ["25:00", "14:30", "02:59", "2026-10-25T02:30", "2026-10-25T01:00:20Z", "2026-10-24T02:59:55"]
WRONG = ["14:3", "14:30.", "14:30:05,", "2026-10-35", "2026-10-32T14:30", "14:30Z", "14:30:61"]


def test_part():
    """--from and --to take a time of day or a moment, also in a run that crosses the end of summer time"""
    for part, first, last in PARTS:
        periods = [int(row["period"]) for row in rows(*part)]
        assert (periods[0], periods[-1]) == (first, last), (part, periods[0], periods[-1])
    for command in ("report", "phases", "plot"):
        expect(FOLDER.call(command, "--from", "02:59:55", "--to", "02:00:05", env=HERE), 0)
    report = FOLDER.call("report", "--from", "02:59:55", env=HERE).stdout
    assert re.search(r"Time range: +00:00:05.200 to", report), report


def test_refused_part():
    """for a moment outside the run the message has its start and end; for a wrong moment it has the right form"""
    for moment in OUTSIDE:
        refused(FOLDER.call("export", "--from", moment, env=HERE), 1, "--from", moment,
                "2026-10-25T02:59:49.800+02:00", "2026-10-25T02:00:14.800+01:00")
    for moment in WRONG:
        refused(FOLDER.call("report", "--to", moment, env=HERE), 2, "--to", moment, "14:30")
    refused(FOLDER.call("export", "--from", "02:00:05", "--to", "02:59:55", env=HERE), 2, "--from")


def test_views():
    """the views have the same times, in UTC"""
    expect(FOLDER.call("phases"), 0)
    store = sqlite3.connect(FOLDER / "rpistat.data")

    def times(view, column):
        return [row[0] for row in store.execute(
            "SELECT DISTINCT time FROM %s WHERE run_id = 1 ORDER BY %s" % (view, column))]
    in_utc = environment(TZ="UTC")
    for form, view, column in (([], "sample", "period"), (["--rates"], "rate", "rotation")):
        exported = [row["time"].replace("+00:00", "Z") for row in rows("--clock", *form, env=in_utc)]
        assert times(view, column) == exported, (view, times(view, column)[:3], exported[:3])
    phases = times("shown_phase", "phase")
    assert phases[0] == "2026-10-25T00:59:49.800Z" and len(phases) == 3, phases
    store.close()


def x_tics(panels):
    """The labels and positions of the last axis that has labels."""
    return [re.findall(r'"([^"]+)" \((.*?)\)', line) for line in panels.splitlines()
            if line.startswith('set xtics ("') and '""' not in line][-1]


def tics(*arguments):
    with tempfile.TemporaryDirectory() as keep:
        expect(FOLDER.call("plot", "-o", "x.svg", "--keep-script", keep, *arguments, env=HERE), 0)
        with open(os.path.join(keep, "panels.gp"), encoding="utf-8") as file:
            found = x_tics(file.read())
        with open(os.path.join(keep, "text.gp"), encoding="utf-8") as file:
            text = file.read()
    return [name for name, _ in found], [place for _, place in found], text


def test_plot():
    """plot --x-axis clock: tics at round times of day, the date, the offsets; in all pictures"""
    names, places, text = tics("--x-axis", "clock")
    assert names == ["02:59:50", "02:59:55", "02:00:00", "02:00:05", "02:00:10"], names
    assert [float(place) for place in places] == [0.2, 5.2, 10.2, 15.2, 20.2], places
    assert "Time of day, 2026-10-25 (UTC+02:00, then UTC+01:00)" in text
    assert tics("--x-axis", "clock", "--kind", "heat")[0] == names
    assert tics()[0][:2] == ["00:00:00", "00:00:05"] and "since the start" in tics()[2]
    drawn = expect(FOLDER.call("plot", "-o", "-", "--x-axis", "clock", env=HERE), 0).stdout
    assert re.search(r"^ +02:59:50 +02:59:55", drawn, re.M), drawn
    assert "(UTC+02:00, then UTC+01:00)" in drawn.splitlines()[1], drawn
    refused(FOLDER.call("plot", "--x-axis", "wall"), 2, "--x-axis", "wall", "clock")


def test_plot_days():
    """plot --x-axis clock: a date where the run crosses midnight, and a day of 25 hours"""
    with Folder() as folder:
        folder.write("days.sim", "phase work 36h instructions=1M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:days.sim", "--period", "1m"), 0)
        ask_store(folder / "rpistat.data", "UPDATE run SET start_realtime_ns = ?", (1792847820 * 10**9,))
        expect(folder.call("plot", "--x-axis", "clock", "--keep-script", "kept", env=HERE), 0)
        names = [name for name, _ in x_tics(folder.read("kept/panels.gp").decode())]
        assert names == ["18:00", "2026-10-25", "06:00", "12:00", "18:00", "2026-10-26"], names
        days = list(csv.DictReader(io.StringIO(expect(folder.call(
            "export", "--every", "1d", "--clock", env=HERE), 0).stdout)))
        assert [day["time"] for day in days[1:]] == \
            ["2026-10-25T00:00:00.000+02:00", "2026-10-26T00:00:00.000+01:00"], days
        assert float(days[1]["length_s"]) == 25 * 3600, days[1]


def page_data(*arguments):
    expect(FOLDER.call("plot", "-o", "x.html", *arguments, env=HERE), 0)
    text = FOLDER.read("x.html").decode()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S).group(1))


def test_page():
    """the page has times of day: --x-axis chooses them at first, with the changes of the time zone and both names of the axis"""
    clock, plain, cycles = page_data("--x-axis", "clock"), page_data(), page_data("--x-axis", "cycles")
    assert clock["byClock"] and not plain["byClock"] and not cycles["byClock"]
    assert clock["startNs"] == START_NS
    assert clock["zones"] == [{"from": 0, "ahead": 7200}, {"from": 10.2, "ahead": 3600}]
    assert clock["axisLabel"] == plain["otherLabel"] and "UTC+02:00" in clock["axisLabel"]
    assert clock["otherLabel"] == plain["axisLabel"] and "zones" not in cycles


def test_every():
    """export --every: the mean of each interval, with the minimum and maximum of its rotations"""
    stretches, rotations, periods = rows("--every", "8s"), rows("--rates"), rows()
    assert [float(row["time_s"]) for row in stretches] == [0, 8, 16, 24]
    assert sum(float(row["length_s"]) for row in stretches) == 25
    for row in stretches[:3]:
        begin = float(row["time_s"])

        def inside(other):
            return begin <= float(other["time_s"]) + float(other["length_s"]) / 2 < begin + 8
        mine = [r for r in rotations if inside(r)]
        assert int(row["rotations"]) == len(mine) and row["block"] == "1", row
        for name in ("cpi", "dc_miss_ratio_percent"):
            values = [float(r[name]) for r in mine if r[name]]
            assert float(row[name + "_min"]) == min(values), (row, name)
            assert float(row[name + "_max"]) == max(values), (row, name)
        first, last = int(mine[0]["rotation"]) * 4, int(mine[-1]["rotation"]) * 4 + 3
        counted = [p for p in periods if first <= int(p["period"]) <= last and p["dc_miss"]]
        ratio = 100 * sum(int(p["dc_miss"]) for p in counted) / sum(int(p["dc_access"]) for p in counted)
        assert abs(float(row["dc_miss_ratio_percent"]) - ratio) < 1e-6, (row, ratio)
    assert stretches[3]["cpi"] == "" == stretches[3]["cpi_max"], stretches[3]
    assert len(rows("--every", "1h")) == 1


def test_every_by_the_clock():
    """export --every --clock: intervals by the clock, also in the hour that is repeated"""
    table = rows("--every", "5s", "--clock")
    # the middle of the first rotation is 02:59:50
    assert [row["time"] for row in table] == [
        "2026-10-25T02:59:50.000+02:00", "2026-10-25T02:59:55.000+02:00", "2026-10-25T02:00:00.000+01:00",
        "2026-10-25T02:00:05.000+01:00", "2026-10-25T02:00:10.000+01:00"], table
    assert len(rows("--every", "1h", "--clock")) == 2


def test_every_of_thinned():
    """export --every: `block` marks rows that come from blocks of rotations, which have no minimum and maximum"""
    with Folder() as folder:
        folder.write("long.sim", "noise 9%\nphase work 30m instructions=1M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:long.sim", "--keep", "1m"), 0)
        table = list(csv.DictReader(io.StringIO(expect(folder.call(
            "export", "--every", "30s"), 0).stdout)))
        assert table[0]["block"] == "16" and table[-1]["block"] == "1", table
        assert sum(int(row["rotations"]) for row in table) == 4500
        for row in table:
            low, mean, high = (row[name] for name in ("cpi_min", "cpi", "cpi_max"))
            assert (low, high) == ("", "") if row["block"] != "1" else \
                float(low) < float(mean) < float(high), row


def test_json_lines():
    """export --format jsonl: one object per row, with the names and values of the CSV"""
    for form in ([], ["--rates"], ["--long"], ["--long", "--rates"], ["--every", "3s"]):
        text = expect(FOLDER.call("export", *form, "--clock", "--format", "jsonl", env=HERE), 0).stdout
        objects = [json.loads(line, parse_int=str, parse_float=str) for line in text.splitlines()]
        table = rows(*form, "--clock")
        assert objects == [{key: value if value != "" else None for key, value in row.items()}
                           for row in table], (form, objects[0], table[0])
    refused(FOLDER.call("export", "--format", "jsonl", "--crlf"), 2, "jsonl", "--crlf")


def test_explain():
    """export --explain: one row per column of the export, in order, with its meaning; no rows of the run"""
    for form in ([], ["--rates"], ["--long"], ["--rates", "--long"], ["--every", "3s"], ["--clock"], ["--format", "signals"]):
        plain = rows(*form, *(["--format", "wide"] if not form else []))
        names = list(plain[0]) if plain else expect(FOLDER.call("export", *form), 0).stdout.strip().split(",")
        table = rows(*form, "--explain")
        assert [row["column"] for row in table] == names, (form, names)
        assert list(table[0]) == ["column", "meaning", "unit", "aggregation"], table[0]
        assert all(row["meaning"] and row["aggregation"] for row in table), table
    units = {row["column"]: (row["unit"], row["aggregation"]) for row in rows("--every", "3s", "--explain")}
    assert units["time_s"] == ("s", "first") and units["dc_miss_ratio_percent_max"] == ("%", "highest of the rotations"), units
    text = expect(FOLDER.call("export", "--explain", "--format", "jsonl"), 0).stdout
    assert [json.loads(line)["column"] for line in text.splitlines()] == [row["column"] for row in rows("--explain")]


def test_labels_so_far():
    """export: in a run that is being recorded, labels reach to the end of the last stored detection"""
    with Recording(FOLDER, "so_far.data") as recording:
        follower = Follower("so_far.data")
        follower.wait_for(30)
        found = json.loads(expect(FOLDER.call("phases", "-i", "so_far.data", "--format", "json"), 0).stdout)["phases"]
        follower.wait_for(60)
        assert recording.process.poll() is None
        table = rows("-i", "so_far.data")
        last = max(phase["last"] for phase in found)
        assert len(table) > last + 1, (len(table), last)
        assert [row["label"] != "" for row in table] == [int(row["period"]) <= last for row in table], (last, table[-1])
        recording.end()
    follower.end()


def test_long_rates():
    """export --long --rates: one row per metric and rotation"""
    wide, tall = rows("--rates"), rows("--rates", "--long")
    names = [name for name in wide[0] if name + "_low" in wide[0]]
    assert list(tall[0]) == "run cpu rotation time_s length_s phase label metric unit value low high".split()
    expected = [(row["rotation"], name, row[name], row[name + "_low"], row[name + "_high"])
                for row in wide for name in names]

    def column(row):
        suffix = {"%": "_percent", "PTI": "_pti", "/s": "_per_s"}.get(row["unit"], "")
        return row["metric"] + suffix[0 if not row["metric"].endswith(suffix) else len(suffix):]
    assert expected == [(row["rotation"], column(row), row["value"], row["low"], row["high"]) for row in tall]
    assert tall == rows("--long", "--format", "rates")


def test_locale():
    """export --locale: semicolons and decimal commas as in the locale; text output also has decimal commas"""
    expect(FOLDER.call("export", "--locale", env=environment(LC_ALL="C")), 0)
    for form in ([], ["--clock"], ["--rates"], ["--every", "3s"]):
        local = FOLDER.call("export", *form, "--locale").stdout
        assert local == FOLDER.call("export", *[word for word in form if word != "--clock"], "--clock=local").stdout
    assert FOLDER.call("export", "--locale", "--clock=offset").stdout == FOLDER.call("export", "--clock").stdout
    refused(FOLDER.call("export", "--locale", env=environment(LC_ALL="xx_XX", LOCPATH=FOLDER.path)),
            2, "--locale", "--decimal ','")
    with program.german() as german:
        text = FOLDER.call("export", "--rates", "--locale", env={**german, "TZ": ZONE}).stdout
        assert text == FOLDER.call("export", "--rates", "--separator", ";", "--decimal", ",", "--clock=local", env=HERE).stdout
        assert text.splitlines()[1].startswith("1;;0;0,000000000;2026-10-25 02:59:49,800;0,400000000;"), text[:400]
        with Folder() as other:  # an imported table keeps its columns, and its times have the requested decimal mark
            other.write("in.csv", "time,temp\n" + "".join("2026-11-24 16:00:%02d.%d,%d.5\n" % (n // 4, n % 4 * 25, n) for n in range(40)))
            expect(other.call("import", "-q", "in.csv"), 0)
            text = expect(other.call("export", "--locale", env=german), 0).stdout.splitlines()
            assert text[:3] == ["time;temp;label", "2026-11-24 16:00:00;0,5;A", "2026-11-24 16:00:00,250;1,5;A"], text[:3]
        phases = expect(FOLDER.call("phases", env=german), 0).stdout
        assert re.search(r"00:09,[0-9] ", phases) and not re.search(r"[0-9]\.[0-9]", phases), phases
        with Folder() as other:  # numbers above 999 are grouped everywhere or nowhere
            other.write("long.sim", "task main 100\nfunction f 0x1000 0x100 main.c:10\n"
                        "phase a 2000s code=f instructions=2000M\nphase b 90s code=f instructions=100M\n")
            expect(other.call("record", "-q", "--pmu", "sim:long.sim", "-e", "instructions"), 0)
            for command, count in (("report", "206.910"), ("phases", "20.900"), ("code", "206.910"), ("runs", "20.900"),
                                   ("check", "20.900"), ("watch --once", "20.900")):
                text = expect(other.call(*command.split(), env=german), 0).stdout
                assert count in text and count.replace(".", "") not in text, (command, text)


def without_phases(text):
    """The export without the columns of phases."""
    text = re.sub(r'("phase": ?)\d+(, ?"label": ?)"[A-Z]+"', r"\1null\2null", text)
    return re.sub(r",\d+,[A-Z]+,", ",,,", text)


class Follower:
    """export --follow in a pipe."""

    def __init__(self, store, *arguments):
        self.process = subprocess.Popen(
            [RPISTAT, "export", "-i", store, "--follow", *arguments], cwd=FOLDER.path, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(), bufsize=0)
        self.text = ""

    def wait_for(self, lines):
        while self.text.count("\n") < lines:
            ready = select.select([self.process.stdout], [], [], program.TIMEOUT)[0]
            assert ready, "only %r" % self.text
            read = os.read(self.process.stdout.fileno(), 65536).decode()
            assert read, "ended: %r" % self.text
            self.text += read

    def end(self):
        rest, errors = self.process.communicate(timeout=program.TIMEOUT)
        assert not errors, errors
        self.text += rest
        return self.process.returncode


def test_follow():
    """export --follow: rows appear during the recording, each once, until the run ends"""
    forms = ([], ["--long"], ["--format", "jsonl"], ["--format", "line-protocol"])
    with Recording(FOLDER, "follow.data") as recording:
        followers = [Follower("follow.data", *form) for form in forms]
        for follower in followers:
            follower.wait_for(20)
        assert recording.process.poll() is None
        followers.append(Follower("follow.data", "--rates"))
        followers[-1].wait_for(2)
        recording.end()
    for form, follower in zip(forms, followers):
        assert follower.end() == 0
        there = FOLDER.call("export", "-i", "follow.data", *form).stdout
        if form[-1:] == ["line-protocol"]:  # times computed from a start that was not exactly known yet
            there, follower.text = (re.sub(r" [0-9]+\n", "\n", text) for text in (there, follower.text))
        assert follower.text == without_phases(there), form  # a run in progress has none yet
    assert followers[-1].end() == 0
    rotations = [line.split(",")[2] for line in followers[-1].text.splitlines()[1:]]
    assert rotations == [str(number) for number in range(len(rotations))], rotations
    assert len(rotations) == len(list(csv.reader(io.StringIO(
        FOLDER.call("export", "-i", "follow.data", "--rates").stdout)))) - 1


def test_follow_to_head():
    """export --follow ends without a message when its reader exits, even if no new rows come"""
    with Recording(FOLDER, "head.data") as recording:
        follower = Follower("head.data")
        follower.wait_for(3)
        program.freeze(recording.process)  # nothing more is committed
        follower.process.stdout.close()
        assert follower.process.wait(program.TIMEOUT) == -signal.SIGPIPE
        assert follower.process.stderr.read() == ""
        follower.process.stderr.close()
        recording.process.send_signal(signal.SIGCONT)


def test_follow_of_the_killed():
    """export --follow: the run of a killed recorder has ended"""
    with Recording(FOLDER, "killed.data") as recording:
        follower = Follower("killed.data")
        follower.wait_for(5)
        recording.process.kill()
        recording.process.wait()
        silence(FOLDER / "killed.data")
        assert follower.end() == 0
        assert follower.text == without_phases(FOLDER.call("export", "-i", "killed.data").stdout)
        assert "interrupted" in FOLDER.call("runs", "-i", "killed.data").stdout


def test_follow_of_the_ended():
    r"""export --follow of a finished run prints the whole export; without a store it is an error"""
    assert expect(FOLDER.call("export", "--follow"), 0).stdout == FOLDER.call("export").stdout
    refused(FOLDER.call("export", "--follow", "-i", "none.data"), 1, "none.data")
    refused(FOLDER.call("export", "--follow", "-o", "x.csv"), 2, "--follow", "> x.csv")
    refused(FOLDER.call("export", "--follow", "--to", "3s"), 2, "--follow", "--to")
    refused(FOLDER.call("export", "--follow", "--every", "3s"), 2, "--follow", "--every")
    refused(FOLDER.call("export", "--long", "--every", "3s"), 2, "--long", "--every")
    refused(FOLDER.call("export", "--format", "every"), 2, "--every 10s")
    refused(FOLDER.call("export", "--every", "0s"), 2, "--every")


SCRIPT = "phase one %s instructions=100M\nphase two %s instructions=900M\nphase three %s instructions=200M\n"
RUNS = [  # lengths of phases, the measurement period; the lengths are with and without hours and fractions
    ("4m3200ms", "100ms", .1), ("4m3s", "1s", 1), ("25m400ms", "100ms", .1), ("30m", "1s", 1), ("11h", "10s", 10),
]


STARTS_NS = (1792847820 * 10**9, SUMMER_ENDS_S * 10**9 + 4 * 3600 * 10**9)
ENVIRONMENTS = (HERE, environment(TZ=ZONE, LC_ALL="de_DE.UTF-8"))


def test_round_trip():
    """each time that phases, report and watch print can be used as an argument, whatever the time of day"""
    for length, period, period_s in RUNS:
        with Folder() as folder:
            folder.write("x.sim", SCRIPT % (length, length, length))
            expect(folder.call("record", "-q", "--pmu", "sim:x.sim", "--period", period), 0)
            found = json.loads(expect(folder.call("phases", "--format", "json"), 0).stdout)["phases"]
            for start_ns, env in tap.quarter([(start_ns, env) for start_ns in STARTS_NS for env in ENVIRONMENTS]):
                ask_store(folder / "rpistat.data", "UPDATE run SET start_realtime_ns = ?", (start_ns,))
                check_typed(folder, env, found, period_s)


def check_typed(folder, env, found, period_s):
    text = expect(folder.call("phases", env=env), 0).stdout
    printed = re.findall(r"^  [A-Z]\S*(?: \S+)? +(\d+:[\d:.,]+)(?: +±\S+)? +([\d:.,]+) ", text, re.M)
    assert len(printed) == len(found) == 3, text
    for (begin, end), phase in zip(printed, found):
        part = ["--from", begin] + (["--to", end] if phase is not found[-1] else [])
        answer = folder.call("report", *part, "--format", "json", env=env)
        if answer.returncode == 2 and "is ambiguous in" in answer.stderr:
            words = re.findall(r"write (\S+) for the time since its start, or (\S+) for", answer.stderr)[0]
            assert "." not in begin and "," not in begin
            expect(folder.call("report", "--from", words[1], env=env), 0)  # the other meaning can be written
            answer = folder.call("report", "--from", words[0], "--format", "json", env=env)
        shown = json.loads(expect(answer, 0).stdout)
        assert abs(shown["start_s"] - phase["start_s"]) <= period_s, (begin, shown["start_s"], phase)


def test_two_meanings():
    """04:03.2 is a time of the run even at four o'clock; 04:03 is refused if it can be both, and the message has both"""
    with Folder() as folder:
        folder.write("x.sim", "phase work 12m instructions=1M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:x.sim"), 0)

        def begin(text, hour, minute):
            ask_store(folder / "rpistat.data", "UPDATE run SET start_realtime_ns = ?", ((1792800000 + hour * 3600 + minute * 60) * 10**9,))
            answer = folder.call("report", "--from", text, "--format", "json", env=environment(TZ="UTC"))
            return json.loads(answer.stdout)["start_s"] if answer.returncode == 0 else answer
        assert begin("04:03.2", 4, 0) == begin("04:03,2", 4, 0) == begin("00:04:03.2", 4, 0) == 243.2
        assert begin("04:03", 9, 0) == begin("00:04:03", 9, 0) == 243
        assert begin("14:30", 14, 25) == begin("14:30:00", 14, 25) == begin("14:30:00.0", 14, 25) == 300
        refused(begin("04:03", 4, 0), 2, "'04:03' is ambiguous in run 1", "00:04:03.0",
                "2026-10-24T04:03:00.000+00:00")
        assert begin("00:04:03", 0, 0) == 243  # both are the same moment
        refused(begin("00:11:00", 0, 4), 2, "is ambiguous", "00:11:00.0", "2026-10-24T00:11:00.000+00:00")
        refused(begin("14:30", 8, 0), 1, "'14:30' is not in run 1")
        refused(begin("44:30", 8, 0), 1, "'44:30' is not in run 1")


with FOLDER:
    begin_at(START_NS)
    tap.main([value for name, value in list(globals().items()) if name.startswith("test_")])
