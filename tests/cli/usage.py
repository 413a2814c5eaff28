"""Wrong usage: one sentence that names the mistake, status 2, and nothing is touched."""
import os

from program import COMMANDS, Folder, call, expect, refused, tap

# Arguments, and words that the sentence must hold.
MISTAKES = [
    (["--bogus", "./x"], ["'--bogus'", "--help"]),
    (["-z", "./x"], ["'-z'", "--help"]),
    (["-qz", "./x"], ["'-z'"]),
    (["report", "--bogus=3"], ["'--bogus=3'", "rpistat report --help"]),
    (["report", "--quiet", "-z"], ["'-z'"]),
    (["report", "--quiet=3"], ["'--quiet' takes no argument"]),
    (["export", "--r", "x"], ["'--r' is the beginning of several"]),
    (["report", "-i"], ["'--input' needs an argument"]),
    (["plot", "--size"], ["'--size' needs an argument"]),
    (["check", "more"], ["'more'", "rpistat check --help"]),
    (["check", "-r", "1"], ["'-r'"]),
    (["runs", "--delete", "1", "--set-label", "x"], ["--delete", "label"]),
    (["runs", "--tag", "x"], ["--tag", "'x'", "KEY=VALUE"]),
    (["runs", "--set-tag", "=x"], ["--set-tag", "'=x'", "KEY=VALUE"]),
    (["runs", "--set-label", "x" * 256], ["--set-label", "256"]),
    (["record"], ["no command"]),
    (["-q"], ["no command"]),
    (["--"], ["no command"]),
    (["-o", "-", "./x"], ["-o -", "file"]),
    (["--pmu", "sim:script.sim", "./x"], ["sim:script.sim"]),
    (["--period", "0", "./x"], ["--period", "1ms", "1h"]),
    (["--period", "-1", "./x"], ["--period", "1ms"]),
    (["--period", "1us", "./x"], ["--period", "1us", "1ms"]),
    (["--period", "2h", "./x"], ["--period", "1h"]),
    (["--period", "abc", "./x"], ["--period", "abc", "100ms"]),
    (["--period", "", "./x"], ["--period"]),
    (["--period", "10 ms", "./x"], ["--period"]),
    (["--duration", "0", "./x"], ["--duration"]),
    (["--duration", "soon", "./x"], ["--duration", "soon"]),
    (["--commit", "-1", "./x"], ["--commit"]),
    (["--durability", "some", "./x"], ["--durability", "some", "normal", "full"]),
    (["--tag", "novalue", "./x"], ["--tag", "novalue", "KEY=VALUE"]),
    (["--tag", "=value", "./x"], ["--tag", "KEY=VALUE"]),
    (["--label", "x" * 300, "./x"], ["--label", "300"]),
    (["--pmu", "nosuch", "true"], ["--pmu", "nosuch"]),
    (["--pmu", "", "true"], ["--pmu"]),
    (["--pmu", "software", "--sets", "nosuch", "true"], ["nosuch"]),
    (["report", "--from", "5", "--to", "5"], ["--from", "--to"]),
    (["report", "--from", "-5"], ["--from"]),
    (["report", "--to", "later"], ["--to", "later"]),
    (["report", "-o", ""], ["-o"]),
    (["plot", "--x", "miles"], ["--x", "miles", "time", "cycles"]),
    (["plot", "--size", "10x10"], ["--size", "10x10", "320x240"]),
    (["plot", "--size", "99999x800"], ["--size", "16384"]),
    (["plot", "--size", "800"], ["--size", "1200x900"]),
    (["plot", "--size", "800x600x400"], ["--size"]),
    (["plot", "--size", "x600"], ["--size"]),
    (["plot", "-o", "-", "--size", "5x5"], ["--size", "characters"]),
    (["plot", "--keep", ""], ["--keep"]),
    (["plot", "--cpu", ""], ["--cpu", "each", "sum", "0-3"]),
    (["report", "--cpu", "all"], ["--cpu", "'all'", "each", "sum"]),
    (["report", "--cpu", "eachone"], ["--cpu", "'eachone'"]),
    (["export", "--cpu", "3-1"], ["--cpu", "3-1"]),
    (["export", "--cpu", "sum,"], ["--cpu"]),
    (["export", "--cpu", "sum,each"], ["--cpu", "each"]),
    (["export", "--format", "xml"], ["xml", "wide", "rates", "long"]),
    (["export", "--separator", "ab"], ["--separator", "ab"]),
    (["export", "--separator", "5"], ["--separator"]),
    (["export", "--separator", ""], ["--separator"]),
    (["export", "--separator", '"'], ["--separator"]),
    (["export", "--decimal", ";"], ["--decimal"]),
    (["export", "--decimal", ","], ["','", "--separator"]),
    (["export", "--decimal", ",", "--separator", ","], ["','"]),
]


def check(arguments, words):
    with Folder() as folder:
        before = sorted(os.listdir(folder.path))
        refused(folder.call(*arguments), 2, *words)
        assert sorted(os.listdir(folder.path)) == before, "files were left behind"


def test_control_characters():
    """control characters of an argument do not reach the terminal"""
    answer = refused(call("report", "--bo\033[31mgus\n"), 2)
    assert "\033" not in answer.stderr, answer.stderr


def test_order():
    """a mistake is found before anything is opened: no store is needed for it to be told"""
    with Folder() as folder:
        for command in COMMANDS:
            refused(folder.call(command, "--nonsense", "x"), 2, "'--nonsense'")


def test_help_wins():
    """--help before a mistake is still help"""
    expect(call("report", "--help", "--nonsense"), 0)


tap.main([("refused: " + " ".join(arguments)[:50] or "nothing", check, arguments, words)
          for arguments, words in MISTAKES] +
         [test_control_characters, test_order, test_help_wins])
