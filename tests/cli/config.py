"""The configuration file and RPISTAT_STORE: their priority, and errors in the file."""
import json
import os
import re
import sqlite3
import subprocess

from program import RPISTAT, Folder, environment, expect, refused, tap

FOLDER = Folder(runs=1)
PATH = "config/rpistat/config"


def configure(text, mode=0o644):
    os.makedirs(FOLDER / "config/rpistat", exist_ok=True)
    return FOLDER.write(PATH, text, mode)


def call(*arguments, **variables):
    variables.setdefault("XDG_CONFIG_HOME", FOLDER / "config")
    return FOLDER.call(*arguments, env=environment(**variables))


def simulate(*options, **variables):
    """Make a simulated recording. Return its period, label and tags."""
    expect(call("record", "--pmu", "sim:script.sim", "-o", "new.data", *options, **variables), 0)
    store = sqlite3.connect(FOLDER / "new.data")
    row = store.execute("SELECT period_ns, label, tags FROM run ORDER BY run_id DESC").fetchone()
    store.close()
    return *row[:2], json.loads(row[2])


def test_options():
    """options in the file are used, and the command line overrides them"""
    configure("# a comment\n\n  period=10ms\n label = from the file \r\ntag = a=b\ntag = c=d\nquiet")
    assert simulate() == (10000000, "from the file", {"a": "b", "c": "d"})
    assert simulate("--peri", "1s", "--tag", "e=f") == (1000000000, "from the file", {"e": "f"})
    answer = call("record", "--pmu", "sim:script.sim", "-o", "new.data")
    assert not answer.stderr, answer.stderr


def test_example():
    """each line of the example file is an option of record, also the lines that are commented out"""
    with open(os.path.join(tap.root(), "examples", "rpistat.config"), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    options = [line.lstrip("#") for line in lines if re.match(r"#?[a-z]", line)]
    assert lines.count("[record]") == 1 and lines.index("[record]") < lines.index("all-cpus")
    assert len(options) > 10 and "period = 1s" in options, options
    for line in options:
        configure("[record]\n%s\n" % line)
        # The wrong script ends the command after its options are read.
        answer = call("record", "--pmu", "sim:none.sim")
        assert answer.returncode in (1, 2) and "rpistat/config" not in answer.stderr, (line, answer)
    configure("\n".join(lines))
    assert call("runs").stdout == FOLDER.call("runs").stdout, "what is recorded is nothing to others"
    configure("[record]\nperiod = fast\n")
    refused(call("record", "--pmu", "sim:none.sim"), 2, "config, line 2", "fast")


def test_sections():
    """a section is for its command; commands ignore sections of others"""
    configure("separator = ;\n[record]\nlabel = mine\n[export]\nformat = long\n[report]\nexplain\n")
    assert simulate()[1] == "mine"
    assert call("export").stdout.startswith("run;cpu;period;time_s;cycle;phase;label;event;")
    assert call("export", "--separator", ",").stdout.startswith("run,cpu,period,time_s,cycle,phase")
    plain = FOLDER.call("report").stdout
    assert len(call("report").stdout) > len(plain) + 200
    assert call("runs").stdout == FOLDER.call("runs").stdout


def test_not_for_runs():
    """label and tag, which are for recordings, select no runs, and are not given to imported runs"""
    configure("label = other\ntag = a=b\n")
    FOLDER.write("table.csv", "time,x\n1,2\n2,3\n")
    expect(call("import", "-o", "copy.data", "table.csv"), 0)
    assert [json.loads(call("runs", "-i", store, "--format", "json").stdout)["runs"][0]["label"]
            for store in ("rpistat.data", "copy.data")] == ["run1", None]
    assert call("runs").stdout == FOLDER.call("runs").stdout


def test_home():
    """without XDG_CONFIG_HOME, or with a relative one, it is ~/.config"""
    os.makedirs(FOLDER / ".config/rpistat")
    FOLDER.write(".config/rpistat/config", "label = of home\n")
    for variable in (None, "config", ""):
        assert simulate(XDG_CONFIG_HOME=variable, HOME=FOLDER.path)[1] == "of home"
    assert simulate(XDG_CONFIG_HOME=None, HOME=None)[1] == ""
    assert simulate(XDG_CONFIG_HOME=FOLDER / "none", HOME=FOLDER.path)[1] == ""


def test_store():
    """RPISTAT_STORE is the default store of each command; it overrides the file, and -i and -o override it"""
    configure("input = none.data\n[record]\noutput = none.data\n")
    refused(call("report"), 1, "none.data")
    expect(call("report", RPISTAT_STORE="rpistat.data"), 0)
    expect(call("record", "--pmu", "sim:script.sim", RPISTAT_STORE="env.data"), 0)
    assert os.path.exists(FOLDER / "env.data") and os.path.exists(FOLDER / "env.txt")
    refused(call("report", "-i", "absent.data", RPISTAT_STORE="rpistat.data"), 1, "absent.data")
    expect(call("record", "--pmu", "sim:script.sim", "-o", "own.data", RPISTAT_STORE="x.data"), 0)
    assert os.path.exists(FOLDER / "own.data") and not os.path.exists(FOLDER / "x.data")
    configure("")
    assert expect(call("runs", RPISTAT_STORE=""), 0).stdout == FOLDER.call("runs").stdout
    assert not os.path.exists(FOLDER / "none.data")


# Lines, the number of the wrong line, and words of the message.
MISTAKES = [
    ("nosuch = 3", 1, ["'nosuch'", "rpistat help COMMAND"]),
    ("quiet\n\n[runs]\nperiod = 3", 4, ["runs", "'period'", "rpistat runs --help"]),
    ("[reprot]\nquiet", 2, ["'reprot'"]),
    ("[report", 1, ["'[report'", "]"]),
    ("quiet = yes", 1, ["'quiet'", "no value"]),
    ("period", 1, ["'period'", "period = VALUE"]),
    ("= 3", 1, ["''"]),
    ("--period = 3s", 1, ["'--period'"]),
    ("peri = 3s", 1, ["'peri'"]),
    ("delete", 1, ["'delete'", "command line"]),
    ("[runs]\nlabel = x", 2, ["'label'", "command line"]),
    ("[push]\nagain", 2, ["'again'", "command line"]),
    ("start = 14:30", 1, ["'start'", "command line"]),
    ("[watch]\nonce", 2, ["'once'", "command line"]),
    ("[watch]\nuntil = loop-end", 2, ["'until'", "command line"]),
    ("help", 1, ["'help'", "command line"]),
    ("output = x", 1, ["'output'", "[COMMAND]"]),
    ("# first\nperiod = soon", 2, ["--period", "soon", "100ms"]),
]


def check_mistake(text, number, words):
    path = configure(text)
    refused(call("record", "--pmu", "sim:script.sim"), 2, "%s, line %d: " % (path, number), *words)
    expect(call("record", "--help"), 0)
    expect(call("--version"), 0)


# A command and an old name of an option, with a refused value; the name in the message.
OLD_NAMES = [
    ("compare", "--keep=", "--keep-script"),
    ("compare", "--undecided=maybe", "--inconclusive"),
    ("plot", "--keep=", "--keep-script"),
    ("plot", "--x=miles", "--x-axis"),
    ("push", "--give-up=soon", "--retry-for"),
    ("record", "--no-merge=x", "--always-rotate"),
    ("record", "--signal-budget=much", "--system-metrics-budget"),
    ("record", "--signals=most", "--system-metrics"),
]


def test_old_names():
    """old names of options work in commands and in the file; help and completion do not have them"""
    for command, option, name in OLD_NAMES:
        old, value = option.split("=")
        path = configure("")
        refused(call(command, option), 2, name)
        offered = call("--complete", command, "--").stdout + call(command, "--help").stdout
        assert re.search(r"^ *%s\b(?!-)" % name, offered, re.M) and not re.search(old + r"(?![\w-])", offered), (old, offered)
        configure("[%s]\n%s = %s\n" % (command, old.strip("-"), value))
        refused(call(command), 2, path + ", line 2", name if old != "--no-merge" else "'no-merge' takes no value")
    refused(call("compare", "--against", "run1"), 1, "--baseline run1", "on side B")
    configure("[compare]\nagainst = run1\n")
    refused(call("compare"), 1, "--baseline run1", "on side B")
    configure("no-merge\nsignals = off\nsignal-budget = 1%\ngive-up = 1s\nundecided = pass\nx = cycles\n")
    assert simulate("--signals", "off", "--no-merge", "--signal-budget", "1%")
    configure("[report]\nformat = 2013\n")
    classic = call("report", "--format", "classic").stdout
    assert classic == call("report").stdout == call("report", "--form=2013").stdout
    assert classic != call("report", "--format", "text").stdout and "classic" in call("report", "--help").stdout
    assert not re.search("2013", call("report", "--help").stdout + call("--complete", "report", "--format=").stdout)
    configure("keep = 7d\n")
    expect(call("plot", "-o", "page.html"), 0)  # here, keep is an option of record
    configure("[plot]\nkeep = kept\n")
    refused(call("plot", "-o", "page.html"), 2, "--keep-script")


def test_abbreviations():
    """an unambiguous beginning of an option is enough, also of an old name; an exact name wins over longer names"""
    configure("")
    for words, name in ((["--sys", "most"], "--system-metrics"), (["--sig=most"], "--system-metrics"),
                        (["--signal-b=1"], "--system-metrics-budget"), (["--system-metrics-", "1"], "--system-metrics-budget"),
                        (["--ke=7"], "--keep"), (["--sample-o=x"], "--sample-on"), (["--no-m=x"], "--always-rotate")):
        refused(call("record", *words, "--", "true"), 2, name)
    refused(call("plot", "--kee", ""), 2, "--keep-script")
    refused(call("compare", "--agai"), 2, "'--baseline' needs an argument")
    answer = refused(call("record", "--s", "off", "true"), 2, "--scenario", "--system-metrics, --system-metrics-budget")
    refused(call("record", "--no-s=1"), 2, "--no-samples")
    assert "--signal" not in call("record", "--s", "off", "true").stderr, answer
    refused(call("runs", "--signals", "off"), 2, "`rpistat record` has it")


def test_together():
    """if two options exclude each other, the message has the name of the file"""
    path = configure("sets = software\n")
    refused(call("-e", "task-clock", "true"), 2, "with the options of " + path, "--sets")
    refused(call("report", "--nonsense"), 2, "rpistat: option '--nonsense' is unknown")


def test_no_file():
    r"""a file that is no text is refused without waiting"""
    os.rename(FOLDER / "config/rpistat", FOLDER / "config/kept")
    os.makedirs(FOLDER / PATH)
    refused(call("runs"), 1, PATH, "not a text file")
    os.rmdir(FOLDER / PATH)
    os.mkfifo(FOLDER / PATH)
    refused(call("runs"), 1, PATH, "not a text file")
    os.unlink(FOLDER / PATH)
    configure("#" * 65537)
    refused(call("runs"), 1, PATH, "65536")
    configure("quiet")


def test_root():
    """root's options do not come from a file that others may write; other users may write theirs"""
    if os.geteuid() != 0:
        raise tap.Skip("only root can be led by somebody else's file")
    for mode in (0o664, 0o646):
        path = configure("quiet\n", mode)
        refused(call("runs"), 1, path, "other users can write it", "chown root", "XDG_CONFIG_HOME")
    folder = FOLDER / "config"
    # Root's own file in another user's directory, which this user could exchange.
    for place in (folder, os.path.dirname(path)):
        configure("quiet\n")
        expect(call("runs"), 0)
        os.chown(place, 65534, 65534)
        refused(call("runs"), 1, "can write its directory", "XDG_CONFIG_HOME")
        os.chown(place, 0, 0)
        os.chmod(place, 0o777)
        refused(call("runs"), 1, "can write its directory")
        os.chmod(place, 0o755)
    os.chown(path, 65534, 65534)
    refused(call("runs"), 1, path, "other users can write it")
    os.chmod(FOLDER.path, 0o755)
    try:
        answer = subprocess.run([RPISTAT, "events", "--pmu", "software", "task-clock"], user=65534,
                                cwd="/", env=environment(XDG_CONFIG_HOME=FOLDER / "config"),
                                group=65534, extra_groups=[], capture_output=True, text=True,
                                check=False, timeout=300)
    except PermissionError as error:
        raise tap.Skip("cannot become another user: %s" % error)
    assert "others" not in answer.stderr, answer.stderr


with FOLDER:
    tap.main([test_options, test_example, test_sections, test_not_for_runs, test_home, test_store] +
             [("refused: " + repr(row[0]), check_mistake, *row) for row in MISTAKES] +
             [test_old_names, test_abbreviations, test_together, test_no_file, test_root])
