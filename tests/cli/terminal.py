"""What is shown on a terminal: widths, colours, the status line."""
import contextlib
import fcntl
import os
import pty
import re
import select
import sqlite3
import struct
import subprocess
import termios

import program
from program import RPISTAT, Folder, counting, environment, expect, tap

FOLDER = Folder(runs=1)


def on_terminal(*arguments, columns=80, lines=24, stdout=True, stderr=False, env=None, cwd=None):
    """Run with a terminal for the streams asked for; returns (status, what it showed)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [RPISTAT, *arguments], stdin=subprocess.DEVNULL, cwd=cwd or FOLDER.path,
        stdout=slave if stdout else subprocess.DEVNULL,
        stderr=slave if stderr else subprocess.DEVNULL, env=env or environment(TERM="xterm"))
    os.close(slave)
    shown = b""
    while select.select([master], [], [], program.TIMEOUT)[0]:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    return process.wait(program.TIMEOUT), shown.decode("utf-8", "replace").replace("\r\n", "\n")


def test_runs_width():
    """runs: the command is cut to the width of the terminal, and to nothing less elsewhere"""
    expect(FOLDER.call(*counting(), "-o", "long.data", "true",
                       *["argument%d" % n for n in range(40)]), 0)
    for columns in [60, 80, 100, 120, 200]:
        status, shown = on_terminal("runs", "-i", "long.data", columns=columns)
        lines = shown.splitlines()
        assert status == 0 and len(lines) == 2, shown
        assert len(lines[1]) == columns and lines[1].endswith("..."), (columns, lines[1])
        assert lines[1].index("true arg") == lines[0].index("COMMAND"), shown
    whole = FOLDER.call("runs", "-i", "long.data").stdout
    assert "argument39" in whole, whole


def test_runs_wide_characters():
    """runs: columns stay aligned when a label has wide characters"""
    FOLDER.record("-o", "wide.data", "--label", "日本")
    FOLDER.record("-o", "wide.data", "--label", "müßig")
    status, shown = on_terminal("runs", "-i", "wide.data", columns=80,
                                env=environment(TERM="xterm", LC_ALL="C.UTF-8"))
    lines = shown.splitlines()
    assert status == 0 and len(lines) == 3, shown
    assert lines[1].index("complete") + 2 == lines[2].index("complete"), shown
    assert lines[2].index("complete") == lines[0].index("STATE"), shown


def test_drawing_size():
    """plot -o -: fits the terminal, or what COLUMNS and LINES say"""
    for columns, lines, env in [(80, 30, {}), (132, 50, {}), (80, 24, {"COLUMNS": "100",
                                                                    "LINES": "40"})]:
        status, shown = on_terminal("plot", "-o", "-", columns=columns, lines=lines,
                                    env=environment(TERM="xterm", NO_COLOR="1", **env))
        rows = shown.rstrip("\n").splitlines()
        assert status == 0, shown
        assert len(rows) <= int(env.get("LINES", lines)), (len(rows), shown)
        assert max(map(len, rows)) <= int(env.get("COLUMNS", columns)), shown
        assert len(rows) > 10, shown


def test_drawing_of_nine():
    """plot -o -, watch: of nine panels those that fit are drawn, and the others named below"""
    FOLDER.record("-o", "nine.data", *[word for name in ("one", "two", "three") for word in
                                       ("--metric", "extra_%s=instructions/seconds" % name)])
    titles = ["Cycles per instruction", "Front-end stalls", "Data cache miss ratio", "TLB misses per",
              "Branches per", "Mispredicted branches", "extra_one", "extra_two", "extra_three"]
    for columns, lines, panels in [(80, 24, 4), (60, 24, 4), (132, 24, 4), (80, 40, 8), (80, 43, 9)]:
        env = environment(TERM="xterm", NO_COLOR="1", LC_ALL="C.UTF-8")
        status, shown = on_terminal("plot", "-i", "nine.data", "-o", "-",
                                    columns=columns, lines=lines, env=env)
        rows = shown.rstrip("\n").splitlines()
        drawn, _, named = shown.partition("\nLeft out (plot --panel): ")
        assert status == 0 and len(rows) < lines and max(map(len, rows)) <= columns, shown
        assert [title for title in titles if title in drawn] == titles[:panels], shown
        assert [title for title in titles if title in named] == titles[panels:], shown
        assert ("%d of 9 panels fit ·" % panels in rows[1]) == (panels < 9), shown
    status, shown = on_terminal("watch", "-i", "nine.data", columns=80, lines=24, env=env)
    assert status == 0 and len(shown.rstrip("\n").splitlines()) < 24, shown
    assert "3 of 9 panels" in shown and re.search(r"^Left out .*TLB misses per", shown, re.M), shown


def test_small():
    """plot -o -, watch, runs, report: terminals of any size, from one character on"""
    for columns, lines in [(1, 1), (5, 24), (12, 3), (19, 50), (30, 1)]:
        env = environment(TERM="xterm", COLUMNS=str(columns), LINES=str(lines))
        for command in ["watch", "runs", "report"]:
            expect(FOLDER.call(command, env=env), 0)
        drawn = expect(FOLDER.call("plot", "-o", "-", env=env), 0).stdout.splitlines()
        assert drawn and max(map(len, drawn)) <= columns, (columns, drawn)
        for command in [["plot", "-o", "-"], ["watch"], ["runs"], ["report"]]:
            status, shown = on_terminal(*command, columns=columns, lines=lines)
            assert status == 0 and shown, (columns, lines, command, shown)


def test_no_color():
    """plot -o -: no colours with NO_COLOR, on a dumb terminal, and where it is none"""
    for env in [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}]:
        status, shown = on_terminal("plot", "-o", "-", env=environment(**env))
        assert status == 0 and "\033" not in shown, repr(shown)
    status, shown = on_terminal("plot", "-o", "-", env=environment(TERM="xterm", NO_COLOR=""))
    assert status == 0, shown


def test_plot_note():
    """plot: says on a terminal where the picture is, but not with -q"""
    status, shown = on_terminal("plot", "-o", "note.svg", stdout=False, stderr=True)
    assert status == 0 and "note.svg" in shown, shown
    status, shown = on_terminal("plot", "-o", "note.svg", "-q", stdout=False, stderr=True)
    assert status == 0 and not shown, shown


def test_status_line():
    """record: a status line on a terminal's standard error, none with -q; the line is taken away"""
    workload = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"]
    record = counting()
    status, shown = on_terminal(*record, *workload, stdout=False, stderr=True)
    assert status == 0 and shown, "nothing was shown"
    status, shown = on_terminal(*record, "-q", *workload, stdout=False, stderr=True)
    assert status == 0 and not shown, shown


def test_end_note():
    """record: the note at the end counts measurement periods, however many CPUs have their own"""
    record = [*counting(), "--period", "10ms", "-o", "cpus.data"]
    two = ["-C", "0,1", "--duration", "200ms"]
    if FOLDER.call(*record, *two).returncode != 0:
        raise tap.Skip("CPUs 0 and 1 cannot be counted")
    for what in [two, ["--", "sleep", "0.2"]]:
        status, shown = on_terminal(*record, *what, stdout=False, stderr=True)
        said = re.search(r"run \d+: (\d+) periods in (\S+ s);", shown)
        assert status == 0 and said, shown
        with contextlib.closing(sqlite3.connect(FOLDER / "cpus.data")) as store:
            number = store.execute("SELECT count(DISTINCT period) FROM period WHERE run_id ="
                                   " (SELECT max(run_id) FROM run)").fetchone()[0]
        listed = FOLDER.call("runs", "-i", "cpus.data").stdout.splitlines()[-1]
        assert int(said.group(1)) == number, (shown, number)
        assert " %s  %7d  " % (said.group(2), number) in listed, (shown, listed)


with FOLDER:
    tap.main([test_runs_width, test_runs_wide_characters, test_drawing_size, test_drawing_of_nine,
              test_small, test_no_color, test_plot_note, test_status_line, test_end_note])
