#!/usr/bin/env python3
"""rpistat on an emulated ARM machine with a PMU: exact counts through the kernel's own driver.

usage: arm_guest.py MESON          with RPISTAT_ARM_GUEST naming the folder of the guest's scripts

The scripts (setup.sh, cc-guest.sh, run-guest.sh) boot a Debian kernel in QEMU, where one
instruction takes 4 ns and counts as 4 cycles (-i 2). Without them, or the guest that setup.sh
makes, every case is skipped. rpistat is cross-built with meson against the guest's libraries, so
the real build is tested.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import tap  # noqa: E402
from recording import TURN_INSTRUCTIONS, Recording, near  # noqa: E402

MESON = sys.argv[1]
SCRIPTS = os.environ.get("RPISTAT_ARM_GUEST")
GUEST = os.path.join(os.environ.get("HARNESS", "/tmp/rpistat-arm-guest"), "arm64")
SYSROOT = os.path.join(GUEST, "sysroot")
TRIPLET = "aarch64-linux-gnu"
LIBRARIES = ("libsqlite3.so", "libinih.so", "libcsv.so")
SETUP = ("run LIBS='libc6 libsqlite3-0 libcsv3 libinih1' "
         "DEVS='libsqlite3-dev libcsv-dev libinih-dev' setup.sh arm64")
# As many digits in both, so that the program spends the same on its argument. 0.8 s of the guest's
# time, and 0.16 s.
TURNS, FEW_TURNS = 50000000, 10000000
CYCLES_PER_INSTRUCTION = 4

CROSS = """[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
strip = '{triplet}-strip'
pkgconfig = 'pkg-config'

[properties]
sys_root = '{sysroot}'
pkg_config_libdir = ['{sysroot}/usr/lib/{triplet}/pkgconfig', '{sysroot}/usr/share/pkgconfig']

[built-in options]
c_args = ['-I{sysroot}/usr/include', '-I{sysroot}/usr/include/{triplet}']
c_link_args = ['-L{sysroot}/usr/lib/{triplet}', '-L{sysroot}/lib/{triplet}',
    '-Wl,-rpath-link={sysroot}/usr/lib/{triplet}:{sysroot}/lib/{triplet}']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""

RUN = """set -e
record="./rpistat record -q --pmu hardware --period 10ms"
./loop 1
$record --sets one-set.ini -o /out/few.data -- ./loop {few}
$record --sets one-set.ini -o /out/one.data -- ./loop {turns}
$record --sets four-sets.ini --no-merge -o /out/four.data -- ./loop {turns}
$record --sets four-sets.ini -o /out/merged.data -- ./loop {turns}
./rpistat report -i /out/four.data > /out/report.txt
"""


def need_guest():
    if not SCRIPTS:
        raise tap.Skip("RPISTAT_ARM_GUEST does not name the ARM guest's scripts")
    for program in ("qemu-system-aarch64", TRIPLET + "-gcc"):
        if not shutil.which(program):
            raise tap.Skip("%s is not installed; %s" % (program, SETUP))
    if not os.path.exists(os.path.join(GUEST, "initrd.cpio")):
        raise tap.Skip("there is no guest in %s; %s" % (GUEST, SETUP))
    for name in LIBRARIES:
        if not os.path.exists(os.path.join(SYSROOT, "usr/lib", TRIPLET, name)):
            raise tap.Skip("the guest has no %s; %s" % (name, SETUP))


def call(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    assert done.returncode == 0, "%s: status %d\n%s" % (
        " ".join(command), done.returncode, done.stdout)


def build(folder):
    """Cross-build rpistat and the loop; returns the folder that goes into the guest."""
    cross, build_folder = os.path.join(folder, "cross.ini"), os.path.join(folder, "build")
    payload = os.path.join(folder, "payload")
    with open(cross, "w", encoding="utf-8") as file:
        file.write(CROSS.format(triplet=TRIPLET, sysroot=SYSROOT))
    call(MESON, "setup", "--cross-file", cross, "-Dwerror=true", build_folder, tap.root())
    call("ninja", "-C", build_folder, "src/cli/rpistat")
    os.mkdir(payload)
    call(os.path.join(SCRIPTS, "cc-guest.sh"), "-O2", "-static", "-o",
         os.path.join(payload, "loop"), os.path.join(HERE, "loop.c"))
    for path in (os.path.join(build_folder, "src", "cli", "rpistat"),
                 os.path.join(HERE, "one-set.ini"), os.path.join(HERE, "four-sets.ini")):
        shutil.copy(path, payload)
    with open(os.path.join(payload, "run.sh"), "w", encoding="ascii") as file:
        file.write(RUN.format(turns=TURNS, few=FEW_TURNS))
    return payload


class Guest:
    """What the guest recorded; it is booted once, by the first case."""

    folder = None
    failure = None

    @classmethod
    def recording(cls, name):
        need_guest()
        if cls.failure:
            raise AssertionError("the guest failed before: " + cls.failure)
        if cls.folder is None:
            cls.folder = tempfile.TemporaryDirectory()
            try:
                call(os.path.join(SCRIPTS, "run-guest.sh"), "-i", "2", "-s", "1",
                     build(cls.folder.name), os.path.join(cls.folder.name, "out"))
            except AssertionError as failure:
                cls.failure = str(failure).splitlines()[0]
                raise
        return Recording(os.path.join(cls.folder.name, "out", name))


def check_exact():
    """the loop's instructions are counted exactly"""
    few, one = Guest.recording("few.data"), Guest.recording("one.data")
    difference = one.total("c0") - few.total("c0")
    assert abs(difference - (TURNS - FEW_TURNS) * TURN_INSTRUCTIONS) <= 20, difference


def check_cycles():
    """every instruction is 4 cycles"""
    one = Guest.recording("one.data")
    near("cycles", one.total("c1"), one.total("c0") * CYCLES_PER_INSTRUCTION, 0.001)


def check_rotation():
    """four sets rotate, period by period, and lose nothing between them"""
    few, four = Guest.recording("few.data"), Guest.recording("four.data")
    sets = four.sets()
    assert sets == [period % 4 for period in range(len(sets))], sets
    assert len(sets) >= 20, "too few periods: %d" % len(sets)
    # One CPU: while the recorder switches sets the workload does not run.
    difference = four.total("c0") - few.total("c0")
    assert abs(difference - (TURNS - FEW_TURNS) * TURN_INSTRUCTIONS) <= 20, difference


def check_estimates():
    """every set's scaled estimates are right within 2 %"""
    four = Guest.recording("four.data")
    for number in range(4):
        near("instructions of set %d" % number, four.estimate(number, "c0"),
             TURNS * TURN_INSTRUCTIONS, 0.02)
        near("cycles of set %d" % number, four.estimate(number, "c1"),
             TURNS * TURN_INSTRUCTIONS * CYCLES_PER_INSTRUCTION, 0.02)


def check_merged():
    """with six counters the four sets are merged into two, which is said"""
    merged = Guest.recording("merged.data")
    assert set(merged.sets()) == {0, 1}, sorted(set(merged.sets()))
    assert merged.fitting(), "nothing was said about it"


def check_lengths():
    """periods are 10 ms long, follow one another without a gap, and do not drift"""
    rows = Guest.recording("four.data").rows(
        "SELECT start_ns, length_ns FROM period ORDER BY period")
    for number, ((start, length), (following, _)) in enumerate(zip(rows, rows[1:])):
        assert start + length == following, (number, start, length, following)
        near("end of period %d" % number, following, (number + 1) * 10e6, 0.5 / (number + 1))


tap.main([check_exact, check_cycles, check_rotation, check_estimates, check_merged, check_lengths])
