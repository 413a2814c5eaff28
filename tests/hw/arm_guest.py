#!/usr/bin/env python3
"""rpistat on an emulated ARM machine with a PMU: exact counts through the kernel's own driver.

usage: arm_guest.py MESON arm64|armhf   with RPISTAT_ARM_GUEST naming the guest's folder of scripts

The scripts (setup.sh, cc-guest.sh, run-guest.sh) boot a Debian kernel in QEMU, where one
instruction takes 4 ns and counts as 4 cycles (-i 2). setup.sh makes the guest when there is none
yet, in $HARNESS, from Debian's packages; where it cannot, or without the scripts, the cases are
skipped. rpistat is cross-built with meson against the guest's libraries, so the real build is
tested. Each machine is booted by the first case that asks for it.
"""
import fcntl
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import tap  # noqa: E402
from recording import TURN_INSTRUCTIONS, Recording, near  # noqa: E402

MESON = sys.argv[1]
SCRIPTS = os.environ.get("RPISTAT_ARM_GUEST")
HARNESS = os.environ.get("HARNESS", "/tmp/rpistat-arm-guest")
# The library files that the linker reads; for LAPACK only what the compiler and pkg-config check.
LIBRARIES = ("libsqlite3.so", "libinih.so", "libcsv.so", "pkgconfig/lapacke.pc",
             "pkgconfig/lapack-netlib.pc", "pkgconfig/blas-netlib.pc")
ALTERNATIVES = ("lapack", "blas")  # names that Debian creates when a package is installed
PACKAGES = {"LIBS": "libc6 libsqlite3-0 libcsv3 libinih1 libpfm4",
            "DEVS": "libsqlite3-dev libcsv-dev libinih-dev libpfm4-dev liblapacke-dev "
                    "liblapack-dev libblas-dev libcurl4-openssl-dev libmicrohttpd-dev "
                    "libsnappy-dev"}
# The numbers have the same number of digits, so that the program needs the same time for its
# argument: 0.8 s and 0.16 s of the guest's time.
TURNS, FEW_TURNS = 50000000, 10000000
MORE_TURNS = 2 * FEW_TURNS
CYCLES_PER_INSTRUCTION = 4

CROSS = """[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
strip = '{triplet}-strip'
pkgconfig = 'pkg-config'

[properties]
sys_root = '{sysroot}'
pkg_config_libdir = ['{sysroot}/usr/lib/{triplet}/pkgconfig', '{sysroot}/usr/share/pkgconfig',
    '{folder}']

[built-in options]
c_args = ['-isystem', '{sysroot}/usr/include', '-isystem', '{sysroot}/usr/include/{triplet}']
c_link_args = ['-L{sysroot}/usr/lib/{triplet}', '-L{sysroot}/lib/{triplet}',
    '-Wl,-rpath-link={sysroot}/usr/lib/{triplet}:{sysroot}/lib/{triplet}']

[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{family}'
endian = 'little'
"""

ONE_CPU = """set -e
record="./rpistat record -q --pmu hardware --period 10ms"
./loop 1
$record --sets one-set.ini -o /out/few.data -- ./loop {few}
$record --sets one-set.ini -o /out/one.data -- ./loop {turns}
$record --sets four-sets.ini --always-rotate --order fixed -o /out/four.data -- ./loop {turns}
$record --sets four-sets.ini -o /out/merged.data -- ./loop {turns}
$record --sets split-set.ini -o /out/split.data -- ./loop {turns}
./rpistat report -i /out/four.data > /out/report.txt
./samples one-set.ini 1 ./loop {turns} > /out/samples.txt
./samples one-set.ini 2 ./loop {few} > /out/samples-dwarf.txt
./samples full-set.ini 1 ./loop {few} > /out/samples-full.txt
"""

# The threads' own times are from schedstat, read before and after the counted time.
TWO_CPUS = """set -e
record="./rpistat record -q --pmu hardware --period 10ms"
spent() {{ cat /proc/$pid/task/*/schedstat | while read ran rest; do echo $ran; done; echo; }}
ask() {{ echo "$1" > /tmp/control; read answer < /tmp/control.ack; [ "$answer" = ack ]; }}
./loop 1
$record --no-samples --sets one-set.ini -a -o /out/all.data -- ./loop {turns}
mkfifo /tmp/control /tmp/control.ack
exec 8<> /tmp/control 9<> /tmp/control.ack
./threads stay 3 > /tmp/ready & pid=$!
until [ -s /tmp/ready ]; do sleep 0.1; done
$record --sets one-set.ini -p $pid --delay off --control fifo:/tmp/control \\
    -o /out/attach.data & recorder=$!
ask "mark attached"
spent > /out/before.txt
ask enable
spent > /out/from.txt
sleep 2
spent > /out/to.txt
ask disable
spent > /out/after.txt
ask stop
wait $recorder
kill $pid
$record --sets four-sets.ini --always-rotate -a --control fifo:/tmp/control -o /out/offline.data \\
    & recorder=$!
ask "mark before"
echo 0 > /sys/devices/system/cpu/cpu1/online
sleep 0.3
ask stop
wait $recorder
"""

# One of two CPUs goes offline and returns, while threads on both wait for each other.
OFFLINE = """set -e
online=/sys/devices/system/cpu/cpu1/online
echo 1 > $online
./rpistat record -q --pmu software --wall -o /out/wall.data -- ./waits 20 50 > /out/waited.txt & recorder=$!
sleep 2
echo 0 > $online
sleep 2
echo 1 > $online
wait $recorder
./rpistat check -i /out/wall.data
"""

# The CPU is idle, half busy, and busy.
CPU_USE = """set -e
record="./rpistat record -q --pmu hardware --sets one-set.ini -a"
./loop 1
$record -o /out/idle.data -- sleep 2
$record -o /out/half.data -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ./loop {few}; sleep 0.16; done'
$record -o /out/busy.data -- ./loop {turns}
$record -o /out/short.data --period 10ms -- sleep 2
"""

# The last script, since it allows user access: without kernel.perf_user_access only the kernel can
# read counters.
REGIONS = """set -e
record="./rpistat record -q --pmu hardware --period 10ms --sets one-set.ini"
./regions one-set.ini {few} > /out/system.txt
./regions full-set.ini {few} > /out/full.txt
echo 1 > /proc/sys/kernel/perf_user_access
./regions one-set.ini {few} > /out/user.txt
for turns in {few} {more}; do
    $record -o /out/$turns.data -- ./regions one-set.ini $turns > /out/recorded-$turns.txt
done
"""

# Another program holds all counters for half of the time, and whenever the workload is counted.
COMPETITION = """set -e
record="./rpistat record -q --pmu hardware"
./loop 1
$record -o /out/turns.data -- ./competitor 30 ./loop {turns}
mkfifo /tmp/control /tmp/control.ack
exec 8<> /tmp/control 9<> /tmp/control.ack
$record --delay off --control fifo:/tmp/control -o /out/all.data -- ./competitor 0 sh -c '
    ask() {{ echo $1 > /tmp/control; read answer < /tmp/control.ack; [ "$answer" = ack ]; }}
    ask enable; ./loop {few}; ask disable'
for name in turns all; do
    ./rpistat report -i /out/$name.data > /out/$name.txt
    ./rpistat report --format classic -i /out/$name.data > /out/$name-2013.txt
done
"""

VERIFY = """./rpistat verify --pmu hardware --sets four-sets.ini > /out/verify.txt 2>&1
echo $? > /out/status.txt
"""

NO_PMU = """./rpistat record --pmu hardware -o /tmp/x.data -- ./loop 10 > /out/hardware.txt 2>&1
echo $? > /out/status.txt
./rpistat record -o /out/software.data -- ./loop {few} > /out/software-messages.txt 2>&1
"""

CORTEX_A7 = """set -e
record="./rpistat record -q --pmu hardware --period 10ms"
./loop 1
$record --sets split-set.ini -o /out/split.data -- ./loop {turns}
"""


def run(*command, **environment):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, check=False,
                          env={**os.environ, **environment})


def call(*command):
    done = run(*command)
    assert done.returncode == 0, "%s: status %d\n%s" % (
        " ".join(command), done.returncode, done.stdout)


class Build:
    """rpistat and the workloads for one architecture, cross-built at the first request."""

    def __init__(self, arch, triplet, family, emulator):
        self.arch, self.triplet, self.family, self.emulator = arch, triplet, family, emulator
        self.guest = os.path.join(HARNESS, arch)
        self.sysroot = os.path.join(self.guest, "sysroot")
        self.folder = self.refusal = None

    def missing(self):
        """What setup.sh has not made yet, or None."""
        for program in (self.emulator, self.triplet + "-gcc"):
            if not shutil.which(program):
                return program
        for path in ("initrd.cpio", *(os.path.join("sysroot/usr/lib", self.triplet, name)
                                      for name in LIBRARIES)):
            if not os.path.exists(os.path.join(self.guest, path)):
                return os.path.join(self.guest, path)
        return None

    def make_guest(self):
        """Let setup.sh make the guest, one at a time. Return the reason if there is none, or None."""
        os.makedirs(HARNESS, exist_ok=True)
        with open(os.path.join(HARNESS, "lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.missing():
                return None
            done = run(os.path.join(SCRIPTS, "setup.sh"), self.arch, **PACKAGES)
            if not self.missing():
                return None
            return "there is no %s; setup.sh %s: status %d, %s" % (
                self.missing(), self.arch, done.returncode, done.stdout.strip()[-200:])

    def need(self):
        if not SCRIPTS:
            raise tap.Skip("RPISTAT_ARM_GUEST does not name the ARM guest's scripts")
        if self.refusal is None:
            self.refusal = self.missing() and self.make_guest() or ""
        if self.refusal:
            raise tap.Skip(self.refusal)

    def programs(self):
        """A folder with all recorded programs, and rpistat."""
        if self.folder:
            return self.payload
        self.folder = tempfile.TemporaryDirectory()
        cross, build = (os.path.join(self.folder.name, name) for name in ("cross.ini", "build"))
        self.payload = os.path.join(self.folder.name, "payload")
        for name in ALTERNATIVES:
            os.symlink(os.path.join(self.sysroot, "usr/lib", self.triplet, "pkgconfig",
                                    name + "-netlib.pc"),
                       os.path.join(self.folder.name, name + ".pc"))
        with open(cross, "w", encoding="utf-8") as file:
            file.write(CROSS.format(triplet=self.triplet, sysroot=self.sysroot,
                                    family=self.family, folder=self.folder.name))
        call(MESON, "setup", "--cross-file", cross, "-Dwerror=true", "-Doptimization=1", "-Ddebug=false", build, tap.root())
        library, known = "src/region/librpistat-region.a", "src/sim/libsim.a"
        call("ninja", "-C", build, "src/cli/rpistat", library, known)
        os.mkdir(self.payload)
        for name, source, *libraries in (
                ("loop", "loop.c"), ("competitor", "competitor.c"),
                ("threads", "../cli/threads.c", "-lpthread"), ("waits", "../cli/waits.c", "-lpthread"),
                ("regions", "regions.c", os.path.join(build, known), os.path.join(build, library),
                 "-linih", "-lm", "-lpthread"),
                ("samples", "samples.c", os.path.join(build, library), "-linih", "-lm",
                 "-lpthread")):
            call(os.path.join(SCRIPTS, "cc-guest.sh"), "-a", self.arch, "-O2", "-static", "-I",
                 os.path.join(tap.root(), "include"), "-o", os.path.join(self.payload, name),
                 os.path.join(HERE, source), *libraries)
        for path in (os.path.join(build, "src", "cli", "rpistat"),
                     *(os.path.join(HERE, name + ".ini")
                       for name in ("one-set", "four-sets", "split-set", "full-set"))):
            shutil.copy(path, self.payload)
        return self.payload


class Guest:
    """A machine, booted once, that runs scripts in sequence, and its recordings."""

    def __init__(self, build, scripts, *options):
        self.build, self.scripts, self.options = build, scripts, options
        self.folder = self.failure = None

    def path(self, name):
        self.build.need()
        if self.failure:
            raise AssertionError("the guest failed before: " + self.failure)
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory()
            try:
                self.boot()
            except AssertionError as failure:
                self.failure = str(failure).splitlines()[0]
                raise
        return os.path.join(self.folder.name, "out", name)

    def boot(self):
        payload = os.path.join(self.folder.name, "payload")
        shutil.copytree(self.build.programs(), payload)
        names = ["script%d.sh" % number for number in range(len(self.scripts))]
        for name, script in zip(names, self.scripts):
            with open(os.path.join(payload, name), "w", encoding="ascii") as file:
                file.write(script.format(turns=TURNS, few=FEW_TURNS, more=MORE_TURNS))
        with open(os.path.join(payload, "run.sh"), "w", encoding="ascii") as file:
            file.write("set -e\n" + "".join("sh ./%s\n" % name for name in names))
        call(os.path.join(SCRIPTS, "run-guest.sh"), "-i", "2", "-t", "1500", "-a", self.build.arch,
             *self.options, payload, os.path.join(self.folder.name, "out"))

    def recording(self, name):
        return Recording(self.path(name))

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


ARM64 = Build("arm64", "aarch64-linux-gnu", "aarch64", "qemu-system-aarch64")
ARMHF = Build("armhf", "arm-linux-gnueabihf", "arm", "qemu-system-arm")
one_cpu = Guest(ARM64, (ONE_CPU, CPU_USE, COMPETITION, VERIFY, REGIONS), "-s", "1")
two_cpus = Guest(ARM64, (TWO_CPUS, OFFLINE), "-s", "2")
no_pmu = Guest(ARM64, (NO_PMU,), "-s", "1", "-c", "cortex-a53,pmu=off")
cortex_a7 = Guest(ARMHF, (CORTEX_A7,), "-s", "1")


# --- one Cortex-A53 -----------------------------------------------------------------------------


def check_exact():
    """the loop's instructions are counted exactly"""
    few, one = one_cpu.recording("few.data"), one_cpu.recording("one.data")
    difference = one.total("c0") - few.total("c0")
    assert abs(difference - (TURNS - FEW_TURNS) * TURN_INSTRUCTIONS) <= 20, difference


def check_cycles():
    """each instruction is 4 cycles"""
    one = one_cpu.recording("one.data")
    near("cycles", one.total("c1"), one.total("c0") * CYCLES_PER_INSTRUCTION, 0.001)


def check_rotation():
    """four sets rotate, period by period, without a loss between them"""
    few, four = one_cpu.recording("few.data"), one_cpu.recording("four.data")
    sets = four.sets()
    assert sets == [period % 4 for period in range(len(sets))], sets
    assert len(sets) >= 60, "too few periods: %d" % len(sets)
    # One CPU: the workload does not run while the recorder switches sets.
    difference = four.total("c0") - few.total("c0")
    assert abs(difference - (TURNS - FEW_TURNS) * TURN_INSTRUCTIONS) <= 20, difference


def check_estimates():
    """the scaled estimates of each set are within 1 % of full-time counting, over 60 periods"""
    one, four = one_cpu.recording("one.data"), one_cpu.recording("four.data")
    for number in range(4):
        near("instructions of set %d" % number, four.estimate(number, "c0"), one.total("c0"), 0.01)
        near("cycles of set %d" % number, four.estimate(number, "c1"), one.total("c1"), 0.01)


def read_samples(name):
    """The sampled event, and the innermost addresses."""
    header, *lines = one_cpu.text(name).splitlines()
    return header.split()[0], [int(line.split()[0], 16) for line in lines]


def check_samples():
    """samples of the cycle counter are in the four instructions of the loop"""
    event, addresses = read_samples("samples.txt")
    assert event == "cycles", event
    # 0.8 s at 99 samples per second. The kernel first takes some fast samples to find the right
    # interval; those outside the loop are among them.
    assert 40 <= len(addresses) <= 160, len(addresses)
    code = run(ARM64.triplet + "-objdump", "-d", "--no-show-raw-insn",
               os.path.join(ARM64.payload, "loop")).stdout
    loop = re.search(r"(\w+):\tnop\n.*:\tnop\n.*:\tsubs\t(\w+), \2, #0x1\n *(\w+):\tb.ne\t\1 ",
                     code)
    first, last = int(loop.group(1), 16), int(loop.group(3), 16)
    inside = [address for address in addresses if first <= address <= last]
    assert len(inside) >= 0.8 * len(addresses), (len(inside), len(addresses))
    assert len(set(inside)) <= 4, sorted(set(inside))
    event, addresses = read_samples("samples-dwarf.txt")
    assert event == "cycles" and any(first <= address <= last for address in addresses)


def check_samples_full():
    """if a set uses all counters, samples take none of them"""
    event, addresses = read_samples("samples-full.txt")
    assert event == "cpu-clock", event
    assert len(addresses) >= 5, len(addresses)


def check_merged():
    """with six counters the four sets are merged into two, and a message says so"""
    merged = one_cpu.recording("merged.data")
    assert set(merged.sets()) == {0, 1}, sorted(set(merged.sets()))
    assert merged.fitting(), "nothing was said about it"


def follow_one_another(rows):
    """Periods, each with start and length, have no gap between them."""
    for number, ((start, length), (following, _)) in enumerate(zip(rows, rows[1:])):
        assert start + length == following, (number, start, length, following)


def check_lengths():
    """periods are 10 ms long, contiguous and without drift; a busy host may delay one in ten"""
    rows = one_cpu.recording("four.data").rows(
        "SELECT start_ns, length_ns FROM period ORDER BY period")
    follow_one_another(rows)
    late = [number for number, (following, _) in enumerate(rows[1:], 1) if abs(following - number * 10e6) > 5e6]
    assert 10 * len(late) <= len(rows), late


def split_in(guest, counters):
    """The eight events of one set were split for this number of counters; all were counted, with right values."""
    split = guest.recording("split.data")
    assert split.one("SELECT counter_count FROM run") == counters
    assert "split into 2" in split.fitting(), split.fitting()
    slots = split.rows("SELECT set_no, slot FROM event WHERE set_no >= 0 ORDER BY set_no, slot")
    assert slots == [(number // counters, number % counters) for number in range(8)], slots
    for set_no, slot in slots:
        near("instructions of set %d, slot %d" % (set_no, slot),
             split.estimate(set_no, "c%d" % slot), TURNS * TURN_INSTRUCTIONS, 0.015)


def check_split():
    """a Cortex-A53 has six counters; a set of eight events is split, and each event counted"""
    split_in(one_cpu, 6)


def check_cortex_a7():
    """a Cortex-A7 has four counters; a set of eight events is split, and each event counted"""
    split_in(cortex_a7, 4)


def check_cpu_use():
    """-a: a CPU without work is idle, a half-busy one is idle half of the time"""
    for name, least, most in (("idle.data", 0, 5), ("short.data", 0, 10),
                              ("half.data", 45, 60), ("busy.data", 95, 100)):
        (enabled, idle, length, excess), = one_cpu.recording(name).rows(
            "SELECT sum(enabled_ns), sum(idle_ns), sum(length_ns), max(idle_ns > enabled_ns) "
            "FROM period WHERE run_id = (SELECT max(run_id) FROM run)")
        near("time enabled", enabled, length, 0.02)
        assert least <= 100 * (enabled - idle) / length <= most and not excess, \
            (name, enabled, idle, length, excess)


# --- verify -------------------------------------------------------------------------------------


def check_verify():
    """verify reports for each interval whether it contains the full-time count, and how many do"""
    text = one_cpu.text("verify.txt")
    found = re.findall(r" (\d+) +(\d+) +\S+ % +\S+ %  (?:± (\S+) %, (holds|missed)|none: .+)$",
                       text, re.MULTILINE)
    assert len(found) == 8, text
    given = [(int(full), int(turns), float(half) / 100, says) for full, turns, half, says in found
             if says]
    assert given, text
    for full, turns, half, says in given:
        error = abs(full - turns) / turns
        if abs(error - half) > 0.00002 + half ** 2:  # it was rounded, and its halves differ slightly
            assert (error < half) == (says == "holds"), (full, turns, half, says)
    held = sum(says == "holds" for *_, says in given)
    assert "\n%d of %d intervals contain the count of the whole time" % (held, len(given)) in text, text


# --- programs that measure themselves -----------------------------------------------------------


def region_figures(name):
    """The instructions of each region of regions.c, and its report."""
    lines, report = one_cpu.text(name + ".txt").split("Self-measurement", 1)
    return {key: float(value) for key, value in map(str.split, lines.splitlines()[:-1])}, report


def adds_what_it_says(name, way):
    """An empty region counts the stated cost of an entry; the loop counts this and its own instructions."""
    figures, report = region_figures(name)
    assert "counters are read %s a system call\n" % way in report, report
    assert figures["added"] > 50, figures
    # Compilers may need an instruction more or less for the two calls.
    for region in ("first", "second", "third", "inner"):
        assert abs(figures[region] - figures["added"]) <= 2, (region, figures)
    loop = figures["loop"] - figures["added"] - FEW_TURNS * TURN_INSTRUCTIONS
    assert 0 <= loop <= 20, figures  # the loop is called
    said = re.search(r"each entry adds .* (\d+) instructions to its own values\n", report)
    assert said and int(said.group(1)) == figures["added"], report


def check_region_system():
    """with system calls, a region counts exactly its contents and the stated cost of an entry"""
    adds_what_it_says("system", "with")


def check_region_user():
    """the same if the program reads the counters itself"""
    adds_what_it_says("user", "without")


def check_region_full():
    """regions are counted with a set that uses all counters besides its clock event"""
    figures, _ = region_figures("full")
    near("instructions", figures["loop"], FEW_TURNS * TURN_INSTRUCTIONS, 0.0001)


def check_region_left():
    """a region left by longjmp is counted at its next entry, and the report says so"""
    jumped = one_cpu.text("user.txt").split("\njumped ", 1)[1].splitlines()[0]
    assert jumped == "2 2 1", jumped
    _, report = region_figures("user")
    block = report.split("\nRegion jumped\n", 1)[1]
    assert re.match(r"  Entered: +2\n  1 entry has not ended\n"
                    r"  2 entries were left without their end\n", block), block


def check_region_recorded():
    """a program and its recorder count the same at the same time, and the program's regions are marks"""
    few, more = ("%d" % turns for turns in (FEW_TURNS, MORE_TURNS))
    expected = (MORE_TURNS - FEW_TURNS) * TURN_INSTRUCTIONS
    own = [region_figures("recorded-" + name)[0]["loop"] for name in (few, more)]
    assert abs(own[1] - own[0] - expected) <= 20, own  # one of the recorder's switches occurs at the same time
    recordings = [one_cpu.recording(name + ".data") for name in (few, more)]
    # While the program tests how many counters there are, the recorder has none until the kernel's
    # next rotation: 1.4 ms in one run and 0.9 ms in the other, thousands of instructions. A period
    # is 2,500,000.
    near("instructions recorded", recordings[1].total("c0") - recordings[0].total("c0"), expected,
         0.0005)
    for recording in recordings:
        marks = [text for text, in recording.rows(
            "SELECT text FROM mark ORDER BY time_ns, mark_no")]
        assert marks.index("region loop begin") + 1 == marks.index("region loop end"), marks


# --- a competitor -------------------------------------------------------------------------------


def reported(name, label):
    """The text after a label in the report of a recording, in the layout of 2013."""
    lines = [line.split(":", 1)[1].split() for line in one_cpu.text(name + "-2013.txt").splitlines()
             if line.startswith("  %s:" % label)]
    assert len(lines) == 1, (label, lines)
    return lines[0]


def rates(name, metric):
    return [value for value, in one_cpu.recording(name + ".data").rows(
        "SELECT value FROM rate WHERE metric = ? ORDER BY rotation", metric)]


def check_clock_shared():
    """cycles that had no counter half of the time are scaled, and metrics computed from them are right"""
    turns = one_cpu.recording("turns.data")
    enabled, running = turns.total("enabled_ns"), turns.total("clock_running_ns")
    assert 0.25 < running / enabled < 0.75, (running, enabled)
    raw, scaled = reported("turns", "Cycles")
    assert int(raw) == turns.total("cycles"), raw
    near("cycles", int(scaled.strip("[]")), enabled, 0.01)  # 1 GHz
    near("CPI", float(reported("turns", "CPI")[0].rstrip(",")), CYCLES_PER_INSTRUCTION, 0.005)
    found = [rate for rate in rates("turns", "cpi") if rate is not None]
    assert len(found) >= 3, found
    # Periods of the first rotation last 10 ms, hardly longer than an interval of Linux's own
    # multiplexing.
    for rate in found[1:]:
        near("CPI of a rotation", rate, CYCLES_PER_INSTRUCTION, 0.015)
    said = re.search(r"Cycles had a counter for (.*) % of the time", one_cpu.text("turns.txt"))
    assert abs(float(said.group(1)) - 100 * running / enabled) <= 0.5, (said.group(0), running, enabled)


def check_clock_never():
    """if cycles never had a counter, nothing is computed from them, and the report says so"""
    never = one_cpu.recording("all.data")
    assert never.total("clock_running_ns") == 0 < never.total("enabled_ns")
    assert reported("all", "Cycles") == ["0", "[not", "known]"]
    assert reported("all", "CPI") == ["not", "known"]
    assert reported("all", "Instructions") == ["not", "counted"]
    assert rates("all", "cpi") and set(rates("all", "cpi")) == {None}, rates("all", "cpi")
    assert "Cycles never had a counter" in one_cpu.text("all.txt"), one_cpu.text("all.txt")


# --- two CPUs -----------------------------------------------------------------------------------


def check_all_cpus():
    """-a records both CPUs with the same periods, and together all of the loop"""
    everything = two_cpus.recording("all.data")
    tracks = [everything.rows("SELECT start_ns, length_ns FROM period WHERE cpu = ? "
                              "ORDER BY period", cpu) for cpu in (0, 1)]
    assert tracks[0] == tracks[1], tracks
    assert everything.one("SELECT count(DISTINCT cpu) FROM period") == 2
    follow_one_another(tracks[0])
    # Reading the other CPU's counters takes the emulator up to 80 ms on a busy machine. If most
    # readings are so expensive, the period is increased after three or sixteen of them, with a
    # message; one or two expensive readings, as at the start, change nothing.
    assert len(tracks[0]) > 3, tracks[0]
    said = everything.one("SELECT min(time_ns) FROM mark WHERE text LIKE '%period stretched to%'")
    early = [length for start, length in tracks[0] if said is None or start < said]
    assert len(early) <= 16 or statistics.median(early) < 40e6, (said, tracks[0])
    near("instructions", everything.total("c0"), TURNS * TURN_INSTRUCTIONS, 0.03)
    near("time of both CPUs", everything.total("enabled_ns"),
         2 * everything.one("SELECT elapsed_ns FROM run"), 0.02)


def check_attach():
    """-p counts all threads of a running process: their time agrees with schedstat within 3 %"""
    attach = two_cpus.recording("attach.data")
    before, first, last, after = (list(map(int, two_cpus.text(name + ".txt").split()))
                                  for name in ("before", "from", "to", "after"))
    assert len(before) == len(after) == 4, (before, after)
    assert all(late > early for early, late in zip(first[1:], last[1:])), (first, last)
    # The commands need time here: the count is between the inner and the outer times.
    least, most = sum(last) - sum(first), sum(after) - sum(before)
    found = attach.total("enabled_ns")
    assert least * 0.97 <= found <= most * 1.03, (least, found, most)


def check_offline():
    """if a CPU goes offline, its track ends with a message, and the recording continues"""
    offline = two_cpus.recording("offline.data")
    assert offline.one("SELECT state FROM run") == "complete"
    lengths = [offline.one("SELECT count(*) FROM period WHERE cpu = %d" % cpu) for cpu in (0, 1)]
    assert 0 < lengths[1] < lengths[0], lengths
    (cpu, start, length, reason), = offline.rows("SELECT cpu, start_ns, length_ns, reason FROM gap")
    assert cpu == 1 and "offline" in reason, (cpu, reason)
    assert start + length == offline.one("SELECT elapsed_ns FROM run")
    assert offline.one("SELECT count(*) FROM mark WHERE text LIKE 'CPU 1 went offline%'") == 1


def check_offline_waits():
    """--wall: if a CPU goes offline and returns, the known waits are right, and the others unknown"""
    truth = sum(int(line.split()[1]) for line in two_cpus.text("waited.txt").splitlines()) / 1e9
    (known, unknown), = two_cpus.recording("wall.data").rows(
        "SELECT blocked_us / 1e6, blocked_off_us / 1e6 FROM sampling")
    assert known <= 1.01 * truth, (known, unknown, truth)
    near("known and unknown waits", known + unknown, truth, 0.03)


# --- no PMU -------------------------------------------------------------------------------------


def check_no_pmu():
    """without a PMU, software events are recorded, and one line gives the reason"""
    assert no_pmu.text("status.txt") == "1\n", no_pmu.text("status.txt")
    refusal = no_pmu.text("hardware.txt")
    assert refusal.startswith("rpistat: ") and refusal.count("\n") == 1, refusal
    assert "virtual machine" in refusal and "driver" in refusal, refusal
    software = no_pmu.recording("software.data")
    assert software.one("SELECT pmu FROM run") == "software"
    assert "\n" not in software.fitting() and "virtual machine" in software.fitting(), \
        software.fitting()
    near("task clock", software.one("SELECT sum(c0) FROM period"),
         software.total("enabled_ns"), 0.01)


CASES = [check_exact, check_cycles, check_rotation, check_estimates, check_samples,
         check_samples_full, check_merged, check_lengths,
         check_split, check_cpu_use, check_clock_shared, check_clock_never, check_verify,
         check_region_system, check_region_user, check_region_full, check_region_left,
         check_region_recorded, check_all_cpus, check_attach, check_offline, check_offline_waits,
         check_no_pmu]
tap.main([check_cortex_a7] if sys.argv[2] == "armhf" else CASES)
