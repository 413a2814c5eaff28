"""explain: how a time range of a run differs from the rest, or from another time range."""
import csv
import json
import math
import random
import re
import statistics

from program import Folder, ask_store, expect, refused, tap

# Reads, lock waits, other code and another CPI from 20 to 24 s. The values of the rest vary by 5 %.
BURST = """\
seed 3
noise 5%
width 64
task main 100
function main 0x1000 0x100 main.c:10
function load 0x2000 0x100 load.c:5
default instructions=300M dc_access=100M dc_miss=2M threads=2 rss=100M read=0 wait=0% in=lock:1 code=main
phase a 20s
phase b 4s instructions=200M dc_miss=10M read=80M in=io:1 code=main>load
phase c 20s
"""
LOOP = """\
seed 5
noise 5%
width 64
default instructions=300M dc_access=100M
repeat 6
phase a 10s dc_miss=1M
phase b 10s dc_miss=8M
end
"""
WINDOWS = 30  # of noise, of which one may differ


def explained(folder, *arguments):
    return json.loads(expect(folder.call("explain", *arguments, "--format", "json"), 0).stdout)


def differing(found):
    return {row["name"]: row for row in found["metrics"]}


def test_listed_only():
    """a metric that only the table lists is an exception from a sentence about all metrics"""
    waiting = ("seed 3\nnoise 40%\nwidth 64\ndefault threads=21 in=lock:1 wait=40% instructions=300M dc_access=100M dc_miss=2M\n"
               "phase a 20s\nphase b 4s threads=22 wait=43%\nphase c 20s\n")
    with Folder(runs=0) as folder:
        folder.write("waiting.sim", waiting)
        expect(folder.call("record", "-q", "--pmu", "sim:waiting.sim", "--order", "fixed"), 0)
        assert set(differing(explained(folder, "--from", "20s", "--to", "24s"))) == {"wait"}
        text = " ".join(expect(folder.call("explain", "--from", "20s", "--to", "24s"), 0).stdout.split())
        assert "more than chance, except for the table below. " in text and "1 of 5 compared metrics differs " in text, text


def test_burst():
    """the metrics, I/O and code of a window are those of the script; nothing else differs"""
    with Folder(runs=0) as folder:
        folder.write("burst.sim", BURST)
        expect(folder.call("record", "-q", "--pmu", "sim:burst.sim", "--order", "fixed"), 0)
        for against in [], ["--against", "2s,12s"]:
            found = explained(folder, "--from", "20s", "--to", "24s", *against)
            rows = differing(found)
            assert {"read", "in_io", "in_lock", "dc_miss_ratio", "cpi"} <= set(rows), rows
            assert not {"rss", "cpu_use", "in_timer"} & set(rows), rows
            assert abs(rows["read"]["window"] - 80 * 10**6 / 2**20) < 5, rows["read"]
            assert abs(rows["cpi"]["window"] - 3.5) < .1 and abs(rows["cpi"]["other"] - 7 / 3) < .1, rows["cpi"]
            exact = {name for name, row in rows.items() if row["low"] is None and row["high"] is None}
            assert exact == {"read", "in_io", "in_lock"}, rows  # readings of a script have no noise
            for name in set(rows) - exact:
                row = rows[name]
                assert row["low"] < row["difference"] < row["high"], row
                assert row["low"] > 0 or row["high"] < 0, row
            assert rows["cpi"]["low"] < 3.5 - 7 / 3 < rows["cpi"]["high"], rows["cpi"]
            assert [(row["kind"], row["name"]) for row in found["stands_out"]][0] == ("function", "load"), found
            report = json.loads(expect(folder.call("report", "--from", "20s", "--to", "24s", "--format", "json"), 0).stdout)
            if not against:
                assert [report[name] for name in ("words", "stands_out")] == [found[name] for name in ("words", "stands_out")], report
            assert found["words"].startswith("in load (100 %") and "reads " in found["words"], found["words"]
        quiet = explained(folder, "--from", "2s", "--to", "10s", "--against", "26s,40s")
        assert not quiet["metrics"] and not quiet["stands_out"], quiet
        assert quiet["words"].startswith("similar to the other time range"), quiet["words"]
        text = expect(folder.call("explain", "--from", "20s", "--to", "24s"), 0).stdout
        assert " ".join(text.split()).startswith("From 00:20.0 to 00:24.0 (4.0 s): in load (100 % of samples, rest of the run: 0 %), reads "), " ".join(text.split())
        short = explained(folder, "--from", "20s", "--to", "20.2s")
        assert short["tested"] == 0 and not short["metrics"] and "similar" not in short["words"], short
        assert "stands_out" not in short and short["words"].startswith("in load (100 %"), short
        text = " ".join(expect(folder.call("explain", "--from", "20s", "--to", "20.2s"), 0).stdout.split())
        assert "not compared: too few measurement periods" in text and "Code: 100 % of samples in load" in text, text
        refused(folder.call("explain", "B"), 1, "--from phase:B --to phase:B")
        more = explained(folder, "--from", "2s", "--to", "10s", "--against", "34s,40s")  # load is between them
        assert not more["stands_out"] and more["words"] == "similar to the other time range", more


def test_code_of_a_short_window():
    """half of the samples of 1.5 s are in code that the rest hardly has: this is no claim of chance"""
    with Folder(runs=0) as folder:
        mix = "".join("phase p 100ms code=%s\n" % ("load" if 20 <= k < 35 and k % 2 or k % 12 == 0 else "main") for k in range(100))
        folder.write("short.sim", "seed 3\ntask main 100\nfunction main 0x1000 0x100 main.c:10\n"
                     "function load 0x2000 0x100 load.c:5\ndefault instructions=300M\n" + mix)
        expect(folder.call("record", "-q", "--pmu", "sim:short.sim"), 0)
        found = explained(folder, "--from", "2s", "--to", "3.5s")
        assert "stands_out" not in found, found
        text = " ".join(expect(folder.call("explain", "--from", "2s", "--to", "3.5s"), 0).stdout.split())
        shares = re.search(r"Code: (\d+) % of samples in load .*?\(rest of the run: (\d+) %\)", text)
        assert shares and 45 <= int(shares[1]) <= 62 and 5 <= int(shares[2]) <= 11 and "may be due to chance" in text, text
        # spread over two functions, which one function called
        folder.write("spread.sim", "function f 0x3000 0x100\nfunction g 0x4000 0x100\n".join(
            ["seed 3\ntask main 100\nfunction main 0x1000 0x100\nfunction load 0x2000 0x100\n",
             "default instructions=300M\n" + mix.replace("=load", "=load>f:50%,load>g:50%")]))
        expect(folder.call("record", "-q", "--pmu", "sim:spread.sim", "-o", "s.data"), 0)
        text = " ".join(expect(folder.call("explain", "-i", "s.data", "--from", "2s", "--to", "3.5s"), 0).stdout.split())
        shares = re.search(r"Code: (\d+) % of samples in load and its callees \(rest of the run: (\d+) %\)", text)
        assert shares and 45 <= int(shares[1]) <= 62 and 5 <= int(shares[2]) <= 11, text


def test_phase():
    """a phase of a loop is compared with the rest, which has similar phases; its values equal the report's"""
    with Folder(runs=0) as folder:
        folder.write("loop.sim", LOOP)
        expect(folder.call("record", "-q", "--pmu", "sim:loop.sim", "--order", "fixed", "--label", "loop"), 0)
        for part in [["--from", "30s", "--to", "40s"], ["--from", "phase:B.2", "--to", "phase:B.2"]]:
            row = differing(explained(folder, "loop", *part))["dc_miss_ratio"]
            figures = json.loads(expect(folder.call("report", *part, "--format", "json"), 0).stdout)["figures"]
            value = next(each["value"] for each in figures if each["name"] == "dc_miss_ratio")
            assert abs(row["window"] / value - 1) < 1e-6, (row, value)
            assert row["low"] > 2 and row["window"] > 7 and row["other"] < 5, row
        assert "dc_miss_ratio" not in differing(explained(folder, "--from", "20s", "--to", "60s"))


def test_long():
    """the rest includes all periods outside the window, also distant ones; a window that divides a block is widened"""
    with Folder(runs=0) as folder:
        folder.write("long.sim", "seed 2\nnoise 2%\nwidth 64\nphase a 1300s instructions=350M\n"
                     "phase b 300s instructions=100M\nphase a 400s instructions=350M\n")
        expect(folder.call("record", "-q", "--pmu", "sim:long.sim", "--order", "fixed", "--label", "long"), 0)
        for start, wanted in (100, 1600 * 350 + 300 * 100), (1300, 1700 * 350 + 200 * 100), (1800, 1600 * 350 + 300 * 100):
            found = explained(folder, "--from", "%ds" % start, "--to", "%ds" % (start + 100))
            row = differing(found)["cpi"]
            assert abs(row["other"] / (1900 * 700 / wanted) - 1) < .01, (start, row)
            assert abs(row["window"] - (7 if start == 1300 else 2)) < .1, row
        expect(folder.call("record", "-q", "--pmu", "sim:long.sim", "--keep", "60s", "-o", "kept.data"), 0)
        found = explained(folder, "-i", "kept.data", "--from", "1305s", "--to", "1500s")
        assert found["from_s"] <= 1305 and found["to_s"] >= 1500, found
        assert found["from_s"] < 1305 or found["to_s"] > 1500, found
        assert abs(differing(found)["cpi"]["window"] - 7) < 1, found


def test_not_compared():
    """what is not compared is no equality; the CPU use of a window that hardly runs is in the sentence even if it is not compared"""
    bursts = "repeat 30\nphase a 100ms instructions=300M\nsleep 900ms\nend\n"
    with Folder(runs=0) as folder:
        folder.write("idle.sim", "seed 3\nnoise 5%\nwidth 64\ndefault threads=2 in=lock:1\n" + bursts + "sleep 4s\n" + bursts)
        expect(folder.call("record", "-q", "--pmu", "sim:idle.sim", "--order", "fixed"), 0)
        found = explained(folder, "--from", "30.2s", "--to", "33.8s")
        assert found["words"] == "CPU use 0 % (rest of the run: 9.9 %)" and "cpu_use" not in differing(found), found
        found = explained(folder, "--from", "5s", "--to", "8s")
        assert found["words"].startswith("not all metrics can be compared: "), found
        text = " ".join(expect(folder.call("explain", "--from", "5s", "--to", "8s"), 0).stdout.split())
        assert "2 of 3 metrics are not compared: too few" in text, text


def test_tiny_waits():
    """a window that hardly needs a CPU has no share of waiting: 3 ms of waiting per 100 ms are not 100 %"""
    with Folder(runs=0) as folder:
        folder.write("asleep.sim", "seed 3\nnoise 5%\nwidth 64\ndefault threads=1 wait=40% instructions=300M\n"
                     "phase a 20s\nsleep 4s threads=1 in=message:1\nphase c 20s\n")
        expect(folder.call("record", "-q", "--pmu", "sim:asleep.sim", "--order", "fixed"), 0)
        ask_store(folder / "rpistat.data", "UPDATE reading SET s1 = 3000 WHERE source = 0 AND period BETWEEN 200 AND 239")
        ask_store(folder / "rpistat.data", "DELETE FROM reading_rollup")
        for command in "explain", "report":
            text = " ".join(expect(folder.call(command, "--from", "20s", "--to", "24s"), 0).stdout.split())
            assert "waits 0 s/s for a CPU (rest of the run: 0.4 s/s)" in text and "that it could run" not in text, text


def test_asynchronous():
    """bytes that disks received without write() are described; bytes that write() moved are described once"""
    with Folder(runs=0) as folder:
        folder.write("async.sim", BURST)
        expect(folder.call("record", "-q", "--pmu", "sim:async.sim", "--order", "fixed"), 0)
        slot = "CASE WHEN period BETWEEN 200 AND 239 THEN %d ELSE %d END + period %% 7"
        for written, disks, clause in (100, 4600, r"writes 4\d MiB/s to disks \((elsewhere|rest of the run:) 1\.0 MiB/s\)"), (
                4600, 4600, r"writes 4\d MiB/s \((elsewhere|rest of the run:) 1\.0 MiB/s\)"):
            ask_store(folder / "rpistat.data", "UPDATE reading SET s12 = %s, s14 = %s WHERE source = 0"
                      % (slot % (written, 100), slot % (disks, 100)))
            ask_store(folder / "rpistat.data", "DELETE FROM reading_rollup")
            for command in [["explain", "--from", "20s", "--to", "24s"], ["phases"]]:
                text = " ".join(expect(folder.call(*command), 0).stdout.split())
                assert re.search(clause, text) and text.count("writes ") == 1, text
            assert "disk_written" in differing(explained(folder, "--from", "20s", "--to", "24s"))


def noise(folder, correlation, number):
    """A table of four columns of correlated noise, imported as a run."""
    chance = random.Random(number)
    values = [chance.gauss(0, 1) for _ in range(4)]
    rows = [["time"] + ["m%d=gauge" % c for c in range(4)]]
    for i in range(1500):
        values = [correlation * x + math.sqrt(1 - correlation**2) * chance.gauss(0, 1) for x in values]
        rows.append(["%.1f" % (i / 10)] + ["%.5f" % (10 + 3 * x) for x in values])
    folder.write("noise.csv", "".join(",".join(row) + "\n" for row in rows))
    expect(folder.call("import", "-q", "-o", "noise.data", "noise.csv"), 0)


def test_noise():
    """windows of noise do not differ, nor if neighbours are alike"""
    with Folder(runs=0) as folder:
        for number, correlation in enumerate((0, .6, .9)):
            noise(folder, correlation, number)
            chance = random.Random(number)
            found = 0
            for _ in range(WINDOWS):
                length = chance.uniform(1, 60)
                start = chance.uniform(0, 150 - length)
                got = explained(folder, "-i", "noise.data", "--from", "%.2fs" % start, "--to", "%.2fs" % (start + length))
                found += bool(got["metrics"])
                assert got["tested"] == 4, got
            assert found <= 1, (correlation, found)


def test_leak():
    """the start of a steady rise differs from its end; the middle does not differ, nor does a part of a slow wave"""
    with Folder(runs=0) as folder:  # steps of 750 kB, of which each differs by 750 kB; neighbouring steps have no correlation
        folder.write("leak.sim", "seed 2\nnoise 5%\nwidth 64\ndefault instructions=300M\n" + "".join(
            "phase leak 100ms rss=%dk\n" % (750 * (k + (0, 1, 2, 1)[k % 4])) for k in range(1, 201)))
        expect(folder.call("record", "-q", "--pmu", "sim:leak.sim"), 0)
        row = differing(explained(folder, "--from", "0", "--to", "5s"))["rss"]
        assert abs(row["window"] - 19.4) < .2 and abs(row["other"] - 92.7) < .2, row
        # .73 MiB * sqrt(200 / 3) * 2.97, and more because phases divide the steps
        assert 17.8 < row["difference"] - row["low"] < 24, row
        assert "rss" not in differing(explained(folder, "--from", "8s", "--to", "12s"))
    with Folder(runs=0) as folder:  # 1 MiB per 100 ms, and jumps at the start and at the end
        steady = [3, 3, 9] + [9 + k for k in range(1, 195)] + [160, 70, 10]
        folder.write("steady.sim", "seed 2\nnoise 5%\nwidth 64\ndefault instructions=300M\n" + "".join(
            "phase leak 100ms rss=%dk\n" % (mib * 1024) for mib in steady))
        expect(folder.call("record", "-q", "--pmu", "sim:steady.sim"), 0)
        for first, last in (0, 50), (30, 50), (120, 160), (150, 200):
            row = differing(explained(folder, "--from", "%gs" % (first / 10), "--to", "%gs" % (last / 10)))["rss"]
            window, rest = steady[first:last], steady[:first] + steady[last:]
            assert abs(row["window"] - statistics.mean(window)) < 1.5 and abs(row["other"] - statistics.mean(rest)) < 1.5, row
            assert row["low"] <= row["difference"] <= row["high"], row
    with Folder(runs=0) as folder:
        folder.write("wave.sim", "seed 2\nnoise 5%\nwidth 64\ndefault instructions=300M\n" + "".join(
            "phase wave 100ms rss=%dk\n" % (150000 + 100000 * math.sin(2 * math.pi * k / 200)) for k in range(200)))
        expect(folder.call("record", "-q", "--pmu", "sim:wave.sim"), 0)
        assert "rss" not in differing(explained(folder, "--from", "0", "--to", "5s"))


def test_bursts_of_reads():
    """reads in bursts vary too much to compare: they are not among the tested metrics"""
    tested = {}
    with Folder(runs=0) as folder:
        for name, read in ("none", 0), ("bursts", 160):
            folder.write("bursts.sim", "seed 2\nnoise 5%\nwidth 64\ndefault instructions=300M rss=10M\n"
                         + "".join("phase p%d 100ms read=%dM\n" % (k, read * (60 <= k < 120 and k % 8 == 0)) for k in range(200)))
            expect(folder.call("record", "-q", "--pmu", "sim:bursts.sim", "-o", name), 0)
            found = explained(folder, "-i", name, "--from", "6s", "--to", "12s")
            assert "read" not in differing(found), found
            tested[name] = found["tested"]
        text = expect(folder.call("explain", "-i", "bursts", "--from", "6s", "--to", "12s"), 0).stdout
        assert tested["none"] == tested["bursts"] and "1 of 4 metrics is not compared" in text and "similar" not in text, (tested, text)


def test_formats():
    """CSV has the metrics of JSON; Markdown and HTML have the sentence"""
    with Folder(runs=1) as folder:
        part = ["--from", "2s", "--to", "8s"]
        found = explained(folder, *part)
        rows = list(csv.DictReader(expect(folder.call("explain", *part, "--format", "csv"), 0).stdout.splitlines()))
        assert [row["name"] for row in rows] == [row["name"] for row in found["metrics"]], rows
        assert found["metrics"], found
        for form in "markdown", "html":
            text = expect(folder.call("explain", *part, "--format", form), 0).stdout
            assert "From 00:02.0 to 00:08.0" in re.sub(r"\\", "", text), text
        refused(folder.call("explain", *part, "--format", "xml"), 2, "xml")
        ask_store(folder / "rpistat.data", "UPDATE period SET length_ns = 4000000 WHERE start_ns = (SELECT max(start_ns) FROM period)")
        (start_s,), = ask_store(folder / "rpistat.data", "SELECT max(start_ns) / 1e9 FROM period")
        text = expect(folder.call("explain", "--from", "%.6fs" % (start_s - .001), "--to", "%.6fs" % (start_s + .01)), 0).stdout
        first, last = re.match(r"From (\S+) to (\S+) ", text).groups()
        assert first != last, text  # although a period has one decimal


tap.main([test_burst, test_listed_only, test_not_compared, test_tiny_waits, test_asynchronous, test_code_of_a_short_window, test_phase, test_long, test_noise, test_leak, test_bursts_of_reads, test_formats])
