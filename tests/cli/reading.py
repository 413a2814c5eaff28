"""The commands that read a store: their output, and their messages if they fail."""
import contextlib
import csv
import io
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile

import program
from program import READING, Folder, environment, expect, is_sanitized, refused, tap

from words import PER_CPU

FOLDER = Folder(runs=2)


def copy_store(folder, name="copy.data"):
    """A copy of the store without its journal, to be damaged."""
    source = sqlite3.connect(FOLDER / "rpistat.data")
    target = sqlite3.connect(folder / name)
    source.backup(target)
    source.close()
    target.execute("PRAGMA journal_mode=DELETE")
    target.close()
    return folder / name


def spoil(folder, *statements):
    path = copy_store(folder)
    store = sqlite3.connect(path)
    for statement in statements:
        store.execute(statement)
    store.commit()
    store.close()
    return path


# --- what they write --------------------------------------------------------------------------


def test_runs():
    """runs: a table of the runs, with columns below their titles"""
    lines = expect(FOLDER.call("runs"), 0).stdout.splitlines()
    assert len(lines) == 3, lines
    for title in ["RUN", "LABEL", "START", "STATE", "ELAPSED", "PERIODS", "COUNTED", "COMMAND"]:
        assert title in lines[0], lines[0]
    for number, line in enumerate(lines[1:], 1):
        assert line.split()[:2] == [str(number), "run%d" % number], line
        assert line.index("run%d" % number) == lines[0].index("LABEL"), lines
        assert line.index("complete") == lines[0].index("STATE"), lines
        assert " 250 " in line and "25.0 s" in line and "sim arm1176" in line, line
        assert line.endswith("  sim:script.sim"), line


def test_runs_local_time():
    """runs: the start in local time"""
    store = sqlite3.connect(FOLDER / "rpistat.data")
    hours = {}
    for zone in ["UTC0", "TST-5"]:
        answer = FOLDER.call("runs", env=environment(TZ=zone)).stdout
        hours[zone] = answer.splitlines()[1].split()[2:4]
    store.close()
    assert hours["UTC0"] != hours["TST-5"], hours
    ahead = (int(hours["TST-5"][1][:2]) - int(hours["UTC0"][1][:2])) % 24
    assert ahead == 5, hours


def test_report():
    """report: of the last run by default, of another with -r, equal in a file"""
    last = expect(FOLDER.call("report"), 0)
    assert not last.stderr and len(last.stdout.splitlines()) > 20, last.stdout
    assert FOLDER.call("report", "-r", "2").stdout == last.stdout
    assert FOLDER.call("report", "-r", "run2").stdout == last.stdout
    assert FOLDER.call("report", "-r", "last").stdout == last.stdout
    first = expect(FOLDER.call("report", "-r", "last-1"), 0).stdout
    assert FOLDER.call("report", "-r", "1").stdout == first != last.stdout
    expect(FOLDER.call("report", "-o", "report.txt"), 0)
    assert FOLDER.read("report.txt").decode() == last.stdout
    assert FOLDER.call("report", "-o", "-").stdout == last.stdout


def test_report_explain():
    """report --explain: has more explanations"""
    plain, explained = FOLDER.call("report"), expect(FOLDER.call("report", "--explain"), 0)
    assert len(explained.stdout) > len(plain.stdout) + 200, explained.stdout


def test_report_part():
    """report --from --to: the figures of only this part"""
    calm = expect(FOLDER.call("report", "--to", "10"), 0).stdout
    busy = expect(FOLDER.call("report", "--from", "10s", "--to", "0m20s"), 0).stdout
    assert calm != busy != FOLDER.call("report").stdout

    def misses(text):
        line = [line for line in text.splitlines() if "miss ratio" in line.lower()]
        assert line, text
        return line[0]
    assert misses(calm) != misses(busy), calm + busy


def test_report_locale():
    """report: thousands separators of the locale; export: always as in the C locale"""
    with program.german() as german:
        report = expect(FOLDER.call("report", "--format", "classic", env=german), 0).stdout
        plain = FOLDER.call("report", "--format", "classic", env=environment(LC_ALL="C")).stdout
        assert report != plain and report.replace(".", "").replace(",", "") == \
            plain.replace(".", "").replace(",", ""), report
        report = expect(FOLDER.call("report", env=german), 0).stdout
        assert re.search(r"Cycles +14\.000\.000\.000 ", report) and re.search(r"CPI +3,500 ", report), report
        assert FOLDER.call("report", "--format", "csv", env=german).stdout == \
            FOLDER.call("report", "--format", "csv").stdout
        for command in ["runs"], ["phases"], ["code"], ["compare", "1", "2"], ["check"]:
            for form in "json", "csv":
                assert FOLDER.call(*command, "--format", form, env=german).stdout == \
                    FOLDER.call(*command, "--format", form).stdout, (command, form)
        assert re.search(r" complete +25,0 s ", FOLDER.call("runs", env=german).stdout), FOLDER.call("runs", env=german)
        assert FOLDER.call("export", env=german).stdout == FOLDER.call("export").stdout
        assert FOLDER.call("export", "--rates", env=german).stdout == \
            FOLDER.call("export", "--rates").stdout


def rows(*arguments, delimiter=","):
    text = expect(FOLDER.call("export", *arguments), 0).stdout
    return list(csv.reader(io.StringIO(text), delimiter=delimiter))


def test_export_wide():
    """export: a header, and one row per period"""
    table = rows()
    assert table[0][:8] == ["run", "cpu", "period", "time_s", "length_s", "cycle", "cycles", "set"]
    assert len(table) == 251 and all(len(row) == len(table[0]) for row in table), len(table)
    assert table[1][0] == "2" and rows("-r", "1")[1][0] == "1"


def stored_totals(store, run):
    """{event: its count, enabled and running ns of the periods that counted it}, and length,
    cycles and number of all
    """
    events = {}
    with contextlib.closing(sqlite3.connect(store)) as database:
        for name, set_no, slot in database.execute(
                "SELECT name, set_no, slot FROM event WHERE run_id = ? AND set_no >= 0", (run,)).fetchall():
            sums = database.execute(
                "SELECT total(c%d), total(enabled_ns), total(running_ns) FROM period WHERE run_id = ?"
                " AND set_no = ? AND c%d IS NOT NULL" % (slot, slot), (run, set_no)).fetchone()
            events[name] = [int(a + b) for a, b in zip(events.get(name, (0, 0, 0)), sums)]
        return events, database.execute("SELECT sum(length_ns), sum(cycles), count(*) FROM period WHERE run_id = ?",
                                        (run,)).fetchone()


def exported(folder, *options):
    """The rows of an export by column name."""
    text = expect(folder.call("export", *options), 0).stdout.removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(text), delimiter=";" if ";" in options else ","))


def test_export_totals():
    """sums of wide and long exports in each dialect equal SQL's sums of the store, to the last digit"""
    german = ("--separator", ";", "--decimal", ",", "--crlf", "--bom")
    with Folder() as folder:
        folder.record("-q")
        for naps in 8, 80, 800:  # a loaded machine may give the recorder little time
            expect(folder.call("record", "-q", "--pmu", "software", "--period", "5ms", "sh", "-c",
                               "for i in $(seq %d); do sleep .02; done" % naps), 0)
            if stored_totals(folder / "rpistat.data", "2")[1][2] > 3:
                break
            expect(folder.call("runs", "--delete", "2"), 0)
        for run, options in [("1", ()), ("1", german), ("2", ()), ("2", german)]:
            events, (length_ns, cycles, periods) = stored_totals(folder / "rpistat.data", run)
            wide, long = exported(folder, "-r", run, *options), exported(folder, "-r", run, "--long", *options)
            assert len(events) >= 5 and len(wide) == periods > 3, (events, periods)
            assert sum(int(re.sub("[.,]", "", row["length_s"])) for row in wide) == length_ns
            assert sum(int(row["cycles"]) for row in wide) == cycles
            for name, expected in events.items():
                rows_of = [row for row in long if row["event"] == name and row["count"]]
                column = name + "_ns" * (name == "task_clock")
                assert sum(int(row[column] or 0) for row in wide) == expected[0], (name, expected)
                assert [sum(int(row[column]) for row in rows_of)
                        for column in ("count", "enabled_ns", "running_ns")] == expected, (name, expected)


IDLE_SCRIPT = """default instructions=100M branches=1M
phase work 2s
repeat 15
idle 50ms
phase work 50ms
end
idle 1500ms
phase work 1s
"""
IDLE_SETS = """[plan]
name = use
[event instructions]
event = instructions
[event branches]
event = branches
[set one]
events = instructions
[set two]
events = branches
[metric cpu_use]
label = CPU use
unit = %
formula = 100 * cpu_seconds / seconds
panel = CPU use
"""
IDLE_USE = [100] * 10 + [50] * 7 + [25] + [0] * 7 + [100] * 5  # percent in each rotation


def test_cpu_use():
    """the CPU use of a CPU is its time that was not idle: report, rates, view rate, phases, plot"""
    with Folder() as folder:
        folder.write("idle.sim", IDLE_SCRIPT)
        folder.write("use.ini", IDLE_SETS)
        expect(folder.call("record", "-q", "--pmu", "sim:idle.sim", "--always-rotate", "--sets",
                           "./use.ini"), 0)
        report = expect(folder.call("report"), 0).stdout
        assert re.search(r"\n    CPU use +62\.500 %", report), report
        table = list(csv.DictReader(io.StringIO(folder.call("export", "--rates").stdout)))
        assert [float(row["cpu_use_percent"]) for row in table] == IDLE_USE, table
        with sqlite3.connect(folder / "rpistat.data") as store:
            rate = "SELECT value FROM rate WHERE metric = 'cpu_use' ORDER BY rotation"
            assert [row[0] for row in store.execute(rate)] == IDLE_USE
            assert store.execute("SELECT sum(idle_ns) FROM rollup WHERE level = 4").fetchone() == (
                2250000000,)
        phases = folder.call("phases", "--format", "csv").stdout
        assert re.findall(r"^(\d,\w,\d+,\d+),", phases, re.M)[1:] == \
            ["1,B,20,34", "2,C,35,49", "3,A,50,59"], phases
        expect(folder.call("plot", "--keep-script", "kept", "--no-phases"), 0)
        drawn = [float(line.split()[1])
                 for line in folder.read("kept/panel-1-1.dat").decode().splitlines()]
        assert drawn == IDLE_USE, drawn
        with store:  # unknown in one period, so also in its rotation and in the whole
            store.execute("UPDATE period SET idle_ns = NULL WHERE period = 30")
            store.execute("UPDATE rollup SET idle_ns = NULL WHERE set_no = 0")
            assert [row[0] for row in store.execute(rate)] == \
                IDLE_USE[:15] + [None] + IDLE_USE[16:]
        store.close()
        report = expect(folder.call("report"), 0).stdout
        assert re.search(r"\n    CPU use +unknown", report), report


def test_not_known():
    """values that a run could not measure are not known in the report, instead of 0: nothing counted, 0 divided by 0"""
    with Folder() as folder:
        folder.write("clock.sim", "default instructions=100M\nsteal-clock 0s 9s\nphase work 2s\n")
        folder.write("all.sim", "steal 0s 9s\nsteal-clock 0s 9s\nphase work 2s\n")
        for name in ["clock", "all"]:
            expect(folder.call("record", "-q", "--pmu", "sim:%s.sim" % name), 0)
            for part in [], ["--to", "1"]:  # the whole run's figures are stored
                report = expect(folder.call("report", *part), 0).stdout
                for words in ("Cycles +0 +unknown", "CPI +unknown", "DC miss ratio +unknown"):
                    assert re.search(r"\n    %s\b" % words, report), (words, report)


def test_export_part():
    """export --from --to: only the periods of this part"""
    assert len(rows("--from", "5", "--to", "10s")) == 51


def test_export_formats():
    """export --rates and --long: equal to --format; the columns differ from wide"""
    for name in ["rates", "long"]:
        assert rows("--" + name) == rows("--format", name) != rows()
    assert rows("--long")[0] == ["run", "cpu", "period", "time_s", "cycle", "phase", "label", "event",
                                 "unit", "count", "enabled_ns", "running_ns", "scaled"]


def test_export_dialect():
    r"""export: the separator, decimal mark, line ends and byte order mark that were requested"""
    plain = rows("--rates")
    assert rows("--rates", "--separator", ";", "--decimal", ",", delimiter=";") == [plain[0]] + [
        [cell.replace(".", ",") for cell in row] for row in plain[1:]]
    assert rows("--separator", "tab", delimiter="\t") == rows()
    expect(FOLDER.call("export", "--crlf", "--bom", "-o", "dos.csv"), 0)
    content = FOLDER.read("dos.csv")
    assert content.startswith(b"\xef\xbb\xbfrun,") and content.count(b"\r\n") == 251
    assert content.count(b"\n") == 251


def test_plot():
    r"""plot: rpistat.png by default, the format by the file name, the requested size"""
    expect(FOLDER.call("plot"), 0)
    assert FOLDER.read("rpistat.png")[:8] == b"\x89PNG\r\n\x1a\n"
    expect(FOLDER.call("plot", "-o", "small.png", "--size", "640x480"), 0)
    header = FOLDER.read("small.png")[16:24]
    assert (int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")) == (640, 480)
    expect(FOLDER.call("plot", "-o", "run.svg", "--x-axis", "cycles"), 0)
    assert b"<svg" in FOLDER.read("run.svg")[:1000]
    expect(FOLDER.call("plot", "-o", "run.pdf"), 0)
    assert FOLDER.read("run.pdf")[:5] == b"%PDF-"


def by_cpu(folder, cpus):
    """A store whose last run was recorded on these CPUs, each with the counts of the first."""
    path = spoil(folder, "UPDATE period SET cpu = %d" % cpus[0])
    store = sqlite3.connect(path)
    names = [row[1] for row in store.execute("PRAGMA table_info(period)")]
    for cpu in cpus[1:]:
        columns = ", ".join(str(cpu) if name == "cpu" else name for name in names)
        store.execute("INSERT INTO period (%s) SELECT %s FROM period WHERE cpu = %d"
                      % (", ".join(names), columns, cpus[0]))
    store.execute("DELETE FROM rollup")  # the figures of the whole workload
    store.commit()
    store.close()
    return path


def test_cpus():
    r"""--cpu: export writes CPUs or their sum, report the sum and tables; plot draws either"""
    with Folder() as folder:
        store = by_cpu(folder, [0, 2])

        def rows(*options):
            text = expect(folder.call("export", "-i", store, *options), 0).stdout
            return list(csv.DictReader(io.StringIO(text)))
        apart, total = rows(), rows("--cpu", "sum")
        assert [row["cpu"] for row in apart] == ["0"] * 250 + ["2"] * 250
        assert rows("--cpu", "each") == apart
        assert rows("--cpu", "2") == rows("--cpu", "each,2-2") == apart[250:]
        assert len(total) == 250 and {row["cpu"] for row in total} == {""}
        for one, both in zip(apart, total):
            assert int(both["cycles"]) == 2 * int(one["cycles"]), (one, both)
            assert int(both["cycle"]) == 2 * int(one["cycle"]), (one, both)
            assert both["length_s"] == one["length_s"], (one, both)
        report = expect(folder.call("report", "-i", store), 0).stdout
        assert "CPUs 0,2, sum" in report and PER_CPU not in report, report
        assert folder.call("report", "-i", store, "--cpu", "sum").stdout == report
        tables = expect(folder.call("report", "-i", store, "--cpu", "each"), 0).stdout
        assert PER_CPU in tables and "\n  all " in tables, tables
        for options in [[], ["--cpu", "sum"], ["--cpu", "each,0"]]:
            picture = expect(folder.call("plot", "-i", store, "-o", "a.svg", *options), 0)
            assert not picture.stdout and not picture.stderr, picture
            with open(folder / "a.svg", encoding="utf-8") as file:
                text = file.read()
            assert ("<text>CPU 2</text>" in text) == (not options), options
            assert ("CPUs 0,2, sum" in text) == (options == ["--cpu", "sum"]), options
        refused(folder.call("report", "-i", store, "--cpu", "1"), 1, "CPU 1", "CPUs 0,2")
    refused(FOLDER.call("export", "--cpu", "0"), 1, "--cpu", "-a")


def test_plot_keep():
    r"""plot --keep-script: leaves script and data in the folder"""
    expect(FOLDER.call("plot", "-o", "kept.png", "--keep-script", "kept"), 0)
    assert len(os.listdir(FOLDER / "kept")) >= 2, os.listdir(FOLDER / "kept")


def test_plot_drawing():
    """plot -o -: characters in the requested size, without colours if the output is no terminal"""
    text = expect(FOLDER.call("plot", "-o", "-", "--size", "90x50"), 0).stdout
    lines = text.rstrip("\n").splitlines()
    assert 20 < len(lines) <= 51 and max(map(len, lines)) <= 90 and "\033" not in text, text
    assert not os.path.exists(FOLDER / "-")


def test_events():
    """events: counters, sets and their events; with names, only these"""
    answer = expect(FOLDER.call("events"), 0)
    for word in ["hardware", "software", "sim", "arm1176", "generic", "minor_faults"]:
        assert word in answer.stdout, answer.stdout
    simulated = "sim:" + (FOLDER / "script.sim")
    one = expect(FOLDER.call("events", "--pmu", simulated, "--sets", "arm1176"), 0).stdout
    assert "generic" not in one and "instructions" in one and not re.search(r" no$", one, re.M), one
    longer = expect(FOLDER.call("events", "--pmu", simulated, "--explain"), 0).stdout
    assert len(longer) > len(answer.stdout), longer
    use = " ".join(expect(FOLDER.call("events", "--sets", "software", "--explain"), 0).stdout.split())
    assert "waited for a CPU, or slept, for the rest of the time. This metric does not show which" in use


def test_events_names():
    """events NAME: status 0 if it can be counted, 1 if not, 2 if it is unknown"""
    denied = FOLDER.write("denied.sim", "fail r0b denied\nphase a 1s\n")
    simulated = ["events", "--pmu", "sim:" + (FOLDER / "script.sim")]
    good = expect(FOLDER.call(*simulated, "r07"), 0)
    heading, line = good.stdout.splitlines()
    assert heading.split() == ["Event", "Encoding", "Counted"], good.stdout
    assert line.split()[0] == "r07" and line.split()[-1] == "yes", good.stdout
    bad = expect(FOLDER.call("events", "--pmu", "sim:" + denied, "r07", "r0b"), 1)
    _, counted, refusal, reason = bad.stdout.splitlines()
    assert counted.split()[-1] == "yes" and refusal.split()[-1] == "no" and reason.strip(), bad.stdout
    refused(FOLDER.call("events", "no_such_event"), 2, "no_such_event")
    mixed = expect(FOLDER.call("events", "no_such_event", "task-clock"), 2)
    assert "task-clock" in mixed.stdout and "no_such_event" in mixed.stderr, mixed


# --- where they write -------------------------------------------------------------------------


def test_full():
    """a full standard output is a failure of each command, with one sentence"""
    for arguments in [["report"], ["runs"], ["export"], ["events"], ["--help"], ["--version"],
                      ["plot", "-o", "-"], ["report", "-o", "/dev/full"]]:
        with open("/dev/full", "w") as full:
            answer = FOLDER.call(*arguments, stdout=full)
        expect(answer, 1)
        assert answer.stderr.count("\n") == 1, (arguments, answer.stderr)
        assert "No space left" in answer.stderr, (arguments, answer.stderr)


def test_closed():
    """a closed standard output is a failure, and no file gets its descriptor"""
    for arguments in [["report"], ["runs"], ["export"]]:
        answer = FOLDER.call(*arguments, stdout=None, preexec_fn=lambda: os.close(1))
        expect(answer, 1)
        assert answer.stderr.count("\n") == 1, answer.stderr
    expect(FOLDER.call("runs"), 0)


def test_pipe():
    """a reader that closes the pipe gives no message"""
    for ignored, status in [(False, -signal.SIGPIPE), (True, 1)]:
        reader, writer = os.pipe()
        os.close(reader)

        def prepare(handler=signal.SIG_IGN if ignored else signal.SIG_DFL):
            signal.signal(signal.SIGPIPE, handler)
        answer = FOLDER.call("runs", stdout=writer, preexec_fn=prepare, restore_signals=False)
        os.close(writer)
        expect(answer, status)
        assert not answer.stderr, answer.stderr


def test_no_folder():
    """a missing output folder, or a folder as the output, is reported"""
    for command in READING:
        ending = ".png" if command == "plot" else ".txt"
        refused(FOLDER.call(command, "-o", "none/x" + ending), 1, "none")
    refused(FOLDER.call("report", "-o", "."), 1, "directory")


def test_not_the_store():
    """the store cannot be its own output"""
    before = FOLDER.read("rpistat.data")
    for command in READING:
        refused(FOLDER.call(command, "-o", "rpistat.data"), 2, "rpistat.data", "input")
        refused(FOLDER.call(command, "-o", "./../%s/rpistat.data" % os.path.basename(FOLDER.path)),
                2, "input")
    assert FOLDER.read("rpistat.data") == before


def test_whole_or_nothing():
    """an output that cannot be written completely leaves the earlier file, and nothing else"""
    if is_sanitized():
        raise tap.Skip("a build that counts lines cannot write its counts either")
    copy_store(FOLDER)  # without a journal, only the output grows
    FOLDER.write("old.csv", "precious\n", 0o640)
    before = sorted(os.listdir(FOLDER.path))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    refused(FOLDER.call("export", "-i", "copy.data", "-o", "old.csv", preexec_fn=limit), 1,
            "cannot write the export: File too large")
    assert FOLDER.read("old.csv") == b"precious\n"
    assert sorted(os.listdir(FOLDER.path)) == before
    expect(FOLDER.call("export", "-i", "copy.data", "-o", "old.csv"), 0)
    assert FOLDER.read("old.csv").startswith(b"run,")
    assert os.stat(FOLDER / "old.csv").st_mode & 0o777 == 0o640
    assert sorted(os.listdir(FOLDER.path)) == before


def test_output_link():
    """an output that is a link is followed, and a device is written directly"""
    FOLDER.write("target.txt", "")
    os.symlink("target.txt", FOLDER / "link.txt")
    expect(FOLDER.call("report", "-o", "link.txt"), 0)
    assert os.path.islink(FOLDER / "link.txt")
    assert len(FOLDER.read("target.txt")) > 100
    expect(FOLDER.call("report", "-o", "/dev/null"), 0)
    assert not os.path.isfile("/dev/null")


# --- what they cannot read ----------------------------------------------------------------------


def bad_store(make, words):
    """Each reading command refuses the store that make(folder) returns, and leaves it unchanged."""
    with Folder() as folder:
        path = make(folder)
        before = None
        if os.path.isfile(path):
            with open(path, "rb") as file:
                before = file.read()
        for command in READING:
            refused(folder.call(command, "-i", path), 1, *words)
        if before is not None:
            with open(path, "rb") as file:
                assert file.read() == before, "the file was changed"


def foreign(folder):
    store = sqlite3.connect(folder / "other.db")
    store.execute("CREATE TABLE run (a)")
    store.commit()
    store.close()
    return folder / "other.db"


def make_folder(folder):
    os.mkdir(folder / "dir.data")
    return folder / "dir.data"


def truncated(folder):
    path = copy_store(folder)
    os.truncate(path, os.path.getsize(path) // 2)
    return path


BAD_STORES = [
    ("a store that is not there", lambda folder: folder / "missing.data", ["missing.data"]),
    ("a store in a folder that is not there", lambda folder: folder / "none/x.data", ["x.data"]),
    ("a folder", make_folder, ["dir.data is a directory"]),
    ("a text file", lambda folder: folder.write("notes.txt", "hello\n" * 100), ["notes.txt"]),
    ("another program that uses SQLite", foreign, ["other.db"]),
    ("a store from a newer version",
     lambda folder: spoil(folder, "PRAGMA user_version = 100000"), ["newer", "copy.data"]),
    ("half a store", truncated, ["copy.data"]),
]


def test_empty_store():
    """a store without runs: `runs` says so, the other commands fail"""
    with Folder() as folder:
        path = spoil(folder, "PRAGMA foreign_keys = ON",
                     *["DELETE FROM %s" % table for table in tables()])
        answer = expect(folder.call("runs", "-i", path), 0)
        assert "no runs" in answer.stdout and answer.stdout.count("\n") == 1, answer.stdout
        for command in ["report", "plot", "export"]:
            refused(folder.call(command, "-i", path), 1, "copy.data")


def tables():
    store = sqlite3.connect(FOLDER / "rpistat.data")
    names = [row[0] for row in store.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    store.close()
    return names


def test_empty_file():
    """an empty file is a store without runs, or the message says that it is none"""
    with Folder() as folder:
        path = folder.write("empty.data", "")
        answer = folder.call("runs", "-i", path)
        if answer.returncode == 0:
            assert "no runs" in answer.stdout, answer.stdout
        else:
            refused(answer, 1, "empty.data")
        for command in ["report", "plot", "export"]:
            refused(folder.call(command, "-i", path), 1, "empty.data")


def test_no_permission():
    """a store without read permission is reported"""
    with Folder() as folder:
        os.chmod(copy_store(folder), 0)
        for command in READING:
            refused(folder.call_as_user(command, "-i", "copy.data"), 1, "copy.data")


def test_read_only():
    """a store in a read-only folder can be read"""
    with Folder() as folder:
        os.mkdir(folder / "closed")
        path = copy_store(folder, "closed/copy.data")
        os.chmod(path, 0o444)
        os.chmod(folder / "closed", 0o555)
        try:
            for command in ["runs", "report"]:
                expect(folder.call_as_user(command, "-i", "closed/copy.data"), 0)
        finally:
            os.chmod(folder / "closed", 0o755)


def test_unknown_run():
    """for an unknown run the message names existing runs"""
    for command in ["report", "plot", "export"]:
        for text in ["99", "nobody", "last-7", "0", "-1", ""]:
            refused(FOLDER.call(command, "-r", text), 1)
        refused(FOLDER.call(command, "-r", "nobody"), 1, "nobody")


def test_empty_part():
    """a part without periods: all commands refuse it with one sentence, and leave no file"""
    formats = [["phases", "--format", name] for name in ("text", "json", "csv")]
    formats += [["export", "--format", name] for name in ("wide", "rates", "long")]
    before = sorted(os.listdir(FOLDER.path))
    for command in [["report"], ["report", "--cpu", "each"], ["plot"], ["plot", "-o", "no.png"],
                    ["plot", "--kind", "heat", "-o", "no.svg"], *formats]:
        for part in [["--from", "25s"], ["--from", "90d", "--to", "91d"], ["--to", "1ms"]]:
            for output in [[], ["-o", "no.svg"]]:
                answer = refused(FOLDER.call(*command, *output, *part), 1)
                assert answer.stderr == ("rpistat: run 2 has no measurement periods in this range; "
                                         "choose a longer one within its 25.0 s\n"), answer
    assert sorted(os.listdir(FOLDER.path)) == before


def test_no_gnuplot():
    """without gnuplot, plot reports this and leaves nothing"""
    os.makedirs(FOLDER / "nothing", exist_ok=True)
    before = sorted(os.listdir(FOLDER.path))
    refused(FOLDER.call("plot", "-o", "x.svg", env=environment(PATH=FOLDER / "nothing")), 1,
            "gnuplot")
    assert sorted(os.listdir(FOLDER.path)) == before


def test_plot_ending():
    """a file name that ends in no picture format is refused"""
    answer = FOLDER.call("plot", "-o", "x.doc")
    assert answer.returncode in (1, 2), answer
    refused(answer, answer.returncode, "x.doc", ".png")


def test_hostile_text():
    """control characters in a store do not reach the terminal"""
    with Folder() as folder:
        path = spoil(folder, "UPDATE run SET label = 'a' || char(27) || '[2Jb', "
                             "command = json_array('x' || char(27) || '[2J', char(10))")
        for command in ["runs", "report"]:
            answer = expect(folder.call(command, "-i", path), 0)
            assert "\033" not in answer.stdout, answer.stdout
        answer = refused(folder.call("report", "-i", path, "-r", "\033[2J"), 1)
        assert "\033" not in answer.stderr, answer.stderr


with FOLDER:
    tap.main([
        test_runs, test_runs_local_time, test_report, test_report_explain, test_report_part,
        test_report_locale, test_cpu_use, test_not_known, test_export_wide, test_export_totals, test_export_part,
        test_export_formats, test_export_dialect, test_plot, test_cpus, test_plot_keep, test_plot_drawing, test_events,
        test_events_names, test_full, test_closed, test_pipe, test_no_folder, test_not_the_store,
        test_whole_or_nothing, test_output_link,
        *[("refused: " + name, bad_store, make, words) for name, make, words in BAD_STORES],
        test_empty_store, test_empty_file, test_no_permission, test_read_only, test_unknown_run,
        test_empty_part, test_no_gnuplot, test_plot_ending, test_hostile_text,
    ])
