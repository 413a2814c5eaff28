"""Long recordings: --keep and --max-size downsample old periods, which loses nothing but detail."""
import contextlib
import csv
import json
import os
import re
import shutil
import subprocess
import time

from program import RPISTAT, Folder, ask_store, environment, expect, refused, tap, undisturbed

MIB = 1024 * 1024

# Two kinds of work alternate for 40 minutes.
SCRIPT = """\
clock 700M
seed 3
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase calm 600s
phase busy 600s dc_miss=10M instructions=300M
sleep 10s
phase calm 600s
phase busy 590s dc_miss=10M instructions=300M
"""

# The same for days.
LONG = SCRIPT.replace("600s", "6000s").replace("590s", "5900s")

SUMS = """
    SELECT set_no, sum(merged), sum(length_ns), sum(cycles), sum(enabled_ns),
           sum(running_ns), sum(switch_ns), sum(missed), sum(c0), sum(c1), sum(c2), sum(c3)
    FROM finest WHERE run_id = 1 GROUP BY set_no ORDER BY set_no"""

FOLDER = Folder()


def ask(name, statement):
    return ask_store(FOLDER / name, statement)


def record(name, *options):
    """Record the script into a store. The same options give the same store, so it is made once."""
    if not os.path.exists(FOLDER / name):
        FOLDER.write("work.sim", SCRIPT)
        expect(FOLDER.call("record", "-q", "--pmu", "sim:work.sim", "-o", name, *options), 0)
    return name


def thinned():
    return record("thin.data", "--keep", "1m")


def plain():
    return record("plain.data")


def read(*arguments):
    return expect(FOLDER.call(*arguments), 0).stdout


def test_usage():
    """--keep and --max-size refuse impossible values with a sentence"""
    for options, words in [
            (("--keep", "30s"), ("--keep", "30s")),
            (("--keep", "for ever"), ("--keep", "for ever")),
            (("--max-size", "1M"), ("--max-size", "1M", "4M")),
            (("--max-size", "much"), ("--max-size", "much"))]:
        refused(FOLDER.call("record", *options, "true"), 2, *words)
    assert not os.path.exists(FOLDER / "rpistat.data")


def test_totals():
    """sums, totals and the whole report of a downsampled run equal those of the full run"""
    assert ask(thinned(), SUMS) == ask(plain(), SUMS)
    rows = [ask(name, "SELECT count(*) FROM period")[0][0] for name in (plain(), thinned())]
    assert rows[0] > 20000 and rows[1] < 1500, rows
    reports = [[line for line in read("report", "--format", "classic", "-i", name).splitlines()
                if "CPU time" not in line and not re.search(r"\d\d:\d\d:\d\d \d{4}", line)]
               for name in (plain(), thinned())]
    said = "only sums over many periods remain"
    assert said in " ".join(" ".join(reports[1]).split()), reports[1]
    assert said not in " ".join(" ".join(reports[0]).split()), reports[0]
    end = len(reports[0])
    assert reports[0] == reports[1][:end] and end > 30, reports


def test_stretched():
    """the report has the longer period, and the reason for it"""
    FOLDER.write("slow.sim", "clock 1000\ndefault instructions=100\nswitch 3ms\nphase work 60s\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:slow.sim", "-o", "slow.data"), 0)
    report = " ".join(read("report", "-i", "slow.data").split())
    assert "Measurement period: 0.100 s, stretched to 0.284 s (mean)" in report, report
    assert "Switching event sets took 2.99 ms per period (mean). Therefore, rpistat made the measurement " \
        "periods longer: this takes at most 1 % of the time." in report, report
    assert "stretched" not in read("report", "-i", plain())


def test_check():
    r"""check finds a downsampled run sound, and counts the periods that its blocks contain"""
    assert read("check", "-i", thinned()) == "thin.data: OK (1 run, 24000 periods)\n"
    assert read("check", "-i", plain()).endswith(" 24000 periods)\n")
    assert re.search(r" 24,?000 ", read("runs", "-i", thinned()))


def test_levels():
    """older periods are coarser; the last minute is complete, and removed periods are recorded"""
    steps = ask(thinned(), "SELECT level, max(merged), min(start_ns), max(end_ns) FROM finest"
                           " GROUP BY level ORDER BY 3")
    # of 256 rotations there would be 24, and rows of 16 are merged at 240
    assert [step[:2] for step in steps] == [(1, 16), (0, 1)], steps
    assert steps[0][3] == steps[1][2], steps
    assert 60e9 <= steps[1][3] - steps[1][2] < 60e9 + 2 * 6.4e9, steps
    for level, before in ask(thinned(), "SELECT level, before_period FROM thinned"):
        table = "period WHERE" if level == 0 else "rollup WHERE level = %d AND" % level
        assert ask(thinned(), "SELECT min(period) FROM %s run_id = 1" % table) == [(before,)]
    assert ask(thinned(), "SELECT count(*) FROM mark") == [(0,)]


def test_export():
    """each format exports the run; the sums over the rows of a CSV are the same"""
    def sums(name):
        rows = list(csv.DictReader(read("export", "-i", name).splitlines()))
        names = [key for key in rows[0] if key not in ("run", "cpu", "period", "set", "time_s",
                                                       "cycle", "length_s", "phase", "label")]
        return ({key: sum(int(row[key]) for row in rows if row[key]) for key in names},
                round(sum(float(row["length_s"]) for row in rows), 3))

    assert sums(thinned()) == sums(plain())
    rates = [list(csv.DictReader(read("export", "--format", "rates", "-i", name).splitlines()))
             for name in (plain(), thinned())]
    assert sum(int(row["cycles"]) for row in rates[0]) == sum(int(row["cycles"]) for row in rates[1])
    # a block has the value of its rotations
    assert rates[1][0]["cpi"] == rates[0][0]["cpi"] == "3.5", (rates[0][0], rates[1][0])
    assert len(read("export", "--format", "long", "-i", thinned()).splitlines()) > 2000


def test_part():
    """a part of a downsampled run has the same report if it begins and ends with a block; otherwise it is widened, and the report says so"""
    start, end = ask(thinned(), "SELECT min(start_ns), max(end_ns) FROM finest WHERE level = 1")[0]
    part = ["--from", "%.3fs" % (start / 1e9), "--to", "%.3fs" % (end / 1e9)]
    parts = []
    for name in (plain(), thinned()):
        lines = read("report", "--format", "classic", "-i", name, *part).splitlines()
        parts.append(lines[lines.index("Performance events"):])
    assert parts[0] == parts[1][:len(parts[0])] and len(parts[0]) > 20, parts
    assert "widened" not in read("report", "-i", thinned(), *part)
    part[1] = "%.3fs" % (start / 1e9 + 1)
    assert "widened" in read("report", "-i", thinned(), *part)
    assert "widened" not in read("report", "-i", plain(), *part)


def test_phases():
    """phases are found, within the width of a block"""
    name = record("fewer.data", "--keep", "5m")
    read("phases", "-i", name)
    starts = [start / 1e9 for start, in ask(name, "SELECT start_ns FROM phase")]
    for boundary in (600, 1205, 1810):
        assert any(abs(start - boundary) <= 6.4 for start in starts), (boundary, starts)


def test_fast_loop():
    """a change within a block is no phase of the sums, and no message says that the run stays alike"""
    FOLDER.write("fast.sim", SCRIPT[:SCRIPT.index("phase")] +
                 "repeat 200\nphase a 12s\nphase b 8s dc_miss=9M\nend\n")
    for options, said in ((["--keep", "1m"], r"[Nn]o other phase is visible in blocks of [\d.]+ s; faster changes are not visible"),
                          ([], r"A B repeats \(200 iterations")):
        expect(FOLDER.call("record", "-q", "--pmu", "sim:fast.sim", "-o", "fast.data", *options), 0)
        for command in ("report", "phases"):
            answer = " ".join(read(command, "-i", "fast.data").split())
            assert re.search(said, answer), (command, options, answer)


def test_slow_loop():
    """a loop whose phases last some blocks is found, although some blocks contain two phases; a spike in a block is no phase"""
    default = "seed 2\nnoise 5%\nlate 600s 30s\n" + SCRIPT[SCRIPT.index("default"):SCRIPT.index("phase")]
    FOLDER.write("slow.sim", default + "repeat 60\nphase a 40s\nphase b 20s dc_miss=3M branch_miss=600k\nend\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:slow.sim", "-o", "slow.data", "--keep", "1m", "--order", "random:7"), 0)
    text = read("phases", "-i", "slow.data")
    assert re.search(r"^A B repeats \((59|60) iterations, mean 1 min 00 s\)\.$", text, re.M), text
    FOLDER.write("spike.sim", default + "repeat 5\nphase a 595s\nphase spike 300ms dc_miss=40M\nend\nphase a 5m\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:spike.sim", "-o", "spike.data", "--keep", "1m", "--order", "random:7"), 0)
    found = json.loads(read("phases", "-i", "spike.data", "--format", "json"))
    assert {phase["label"] for phase in found["phases"]} == {"A"}, found["phases"]
    assert len(found["outliers"]) >= 2, found["outliers"]


def test_plot():
    """plot draws it"""
    read("plot", "-i", thinned(), "-o", "thin.svg")
    assert b"</svg>" in FOLDER.read("thin.svg")


def test_view():
    """the view rate has the same values for blocks"""
    statement = "SELECT value FROM rate WHERE run_id = 1 AND metric = 'cpi' AND rotation %s"
    few = ask(thinned(), statement % "< 300")
    many = ask(plain(), statement % "< 300")
    assert 0 < len(few) < len(many), (few, many)
    assert {round(value, 9) for value, in few} == {round(value, 9) for value, in many}


NOISY = """\
clock 700M
noise 20%
seed 8
default instructions=200M branches=20M dc_access=50M dc_miss=2M
phase start 0.4s branches=300M
phase work 700s
phase spike 0.4s branches=123456789
phase more 900s dc_miss=6M
"""


def noisy(name, *options):
    FOLDER.write("noisy.sim", NOISY)
    expect(FOLDER.call("record", "-q", "--pmu", "sim:noisy.sim", "--order", "fixed", "-o", name, *options), 0)
    return name


def test_certainty():
    """downsampling does not widen the intervals of totals and figures"""
    estimates = "SELECT name, kind, certainty, value, low, high FROM estimate"
    whole, kept = (ask(noisy(*arguments), estimates) for arguments in
                   (("noisy.data",), ("noisythin.data", "--keep", "1m")))
    assert ask("noisythin.data", "SELECT count(*) FROM period")[0][0] < 2000
    given = 0
    for (name, kind, certainty, value, low, high), other in zip(whole, kept):
        assert other[:3] == (name, kind, certainty) and other[3] == value, (name, value, other)
        if certainty not in ("interval", "start not counted", "end not counted"):
            continue
        given += 1
        # a spike at the boundary of two blocks is in one step, not in two
        assert .65 < (other[5] - other[4]) / (high - low) < 1.3, (name, low, high, other)
        if "branch" not in name:
            assert .9 < (other[5] - other[4]) / (high - low) < 1.1, (name, low, high, other)
    assert given > 5, given
    assert read("check", "-i", "noisythin.data").endswith(": OK (1 run, 16008 periods)\n")


def test_extremes():
    """the minimum and maximum of a figure are kept exactly when periods are removed"""
    FOLDER.write("formula.sim", NOISY.replace("phase start 0.4s branches=300M\n", ""))
    tables = []
    for options in ((), ("--keep", "1m")):
        expect(FOLDER.call("record", "-q", "--pmu", "sim:formula.sim", "--order", "fixed", "-e", "instructions,branches",
                           "-e", "dc_miss", "--always-rotate", "-o", "extremes%d.data" % len(options), *options), 0)
        tables.append(list(csv.DictReader(read("export", "--every", "10m", "-i", "extremes%d.data" % len(options)).splitlines())))
    assert [row["block"] for row in tables[0]] == ["1"] * 3 and tables[1][0]["block"] == "16", tables[1]
    names = [name for name in tables[0][0] if name.endswith(("_min", "_max"))]
    assert len(names) == 6, names
    for name in names:
        least = name.endswith("_min")
        whole, kept = ((min if least else max)(float(row[name]) for row in table) for table in tables)
        assert whole == kept, (name, whole, kept)


SPIKES = """\
clock 700M
noise 10%
seed 4
default instructions=200M branches=20M
phase work 900s
phase spike 0.1s branches=60M
phase work 300s
repeat 8
phase spike 0.1s branches=50M
phase work 120s
end
phase stall 0.1s instructions=1M branches=100k
phase work 1200s
"""


def test_spikes():
    """a period unlike its neighbours is kept as a block, and periods that recur are kept as bursts"""
    for times, said in ((1, "3 outliers (blocks unlike those around them): 14:59.2-15:00.8, 20:00.0-20:01.6, 22:00.0-22:01.6."),
                        (8, "10 bursts of at most 1.6 s, every 2 min 00 s, from 14:59.2 to ")):
        FOLDER.write("spikes.sim", SPIKES.replace("repeat 8", "repeat %d" % times))
        expect(FOLDER.call("record", "-q", "--pmu", "sim:spikes.sim", "-e", "instructions,branches", "-o", "spikes.data",
                           "--keep", "1m"), 0)
        at = [900] + [1200.1 + 120.1 * n for n in range(times)] + [1200.1 + 120.1 * times]
        found = json.loads(read("phases", "--format", "json", "-i", "spikes.data"))["outliers"]
        assert len(found) == len(at), found
        for time_s, one in zip(at, found):
            assert one["start_s"] <= time_s + 1e-6 < one["end_s"] and one["last"] - one["first"] == 15, (time_s, one)
            assert abs(one["end_s"] - one["start_s"] - 1.6) < 1e-6 and one["burst"] == (times == 8), one
        text = " ".join(read("phases", "-i", "spikes.data").split())
        assert said in text, text
        assert set(ask("spikes.data", "SELECT last_period - period FROM outlier")) == {(15,)}


def sizes(name):
    """The sizes of a store and its log, as another program sees them."""
    for suffix in ("", "-wal"):
        try:
            yield os.stat(FOLDER / name + suffix).st_size
        except FileNotFoundError:
            yield 0


def size(name):
    """The size of both at one time. While this waits for the CPU, one may shrink and the other grow."""
    found = None
    while found != (found := list(sizes(name))):
        pass
    return sum(found)


@undisturbed
def test_size():
    """a run of 6.6 hours stays below --max-size all the time, and is complete"""
    FOLDER.write("long.sim", LONG)
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(FOLDER / "small.data" + suffix)
    most = 0
    with subprocess.Popen([RPISTAT, "record", "-q", "--pmu", "sim:long.sim", "-o", "small.data",
                           "--max-size", "5M"], cwd=FOLDER.path, env=environment()) as recorder:
        while recorder.poll() is None:
            most = max(most, size("small.data"))
            time.sleep(.005)
        assert recorder.returncode == 0
    most = max(most, size("small.data"))
    assert 3 * MIB < most < 5 * MIB, most
    assert read("check", "-i", "small.data") == "small.data: OK (1 run, 239100 periods)\n"
    assert ask("small.data", "SELECT count(*) FROM thinned")[0][0] > 0
    total = ask("small.data", "SELECT sum(length_ns) FROM finest")[0][0]
    assert total == 23910 * 10**9, total


def test_full():
    """a recording into a store that is full of other runs is refused, and nothing in it changes"""
    before = FOLDER.read(record("plain2.data"))
    for _ in range(3):
        expect(FOLDER.call("record", "-q", "--pmu", "sim:work.sim", "-o", "plain2.data"), 0)
    before = FOLDER.read("plain2.data")
    refused(FOLDER.call("record", "--pmu", "sim:work.sim", "-o", "plain2.data", "--max-size", "4M"),
            1, "plain2.data", "of other runs", "below 4.0 MiB")
    assert ask("plain2.data", "SELECT count(*), max(run_id) FROM run") == [(4, 4)]
    assert abs(len(FOLDER.read("plain2.data")) - len(before)) < 65536


def peak_bytes(*arguments):
    """The maximum memory of a recording."""
    child = subprocess.Popen([RPISTAT, "record", "-q", *arguments], cwd=FOLDER.path,
                             env=environment())
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, child.returncode
    return usage.ru_maxrss * 1024


def test_memory():
    """ten times the periods need no more memory"""
    def script(seconds):
        return FOLDER.write("steady.sim", "clock 700M\nphase steady %ds instructions=200M "
                                          "branches=20M\n" % seconds)

    sizes = []
    for seconds in (3000, 30000):
        script(seconds)
        sizes.append(peak_bytes("--pmu", "sim:steady.sim", "-o", "steady%d.data" % seconds,
                                "--keep", "1m", "--max-size", "8M"))
    assert ask("steady30000.data", "SELECT sum(merged) FROM finest") == [(300000,)]
    assert sizes[1] < sizes[0] + 3 * MIB, sizes


def test_service():
    """the service calls rpistat correctly; systemd finds no fault in its unit"""
    path = os.path.join(tap.root(), "examples", "rpistat-record.service")
    with open(path, encoding="utf-8") as file:
        unit = file.read()
    words = re.search(r"^ExecStart=rpistat (.*)$", unit, re.M).group(1).split()
    assert words[0] == "record"
    answer = expect(FOLDER.call(*words, "--help"), 0)
    assert answer.stdout.startswith("Usage: rpistat record"), answer.stdout
    if not shutil.which("systemd-analyze"):
        raise tap.Skip("systemd-analyze is not installed")
    copy = FOLDER.write("rpistat-record.service",
                        unit.replace("ExecStart=rpistat", "ExecStart=" + RPISTAT))
    answer = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True,
                            text=True, check=False)
    assert answer.returncode == 0 and not answer.stderr, answer.stderr


with FOLDER:
    tap.main([test_usage, test_totals, test_stretched, test_check, test_levels, test_export,
              test_part, test_phases, test_fast_loop, test_slow_loop, test_plot, test_view, test_certainty,
              test_extremes, test_spikes, test_size, test_full, test_memory,
              test_service])
