"""import: the output of perf stat, sar, pidstat and vmstat, and through recipes the output of other
tools.

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

from words import THREADS

DATA = os.path.join(os.path.abspath(sys.argv[2]), "import")
FOLDER = Folder()
FACTORS = {"msec": 1e6, "Joules": 1e6, "MiB": 1 << 20}
SUFFIXES = {"Joules": " in uJ", "MiB": " in bytes"}


class Sums:
    """The sums of a file: counts by name, and gauges by CPU and name as means over time."""

    def __init__(self):
        self.counts, self.gauges, self.seen, self.ends = {}, {}, {}, []

    def end(self, time):
        """A value of the interval with this end."""
        if not self.ends or self.ends[-1] != time:
            self.ends.append(time)
            self.seen = {}

    def name(self, cpu, name):
        """The name; if it is taken, the second name."""
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
    """The rows without comments, totals and messages of the tool."""
    with open(os.path.join(DATA, name), newline="") as file:
        for row in csv.reader((line for line in file if line.strip() and line[0] != "#"),
                              delimiter=separator):
            if not row[0].strip().startswith(("summary", "SUMMARY", "Run ", "Add ")):
                yield [cell.strip() for cell in row]


def perf_csv(name, separator=",", track=False, several=False, cgroup=False):
    """The rows of perf stat's CSV. The caller knows which cells are before the value and after the event."""
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
            else:  # the name of a group
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
            else:  # the row of a socket
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
    """One row per second; words are aligned with the right ends of the header's words."""
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


# The form in README.md of how other files are made into tables.
RECIPES = {
    "perf-.*json": "sh examples/import/perf-json <run.json",
    "toplev.*": "awk -f examples/import/toplev.awk run.csv",
    "pmrep.*": "awk -f examples/import/pmrep.awk run.csv",
}


def importable(name):
    """The file, or the recipe's result for it, under the same name."""
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
    # based on lines that people posted, from later versions; the times are ours
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
    """Compare with the report of one CPU, or of all."""
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
    """the run of each file agrees with the sums of the file's lines, by interval and in total"""
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
    assert "warning" not in sound.stdout + sound.stderr, sound.stdout


HEADERS = ("swpd", "%idle", "%usr", "Device", "IFACE", "kbmemfree")


def printed(name):
    """The output of vmstat, sar, pidstat and iostat: for each time, as printed, the values by name."""
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
                if words[0] == "avg-cpu:" and "iostat-y" in name:  # a table without times
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
    """The time of a day as export prints it."""
    time, afternoon = text.split("T")[-1].rstrip("AP"), text.endswith("P")
    return "%02d%s" % (int(time[:2]) % 12 + 12 * afternoon if text[-1] in "AP" else int(time[:2]), time[2:])


def test_as_it_was():
    """names and values are unchanged after import and export, and omissions are reported"""
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
    """the output of the tools on this machine, called as in examples/README.md, is imported and unchanged"""
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
    """a German spreadsheet with a column cpu, and sadf with each CPU, are unchanged after import and export"""
    for name, options in (("german.csv", ["--separator", ";", "--decimal", ","]),
                          ("sadf-d.csv", ["--separator", ";"])):
        expect(FOLDER.call("import", "-o", name + ".data", os.path.join(DATA, name)), 0)
        rows = list(csv.DictReader(expect(FOLDER.call("export", "-i", name + ".data", *options), 0)
                                   .stdout.splitlines(), delimiter=";"))
        with open(os.path.join(DATA, name)) as file:
            lines = list(csv.DictReader((line.lstrip("# ") for line in file), delimiter=";"))
        lines = [line for line in lines if line.get("CPU") != "-1"]
        lines.sort(key=lambda line: line.get("CPU", ""))  # one CPU after another
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
    """the start time in a file is used"""
    runs = json.loads(expect(FOLDER.call("runs", "-i", "all.data", "--format", "json", env=
                                         program.environment(TZ="UTC0")), 0).stdout)
    runs = runs["runs"] if isinstance(runs, dict) else runs
    assert runs[3]["start"] == "2026-03-02T09:15:04.000Z", runs[3]
    assert runs[12]["start"] == "2026-10-24T09:59:59.500Z", runs[12]
    assert runs[20]["start"] == "2026-11-23T09:35:46.000Z", runs[20]


def test_cut():
    """a file with its end cut off is a shorter run, which ends with the last complete interval"""
    with open(os.path.join(DATA, "perf-task.csv"), "rb") as file:
        text = file.read()
    lines = [line for line in text.decode().splitlines() if line.startswith(" ")]
    times = sorted({line.split(",")[0].strip() for line in lines})
    cut = text.rindex(times[3].encode()) - 3  # inside the lines of the fourth interval
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
    """events that perf multiplexed have their share of time; what a file lacks is not blamed on counters"""
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
    assert "cycles: counted for 25.0 % of the time, and scaled by the recording tool" in shown[0], shown[0]
    assert 'no values are known for the rest, such as perf\'s "<not counted>"' in shown[0], shown[0]
    assert "has values for 75.0 % of its time: no values are known for the rest." in shown[1], shown[1]
    for text in shown:
        assert "watchdog" not in text and "on a counter" not in text, text


def test_only_some_cpus():
    """values that only some CPUs have, such as one kind of cores or a socket, are not scaled to all CPUs"""
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


def cells(name, *options):
    """A column of an export, in which the values of all CPUs are added up."""
    text = expect(FOLDER.call("export", "-i", "lacks.data", "--cpu", "sum", *options), 0).stdout
    return [row[name] for row in csv.DictReader(text.splitlines())]


def test_missing_on_a_cpu():
    """if one of two CPUs lacks a count, the sum is unknown then, and is estimated from the other times; a mean has the other CPU"""
    lacks = (1, 4, 7)
    FOLDER.write("lacks.csv", "time,cpu,hits,load\n" + "".join(
        "%d,0,100,1\n%d,1,%s\n" % (t, t, "," if t in lacks else "200,3") for t in range(1, 11)))
    FOLDER.write("lacks-perf.csv", "".join(
        "%d.000000000,CPU0,100,,hits,1000,100.00,,\n%d.000000000,CPU1,%s,,\n"
        % (t, t, "<not counted>,,hits,0,0.00" if t in lacks else "200,,hits,1000,100.00") for t in range(1, 11)))
    for arguments in ("--map", "hits=count,load=gauge", "lacks.csv"), ("lacks-perf.csv",):
        answer = expect(FOLDER.call("import", "-o", "lacks.data", *arguments), 0)
        assert "only some CPUs have a value of hits" in answer.stderr, answer.stderr
        sums = ["" if t in lacks else "300" for t in range(1, 11)]
        for name, *options in ("hits", "--format", "table"), ("hits", "--format", "wide"), \
                              ("hits_rate_per_s", "--rates"):
            assert cells(name, *options) == sums, (arguments, options, cells(name, *options))
        for end in "low", "high":
            assert cells("hits_rate_per_s_" + end, "--rates") == 10 * [""], end
        for name in "hits_rate_per_s", "hits_rate_per_s_min", "hits_rate_per_s_max":
            assert cells(name, "--every", "2s") == 5 * ["300"], name
        hits, = (row for row in report("lacks.data", 1)["figures"] if row["label"] == "hits" and row["kind"] == "event")
        assert hits["value"] == 3000 and hits["count"] == 2100, hits
        found = json.loads(expect(FOLDER.call("phases", "-i", "lacks.data", "--format", "json"), 0).stdout)
        assert [row["mean"]["hits_rate"] for row in found["labels"]] == [300], found["labels"]
        found = json.loads(expect(FOLDER.call("phases", *arguments[:-1], "--csv", arguments[-1], "--metric", "hits",
                                              "--format", "json"), 0).stdout)
        assert [row["mean"]["hits"] for row in found["labels"]] == [150], found["labels"]
        if arguments[0] == "--map":
            assert cells("load", "--rates") == ["1" if t in lacks else "2" for t in range(1, 11)]
            assert cells("load_low", "--rates") == 10 * [""]
        os.remove(FOLDER / "lacks.data")


def test_not_counted():
    """import and report name the events that perf could not count"""
    FOLDER.write("none.csv", "".join(
        "%d.000000000,<not supported>,,cycles,0,100.00,,\n%d.000000000,<not counted>,,branches,0,0.00,,\n"
        "%d.000000000,<not supported>,,instructions,0,100.00,,\n"
        "%d.000000000,7,,page-faults,1000000000,100.00,,\n" % (t, t, t, t) for t in (1, 2, 3)))
    answer = expect(FOLDER.call("import", "-o", "none.data", "none.csv"), 0)
    text = expect(FOLDER.call("report", "-i", "none.data"), 0).stdout
    for name, why in ("cycles, instructions", "the file says that it is not supported"), \
                     ("branches", "in the file it is never on a counter"):
        assert "%s was not counted: %s\n" % (name.split(", ")[0], why) in answer.stderr, answer.stderr
        assert "Not counted: %s. Reason: %s." % (name, why) in " ".join(text.split()), text
    assert "warning" not in expect(FOLDER.call("check", "-i", "none.data"), 0).stdout
    os.remove(FOLDER / "none.data")
    for cpu in "", "CPU0,":  # an interval without a count is a period; a file without counts is refused
        FOLDER.write("none.csv", "".join("%d.000000000,%s%s,,cs,0,0.00,,\n" % (t, cpu, "<not counted>") for t in range(1, 9)))
        for command in ("import", "-o", "none.data"), ("phases", "--csv"):
            refused(FOLDER.call(*command, "none.csv"), 1, "has no values to import")
        FOLDER.write("none.csv", FOLDER.read("none.csv").decode() + "9.000000000,%s7,,cs,1000,100.00,,\n" % cpu)
        expect(FOLDER.call("import", "-o", "none.data", "none.csv"), 0)
        found = report("none.data", "last")
        assert found["run"]["elapsed_s"] == 9, found["run"]
        assert [(row["count"], row["value"]) for row in found["figures"] if row["label"] == "cs" and row["kind"] == "event"] == [(7, 63)], found["figures"]
    os.remove(FOLDER / "none.data")


def test_panels():
    """the title of a pmrep panel has the instance, if there is only one"""
    FOLDER.write("pmrep-own.csv", 'Time,"load-1 minute","read-sda","read-sdb"\n1,2,3,4\n2,3,4,5\n3,4,5,6\n')
    expect(FOLDER.call("import", "-o", "panels.data", importable(FOLDER / "pmrep-own.csv")), 0)
    expect(FOLDER.call("plot", "-i", "panels.data", "--panel", "load-1 minute", "-o", "a.svg"), 0)
    refused(FOLDER.call("plot", "-i", "panels.data", "--panel", "x", "-o", "a.svg"), 2,
            "choose from 'load-1 minute', 'read'")


def test_many_lines():
    """if a panel has more lines than colours, those with the largest values are drawn, and the panel says so"""
    FOLDER.write("many.csv", "t;sensor;v\n" + "".join("%d;s%d;%d\n" % (t, n, 100 * n + t)
                                                     for t in range(1, 30) for n in range(1, 13)))
    expect(FOLDER.call("import", "-o", "many.data", "many.csv"), 0)
    expect(FOLDER.call("plot", "-i", "many.data", "-o", "many.svg"), 0)
    drawn = FOLDER.read("many.svg").decode()
    assert "v: the highest lines" in drawn
    FOLDER.write("many.csv", FOLDER.read("many.csv").decode().replace(";s", ";a long name of a sensor "))
    expect(FOLDER.call("import", "-o", "many.data", "many.csv"), 0)
    expect(FOLDER.call("plot", "-i", "many.data", "-o", "long.svg", "--keep-script", "kept"), 0)
    script = "".join(FOLDER.read(os.path.join("kept", name)).decode() for name in os.listdir(FOLDER / "kept") if name.endswith("gp"))
    (*_, top), [key], [heading] = [[float(y) for y in re.findall(form, script)] for form in (
        r"eval place\([\d.]+, [\d.]+, ([\d.]+),", r"set key at screen across\([\d.]+\), up\(([\d.]+)\)",
        r"set label 1 caption\(\d+\) at screen across\([\d.]+\), up\(([\d.]+)\) left")]
    assert heading + 17 < key < top - 17, (heading, key, top)  # the legend has two rows between heading and panel
    assert sorted(n for n in range(1, 13) if ">s%d<" % n in drawn) == list(range(5, 13)), drawn[:2000]


# Rows, and some columns with their first and last values. Only the files of dstat, nmon, atop, top,
# hyperfine and Google Benchmark are real output: dstat's comes from a copy that runs with Python
# 3.11, those of nmon and top have fewer lines. The others are made from the source (likwid,
# Grafana), the documentation (docker) or lines that people posted.
TABLES = {
    "dstat.csv": (5, {"time": ("2026-11-28 09:55:23", "2026-11-28 09:55:27"), "total cpu usage usr": (74.015, 89.848),
                      "dsk/total writ": (13304333.429, 7114752), "memory usage cach": (6368059392, 6370148352)}),
    "dool.csv": (6, {"time": ("2026-03-04 10:00:00", "2026-03-04 10:00:05"), "total usage usr": (2.403, 2.799),
                     "dsk/total read": (4135, 14992), "memory usage free": (84123, 84123)}),
    "run.nmon": (5, {"time": ("2026-11-28 09:49:57", "2026-11-28 09:50:01"), "CPU_ALL User%": (89.6, 87.9),
                     "MEM memfree": (16944.4, 16908.9), "DISKWRITE vda": (8268.5, 36830.6)}),
    "atop.txt": (5, {"time": ("2026-11-28 09:50:04", "2026-11-28 09:50:08"), "CPU user": (100 * 122 / 206, 57.5),
                     "context switches": (3532, 4440), "memory free": (4314493 * 4096, 4336791 * 4096),
                     "vda written": (61448 * 512, 2184 * 512), "vda busy": (6.4, .8)}),
    "turbostat.txt": (4, {"time": ("2026-03-04 10:00:00", "2026-03-04 10:00:15"), "Busy%": (5, 5), "PkgWatt": (11.67, 11.67),
                          "cpu3 Bzy_MHz": (2003, 2003)}),
    "activity.txt": (3, {"time": ("1.002", "3.009"), "CPU": (58.4, 97.1), "Real": (500.18, 691.695)}),
    "top.txt": (3, {"load 1 min": (10.12, 10.12), "CPU us": (71.2, 74.8), "memory used": (861, 925.4),
                    "test_stor+": (42, 41.6), "rpistat": (2, 4)}),
    "likwid.txt": (8, {"time": ("0.5005", "2.0024"), "cpu": ("0", "2"), "Clock": (2095.5, None), "Memory bandwidth": (None, 0)}),
    "grafana.csv": (4, {'{instance="a:9100", job="node"}': (1.5, 4.5), '{instance="b:9100", job="node"}': (10, 40)}),
    "docker.txt": (3, {"time": ("2026-03-04 10:00:00", "2026-03-04 10:00:04"), "web CPU": (.07, 99),
                       "web memory": (2.746 * (1 << 20), 4 << 20), "web received": (None, 500), "web read": (None, 0),
                       "db,1 memory": (None, 1.5 * (1 << 30)), "db,1 PIDs": (None, 11)}),
}


def recipe_of(name):
    """The command that README.md has for a file."""
    printed = {"dool.csv": "dstat.csv"}.get(name, name)
    with open(os.path.join(tap.root(), "examples", "README.md")) as file:
        command, = re.findall(r"^    ((?:awk|sh) [^#]*?[ <]%s[ \n].*?) +# " % re.escape(printed), file.read(), re.M)
    return command.replace(printed, name)


def run_recipe(folder, name):
    """Run the recipe in a folder of its own."""
    os.symlink(os.path.join(tap.root(), "examples"), folder / "examples")
    os.mkdir(folder / "bin")
    os.symlink(program.RPISTAT, folder / "bin/rpistat")
    shutil.copy(os.path.join(DATA, name), folder / name)
    made = subprocess.run(["sh", "-c", recipe_of(name)], cwd=folder.path, text=True, capture_output=True, check=False,
                          env=program.environment(PATH="%s:%s" % (folder / "bin", os.environ["PATH"]), TZ="UTC0"),
                          timeout=program.TIMEOUT)
    assert made.returncode == 0, (name, made.stderr)


def test_recipe_tables():
    """the command in README.md makes the table of each tool, with its times and values"""
    for name, (count, columns) in TABLES.items():
        with Folder() as folder:
            run_recipe(folder, name)
            exported = expect(folder.call("export", env=program.environment(TZ="UTC0")), 0).stdout
        rows = list(csv.DictReader(exported.splitlines()))
        assert len(rows) == count, (name, rows)
        for column, ends in columns.items():
            for row, wanted in (rows[0], ends[0]), (rows[-1], ends[1]):
                text = row[column]
                assert text == (wanted or "") if not isinstance(wanted, (int, float)) else \
                    abs(float(text) - wanted) <= 1e-5 * abs(wanted), (name, column, text, wanted)


def test_recipe_runs():
    """each measurement of hyperfine and each repetition of Google Benchmark is a run for compare"""
    with open(os.path.join(DATA, "hyperfine.json")) as file:
        results = json.load(file)["results"]
    with Folder() as folder:
        run_recipe(folder, "hyperfine.json")
        runs = json.loads(expect(folder.call("runs", "-i", "bench.data", "--format", "json"), 0).stdout)["runs"]
        assert [(run["label"], round(run["elapsed_s"], 6)) for run in runs] == [
            (result["command"], round(second, 6)) for result in results for second in result["times"]], runs
        found = json.loads(expect(folder.call("compare", "-i", "bench.data", *(result["command"] for result in results),
                                              "--statistic", "median", "--format", "json"), 0).stdout)
        row = next(row for row in found["changes"] if row["name"] == "elapsed")
        for side, result in zip("ab", results):
            assert abs(row[side] - result["median"]) < 1e-6, (row, result)
    with open(os.path.join(DATA, "benchmark.json")) as file:
        benchmarks = [row for row in json.load(file)["benchmarks"] if row["run_type"] == "iteration"]
    with Folder() as folder:
        run_recipe(folder, "benchmark.json")
        for repetition in range(5):
            found = json.loads(expect(folder.call("report", "-i", "bench.data", "-r", str(repetition + 1), "--format", "json"),
                                      0).stdout)
            values = {row["label"]: row["value"] for row in found["figures"] if row["kind"] == "metric"}
            assert found["run"]["label"] == "old", found["run"]
            for row in benchmarks:
                if row["repetition_index"] == repetition:
                    factor = {"ns": 1, "us": 1000}[row["time_unit"]]
                    for key, suffix in ("real_time", ""), ("cpu_time", " CPU"):
                        wanted = row[key] * factor
                        assert abs(values[row["name"] + suffix] - wanted) < 1e-5 * wanted, (row, values)


def test_recipes_refuse():
    """for a raw file the message has the recipe's command; a recipe names what it cannot use, and then its output is no table"""
    for name, recipe in ("dstat.csv", "dstat"), ("run.nmon", "nmon"), ("atop.txt", "atop"), ("turbostat.txt", "turbostat"), ("top.txt", "top"):
        refused(FOLDER.call("import", "-o", "no.data", os.path.join(DATA, name)), 1, "awk -f examples/import/%s.awk FILE | rpistat import -" % recipe)
    refused(FOLDER.call("phases", "--csv", os.path.join(DATA, "dstat.csv")), 1, "examples/import/dstat.awk")
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
    for recipe, text, words in (
            ("dstat", "1,2\n", "no column has the time"),
            ("dstat", '"system","cpu usage"\n"time","usr"\n28-11 09:00:00,1\n', "the year is unknown"),
            ("nmon", "AAA,host,a\n", "no snapshot"), ("atop", "RESET\nCPU a 1 x y 1 100 1 1 1 1 1 1 1 1 1\nSEP\n", "no sample"),
            ("turbostat", "Core\tCPU\tAvg_MHz\n-\t-\t5\n", "--enable Time_Of_Day_Seconds"), ("psrecord", "1 2 3\n", "no header"),
            ("top", "top - 09:00:00 up 1, load average: 1, 1, 1\n", "fewer than two samples"),
            ("likwid", "1 1 1 0.5 7\n", "do not come before"), ("likwid", "# HWThreads: 0\n", "no timeline"),
            ("likwid", "# HWThreads: 0\n# GID|EventCount|CpuCount|Total runtime [s]|A\n1 1 2 0.5 7 7\n", "2 hardware threads")):
        FOLDER.write("bad.txt", text)
        made = subprocess.run(["awk", "-f", os.path.join(tap.root(), "examples/import", recipe + ".awk"), FOLDER / "bad.txt"],
                              text=True, capture_output=True, check=False, timeout=program.TIMEOUT)
        assert made.returncode == 1 and words in made.stderr, (recipe, made)
    for recipe, words in (["hyperfine", "x.data"], "no results"), (["google-benchmark", "x", "x.data"], "no benchmarks"):
        made = subprocess.run(["sh", os.path.join(tap.root(), "examples/import", recipe[0]), *recipe[1:]], input="{}", text=True,
                              cwd=FOLDER.path, capture_output=True, check=False, timeout=program.TIMEOUT)
        assert made.returncode == 1 and words in made.stderr and not os.path.exists(FOLDER / "x.data"), made


def test_clock():
    """the task clock is the run's CPU time: once as a count, once as CPU use; for one CPU it is the elapsed time"""
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
    assert "CPU use" not in text and "busy" not in text and "on a CPU" not in text and THREADS not in text, text
    text = expect(FOLDER.call("report", "-i", "clock.data", "-r", "3", "--explain"), 0).stdout
    assert "\n    cs per second: Count per second of elapsed time.\n" in text, text
    text = expect(FOLDER.call("compare", "-i", "clock.data", "1", "3"), 0).stdout
    assert "in the same form: CPU time, CPU use, cs." in text, text


def test_refused():
    """a file without intervals is refused with what to do, and leaves nothing"""
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
    """a recording that perf stat makes now; phases, plot and compare accept it"""
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
    assert "warning" not in expect(FOLDER.call("check", "-i", "real.data"), 0).stdout


# Made from reports of other tools' users: options, start, length in s, number of rows, expected
# values, and import's notes.
FIELD = [
    ("after-midnight.csv", ["--map", "requests=count"], "23:59:01", 1800, 30, {"requests": 18000}, "no date"),
    ("date-daily-bench.csv", [], "2026-03-03T00:00:00", 30 * 86400, 30, {"ms": 105.2}, "left out: commit"),
    ("hole.csv", [], "2026-03-04T09:59:59", 36060, 120, {"cpu": 50}, "1 gap of 9 h 59 min"),
    ("na-variants.csv", [], "", 30, 30, dict.fromkeys("abcdefg", 14.25), ""),
    ("netdata-reverse.csv", [], "2026-03-04T09:59:00", 60, 60, {"in": 45.475805667}, "newest rows first"),
    ("num-swiss.csv", [], "", 30, 30, {"v": 15734.5, "w": 1.93333333333}, ""),
    ("nvidia.csv", [], "2026-03-04T09:59:59.5", 20, 40, {"utilization.gpu [%]": 48.5, "memory.used [MiB]": 2800}, ""),
    ("perf-appended.csv", [], "2026-03-04T11:00:00", 1.0001234, 10, {"cycles": 10000045}, "are runs 8 to 9"),
    ("sadf-restart.csv", [], "2026-03-04T10:00:00", 21300, 22, {"%user": (12 * 80 + 10 * 2) / 22}, "1 gap of 4 h 05 min"),
    ("suffix-km.csv", [], "", 30, 30, {"ops": 1090000}, ""),
    ("time-date-us-clock.csv", [], "2026-03-24T09:59:59", 30, 30, {"cpu": 14.5}, ""),
    ("time-one-bad2.csv", ["--skip-bad"], "2026-03-04T09:59:50", 300, 29, {}, "1 row without a time"),
    ("time-two-named.csv", [], "2026-03-04T09:59:50", 300, 30, {"value": 14.5}, "left out: time_start"),
    ("ts-compact.csv", [], "2026-03-04T09:59:50", 300, 30, {"a": 24.5}, ""),
    ("ts-ctime.csv", [], "2026-03-04T09:59:50", 300, 30, {"a": 24.5}, ""),
    ("ts-us.csv", [], "2026-03-24T11:57:50", 300, 30, {"a": 24.5}, ""),
]


def test_field():
    """users' tables are read correctly, equally by import and phases --csv"""
    for name, options, start, length, rows, values, note in FIELD:
        path = os.path.join(DATA, "field", name)
        answer = expect(FOLDER.call("import", "-o", "field.data", *options, path, env=program.environment(TZ="UTC")), 0)
        assert note in answer.stderr, (name, answer.stderr)
        run = json.loads(expect(FOLDER.call("runs", "-i", "field.data", "--format", "json", env=program.environment(TZ="UTC")), 0).stdout)["runs"][-1]
        assert start in run["start"], (name, run)
        found = report("field.data", "last")
        assert abs(found["run"]["elapsed_s"] - length) < 1e-6, (name, found["run"])
        got = {row["label"]: row["value"] for row in found["figures"] if row["kind"] == "metric"}
        got.update((row["label"], row["count"]) for row in found["figures"] if row["kind"] == "event")
        for column, wanted in values.items():
            assert abs(got[column] - wanted) <= 1e-6 * wanted, (name, column, got)
        answer = expect(FOLDER.call("phases", "--csv", path, "--format", "json", *options), 0)
        assert note in answer.stderr or note in ("no date", "are runs 8 to 9"), (name, answer.stderr)
        seen = json.loads(answer.stdout)
        assert set(seen["parameters"]["signals"]) <= set(got), (name, seen["parameters"])
        assert seen["phases"][-1]["last"] + 1 == rows * (1 + (name == "perf-appended.csv")), (name, seen["phases"])
    refused(FOLDER.call("import", "-o", "no.data", os.path.join(DATA, "field", "time-one-bad2.csv")), 1,
            "line 14: 'ERROR' in the column 'timestamp' is not a time")
    for zone, start in (("Europe/Paris", "2026-03-04T08:59:50.000Z"), ("+05:30", "2026-03-04T04:29:50.000Z"), ("UTC", "2026-03-04T09:59:50.000Z")):
        expect(FOLDER.call("import", "-o", "field.data", "--zone", zone, os.path.join(DATA, "field", "ts-ctime.csv")), 0)
        run = json.loads(expect(FOLDER.call("runs", "-i", "field.data", "--format", "json", env=program.environment(TZ="UTC")), 0).stdout)["runs"][-1]
        assert run["start"] == start, (zone, run)
    # the header names the zone; --zone has precedence
    for header, options, start in (("Time (UTC+2)", (), "2026-03-04T07:59:50.000Z"), ("Time [Europe/Paris]", (), "2026-03-04T08:59:50.000Z"),
                                   ("Time (UTC+2)", ("--zone", "UTC"), "2026-03-04T09:59:50.000Z"), ("time", (), "2026-03-04T00:59:50.000Z"),
                                   ("Time (CET)", ("--zone", "+01:00"), "2026-03-04T08:59:50.000Z")):
        FOLDER.write("zone.csv", header + ",v\n2026-03-04 10:00:00,1\n2026-03-04 10:00:10,2\n")
        expect(FOLDER.call("import", "-o", "field.data", *options, "zone.csv", env=program.environment(TZ="Asia/Tokyo")), 0)
        run = json.loads(expect(FOLDER.call("runs", "-i", "field.data", "--format", "json", env=program.environment(TZ="UTC")), 0).stdout)["runs"][-1]
        assert run["start"] == start, (header, run)
    refused(FOLDER.call("import", "--zone", "Mars/Base", "x.csv"), 2, "--zone: 'Mars/Base' is not a time zone")
    refused(FOLDER.call("import", "--zone", "+25:00", "x.csv"), 2, "--zone: '+25:00' is not a time zone")
    with open(os.path.join(DATA, "field", "perf-appended.csv")) as file:
        FOLDER.write("cut.csv", file.read().replace("1000007,,cycles", "x,,cycles"))
    refused(FOLDER.call("import", "-o", "no.data", "cut.csv"), 1, "cut.csv, line 10")
    FOLDER.write("late.csv", FOLDER.read(os.path.join(DATA, "field", "perf-appended.csv")).decode() + "x\n")
    refused(FOLDER.call("import", "-o", "no.data", "late.csv"), 1, "late.csv, line ")
    assert not os.path.exists(FOLDER / "no.data")  # the runs before the error are deleted, and the store that has only them
    FOLDER.write("cut.csv", FOLDER.read("cut.csv").decode().replace("x,,cycles", "1000007,,cycles", 1))
    before = expect(FOLDER.call("runs", "-i", "field.data"), 0).stdout
    refused(FOLDER.call("import", "-o", "field.data", "cut.csv"), 1, "cut.csv, line 22")  # also without its first run
    assert expect(FOLDER.call("runs", "-i", "field.data"), 0).stdout == before


with FOLDER:
    tap.main([test_fixtures, test_as_it_was, test_installed, test_spreadsheet, test_starts, test_cut, test_shares,
              test_only_some_cpus, test_missing_on_a_cpu, test_not_counted, test_clock, test_panels, test_many_lines, test_recipe_tables, test_recipe_runs,
              test_recipes_refuse, test_refused, test_field, test_real])
