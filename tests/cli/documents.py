"""Each command that a document shows is run as it stands: README.md, examples/README.md,
schema/README.md, and the examples of the manual page and of every --help.

It is run in a folder that has what the documents name: programs, event sets, runs by their labels.
What takes long, or stands for something of the reader's, is changed by a table, and what is run
elsewhere is left out by another; each row of both must be used. A command that needs the processor's
counters, or other rights, may say that there are none.
"""
import atexit
import glob
import itertools
import json
import os
import re
import shutil
import subprocess

from program import COMMANDS, TIMEOUT, Folder, RPISTAT, call, environment, expect, tap

import samples  # noqa: E402, in support

AUTOMATION = "src/man/rpistat-automation.7.scd"
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(RPISTAT)))

# Commands that other tests run.
ELSEWHERE = [
    r"sh examples/quickstart$",  # it builds everything from the start
    r"sh tests/run$",  # this test is a part of it
    r"(sh examples/package/deb|apt install .*)$",  # cli/package
    r"rpistat stop\b",  # cli/status: it would end other recordings on this machine
    r"rpistat verify\b(?!.* jq )",  # cli/verify, alone on the machine
    r"rpistat watch (--on loop-end|-q --until)",  # cli/watch: they wait for a recording
    r"rpistat watch --http$",    # cli/live_page
    r"rpistat phases --csv sensors.csv\b",  # cli/phases
    r"rpistat push\b",           # cli/push
]

# Commands that are shortened here, or whose objects belong to the reader.
CHANGED = [
    (r"-p 1234(.*) --duration (1m|80s)\b", r"-p $READERS\1 --duration 600ms"),
    (r"record -a(?!.*--)", "record -a --duration 200ms"),
    # too few samples of an idle machine for a table
    (r"rpistat record -a -q --keep",
     "timeout 2 sh -c 'while :; do :; done' & rpistat record -a -q --duration 1s --keep"),
    (r"--chases 100000000\b", "--chases 3000000"),
    (r"--turns 300000000\b", "--turns 3000000"),
    (r"--numbers 60000000\b", "--numbers 600000"),
    (r"--order compute:5s,chase-large:5s,compute:5s", "--order compute:50ms,chase-large:50ms,compute:50ms"),
    (r"--length [25]s", "--length 50ms"),
    (r"--length 6s --after 3s", "--length 600ms --after 300ms"),
    (r"--repeat (5|10)\b", "--repeat 2"),
    (r"elapsed>\+3%'", "elapsed>+900%' --inconclusive pass"),
    (r"rpistat history (main|commit)\b", "rpistat history 1-9"),
    (r"--from 14:20 --to 14:30", "--from 0 --to 10m"),
    # Other processes run here, so a deviation is allowed.
    (r"rpistat verify --format json", "{ rpistat verify --format json || [ $? = 1 ]; }"),
    (r"explain --from 3.2s --to 5s", "explain --from 0 --to 100ms"),
    (r"explain last-1 --from 10s --to 20s --against 30s,40s", "explain last-1 --from 0 --to 100ms --against 100ms,200ms"),
    (r"explain --from phase:B --to phase:B", "explain --from 0 --to 100ms"),
    (r"flamegraph\.pl", "cat"),
    (r"--function inflate", "--function solve"),
    (r"phase:[BC]\b", "phase:A"),  # such a short run on a busy machine may have only one phase
    (r"rpistat code --wall$", "rpistat record --wall -q -o wall.data ./program && rpistat code --wall -i wall.data"),
    (r"rpistat code( -i slow.data)? B\b", r"rpistat code\1 A"),
    (r"build/examples/latency$", "build/examples/latency --sizes 32,1024"),
    (r"build/examples/latency(?= --sizes)", "build/examples/latency --samples 100"),
    (r"build/examples/micro --self", "build/examples/micro --self --turns 10000"),
    (r"build/examples/decimal --self", "build/examples/decimal --self --numbers 10000"),
    (r"build/examples/chase --self", "build/examples/chase --self --chases 10000"),
]

# What a machine or user may not have, as reported by rpistat or its examples.
LACKING = r"nothing can be counted|counters cannot be used|no such control group|not permitted|tracefs"

# Works, then sleeps: two phases. With --control, sets two marks.
PROGRAM = """#!/bin/sh
i=0
[ ! -p ctl ] || echo mark warm >ctl
while [ $i -lt 30000 ]; do i=$((i + 1)); done
sleep .4
[ ! -p ctl ] || { sleep .2; echo mark done >ctl; sleep .2; }
"""


def indented(text):
    """The commands of a document, from indented or fenced lines, each once."""
    found, fenced = [], False
    for line in text.split("\n"):
        if found and (found[-1].count("'") % 2 or found[-1].count('"') % 2):
            found[-1] += " " + line.strip()
            continue
        fenced ^= line.startswith("```")
        match = re.match(r" *(\S.*)" if fenced else r"  +(\S.*)", line)
        if match and re.match(r"(rpistat|sqlite3|sh|for|apt|cat|build/examples/\w+)( |$)(?!=)", match.group(1)):
            found.append(re.sub(r" {3,}.*", "", match.group(1)))
    return list(dict.fromkeys(found))


def document(name):
    with open(os.path.join(tap.root(), name), encoding="utf-8") as file:
        return indented(file.read())


def examples(command):
    text = expect(call(command, "--help"), 0).stdout
    return indented(text[text.index("\nExamples:"):])


def manual():
    """the examples of each manual page that no --help has"""
    helped = {command for name in COMMANDS for command in examples(name)}
    pages = set(glob.glob(os.path.join(tap.root(), "src", "*", "*.scd*"))) - {os.path.join(tap.root(), AUTOMATION)}
    assert len(pages) > 8, pages
    return list(dict.fromkeys(command for page in sorted(pages) for command in document(page)
                              if command not in helped))


class Place(Folder):
    """A folder for the commands of one document. Places with the same number of runs have copies of the same store."""

    first = {}  # {number of runs: the first place with this many}

    def __init__(self, count):
        super().__init__()
        self.count = count

    def make_stores(self):
        for number in range(1, self.count + 1):
            self.record("--label", "run%d" % number)
        expect(self.call("phases"), 0)
        for run in range(1, self.count + 1):
            code = samples.Code(self / "rpistat.data", run)
            for period in range(250):
                code.add(period, ["main", ("solve", "/bin/prog", "solve.c", 40)])
            code.write()
        for name in ("naive.data", "long.data"):
            expect(self.call("check", "--repair", "-o", name), 0)
        expect(self.call("runs", "-i", "naive.data", "1", "--set-tag", "build=42"), 0)

    def __enter__(self):
        super().__enter__()
        os.mkdir(self / "bin")
        os.makedirs(self / "config/rpistat")
        self.write("config/rpistat/config", "order = fixed\nfrequency = 997\n")  # the programs are short
        for name in ("program", "spin", "server", "old", "new", "bin/plot", "bin/ninja", "bin/node"):
            self.write(name, PROGRAM, 0o755)
        os.symlink(RPISTAT, self / "bin/rpistat")
        os.symlink(BUILD, self / "build")
        os.symlink(os.path.join(tap.root(), "examples"), self / "examples")
        for name in ("run.csv", "run.json"):
            shutil.copy(os.path.join(tap.root(), "tests/data/import", name.replace("run", "perf-task")), self / name)
        for name in ("dstat.csv", "run.nmon", "atop.txt", "turbostat.txt", "activity.txt", "top.txt", "likwid.txt",
                     "grafana.csv", "docker.txt", "hyperfine.json", "benchmark.json"):
            shutil.copy(os.path.join(tap.root(), "tests/data/import", name), self / name)
        os.symlink(os.path.join(BUILD, "examples", "naive"), self / "naive")
        for name in ("my-events.ini", "mine.ini"):
            shutil.copy(os.path.join(tap.root(), "src", "events", "sets", "software.ini"), self / name)
        self.write("load.csv", "Timestamp,requests,temperature\n" +
                   "".join("%d,%d,%.1f\n" % (n, 100 + n % 7, 50 + n / 10) for n in range(1, 60)))
        self.write("days.csv", "when,requests\n" + "".join("%02d/03/2026 10:00,%d\n" % (n, 100 + n % 7) for n in range(1, 30)))
        first = self.first.setdefault(self.count, self)
        if self.count and first is self:
            self.make_stores()
        elif self.count:
            for name in os.listdir(first.path):
                if name.startswith(("rpistat.", "naive.data", "long.data")):
                    shutil.copy(first / name, self / name)
        self.readers = subprocess.Popen(["sleep", "600"])
        atexit.register(self.readers.kill)
        return self

    def __exit__(self, *unused):
        self.readers.kill()
        self.readers.wait()
        super().__exit__(*unused)


def check(place, command):
    """Run one command of a document as a shell would."""
    for tool in re.findall(r"(?:^|\| )(sqlite3|jq|column)\b", command):
        if not shutil.which(tool):
            raise tap.Skip("%s is not installed" % tool)
    for pattern, by in CHANGED:
        command = re.sub(pattern, by, command)
    env = environment(PATH=place / "bin" + ":" + os.environ["PATH"], READERS=str(place.readers.pid),
                      XDG_CONFIG_HOME=place / "config")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=place.path, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=TIMEOUT)
    fails = done.returncode != 0 or not done.stdout and " jq " in command
    if fails and re.search(LACKING, done.stderr + done.stdout):
        raise tap.Skip(done.stderr.strip() or done.stdout.splitlines()[-1])
    assert done.returncode == 0, "%s: status %d, %s" % (command, done.returncode, done.stderr)
    return done.stdout


def check_answer(place, command):
    """A line of rpistat-automation(7) prints an answer for a real recording."""
    text = check(place, command)
    if " jq " not in command:
        return
    assert text.strip(), command
    for line in text.splitlines() if "jq -r" not in command else []:
        value = json.loads(line)
        assert value not in (None, [], "") and not (isinstance(value, list) and set(value) == {None}), (command, line)


def test_automation():
    """rpistat-automation(7) has a question for each command, and a line for each command that writes JSON"""
    with open(os.path.join(tap.root(), AUTOMATION), encoding="utf-8") as file:
        page = file.read()
    for row in json.loads(expect(call("help", "--format", "json"), 0).stdout)["commands"]:
        writes = any(option["name"] == "format" and "json" in option["choices"] for option in row["options"])
        part = page.split("\n## %s\n" % row["answers"])
        if not writes and len(part) == 1:
            assert "|  %s\n:  *rpistat-%s*(1)\n" % (row["answers"], row["name"]) in page, row
            continue
        lines = indented(part[1].split("\n#")[0])
        assert lines and all(line.startswith("rpistat %s " % row["name"]) for line in lines), (row, lines)
        assert not writes or all(" --format json | jq " in line for line in lines), lines


def test_tables(shown):
    """each row of the tables is used"""
    for pattern in ELSEWHERE + [pattern for pattern, _ in CHANGED]:
        assert any(re.search(pattern, command) for command in shown), "nothing is like " + pattern
    assert len(shown) > 80, len(shown)


def main():
    groups = [[("README.md", document("README.md"), 0)], [("examples/README.md", document("examples/README.md"), 0)],
              [("schema/README.md", document("schema/README.md"), 1), ("manual", manual(), 2),
               (AUTOMATION, document(AUTOMATION), 2)],
              [(command + " --help", examples(command), 3) for command in COMMANDS]]
    assert all(commands for group in groups for _, commands, _ in group), groups
    shown = [command for group in groups for _, commands, _ in group for command in commands]
    cases = []
    for name, commands, runs in itertools.chain.from_iterable(tap.quarter(groups)):
        place = Place(runs).__enter__()
        atexit.register(place.__exit__)
        run = check_answer if name == AUTOMATION else check
        cases += [("%s: %s" % (name, command), run, place, command) for command in commands
                  if not any(re.match(pattern, command) for pattern in ELSEWHERE)]
    tap.main(cases + [test_automation, ("every row of the tables is used", test_tables, shown)])


main()
