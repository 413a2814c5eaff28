"""The whole text of each output, compared with a golden file: the one test of its wording.

usage: golden.py RPISTAT

Other tests check values. After a change of words, renew the files and read the difference:

    RPISTAT_GOLDEN=write python3 tests/cli/golden.py build-tests/src/cli/rpistat
    git diff tests/data/text

The runs are simulated, so their values are exact. What depends on the machine is masked with "...".
"""
import contextlib
import json
import os
import pty
import re
import sqlite3
import subprocess

from program import RPISTAT, TIMEOUT, Folder, Recording, environment, expect, shown_on, tap

import words

SCRIPT = """\
clock 700M
seed 1
noise 3%
task main 100
function main 0x1000 0x100 main.c:10
function load 0x2000 0x200 load.c:7
function solve 0x3000 0x200 solve.c:40
default threads=4 in=lock:1 wait=10% rss=10M code=main>load instructions=200M branches=20M branch_miss=1M
phase load 8s dc_access=50M dc_miss=2M
phase solve 6s dc_access=50M dc_miss=6M wait=40% code=main>solve
sleep 4s
phase load 8s dc_access=50M dc_miss=2M
phase solve 6s dc_access=50M dc_miss=6M wait=40% code=main>solve
"""
# A loop, with a first part, in which a phase waits in a lock.
LOOP = """\
seed 1
noise 3%
task main 100
function main 0x1000 0x100 main.c:10
function lock 0x2000 0x100 lock.c:3
default instructions=200M code=main
phase start 6s instructions=50M
repeat 5
phase b 5s
phase c 3s instructions=400M dc_miss=6M
sleep 2s code=main>lock
end
"""
# A CPU limit, time that a hypervisor took, energy, waits and idle threads; and threads that only wait.
SYSTEM = """\
default threads=6 wait=50% g_throttled=750ms m_steal=100ms p_energy=12.5J
phase work 4s in=io:1
sleep 6s in=lock:2,timer:1 idle=3
"""
STUCK = "sleep 10s threads=3 in=lock:2 idle=1 futex=3 wait=0%\n"
VARYING = [
    (r"(?m)^(  (?:Number of processors|Processor|Host|Kernel|Started|Recorder's CPU time): +).*$", r"\1..."),
    (r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "..."),  # times of day
]
DATA = os.path.join(tap.root(), "tests", "data", "text")


def path_of(name):
    return os.path.join(DATA, name + ".txt")


def compare(name, text):
    """Compare the text, with varying parts masked, with its golden file. The file is written first on request."""
    for pattern, mask in VARYING:
        text = re.sub(pattern, mask, text)
    if os.environ.get("RPISTAT_GOLDEN") == "write":
        os.makedirs(DATA, exist_ok=True)
        with open(path_of(name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(path_of(name), encoding="utf-8") as file:
        wanted = file.read()
    assert text == wanted, "%s differs:\n%s" % (path_of(name), text)


def on_terminal(folder, *arguments):
    """The output of a successful command on a terminal."""
    leader, follower = pty.openpty()
    status = subprocess.run([RPISTAT, *arguments], cwd=folder.path, stdin=follower, stdout=follower, stderr=follower,
                            env=environment(TERM="dumb"), check=False, timeout=TIMEOUT).returncode
    os.close(follower)
    shown = shown_on(leader)
    os.close(leader)
    assert status == 0, shown
    return shown.replace(RPISTAT, "rpistat")


def record(folder):
    """Record runs 1 and 2, which differ, and run 3, the loop. Return the output of the first recording."""
    shown = []
    for name, script in (("before", SCRIPT), ("after", SCRIPT.replace("dc_miss=6M", "dc_miss=4M")), ("loop", LOOP)):
        folder.write(name + ".sim", script)
        options = ["--wall"] if name == "loop" else ["--label", name]
        shown.append(on_terminal(folder, "record", "--frequency", "100", "--pmu", "sim:%s.sim" % name, *options))
    return shown[0]


def check_texts():
    """the text of each command about recorded runs equals its golden file"""
    with Folder() as folder:
        compare("record", record(folder))
        for name, arguments in CALLS:
            answer = expect(folder.call(*arguments), 0)
            compare(name, answer.stderr + answer.stdout)


CALLS = [
    ("report", ["report", "-r", "1"]),
    ("report_part", ["report", "-r", "1", "--from", "8s", "--to", "14s"]),
    ("phases", ["phases", "-r", "1"]),
    ("phases_loop", ["phases", "-r", "3"]),
    ("code", ["code", "-r", "1"]),
    ("code_part", ["code", "-r", "1", "B"]),
    ("explain", ["explain", "1", "--from", "8s", "--to", "14s"]),
    ("code_wall", ["code", "-r", "3", "--wall"]),
    ("code_latency", ["code", "-r", "1", "--latency"]),
    ("compare", ["compare", "1", "2"]),
    ("runs", ["runs"]),
    ("events", ["events", "--pmu", "sim:before.sim", "--sets", "arm1176"]),
    ("check", ["check"]),
    ("watch", ["watch", "-r", "1", "--once"]),
]


def check_help():
    """the help of the program and of each command equals its golden file"""
    with Folder() as folder:
        compare("help", expect(folder.call("--help"), 0).stdout)
        for name in json.loads(expect(folder.call("help", "--format", "json"), 0).stdout)["commands"]:
            compare("help_" + name["name"], expect(folder.call(name["name"], "--help"), 0).stdout)


def check_history():
    """the text of a history, with an outlier and a level since run 8, is that of its golden file"""
    with Folder() as folder:
        for run in range(1, 13):
            folder.write("script.sim", "seed %d\nnoise 3%%\nphase a %ss instructions=200M\n"
                         % (run, 9 if run == 4 else (4.24 if run > 7 else 4) + run % 3 * .02))
            folder.record("-q", "--label", "main", "--tag", "commit=%s" % ("new" if run > 7 else "old"))
        with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store, store:
            store.execute("UPDATE run SET start_realtime_ns = 1790000000000000000 + run_id * 3600000000000")
            store.execute("UPDATE run SET kernel = iif(run_id > 7, '7.0', '6.1')")
            store.execute("UPDATE run SET exit_status = 1 WHERE run_id = 12")
        compare("history", expect(folder.call("history", "main", "--fail-if", "elapsed>+3%"), 3).stdout)


def check_answers():
    """the first lines of reports with system metrics equal their golden files"""
    with Folder() as folder:
        for name, script in (("system", SYSTEM), ("deadlock", STUCK)):
            folder.write("script.sim", script)
            folder.record("-q")
            text = expect(folder.call("report"), 0).stdout
            compare("report_" + name, text[:text.index("\nSystem information")])
        with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store, store:
            for table in "period", "rollup":
                store.execute("UPDATE %s SET cpu = 0 WHERE run_id = 1" % table)  # like a recording by CPU
        text = expect(folder.call("report", "-r", "1", "--cpu", "each"), 0).stdout
        compare("report_cpus", text[text.index(words.PER_CPU):])


def check_status():
    """the text of status equals its golden file, with numbers and names masked"""
    with Folder() as folder, Recording(folder, "rpistat.data"):
        text = expect(folder.call("status"), 0).stdout
        head = text.splitlines()[0]
        line, = [one for one in text.replace(os.path.realpath(folder.path), "DIR").splitlines() if " DIR/" in one]
        line = re.sub(r"\d+(\.\d+)?( [KM]iB| s)?|(?<= )-(?= )", "N", line)
        line = re.sub(r"^\S+(.*) (recording|late) ", r"user\1 recording ", line)
        text = re.sub(r" +", " ", head + "\n" + line + "\n")
        if " LABEL " in text:  # another recorder on this machine has a label
            text = text.replace(" LABEL ", " ").replace(" N recording ", " recording ")
        compare("status", text)


def check_words():
    """each constant that other tests search for occurs in a golden file"""
    texts = ""
    for name in sorted(os.listdir(DATA)):
        with open(os.path.join(DATA, name), encoding="utf-8") as file:
            texts += file.read()
    for name, word in vars(words).items():
        assert not name.isupper() or word in texts or word in " ".join(texts.split()), "%s is in no golden file: %s" % (name, word)


tap.main([check_texts, check_help, check_history, check_answers, check_status, check_words])
