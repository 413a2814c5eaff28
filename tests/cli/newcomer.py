"""The first ten minutes of a new user, on a terminal and in a root of its own: a temporary copy of
this system with an empty home. The output of each step is checked. `package.py` makes the package, and
runs these cases.
"""
import os
import pty
import re
import shutil
import subprocess

from program import TIMEOUT, shown_on, tap

# Input, and patterns that the answer must match.
STEPS = [
    ("apt-get install -y ./rpistat_*.deb", [r"Setting up rpistat"]),
    ("rpistat", [r"^Usage: rpistat \[OPTIONS\] \[--\] COMMAND", r"^Commands:$", r"status 2"]),
    ("rpistat sh -c 'printf \"Name: \"; for n in 1 2 3 4; do shuf -i 1-200000 >a; sort a >b; gzip <b >c; done; echo'",
     [r"^Name: $", r"^rpistat: sh -c '.* ran for \S+ s(, \S+ s of CPU time \([\d.]+ % of one CPU\)| with \S+ s of CPU time \(\S+ CPUs\)), exit status 0$",
      r"^rpistat: next: rpistat report; rpistat plot -o rpistat\.html$"]),
    ("ls", [r"\brpistat\.data\b", r"\brpistat\.txt\b"]),
    ("rpistat report", [r"^sh -c '.* ran for ", r"Measurement period: +0\.100 s", r"Exit status: +0", r"CPU use"]),
    ("rpistat phases --level fine", [r"^Phases of run 1, sh -c ", r"^  A +\S"]),
    ("rpistat code", [r"^Code of run 1, sh -c ", r"\d samples \(\S+, \d+ Hz per CPU\)", r"^ +Self +Total +Module "]),
    ("rpistat plot -o first.png", [r"status 0"]),
    ("rpistat plot -o first.html", [r"status 0"]),
    ("file first.png first.html", [r"PNG image data, 1200 x", r"HTML document"]),
    ("rpistat plot -o - --size 80x30", [r"CPU use \(% of one CPU\)", r"^ +0 [┤+]", r"00:00:00"]),
    ("rpistat export -o first.csv; head -2 first.csv", [r"^run,cpu,period,time_s,length_s,cycle,cycles,set,",
                                                        r"^1,,0,0\.000000000,0\."]),
    ("rpistat runs", [r"^RUN +LABEL +START +STATE ", r"^ +1 +- +\d{4}-\d\d-\d\d \d\d:\d\d +complete "]),
    ("rpistat plots", [r"did you mean plot\?", r"status 127"]),
    ("rpistat --period 100 true", [r"the unit is missing; write 100ms or 100s", r"status 2"]),
    ("rpistat -q --label again true; rpistat report -r again", [r"Label: +again"]),
    ("sqlite3 -readonly rpistat.data 'SELECT count(*) FROM run'", [r"^2$"]),
    ("rpistat check", [r": OK \("]),
    ("apt-get remove -y rpistat", [r"Removing rpistat"]),
    ("rpistat runs", [r"rpistat: (command )?not found|No such file", r"status 127"]),
]

# The overlay of the root ends with its namespace.
ENTER = """
set -e
mount -t tmpfs newcomer "$PLACE"
mkdir "$PLACE/upper" "$PLACE/work" "$PLACE/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$PLACE/upper,workdir=$PLACE/work" "$PLACE/root"
for folder in proc sys dev; do mount --rbind "/$folder" "$PLACE/root/$folder"; done
mkdir -p "$PLACE/root/root/newcomer"
cp "$PACKAGE" "$PLACE/root/root/newcomer"
rm -f "$PLACE/root/var/lib/man-db/auto-update" # the index of all pages takes 2 s each time
exec chroot "$PLACE/root" env -i HOME=/root/newcomer TERM=xterm LANG=C.UTF-8 \\
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "$SCRIPT"
"""


def script():
    """Each step, after a line with its number and before its status."""
    lines = ["cd; export DEBIAN_FRONTEND=noninteractive"]
    for number, (typed, _) in enumerate(STEPS):
        lines += ["echo '=== %d'" % number, typed, "echo \"status $?\""]
    return "\n".join(lines)


def transcript(package):
    """The output on the terminal, one text per step."""
    place = os.path.join(os.environ.get("TMPDIR", "/tmp"), "newcomer-%d" % os.getpid())
    os.mkdir(place)
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER],
            env=dict(os.environ, PLACE=place, PACKAGE=package, SCRIPT=script()),
            preexec_fn=lambda: os.login_tty(slave), stdin=subprocess.DEVNULL)
        os.close(slave)
        text = re.sub("\x1b\\[[0-9;]*m|.*\r\x1b\\[K", "", shown_on(master))  # an erased line is removed
        process.wait(TIMEOUT)
    finally:
        os.close(master)
        os.rmdir(place)
    if "=== 0\n" not in text:
        raise tap.Skip("a root of its own cannot be made here: %s" % text)
    return re.split(r"^=== \d+\n", text, flags=re.M)[1:]


SHOWN = []


def check_step(number, make_package):
    if not SHOWN:
        if os.geteuid() != 0:
            raise tap.Skip("only root can make a root")
        SHOWN.extend(transcript(make_package()))
    typed, patterns = STEPS[number]
    for tool in ("file", "sqlite3"):
        if typed.startswith(tool) and "status 127" in SHOWN[number]:
            raise tap.Skip("%s is not installed" % tool)
    for pattern in patterns:
        assert re.search(pattern, SHOWN[number], re.M), "no %s in: %s" % (pattern, SHOWN[number])
    if not any("status" in pattern for pattern in patterns):
        assert SHOWN[number].endswith("status 0\n"), SHOWN[number]


def cases(make_package):
    """The steps as cases. make_package() returns the path of the program's package."""
    return [("a newcomer types: %s" % typed, check_step, number, make_package) for number, (typed, _) in enumerate(STEPS)]
