"""Exported tables are read by other programs: pandas, R, DuckDB, LibreOffice, the sqlite3 shell.

usage: readers.py RPISTAT

Each reads the same sheets and says of each how many rows there are, the sum of a column of numbers,
and the text of a column in its first row. Those that are not installed are skipped.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys

from program import TIMEOUT, Folder, expect, tap

# Table: the command that writes it, a column of numbers, a column of text.
SHEETS = {
    "wide": (["export"], "length_s", "set"),
    "rates": (["export", "--rates"], "cpi", None),
    "long": (["export", "--long"], "scaled", "event"),
    "runs": (["runs", "--format", "csv"], "elapsed_s", "label"),
    "report": (["report", "--format", "csv"], "value", "label"),
    "phases": (["phases", "--format", "csv"], "share", "start"),
    "events": (["events", "--format", "csv"], None, "label"),
}
GERMAN = ["--separator", ";", "--decimal", ","]
LABEL = "Zürich, \"a;b\""

FOLDER = Folder(runs=0).__enter__()


def prepare():
    """Write the tables. Return their contents as read by Python's csv."""
    expected = {}
    FOLDER.record("--label", LABEL)
    for name, (arguments, number, text) in SHEETS.items():
        expect(FOLDER.call(*arguments, "-o", name + ".csv"), 0)
        with open(FOLDER / (name + ".csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        expected[name] = [len(rows), sum(float(row[number] or 0) for row in rows) if number else 0,
                          rows[0][text] if text else ""]
    expect(FOLDER.call("export", "--rates", *GERMAN, "-o", "german.csv"), 0)
    expect(FOLDER.call("report", "--format", "json", "-o", "report.json"), 0)
    assert expected["runs"] == [1, 25, LABEL], expected
    return {**expected, "german": expected["rates"]}


EXPECTED = prepare()


def run(*command, text=None, env=None, missing=None):
    """The output of a command, or None if the module named `missing`, which it looks for first, is not
    installed.
    """
    answer = subprocess.run(command, input=text, cwd=FOLDER.path, capture_output=True, text=True,
                            check=False, timeout=TIMEOUT, env={**os.environ, **(env or {})})
    if missing and re.search(r"(No module named|Cannot find module) '%s'" % missing, answer.stderr):
        return None
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def check(found, *names):
    """A reader's result equals the tables' contents. Without names, it must have all tables."""
    for name in names or EXPECTED:
        rows, number, text = EXPECTED[name]
        assert found[name][0] == rows and found[name][2] == text, (name, found[name], EXPECTED[name])
        assert abs(float(found[name][1]) - number) <= 1e-9 * abs(number), (
            name, found[name], EXPECTED[name])


PANDAS = """\
import pandas, json, sys
found = {}
for name, (arguments, number, text) in json.loads(sys.argv[1]).items():
    sheet = pandas.read_csv(name + ".csv")
    found[name] = [len(sheet), float(sheet[number].sum()) if number else 0,
                   sheet[text][0] if text else ""]
sheet = pandas.read_csv("german.csv", sep=";", decimal=",")
found["german"] = [len(sheet), float(sheet["cpi"].sum()), ""]
assert pandas.to_datetime(pandas.read_csv("phases.csv")["start"]).dt.tz is not None
with open("report.json") as file:
    figures = pandas.DataFrame(json.load(file)["figures"]).set_index("name")
found["json"] = [len(figures), float(figures["value"].sum()), figures["label"].iloc[0]]
print(json.dumps(found))
"""


def test_pandas():
    """pandas.read_csv accepts each table, and a DataFrame the figures of the report's JSON"""
    for python in filter(os.path.exists, [sys.executable, "/usr/bin/python3"]):
        text = run(python, "-c", PANDAS, json.dumps(SHEETS), missing="pandas")
        if text:
            break
    else:
        raise tap.Skip("python3-pandas is not installed")
    found = json.loads(text)
    check(found)
    assert found["json"] == found["report"], found["json"]


R = """\
say <- function(name, sheet, number, text)
    cat(name, nrow(sheet), if (number == "") 0 else format(sum(sheet[[number]], na.rm = TRUE), digits = 15),
        if (text == "") "" else enc2utf8(as.character(sheet[[text]][1])), sep = "\\t", fill = FALSE, "\\n")
for (line in strsplit(commandArgs(TRUE), ":"))
    say(line[1], read.csv(paste0(line[1], ".csv"), encoding = "UTF-8"), line[2], line[3])
say("german", read.csv2("german.csv"), "cpi", "")
"""


def test_r():
    """R: read.csv accepts each table, read.csv2 the German one"""
    if not shutil.which("Rscript"):
        raise tap.Skip("R is not installed (r-base-core)")
    sheets = ["%s:%s:%s" % (name, number or "", (text or "") + ":")
              for name, (_, number, text) in SHEETS.items()]
    found = {}
    for line in run("Rscript", "--vanilla", "-e", R, *sheets, env={"LC_ALL": "C.UTF-8"}).splitlines():
        name, rows, number, text = line.split("\t")[:4]
        found[name] = [int(rows), number, text]
    check(found)


DUCKDB = """\
const { DuckDBInstance } = require("@duckdb/node-api");
(async () => {
    const duck = await (await DuckDBInstance.create(":memory:")).connect();
    for (const query of process.argv.slice(1)) {
        const rows = await duck.runAndReadAll(query);
        console.log(JSON.stringify(rows.getRowsJson()[0]));
    }
})();
"""


def test_duckdb():
    """DuckDB: read_csv detects the dialect of each table and the types of its columns"""
    queries = ["SELECT count(*)::INT, %s, %s FROM read_csv('%s.csv')" % (
        "sum(%s)::DOUBLE" % number if number else 0, "first(%s)::VARCHAR" % text if text else "''", name)
        for name, (_, number, text) in SHEETS.items()]
    queries.append("SELECT count(*)::INT, sum(cpi)::DOUBLE, '' FROM read_csv('german.csv',"
                   " delim = ';', decimal_separator = ',')")
    node = {"NODE_PATH": os.environ.get("NODE_PATH", "") +
            ":/usr/lib/node_modules:/usr/local/lib/node_modules"}
    text = shutil.which("node") and run("node", "-e", DUCKDB, *queries, env=node,
                                        missing="@duckdb/node-api")
    if not text:
        raise tap.Skip("DuckDB is not installed (npm install -g @duckdb/node-api)")
    lines = text.splitlines()
    found = dict(zip([*SHEETS, "german"], map(json.loads, lines)))
    start = found["phases"][2]  # a TIMESTAMP, which DuckDB writes in another form
    assert start.replace(" ", "T")[:19] == EXPECTED["phases"][2][:19], start
    found["phases"][2] = EXPECTED["phases"][2]
    check(found)


def test_sqlite3():
    """the sqlite3 shell: .import --csv accepts each table"""
    if not shutil.which("sqlite3"):
        raise tap.Skip("the sqlite3 shell is not installed")
    script = ".mode json\n"
    for name, (_, number, text) in SHEETS.items():
        script += ".import --csv %s.csv %s\n" % (name, name)
        script += "SELECT count(*) AS rows, %s AS number, %s AS text FROM %s;\n" % (
            'sum("%s")' % number if number else 0, '"%s"' % text if text else "''", name)
    rows = [json.loads(line)[0] for line in run("sqlite3", text=script).splitlines()]
    check({name: [row["rows"], row["number"], row["text"]] for name, row in zip(SHEETS, rows)},
          *SHEETS)


def calc(name, separator, language):
    """The rows of a table in LibreOffice's spreadsheet, with numbers in C's format."""
    filters = "Text - txt - csv (StarCalc):%d,34,76,1,,%d,false,true"
    run("soffice", "--headless", "-env:UserInstallation=file://" + FOLDER / "office",
        "--infilter=" + filters % (ord(separator), language),
        "--convert-to", "csv:" + filters % (ord(","), 1033) + ",false", "--outdir", FOLDER / "calc",
        name + ".csv")
    with open(FOLDER / "calc" + "/%s.csv" % name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_libreoffice():
    """LibreOffice: an English spreadsheet reads an export as it is, a German one with ; and ,"""
    if not shutil.which("soffice"):
        raise tap.Skip("LibreOffice is not installed (libreoffice-calc-nogui)")
    folder = os.path.dirname(os.path.realpath(shutil.which("soffice")))
    if not os.path.exists(os.path.join(folder, "libsclo.so")):
        raise tap.Skip("LibreOffice has no spreadsheet here (libreoffice-calc-nogui)")
    for name, separator, language in ("rates", ",", 1033), ("german", ";", 1031):
        rows = calc(name, separator, language)
        found = [len(rows), sum(float(row["cpi"] or 0) for row in rows), ""]
        check({name: found}, name)
        assert [float(row["time_s"]) for row in rows[:2]] == [0, 0.4], rows[:2]


try:
    tap.main([test_pandas, test_r, test_duckdb, test_sqlite3, test_libreoffice])
finally:
    FOLDER.__exit__()
