"""import: an export gives the very run, a table its numbers, and what is wrong leaves nothing."""
import csv
import io
import json
import os
import sqlite3

from program import Folder, expect, refused, tap

FOLDER = Folder()
TABLES = ["run", "event_set", "event", "metric", "metric_step", "period", "rollup", "mark", "gap"]


def rows(store, table):
    database = sqlite3.connect(FOLDER / store)
    try:
        return database.execute("SELECT * FROM " + table).fetchall()
    finally:
        database.close()


def said(*arguments):
    return expect(FOLDER.call(*arguments), 0).stdout


def imported(store, *arguments, **options):
    answer = expect(FOLDER.call("import", "-o", store, *arguments, **options), 0)
    assert not answer.stdout, answer.stdout
    return answer.stderr


def sound(store):
    answer = said("check", "-i", store)
    assert "is sound" in answer and answer.count("\n") == 1, answer


def figures(store, *arguments):
    """Of the report: what each event and metric came to."""
    report = json.loads(said("report", "-i", store, "--format", "json", *arguments))
    return {(row["kind"], row["name"]): row for row in report["figures"]}


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def write(name, header, lines):
    FOLDER.write(name, "".join(",".join(str(cell) for cell in line) + "\n"
                               for line in [header, *lines]))


def test_full():
    """--format full gives the very run: all tables, report and phases; a second time it is refused"""
    said("export", "--format", "full", "-o", "full.csv")
    assert imported("full.data", "full.csv") == \
        "rpistat: full.csv (rpistat) is run 1 of full.data: 250 periods\n"
    for name in TABLES:
        assert rows("full.data", name) == rows("rpistat.data", name), name
    for command in (["report", "--format", "json"], ["phases", "--format", "json"], ["phases"]):
        assert said(*command, "-i", "full.data") == said(*command), command
    sound("full.data")
    refused(FOLDER.call("import", "-o", "full.data", "full.csv"), 1, "full.data", "this very run")
    refused(FOLDER.call("export", "--format", "full", "--from", "3"), 2, "--format full")
    FOLDER.write("samples.sim", "function f 0x1000 0x10\nphase a 1s code=f\n")
    said("record", "--pmu", "sim:samples.sim", "-o", "samples.data")
    answer = expect(FOLDER.call("export", "-i", "samples.data", "--format", "full"), 0)
    assert "run 1 has samples of the code" in answer.stderr, answer.stderr
    # as a spreadsheet of another country has written it
    said("export", "--format", "full", "--separator", ";", "--decimal", ",", "--crlf", "--bom",
         "--clock", "-o", "local.csv")
    imported("local.data", "local.csv")
    for name in TABLES:
        assert rows("local.data", name) == rows("rpistat.data", name), name


def test_wide():
    """wide gives the counts of each period, and their estimates; other exports are refused"""
    said("export", "-o", "wide.csv")
    assert "--format full" in imported("wide.data", "wide.csv")
    sound("wide.data")
    assert said("export", "-i", "wide.data") == said("export")
    before, after = figures("rpistat.data"), figures("wide.data")
    for (kind, name), row in before.items():
        if kind == "event":
            assert (row["count"], row["value"]) == \
                (after[kind, name]["count"], after[kind, name]["value"]), (row, after[kind, name])
    head = "run,cpu,period,time_s,length_s,cycle,cycles,set,x,x_event,cycles_event\n"
    text = head + "".join("1,-1,%d,%d.000000000,1.000000000,%d,7,one,%d,%d,%d\n" %
                          (i, i, 7 * i + 7, i, 10 * i, 100 * i) for i in range(4))
    FOLDER.write("names.csv", text)
    imported("events.data", "names.csv")
    assert said("export", "-i", "events.data") == text
    for form in ("rates", "long", "long-rates"):
        said("export", "--format", form, "-o", "other.csv")
        refused(FOLDER.call("import", "-o", "no.data", "other.csv"), 1, "other.csv, line 1",
                "formats full and wide")
    assert not os.path.exists(FOLDER / "no.data")


def test_table():
    """30 columns counted at once: totals and rates are the file's, and nothing is scaled"""
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
    assert "table.csv (csv) is run 1 of table.data: 40 periods times 5, " in words, words
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
            assert abs(float(row["c_%d_rate" % i]) / rate - 1) < 1e-8, (i, row, line)
    run = json.loads(said("runs", "-i", "table.data", "--format", "json"))["runs"][0]
    assert (run["label"], run["tags"], run["pmu"]) == ("load", {"a": "b"}, "import"), run
    assert run["start"] == "2026-01-02T03:04:05.000Z", run
    assert "gauge x time" not in said("report", "-i", "table.data")
    assert "temp" in said("phases", "-i", "table.data")
    # and our own export of it comes back as well
    said("export", "-i", "table.data", "--format", "full", "-o", "again.csv")
    imported("again.data", "again.csv")
    for name in TABLES:
        assert rows("again.data", name) == rows("table.data", name), name
    sound("again.data")


def test_cpus():
    """rows by CPU are tracks of their own; where a CPU has no row is a gap"""
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


def test_spreadsheet():
    """dates with the day first and decimal commas; what may mean two things is refused and said"""
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
    FOLDER.write("sheet.csv", lines.replace("21.11.", "05/11/"))
    for options in ((), ("--map", "Zeit=time")):
        refused(FOLDER.call("import", "-o", "no.data", *options, "sheet.csv"), 1, "the day first or")
    FOLDER.write("sheet.csv", "Zeit;A\nnie;viel\n")
    refused(FOLDER.call("import", "-o", "no.data", "--map", "Zeit=time", "sheet.csv"), 2, "no header")


def test_many():
    """several files are runs of one store, which other commands take as any"""
    imported("full.data", "table.csv", "wide.csv", "-q")
    assert len(rows("full.data", "run")) == 3
    sound("full.data")
    expect(FOLDER.call("compare", "-i", "full.data", "1", "3"), 0)
    expect(FOLDER.call("plot", "-i", "full.data", "-r", "2", "-o", "table.html"), 0)


def test_compared():
    """compare has each gauge once, a count and a gauge are two things, and no CPU time is made up"""
    write("a.csv", ["time", "n", "temp"], [[i, 100 + i % 3, 30 + i % 2] for i in range(1, 21)])
    imported("ab.data", "a.csv")
    imported("ab.data", "--map", "n=count,temp=gauge", "a.csv")
    imported("ab.data", "--map", "n=count,temp=gauge", "a.csv")
    for run, expected in [("1", "time elapsed, metric temp"),
                          ("3", "time elapsed, metric n_rate, metric temp, event n")]:
        found = json.loads(said("compare", "-i", "ab.data", "--format", "json", run, "2"))
        names = sorted((row["kind"], row["name"]) for row in found["figures"])
        assert names == sorted(tuple(one.split()) for one in expected.split(", ")), names
    # a gauge is the same in runs whose values are kept in other units
    write("b.csv", ["time", "n", "temp"], [[i, 100 + i % 3, -3000 - i % 2] for i in range(1, 21)])
    imported("ab.data", "b.csv")
    found = json.loads(said("compare", "-i", "ab.data", "--format", "json", "1", "4"))
    [row] = [row for row in found["changes"] if row["name"] == "temp" and row["label"] is None]
    assert (row["a"], round(row["b"], 6)) == (30.5, -3000.5), row
    assert not [remark for remark in found["remarks"] if "temp" in remark], found["remarks"]


def test_hostile():
    """what is wrong is refused with file and line, and leaves nothing, not even a store"""
    FOLDER.write("bad.csv", "time,\x1b[31mevil\n1,2\n2,\x1b]0;x\x07\n")
    answer = refused(FOLDER.call("import", "-o", "no.data", "bad.csv"), 1, "bad.csv, line 3")
    assert "\x1b" not in answer.stderr
    FOLDER.write("bad.csv", "time,a\n1,2\n2,3\n1,2\n")
    refused(FOLDER.call("import", "-o", "no.data", "bad.csv"), 1, "bad.csv, line 4")
    refused(FOLDER.call("import", "-o", "no.data", "."), 1, "is a folder")
    refused(FOLDER.call("import", "-o", "no.data", "full.data"), 1, "'rpistat merge'")
    refused(FOLDER.call("import", "-o", "no.data", "/dev/zero"), 1, "/dev/zero has a NUL byte")
    refused(FOLDER.call("import", "-o", "no.data", "nowhere.csv"), 1, "nowhere.csv")
    refused(FOLDER.call("import", "-o", "no.data", "--format", "cake", "bad.csv"), 2, "rpistat, ")
    refused(FOLDER.call("import"), 2, "name the file")
    refused(FOLDER.call("import", "--start", "2999-01-01T00:00", "x.csv"), 2, "--start")
    refused(FOLDER.call("import", "-o", "table.csv", "table.csv"), 2, "table.csv")
    assert not os.path.exists(FOLDER / "no.data")
    before = said("runs", "-i", "full.data")
    refused(FOLDER.call("import", "-o", "full.data", "bad.csv"), 1, "bad.csv, line 4")
    assert said("runs", "-i", "full.data") == before
    # names that a spreadsheet, a terminal or SQL might obey are text
    FOLDER.write("names.csv", "time,=1+1,\x1b[2J,\"a\"\"b'); DROP TABLE run;\"\n1,2,3,4\n2,3,4,5\n")
    imported("names.data", "names.csv")
    sound("names.data")
    assert "\x1b" not in said("report", "-i", "names.data")


with FOLDER:
    FOLDER.record("--label", "=one", "--tag", "host=\u00e4,\"1\"", "--tag", "b=")
    tap.main([test_full, test_wide, test_table, test_cpus, test_spreadsheet, test_many, test_compared, test_hostile])
