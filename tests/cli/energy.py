"""Measurements of whole packages: energy, memory traffic and frequency, in each command. Recordings
are simulated, so that each figure is known to its last digit.
"""
import csv
import io
import json
import os
import re

from program import Folder, ask_store, expect, refused, tap

from words import CLASS_TITLE

FOLDER = Folder()

# Two phases of 60 s, 10 and 85.5 J per second; 10,000 readings of 64 bytes per GB are no power of
# two.
SCRIPT = """\
width 64
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
phase idle 60s p_energy=10J p_energy_ram=2.5J p_read=125000000 p_frequency=1200
phase busy 60s p_energy=85.5J p_energy_ram=12J p_read=8G p_written=2G p_frequency=3100 instructions=600M
"""
GB = 1024**3 / 1e9


def record(name, script, *arguments):
    """Record a run of this script."""
    FOLDER.write("script.sim", script)
    expect(FOLDER.call("record", "-q", *arguments, "--pmu", "sim:script.sim", "--order", "fixed", "-o", name), 0)


def text(*arguments):
    return expect(FOLDER.call(*arguments), 0).stdout


def words(*arguments):
    return " ".join(text(*arguments).split())


def answer(*arguments):
    return json.loads(text(*arguments, "--format", "json"))


def table(*arguments):
    return list(csv.DictReader(io.StringIO(text(*arguments))))


def rows(name, question):
    return ask_store(FOLDER / name, question)


def near(found, **expected):
    for key, value in expected.items():
        known = found[key]
        assert known is None if value is None else abs(known - value) <= 1e-8 * value, (key, value, found)


WHOLE = {"energy_j": 5730, "power_w": 47.75, "ram_energy_j": 870, "ram_power_w": 7.25, "ghz": 2.15,
         "mem_read_gb_s": (.125 + 8 * GB) / 2, "mem_written_gb_s": GB}


def test_report():
    """report: energy and power in text and for programs, for the run and for a part"""
    record("fine.data", SCRIPT)
    assert ("Packages: energy 5.73 kJ, power 47.8 W, memory energy 870 J, memory power 7.25 W, memory read 4.36 "
            "GB/s, memory written 1.07 GB/s, frequency 2.15 GHz " in words("report", "-i", "fine.data"))
    near(answer("report", "-i", "fine.data")["system"], **WHOLE)
    near(answer("report", "-i", "fine.data", "--from", "70s", "--to", "90s")["system"], energy_j=1710, power_w=85.5,
         ram_energy_j=240, ram_power_w=12, mem_read_gb_s=8 * GB, mem_written_gb_s=2 * GB, ghz=3.1)
    for form in ("markdown", "html"):
        assert "energy 5.73 kJ" in text("report", "-i", "fine.data", "--format", form)


def test_stored():
    """the store has uJ and KiB, and the view has rates per second"""
    assert rows("fine.data", "SELECT source, slot, name, unit, kind, total, readings FROM signal") == [
        (3, 0, "p_energy", "uJ", "counter", 5730000000, 1200),
        (3, 1, "p_energy_ram", "uJ", "counter", 870000000, 1200),
        (3, 2, "p_read", "KiB", "counter", (125000000 * 60 + 8 * 1024**3 * 60) // 1024, 1200),
        (3, 3, "p_written", "KiB", "counter", 2 * 1024**2 * 60, 1200),
        (3, 4, "p_frequency", "MHz", "gauge", 2150 * 1200, 1200),
        (3, 5, "p_counters", "counters", "gauge", 0, 1200)]
    assert rows("fine.data", "SELECT DISTINCT value FROM signal_value WHERE name = 'p_energy'") == [(1e7,), (8.55e7,)]


def test_phases():
    """phases: joules and watts of each phase and class; the sums are those of the run"""
    found = answer("phases", "-i", "fine.data")
    first, second = found["phases"]
    border = first["end_s"]
    assert abs(border - 60) < 0.5, border
    near(first["figures"], energy_j=600 + 85.5 * (border - 60) if border > 60 else 10 * border)
    assert abs(first["figures"]["energy_j"] + second["figures"]["energy_j"] - 5730) < 1e-6, found["phases"]
    near(second["figures"], ram_energy_j=870 - first["figures"]["ram_energy_j"])
    for phase, kind in zip(found["phases"], found["labels"]):
        near(kind["mean"], **{name: phase["figures"][name] for name in WHOLE})
    by_name = {figure["name"]: figure for figure in found["figures"]}
    near({name: by_name[name]["whole"] for name in WHOLE}, **WHOLE)
    assert [by_name[name]["unit"] for name in WHOLE] == ["J", "W", "J", "W", "GHz", "GB/s", "GB/s"]
    shown = text("phases", "-i", "fine.data")
    assert "Energy (J)" in shown and "Power (W)" in shown and "energy" not in shown.split(CLASS_TITLE)[1], shown
    row, = [row for row in table("phases", "-i", "fine.data", "--format", "csv") if row["label"] == "A"]
    assert float(row["energy_j"]) == first["figures"]["energy_j"], row


def test_export():
    """export: columns after all others, and the format signals"""
    wide = table("export", "-i", "fine.data")
    assert list(wide[0])[-8:] == ["m_wait", "power_w", "ram_power_w", "mem_read_gb_s", "mem_written_gb_s", "ghz", "idle", "fds"]
    assert [wide[700][name] for name in list(wide[0])[-8:]] == ["", "85.5", "12", "8.58993664", "2.1474816", "3.1", "", ""]
    rates = table("export", "-i", "fine.data", "--rates")
    assert [row["power_w"] for row in rates] == ["10"] * 150 + ["85.5"] * 150
    listed = table("export", "-i", "fine.data", "--format", "signals")
    assert len(listed) == 1200 and {row["source"] for row in listed} == {"package"}
    assert listed[700]["p_energy_uj"] == "8550000" and listed[700]["p_frequency_mhz"] == "3100", listed[700]
    assert sum(int(row["p_energy_uj"]) for row in listed) == 5730000000
    lines = text("export", "-i", "fine.data", "--format", "jsonl").splitlines()
    assert json.loads(lines[700])["power_w"] == 85.5, lines[700]
    trace = json.loads(text("export", "-i", "fine.data", "--format", "perfetto"))["traceEvents"]
    assert any(event["name"] == "Packages: energy" and event["ph"] == "C" for event in trace)


def test_thinned():
    """--keep: blocks have the same sums and peaks"""
    record("thin.data", SCRIPT + "phase peak 100ms p_energy=500J\nphase rest 3600s p_energy=10J p_frequency=800\n",
           "--keep", "1m")
    assert rows("thin.data", "SELECT count(*) FROM reading")[0][0] < 3000
    near(answer("report", "-i", "thin.data")["system"], energy_j=5730 + 50 + 36000, ram_energy_j=870,
         power_w=41780 / 3720.1)
    listed = table("export", "-i", "thin.data", "--format", "signals")
    assert sum(int(row["p_energy_uj"]) for row in listed) == 41780000000
    assert sum(int(row["readings"]) for row in listed) == 37201
    peak, = [row for row in listed if int(row["period"]) <= 1200 <= int(row["last_period"])]
    assert (peak["p_energy_uj_low"], peak["p_energy_uj_high"]) == ("10000000", "500000000"), peak
    expect(FOLDER.call("check", "-i", "thin.data"), 0)


def test_compare():
    """compare: joules are a figure, and can have a limit"""
    record("more.data", SCRIPT.replace("p_energy=85.5J", "p_energy=95J"))
    found = words("compare", "-i", "fine.data", "-i", "more.data", "1", "1")
    assert re.search(r"Energy 5730 J 6300 J \+9\.9 %", found), found
    assert re.search(r"Power 47\.7 W 52\.5 W \+9\.9 %", found), found
    # memory was not read: the metrics before and after keep their values
    record("few.data", SCRIPT.replace("p_energy_ram=2.5J", "").replace("p_energy_ram=12J", ""))
    found = words("compare", "-i", "few.data", "-i", "fine.data", "1", "1", "--all")
    assert re.search(r"Power 47\.7 W 47\.7 W", found), found
    assert "Memory power" not in found.split("Left out")[0], found


def test_drawn():
    """plot and watch have panels and a line"""
    shown = text("plot", "-i", "fine.data", "-o", "-")
    for line in (r"Power +packages 10 to 85\.5 W; their memory 2\.5 to 12 W",
                 r"Memory +read 0\.125 to 8\.59 GB/s; written 0 to 2\.15 GB/s",
                 r"Clock +1\.2 to 3\.1 GHz, 3\.1 at the end"):
        assert re.search("(?m)^%s$" % line, shown), shown
    expect(FOLDER.call("plot", "-i", "fine.data", "-o", "page.html"), 0)
    page = FOLDER.read("page.html").decode()
    assert re.search(r'(?s)"gaugePanels": \[.*"Power \(W, sum over packages\)"', page)
    shown = words("watch", "-i", "fine.data")
    assert "Power 85.5 W Memory power 12 W Memory read 8.59 GB/s Memory written 2.15 GB/s" in shown, shown


def test_failed():
    """a failed reading is in no sum, and an interval with missing readings has no joules"""
    record("failed.data", "fail-reading 2s 1s\n" + SCRIPT)
    near(answer("report", "-i", "failed.data")["system"], energy_j=None, ram_energy_j=None, power_w=(5730 - 10) / 119)
    near(answer("report", "-i", "failed.data", "--from", "60s")["system"], energy_j=5130)
    found = words("report", "-i", "failed.data")
    assert "Packages: power 48.1 W, memory power 7.29 W," in found, found


def test_some():
    """nothing is printed for values that the machine does not have"""
    record("some.data", "phase a 10s p_energy=10J\n")
    assert "Packages: energy 100 J, power 10 W " in words("report", "-i", "some.data")
    near(answer("report", "-i", "some.data")["system"], energy_j=100, ram_energy_j=None, mem_read_gb_s=None, ghz=None)
    assert rows("some.data", "SELECT count(*) FROM reading WHERE s1 NOTNULL OR s2 NOTNULL OR s4 NOTNULL") == [(0,)]
    record("none.data", "phase a 10s threads=1\n")
    assert "Packages" not in text("report", "-i", "none.data")
    assert "power_w" not in text("export", "-i", "none.data")


def test_options():
    """--system-metrics package: refused with a sentence without -a, and on a machine without such a PMU"""
    script = SCRIPT.replace("phase", "default threads=2 m_wait=1\nphase", 1)
    for what, sources in (("package", [3]), ("machine", [1]), ("all", [0, 1, 3]), ("off", [])):
        record(what + ".data", script, "--system-metrics", what)
        assert rows(what + ".data", "SELECT DISTINCT source FROM reading ORDER BY 1") == [(n,) for n in sources], what
    for arguments in ([], ["-C", "0"], ["-p", str(os.getpid())]):
        refused(FOLDER.call("record", "--system-metrics", "package", *arguments, "-o", "no.data", "--", "true"), 2,
                "covers whole packages, not a program or some CPUs; record with -a")


def test_events():
    """events: lists the measurements of packages with their units"""
    FOLDER.write("script.sim", SCRIPT.replace("p_written=2G", ""))
    found = words("events", "--pmu", "sim:script.sim")
    assert "p_energy power/energy-pkg/ J, W yes" in found, found
    assert "p_written uncore_imc* GB/s no: the script does not set it" in found, found
    listed = {row["name"]: row for row in answer("events", "--pmu", "sim:script.sim")["packages"]}
    assert listed["p_energy"]["countable"] and listed["p_energy"]["unit"] == "J, W", listed
    assert listed["p_written"]["reason"] == "the script does not set it", listed
    assert [row["unit"] for row in answer("events")["packages"]] == ["J, W", "J, W", "GB/s", "GB/s", "GHz"]


def test_merged():
    """merge: readings are copied"""
    expect(FOLDER.call("merge", "-i", "merged.data", "some.data", "fine.data"), 0)
    near(answer("report", "-i", "merged.data", "-r", "2")["system"], **WHOLE)
    expect(FOLDER.call("check", "-i", "merged.data"), 0)


with FOLDER:
    tap.main([test_report, test_stored, test_phases, test_export, test_thinned, test_compare, test_drawn, test_failed,
              test_some, test_options, test_events, test_merged])
