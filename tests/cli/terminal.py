"""The output on a terminal: widths, colours, the status line."""
import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import program
from program import RPISTAT, Folder, environment, expect, shown_on, tap

import samples  # noqa: E402, in support

FOLDER = Folder(runs=1)


def on_terminal(*arguments, columns=80, lines=24, stdout=True, stderr=False, env=None, cwd=None):
    """Run with a terminal for the given streams. Return (status, the terminal's output)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [RPISTAT, *arguments], stdin=subprocess.DEVNULL, cwd=cwd or FOLDER.path,
        stdout=slave if stdout else subprocess.DEVNULL,
        stderr=slave if stderr else subprocess.DEVNULL, env=env or environment(TERM="xterm"))
    os.close(slave)
    shown = shown_on(master)
    os.close(master)
    return process.wait(program.TIMEOUT), shown


def test_long_functions():
    """names of C++ functions of 170 bytes: no line is wider than the terminal, and the function's own name is shown"""
    name = "%s::%s<std::map<std::string, long> >::solve_the_%%s_again(std::map<std::string, long> const&)" % (
        "company_internal_services::request_processing", "associative_container_with_a_long_name")
    with Folder() as folder:
        folder.write("script.sim", "clock 700M\nseed 1\nnoise 3%\n" + "".join(
            "phase %s 12s instructions=%dM\n" % (phase, 200 + 100 * (phase == "b")) for phase in "abc"))
        for run in 1, 2:
            folder.record("-q")
            seen = samples.Code(folder / "rpistat.data", run=run)
            for period in range(360):
                function = name % "second_equation" if 120 <= period < 240 else name % "equation"
                seen.add(period, ["main", (function, "/usr/lib/libsolver_of_equations.so.1", "/src/a_file_with_a_long_name.cpp", 123)], 3)
            seen.write()
        for command in ["report"], ["phases"], ["code"], ["code", "--by", "line"], ["code", "--tree"], \
                ["explain", "--from", "12s", "--to", "24s"], ["compare", "1", "2"]:
            for columns in 80, 100:
                status, shown = on_terminal(*command, columns=columns, cwd=folder.path)
                assert status == 0 and "...::" in shown, shown
                assert "solve_the_" in shown or command[0] == "compare", shown
                assert max(map(len, shown.splitlines())) <= columns, (command, shown)
        rows = json.loads(expect(folder.call("explain", "--from", "12s", "--to", "24s", "--format", "json"), 0).stdout)
        assert rows["stands_out"][0]["name"] == name % "second_equation", rows


def test_runs_width():
    """runs: the command is cut to the terminal's width, and elsewhere not at all"""
    expect(FOLDER.call(*program.counting(), "-o", "long.data", "true",
                       *["argument%d" % n for n in range(40)]), 0)
    for columns in [60, 80, 100, 120, 200]:
        status, shown = on_terminal("runs", "-i", "long.data", columns=columns)
        lines = shown.splitlines()
        assert status == 0 and len(lines) == 2, shown
        assert len(lines[1]) == columns and lines[1].endswith("..."), (columns, lines[1])
        assert lines[1].index("true arg") == lines[0].index("COMMAND"), shown
    whole = FOLDER.call("runs", "-i", "long.data").stdout
    assert "argument39" in whole, whole


def test_wall_width():
    """code --wall: the table fits a terminal of 80 columns; without its line and module, all other columns are printed"""
    module, kernel, long = "/usr/lib/a_library_with_a_name.so.1", "a_wait_of_the_kernel", "a_function_with_a_long_name"
    FOLDER.write("wall.sim", f"task main 100\nfunction {long} 0x1000 0x100 main.c:10\nfunction {kernel} 0xffffffff81000000 0x100\n"
                 f"phase run 2s code={long}\nsleep 2s code={long}>{kernel}\n")
    expect(FOLDER.call("record", "-q", "--wall", "--pmu", "sim:wall.sim", "-o", "wall.data"), 0)
    program.ask_store(FOLDER / "wall.data", "UPDATE module SET path = ? WHERE path LIKE '%simulated%'", (module,))
    for columns in [80, 120]:
        status, shown = on_terminal("code", "--wall", "-i", "wall.data", columns=columns)
        heading, row = shown[shown.index("    Self"):].splitlines()[:2]
        assert status == 0 and max(map(len, shown.splitlines())) <= columns, shown
        assert heading.split()[:3] == ["Self", "Total", "Time"] and "Waited in" in heading, heading
        assert ("Module" in heading) == (columns > 80) and kernel in row and "a_function_with" in row, shown


def test_runs_wide_characters():
    """runs: columns stay aligned when a label has wide characters"""
    FOLDER.record("-o", "labels.data", "--label", "日本")
    FOLDER.record("-o", "labels.data", "--label", "müßig")
    status, shown = on_terminal("runs", "-i", "labels.data", columns=80,
                                env=environment(TERM="xterm", LC_ALL="C.UTF-8"))
    lines = shown.splitlines()
    assert status == 0 and len(lines) == 3, shown
    assert lines[1].index("complete") + 2 == lines[2].index("complete"), shown
    assert lines[2].index("complete") == lines[0].index("STATE"), shown


def test_drawing_size():
    """plot -o -: fits the terminal, or COLUMNS and LINES"""
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
    """plot -o -, watch: of nine panels, those that fit are drawn, and the others named below"""
    FOLDER.record("-o", "nine.data", *[word for name in ("one", "two", "three") for word in
                                       ("--metric", "extra_%s=instructions/seconds" % name)])
    titles = ["Cycles per instruction", "Front-end stalls", "Data cache miss ratio", "TLB misses per",
              "Branches per", "Mispredicted branches", "extra_one", "extra_two", "extra_three"]
    for columns, lines, panels in [(80, 24, 4), (60, 24, 3), (132, 24, 4), (80, 40, 8), (80, 43, 9)]:
        env = environment(TERM="xterm", NO_COLOR="1", LC_ALL="C.UTF-8")
        status, shown = on_terminal("plot", "-i", "nine.data", "-o", "-",
                                    columns=columns, lines=lines, env=env)
        rows = shown.rstrip("\n").splitlines()
        drawn, _, named = shown.partition("\nNot shown (--panel): ")
        assert status == 0 and len(rows) < lines and max(map(len, rows)) <= columns, shown
        assert [title for title in titles if title in drawn] == titles[:panels], shown
        assert [title for title in titles if title in named] == titles[panels:], shown
        assert ("%d of 9 panels fit ·" % panels in rows[1]) == (panels < 9), shown
    status, shown = on_terminal("watch", "-i", "nine.data", columns=80, lines=24, env=env)
    assert status == 0 and len(shown.rstrip("\n").splitlines()) < 24, shown
    assert re.search(r"^Not shown .*TLB misses per.*extra_three$", shown, re.M | re.S), shown


def test_small():
    """plot -o -, watch, runs, report: terminals of any size, from one character"""
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
    """plot -o -: no colours with NO_COLOR, on a dumb terminal, and without a terminal"""
    for env in [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}]:
        status, shown = on_terminal("plot", "-o", "-", env=environment(**env))
        assert status == 0 and "\033" not in shown, repr(shown)
    status, shown = on_terminal("plot", "-o", "-", env=environment(TERM="xterm", NO_COLOR=""))
    assert status == 0, shown


BRAILLE = re.compile("[\u2801-\u28ff]")


def test_characters():
    """plot -o -: braille if the locale has it, ASCII elsewhere and on a dumb terminal, or as requested"""
    for env, option, braille in [({"LC_ALL": "C.UTF-8"}, [], True), ({"LANG": "xy_XY.UTF-8"}, [], True),
                                 ({"LC_ALL": "C"}, [], False), ({}, [], False),
                                 ({"LC_ALL": "C.UTF-8", "TERM": "dumb"}, [], False),
                                 ({"LC_ALL": "C.UTF-8"}, ["--chars", "ascii"], False),
                                 ({"LC_ALL": "C"}, ["--chars", "braille"], True)]:
        for command in [["plot", "-o", "-"], ["watch"]]:
            shown = expect(FOLDER.call(*command, *option, env=environment(**env)), 0).stdout
            assert bool(BRAILLE.search(shown)) == braille, (env, command, shown)
            assert braille or shown.isascii(), (env, command, shown)
            assert "Cycles per instruction" in shown, shown
    program.refused(FOLDER.call("plot", "-o", "-", "--chars", "x"), 2, "braille", "ascii")
    program.refused(FOLDER.call("plot", "-o", "a.png", "--sixel"), 2, "--sixel", "-o -")
    program.refused(FOLDER.call("plot", "-o", "-", "--sixel", "--chars", "ascii"), 2, "--sixel")


def asked(answer, typed=b"", *arguments):
    """Run plot -o - on its own terminal, which answers queries about its type (None: does not). Return
    the output, and the unread rest of the input.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 640, 432))
    os.write(master, typed)
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(
        [RPISTAT, "plot", "-o", "-", *arguments], cwd=FOLDER.path, stdin=slave, stdout=slave,
        stderr=slave, env=environment(TERM="xterm", LC_ALL="C.UTF-8"), start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    shown, open_question = b"", answer is not None
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        if select.select([master], [], [], 0.05)[0]:
            shown += os.read(master, 65536)
        if open_question and b"\033[c" in shown:
            os.write(master, answer)
            open_question = False
    assert process.returncode == 0, shown
    assert termios.tcgetattr(slave) == before, "the terminal's mode was changed"
    left = os.read(slave, 100) if select.select([slave], [], [], 0)[0] else b""
    os.close(slave)
    os.close(master)
    return shown.decode("utf-8", "replace"), left


@program.undisturbed  # the answer must come within half a second
def test_sixel():
    """plot -o -: a terminal that no other process uses is asked for sixel support, and gets what it can show"""
    shown, left = asked(b"\033[?64;1;2;22;42c")
    assert "\033[c" in shown and BRAILLE.search(shown) and not left, (shown, left)
    shown, left = asked(None)
    assert "\033[c" in shown and BRAILLE.search(shown) and not left, (shown, left)
    shown, left = asked(b"", b"ls\n")
    assert "\033[c" not in shown and BRAILLE.search(shown) and left == b"ls\n", (shown, left)
    shown, left = asked(b"\033[?62;4c", b"", "--chars", "braille")
    assert "\033[c" not in shown and BRAILLE.search(shown), shown
    if not shutil.which("gnuplot"):
        raise tap.Skip("gnuplot is not installed here")
    for answer in [b"\033[?62;4c", b"\033[?63;1;2;4;6;22c"]:
        shown, left = asked(answer)
        assert "\033P" in shown and not BRAILLE.search(shown) and not left, (shown[:300], left)
        assert '"1;1;640;' in shown, shown[:300]
    drawn = expect(FOLDER.call("plot", "-o", "-", "--sixel", "--kind", "heat"), 0).stdout
    assert drawn.startswith("\033P") and drawn.endswith("\033\\\n"), drawn[:100]


def test_plot_note():
    """plot: prints on a terminal where the picture is, but not with -q"""
    status, shown = on_terminal("plot", "-o", "note.svg", stdout=False, stderr=True)
    assert status == 0 and "note.svg" in shown, shown
    status, shown = on_terminal("plot", "-o", "note.svg", "-q", stdout=False, stderr=True)
    assert status == 0 and not shown, shown


class Scene:
    """A command as a job of its own terminal; `with Scene(...) as scene`. `shown` has its output as
    bytes, as they arrive.
    """

    def __init__(self, *command, **streams):
        self.command, self.streams = command, streams
        self.shown = b""

    def __enter__(self):
        self.master, self.slave = pty.openpty()
        self.resize(80, 24)

        def lead():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for number in (signal.SIGINT, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
        streams = {name: self.slave for name in ("stdin", "stdout", "stderr")}
        self.process = subprocess.Popen(
            self.command, cwd=FOLDER.path, preexec_fn=lead,
            env=environment(TERM="vt100", LC_ALL="C.UTF-8", LESS="", TOPRC="/dev/null"),
            **{**streams, **self.streams})
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(program.TIMEOUT)
        os.close(self.master)
        os.close(self.slave)
        self.master = -1

    def read(self, seconds):
        """Read the next output. Return False if there is none for this time."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.shown += os.read(self.master, 65536)
        return True

    def wait_for(self, text):
        """Wait until the text appears after what was waited for before."""
        begin = getattr(self, "seen", 0)
        while text not in self.shown[begin:]:
            assert self.read(program.TIMEOUT), "no %r in %r" % (text, self.shown)
        self.seen = self.shown.index(text, begin) + len(text)

    def type(self, keys):
        os.write(self.master, keys)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def end(self):
        """Wait for the command's end. Return its exit status."""
        while self.process.poll() is None:
            self.read(.01)
        while self.master >= 0 and self.read(0):
            pass
        return self.process.returncode


def look_on(*scenes):
    """Wait for as long as it takes until a status line would be drawn."""
    end = time.monotonic() + .6
    while time.monotonic() < end:
        for scene in scenes:
            scene.read(.02)


def without_names(shown):
    """The output without the progress line of the search for names, which appears on a slow
    machine every half second.
    """
    return re.sub(rb"(\rrpistat: reading symbols[^\r]*\x1b\[K)+(\r\x1b\[K)?", b"", shown)


def recorded(scene, shown, status=0):
    """The recording ended with this status, and its output was this and the two lines, nothing more."""
    left = scene.end()
    at = scene.shown.rfind(b"rpistat: ", 0, scene.shown.rfind(b"rpistat: next: "))
    end = re.match(rb"rpistat: (run \d+: )?[^\r]+( ran|, recorded) for [^\r]+\r\n"
                   rb"rpistat: next: .+; .+\r\n$", scene.shown[at:].replace(b"\r\n  ", b" "))
    assert left == status and end, (left, scene.shown)
    before = without_names(scene.shown[:at])
    assert before == shown if isinstance(shown, bytes) else re.fullmatch(shown, before), before


def test_terminal_workload():
    """record: a prompt, dots and an unfinished line stay as the workload wrote them"""
    talk = ("trap 'stty size; over=1' WINCH; printf 'Password: '; read word; printf 'line 1';"
            " for dot in 1 2 3; do sleep 0.2; printf .; done; printf '\\nline 2\\n';"
            " until [ \"$over\" ]; do sleep 0.02; done")
    with Scene(RPISTAT, *program.counting(), "sh", "-c", talk) as scene:
        scene.wait_for(b"Password: ")
        scene.type(b"secret\n")
        scene.wait_for(b"line 2")
        scene.resize(60, 20)
        recorded(scene, b"Password: secret\r\nline 1...\r\nline 2\r\n20 60\r\n")


def test_terminal_job():
    """record: ^Z stops workload and recorder, fg continues both, ^C ends them; no status line is drawn"""
    job = " ".join([RPISTAT, *program.counting(), "-o", "job.data", "./wait"])
    FOLDER.write("wait", "#!/bin/sh\necho ready\nsleep 60\n", 0o755)
    FOLDER.write("shell", "set -m\n%s\necho stopped $?\nread word\nfg >/dev/null\necho left $?\n"
                 % job, 0o755)
    with Scene("sh", "./shell") as scene:
        scene.wait_for(b"ready\r\n")
        scene.type(b"\x1a")
        scene.wait_for(b"stopped 148\r\n")
        shell = os.tcgetpgrp(scene.master)
        scene.type(b"\n")
        while os.tcgetpgrp(scene.master) == shell:  # the job is not yet in the foreground
            assert scene.process.poll() is None
            scene.read(.01)
        look_on(scene)
        scene.type(b"\x03")
        assert scene.end() == 0
        assert re.fullmatch(
            rb"ready\r\n\^Z(\[1\][^\r]+Stopped[^\r]+\r\n)?stopped 148\r\n\r\n"
            rb"\^Crpistat: wait[^\r]* for [^\r]+\r\nrpistat: next: \S+ report -i job.data; \S+ plot -i job.data -o job.html\r\n"
            rb"left 130\r\n", without_names(scene.shown).replace(b"\r\n  ", b" ")), scene.shown


def test_terminal_background():
    """record: no message at the end while another job is in the foreground"""
    job = " ".join([RPISTAT, *program.counting(), "-o", "back.data", "true"])
    with Scene("sh", "-c", "set -m; %s & wait; echo over" % job) as scene:
        assert scene.end() == 0
        assert b"over" in scene.shown and b"next:" not in scene.shown, scene.shown
    assert os.path.exists(FOLDER / "back.txt")


# Programs that use the whole screen: arguments, the output when they are ready, keys that end them.
SCREENS = {"less": (["text"], b"line 22", b"q"),
           "vi": (["-n", "-u", "NONE", "text"], b"line 22", b":q!\r"),
           "top": (["-d", "0.2"], b"average", b"q")}


@functools.lru_cache(maxsize=None)
def screens():
    """All screens together, by name: directly and recorded. Only installed programs."""
    FOLDER.write("text", "".join("line %d\n" % number for number in range(100)))
    with contextlib.ExitStack() as stack:
        pairs = {name: [stack.enter_context(Scene(*before, name, *SCREENS[name][0]))
                        for before in ([], [RPISTAT, *program.counting(), "-o", name + ".data"])]
                 for name in SCREENS if shutil.which(name)}
        scenes = [(scene, SCREENS[name]) for name, pair in pairs.items() for scene in pair]
        for scene, (_, ready, _) in scenes:
            scene.wait_for(ready)
        look_on(*[scene for scene, _ in scenes])
        for scene, (_, _, keys) in scenes:
            scene.type(keys)
        for scene, _ in scenes:
            scene.end()
    return pairs


def screen(name):
    if name not in screens():
        raise tap.Skip("%s is not installed" % name)
    plain, recording = screens()[name]
    if name == "top":  # its figures differ each time
        recorded(recording, re.compile(rb"((?!periods).)*average((?!periods).)*", re.S))
    else:
        recorded(recording, plain.shown)


def test_notes_wait():
    """record: a note waits until a workload that uses the terminal has ended"""
    work = ("printf 'line 1'; rm note.data; until ls note.data.saved-* >/dev/null 2>&1; do :; done;"
            " sleep 0.2; echo ' goes on'; exit 3")
    with Scene(RPISTAT, *program.counting(), "-o", "note.data", "sh", "-c", work) as scene:
        assert scene.end() == 1  # like without a terminal
        line, *notes = scene.shown.split(b"\r\n")
        assert line == b"line 1 goes on" and b"note.data was" in notes[0], scene.shown


DRAWN = b"\x1b[K"  # the end of a status line
STATUS_LINE = rb"((\^C)?\rrpistat  [^\r\x1b]+ periods  [^\r\x1b]*\x1b\[K)+(\^C)?\r\x1b\[K" \
    rb"((\rrpistat: reading symbols, [\d.]+ s\x1b\[K)+\r\x1b\[K)?"  # on a slow machine


def test_status_line():
    """record: a status line with -p and -a, which is erased at the end; none with -q"""
    record = [RPISTAT, *program.counting()]
    quiet = [RPISTAT, *program.counting(), "-q", "--duration", "10ms"]
    pid = ["-p", str(os.getpid()), "-o", "pid.data"]
    machine = ["-a", "--no-samples", "-o", "machine.data"]  # files of any size may be tested here
    targets = [pid] if FOLDER.call(*quiet[1:], *machine).returncode else [pid, machine]
    with contextlib.ExitStack() as stack:
        for scene in [stack.enter_context(Scene(*record, *what)) for what in targets]:
            scene.wait_for(DRAWN)
            scene.type(b"\x03")
            recorded(scene, re.compile(STATUS_LINE))
        with Scene(*quiet, *pid) as silent:
            assert silent.end() == 0 and not silent.shown, silent.shown


def beside_prompts():
    """The output of three recordings: without a prompt, with the workload's prompt, and with the prompt of another program."""
    files = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    record = [RPISTAT, *program.counting(), "-o"]
    wait = "until [ -e over ]; do sleep 0.05; done"
    asks = "stty -echo; printf 'Password: ' >/dev/tty; %s; stty echo" % wait
    script = 'printf "Password: " >/dev/tty; "$@"; true'
    with Scene(*record, "1.data", "sh", "-c", wait, **files) as scene, \
            Scene(*record, "2.data", "sh", "-c", asks, **files) as asking, \
            Scene("sh", "-c", script, "sh", *record, "3.data", "sh", "-c", wait, **files) as others:
        scene.wait_for(DRAWN)
        look_on(asking, others)
        FOLDER.write("over", "")
        for one in (scene, asking, others):
            assert one.end() == 0
    os.unlink(FOLDER / "over")
    return scene.shown, asking.shown, others.shown


def test_status_line_files():
    """record: if the workload writes to files, the status line is drawn, unless the workload or others prompt"""
    for _ in range(5):
        drawn, asking, others = beside_prompts()
        if DRAWN not in asking.partition(b"Password: ")[0]:  # otherwise the workload got no CPU and prompted too late
            break
    assert re.fullmatch(STATUS_LINE, drawn), drawn
    assert asking == others == b"Password: ", (asking, others)


def test_progress():
    """phases: prints its progress on a terminal, and erases it before its output; not with -q"""
    table = "a,b\n" + "".join("%d,%d\n" % (row // 50, row % 3) for row in range(200))
    for name in ["loud", "quiet"]:
        os.mkfifo(FOLDER / name)
    phases = [RPISTAT, "phases", "--csv"]
    with Scene(*phases, "loud") as loud, Scene(*phases, "quiet", "-q") as quiet:
        with open(FOLDER / "loud", "w", encoding="ascii") as first, \
                open(FOLDER / "quiet", "w", encoding="ascii") as second:
            loud.wait_for(DRAWN)
            look_on(quiet)
            for file in (first, second):
                file.write(table)
        assert loud.end() == 0 and quiet.end() == 0
    drawn = rb"(\rrpistat: looking for phases, [^\r\x1b]+\x1b\[K)+\r\x1b\[K"
    line = re.match(drawn, loud.shown)
    assert line and loud.shown[line.end():] == quiet.shown.replace(b"quiet", b"loud"), loud.shown


def test_first_notes():
    """record: what this machine cannot count is printed once per store; for requested events, each time"""
    FOLDER.write("fail.sim", "fail dc_miss unsupported\nphase a 1s instructions=10M\n")
    note = "DC misses is not counted: the script says unsupported"
    for store, notes in ("new.data", 1), ("new.data", 0), ("other.data", 1), ("other.data", 0):
        shown = on_terminal("record", "-o", store, "--pmu", "sim:fail.sim", stderr=True)[1]
        assert shown.count("is not counted") == shown.count(note) == notes, (store, shown)
    assert "DC misses. Reason: the script says unsupported" in FOLDER.call("report", "-i", "new.data").stdout
    for what in ["-e", "dc_miss", "-e", "instructions"], ["--sets", "arm1176"]:
        shown = on_terminal("record", "-o", "new.data", *what, "--pmu", "sim:fail.sim", stderr=True)[1]
        assert shown.count("is not counted") == 1, shown


def test_end_note():
    """record: the first line at the end is the first sentence of the report, also for CPUs"""
    record = [*program.counting(), "--period", "10ms", "-o", "cpus.data"]
    two = ["-C", "0,1", "--duration", "200ms"]
    if FOLDER.call(*record, *two).returncode != 0:
        raise tap.Skip("CPUs 0 and 1 cannot be counted")
    for what in [two, ["--", "sleep", "0.2"]]:
        status, shown = on_terminal(*record, *what, stdout=False, stderr=True)
        said = re.search(r"rpistat: run \d+: (.+?)\r?\n", re.sub(r"\r?\n  ", " ", shown))
        assert status == 0 and said, shown
        report = json.loads(FOLDER.call("report", "-i", "cpus.data", "--format", "json").stdout)
        assert said.group(1) + "." == report["answer"].splitlines()[0], (shown, report["answer"])


def test_max_size():
    """record: the status line has the time that --max-size lasts at the current rate of growth; without it nothing"""
    FOLDER.write("long.sim", "clock 700M\nseed 5\nnoise 3%\ndefault instructions=300M branches=30M\nphase a 999h\n")  # killed long before its end
    record = ["record", "-e", "instructions,branches", "--no-samples", "--pmu", "sim:long.sim", "-o"]
    for store, options, field in ("day.data", ["--max-size", "500M"], b"--max-size lasts "), ("more.data", [], b" h "):
        with Scene(RPISTAT, *record, store, *options) as scene:
            scene.resize(120, 24)
            scene.wait_for(field)
            scene.wait_for(DRAWN)
        assert bool(re.search(rb"lasts \d+ d \d+ h", scene.shown)) == (b"lasts" in scene.shown) == bool(options), scene.shown


def test_long_lines():
    """lines that a terminal would break inside a word are broken between words: a message, a line, a field of the report"""
    command = ["sh", "-c", "true " + "word " * 40]
    status, shown = on_terminal(*program.counting(), "-o", "wide.data", *command, stdout=False, stderr=True)
    assert status == 0 and "ran for" in re.sub(r"\r?\n  ", " ", shown), shown
    for text in (shown, on_terminal("report", "-i", "wide.data")[1]):
        lines = [line for line in text.splitlines() if not line.startswith("rpistat: next: ")]
        assert max(map(len, lines)) <= 80, max(lines, key=len)
    status, shown = on_terminal("report", "-r", "nosuch", "-i", "wide.data", "--from", "x" * 9 + " y" * 40, stderr=True)
    assert status == 2 and all(len(line) <= 80 for line in shown.splitlines()), shown


with FOLDER:
    tap.main([test_long_lines, test_long_functions, test_runs_width, test_wall_width, test_runs_wide_characters, test_drawing_size, test_drawing_of_nine,
              test_small, test_no_color, test_characters, test_sixel, test_plot_note,
              test_terminal_workload, test_terminal_job,
              test_terminal_background,
              *[("record: %s has its screen for itself" % name, screen, name) for name in SCREENS],
              test_notes_wait, test_status_line, test_status_line_files, test_progress,
              test_first_notes, test_end_note, test_max_size])
