"""Marks and regions of a run: --from mark:NAME, what the report says of them, --region."""
import csv
import io
import sqlite3

from program import Folder, expect, refused, tap

FOLDER = Folder(runs=1)  # 25 s in periods of 100 ms: calm, busy from 10 s on, asleep from 20 s on
S = 10**9


def add_marks(folder, marks, run=1):
    store = sqlite3.connect(folder / "rpistat.data")
    with store:
        store.executemany("INSERT INTO mark VALUES (?, ?, ?, ?)",
                          [(run, int(at * S), number, text)
                           for number, (at, text) in enumerate(marks)])
    store.close()


def exported(*options):
    return list(csv.DictReader(io.StringIO(expect(FOLDER.call("export", *options), 0).stdout)))


def periods(*options):
    return [int(row["period"]) for row in exported(*options)]


PARTS = [  # --from and --to, the first period and the last
    ("mark:warm", None, 20, 249),
    ("mark:warm.1", "mark:warm.2", 20, 119),
    ("mark:warm.2", "mark:done", 120, 149),  # the first behind --from
    ("mark:warm", "mark:done", 20, 49),
    ("mark:warm.2", "mark:done.1", None, None),
    (None, "mark:v1.2", 0, 29),
    ("mark:v1.2.1", "mark:two words", 30, 39),
    ("10s", "mark:done", 100, 149),
    ("mark:done.2", "mark:warm", None, None),
]


def test_part():
    """--from mark:NAME and --to mark:NAME, NAME.2 for the second; names have blanks and points"""
    for begin, end, first, last in PARTS:
        part = [word for option, text in (("--from", begin), ("--to", end)) if text
                for word in (option, text)]
        if first is None:
            refused(FOLDER.call("export", *part), 2, "--from is not before --to")
            continue
        found = periods(*part)
        assert (found[0], found[-1]) == (first, last), (part, found[0], found[-1])
    for command in ("report", "phases", "plot"):
        expect(FOLDER.call(command, "--from", "mark:warm", "--to", "mark:done"), 0)


def test_part_wrong():
    """a mark that the run does not have: the error names those that it has"""
    refused(FOLDER.call("report", "--from", "mark:"), 2, "mark:NAME.2")
    refused(FOLDER.call("report", "--from", "mark:wram"), 1, "'mark:wram' is not in run 1",
            "marks are: warm, v1.2, two words, done")
    refused(FOLDER.call("report", "--to", "mark:warm.3"), 1, "it comes 2 times")
    with Folder(runs=1) as folder:
        refused(folder.call("report", "--to", "mark:warm"), 1, "no marks", "--control")
        add_marks(folder, [(1, "m%d" % number * 20) for number in range(40)])
        refused(folder.call("report", "--to", "mark:warm"), 1, "m0m0", ", ...")


with FOLDER:
    add_marks(FOLDER, [(2, "warm"), (3, "v1.2"), (4, "two words"), (5, "done"), (12, "warm"),
                       (15, "done")])
    tap.main([test_part, test_part_wrong])
