"""--order: each rotation draws a new order of the event sets; all readers accept it.

usage: order.py RPISTAT
"""
import csv
import io
import json
import os
import re
import sqlite3

import program
from program import Folder, ask_store, environment, expect, is_sanitized, refused, tap

SETS = 4  # the sets of arm1176, on two counters

# Half an hour, 18,000 periods, the first four of 10 ms. Rates are integers per period, so that each
# sum is exact.
SCRIPT = """\
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase calm 599640ms
phase busy 600s dc_miss=10M instructions=100M
sleep 10s
phase calm 590s
"""

# The same with equal periods.
EVEN = SCRIPT.replace("599640ms", "600s")

# A workload that repeats with the period of a rotation, with 70 M instructions in each.
BEAT = """\
repeat 500
phase hot 100ms instructions=400M
phase cool 300ms instructions=100M
end
"""

FOLDER = Folder()


def ask(name, statement):
    return ask_store(FOLDER / name, statement)


def record(name, *options, script=SCRIPT, env=None):
    """Record the script into a store once. Return its name."""
    if not os.path.exists(FOLDER / name):
        FOLDER.write(name + ".sim", script)
        expect(FOLDER.call("-q", "--pmu", "sim:%s.sim" % name, "-o", name, *options, env=env), 0)
    return name


def plain():
    return record("plain.data", "--order", "random:7")


def thinned():
    return record("thin.data", "--order", "random:7", "--keep", "1m")


def read(*arguments):
    return expect(FOLDER.call(*arguments), 0).stdout


def table(*arguments):
    return list(csv.reader(io.StringIO(read(*arguments))))


def rotations(name):
    """The sets of each rotation in time order."""
    rows = ask(name, "SELECT rotation, set_no FROM period ORDER BY cpu, period")
    found = {}
    for rotation, set_no in rows:
        found.setdefault(rotation, []).append(set_no)
    return list(found.values())


def test_usage():
    """--order refuses impossible values with a sentence"""
    for how in ("", "rand", "random:", "random:x", "random:-1", "random:9223372036854775808"):
        refused(FOLDER.call("record", "--order", how, "true"), 2, "--order", how.split(":")[-1])


def test_fixed():
    """fixed: the sets are in the order of their numbers, and no message is printed"""
    record("fixed.data", "--order", "fixed", script=EVEN)
    assert all(found == list(range(SETS)) for found in rotations("fixed.data"))
    assert ask("fixed.data", "SELECT order_seed FROM run") == [(None,)]
    assert "Order of" not in read("report", "-i", "fixed.data")


def test_default():
    """without --order the order is random, and differs between runs"""
    record("default.data", env=environment(XDG_CONFIG_HOME="/nonexistent"))
    seed = ask("default.data", "SELECT order_seed FROM run")[0][0]
    assert len({tuple(one) for one in rotations("default.data")}) == 24
    record("seed.data", "--order", "random:%d" % seed)
    assert rotations("seed.data") == rotations("default.data")
    assert "(default random)" in read("record", "--help")


def test_random():
    """each rotation has each set once, in its own order; the seed is stored and reported"""
    found = rotations(plain())
    assert ask(plain(), "SELECT length_ns / 1000000, count(*) FROM period GROUP BY 1 ORDER BY 1") == [(10, 4), (100, 17996)]
    assert len(found) == 4500 and all(sorted(one) == list(range(SETS)) for one in found)
    orders = {tuple(one) for one in found}
    assert len(orders) == 24, orders
    assert ask(plain(), "SELECT order_seed FROM run") == [(7,)]
    assert re.search(r"Order of event sets: +random in each rotation \(seed 7\)", read("report", "-i", plain()))


def test_again():
    """the same seed gives the same recording, also a seed that was drawn"""
    record("drawn.data", "--order", "random")
    seed = ask("drawn.data", "SELECT order_seed FROM run")[0][0]
    record("again.data", "--order", "random:%d" % seed)
    periods = "SELECT * FROM period ORDER BY cpu, period"
    assert ask("drawn.data", periods) == ask("again.data", periods)
    record("other.data", "--order", "random")
    assert ask("other.data", "SELECT order_seed FROM run") != [(seed,)]  # equal once in 4,000,000,000 times
    assert rotations("other.data") != rotations("drawn.data")


def test_repeat():
    """each run of a series has its own order"""
    expect(FOLDER.call("-q", *program.counting()[1:], "--always-rotate", "-e", "page-faults", "-e", "minor-faults", "--repeat", "3",
                       "--order", "random:5", "-o", "series.data", "true"), 0)
    assert ask("series.data", "SELECT order_seed FROM run") == [(5,), (6,), (7,)]


def test_alone():
    r"""a single set has no order"""
    record("one.data", "--order", "random", "-e", "instructions,branches")
    assert ask("one.data", "SELECT set_count, order_seed FROM run") == [(1, None)]


def test_sums():
    """totals are exactly what the script did in the periods of each set"""
    rate = {0: ("instructions", 200, 100), 1: ("dc_access", 50, 50),  # per microsecond: calm, busy
            2: ("micro_tlb_miss", 1, 1), 3: ("branches", 20, 20)}
    for set_no, (name, calm, busy) in rate.items():
        lengths = ask(plain(), "SELECT sum(length_ns) / 1000 FROM period WHERE set_no = %d"
                               " GROUP BY period BETWEEN 6000 AND 11999, cycles = 0"
                               " HAVING cycles > 0 ORDER BY 1" % set_no)
        assert len(lengths) == 2, lengths
        in_busy = ask(plain(), "SELECT sum(length_ns) / 1000 FROM period WHERE set_no = %d"
                               " AND period BETWEEN 6000 AND 11999" % set_no)[0][0]
        in_calm = sum(length for length, in lengths) - in_busy
        count = ask(plain(), "SELECT count FROM event WHERE name = '%s'" % name)
        assert count == [(in_calm * calm + in_busy * busy,)], (name, count)


def test_beat():
    """a workload that is synchronous with the rotation: 129 % wrong in fixed order, right in random order"""
    def instructions(name):
        report = read("report", "--format", "classic", "-i", name)
        return int(re.search(r"Instructions: +\d+ +\[(\d+)\]", report).group(1)) / 35e9

    assert 2.28 < instructions(record("turn.data", script=BEAT)) < 2.29
    for seed in range(5):
        name = record("beat%d.data" % seed, "--order", "random:%d" % seed, script=BEAT)
        assert 0.9 < instructions(name) < 1.1, (seed, instructions(name))


def test_check():
    """check finds such a run sound, in full and downsampled"""
    for name in (plain(), thinned()):
        assert read("check", "-i", name) == "%s: OK (1 run, 18000 periods)\n" % name


def test_thinned():
    """the downsampled run has the same sums, report and views"""
    sums = ("SELECT set_no, sum(merged), sum(length_ns), sum(cycles), sum(enabled_ns),"
            " sum(running_ns), sum(c0), sum(c1) FROM finest GROUP BY set_no ORDER BY set_no")
    assert ask(plain(), sums) == ask(thinned(), sums)
    assert ask(thinned(), "SELECT count(DISTINCT level) FROM finest") == [(2,)]
    summary = "SELECT periods, elapsed_s, sets, state FROM run_summary"
    assert ask(plain(), summary) == ask(thinned(), summary) == [(18000, 1799.64, 4, "complete")]
    reports = [re.search(r"(?s)Performance events.*?(?=\nRemarks|$)",
                         read("report", "--format", "classic", "-i", name)).group().strip()
               for name in (plain(), thinned())]
    assert reports[0] == reports[1] and len(reports[0].splitlines()) > 20, reports
    for part in (("--to", "5m"), ("--from", "10m", "--to", "20m"), ("--from", "29m50s")):
        for name in (plain(), thinned()):
            assert "Performance events" in read("report", "-i", name, *part)


def test_rates():
    """the view rate has the values of export --rates, for periods and for blocks"""
    for name in (plain(), thinned()):
        rows = table("export", "--rates", "-i", name)
        assert len(rows) == 1 + (4500 if name == plain() else len(
            ask(name, "SELECT DISTINCT level, rotation FROM finest"))), len(rows)
        for metric, unit in (("cpi", ""), ("dc_miss_ratio", "_percent"), ("branch_rate", "_pti")):
            column = rows[0].index(metric + unit)
            values = dict(ask(name, "SELECT rotation, value FROM rate WHERE run_id = 1"
                                    " AND metric = '%s' AND rotation %% 16 = 0" % metric))
            assert len(values) > 20, values
            for row in rows[1:]:
                if int(row[2]) not in values:
                    continue
                value = values[int(row[2])]
                assert (value is None) == (row[column] == ""), (metric, row)
                assert value is None or abs(value - float(row[column])) <= 1e-6 * value, row


def test_export():
    """each export format has each period in its place with the enabled set"""
    names = [name for name, in ask(plain(), "SELECT name FROM event_set ORDER BY set_no")]
    stored = ask(plain(), "SELECT period, set_no, c0 FROM period ORDER BY period")
    wide = table("export", "-i", plain())
    assert len(wide) == 1 + len(stored)
    first = {set_no: wide[0].index(name) for set_no, name in
             ask(plain(), "SELECT set_no, name FROM event WHERE slot = 0 AND set_no >= 0")}
    for row, (number, set_no, count) in zip(wide[1:], stored):
        assert (int(row[2]), row[7], row[first[set_no]]) == (number, names[set_no], str(count)), row
        assert [row[first[other]] for other in first if other != set_no] == [""] * 3, row
    long = table("export", "--long", "-i", plain(), "--from", "1m", "--to", "2m")
    assert [int(row[2]) for row in long[1::2]] == list(range(604, 1204)), long[:5]
    assert len(long) == 1 + 2 * 600, len(long)
    assert len(table("export", "-i", thinned(), "--to", "5m")) < 250  # blocks of 16 rotations
    expect(FOLDER.call("export", "-i", plain(), "-o", "wide.csv"), 0)
    assert "phases" in read("phases", "--csv", "wide.csv")


def phases(*arguments):
    return json.loads(read("phases", "--format", "json", *arguments))["phases"]


def test_phases():
    """phases are found in the right places, and their stated uncertainty is large enough"""
    noisy = "noise 3%\nseed 4\n" + SCRIPT.replace("599640ms", "59640ms").replace("600s", "60s").replace("590s", "45s")
    for seed in range(4):
        name = record("noisy%d.data" % seed, "--order", "random:%d" % seed, script=noisy)
        found = phases("-i", name)
        assert [phase["label"] for phase in found] == ["A", "B", "C", "A"], found
        for phase, begins in zip(found, (0, 600, 1200, 1300)):
            assert phase["earliest"] <= begins <= phase["latest"], (seed, phase)
            assert abs(phase["first"] - begins) <= SETS, (seed, phase)
    in_blocks = [[(phase["first"], phase["label"]) for phase in phases("-i", name)]
                 for name in (thinned(), record("turns.data", "--keep", "1m", script=EVEN))]
    assert in_blocks[0] == in_blocks[1] and len(in_blocks[0]) > 1, in_blocks


def test_shortest():
    r"""a phase has a minimum length in which each set is enabled twice in the worst order"""
    for name, shortest in ((plain(), 12), (record("fixed.data", "--order", "fixed", script=EVEN), 9)):
        found = json.loads(read("phases", "--format", "json", "-i", name))["parameters"]
        assert found["min_length"] == shortest, found


def test_pictures():
    """pictures of periods and of blocks are drawn"""
    for name in (plain(), thinned()):
        for options in ((), ("--x-axis", "cycles"), ("--from", "9m", "--to", "11m")):
            read("plot", "-i", name, "-o", "picture.svg", *options)
            assert FOLDER.read("picture.svg").startswith(b"<?xml"), options
        assert "Cycles per instruction" in read("plot", "-i", name, "-o", "-")


def test_watch():
    """the last rates include each set"""
    # It ends inside a rotation.
    short = SCRIPT.replace("599640ms", "59640ms").replace("600s", "60s").replace("590s", "50200ms")
    for seed in range(8):
        name = record("watch%d.data" % seed, "--order", "random:%d" % seed, script=short)
        shown = read("watch", "--once", "--every", "200ms", "-i", name).splitlines()[1]
        assert "CPI 3.5 " in shown and "DC miss ratio 4 %" in shown, (seed, shown)


def change(name, statement):
    """A changed copy of the store."""
    FOLDER.write(name, FOLDER.read(plain()))
    store = sqlite3.connect(FOLDER / name)
    store.executescript(statement)
    store.close()
    return name


def test_repair():
    """a repaired run is sound, and keeps the seed and each period's set"""
    stored = dict(ask(plain(), "SELECT period, set_no FROM period"))
    damages = list(enumerate((
            "DELETE FROM period WHERE period BETWEEN 6001 AND 6006",
            "DELETE FROM period WHERE period < 70",
            "DELETE FROM period WHERE period BETWEEN 5990 AND 18000 AND period % 1000 < 20",
            "UPDATE period SET set_no = 4 WHERE period = 9000",
            "UPDATE period SET rotation = rotation + 1 WHERE period = 9001",
            "DELETE FROM rollup WHERE level > 1 OR period % 3 = 0",
            "UPDATE event SET count = 1; DELETE FROM event_set WHERE set_no = 3")))
    for number, statement in damages[::3] if is_sanitized() else tap.quarter(damages):
        broken, saved = change("broken%d.data" % number, statement), "saved%d.data" % number
        expect(FOLDER.call("check", "-i", broken), 1)
        expect(FOLDER.call("check", "--repair", "-i", broken, "-o", saved), 0)
        assert ": OK (" in read("check", "-i", saved), statement
        left = ask(saved, "SELECT period, set_no FROM period")
        assert len(left) > 17000, statement
        assert all(stored[period] == set_no for period, set_no in left), statement
        assert ask(saved, "SELECT order_seed FROM run") == [(7,)]
        assert "(seed 7)" in read("report", "-i", saved)


def test_second_time():
    r"""a set that comes twice in a rotation is still an error"""
    name = change("twice.data", "UPDATE period SET set_no = (SELECT set_no FROM period"
                                " WHERE period = 8000) WHERE period = 8001")
    assert "or with a set twice in one rotation (first: in period 8001" in \
        expect(FOLDER.call("check", "-i", name), 1).stdout


def really(*arguments):
    """A real recording of three sets of kernel events. Return its periods."""
    name = "real.data"
    if os.path.exists(FOLDER / name):
        os.remove(FOLDER / name)
    expect(FOLDER.call(*program.counting(), "--always-rotate", "-e", "page-faults", "-e", "minor-faults",
                       "-e", "task-clock:u", "-o", name, *arguments), 0)
    assert ": OK (" in read("check", "-i", name)
    return ask(name, "SELECT cpu, period, set_no, c0, enabled_ns, running_ns FROM period"
                     " ORDER BY cpu, period")


def test_exec():
    """the first set counts from the workload's first moment"""
    firsts = set()
    for seed in range(9):
        # the whole run is in the first period, however late the command begins
        first = really("--order", "random:%d" % seed, "--period", "1h", "true")[0]
        assert first[3] > 0 and first[5] > 0.9 * first[4], (seed, first)
        firsts.add(first[2])
    assert firsts == {0, 1, 2}, firsts


def test_real():
    """a real recording has each set once per rotation"""
    rows = really("--order", "random", "--period", "5ms", "sleep", "1")
    assert len(rows) >= 6
    for at in range(0, len(rows) - 3, 3):
        assert {row[2] for row in rows[at:at + 3]} == {0, 1, 2}, rows[at:at + 3]


def test_cpus():
    r"""all CPUs have the same order"""
    answer = FOLDER.call(*program.counting(), "-q", "-a", "--duration", "1ms", "-o", "try.data")
    if answer.returncode != 0:
        raise tap.Skip("CPUs cannot be counted: " + answer.stderr)
    if len(os.sched_getaffinity(0)) < 2:
        raise tap.Skip("there is one CPU")
    rows = really("--order", "random", "-a", "--period", "5ms", "--duration", "500ms")
    of_cpu = {}
    for cpu, period, set_no, *_ in rows:
        of_cpu.setdefault(cpu, {})[period] = set_no
    assert len(of_cpu) > 1 and len(set(map(str, of_cpu.values()))) == 1, of_cpu
    assert "Order of event sets" in read("report", "-i", "real.data", "--cpu", "each")


def test_pause():
    """after a pause the rotation continues with the next set"""
    FOLDER.write("pause.sh", """\
mkfifo control control.ack 2>/dev/null
for word in enable disable enable; do
    echo $word > control
    read answer < control.ack
    sleep 0.1
done
""")
    rows = really("--order", "random:5", "--period", "5ms", "--delay", "off", "--control",
                  "fifo:control", "sh", "pause.sh")
    assert [row[1] for row in rows] == list(range(len(rows)))
    for at in range(0, len(rows) - 3, 3):
        assert {row[2] for row in rows[at:at + 3]} == {0, 1, 2}, rows[at:at + 3]
    assert ask("real.data", "SELECT count(*) FROM gap") == [(2,)]


with FOLDER:
    tap.main([test_usage, test_fixed, test_default, test_random, test_again, test_repeat, test_alone, test_sums, test_beat,
              test_check, test_thinned, test_rates, test_export, test_phases, test_shortest,
              test_pictures, test_watch, test_repair, test_second_time, test_exec, test_real,
              test_cpus, test_pause])
