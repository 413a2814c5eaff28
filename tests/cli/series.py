"""export --format openmetrics and line-protocol: other databases read the values of the report.

usage: series.py RPISTAT
"""
import collections
import contextlib
import json
import re
import resource
import shutil
import signal
import sqlite3

from program import Folder, ask_store, expect, is_sanitized, refused, tap

FOLDER = Folder()

# 42.05 s with an odd end; an unknown event; an interval in which nothing has a counter.
SCRIPT = """\
clock 700M
noise 3%
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M dc_access=50M dc_miss=2M
fail main_tlb_miss unsupported
steal 8s 2s
phase calm 16s
phase busy 12s dc_miss=10M
sleep 2s
phase calm 12050ms
"""
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_0-9A-Z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+) ([0-9]+\.[0-9]{3})')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=[a-zA-Z_])|$)')
SUFFIX = {"counter": "_total", "info": "_info", "gauge": ""}
UNESCAPED = {"\\n": "\n", "\\\\": "\\", '\\"': '"'}


def labels_of(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found and found[1] not in labels, text
        labels[found[1]] = re.sub(r'\\.', lambda escape: UNESCAPED[escape[0]], found[2])
        at = found.end()
    return labels


def parse(text):
    """Parse OpenMetrics 1.0 strictly: {family: {labels: [(time, value), ...]}}."""
    assert text.endswith("\n# EOF\n") and "\r" not in text
    families, kind, name, last = {}, None, None, None
    for line in text[:-len("# EOF\n")].splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in families, "family %s comes twice" % name
            families[name], last, described = {}, None, ["TYPE"]
        elif line.startswith("# "):
            word, of, rest = line[2:].split(" ", 2)
            assert of == name and not families[name] and word not in described, line
            assert word == "HELP" or (word == "UNIT" and name.endswith("_" + rest)), line
            described.append(word)
        else:
            found = SAMPLE.fullmatch(line)
            assert found and found[1] == name + SUFFIX[kind], line
            series = tuple(sorted(labels_of(found[2]).items()))
            assert series == last or series not in families[name], "interleaved: " + line
            last = series
            samples = families[name].setdefault(series, [])
            time, value = round(float(found[4]) * 1000), float(found[3])
            assert not samples or time > samples[-1][0], line
            if kind == "counter":
                assert samples or value == 0, line
                assert not samples or value >= samples[-1][1], line
            samples.append((time, value))
    return families


def openmetrics(*arguments, folder=FOLDER):
    return parse(expect(folder.call("export", "--format", "openmetrics", *arguments), 0).stdout)


def report(*arguments, folder=FOLDER):
    return json.loads(expect(folder.call("report", "--format", "json", *arguments), 0).stdout)


def totals(families, family):
    """The last values, by event (or None), summed over CPUs."""
    ret = collections.Counter()
    for series, samples in families[family].items():
        ret[dict(series).get("event")] += samples[-1][1]
    return ret


def expect_report(families, said):
    """Each count, and each estimate computed from counts, equals the report's."""
    counts, running = totals(families, "rpistat_events"), totals(families, "rpistat_event_running_seconds")
    enabled = totals(families, "rpistat_enabled_seconds")[None]
    figures = [figure for figure in said["figures"] if figure["kind"] in ("event", "clock")]
    for figure in figures:
        name = figure["name"] if figure["kind"] == "event" else figure["label"]
        assert (name in counts) == (figure["count"] is not None), name
        if name in counts:
            assert counts[name] == figure["count"], (name, counts[name], figure)
            assert abs(counts[name] * enabled / running[name] - figure["value"]) <= 1, figure
    assert len(counts) == sum(figure["count"] is not None for figure in figures)


def prepare():
    FOLDER.write("series.sim", SCRIPT)
    expect(FOLDER.call("record", "-q", "--pmu", "sim:series.sim", "--label", 'a "b"', "--tag", "build=4\n2\\",
                       "--tag", "a-b=1", "--tag", "a.b=2"), 0)


def test_openmetrics():
    """openmetrics: strictly 1.0; totals and estimates equal the report's; info, phases"""
    families, said = openmetrics(), report()
    expect_report(families, said)
    assert list(families) == ["rpistat_run", "rpistat_phase", "rpistat_events", "rpistat_event_running_seconds",
                              "rpistat_enabled_seconds", "rpistat_cpu_seconds"], list(families)
    (info, samples), = families["rpistat_run"].items()
    info = dict(info)
    assert [value for _, value in samples] == [1, 1] and samples[1][0] - samples[0][0] == 42050
    assert info["label"] == 'a "b"' and info["tag_build"] == "4\n2\\", info
    assert (info["tag_a_b"], info["tag_a_b_2"]) == ("1", "2"), info
    assert info["run"] == said["run"]["uuid"] and info["instance"] == said["run"]["host"], info
    assert info["command"] == "sim:series.sim" and info["pmu"] == "sim", info
    start = samples[0][0]
    spans = []
    for series, samples in families["rpistat_phase"].items():
        assert [value for _, value in samples] == [1, 0] * (len(samples) // 2), samples
        spans += [(samples[i][0] - start, samples[i + 1][0] - start, dict(series)["label"])
                  for i in range(0, len(samples), 2)]
    phases = json.loads(expect(FOLDER.call("phases", "--format", "json"), 0).stdout)
    assert len(spans) >= 3
    assert sorted(spans) == [(round(1000 * phase["start_s"]), round(1000 * phase["end_s"]), phase["label"])
                             for phase in phases["phases"]], spans


def test_waiting():
    """waiting times by reason: zero at the start, at the end the sum of the readings; each series has the same host and job"""
    FOLDER.write("waits.sim", "default instructions=200M threads=4\nphase a 5s wait=20% in=lock:1\nphase b 5s\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:waits.sim", "-o", "waits.data"), 0)
    families = parse(expect(FOLDER.call("export", "-i", "waits.data", "--format", "openmetrics", "--every", "1s"), 0).stdout)
    found = {dict(series)["reason"]: samples for series, samples in families["rpistat_waiting_seconds"].items()}
    with contextlib.closing(sqlite3.connect(FOLDER / "waits.data")) as store:
        cpu, lock = store.execute("SELECT sum(s1) / 1e6, sum(s5 * length_us) / 1e6 FROM reading WHERE source = 0").fetchone()
        host, = store.execute("SELECT host FROM run").fetchone()
    assert len(found) == 8 and all(samples[0][1] == 0 and len(samples) == 11 for samples in found.values()), found
    assert cpu > 1 and abs(found["cpu"][-1][1] - cpu) < 1e-5 and abs(found["lock"][-1][1] - lock) < 1e-3, (found, cpu, lock)
    assert found["lock"][5][1] == found["lock"][-1][1] > 4.5, found["lock"]
    for name, family in families.items():
        for series in family:
            assert (dict(series)["instance"], dict(series)["job"]) == (host, "rpistat"), (name, series)


def test_clock_name():
    """a clock event whose label has blanks also has a name without; the series with its label has the same values"""
    change = "UPDATE run SET clock_label = 'TSC cycles'; UPDATE event SET label = 'TSC cycles' WHERE set_no = -1"
    shutil.copy(FOLDER / "rpistat.data", FOLDER / "tsc.data")
    with contextlib.closing(sqlite3.connect(FOLDER / "tsc.data")) as store:
        store.executescript(change)
    families = parse(expect(FOLDER.call("export", "-i", "tsc.data", "--format", "openmetrics", "--every", "1s"), 0).stdout)
    for family in ("rpistat_events", "rpistat_event_running_seconds"):
        by_name = {dict(series)["event"]: samples for series, samples in families[family].items()}
        assert by_name["tsc_cycles"] == by_name["TSC cycles"] and len(by_name["tsc_cycles"]) > 5, list(by_name)
    info, = families["rpistat_run"]
    assert dict(info)["clock"] == "tsc_cycles", info
    line = expect(FOLDER.call("export", "-i", "tsc.data", "--format", "line-protocol"), 0).stdout.splitlines()[0]
    value, = re.findall(r",tsc_cycles=(\d+)i,", line)
    assert ",TSC\\ cycles=%si," % value in line, line


def test_each_period():
    r"""openmetrics: each sample of a series is the sum of the periods up to then"""
    families = openmetrics()
    store = sqlite3.connect(FOLDER / "rpistat.data")
    start, = store.execute("SELECT start_realtime_ns FROM run").fetchone()
    cycles, expected = 0, [(start // 10**6, 0)]
    for end, more in store.execute("SELECT start_ns + length_ns, cycles FROM period ORDER BY period"):
        cycles += more
        expected.append(((start + end) // 10**6, cycles))
    store.close()
    (samples,) = [samples for series, samples in families["rpistat_events"].items()
                  if dict(series)["event"] == "Cycles"]
    assert samples == expected and len(samples) == 422


def test_every():
    """openmetrics --every: one sample per interval, and the same value at the end"""
    each, every = openmetrics(), openmetrics("--every", "5s")
    for family in ("rpistat_events", "rpistat_event_running_seconds", "rpistat_enabled_seconds"):
        assert totals(each, family) == totals(every, family)
        for series, samples in every[family].items():
            for time, value in samples:
                before = [old for at, old in each[family][series] if at <= time]
                assert value == max(before, default=0), (series, time)
    cycles, = [samples for series, samples in every["rpistat_events"].items() if dict(series)["event"] == "Cycles"]
    start = cycles[0][0]
    assert [time - start for time, _ in cycles] == [5000 * i for i in range(9)] + [42050], cycles


def test_part():
    """openmetrics --from --to: only this part"""
    part = ("--from", "6s", "--to", "30s")
    families = openmetrics(*part)
    expect_report(families, report(*part))
    for samples in families["rpistat_phase"].values():
        assert 0 <= samples[0][0] and samples[-1][0] - samples[0][0] <= 24000


def test_thinned():
    """openmetrics, line-protocol: a downsampled run with overlapping blocks; --follow gives the same"""
    with Folder() as folder:
        folder.write("series.sim", SCRIPT.replace("calm 16s", "calm 30m"))
        expect(folder.call("record", "-q", "--pmu", "sim:series.sim", "--keep", "1m"), 0)
        assert report(folder=folder)["thinned_s"] is not None
        expect_report(openmetrics(folder=folder), report(folder=folder))
        assert sums(lines(folder=folder)) == counts_of(report(folder=folder))
        for form in (["--format", "line-protocol"], ["--rates"], ["--cpu", "sum"]):
            plain = expect(folder.call("export", *form), 0).stdout
            assert expect(folder.call("export", "--follow", *form), 0).stdout == plain, form


def test_cpus():
    """both formats: a recording by CPU: each CPU, some CPUs, and their sum"""
    with Folder() as folder:
        folder.write("series.sim", SCRIPT)
        expect(folder.call("record", "-q", "--pmu", "sim:series.sim"), 0)
        store = sqlite3.connect(folder / "rpistat.data")
        with store:
            for table in ("period", "rollup"):
                store.execute("UPDATE %s SET cpu = 0" % table)
                names = [row[1] for row in store.execute("PRAGMA table_info(%s)" % table)]
                others = ", ".join("2" if name == "cpu" else name for name in names)
                store.execute("INSERT INTO %s (%s) SELECT %s FROM %s" % (table, ", ".join(names), others, table))
        store.close()
        for cpus in ([], ["--cpu", "2"], ["--cpu", "sum"]):
            families, said = openmetrics(*cpus, folder=folder), report(*(cpus or ["--cpu", "sum"]), folder=folder)
            if cpus != ["--cpu", "2"]:
                expect_report(families, said)
                assert sums(lines(*cpus, folder=folder)) == counts_of(said)
            expected = {(): {"0", "2"}, ("--cpu", "2"): {"2"}, ("--cpu", "sum"): {"all"}}[tuple(cpus)]
            for family in ("rpistat_events", "rpistat_cpu_seconds"):
                assert {dict(series)["cpu"] for series in families[family]} == expected
            assert {line["tags"]["cpu"] for line in lines(*cpus, folder=folder)} == expected


def test_no_room():
    """openmetrics: a temporary file that cannot grow is one sentence"""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    if is_sanitized():
        raise tap.Skip("a sanitized build writes files of its own")
    refused(FOLDER.call("export", "--format", "openmetrics", preexec_fn=limit), 1, "temporary file",
            "--every 10s")


# --- line protocol ------------------------------------------------------------------------------


def unescape(text):
    return re.sub(r"\\([, =])", r"\1", text)


def split(text, mark):
    """Split a text at separators without a backslash before them, as parsers do."""
    return re.split(r"(?<!\\)" + mark, text)


def lines(*arguments, folder=FOLDER):
    text = expect(folder.call("export", "--format", "line-protocol", *arguments), 0).stdout
    ret = []
    for line in text.splitlines():
        head, fields, time = split(line, " ")
        measurement, *tags = split(head, ",")
        tags = [tuple(unescape(part) for part in split(tag, "=")) for tag in tags]
        assert measurement == "rpistat" and tags == sorted(tags) and all(value for _, value in tags), line
        fields = [split(field, "=") for field in split(fields, ",")]
        assert all(re.fullmatch("[0-9]+i", value) for _, value in fields), line
        fields = {unescape(name): int(value[:-1]) for name, value in fields}
        ret.append({"tags": dict(tags), "fields": fields, "time": int(time)})
    assert len({(tuple(line["tags"].items()), line["time"]) for line in ret}) == len(ret) > 0
    return ret


def sums(table):
    ret = collections.Counter()
    for line in table:
        ret.update({name: value for name, value in line["fields"].items() if not name.endswith("_ns")})
    return ret


def counts_of(said):
    return {figure["name"] if figure["kind"] == "event" else figure["label"]: figure["count"]
            for figure in said["figures"] if figure["kind"] in ("event", "clock") and figure["count"] is not None}


def test_line_protocol():
    """line-protocol: one line per period; the counts add up to the report's; --follow gives the same"""
    table, said = lines(), report()
    assert len(table) == said["periods"]
    assert sums(table) == counts_of(said)
    store = sqlite3.connect(FOLDER / "rpistat.data")
    start, uuid = store.execute("SELECT start_realtime_ns, uuid FROM run").fetchone()
    rows = store.execute("SELECT start_ns, length_ns, enabled_ns, running_ns FROM period ORDER BY period").fetchall()
    store.close()
    for line, row in zip(table, rows):
        assert line["time"] == start + row[0] and line["tags"]["run"] == uuid, line
        assert [line["fields"][name] for name in ("length_ns", "enabled_ns", "running_ns")] == list(row[1:]), line
    plain = expect(FOLDER.call("export", "--format", "line-protocol"), 0).stdout
    assert expect(FOLDER.call("export", "--format", "line-protocol", "--follow"), 0).stdout == plain
    expect(FOLDER.call("export", "--format", "line-protocol", "-o", "a.txt"), 0)
    assert FOLDER.read("a.txt").decode() == plain


def test_odd_names():
    """both formats: unusual names are unchanged, or distinguished"""
    with Folder(runs=1) as folder:
        store = sqlite3.connect(folder / "rpistat.data")
        with store:
            store.execute("UPDATE run SET host = ?", ('a b,c=d"\\e\\',))
            store.execute("UPDATE event_set SET name = ? WHERE set_no = 1", ("x\ny",))
            store.execute("UPDATE event SET name = 'Cycles' WHERE name = 'instructions'")
            store.execute("UPDATE event SET name = 'enabled_ns' WHERE name = 'branches'")
            store.execute("UPDATE event SET name = 'd c=1,' WHERE name = 'dc_miss'")
        store.close()
        table, families = lines(folder=folder), openmetrics(folder=folder)
        assert table[0]["tags"]["instance"] == 'a b,c=d"\\e_', table[0]
        assert table[1]["tags"]["set"] == "x_y" and table[1]["fields"]["d c=1,"] > 0, table[1]
        assert table[0]["fields"]["Cycles_event"] > 0 and table[3]["fields"]["enabled_ns_event"] > 0
        counts = totals(families, "rpistat_events")
        assert all(counts[name] > 0 for name in ("Cycles", "Cycles_event", "enabled_ns", "d c=1,")), counts
        assert all(dict(series)["instance"] == 'a b,c=d"\\e\\' for series in families["rpistat_events"])


def test_no_start():
    """both formats: samples of a run with an unknown start have no times"""
    with Folder(runs=1) as folder:
        ask_store(folder / "rpistat.data", "UPDATE run SET start_realtime_ns = ?", (2**63 - 1,))
        for name in ("openmetrics", "line-protocol"):
            refused(folder.call("export", "--format", name), 1, "the start time of run 1 is unknown", "CSV")


def test_refused():
    """both formats: options for CSV are refused, and impossible requests"""
    for name in ("openmetrics", "line-protocol"):
        for option in (["--rates"], ["--long"], ["--clock"], ["--crlf"], ["--separator", ";"], ["--format", "jsonl"]):
            refused(FOLDER.call("export", *option, "--format", name), 2, name, "leave out", "--rates")
    refused(FOLDER.call("export", "--format", "openmetrics", "--follow"), 2, "--follow", "rpistat push")
    refused(FOLDER.call("export", "--format", "line-protocol", "--every", "1s"), 2, "--every")


with FOLDER:
    prepare()
    tap.main([test_openmetrics, test_waiting, test_clock_name, test_each_period, test_every, test_part, test_thinned, test_cpus, test_no_room,
              test_line_protocol, test_odd_names, test_no_start, test_refused])
