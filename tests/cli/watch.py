"""watch: drawn once and repeatedly, with and without a terminal; its end, and what it leaves."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time

import program
from program import RPISTAT, Folder, Recording, Running, environment, expect, refused, tap

FOLDER = Folder(runs=1)
SECOND_SCREEN, FIRST_SCREEN = "\033[?1049h", "\033[?1049l"


class Terminal(Running):
    """watch on its own terminal."""

    def __init__(self, *arguments, columns=80, lines=24, env=None):
        self.master, self.slave = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.slave)
        self.shown = ""
        self.process = subprocess.Popen(
            [RPISTAT, "watch", *arguments], cwd=FOLDER.path, stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env=env or environment(TERM="xterm", NO_COLOR="1"),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns, lines):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def wait_for(self, pattern):
        """Read until the output since the last call matches the pattern. Return this output."""
        while not re.search(pattern, self.shown, re.S):
            ready = select.select([self.master], [], [], program.TIMEOUT)[0]
            assert ready, "never shown: %s in %r" % (pattern, self.shown)
            self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
        shown, self.shown = self.shown, ""
        return shown

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Return the status. The rest of the output is in self.shown; the terminal is restored."""
        status = self.process.wait(program.TIMEOUT)
        while select.select([self.master], [], [], 0)[0]:
            self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
        assert termios.tcgetattr(self.slave) == self.before, "the terminal's mode was changed"
        return status

    def __exit__(self, *unused):
        super().__exit__(*unused)
        os.close(self.slave)
        os.close(self.master)


class Growing:
    """A simulated run in progress, which grows on request."""

    def __init__(self, script, seconds):
        for name in os.listdir(FOLDER.path):
            if name.startswith(("full.data", "grow.data")):
                os.unlink(FOLDER / name)
        FOLDER.write("grow.sim", script)
        expect(FOLDER.call("record", "-q", "--pmu", "sim:grow.sim", "-o", "full.data"), 0)
        shutil.copy(FOLDER / "full.data", FOLDER / "grow.data")
        self.seconds = 0
        self.change("DELETE FROM period", "DELETE FROM rollup",
                    "INSERT INTO heartbeat SELECT run_id, %d, boot_id, 3600000000000 FROM run" % time.time_ns(),
                    "UPDATE run SET state = 'recording', elapsed_ns = NULL")
        self.grow(seconds)

    @staticmethod
    def change(*statements):
        store = sqlite3.connect(FOLDER / "grow.data", timeout=60)
        store.execute("ATTACH ? AS complete", (FOLDER / "full.data",))
        with store:
            for statement in statements:
                store.execute(statement)
        store.close()

    def grow(self, seconds):
        self.change("INSERT INTO period SELECT * FROM complete.period WHERE start_ns >= %d AND start_ns < %d"
                    % (self.seconds * 10**9, seconds * 10**9))
        self.seconds = seconds

    def end(self):
        self.change("DELETE FROM heartbeat", "UPDATE run SET state = 'complete', elapsed_ns = "
                    "(SELECT max(start_ns + length_ns) FROM period)")


class Acting(Running):
    """watch without a terminal, for the growing run; `lines` are what its commands print."""
    ECHO = ("--", "sh", "-c", "echo $RPISTAT_CONDITION $RPISTAT_PHASE $RPISTAT_RUN $RPISTAT_TIME_S $RPISTAT_STORE")

    def __init__(self, *arguments, **options):
        self.process = subprocess.Popen([RPISTAT, "watch", "-i", "grow.data", "--every", "200ms", *arguments],
                                        cwd=FOLDER.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(), text=True, **options)

    def line(self):
        text = byte = b" "
        while byte not in (b"", b"\n"):  # byte by byte, so that no line is buffered where select does not see it
            assert select.select([self.process.stdout], [], [], program.TIMEOUT)[0], "no command was run"
            byte = os.read(self.process.stdout.fileno(), 1)
            text += byte
        return text.decode().split()

    def end(self):
        """Return the status, the remaining lines, and the messages."""
        out, said = self.process.communicate(timeout=program.TIMEOUT)
        self.process.stdout.close()
        return self.process.returncode, out, said


def is_line(line, condition, phase, seconds):
    assert line[:3] == [condition, phase, "1"] and line[4] == "grow.data", line
    assert abs(float(line[3]) - seconds) <= .5, (line, seconds)


STEPS = "".join("phase p%d 10s instructions=%sM\n" % (n, n % 2 * 150 + 50) for n in range(5))


def test_on_phase():
    """--on phase runs the command once per phase, with the phase in the environment; nothing is drawn"""
    growing = Growing(STEPS, 5)
    with Acting("--on", "phase", *Acting.ECHO) as acting:
        is_line(acting.line(), "phase", "A", 0)
        for seconds, phase in ((10, "B"), (20, "A"), (30, "B")):
            growing.grow(seconds + 3)
            is_line(acting.line(), "phase", phase, seconds)
            growing.grow(seconds + 9)
        growing.end()
        assert acting.end() == (0, "", "rpistat: the recording of run 1 ended after 39.0 s\n")


def test_on_sigchld():
    """if watch was started with SIGCHLD ignored, the command has it ignored too, and its end is still noticed"""
    command = [sys.executable, "-c", "import signal; print(int(signal.getsignal(signal.SIGCHLD)), flush=True)"]
    for disposition in signal.SIG_IGN, signal.SIG_DFL:
        growing = Growing(STEPS, 5)
        with Acting("-q", "--on", "phase", "--", *command,
                    preexec_fn=lambda: signal.signal(signal.SIGCHLD, disposition)) as acting:
            for seconds in 13, 23:
                assert acting.line() == [str(int(disposition))]
                growing.grow(seconds)
            assert acting.line() == [str(int(disposition))]
            growing.end()
            assert acting.end() == (0, "", "")


def test_on_letter():
    """--on phase:B runs only for this phase, also for those since the last check; a second condition next to it"""
    growing = Growing(STEPS, 5)
    with Acting("-q", "--on", "phase:b", "--on", "cpi>5", *Acting.ECHO) as acting:
        is_line(acting.line(), "cpi>5", "A", 4)
        growing.grow(29)
        is_line(acting.line(), "phase:b", "B", 10)
        growing.grow(35)
        is_line(acting.line(), "phase:b", "B", 30)
        growing.end()
        assert acting.end() == (0, "", "")


def test_on_metric():
    """--on METRIC>X: once until it no longer holds, then again"""
    growing = Growing(STEPS, 5)
    with Acting("-q", "--on", "cpi<5", "--on", "cpi>5", *Acting.ECHO) as acting:
        assert acting.line()[0] == "cpi>5"
        for seconds, condition, phase in ((10, "cpi<5", "B"), (20, "cpi>5", "A"), (30, "cpi<5", "B")):
            growing.grow(seconds + 5)
            line = acting.line()
            assert line[:3] == [condition, phase, "1"] and seconds < float(line[3]) < seconds + 5, line
            growing.grow(seconds + 9)
        growing.end()
        assert acting.end() == (0, "", "")


def test_busy():
    """a phase that begins while the command runs is handled after it; watch waits for commands at its end"""
    growing = Growing(STEPS, 5)
    os.mkfifo(FOLDER / "go")
    with Acting("--on", "phase", "--", "sh", "-c", "echo $RPISTAT_PHASE; read x <go; echo done") as acting:
        assert acting.line() == ["A"]
        growing.grow(15)
        with Acting("-q", "--until", "phase:B") as other:
            assert other.end()[0] == 0
        growing.end()
        said = acting.process.stderr.readline()  # it is waiting now
        assert "ended after" in said and acting.process.poll() is None, said
        FOLDER.write("go", "x\n")
        assert acting.line() == ["done"]
        assert acting.line() == ["B"]  # it began while the command for A ran
        FOLDER.write("go", "x\n")
        assert acting.end() == (0, "done\n", "")


def test_on_every_phase():
    r"""--on phase runs the command for each phase since the last check, in their order"""
    growing = Growing("".join("phase p%d 5s instructions=%sM\n" % (n, n % 2 * 150 + 50) for n in range(9)), 4)
    with Acting("-q", "--on", "phase", "--on", "phase:B", *Acting.ECHO) as acting:
        is_line(acting.line(), "phase", "A", 0)
        growing.grow(33)
        found = sorted((float(line[3]), line[0]) for line in (acting.line() for _ in range(9)))
        expected = sorted([(5 * n, "phase") for n in range(1, 7)] + [(5 * n, "phase:b") for n in (1, 3, 5)])
        assert all(abs(at - seconds) <= .5 and name.lower() == condition
                   for (at, name), (seconds, condition) in zip(found, expected)), (found, expected)
        growing.end()
        assert acting.end() == (0, "", "")


def test_loop_end():
    """loop-end occurs once, when what follows is no iteration; if the run ends before, --until ends with 5"""
    growing = Growing("phase a 9s instructions=30M\nrepeat 7\nphase b 6s instructions=200M\n"
                      "phase c 5s instructions=400M dc_miss=6M\nend\nphase d 40s instructions=80M\n", 80)
    with Acting("-q", "--on", "loop-end", *Acting.ECHO) as acting, \
            Acting("--until", "loop-end", "--until", "phase:Z") as until:
        growing.grow(115)
        is_line(acting.line(), "loop-end", "D", 86)
        assert until.end() == (0, "", "rpistat: run 1: loop-end since 00:01:26\n")
        growing.grow(122)
        growing.end()
        assert acting.end() == (0, "", "")
    expect(FOLDER.call("watch", "-i", "grow.data", "--until", "loop-end"), 0)
    expect(FOLDER.call("watch", "-i", "loop.data", "--until", "loop-end"), 5)


def test_loop_end_once():
    """a loop that ended and has one more iteration later ends once; another loop ends too"""
    turn = "phase b 6s instructions=200M\nphase c 5s instructions=400M dc_miss=6M\n"
    growing = Growing("phase a 9s instructions=30M\nrepeat 7\n" + turn + "end\nphase b 40s instructions=200M\n"
                      "phase d 20s instructions=80M\n" + turn + "phase d 60s instructions=80M\nrepeat 7\n"
                      "phase e 4s instructions=500M\nphase f 5s instructions=20M\nend\nphase d 60s instructions=80M\n", 80)
    with Acting("-q", "--on", "loop-end", "--on", "phase", *Acting.ECHO) as acting:
        ends = []

        def follow(seconds, condition, since):
            growing.grow(seconds)
            while not (line := acting.line())[0] == condition or float(line[3]) < since - 1:
                ends.extend([float(line[3])] * (line[0] == "loop-end"))
        follow(144, "phase", 126)
        follow(200, "phase", 157)  # the loop has another end by then
        follow(330, "loop-end", 280)
        growing.end()
        assert len(ends) == 1 and abs(ends[0] - 86) < .5 and "loop-end" not in acting.end()[1], ends


def test_odd_turn():
    """an unusual iteration does not end a loop that continues"""
    turns = "repeat %d\nphase b 6s instructions=200M\nphase c 5s instructions=400M dc_miss=6M\nend\n"
    growing = Growing(turns % 6 + "phase b 6s instructions=200M\nphase odd 5s instructions=40M dc_miss=20M\n" + turns % 6, 62)
    with Acting("-q", "--on", "loop-end", "--on", "phase", *Acting.ECHO) as acting:
        acting.line()
        for seconds in (69, 75, 80, 85):  # in each phase of the unusual iteration, and in the next two
            growing.grow(seconds)
            line = acting.line()
            while float(line[3]) < seconds - 6.5:  # a phase that began before
                assert line[0] == "phase", line
                line = acting.line()
            assert line[0] == "phase", line
        growing.end()
        status, lines, said = acting.end()
        assert (status, said) == (0, "") and "loop-end" not in lines, (status, lines, said)


def test_until():
    """--until: 0 if the condition occurs, 5 if the recording or watch ends before; at least ten periods"""
    growing = Growing(STEPS, 15)
    with Acting("--until", "phase:b") as until:
        assert until.end() == (0, "", "rpistat: run 1: phase:b since 00:00:10\n")
    with Acting("--until", "phase:C", "--on", "phase", *Acting.ECHO) as until:
        is_line(until.line(), "phase", "B", 10)
        growing.grow(25)
        is_line(until.line(), "phase", "A", 20)
        growing.end()
        assert until.end() == (5, "", "rpistat: the recording of run 1 ended after 25.0 s\n")
    growing = Growing(STEPS, 15)
    with Acting("--until", "phase:C", "--on", "phase", *Acting.ECHO) as until:
        until.line()
        growing.grow(25)
        until.line()  # it follows the recording
        until.process.terminate()
        assert until.end() == (5, "", "")
    FOLDER.write("short.sim", "phase a 10s instructions=50M\nphase b 0.8s instructions=200M\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:short.sim", "-o", "short.data", "-e", "instructions"), 0)
    assert " phase B since" in expect(FOLDER.call("watch", "-i", "short.data"), 0).stdout
    expect(FOLDER.call("watch", "-i", "short.data", "--until", "phase:B"), 5)


def test_conditions_on_terminal():
    """on a terminal --until draws, and q does not count as its condition; with --on, commands use the terminal"""
    growing = Growing(STEPS, 15)
    with Terminal("-i", "grow.data", "--every", "200ms", "--until", "phase:C") as terminal:
        assert SECOND_SCREEN in terminal.wait_for("recording.*00:00:0")
        terminal.type("q")
        assert terminal.end() == 5
    with Terminal("-i", "grow.data", "--every", "200ms", "--on", "phase", "--", "echo", "a", "command") as terminal:
        assert terminal.wait_for("a command\r\n") == "a command\r\n"
        growing.grow(25)
        assert terminal.wait_for("a command\r\n") == "a command\r\n"
        terminal.type("\003")
        assert terminal.end() == 0


def test_no_command():
    """a command that cannot be run ends watch with status 1"""
    Growing(STEPS, 5)
    with Acting("--on", "phase", "--", "./nosuch") as acting:
        assert acting.end() == (1, "", "rpistat: cannot run './nosuch': No such file or directory\n")


def test_turn():
    """the current iteration of a loop is named, also before it has ended"""
    FOLDER.write("loop.sim", "phase a 9s instructions=30M\nrepeat 7\nphase b 6s instructions=200M\n"
                 "phase c 5s instructions=400M dc_miss=6M\nend\nphase b 6s instructions=200M\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:loop.sim", "-o", "loop.data"), 0)
    answer = expect(FOLDER.call("watch", "-i", "loop.data"), 0).stdout
    assert re.search(r"  phase B( since \S+)?( \(.*\))?, iteration 8 of B C(  counters on \d+ % of the time)?$", answer.splitlines()[0]), answer
    expect(FOLDER.call("plot", "-i", "loop.data", "-o", "loop.html"), 0)  # a live page gets it in the same way
    assert b'"turn":"iteration 8 of B C"' in FOLDER.read("loop.html").replace(b'": "', b'":"')


def test_complete():
    """a finished run is drawn once, with figures and phase, and a note says that it has ended"""
    answer = expect(FOLDER.call("watch"), 0)
    lines = answer.stdout.splitlines()
    assert re.match(r"run 1  complete  25.0 s  250 periods  phase C since 00:00:20 \(", lines[0]), lines
    assert lines[1] == "at the end  idle", lines
    assert re.search(r"^Phases  \|.*A.*B", answer.stdout, re.M), answer.stdout
    assert "Cycles per instruction" in answer.stdout and "\033" not in answer.stdout
    assert "nothing is being recorded into rpistat.data" in answer.stderr, answer.stderr
    assert not expect(FOLDER.call("watch", "-q", "--once"), 0).stderr
    assert "no longer being recorded (complete)" in FOLDER.call("watch", "-r", "last").stderr


def test_not_counted():
    """a workload whose counters another program uses is not called idle"""
    with Folder() as folder:
        folder.write("held.sim", "steal 0s 9s\nsteal-clock 0s 9s\nphase work 5s instructions=1M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:held.sim"), 0)
        lines = expect(folder.call("watch", "-q"), 0).stdout.splitlines()
        assert lines[1] == "at the end  not counted", lines


def test_figures():
    """the figures are those of the script, in readable units, and so is the duty cycle"""
    FOLDER.write("busy.sim", program.SCRIPT.replace("sleep 5s\n", ""))
    expect(FOLDER.call("record", "--pmu", "sim:busy.sim", "-o", "busy.data",
                       "--metric", "rate=instructions/seconds"), 0)
    lines = FOLDER.call("watch", "-i", "busy.data", "--every", "5s",
                        env=environment(COLUMNS="200")).stdout.splitlines()
    sets = int(re.search(r"  counters on (\d+) % of the time$", lines[0]).group(1))
    assert 20 <= sets <= 34, lines[0]
    assert re.search(r"phase B since 00:00:\d\d \((9|10)\.\d+ s\)  counters on ", lines[0]), lines[0]
    assert re.match(r"at the end  .*CPI 3\.5.*  rate 200 M$", lines[1]), lines[1]


def test_last():
    """--last: only the end of the run is drawn and analysed for phases"""
    shown = expect(FOLDER.call("watch", "--last", "12s"), 0).stdout
    assert "00:00:15" in shown and "00:00:00" not in shown, shown
    assert "00:00:00" in FOLDER.call("watch", "--last", "30s").stdout


def test_refused():
    """a missing store, a missing run, times out of range, the store as picture: refused"""
    refused(FOLDER.call("watch", "-i", "none.data"), 1, "none.data")
    refused(FOLDER.call("watch", "-r", "9"), 1, "9")
    refused(FOLDER.call("watch", "--every", "0.1s"), 2, "--every")
    refused(FOLDER.call("watch", "--last", "0"), 2, "--last")
    refused(FOLDER.call("watch", "--last", "1000d"), 2, "--last")
    refused(FOLDER.call("watch", "--plot", "rpistat.data"), 2, "is also the input")
    refused(FOLDER.call("watch", "--plot", "a.xyz"), 2, ".png")


def test_live_once():
    """a recording in progress: --once, and a pipe, draw once and end; so does --plot --once"""
    with Recording(FOLDER, "once.data") as recording:
        for arguments in [["--once"], []]:
            answer = expect(FOLDER.call("watch", "-i", "once.data", *arguments), 0)
            assert re.match(r"run 1  recording  \S+ s  \d+ periods?  (phase .*|counters on \d+ %)", answer.stdout), answer
            assert re.search("\n(now  |idle)", answer.stdout), answer.stdout
            assert "00:00:0" in answer.stdout and not answer.stderr, answer
        answer = expect(FOLDER.call("watch", "-i", "once.data", "--once", "--plot", "x.png"), 0)
        assert not answer.stdout and not answer.stderr, answer
        assert FOLDER.read("x.png").startswith(b"\x89PNG")
        assert recording.end() == 0


def test_newest_recording():
    r"""the run in progress is followed, even if another run is newer"""
    with Recording(FOLDER, "two.data") as recording:
        FOLDER.record("-o", "two.data")
        assert "run 1  recording" in FOLDER.call("watch", "-i", "two.data").stdout
        assert "run 2  complete" in FOLDER.call("watch", "-i", "two.data", "-r", "2").stdout
        recording.end()


def test_end():
    """on a terminal: redrawn until the recording ends, which is reported; status 0"""
    with Recording(FOLDER, "end.data") as recording, \
            Terminal("-i", "end.data", "--every", "200ms") as terminal:
        assert SECOND_SCREEN in terminal.wait_for("recording.*00:00:0")
        drawn = terminal.wait_for("recording.*recording.*00:00:0")
        assert FIRST_SCREEN not in drawn and "\033[2J" not in drawn, drawn  # the screen would flicker
        recording.end()
        assert terminal.end() == 0
        rest = terminal.shown[terminal.shown.index(FIRST_SCREEN):]
        assert "\033[?25h" in terminal.shown, terminal.shown
        assert re.search("run 1  complete.*00:00:0.*recording of run 1 ended", rest, re.S), rest
        assert rest.count("\n") < 24, rest


def test_killed():
    """it also ends if the recorder is killed"""
    with Recording(FOLDER, "killed.data") as recording, Terminal("-i", "killed.data") as terminal:
        terminal.wait_for("recording")
        recording.process.kill()
        recording.process.wait()
        program.silence(FOLDER / "killed.data")
        assert terminal.end() == 0
        assert "interrupted" in terminal.shown and "was killed" in terminal.shown, terminal.shown


def test_keys():
    """q and Ctrl-C end it at once with status 0, and restore the terminal; other keys do not"""
    with Recording(FOLDER, "keys.data") as recording:
        for key in ["xyq", "\003"]:
            with Terminal("-i", "keys.data", "--every", "1h") as terminal:
                terminal.wait_for("recording.*00:00:0")
                assert termios.tcgetattr(terminal.slave) != terminal.before
                terminal.type(key)
                assert terminal.end() == 0
                assert terminal.shown.endswith(FIRST_SCREEN), terminal.shown
                assert "\033[?25h" in terminal.shown, terminal.shown
        recording.end()


def test_stopped():
    """Ctrl-Z restores the terminal, and fg uses it again; SIGTERM restores it"""
    with Recording(FOLDER, "stop.data") as recording, \
            Terminal("-i", "stop.data", "--every", "1h") as terminal:
        terminal.wait_for("recording.*00:00:0")
        os.kill(terminal.process.pid, signal.SIGTSTP)
        assert os.WIFSTOPPED(os.waitpid(terminal.process.pid, os.WUNTRACED)[1])
        terminal.wait_for(re.escape(FIRST_SCREEN))
        assert termios.tcgetattr(terminal.slave) == terminal.before
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait_for(re.escape(SECOND_SCREEN) + ".*recording.*00:00:0")
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.end() == 0
        assert terminal.shown.endswith("\033[?25h" + FIRST_SCREEN), terminal.shown
        recording.end()


def test_sizes():
    """the drawing fits the terminal, also after its size changes"""
    with Recording(FOLDER, "size.data") as recording, \
            Terminal("-i", "size.data", "--every", "1h", columns=100, lines=30) as terminal:
        terminal.wait_for("recording.*00:00:0")
        for columns, lines in [(80, 24), (120, 40), (40, 10), (30, 8), (132, 50)]:
            terminal.resize(columns, lines)
            shown = terminal.wait_for(re.escape("\033[H") + "run 1.*" + re.escape("\033[J"))
            assert ("00:00:0" if columns > 30 else "too small") in shown, shown
            rows = re.sub("\033\\[[KJ]", "", shown[shown.rindex("\033[H") + 3:]).split("\r\n")
            assert len(rows) <= lines, (len(rows), lines, shown)
            assert max(map(len, rows)) <= columns, (columns, rows)
        terminal.type("q")
        assert terminal.end() == 0
        recording.end()


def test_picture():
    """--plot: the picture is redrawn repeatedly, and the terminal gets a line that is erased"""
    with Recording(FOLDER, "picture.data") as recording, \
            Terminal("-i", "picture.data", "--every", "200ms", "--plot", "p.svg") as terminal:
        terminal.wait_for("\rrun 1  recording")
        with open(FOLDER / "p.svg", "rb") as before:  # while the file is open, its inode number is in use
            terminal.wait_for("\rrun 1  recording.*\rrun 1  recording")
            assert os.stat(FOLDER / "p.svg").st_ino != os.fstat(before.fileno()).st_ino
            assert before.read().rstrip().endswith(b"</svg>"), "was written where it is"
        recording.end()
        assert terminal.end() == 0
        assert SECOND_SCREEN not in terminal.shown
        assert "\r\033[K" in terminal.shown and "ended after" in terminal.shown, terminal.shown
        assert FOLDER.read("p.svg").rstrip().endswith(b"</svg>")
        left = [name for name in os.listdir(FOLDER.path) if name.endswith(".part")]
        assert not left, left


def test_dumb():
    """on a terminal without cursor control, it draws once"""
    with Recording(FOLDER, "dumb.data") as recording, \
            Terminal("-i", "dumb.data", env=environment(TERM="dumb")) as terminal:
        assert terminal.end() == 0
        assert "run 1  recording" in terminal.shown and "\033" not in terminal.shown
        recording.end()


with FOLDER:
    tap.main([test_turn, test_on_phase, test_on_sigchld, test_on_letter, test_on_metric, test_busy, test_on_every_phase, test_loop_end, test_loop_end_once, test_odd_turn,
              test_until, test_conditions_on_terminal, test_no_command, test_complete, test_not_counted, test_figures, test_last, test_refused,
              test_live_once, test_newest_recording, test_end, test_killed, test_keys,
              test_stopped, test_sizes, test_picture, test_dumb])
