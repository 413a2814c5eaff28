"""import: what perf stat, sar, pidstat and vmstat wrote, and by recipes perf stat -j, toplev and pmrep.

The sums are made here, from the files alone.

usage: import_tools.py RPISTAT DATA
"""
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import program
from program import Folder, expect, refused, tap

DATA = os.path.join(os.path.abspath(sys.argv[2]), "import")
FOLDER = Folder()
FACTORS = {"msec": 1e6, "Joules": 1e6, "MiB": 1 << 20}
SUFFIXES = {"Joules": " in uJ", "MiB": " in bytes"}


class Sums:
    """What a file comes to: counts by name, and gauges by CPU and name as means over time."""

    def __init__(self):
        self.counts, self.gauges, self.seen, self.ends = {}, {}, {}, []

    def end(self, time):
        """A value of the interval that ends then."""
        if not self.ends or self.ends[-1] != time:
            self.ends.append(time)
            self.seen = {}

    def name(self, cpu, name):
        """The second of that name is another."""
        times = self.seen[cpu, name] = self.seen.get((cpu, name), 0) + 1
        return name if times == 1 else "%s#%d" % (name, times)

    def count(self, cpu, name, unit, text):
        if text == "<not supported>":
            return
        name = self.name(cpu, name + SUFFIXES.get(unit, ""))
        value = 0 if text == "<not counted>" else float(text.replace(",", ".")) * FACTORS.get(unit, 1)
        self.counts[name] = self.counts.get(name, 0) + round(value)

    def gauge(self, cpu, name, text):
        if name and text and name not in ("CPUs utilized", "(null)") and not name.endswith("/sec"):
            length = self.ends[-1] - (self.ends[-2] if len(self.ends) > 1 else 0)
            name = self.name(cpu, name)
            sums = self.gauges.setdefault((cpu, name), [0, 0])
            sums[0] += length * float(text.replace(",", "."))
            sums[1] += length


def rows(name, separator):
    """Without comments, totals and what a tool says to its user."""
    with open(os.path.join(DATA, name), newline="") as file:
        for row in csv.reader((line for line in file if line.strip() and line[0] != "#"),
                              delimiter=separator):
            if not row[0].strip().startswith(("summary", "SUMMARY", "Run ", "Add ")):
                yield [cell.strip() for cell in row]


def perf_csv(name, separator=",", track=False, several=False, cgroup=False):
    """The cells that come before the value and behind the event are said by whom knows the file."""
    sums, tracks, scope = Sums(), [], ""
    for row in rows(name, separator):
        time = float(row.pop(0))
        sums.end(time)
        cpu = None
        if track:
            tracks += [row[0]] if row[0] not in tracks else []
            cpu = tracks.index(row.pop(0))
        if several:
            row.pop(0)
        if not row[0]:
            if row[-2]:
                sums.gauge(cpu, row[-1].lstrip("% ") + scope, row[-2])
            else:  # a group's name
                scope = row[-1][row[-1].index(" ("):] if " (" in row[-1] else ""
            continue
        value, unit, event, *rest = row
        while event.count("/") % 2:
            event += separator + rest.pop(0)
        scope = " (%s)" % event.split("/")[0] if "/" in event and event[:4] != "cpu/" else ""
        if cgroup:
            scope += " " + rest[0]
            event += " " + rest.pop(0)
        sums.count(cpu, event, unit, value)
        sums.gauge(cpu, rest[3] and rest[3] + scope, rest[2])
    return sums


def perf_json(name):
    sums = Sums()
    with open(os.path.join(DATA, name)) as file:
        for line in file:
            line = re.sub(r", *}", "}", re.sub(r"(\d),(\d)", r"\1.\2", line))
            if not line.startswith("{") or "interval" not in line:
                continue
            row = json.loads(line)
            cpu = int(row["cpu"]) if "cpu" in row else None
            sums.end(row["interval"])
            if "event" in row:
                sums.count(cpu, row["event"], row["unit"], row["counter-value"])
            if "socket" in row:  # --metric-only
                for metric in list(row)[3:]:
                    sums.gauge(0, metric, row[metric])
            if "metric-unit" in row:
                sums.gauge(cpu, row["metric-unit"].lstrip("% "), str(row["metric-value"]))
    return sums


def perf_metrics(name, first=2):
    sums, names = Sums(), None
    for row in rows(name, ","):
        if names is None:
            names = row[first:]
            continue
        sums.end(float(row[0]))
        for metric, text in zip(names, row[first:]):
            if first == 2:
                sums.gauge(int(row[1].strip("CPU")), metric, text)
            else:  # of a socket
                sums.gauge(None, row[1] + " " + metric, text)
    return sums


def toplev(name):
    sums, header, tracks = Sums(), None, []
    for row in rows(name, ","):
        if row[0] == "Timestamp":
            header = row
            continue
        sums.end(float(row[0]))
        tracks += [row[1]] if row[1] not in tracks else []
        if "Perf-event" in header:
            sums.count(int(row[1][3:]), row[3], "", row[4])
        else:
            sums.gauge(tracks.index(row[1]), row[2], row[3])
    return sums


def pmrep(name, separator=","):
    table = list(rows(name, separator))
    sums = Sums()
    for number, row in enumerate(row for row in table if row[0] != "Time"):
        sums.end(number + 1)
        for metric, text in zip(table[0][1:], row[1:]):
            if re.fullmatch(r"[0-9.]+", text):
                sums.gauge(None, metric, text)
    return sums

def fixed_width(name, track=False):
    """A row a second; words at the right ends of the header's."""
    sums, header, times = Sums(), None, 0
    with open(os.path.join(DATA, name)) as file:
        for line in file:
            words = line.lstrip("# ").replace(" 09:", "T09:").split()  # vmstat has a date and a time
            if not words or words[0] in ("Linux", "procs", "Average:") or "all" in words:
                continue
            if "%idle" in words or "Time" in words or "kbmemfree" in words or "swpd" in words:
                header = words
                continue
            if not track or words[1] == "0":
                times += 1
            sums.end(times)
            for metric, text in zip(header, words):
                if re.fullmatch(r"[0-9.]+", text) and metric not in ("CPU", "UID", "PID"):
                    sums.gauge(int(words[1]) if track else None, metric, text)
    return sums


# How README.md says that what is not imported as it is becomes a table.
RECIPES = {
    "perf-.*json": "sh examples/import/perf-json <run.json",
    "toplev.*": "awk -f examples/import/toplev.awk run.csv",
    "pmrep.*": "awk -f examples/import/pmrep.awk run.csv",
}


def importable(name):
    """The file, or what the recipe makes of it, under the same name."""
    for pattern, recipe in RECIPES.items():
        if re.fullmatch(pattern, os.path.basename(name)):
            with open(os.path.join(tap.root(), "examples", "README.md")) as file:
                assert "\n    %s | rpistat import - " % recipe in file.read(), recipe
            command = re.sub(r"run\.\w+", shlex.quote(os.path.join(DATA, name)), recipe)
            made = subprocess.run(command, shell=True, cwd=tap.root(), check=True, capture_output=True,
                                  env=program.environment(LC_ALL="C"), timeout=program.TIMEOUT)
            FOLDER.write(os.path.basename(name), made.stdout)
            return os.path.basename(name)
    return os.path.join(DATA, name)


FIXTURES = [
    ("perf-task.csv", "perf-csv", perf_csv, {}),
    ("perf-core.csv", "perf-csv", perf_csv, {"separator": ";", "track": True, "several": True}),
    ("perf-cpu.csv", "perf-csv", perf_csv, {"separator": "\t", "track": True}),
    ("perf-hardware.csv", "perf-csv", perf_csv, {}),
    ("perf-cgroup.tsv", "perf-csv", perf_csv,
     {"separator": "\t", "track": True, "several": True, "cgroup": True}),
    ("perf-metrics.csv", "csv", perf_metrics, {}),
    ("perf-task.json", "perf-csv", perf_json, {}),
    ("perf-cpu.json", "perf-csv", perf_json, {}),
    ("perf-locale.json", "perf-csv", perf_json, {}),
    ("toplev.csv", "csv", toplev, {}),
    ("toplev-values.csv", "perf-csv", toplev, {}),
    ("pmrep.csv", "csv", pmrep, {}),
    ("pmrep-epoch.csv", "csv", pmrep, {"separator": ";"}),
    ("pmrep-clock.csv", "csv", pmrep, {}),
    # after lines that people posted, of later versions; the times are ours
    ("perf-6.8-hybrid.csv", "perf-csv", perf_csv, {}),
    ("perf-6.13-default.json", "perf-csv", perf_json, {}),
    ("perf-6.13-metrics.csv", "csv", perf_metrics, {"first": 3}),
    ("perf-6.2-metrics.json", "perf-csv", perf_json, {}),
    ("toplev-4.11.csv", "csv", toplev, {}),
    ("sar-cpus.txt", "csv", fixed_width, {"track": True}),
    ("sar-memory.txt", "csv", fixed_width, {}),
    ("pidstat-h.txt", "csv", fixed_width, {}),
    ("vmstat.txt", "csv", fixed_width, {}),
]


def report(store, run, *options):
    answer = expect(FOLDER.call("report", "-i", store, "-r", str(run), "--format", "json", *options), 0)
    return json.loads(answer.stdout)


def compare_sums(found, sums, cpu):
    """The report of one CPU, or of all."""
    figures = found["figures"]
    if cpu is None:
        counts = {row["label"]: row["count"] for row in figures
                  if row["kind"] == "event" and row["label"] in sums.counts}
        assert counts == sums.counts, (counts, sums.counts)
    values = {row["label"]: row["value"] for row in figures if row["kind"] == "metric"}
    gauges = {}
    for (of, name), part in sums.gauges.items():
        if cpu in (None, of):
            gauges[name] = [a + b for a, b in zip(gauges.get(name, [0, 0]), part)]
    for name, (product, seconds) in gauges.items():
        wanted = product / seconds
        assert abs(values[name] - wanted) <= 1e-5 * abs(wanted), (name, values[name], wanted)


def test_fixtures():
    """every file comes to what its lines come to, interval by interval and in all"""
    answer = expect(FOLDER.call("import", "-o", "all.data",
                                *(importable(name) for name, *_ in FIXTURES)), 0)
    for number, (name, form, function, how) in enumerate(FIXTURES, 1):
        assert "%s (%s) is run %d " % (name, form, number) in answer.stderr, answer.stderr
        sums = function(name, **how)
        assert sums.counts or sums.gauges
        found = report("all.data", number)
        assert abs(found["run"]["elapsed_s"] - sums.ends[-1]) < 2e-9, (name, found["run"])
        try:
            compare_sums(found, sums, None)
            for cpu in sorted({cpu for cpu, _ in sums.gauges if cpu is not None}):
                compare_sums(report("all.data", number, "--cpu", str(cpu)), sums, cpu)
        except AssertionError as error:
            raise AssertionError("%s: %s" % (name, error)) from error
    sound = expect(FOLDER.call("check", "-i", "all.data"), 0)
    assert "odd" not in sound.stdout + sound.stderr, sound.stdout


HEADERS = ("swpd", "%idle", "%usr", "Device", "IFACE", "kbmemfree")


def printed(name):
    """What vmstat, sar, pidstat and iostat print: of each time, as it stands there, the values by name."""
    found, header, stamp, keyed = {}, [], 0, "sar-n" in name or "pidstat" in name
    with open(os.path.join(DATA, name)) as file:
        for line in file:
            line = re.sub(r"(\d\d:\d\d:\d\d) ([AP])M", r"\1\2", line.lstrip("# "))
            words = re.sub(r"(\S{8,10}) (\d\d:\d\d:\d\d)$", r"\1T\2", line.rstrip()).split()
            if words and "de" in name:
                words = [word.replace(",", ".") for word in words]
            if not words or words[0] in ("Linux", "Average:", "Durchschn.:") or "---" in line:
                continue
            if set(HEADERS) & set(words):
                header = [word for word in words if word != "avg-cpu:"]
                if words[0] == "avg-cpu:" and "iostat-y" in name:  # which has no times
                    stamp += 1
                continue
            if len(words) == 1:
                stamp = words[0]
                continue
            time = words[0] if ":" in words[0] else words[-1] if ":" in words[-1] else stamp
            row = {n: word for n, word in zip(header, words) if ":" not in n + word and n != "Time"}
            who = [row.pop(n) for n in ("Command", "IFACE", "PID", "Device") if n in row]
            for n in ("UID", "CPU"):
                row.pop(n, None)
            found.setdefault(time, {}).update(
                {" ".join([*who, n]) if keyed else n: float(word) for n, word in row.items()})
    return found


def moment(text):
    """The time of a day, as export has it."""
    time, afternoon = text.split("T")[-1].rstrip("AP"), text.endswith("P")
    return "%02d%s" % (int(time[:2]) % 12 + 12 * afternoon if text[-1] in "AP" else int(time[:2]), time[2:])


def test_as_it_was():
    """names and values come back, and what is left out is said"""
    for name, words in (("vmstat-wt.txt", ["first row"]), ("iostat-de.txt", ["Device (", "first row"]),
                        ("iostat-y.txt", ["Device (", "first row", "no column of times"]), ("pidstat-us.txt", ["UID, CPU ("]),
                        ("sar-n.txt", []), ("sar-ur.txt", []), ("sar-de.txt", [])):
        store = name + ".data"
        said = expect(FOLDER.call("import", "-o", store, os.path.join(DATA, name)), 0).stderr
        for word in words:
            assert word in said, (name, said)
        assert said.count("\n") == 1 + len(words), (name, said)
        wanted = printed(name)
        rows = list(csv.DictReader(expect(FOLDER.call("export", "-i", store), 0).stdout.splitlines()))
        assert len(rows) == len(wanted) > 1, (name, rows)
        for (time, values), row in zip(wanted.items(), rows):
            [of_time] = [n for n in row if n in ("time", "UTC", "Time", "time_s")]
            if of_time != "time_s":
                assert row[of_time].endswith(" " + moment(time)), (name, time, row)
            got = {n: float(text) for n, text in row.items() if n not in (of_time, "label") and text}
            assert got == values, (name, time, got, values)


def test_installed():
    """what these tools print here, as examples/README.md calls them, is imported and comes back"""
    with open(os.path.join(tap.root(), "examples", "README.md")) as file:
        lines = re.findall(r"^    (.*(?:vmstat|sar|iostat|pidstat) -.*) 1 60 >(\S+); rpistat (import .*?) *(?:#.*)?$", file.read(), re.M)
    assert len(lines) == 4, lines
    if not all(map(shutil.which, ("vmstat", "sar", "iostat", "pidstat"))):
        raise tap.Skip("procps and sysstat are not installed")
    running = [subprocess.Popen(["sh", "-c", "%s 1 3 >%s" % (command, name)], cwd=FOLDER.path,
                                env=program.environment(LC_ALL="C")) for command, name, _ in lines]
    assert [process.wait(program.TIMEOUT) for process in running] == [0] * 4
    for _, name, command in lines:
        expect(FOLDER.call(*command.split(), "-o", name + ".data"), 0)
        rows = list(csv.DictReader(expect(FOLDER.call("export", "-i", name + ".data"), 0).stdout.splitlines()))
        assert len(rows) >= 2 and len(rows[0]) > 3, (name, rows)
        assert all(row["label"] for row in rows), rows


def test_spreadsheet():
    """a German spreadsheet with a column cpu, and sadf with each CPU, come back as they were"""
    for name, options in (("german.csv", ["--separator", ";", "--decimal", ","]),
                          ("sadf-d.csv", ["--separator", ";"])):
        expect(FOLDER.call("import", "-o", name + ".data", os.path.join(DATA, name)), 0)
        rows = list(csv.DictReader(expect(FOLDER.call("export", "-i", name + ".data", *options), 0)
                                   .stdout.splitlines(), delimiter=";"))
        with open(os.path.join(DATA, name)) as file:
            lines = list(csv.DictReader((line.lstrip("# ") for line in file), delimiter=";"))
        lines = [line for line in lines if line.get("CPU") != "-1"]
        lines.sort(key=lambda line: line.get("CPU", ""))  # CPU by CPU
        assert len(rows) == len(lines), rows
        for row, line in zip(rows, lines):
            for n, text in line.items():
                if n == "Zeit":
                    assert re.sub(r"(\d+)-(\d+)-(\d+)", r"\3.\2.\1", row[n]) == text, (row, line)
                elif n == "timestamp":
                    assert row[n] + " UTC" == text, (row, line)
                elif n != "hostname":
                    number = text.replace(".", "").replace(",", ".") if name == "german.csv" else text
                    assert float(row[n.replace("CPU", "cpu")].replace(",", ".")) == float(number), (n, row, line)


def test_starts():
    """a file that says when it began is believed"""
    runs = json.loads(expect(FOLDER.call("runs", "-i", "all.data", "--format", "json", env=
                                         program.environment(TZ="UTC0")), 0).stdout)
    runs = runs["runs"] if isinstance(runs, dict) else runs
    assert runs[3]["start"] == "2026-03-02T09:15:04.000Z", runs[3]
    assert runs[12]["start"] == "2026-10-24T09:59:59.500Z", runs[12]
    assert runs[20]["start"] == "2026-11-23T09:35:46.000Z", runs[20]


def test_cut():
    """a file that was cut off is a shorter run: its last whole interval is the last"""
    with open(os.path.join(DATA, "perf-task.csv"), "rb") as file:
        text = file.read()
    lines = [line for line in text.decode().splitlines() if line.startswith(" ")]
    times = sorted({line.split(",")[0].strip() for line in lines})
    cut = text.rindex(times[3].encode()) - 3  # in the middle of the fourth interval's lines
    FOLDER.write("cut.csv", text[:cut])
    answer = expect(FOLDER.call("import", "-o", "cut.data", "cut.csv"), 0)
    assert "left out" in answer.stderr, answer.stderr
    found = report("cut.data", 1)
    assert found["run"]["elapsed_s"] == float(times[2]), found["run"]
    faults = sum(int(line.split(",")[1]) for line in lines
                 if line.split(",")[3] == "page-faults" and line.split(",")[0].strip() in times[:3]
                 and line.split(",")[1].isdigit())
    assert [row["count"] for row in found["figures"] if row["name"] == "page_faults"] == [faults]


def test_shares():
    """what perf counted in turns has its share, and what a file lacks is no matter of counters"""
    FOLDER.write("turns.csv", "".join(
        "%d.000000000,%d,,cycles,250000000,25.00,,\n%d.000000000,%s,,instructions,%d,%d.00,,\n" %
        (t, 1000 + t, t, *(("<not counted>", 0, 0) if t % 4 == 0 else (500, 1000000000, 100)))
        for t in range(1, 41)))
    FOLDER.write("holes.csv", "time,n\n" + "".join("%d,%s\n" % (t, t if t % 4 else "") for t in range(1, 41)))
    expect(FOLDER.call("import", "-o", "turns.data", "--map", "n=count", "turns.csv", "holes.csv"), 0)
    for part in [], ["--from", "8s", "--to", "24s"]:
        found = {(row["kind"], row["name"]): (row["certainty"], round(row["share"], 3))
                 for row in report("turns.data", 1, *part)["figures"]}
        for name in ("event", "cycles"), ("metric", "cycles_rate"):
            assert found[name] == ("scaled", .25), (part, found)
        assert found["event", "instructions"][1] == .75, (part, found)
    shown = [re.sub(r"\s+", " ", expect(FOLDER.call("report", "-i", "turns.data", "-r", run), 0).stdout)
             for run in ("1", "2")]
    assert re.search(r"cycles 40,?820 40,?820 counted for 25 % of the time", shown[0]), shown[0]
    assert "cycles: counted for 25.0 % of the time, and scaled by what recorded it" in shown[0], shown[0]
    assert 'the file has none for the rest, as where perf says "<not counted>"' in shown[0], shown[0]
    assert "has values for 75.0 % of its time: the file has none for the rest." in shown[1], shown[1]
    for text in shown:
        assert "watchdog" not in text and "on a counter" not in text, text


def test_only_some_cpus():
    """what only some CPUs have, one kind of cores or a socket, is not scaled to all of them"""
    FOLDER.write("some.csv", "".join(
        "%d.000000000,CPU0,100,,cpu_core/cycles/,1000000000,100.00,1.5,GHz\n"
        "%d.000000000,CPU1,200,,cpu_atom/cycles/,1000000000,100.00,0.5,GHz\n" % (t, t)
        for t in (1, 2)))
    expect(FOLDER.call("import", "-o", "some.data", "some.csv"), 0)
    values = {row["label"]: row["value"] for row in report("some.data", 1)["figures"]
              if row["kind"] == "event" or row["unit"] is None}
    assert values["cpu_core/cycles/"] == 200 and values["cpu_atom/cycles/"] == 400, values
    assert values["GHz (cpu_core)"] == 1.5 and values["GHz (cpu_atom)"] == 0.5, values
    text = expect(FOLDER.call("report", "-i", "some.data"), 0).stdout
    assert text.count("Elapsed time") == 1 and "Time, all CPUs" in text, text


def test_not_counted():
    """what perf could not count is said by import and by report"""
    FOLDER.write("none.csv", "".join(
        "%d.000000000,<not supported>,,cycles,0,100.00,,\n%d.000000000,<not counted>,,branches,0,0.00,,\n"
        "%d.000000000,<not supported>,,instructions,0,100.00,,\n"
        "%d.000000000,7,,page-faults,1000000000,100.00,,\n" % (t, t, t, t) for t in (1, 2, 3)))
    answer = expect(FOLDER.call("import", "-o", "none.data", "none.csv"), 0)
    text = expect(FOLDER.call("report", "-i", "none.data"), 0).stdout
    for name, why in ("cycles, instructions", "the file says that it is not supported"), \
                     ("branches", "in the file it is never on a counter"):
        assert "%s was not counted: %s\n" % (name.split(", ")[0], why) in answer.stderr, answer.stderr
        assert "Not counted: %s: %s." % (name, why) in " ".join(text.split()), text
    assert "odd" not in expect(FOLDER.call("check", "-i", "none.data"), 0).stdout
    os.remove(FOLDER / "none.data")


def test_panels():
    """a panel of pmrep's has the instance in its title, unless it holds several"""
    FOLDER.write("pmrep-own.csv", 'Time,"load-1 minute","read-sda","read-sdb"\n1,2,3,4\n2,3,4,5\n3,4,5,6\n')
    expect(FOLDER.call("import", "-o", "panels.data", importable(FOLDER / "pmrep-own.csv")), 0)
    expect(FOLDER.call("plot", "-i", "panels.data", "--panel", "load-1 minute", "-o", "a.svg"), 0)
    refused(FOLDER.call("plot", "-i", "panels.data", "--panel", "x", "-o", "a.svg"), 2,
            "there are 'load-1 minute', 'read'")


def test_many_lines():
    """of a panel with more lines than there are colours those that reach highest are drawn, and it says so"""
    FOLDER.write("many.csv", "t;sensor;v\n" + "".join("%d;s%d;%d\n" % (t, n, 100 * n + t)
                                                     for t in range(1, 30) for n in range(1, 13)))
    expect(FOLDER.call("import", "-o", "many.data", "many.csv"), 0)
    expect(FOLDER.call("plot", "-i", "many.data", "-o", "many.svg"), 0)
    drawn = FOLDER.read("many.svg").decode()
    assert "v: those that reach highest" in drawn
    FOLDER.write("many.csv", FOLDER.read("many.csv").decode().replace(";s", ";a long name of a sensor "))
    expect(FOLDER.call("import", "-o", "many.data", "many.csv"), 0)
    expect(FOLDER.call("plot", "-i", "many.data", "-o", "long.svg", "--keep", "kept"), 0)
    script = "".join(FOLDER.read(os.path.join("kept", name)).decode() for name in os.listdir(FOLDER / "kept") if name.endswith("gp"))
    (*_, top), [key], [heading] = [[float(y) for y in re.findall(form, script)] for form in (
        r"eval place\([\d.]+, [\d.]+, ([\d.]+),", r"set key at screen across\([\d.]+\), up\(([\d.]+)\)",
        r"set label 1 caption\(\d+\) at screen across\([\d.]+\), up\(([\d.]+)\) left")]
    assert heading + 17 < key < top - 17, (heading, key, top)  # names in two rows, between heading and panel
    assert sorted(n for n in range(1, 13) if ">s%d<" % n in drawn) == list(range(5, 13)), drawn[:2000]


def test_recipes_refuse():
    """a recipe says what it cannot use, and what comes out of it then is no table"""
    for name, text, words in (
            ("perf-thread.json", '{"interval": 1.5, "thread": "a-1", "event": "cs"}\n', "by thread"),
            ("toplev-old.csv", "1.0,Frontend,2,%\n", "no header"),
            ("toplev-columns.csv", "Timestamp,C0,C1\n1,2,3\n", "leave --columns out")):
        FOLDER.write(name, text)
        try:
            importable(FOLDER / name)
        except subprocess.CalledProcessError as error:
            assert words in error.stderr.decode(), error.stderr
        else:
            raise AssertionError(name)


def test_clock():
    """the task clock is the run's CPU time, said once as a count and once as CPU use; of a CPU it is elapsed time"""
    lines = ["%15.9f,%%s%s,msec,task-clock,%d,100.00,,\n%15.9f,%%s<not supported>,,cycles,0,100.00,,\n" %
             (n / 10, 10 * n, 10 ** 7 * n, n / 10) for n in range(1, 9)]
    FOLDER.write("clock.csv", "".join(line.replace("%s", "") for line in lines))
    FOLDER.write("clock-cpu.csv", "".join(line.replace("%s", "CPU%d," % cpu) for line in lines for cpu in (0, 1)))
    FOLDER.write("other.csv", "     0.100000000,5,,cs,100,100.00,,\n     0.200000000,5,,cs,100,100.00,,\n")
    expect(FOLDER.call("import", "-o", "clock.data", "clock.csv", "clock-cpu.csv", "other.csv"), 0)
    text = expect(FOLDER.call("report", "-i", "clock.data", "-r", "1"), 0).stdout
    assert "recorded for 0.800 s, 0.360 s of CPU time (45 % of one CPU)" in text, text
    assert re.search(r"\n  Events\n    task-clock \(ns\) +360000000 +450000000.0\n    cycles +not counted\n"
                     r"    CPU use +45.000 %\n\n", text), text
    assert re.search(r" Share +CPU use \(%\)\n", expect(FOLDER.call("phases", "-i", "clock.data", "-r", "1"), 0).stdout)
    text = expect(FOLDER.call("report", "-i", "clock.data", "-r", "2"), 0).stdout
    assert "CPU use" not in text and "busy" not in text and "on a CPU" not in text, text
    text = expect(FOLDER.call("report", "-i", "clock.data", "-r", "3", "--explain"), 0).stdout
    assert "\n    cs per second: Count per second of elapsed time.\n" in text, text
    text = expect(FOLDER.call("compare", "-i", "clock.data", "1", "3"), 0).stdout
    assert "made in the same way: CPU time, CPU use, cs." in text, text


def test_refused():
    """a file without intervals is refused, with what to do, and leaves nothing"""
    FOLDER.write("total.csv", "# started on Mon Mar  2 09:15:04 2026\n\n12,,cs,1000,100.00,,\n")
    FOLDER.write("bare.csv", "0.65,msec,task-clock:u,648266,100.00,0.534,CPUs utilized\n")
    FOLDER.write("human.txt", "#           time             counts unit events\n"
                 "     1.000838672            11,243      context-switches      #    2.808 K/sec\n")
    FOLDER.write("none.csv", "     0.100000000,<not supported>,,cycles,0,100.00,,\n")
    refused(FOLDER.call("import", "-o", "none.data", "none.csv"), 1, "none.csv has no values", "not supported")
    for name, line in (("total.csv", 3), ("bare.csv", 1), ("human.txt", 2)):
        refused(FOLDER.call("import", "-o", "none.data", name), 1, "%s, line %d" % (name, line),
                "-I 100", "-x,")
    assert not os.path.exists(FOLDER / "none.data")


def test_real():
    """perf stat's own recording of this moment; phases, plot and compare take it"""
    if not shutil.which("perf"):
        raise tap.Skip("there is no perf (Debian: linux-perf)")
    command = ["perf", "stat", "-I", "10", "-e", "task-clock,page-faults,cs"]
    work = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; ls / >ls.txt"]
    for options in (["-x,", "-o", "real.csv"], ["-j", "-o", "perf-real.json"]):
        answer = subprocess.run([*command, *options, *work], cwd=FOLDER.path, text=True, check=False,
                                capture_output=True, env=program.environment(LC_ALL="C"))
        if answer.returncode != 0:
            raise tap.Skip("perf stat cannot count here: " + answer.stderr.strip()[:200])
    expect(FOLDER.call("import", "-o", "real.data", "real.csv", importable(FOLDER / "perf-real.json")), 0)
    compare_sums(report("real.data", 1), perf_csv(FOLDER / "real.csv"), None)
    compare_sums(report("real.data", 2), perf_json(FOLDER / "perf-real.json"), None)
    assert "page-faults" in expect(FOLDER.call("phases", "-i", "real.data", "-r", "1", "--format",
                                               "json"), 0).stdout.replace("_", "-")
    expect(FOLDER.call("plot", "-i", "real.data", "-r", "1", "-o", "real.svg"), 0)
    assert b"page-faults" in FOLDER.read("real.svg")
    assert "page-faults" in expect(FOLDER.call("compare", "-i", "real.data", "1", "2"), 0).stdout
    assert "odd" not in expect(FOLDER.call("check", "-i", "real.data"), 0).stdout


with FOLDER:
    tap.main([test_fixtures, test_as_it_was, test_installed, test_spreadsheet, test_starts, test_cut, test_shares,
              test_only_some_cpus, test_not_counted, test_clock, test_panels, test_many_lines, test_recipes_refuse, test_refused, test_real])
