"""import: a table's numbers are imported, and a wrong table leaves nothing behind."""
import csv
import io
import json
import os
import re
import subprocess
import time

from program import RPISTAT, Folder, ask_store, environment, expect, refused, tap

from words import PHASES

FOLDER = Folder()


def rows(store, table):
    return ask_store(FOLDER / store, "SELECT * FROM " + table)


def said(*arguments):
    return expect(FOLDER.call(*arguments), 0).stdout


def imported(store, *arguments, **options):
    answer = expect(FOLDER.call("import", "-o", store, *arguments, **options), 0)
    assert not answer.stdout, answer.stdout
    return answer.stderr


def sound(store):
    answer = said("check", "-i", store)
    assert ": OK (" in answer and answer.count("\n") == 1, answer


def figures(store, *arguments):
    """The value of each event and metric in the report."""
    report = json.loads(said("report", "-i", store, "--format", "json", *arguments))
    return {(row["kind"], row["name"]): row for row in report["figures"]}


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def write(name, header, lines):
    FOLDER.write(name, "".join(",".join(str(cell) for cell in line) + "\n"
                               for line in [header, *lines]))


def test_exports():
    """a table that export wrote is refused with the command that copies a whole run"""
    for form in ("wide", "rates", "long", "long-rates"):
        said("export", "--format", form, "--separator", "tab", "-o", "other.csv")
        refused(FOLDER.call("import", "-o", "no.data", "other.csv"), 1, "other.csv", "an export",
                "`rpistat merge`")
    refused(FOLDER.call("export", "--format", "full"), 2, "full", "wide")
    assert not os.path.exists(FOLDER / "no.data")


def exports_values(store, values):
    """each export has the file's own gauge values, and nothing of their form in the store"""
    wide = said("export", "-i", store, "--format", "wide")
    assert "time,load" not in wide and ",time_2" not in wide, wide.splitlines()[0]
    rows_of = {"wide": table(wide), "jsonl": [json.loads(line) for line in
                                              said("export", "-i", store, "--format", "wide", "--format", "jsonl").splitlines()]}
    for form, found in rows_of.items():
        for name, expected in values.items():
            [place] = {row["set"] for row in found if row[name] not in ("", None)}
            got = [row[name] for row in found if row["set"] == place]
            assert [("%.15g" % one if isinstance(one, float) else "" if one is None else str(one))
                    for one in got] == expected, (form, name, got)
    long = table(said("export", "-i", store, "--long"))
    assert "time" not in {row["event"] for row in long}
    lines = [re.split(r"(?<!\\) ", line)[1] for line in
             said("export", "-i", store, "--format", "line-protocol").splitlines()]
    samples = said("export", "-i", store, "--format", "openmetrics", "--every", "10ms")
    assert 'event="time"' not in samples, samples
    for name, expected in values.items():
        there = [value for value in expected if value]
        for column in ("count", "scaled"):
            assert [row[column] for row in long if row["event"] == name] == expected, (column, name)
        assert re.findall(r"\b%s=([^,]*)" % name, "\n".join(lines)) == there, name
        assert re.findall(r'rpistat_gauge\{[^}]*event="%s"[^}]*\} (\S+)' % name, samples) == there, name
        assert 'rpistat_events_total{cpu="all",event="%s"' % name not in samples


def test_table():
    """30 columns counted together: totals and rates are the file's, and nothing is scaled"""
    count = 30
    header = ["time"] + ["c-%d" % i for i in range(count)] + ["temp", "load"]
    lines, at = [], 0
    for n in range(40):
        at = round(at + (0.25 if n % 3 == 1 else 0.104), 3)
        lines.append([at] + [(n + 1) * 10 ** (i % 12) + i for i in range(count)] +
                     [round(-40 + n / 8, 3), "" if n == 5 else n % 2])
    write("table.csv", header, lines)
    words = imported("table.data", "--label", "load", "--tag", "a=b", "--start", "2026-01-02T03:04:05Z",
                     "--map", ",".join("c-%d=count" % i for i in range(count)) + ",temp=gauge:K,load=gauge",
                     "table.csv")
    assert "table.csv (csv) is run 1 of table.data: 40 periods in each of 5 event sets" in words, words
    sound("table.data")
    found = figures("table.data")
    for i in range(count):
        row = found["event", "c_%d" % i]
        assert row["count"] == row["value"] == sum(line[1 + i] for line in lines), row
        assert (row["certainty"], row["share"]) == ("counted", 1), row
    starts = [0] + [line[0] for line in lines]
    lengths = [b - a for a, b in zip(starts, starts[1:])]
    mean = sum(line[-2] * length for line, length in zip(lines, lengths)) / at
    assert abs(found["metric", "temp"]["value"] - mean) < 1e-6, (found["metric", "temp"], mean)
    rates = table(said("export", "-i", "table.data", "--rates"))
    assert len(rates) == len(lines)
    for row, line, length in zip(rates, lines, lengths):
        assert abs(float(row["length_s"]) - length) < 1e-9, row
        assert float(row["temp"]) == line[-2], (row, line)
        assert row["load"] == str(line[-1]), (row, line)
        for i in range(count):
            rate = line[1 + i] / length
            assert abs(float(row["c_%d_rate_per_s" % i]) / rate - 1) < 1e-8, (i, row, line)
    exports_values("table.data", {"temp": [str(line[-2]).removesuffix(".0") for line in lines],
                                  "load": [str(line[-1]) for line in lines]})
    assert ("event", "temp") not in found and ("event", "time") not in found, found.keys()
    run = json.loads(said("runs", "-i", "table.data", "--format", "json"))["runs"][0]
    assert (run["label"], run["tags"], run["pmu"]) == ("load", {"a": "b"}, "import"), run
    assert run["start"] == "2026-01-02T03:04:05.000Z", run
    assert "gauge x time" not in said("report", "-i", "table.data")
    assert "temp" in said("phases", "-i", "table.data")


def test_cpus():
    """rows by CPU become separate tracks; missing rows of a CPU are a gap"""
    lines = [[t, cpu, 10 * t + cpu] for t in range(1, 30) for cpu in (0, 1)
             if not (cpu == 1 and (t < 4 or 10 <= t < 15 or t > 26))]
    write("cpus.csv", ["t", "cpu", "n"], lines)
    said_then = imported("cpus.data", "--map", "n=count", "-",
                         stdin=open(FOLDER / "cpus.csv", encoding="utf-8"))
    assert "standard input (csv) is run 1 of cpus.data: 29 periods\n" in said_then, said_then
    assert json.loads(said("runs", "-i", "cpus.data", "--format", "json"))["runs"][0]["periods"] == 29
    sound("cpus.data")
    assert sorted({row[1] for row in rows("cpus.data", "period")}) == [0, 1]
    assert figures("cpus.data")["event", "n"]["count"] == sum(line[2] for line in lines)
    rotations = {(row[4], row[6]) for row in rows("cpus.data", "period")}
    assert len(rotations) == 29, "rows of the same time have the same number"


def test_piped():
    """rows that arrive during the import have times of this day, not of the day before"""
    now = int(time.time())

    def row(second):
        return "%s;%040d\n" % (time.strftime("%H:%M:%S", time.gmtime(second)), second)

    with subprocess.Popen([RPISTAT, "import", "-o", "piped.data", "-"], cwd=FOLDER.path, stdin=subprocess.PIPE,
                          text=True, env=environment(TZ="UTC")) as process:
        process.stdin.write("time;load\n" + "".join(row(now - back) for back in range(2000, 0, -1)))
        process.stdin.flush()  # more than a pipe can hold: it is being read
        while time.time() < now + 1:
            time.sleep(.01)
        process.stdin.write(row(now + 1))
        process.stdin.close()
        assert process.wait() == 0
    run = json.loads(said("runs", "-i", "piped.data", "--format", "json"))["runs"][0]
    assert run["start"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - 2001)), run


def test_unsound():
    """times that are contiguous except for rounding have no gap"""
    write("near.csv", ["time", "cpu", "n"], [[0.5, 0, 1], [0.500000001, 1, 2], [0.500000005, 2, 3], [1, 0, 4]])
    imported("near.data", "--map", "n=count", "near.csv")
    sound("near.data")


def test_spreadsheet():
    """dates that begin with the day, and decimal commas; ambiguous values are refused with the reason"""
    lines = "Zeit;Anfragen;Temperatur (\u00b0C)\n" + "".join(
        "21.11.2026 14:00:%02d;%d,5;20,%d\n" % (n, 1200 + n, n) for n in range(10))
    FOLDER.write("sheet.csv", lines)
    imported("sheet.data", "--map", "Zeit=time,Anfragen=gauge", "sheet.csv")
    FOLDER.write("sheet.csv", lines.replace(";1", ";1."))
    imported("sheet.data", "sheet.csv")
    for run in "1", "2":
        found = said("export", "-i", "sheet.data", "--rates", "-r", run)
        assert [row["Anfragen"] for row in table(found)] == ["%d.5" % (1200 + n) for n in range(10)]
    runs = json.loads(said("runs", "-i", "sheet.data", "--format", "json"))["runs"]
    assert [run["start"][:19] for run in runs] == ["2026-11-21T13:59:59"] * 2, runs
    # In the form that Excel expects.
    FOLDER.write("sheet.csv", "sep=;\r\nZeit;Last\r\n" + "".join("%d;%d,5%%\r\n" % (n, n) for n in range(5)))
    imported("sheet.data", "sheet.csv")
    assert said("export", "-i", "sheet.data") == "time_s,Zeit,Last,label\n" + "".join("%d,%d,%d.5,A\n" % (n + 1, n, n) for n in range(5))
    assert re.search(r"\n +Last +2\.500 %\n", said("report", "-i", "sheet.data")), said("report", "-i", "sheet.data")
    expect(FOLDER.call("phases", "--csv", "sheet.csv"), 0)
    FOLDER.write("sheet.csv", lines.replace("21.11.", "05/11/"))
    for options in ((), ("--map", "Zeit=time")):
        refused(FOLDER.call("import", "-o", "no.data", *options, "sheet.csv"), 1, "the day first or")
    FOLDER.write("sheet.csv", "Zeit;A\nnie;viel\n")
    refused(FOLDER.call("import", "-o", "no.data", "--map", "Zeit=time", "sheet.csv"), 2, "no header")


def test_fine_times():
    """times are exported with the precision of the import"""
    for number, part in enumerate(("", ".%03d", ".%06d", ".%09d"), 1):
        times = ["2026-11-21 14:00:%02d" % n + (part and part % (n + 1)) for n in range(10)]
        FOLDER.write("fine.csv", "time,a\n" + "".join("%s,%d\n" % (time, n) for n, time in enumerate(times)))
        imported("fine.data", "fine.csv")
        assert [row["time"] for row in table(said("export", "-i", "fine.data", "-r", str(number)))] == times, part


def test_many():
    """several files become runs of one store, which other commands accept like any run"""
    imported("many.data", "table.csv", "table.csv", "-q")
    assert len(rows("many.data", "run")) == 2
    sound("many.data")
    expect(FOLDER.call("compare", "-i", "many.data", "1", "2"), 0)
    expect(FOLDER.call("plot", "-i", "many.data", "-r", "1", "-o", "table.html"), 0)


def test_compared():
    """compare has each gauge once; a count and a gauge are different; no CPU time is invented"""
    write("a.csv", ["time", "n", "temp"], [[i, 100 + i % 3, 30 + i % 2] for i in range(1, 21)])
    imported("ab.data", "a.csv")
    imported("ab.data", "--map", "n=count,temp=gauge", "a.csv")
    imported("ab.data", "--map", "n=count,temp=gauge", "a.csv")
    for run, expected in [("1", "time elapsed, metric temp"),
                          ("3", "time elapsed, metric n_rate, metric temp, event n")]:
        found = json.loads(said("compare", "-i", "ab.data", "--format", "json", run, "2"))
        names = sorted((row["kind"], row["name"]) for row in found["figures"])
        assert names == sorted(tuple(one.split()) for one in expected.split(", ")), names
    # a gauge is the same in runs whose values are stored in other units
    write("b.csv", ["time", "n", "temp"], [[i, 100 + i % 3, -3000 - i % 2] for i in range(1, 21)])
    imported("ab.data", "b.csv")
    found = json.loads(said("compare", "-i", "ab.data", "--format", "json", "1", "4"))
    [row] = [row for row in found["changes"] if row["name"] == "temp" and row["label"] is None]
    assert (row["a"], round(row["b"], 6)) == (30.5, -3000.5), row
    assert not [remark for remark in found["remarks"] if "temp" in remark], found["remarks"]


def test_no_cpu_time():
    """what a file does not have about CPUs is not printed: no CPU time, no CPU use, no rates per CPU time"""
    write("c.csv", ["time", "n", "temp"], [[i, 100 if 30 < i < 70 else 500, 30 + i % 2] for i in range(1, 101)])
    imported("c.data", "--map", "n=count,temp=gauge", "c.csv")
    for told in said("report", "-i", "c.data"), said("phases", "-i", "c.data"):
        assert "CPU" not in told, told
    assert json.loads(said("phases", "-i", "c.data", "--format", "json"))["phases"][0]["figures"]["cpu_use"] is None


def test_hostile():
    """wrong input is refused with file and line, and leaves nothing, not even a store"""
    FOLDER.write("bad.csv", "time,\x1b[31mevil\n1,2\n2,\x1b]0;x\x07\n")
    answer = refused(FOLDER.call("import", "-o", "no.data", "bad.csv"), 1, "bad.csv, line 3")
    assert "\x1b" not in answer.stderr
    FOLDER.write("bad.csv", "".join("%s%s\n" % (time, cell * 60000) for time, cell in (("time", ",x"), (1, ",1"), (2, ",1"))))
    refused(FOLDER.call("import", "-o", "no.data", "bad.csv"), 1, "more than 512 columns")  # and quickly
    FOLDER.write("bad.csv", "time,a\n1,2\n2,3\n3,x\n")
    refused(FOLDER.call("import", "-o", "no.data", "bad.csv"), 1, "bad.csv, line 4")
    FOLDER.write("words.txt", "Linux 6.1\n" + "".join("a%d b c\n" % i for i in range(300)))
    refused(FOLDER.call("import", "-o", "no.data", "words.txt"), 1, "words.txt, line 258", "remove lines that are not part")
    refused(FOLDER.call("import", "-o", "no.data", "."), 1, "is a directory")
    refused(FOLDER.call("import", "-o", "no.data", "many.data"), 1, "`rpistat merge`")
    refused(FOLDER.call("import", "-o", "no.data", "/dev/zero"), 1, "/dev/zero has a NUL byte")
    refused(FOLDER.call("import", "-o", "no.data", "nowhere.csv"), 1, "nowhere.csv")
    refused(FOLDER.call("import", "-o", "no.data", "--format", "cake", "bad.csv"), 2, "perf-csv, ")
    refused(FOLDER.call("import"), 2, "no file to import; name one")
    refused(FOLDER.call("import", "--start", "2999-01-01T00:00", "x.csv"), 2, "--start")
    refused(FOLDER.call("import", "-o", "table.csv", "table.csv"), 2, "table.csv")
    assert not os.path.exists(FOLDER / "no.data")
    before = said("runs", "-i", "many.data")
    refused(FOLDER.call("import", "-o", "many.data", "bad.csv"), 1, "bad.csv, line 4")
    assert said("runs", "-i", "many.data") == before
    # names that a spreadsheet, a terminal or SQL might interpret are text
    FOLDER.write("names.csv", "time,=1+1,\x1b[2J,\"a\"\"b'); DROP TABLE run;\"\n1,2,3,4\n2,3,4,5\n")
    imported("names.data", "names.csv")
    sound("names.data")
    assert "\x1b" not in said("report", "-i", "names.data")


def test_few():
    """the report of a table of values has these, without decimals if they are large, and no empty columns"""
    with Folder() as folder:
        row = "%d," + ",".join(["7", "2997672", "0.25"] + ["1"] * 8)
        folder.write("t.csv", "t,a,b,c," + ",".join("defghijk") + "\n" + "".join(row % n + "\n" for n in range(6)))
        expect(folder.call("import", "t.csv"), 0)
        text = expect(folder.call("report"), 0).stdout
        assert re.search(r"\n +metric +Value\n  Metrics\n    a +7\.000\n    b +2997672\n    c +0\.250\n", text), text
        assert "Elapsed time (ns)" not in text.split("Performance")[1] and "Per second" not in text and PHASES not in text, text
        found = json.loads(expect(folder.call("report", "--format", "json"), 0).stdout)
        assert [each["count"] for each in found["figures"] if each["kind"] == "clock"] == [6 * 10**9], found["figures"]


def test_sparse_totals():
    """the growth of a total over 20 rows without it is divided equally, and makes no phases"""
    with Folder() as folder:
        lines = ["%d,%s" % (60 * n, "N/A" if 10 <= n < 30 else 1000 + 600 * n) for n in range(1, 51)]
        folder.write("t.csv", "time,x_total\n" + "\n".join(lines) + "\n")
        expect(folder.call("import", "t.csv"), 0)
        assert [row["x_total"] for row in table(expect(folder.call("export"), 0).stdout)] == [""] + ["600"] * 49
        for arguments in (["phases"], ["phases", "--csv", "t.csv"]):
            assert len(json.loads(expect(folder.call(*arguments, "--format", "json"), 0).stdout)["phases"]) == 1
        folder.write("t.csv", "time,x_total\n" + "\n".join(lines[::-1]) + "\n")  # the newest row first
        expect(folder.call("import", "-o", "reversed.data", "t.csv"), 0)
        assert expect(folder.call("export", "-i", "reversed.data"), 0).stdout == expect(folder.call("export"), 0).stdout


with FOLDER:
    FOLDER.record("--label", "=one", "--tag", "host=\u00e4,\"1\"", "--tag", "b=")
    tap.main([test_exports, test_few, test_table, test_cpus, test_piped, test_unsound, test_spreadsheet, test_fine_times, test_many, test_compared, test_no_cpu_time,
              test_hostile, test_sparse_totals])
