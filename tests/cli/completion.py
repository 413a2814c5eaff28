"""Completion: bash, zsh and fish are run, and asked for their completions."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

from program import COMMANDS, RPISTAT, Folder, call, environment, expect, refused, tap

FOLDER = Folder(runs=1)
LIMIT = 300  # in seconds; only a shell that hangs reaches it

# A line up to the cursor, words that are offered, words that are not.
CASES = [
    ("rpistat re", ["record", "report"], ["runs"]),
    ("rpistat report --fo", ["--format="], ["--from="]),
    ("rpistat report --format ", ["text", "html", "classic"], ["svg"]),
    ("rpistat report --from ", ["phase:", "mark:"], []),
    ("rpistat report --input=./oth", ["./other.data"], []),
    ("rpistat export --format=", ["wide", "rates", "long"], ["text"]),
    ("rpistat plot --kind ", ["time", "turn", "phases", "scatter", "heat", "pca"], []),
    ("rpistat --pmu simx --scenario t", ["tlb", "topdown"], ["l1"]),
    ("rpistat record --sets inte", ["intel-skylake", "intel-lioncove"], ["generic"]),
    ("rpistat record --order r", ["random", "random:"], ["fixed"]),
    ("rpistat report -i ./oth", ["./other.data"], []),
    ("rpistat plot --keep-script kep", ["kept"], ["kept.txt"]),
    ("rpistat runs --delete ", ["1", "run1", "last"], ["other.data"]),
    ("rpistat report -i other.data -r ", ["2", "night"], ["run1"]),
    ("rpistat compare ", ["1", "run1", "last"], ["other.data"]),
    ("rpistat compare -i other.data --baseline b", ["build=42"], ["run1"]),
    ("rpistat history ", ["run1"], ["other.data"]),
    ("rpistat compare --format ", ["markdown"], ["folded"]),
    ("rpistat merge ./oth", ["./other.data"], []),
    ("rpistat import --label x ./kept.", ["./kept.txt"], []),
    ("rpistat --label x -q ./pro", ["./program"], []),
    ("rpistat record ./program --log ./oth", ["./other.data"], []),
    ("rpistat ./program --form", [], ["--format="]),
]


def script(shell):
    return expect(call("--completion", shell), 0).stdout


def prepare():
    """Make a store with another run in it, a program, a folder, and the scripts."""
    FOLDER.record("-o", "other.data")
    FOLDER.record("-o", "other.data", "--label", "night", "--tag", "build=42", "--tag", "odd=a b")
    FOLDER.record("-o", "other.data", "--label", "with blanks")
    FOLDER.write("program", "#!/bin/sh\n", mode=0o755)
    FOLDER.write("kept.txt", "")
    os.mkdir(FOLDER / "kept")
    os.mkdir(FOLDER / "bin")
    os.symlink(RPISTAT, FOLDER / "bin/rpistat")
    for shell, name in [("bash", "rpistat.bash"), ("zsh", "_rpistat"), ("fish", "rpistat.fish")]:
        FOLDER.write(name, script(shell))


def shell_environment():
    return environment(PATH="%s:%s" % (FOLDER / "bin", os.environ["PATH"]), HOME=FOLDER.path,
                       TERM="dumb", LC_ALL="C.UTF-8", XDG_DATA_HOME=FOLDER.path)


def need(shell):
    if not shutil.which(shell):
        raise tap.Skip(shell + " is not installed")


class Terminal:
    """An interactive shell in a terminal: input and its answer."""

    def __init__(self, *command):
        leader, follower = pty.openpty()
        self.process = subprocess.Popen(command, cwd=FOLDER.path, env=shell_environment(),
                                        stdin=follower, stdout=follower, stderr=follower,
                                        start_new_session=True)
        os.close(follower)
        self.leader, self.seen = leader, ""

    def wait(self, pattern):
        """Return the match in what the shell has written since the last match."""
        end = time.monotonic() + LIMIT
        while True:
            match = re.search(pattern, self.seen, re.S)
            if match:
                self.seen = self.seen[match.end():]
                return match
            assert time.monotonic() < end, "no %s in: %s" % (pattern, self.seen)
            if select.select([self.leader], [], [], 1)[0]:
                self.seen += os.read(self.leader, 65536).decode(errors="replace")

    def type(self, text):
        os.write(self.leader, text.encode())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.leader)


def compare(answers):
    for (line, offered, others), words in zip(CASES, answers):
        words = [re.sub("^--[a-z]+=(?=.)", "", word) for word in words]
        for word in offered:
            assert word in words, "'%s': no %s in %s" % (line, word, words)
        for word in others:
            assert word not in words, "'%s': %s in %s" % (line, word, words)


def ask_bash(*setup):
    """Let bash insert all possible completions (M-*), and pass the line to a function."""
    terminal = Terminal("bash", "--norc", "--noprofile", "-i")
    answers = []
    try:
        for command in ["PS1='ready '", "bind 'set enable-bracketed-paste off'",
                        'show() { echo "<<$*>>"; }', *setup, "source ./rpistat.bash"]:
            terminal.type(command + "\r")
        terminal.type("show up\r")
        terminal.wait("<<up>>")
        for line, _, _ in CASES:
            terminal.type(line + "\x1b*\x01show \x05\r")
            words = terminal.wait("<<(.*?)>>").group(1).split()
            answers.append([word.rstrip("/") for word in words[len(line.split()) - (line[-1] != " "):]])
    finally:
        terminal.close()
    return answers


def test_bash():
    """bash completes commands, options, their arguments, files, runs and the recorded program"""
    need("bash")
    compare(ask_bash())


def test_bash_completion():
    """bash with bash-completion completes the same"""
    need("bash")
    package = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(package):
        raise tap.Skip("bash-completion is not installed")
    compare(ask_bash("source " + package))


def test_zsh():
    """zsh completes the same"""
    need("zsh")
    capture = """
        PS1='ready ' RPS1= fpath=($PWD $fpath)
        autoload -U compinit; compinit -u -D
        setopt no_list_beep
        compadd() {
            if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
            typeset -a hits; builtin compadd -A hits "$@"; print -l -- $hits >>found
            builtin compadd "$@"
        }
        clear-line() { BUFFER= ; zle redisplay; print "<<done>>" }
        zle -N clear-line; bindkey '^O' clear-line
        stty -ixon discard undef
        print "<<up>>"
        """
    FOLDER.write("setup.zsh", capture)
    terminal = Terminal("zsh", "-f", "-i")
    answers = []
    try:
        terminal.type(". ./setup.zsh\r")
        terminal.wait("<<up>>")
        for line, _, _ in CASES:
            FOLDER.write("found", "")
            terminal.type(line + "\t\x0f")
            terminal.wait("<<done>>")
            words = FOLDER.read("found").decode().splitlines()
            prefix = "./" if "./" in line.split()[-1] else ""
            answers.append([prefix + word for word in words])
    finally:
        terminal.close()
    compare(answers)


def test_fish():
    """fish completes the same"""
    need("fish")
    queries = "source ./rpistat.fish\n" + "".join(
        "complete -C '%s'; echo '<<>>'\n" % line for line, _, _ in CASES)
    answer = subprocess.run(["fish", "--no-config", "-c", queries], cwd=FOLDER.path,
                            env=shell_environment(), capture_output=True, text=True, check=False,
                            timeout=LIMIT)
    assert answer.returncode == 0 and not answer.stderr, answer.stderr
    answers = [[word.split("\t")[0].rstrip("/") for word in part.splitlines()]
               for part in answer.stdout.split("<<>>\n")]
    compare(answers)


def answer(*words):
    """What --complete prints, without the explanations."""
    said = expect(FOLDER.call("--complete", *words), 0)
    assert not said.stderr, said.stderr
    return [line.split("\t")[0] for line in said.stdout.splitlines()]


def test_choices():
    """each word that completion offers for an option is accepted; each option of each command is offered"""
    rows = 0
    for command in COMMANDS:
        helped = re.findall(r"^  (?:-\w, |    )--([\w-]+)(?: (\S+)|\[=\S+)?  ", call(command, "--help").stdout, re.M)
        assert answer(command, "--") == ["--" + name + ("=" if argument else "") for name, argument in helped]
        for name in (name for name, argument in helped if argument and not argument.startswith("RUN")):
            words = [word for word in answer(command, "--" + name, "") if word[-1] != ":" and word[0] != ":"]
            assert answer(command, "--%s=" % name)[:len(words)] == ["--%s=%s" % (name, word) for word in words]
            rows += len(words) > 0
            for word in words:
                expect(call(command, "--" + name, word, "--help"), 0)
    assert rows > 25, rows
    assert answer("export", "--clock=") == ["--clock=offset", "--clock=local"] and answer("export", "--clock", "") == []


def test_answers():
    """--complete: completes the last word of the line, wherever it stands"""
    assert answer() == [] and answer("") == ["record"] + answer("")[1:] and len(answer("")) == len(COMMANDS)
    assert answer("rep") == ["report"] and answer("report", "-q", "--form") == ["--format="]
    assert answer("report", "--nosuch", "--format=j") == ["--format=json"]
    assert {"-q", "-i", "--quiet"} < set(answer("report", "-"))
    for store in (["-i", "other.data"], ["-iother.data"], ["--input", "other.data"], ["--input=other.data"]):
        assert answer("report", *store, "-r", "") == ["last", "1", "2", "night", "build=42", "3"], store
    assert answer("report", "-i", "nosuch.data", "-r", "") == ["last"]
    assert answer("./p") == [":command 0"] and answer("record", "-q", "./p") == [":command 2"]
    assert answer("record", "--", "./p", "-") == [":command 2"]
    assert answer("-p", "1", "") == [":command 2"] and answer("--label", "x", "p", "-i") == [":command 2"]
    assert answer("report", "") == [] and answer("runs", "n") == [] and answer("merge", "") == [":file"]


def test_usage():
    """--completion: the usage names the shells"""
    refused(call("--completion", "csh"), 2, "'csh'", "bash", "zsh", "fish")


with FOLDER:
    prepare()
    tap.main([test_choices, test_answers, test_usage, test_bash, test_bash_completion, test_zsh, test_fish])
