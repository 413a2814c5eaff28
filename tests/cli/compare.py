"""compare: which runs are compared, limits, formats, and messages for arguments that make no sense."""
import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess

from program import RPISTAT, TIMEOUT, Folder, Recording, ask_store, counting, environment, expect, refused, tap

# Two phase classes; the parameters are the length of the second and the instructions of the first.
SCRIPT = """\
clock 700M
seed %d
noise 2%%
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M dc_access=50M dc_miss=2M
default micro_tlb_miss=1M main_tlb_miss=100k
phase calm 8s instructions=%dM
phase busy %ss dc_miss=10M
"""
FOLDER = Folder()


def prepare():
    """Make the runs: 1 to 3 are "main"; 4 to 6 are "new", with fewer instructions and a longer second
    phase; each has noise of its own. 7 is like main, labelled "5", with a comma in a tag. Another
    store has a run like new.
    """
    folder = FOLDER.__enter__()
    for run in range(1, 8):
        is_new = 4 <= run <= 6
        length = 6 + (run % 3 - 1) * .1 + (1.5 if is_new else 0)
        folder.write("script.sim", SCRIPT % (run, 170 if is_new else 200, length))
        folder.record("-q", "--label", "new" if is_new else "main" if run < 4 else "5", "--tag",
                      "build=%d" % (43 if is_new else 42), *(["--tag", "odd=a,b"] if run == 7 else []))
        if run == 4:
            folder.record("-q", "--label", "new", "-o", "other.data")
    return folder


def compare(*arguments, status=0):
    return expect(FOLDER.call("compare", *arguments), status)


def sides(*arguments):
    """The runs of both sides: "1,2 | 3"."""
    found = json.loads(compare(*arguments, "--no-phases", "--format", "json").stdout)
    return " | ".join(",".join(str(run["run"]) for run in found["runs"] if run["side"] == side)
                      for side in "AB")


def change_of(name, *arguments, label=None):
    found = json.loads(compare(*arguments, "--format", "json").stdout)
    [row] = [row for row in found["changes"] if row["name"] == name and row["label"] == label]
    return row


# --- which runs -------------------------------------------------------------------------------


def test_runs():
    r"""numbers, ranges, lists, labels, tags, last: all matching runs, each once, in order"""
    for arguments, expected in [
            ([], "6 | 7"), (["1"], "1 | 7"), (["2", "3"], "2 | 3"), (["last-2", "last-1"], "5 | 6"),
            (["1,3", "4-6"], "1,3 | 4,5,6"), (["3,1,3", "7,4"], "1,3 | 4,7"),
            (["main", "new"], "1,2,3 | 4,5,6"), (["label:main", "build=43"], "1,2,3 | 4,5,6"),
            (["label:5", "5"], "7 | 5"), (["odd=a,b", "new"], "7 | 4,5,6"), (["1-2,new", "3"], "1,2,4,5,6 | 3"),
            (["5-99,1-2", "3"], "1,2,5,6,7 | 3")]:
        assert sides(*arguments) == expected, (arguments, sides(*arguments))


def test_against():
    """--baseline: side A is all its runs without those of side B, which is the last run by default"""
    assert sides("--baseline", "main") == "1,2,3 | 7"
    assert sides("--baseline", "main", "2") == "1,3 | 2"
    assert sides("--baseline", "build=42") == "1,2,3 | 7"
    refused(FOLDER.call("compare", "--baseline", "main", "main"), 1, "--baseline main", "on side B")
    refused(FOLDER.call("compare", "--baseline", "main", "1", "2"), 2, "--baseline names side A", "'1'")


def test_stores():
    """A is searched in the first store and B in the second; both may be the same store"""
    found = json.loads(compare("-i", "rpistat.data", "-i", "other.data", "--no-phases", "--format", "json").stdout)
    assert [(run["store"], run["run"]) for run in found["runs"]] == [("rpistat.data", 7), ("other.data", 1)]
    assert (found["a_name"], found["b_name"]) == ("label:5", "new"), found
    assert sides("-i", "rpistat.data", "-i", "other.data", "main", "new") == "1,2,3 | 1"
    assert sides("-i", "./rpistat.data", "-i", "rpistat.data") == "6 | 7"
    refused(FOLDER.call("compare", "-i", "a", "-i", "b", "-i", "c"), 2, "-i can be given at most 2 times; leave out 'c'")
    refused(FOLDER.call("compare", "-i", "other.data"), 1, "other.data has only one run", "record another run")
    refused(FOLDER.call("compare", "-i", "rpistat.data", "-i", "no.data"), 1, "no.data")


def test_no_such_run():
    r"""for runs that do not exist the message names existing runs, and similar labels and tags"""
    for arguments, status, *words in [
            (["mian", "new"], 1, "mian: no run of rpistat.data has this label or tag", "did you mean main?"),
            (["label:nwe"], 1, "label:nwe", "this label; did you mean new?"),
            (["label:7"], 1, "no run of rpistat.data has this label"),
            (["build=44"], 1, "did you mean build=42 or build=43?"),
            (["nothing-like-it"], 1, "run nothing-like-it is not in rpistat.data, which has runs 1 to 7"),
            (["8-9"], 1, "run 8-9", "runs 1 to 7"), (["1,8"], 1, "run 8"), (["last-7"], 1, "run last-7"),
            (["3-1"], 2, "the range 3-1 is reversed; write 1-3"), (["1,,2"], 2, "empty"), ([""], 2, "empty"),
            (["1", "1"], 2, "run 1"), (["1-3", "2"], 2, "run 2"), (["1", "2", "3"], 2, "no argument '3'")]:
        refused(FOLDER.call("compare", *arguments), status, *words)


def test_recording():
    """a run that is still being recorded is not compared"""
    with Folder(1) as folder, Recording(folder, "rpistat.data") as recording:
        refused(folder.call("compare"), 1, "run 2", "record")
        recording.end()


# --- limits -----------------------------------------------------------------------------------


def limit(*limits, runs=("main", "new"), options=()):
    """Return the status, the limits that failed, and the limits that are inconclusive."""
    arguments = [part for one in limits for part in ("--fail-if", one)]
    arguments += [] if any(":" in one for one in limits) else ["--no-phases"]
    answer = FOLDER.call("compare", *runs, *arguments, *options)
    assert answer.returncode in (0, 3, 4) and answer.stdout, answer.stderr
    said = [re.match("rpistat: '([^']*)' (fails|inconclusive): ", line) for line in answer.stderr.splitlines()]
    assert all(said), answer.stderr
    return (answer.returncode, [one[1] for one in said if one[2] == "fails"],
            *[one[1] for one in said if one[2] == "inconclusive"])


def test_limits():
    """the status is 3 only if a limit is exceeded, above or below, for the run and for a phase"""
    change = change_of("elapsed", "main", "new")
    assert change["p"] < .001 and .10 < change["change"] < .115, change
    assert limit("elapsed>+8%") == (3, ["elapsed>+8%"])
    assert limit("elapsed>+14%") == (0, [])
    assert limit("elapsed<-10%", "cpi>+50%") == (0, [])
    assert limit("cpi>+1%", "elapsed>+5%", "cpi>+90%") == (3, ["cpi>+1%", "elapsed>+5%"])
    assert limit("elapsed<-5%", "cpi>+90%", runs=("new", "main")) == (3, ["elapsed<-5%"])
    assert limit("A:instructions<-10%", "B:instructions<-2%") == (3, ["A:instructions<-10%"])
    assert limit("b:elapsed>+20%", "A:elapsed>+5%") == (3, ["b:elapsed>+20%"])
    # a required improvement
    assert limit("elapsed>-5%", runs=("new", "main")) == (0, [])
    assert limit("elapsed>-15%", runs=("new", "main")) == (3, ["elapsed>-15%"])
    assert limit("elapsed>-5%") == (3, ["elapsed>-5%"])
    assert limit("elapsed<+5%", "elapsed<+14%") == (3, ["elapsed<+14%"])


def test_negative():
    """for negative values, a limit compares the difference with a share of the absolute value"""
    with Folder() as folder:
        for label, value in ("high", -100), ("low", -110), ("above", 50), ("zero", 0):
            names = []
            for k in range(2):
                names.append("%s%d.csv" % (label, k))
                folder.write(names[-1], "time_s,lat\n" + "".join("%d,%d\n" % (i, value - k if value else 0)
                                                                 for i in range(1, 21)))
            expect(folder.call("import", "-q", "-o", "rpistat.data", "--label", label, *names), 0)
        for a, b, bound, status, change in [
                ("high", "low", "lat>+3%", 0, -.0995), ("high", "low", "lat<-3%", 3, -.0995),
                ("high", "low", "lat>-3%", 0, -.0995), ("low", "high", "lat>+3%", 3, .0905),
                ("high", "above", "lat>+3%", 3, 1.4925), ("above", "high", "lat>+3%", 0, -3.0303),
                ("high", "zero", "lat>+3%", 3, 1), ("zero", "high", "lat>+3%", 0, None),
                ("zero", "high", "lat<-3%", 3, None), ("zero", "above", "lat>+3%", 3, None)]:
            answer = expect(folder.call("compare", a, b, "--no-phases", "--format", "json", "--fail-if", bound), status)
            found, = json.loads(answer.stdout)["limits"]
            assert change is None and found["change"] is None or abs(found["change"] - change) < .001, (a, b, found)


def test_outlier():
    """an outlier among the runs of a side is named, and it hardly changes the result with --statistic median"""
    with Folder() as folder:
        for label, ends in ("old", (100, 101, 99, 102, 98, 100.5)), ("new", (110, 111, 109, 600, 112, 108)):
            names = []
            for k, end in enumerate(ends):
                names.append("%s%d.csv" % (label, k))
                folder.write(names[-1], "time,load\n%g,2.5\n%g,1.5\n" % (end / 2, end))
            expect(folder.call("import", "-q", "-o", "rpistat.data", "--label", label, *names), 0)

        def found(*options):
            answer = json.loads(expect(folder.call("compare", "old", "new", "--no-phases", "--format", "json", *options), 0).stdout)
            return answer, next(row for row in answer["changes"] if row["name"] == "elapsed")
        means, mean = found()
        medians, median = found("--statistic", "median")
        for answer in means, medians:
            assert [run["run"] for run in answer["runs"] if run["is_outlier"]] == [10], answer["runs"]
            assert any("Run 10 (new): outlier that took 600 s; the other runs of its side took 108 to 112 s" in remark
                       for remark in answer["remarks"]), answer["remarks"]
        assert (means["statistic"], medians["statistic"]) == ("mean", "median")
        assert mean["change_low"] < 0 < mean["change_high"] and mean["change"] > .4, mean
        assert (median["a"], median["b"]) == (100.25, 110.5), median
        assert abs(median["change"] - (110.5 / 100.25 - 1)) < 1e-9, median
        text = expect(folder.call("compare", "old", "new", "--no-phases", "--statistic", "median"), 0).stdout
        assert "Tested: medians of the runs" in text and "is less affected" not in text, text
        answer = json.loads(expect(folder.call("compare", "old", "7", "--no-phases", "--format", "json", "--statistic",
                                               "median"), 0).stdout)
        assert answer["changes"][0]["tested_by"] is None, answer["changes"][0]
        assert any("no interval of its median" in remark for remark in answer["remarks"]), answer["remarks"]
        refused(folder.call("compare", "--statistic", "mode"), 2, "--statistic")


def test_many_runs():
    """an inconclusive limit has the required number of runs, also above 1,000"""
    change = change_of("elapsed", "main", "new")
    near = "elapsed>+%.9f%%" % (100 * change["change"] + .01)
    found, = json.loads(compare("main", "new", "--no-phases", "--format", "json", "--fail-if", near,
                                status=4).stdout)["limits"]
    assert 1000 < found["deciding_runs"] < 1e9, found


def test_undecided():
    """a limit inside the interval is inconclusive: status 4, or the status of --inconclusive; failed limits have priority"""
    change = change_of("elapsed", "1,2", "3,7")
    assert abs(change["change"]) > .002 and change["p"] > .05, change
    assert limit("elapsed>+0%", runs=("1,2", "3,7")) == (4, [], "elapsed>+0%")
    change = change_of("elapsed", "main", "new")
    inside = "elapsed>+%.3f%%" % (50 * (change["change"] + change["change_low"]))
    below = "elapsed>+%.3f%%" % (100 * change["change_low"] - .1)
    above = "elapsed>+%.3f%%" % (100 * change["change_high"] + .1)
    assert limit(inside, above) == (4, [], inside)
    assert limit(inside, below, above) == (3, [below], inside)
    assert limit(inside, above, options=["--inconclusive", "pass"]) == (0, [], inside)
    assert limit(inside, above, options=["--inconclusive", "fail"]) == (3, [], inside)
    assert limit(below, options=["--inconclusive", "pass"]) == (3, [below])
    found = json.loads(compare("main", "new", "--no-phases", "--format", "json", "--fail-if", inside, "--fail-if", above,
                               status=4).stdout)["limits"]
    assert [(row["decision"], row["change_low"]) for row in found] == [
        ("undecided", change["change_low"]), ("holds", change["change_low"])], found
    assert found[0]["deciding_runs"] > 3 and found[1]["deciding_runs"] is None, found
    text = FOLDER.call("compare", "main", "new", "--no-phases", "--fail-if", inside, "--fail-if", above)
    said, = text.stderr.splitlines()
    assert said.endswith("; about %d runs per side would decide it" % found[0]["deciding_runs"]), said
    for answer in (text.stdout, compare("main", "new", "--no-phases", "--fail-if", inside, "--format", "markdown",
                                        status=4).stdout):
        assert said[len("rpistat: "):] in " ".join(answer.split()).replace("\\", ""), (said, answer)


def test_one_a_side():
    """with one run per side all limits are inconclusive, however different the runs are; a limit on a missing figure is refused"""
    answer = FOLDER.call("compare", "1", "4", "--no-phases", "--fail-if", "elapsed>+2%", "--fail-if", "cpi<-1%")
    assert answer.returncode == 4 and answer.stderr.count("one run per side does not show how much runs vary; record "
                                                          "several of each") == 2, answer.stderr
    assert limit("elapsed>+5%", runs=("main", "4")) == (3, ["elapsed>+5%"])


def test_limit_names():
    """the syntax of a limit is checked before a store is opened; its name is checked with the runs"""
    for text in ("cpi", "cpi>3%", "cpi<3%", "cpi>+3", "cpi>+x%", ">+3%", "cpi>+%", "cpi=+3%", "cpi>+ 3%",
                 "cpi>+-3%", "", "%", "cpi>%", "x" * 300 + ">+1%", "cpi>+" + "1" * 99 + "%"):
        refused(FOLDER.call("compare", "-i", "no.data", "--fail-if", text), 2, "--fail-if", "'cpi>+3%'")
    for text, *words in [("cip>+3%", "have a metric 'cip'", "did you mean cpi?", "elapsed"),
                         ("sched:sched_switch>+3%", "have a metric 'sched:sched_switch'"),
                         ("Z:cpi>+3%", "phase 'Z' does not exist", "choose one from A to B"), ("A:cip>+3%", "did you mean cpi?"),
                         ("warm:cpi>+3%", "phase 'warm' does not exist")]:
        refused(FOLDER.call("compare", "main", "new", "--fail-if", text), 2, *words)
    refused(FOLDER.call("compare", "main", "new", "--no-phases", "--fail-if", "A:cpi>+3%"), 2, "no phases")
    refused(FOLDER.call("compare", "--inconclusive", "pass"), 2, "--inconclusive belongs to --fail-if")


# --- output -----------------------------------------------------------------------------------


def test_formats():
    """text begins with the answer, which Markdown and JSON have too; JSON has the failed limits; CSV has the rows"""
    answer = " ".join(compare("main", "new").stdout.split("\n\n")[0].split())
    assert re.match("new possibly takes 1[0-9]* % more time than main ", answer), answer
    assert answer.endswith("; a verdict needs more runs per side."), answer
    found = json.loads(compare("main", "new", "--format", "json", "--fail-if", "elapsed>+5%", "--fail-if",
                               "A:cpi<-50%", status=3).stdout)
    assert found["answer"] + "." == answer, found["answer"]
    assert [(row["limit"], row["label"], row["name"], row["decision"]) for row in found["limits"]] == [
        ("elapsed>+5%", None, "elapsed", "fails"), ("A:cpi<-50%", "A", "cpi", "holds")], found["limits"]
    assert found["answer"] in compare("main", "new", "--format", "markdown").stdout.split("\n")[0]
    rows = list(csv.DictReader(io.StringIO(compare("main", "new", "--format", "csv").stdout)))
    assert (rows[0]["verdict"], rows[0]["reason"]) == ("perhaps more", "too few runs"), rows[0]
    assert float(rows[0]["p_corrected"]) < 0.05, rows[0]
    assert "possibly higher" in compare("main", "new").stdout
    assert [(row["label"], row["name"]) for row in rows] == [
        (row["label"] or "", row["name"]) for row in found["changes"]]
    assert {row["label"] for row in rows} == {"", "A", "B"}, rows
    assert not json.loads(compare("--format", "json").stdout)["limits"]


def test_options():
    """--level, --no-phases, --no-samples and --all have their effect"""
    def labels(*options):
        found = json.loads(compare("main", "new", "--format", "json", *options).stdout)
        return [row["label"] for row in found["rows"]]
    assert labels("--no-phases") == [None]
    assert labels("--level", "1", "--no-samples") == [None, "A"]
    assert labels() == [None, "A", "B"]
    refused(FOLDER.call("compare", "--level", "x"), 2, "--level")
    assert len(compare("main", "new", "--all").stdout) > len(compare("main", "new").stdout)


def test_files():
    """-o writes text, or a picture or page according to the file's ending; after an error there is no file"""
    compare("main", "new", "--no-phases", "-o", "answer.txt")
    for ending, form in [("csv", "csv"), ("json", "json"), ("md", "markdown")]:
        compare("main", "new", "--no-phases", "-o", "by." + ending)
        assert FOLDER.read("by." + ending).decode() == compare("main", "new", "--no-phases", "--format", form).stdout, ending
    assert FOLDER.read("answer.txt").decode() == compare("main", "new", "--no-phases").stdout
    for name, begin in [("c.png", b"\x89PNG"), ("c.svg", b"<?xml"), ("c.pdf", b"%PDF"), ("c.html", b"<!DOCTYPE html>"), ("c.SVG", b"<?xml")]:
        answer = compare("main", "4", "-o", name, "--metric", "cpi,dc_miss_ratio", "--theme", "dark",
                         "--fail-if", "elapsed>+5%", status=3)
        assert not answer.stdout and FOLDER.read(name).lower().startswith(begin.lower()), name
    compare("1", "4", "-o", "s.png", "--size", "640x480", "--keep-script", "kept")
    assert FOLDER.read("s.png")[16:24] == bytes([0, 0, 2, 128, 0, 0, 1, 224]) and os.listdir(FOLDER / "kept")
    refused(FOLDER.call("compare", "1", "4", "-o", "no.png", "--metric", "cip"), 2, "cip")
    for options, *words in [(["--theme", "dark"], "--theme applies to pictures", "-o"),
                            (["--metric", "cpi", "-o", "x.txt"], "--metric applies to pictures"),
                            (["-o", "x.png", "--format", "csv"], "x.png is a picture"), 
                            (["-o", "x.png", "--size", "9x9"], "--size"), (["--format", "classic"], "markdown"),
                            (["-i", "other.data", "-i", "rpistat.data", "-o", "rpistat.data"], "is also the input")]:
        refused(FOLDER.call("compare", "1", "4", *options), 2, *words)
    assert not [name for name in os.listdir(FOLDER.path) if name.startswith(("x.", "no."))]


def test_configuration():
    """the configuration may name another store, and its options for pictures do not affect text"""
    os.mkdir(FOLDER / "rpistat")
    FOLDER.write("rpistat/config", "theme = dark\n[compare]\nundecided = pass\ninput = other.data\n")
    env = environment(XDG_CONFIG_HOME=FOLDER.path)
    refused(FOLDER.call("compare", env=env), 1, "other.data", "has only one run")
    expect(FOLDER.call("compare", "-i", "rpistat.data", env=env), 0)
    env["RPISTAT_STORE"] = FOLDER / "no.data"
    refused(FOLDER.call("compare", env=env), 1, "no.data")


def test_unchanged():
    """the store is read but not changed"""
    def content():
        with sqlite3.connect(FOLDER / "rpistat.data") as store:
            return list(store.iterdump())
    before = content()
    compare("main", "new", "-o", "answer.txt")
    assert content() == before


def test_job():
    """the job in examples/ci-compare.yml: it runs both programs alternately, and leaves the expected files and status"""
    def steps(*arguments, **variables):
        return subprocess.run(["sh", os.path.join(tap.root(), "examples", "ci-compare.sh"), *arguments], text=True,
                              cwd=folder.path, env=environment(RPISTAT=RPISTAT, ROUNDS="6", **variables),
                              capture_output=True, check=False, timeout=TIMEOUT)
    counting()
    with open(os.path.join(tap.root(), "examples", "ci-compare.yml"), encoding="utf-8") as file:
        job = file.read()
    calls = re.findall("run: sh examples/ci-compare.sh (.*)", job)
    assert [call.split()[0] for call in calls] == ["build", "compare"], calls
    with Folder() as folder:
        for command in calls[1].split()[1:]:
            assert not command.startswith("-") and command.endswith("build/examples/naive"), command
        # six rounds, so that a delay of half a second in two of them leaves the limit's result
        answer = steps("compare", "sleep .2", "sleep 1.6", GITHUB_STEP_SUMMARY=folder / "summary",
                       LIMITS=re.search("LIMITS: (.*)", job).group(1))
        assert answer.returncode == 3 and "'elapsed>+5%' fails" in answer.stderr, answer
        assert folder.read("summary") == folder.read("compare/compare.md") and folder.read("summary").startswith(b"### ")
        assert b"<html" in folder.read("compare/compare.html")
        labels = [run["label"] for run in json.loads(expect(
            folder.call("runs", "-i", "compare/rpistat.data", "--format", "json"), 0).stdout)["runs"]]
        assert labels == ["old", "new"] * 6, labels
        assert steps("compare", "true", "true").returncode == 1, "what was there is compared too"
        expect(steps(), 2)
    with Folder() as folder:
        expect(steps("compare", "sleep .02", "sleep .02", LIMITS="elapsed>+99900%"), 0)
        assert folder.read("compare/compare.md")


# --- history ----------------------------------------------------------------------------------


def make_history(folder):
    """Runs 1 to 7 have commit=old, 8 to 14 commit=new and take 6 % longer; 4 is slow; others are of another label."""
    for run in range(1, 17):
        seconds = 9 if run == 4 else (4.24 if 7 < run < 15 else 4) + run % 3 * .02
        folder.write("script.sim", "seed %d\nnoise 3%%\nphase a %ss instructions=200M\n" % (run, seconds))
        folder.record("-q", "--label", "main" if run < 15 else "few%d" % run, "--tag", "odd=%d" % (run % 2),
                      *(["--tag", "commit=%s" % ("new" if run > 7 else "old")] if run < 15 else []))


def test_drift():
    """a drift of 100 % and more is a number without exponent"""
    with Folder(runs=0) as folder:
        for run in range(12):
            folder.write("drift.sim", "phase work %dms\n" % (1000 * 1.1**run))
            expect(folder.call("record", "-q", "--pmu", "sim:drift.sim", "--label", "main"), 0)
        answer = json.loads(expect(folder.call("history", "main", "elapsed", "--format", "json"), 0).stdout)["answer"]
        assert re.fullmatch(r"No run with a change was found, but Elapsed drifts by about \+1\d\d % in 12 runs", answer), answer


def test_history():
    """history: the levels, the outlier, limits, selections, the picture, and what it refuses"""
    with Folder() as folder:
        make_history(folder)

        def history(*arguments, status=0):
            return json.loads(expect(folder.call("history", *arguments, "--format", "json"), status).stdout)

        found = history("main", "elapsed", "cpi")
        assert [(row["name"], row["run"], row["level_runs"], row["tags_changed"]) for row in found["levels"]] == [
            ("elapsed", 1, 6, "odd=1 commit=old"), ("elapsed", 8, 7, "odd=0 commit=new"), ("cpi", 1, 14, "odd=1 commit=old")], found
        level = found["levels"][1]
        assert .05 < level["change_low"] < level["change"] < level["change_high"] < .07 and level["p_corrected"] < 1e-3, level
        assert [row["run"] for row in found["outliers"]] == [4] and len(found["runs"]) == 14, found
        for selection in ("commit", "1-14", "odd=0,odd=1", "main"):
            assert history(selection, "elapsed")["levels"][-1]["run"] == 8, selection
        assert history("commit=new", "elapsed")["levels"][0]["found_change"] is None, "7 runs are too few"
        unchanged = history("main", "cpi", "--fail-if", "cpi<-90%")
        found_change, low = unchanged["levels"][0]["found_change"], unchanged["limits"][0]["change_low"]
        assert 0 < found_change < .1 and abs((1 + low) * (1 + found_change) - 1) < 1e-6, unchanged
        assert unchanged["levels"][0]["drift"] is None, unchanged
        assert level["p"] <= level["p_corrected"] and "Since run 8" in found["answer"], found
        with contextlib.closing(sqlite3.connect(folder / "rpistat.data")) as store, store:
            store.execute("UPDATE run SET kernel = '7.0' WHERE run_id > 7")
            store.execute("UPDATE run SET tags = json_set(tags, '$.note', 'x') WHERE run_id = 12")
        noted = history("main", "elapsed")
        assert noted["levels"][-1]["run"] == 8 and "7.0 of run 8" in noted["remarks"][0], noted
        for limit, status in (("elapsed>+3%", 3), ("elapsed>+9%", 0), ("elapsed>+6%", 4), ("cpi>+90%", 0), ("cpi>+0.1%", 4)):
            assert history("main", "--fail-if", limit, status=status)["limits"][0]["limit"] == limit
        assert not history("1-3")["outliers"] and "too few" in history("1-3")["answer"]
        assert len(expect(folder.call("history", "main", "--format", "csv"), 0).stdout.splitlines()) == 15
        for arguments, status, words in [(["man"], 1, ["main"]), (["comit"], 1, ["did you mean commit?"]), (["few15"], 1, ["1 run ended"]), (["main", "elaps"], 2, ["elapsed"]),
                                         (["main", "--fail-if", "x>+3%"], 2, ["elapsed"]), ([], 2, ["label"])]:
            refused(folder.call("history", *arguments), status, *words)
        if shutil.which("gnuplot"):
            expect(folder.call("history", "main", "-o", "history.svg"), 0)
            with open(folder / "history.svg", encoding="utf-8") as file:
                picture = file.read()
            assert "Elapsed (s)" in picture and "+6" in picture, picture[:2000]
        answer = expect(folder.call("history", "main", "-o", "history.html"), 0)
        with open(folder / "history.html", encoding="utf-8") as file:
            assert (file.read().count("<svg") == 1) == (shutil.which("gnuplot") is not None), answer.stderr
        answer = expect(folder.call("history", "main", "-o", "bare.html", env=environment(PATH="/nonexistent")), 0)
        with open(folder / "bare.html", encoding="utf-8") as file:
            assert "<svg" not in file.read() and "the page has no picture: " in answer.stderr, answer.stderr


def test_history_copies():
    """history: a copy that merge stored is neither a run nor a new tag; a drift is in JSON, and has no run with a change"""
    with Folder() as folder:
        for run in range(12):
            folder.write("script.sim", "seed %d\nnoise 1%%\nphase a %ss instructions=200M\n" % (run + 1, 4 + .3 * run))
            folder.record("-q", "--label", "main", "--tag", "commit=%d" % (run // 4))
        shutil.copy(folder / "rpistat.data", folder / "other.data")
        ask_store(folder / "other.data", "UPDATE run SET cpu_model = 'x' WHERE run_id IN (5, 6)")
        for name in ("rpistat.data", "other.data"):
            expect(folder.call("merge", name, "-i", "both.data"), 0)

        def history(store, *arguments):
            return json.loads(expect(folder.call("history", "-i", store, *arguments, "--format", "json"), 0).stdout)

        assert len(history("both.data", "label:main", "elapsed")["runs"]) == 12
        assert history("both.data", "main") == history("rpistat.data", "main")
        assert "2 copies of other runs" in expect(folder.call("history", "-i", "both.data", "main"), 0).stdout
        copy, = history("both.data", "13,1", "elapsed")["runs"][1:]
        assert copy["tags_changed"] == "commit=1", copy
        ask_store(folder / "rpistat.data", "UPDATE run SET tags = '{}'")
        level, = history("rpistat.data", "main", "elapsed")["levels"]
        assert .75 < level["drift"] < .88, level  # 4 to 7.3 s, of which a line through the logarithms has 81 %



prepare()
try:
    tap.main([test_runs, test_drift, test_history, test_history_copies, test_against, test_stores, test_no_such_run, test_recording, test_limits,
              test_negative, test_outlier, test_many_runs, test_undecided, test_one_a_side, test_limit_names, test_formats, test_options, test_files, test_configuration,
              test_unchanged, test_job])
finally:
    FOLDER.__exit__()
