"""Input made by an attacker: a store in which each text is an attack, absurd sizes, links in /tmp.

Nothing in it is executed (each payload would make the file `canary`), nothing of it reaches the
terminal as control characters, and whatever is written is still what its name says.
"""
import concurrent.futures
import contextlib
import csv
import ctypes
import gzip
import html.parser
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import xml.etree.ElementTree

from program import (RPISTAT, SCRIPT, Folder, Recording, counting, environment, expect, refused,
                     tap)

PAYLOADS = {
    "shell": ["`touch canary`", "$(touch canary)", "| touch canary", "; touch canary #"],
    "gnuplot": ["\nEND\nsystem(\"touch canary\")\n", "\"; system(\"touch canary\"); \"",
                "' . system('touch canary') . '", "@canary {/Symbol a}_{b}^{c} \\U+0041 %s%n%1$d",
                "\\\n!touch canary\n", "`touch canary`\"\\"],
    "terminal": ["\x1b]52;c;Y2FuYXJ5\x07", "\x1b[2J\x1b[31mred", "\u009b31m\u009d0;x\u009c",
                 "\u202egnp.exe", "\u2066a\u2069", "\u200f\u061c", "a\rb\bc\x7f", "x\u2028y\u2029z",
                 "\ufffe\uffff",
                 b"\x9b31m\x9d52;c;QQ==\x9c", b"\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80\xff"],
    "sheet": ["=cmd|' /C touch canary'!A1", "+1+cmd|' /C x'!A1", "-2+3+cmd|' /C x'!A1",
              "@SUM(1+1)*cmd|' /C x'!A1", "\t=1+1", "\r=1+1", "'); DROP TABLE run; --",
              "\",=1+1,\"", "a\n=1+1", "; =1+1", " =1+1"],
    "markup": ["</script><script>alert(1)</script>", "<!--<script>", "]]><x onload='a()'/>",
               "<img src=x onerror=alert(1)>", "\" onload=\"alert(1)", "&lt;&amp;&#0;&bogus;",
               "\u2028alert(1)\u2029", "</title><body onload=alert(1)>", "\"}];alert(1);//",
               "(x) /JavaScript (app.alert)", "</text></svg><script/>", "&#x0;&#xZZ", "]]&#x3e;>"],
}

# Texts, and names that formulas and columns use.
TEXTS = {
    "run": ["label", "folder", "host", "cpu_model", "kernel", "architecture", "version", "target",
            "pmu", "fitting", "plan", "plan_title", "plan_explain", "clock_label", "clock_unit",
            "governor", "end_reason"],
    "event_set": ["name", "explain"],
    "event": ["spec", "label", "role", "unit", "family", "modifiers", "explain", "reason"],
    "metric": ["label", "unit", "family", "panel", "explain"],
    "detection": ["method", "parameters", "remark"],
    "mark": ["text"], "gap": ["reason"],
}

UPLOT = [pathlib.Path(tap.root(), "plot/uplot", name).read_text("utf-8") for name in ("uPlot.css", "uPlot.iife.js")]
CONTROL = re.compile("[\0-\t\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
GOOD = Folder(runs=1)


def as_text(payload):
    """The payload as an SQL expression, also for bytes that are not UTF-8."""
    data = payload if isinstance(payload, bytes) else payload.encode()
    return "CAST(x'%s' AS TEXT)" % data.hex()


def poison(folder, payloads, names=False, first=0):
    """Copy the good store into the folder, with a payload in each text, beginning at number `first`."""
    path = shutil.copy(GOOD / "rpistat.data", folder / "evil.data")
    store = sqlite3.connect(path)
    store.execute("INSERT INTO mark VALUES (1, 1000000000, 0, 'm'), (1, 12000000000, 0, 'm')")
    store.execute("INSERT INTO gap VALUES (1, 15000000000, 0, -1, 100000000, 'g')")
    number = first
    for table, columns in TEXTS.items():
        known = {row[1] for row in store.execute("PRAGMA table_info(%s)" % table)}
        for column in columns:
            if column not in known:
                continue
            payload = as_text(payloads[number % len(payloads)])
            number += 1
            store.execute("UPDATE %s SET %s = %s" % (table, column, payload))
    words = [p for p in payloads if isinstance(p, str)]
    store.execute("UPDATE run SET tags = ?, command = ?",
                  (json.dumps({p: p for p in words}), json.dumps(words)))
    if names:
        for table in ("event", "metric"):
            rows = store.execute("SELECT DISTINCT name FROM %s ORDER BY name" % table).fetchall()
            for i, (name,) in enumerate(rows):
                expression = as_text(payloads[i % len(payloads)])
                store.execute("UPDATE OR IGNORE %s SET name = %s || %d WHERE name = ?" % (
                    table, expression, i), (name,))
    store.commit()
    store.close()
    return path


def printable(answer, what):
    """Assert that the terminal got text without control characters."""
    for name, stream in (("stdout", answer.stdout), ("stderr", answer.stderr)):
        text = stream.decode("utf-8")  # raises an exception if it is not
        found = CONTROL.search(text)
        assert not found, "%s: %s has %r in %r" % (
            what, name, found.group(), text[max(0, found.start() - 40):found.end() + 20])


def run(folder, *arguments, may_fail=False):
    """Run a command on the attacker's store. Return its standard output as text."""
    answer = folder.call(*arguments, "-i", "evil.data", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=environment(LC_ALL="C.UTF-8"))
    answer.stdout, answer.stderr = answer.stdout.encode(), answer.stderr.encode()
    printable(answer, arguments)
    assert answer.returncode == 0 or may_fail, (arguments, answer)
    assert answer.returncode in (0, 1, 2), (arguments, answer.returncode)
    return answer.stdout.decode()


def check_sheet(text, what):
    """No cell of the table is a formula."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1, (what, [len(r) for r in rows])
    for cell in (cell for row in rows for cell in row):
        if cell[:1] in tuple("=+-@\t\r") and cell:
            float(cell)  # a number; otherwise this raises an exception


class Page(html.parser.HTMLParser):
    """The elements of a page and the code that they would run."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def check_page(path, good):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page(text)
    assert page.tags == good.tags and page.handlers == good.handlers, (page.tags, page.handlers)
    data = re.search(r"<script[^>]*json[^>]*>(.*?)</script>", text, re.S)
    json.loads(data.group(1))


def check_svg(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag.endswith("}svg")
    for element in root.iter():
        assert not element.tag.lower().endswith("script"), element
        assert not [key for key in element.attrib if key.startswith("on")], element.attrib


def check_pdf(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data.startswith(b"%PDF") and not re.search(rb"/JavaScript|/Launch|/OpenAction", data)


def test_store(name):
    good_page = GOOD / "good.html"
    if not os.path.exists(good_page):
        expect(GOOD.call("plot", "-o", good_page), 0)
    with open(good_page, encoding="utf-8") as file:
        page = Page(file.read())
    with Folder() as folder:
        for first in range(len(PAYLOADS[name])):  # each payload in each text where it can do harm
            poison(folder, PAYLOADS[name], first=first)
            if name == "terminal":
                run(folder, "runs")
                run(folder, "report", "--explain")
                run(folder, "check", may_fail=True)
                run(folder, "watch", "--once")
                json.loads(run(folder, "phases", "--pca", "--format", "json"))
            elif name == "markup":
                run(folder, "plot", "-o", "a.html")
                check_page(folder / "a.html", page)
                run(folder, "plot", "-o", "a.svg")
                check_svg(folder / "a.svg")
            elif name == "sheet":
                check_sheet(run(folder, "runs", "--format", "csv"), "runs")
                check_sheet(run(folder, "report", "--format", "csv"), "report")
            else:
                run(folder, "plot", "-o", "a.svg")
        run(folder, "phases", "--pca")
        for command in ("phases", "runs", "report"):
            check_sheet(run(folder, command, "--format", "csv"), command)
            json.loads(run(folder, command, "--format", "json"))
        for form in ("wide", "rates", "long"):
            check_sheet(run(folder, "export", "--format", form), form)
        run(folder, "plot", "-o", "-")
        thorough = name in ("gnuplot", "markup")
        for kind in ("time", "phases", "scatter", "heat", "pca") if thorough else ("phases",):
            run(folder, "plot", "--kind", kind, "-o", kind + ".svg")
            check_svg(folder / (kind + ".svg"))
        run(folder, "plot", "-o", "a.pdf")
        check_pdf(folder / "a.pdf")
        run(folder, "plot", "-o", "a.html")
        check_page(folder / "a.html", page)
        run(folder, "plot", "--keep-script", "kept", "-o", "a.png")
        subprocess.run(["sh", "kept/redraw.sh"], cwd=folder.path, check=True, capture_output=True)
        run(folder, "check", "--repair", "-o", "mended.data", may_fail=True)
        assert not canaries(folder.path), canaries(folder.path)


def canaries(path):
    return [os.path.join(at, "canary") for at, _, files in os.walk(path) if "canary" in files]


def test_names():
    """attacks in the names of events and metrics: an error message, or output that is safe"""
    for name, payloads in PAYLOADS.items():
        with Folder() as folder:
            poison(folder, payloads, names=True)
            for command in (["runs"], ["report"], ["phases"], ["watch", "--once"],
                            ["plot", "-o", "-"], ["check"]):
                run(folder, *command, may_fail=True)
            for form in ("wide", "rates", "long"):
                text = run(folder, "export", "--format", form, may_fail=True)
                if text:
                    check_sheet(text, (name, form))
            text = run(folder, "phases", "--format", "json", may_fail=True)
            assert not text or json.loads(text)
            run(folder, "plot", "-o", "a.html", may_fail=True)
            run(folder, "plot", "-o", "a.svg", may_fail=True)
            if os.path.exists(folder / "a.svg"):
                check_svg(folder / "a.svg")
            assert not canaries(folder.path)


# --- every text of the schema ----------------------------------------------------------------------

ESCAPES = "\x1b[31m%s\x07\u009b\u202e\r\nINJECTED\t<img src=x onerror=a()>[a](x)|`"
TAGS = set("html head meta title style body main h1 h2 p ul li div table tr th td details summary".split())
MARKDOWN = re.compile(r"(?<!\\)(<(?!!-- -->|/?details>|/?summary>)|\[|`)")  # the start of an element, a link or code
READERS = [
    ["runs"], ["report", "--explain"], ["report", "--format", "classic"], ["report", "--from", "5s"], ["phases"],
    ["phases", "--metric", "cpi"], ["code"], ["code", "A"], ["code", "--tree"],
    *(["code", "--by", by] for by in ("line", "module", "process", "thread")),
    ["compare", "1", "2", "--all"],
    *([*command, "--format", form] for command in (["runs"], ["report"], ["phases"], ["code"], ["compare", "1", "2"], ["check"])
      for form in ("json", "csv", "html", "markdown")),
    *(["export", "--format", form] for form in (
        "wide", "rates", "long", "long-rates", "full", "folded", "pprof", "perfetto", "openmetrics", "line-protocol",
        "jsonl")),
    ["code", "--by", "cgroup"], ["export", "--every", "5s"], ["watch", "--once"], ["plot", "-o", "-"], ["check"],
    ["check", "--repair", "-o", "new.data"], ["merge", "-o", "merged.data"], ["runs", "1", "--set-label", "x"],
    ["runs", "1", "--delete"]]
DRAWERS = [["plot", "-o", "a.html"], ["compare", "1", "2", "-o", "a.html"], ["plot", "-o", "a.svg"],
           *(["plot", "--kind", kind, "-o", "a.svg"] for kind in ("phases", "scatter", "heat", "pca")),
           ["plot", "--kind", "heat", "--code", "cgroup", "-o", "a.svg"]]


def texts(store):
    """Each text column of each table."""
    return store.execute("SELECT m.name, c.name FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c"
                         " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND c.type = 'TEXT'"
                         " ORDER BY 1, 2").fetchall()


def escaped(folder, columns, also=""):
    """A copy of the store with an escape sequence after each text of these columns."""
    shutil.copy(folder / "all.data", folder / "evil.data")
    with contextlib.closing(sqlite3.connect(folder / "evil.data")) as store, store:
        store.execute("PRAGMA ignore_check_constraints = ON")
        for table, column in columns:
            store.execute("UPDATE OR IGNORE %s SET %s = coalesce(%s, '') || ?" % (table, column, column),
                          (ESCAPES % column,))
        store.executescript(also)
    for name in ("new.data", "merged.data"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(folder / name)


def unharmed(folder, command, columns):
    """Run a command on the store. Assert that its output has nothing that a terminal obeys, or that begins a line."""
    command = [*command, "evil.data"] if command[0] == "merge" else [*command, "-i", "evil.data"]
    answer = subprocess.run([RPISTAT, *command], cwd=folder.path, env=environment(LC_ALL="C.UTF-8"),
                            capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=300)
    assert answer.returncode in (0, 1, 2), (command, answer)
    outputs = [answer.stdout, answer.stderr]
    for name in {"a.html", "a.svg"} & set(command):
        if answer.returncode == 0:
            outputs.append(folder.read(name))
    for data in outputs:
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        if "pprof" in command:  # numbers next to texts, which tools print unchanged
            assert b"\x1b[31m" not in data, (command, columns)
            continue
        text = data.decode()  # raises an exception if it is not
        if "a.svg" in command:
            text = text.replace("\t", " ")  # gnuplot's own tabs
        for part in UPLOT:  # its source is indented with tabs
            text = text.replace(part, "")
        found = CONTROL.search(text) or re.search(r"^INJECTED", text, re.M)
        if "markdown" in command and data is answer.stdout:
            found = found or MARKDOWN.search(text)
        assert not found, (command, columns, text[max(0, found.start() - 60):found.end() + 30])
        if "html" in command and data is answer.stdout:
            page = Page(text)
            assert set(page.tags) <= TAGS and not page.handlers, (command, columns, page.tags, page.handlers)
    return answer


def test_every_text():
    """an escape sequence in each text of each table: no command and no format writes it unchanged"""
    with Folder() as folder:
        folder.write("all.sim", SCRIPT.replace("phase", "task t 7 cgroup=/c\nfunction f 0x1000 0x10\nphase", 1)
                     .replace("10s", "10s wait=10% code=f"))
        for label in ("a", "b"):
            folder.record("-q", "--pmu", "sim:all.sim", "--label", label, "--tag", "a=b", "-o", "all.data")
            expect(folder.call("phases", "-i", "all.data"), 0)
        with contextlib.closing(sqlite3.connect(folder / "all.data")) as store, store:
            for table in ("program VALUES (?, 0, 'p', 9000000000, 0, 9000000000, 9, 9, 9)",
                          "mark VALUES (?, 1000000000, 0, 'm')", "gap VALUES (?, 15000000000, 0, -1, 100000000, 'g')",
                          "heartbeat VALUES (?, 0, 'boot', 1)"):
                store.executemany("INSERT INTO " + table, [(1,), (2,)])
            columns = texts(store)
            assert len(columns) > 50
            for table, column in columns:
                assert store.execute("SELECT count(*) FROM " + table).fetchone()[0] > 0, table
        # a text that changes the set of figures, or is refused, would hide others, so it is tested
        # alone
        def known(answer):
            return answer.returncode == 0 and [(row["kind"], row["value"]) for row in json.loads(answer.stdout)["figures"]]
        look = ["report", "--format", "json"]
        wanted = known(folder.call(*look, "-i", "all.data"))
        alone = []
        for one in columns:
            escaped(folder, [one])
            if known(unharmed(folder, look, one)) != wanted:
                alone.append(one)
        together = [one for one in columns if one not in alone]
        assert len(together) > len(alone) > 0, alone
        print("#", len(together), "together;", *(".".join(one) for one in alone))
        for group, also in ((together, ""), (together, "UPDATE event SET type = 1"),  # software: a table
                            (together, "UPDATE run SET state = 'recording'"), *(([one], "") for one in alone)):
            escaped(folder, group, also)
            for command in (DRAWERS if group is together and not also else []) + READERS:  # the last command deletes
                unharmed(folder, command, also if group is together else group)


def test_arguments():
    """labels, tags, columns and file names with escapes: messages without them"""
    with Folder() as folder:
        for text in ("\x1b]52;c;QQ==\x07", "\u009b31m", "a\nrpistat: b", "\u202ex", b"\x9b31m"):
            for arguments in (["report", "-i"], ["report", "-r"], ["plot", "-o"], ["record", "-e"],
                              ["record", "--pmu"], ["phases", "--csv"], ["record", "--control"],
                              ["events", "--sets"], []):
                answer = subprocess.run([RPISTAT, *arguments, text], cwd=folder.path,
                                        env=environment(LC_ALL="C.UTF-8"), capture_output=True,
                                        check=False, stdin=subprocess.DEVNULL, timeout=300)
                assert answer.returncode != 0
                printable(answer, (arguments, text))
                assert answer.stderr.count(b"\n") == 1, answer.stderr


# --- sizes ---------------------------------------------------------------------------------------

SECONDS, BYTES = 5, 256 << 20


def measured(folder, *arguments):
    """Run with limits of CPU time and memory. Assert that there is an answer, and return it."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    process = subprocess.Popen([RPISTAT, *arguments], cwd=folder.path, env=environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, preexec_fn=limit)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert os.WIFEXITED(status), "%s: signal %d" % (arguments, os.WTERMSIG(status))
    assert usage.ru_maxrss * 1024 < BYTES, "%s: %d KiB" % (arguments, usage.ru_maxrss)
    assert os.WEXITSTATUS(status) in (0, 1, 2)
    if os.WEXITSTATUS(status):
        assert said.startswith(b"rpistat: ") and said.count(b"\n") == 1 and len(said) < 1000, said
    return os.WEXITSTATUS(status), said.decode()


def refused_by(folder, word, *arguments):
    status, said = measured(folder, *arguments)
    assert status and word in said, (arguments[:3], status, said)


def table(columns, rows):
    head = ",".join("c%d" % i for i in range(columns))
    return "\n".join([head] + [",".join(str(i * r % 7) for i in range(columns))
                               for r in range(rows)]) + "\n"


def test_tables():
    """CSV: 10,000 columns, huge numbers, a line of 100 MB, devices"""
    with Folder() as folder:
        folder.write("wide.csv", table(10000, 100))
        assert measured(folder, "phases", "--csv", "wide.csv")[0] == 0
        folder.write("huge.csv", "a,b\n" + "".join("%d,%d\n" % (2**63 + i, -2**63)
                                                  for i in range(500)) + "1e400," + "9" * 300 + "\n")
        measured(folder, "phases", "--csv", "huge.csv")
        folder.write("line.csv", "a,b\n1," + "x" * 100000000)
        refused_by(folder, "check its quotes", "phases", "--csv", "line.csv")
        folder.write("cells.csv", "1,2," * 25000000)
        refused_by(folder, "columns", "phases", "--csv", "cells.csv")
        os.remove(folder / "line.csv")
        os.remove(folder / "cells.csv")
        refused_by(folder, "/dev/zero has a NUL byte and is not a text file", "phases", "--csv", "/dev/zero")


def test_documents():
    """set documents with 10,000 sections or none; formulas with 100,000 levels; scripts without an end"""
    with Folder() as folder:
        plan = "[plan]\nname = x\n"
        event = "[event e%d]\nevent = r%x\nlabel = e%d\n"
        for name, text in [
                ("events", "".join(event % (i, i & 255, i) for i in range(10000))),
                ("sets", event % (0, 1, 0) + "".join(
                    "[set s%d]\nevents = e0\n" % i for i in range(10000))),
                ("metrics", event % (0, 1, 0) + "[set s]\nevents = e0\n" + "".join(
                    "[metric m%d]\nformula = e0 / clock\nlabel = m\n" % i for i in range(10000))),
                ("formula", "[metric m]\nformula =\n" + "   ((((((((\n" * 12500)]:
            folder.write(name + ".ini", plan + text)
            status, said = measured(folder, "events", "--sets", "./%s.ini" % name)
            assert name == "metrics" or (status and name + ".ini" in said), (name, status, said)
        refused_by(folder, "larger than", "events", "--sets", "/dev/zero")
        refused_by(folder, "not a text file", "record", "--pmu", "sim:/dev/zero")
        folder.write("long.sim", "x" * 100000000)
        refused_by(folder, "longer than", "record", "--pmu", "sim:long.sim")


def test_long_arguments():
    """arguments of 100 kB: the message still ends with what to do"""
    deep = "(" * 60000 + "1"
    with Folder() as folder:
        refused_by(folder, "longer than 511", "record", "--pmu", "sim:script.sim", "--metric",
                   deep)
        refused_by(folder, "at most 255", "record", "--pmu", "sim:script.sim", "--label",
                   "x" * 100000)
        refused_by(folder, "too long", "report", "-i", GOOD / "rpistat.data", "-o",
                   "x" * 100000)
        refused_by(folder, "not counted per CPU", "export", "-i", GOOD / "rpistat.data", "--cpu", "0-65535")


# --- links, pipes and files of somebody else ----------------------------------------------------

OTHER = 65534


class Planted(Folder):
    """A folder that another user may write to, with a file that this user would like to have overwritten."""

    def __init__(self, mode=0o1777, owner=0):
        super().__init__()
        self.mode, self.owner = mode, owner

    def __enter__(self):
        if os.geteuid() != 0:
            raise tap.Skip("only root can make another user's files")
        super().__enter__()
        os.chmod(self.path, self.mode)
        os.chown(self.path, self.owner, self.owner)
        self.private = tempfile.mkdtemp(prefix="rpistat-victim-")
        self.victim = os.path.join(self.private, "victim")
        with open(self.victim, "w", encoding="ascii") as file:
            file.write("as it was")
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.private, ignore_errors=True)
        return super().__exit__(*unused)

    def link(self, name, target=None, owner=OTHER):
        if os.path.lexists(self / name):
            os.remove(self / name)
        os.symlink(target or self.victim, self / name)
        os.lchown(self / name, owner, owner)

    def unharmed(self):
        with open(self.victim, encoding="ascii") as file:
            assert file.read() == "as it was"
        assert os.listdir(self.private) == ["victim"], os.listdir(self.private)


# Kinds of folders: one's own (the link was moved there), another user's, and those in which
# everybody may create files.
FOLDERS = {"one's own": (0o755, 0), "another user's": (0o755, OTHER), "0777": (0o777, 0),
           "like /tmp": (0o1777, 0)}
RECORD = ["record", "--pmu", "sim:script.sim"]


def test_links():
    """another user's links in four kinds of folder: nothing is written through them"""
    store = GOOD / "rpistat.data"
    for kind, place in FOLDERS.items():
        with Planted(*place) as folder:
            for name, options in [("r.txt", ["report"]), ("e.csv", ["export"]), ("p.png", ["plot"]),
                                  ("p.html", ["plot"]), ("runs.txt", ["runs"])]:
                folder.link(name)
                refused(folder.call(*options, "-i", store, "-o", name), 1, "another user", name)
            folder.link("rpistat.png")
            refused(folder.call("plot", "-i", store), 1, "another user", "rpistat.png")
            folder.link("new.txt", os.path.join(folder.private, "new"))
            refused(folder.call("report", "-i", store, "-o", "new.txt"), 1, "another user")
            os.symlink("r.txt", folder / "own")  # our link, which leads to theirs
            refused(folder.call("report", "-i", store, "-o", "own"), 1, "another user")
            refused(folder.call("check", "--repair", "-i", store, "-o", "own"), 1)
            folder.unharmed()
            for owner in {0, folder.owner}:  # links in the path
                folder.link("folder", folder.private, owner)
                expect(folder.call("report", "-i", store, "-o", "folder/new"), 0)
                os.remove(os.path.join(folder.private, "new"))
            if kind != "another user's":
                folder.link("folder", folder.private)
                refused(folder.call("report", "-i", store, "-o", "folder/new"), 1, "another user")
                refused(folder.call("plot", "-i", store, "-o", "folder/a.png"), 1, "another user")
            folder.unharmed()


def test_report_links():
    r"""the report of a recording has a default name, and is not written through another user's link"""
    for place in FOLDERS.values():
        with Planted(*place) as folder:
            for target in folder.victim, os.path.join(folder.private, "new"):
                folder.link("rpistat.txt", target)
                refused(folder.call(*RECORD), 1, "another user", "rpistat.txt")
                assert not os.path.exists(folder / "rpistat.data")
            os.remove(folder / "rpistat.txt")
            folder.unharmed()
            # created during the recording
            plant = "ln -s $1 rpistat.txt && chown -h %d rpistat.txt" % OTHER
            answer = folder.call(*counting(), "sh", "-c", plant, "sh", folder.victim)
            assert answer.returncode == 0 and "another user" in answer.stderr, answer
            folder.unharmed()
            # another hard link to one's own file, as older versions of Linux let everybody create
            os.remove(folder / "rpistat.txt")
            os.link(folder.victim, folder / "rpistat.txt")
            expect(folder.call(*RECORD), 0)
            assert b"periods" in folder.read("rpistat.txt")
            folder.unharmed()
            # one's own link is followed
            folder.link("rpistat.txt", owner=0)
            expect(folder.call(*RECORD), 0)
            with open(folder.victim, encoding="ascii") as file:
                assert "periods" in file.read()


def test_store_links():
    """a store is not created where another user's link leads, even if nothing is there yet"""
    for place in FOLDERS.values():
        with Planted(*place) as folder:
            new = os.path.join(folder.private, "new")
            folder.link("rpistat.data", new)
            refused(folder.call(*RECORD), 1, "another user", "rpistat.data")
            folder.link("new.data", new)
            refused(folder.call(*RECORD, "-o", "new.data"), 1, "another user", "new.data")
            folder.unharmed()
            shutil.copy(GOOD / "rpistat.data", new)
            before = os.stat(new)
            refused(folder.call(*RECORD), 1, "another user", "rpistat.data")
            assert os.stat(new).st_mtime_ns == before.st_mtime_ns
            refused(folder.call("report"), 1, "denied")  # the access is denied to this user
            # one's own links are followed, in another user's folder as far as this user may
            folder.link("rpistat.data", os.path.join(folder.private, "mine.data"), owner=0)
            if folder.owner == OTHER:
                refused(folder.call(*RECORD), 1, "denied")
                continue
            expect(folder.call(*RECORD), 0)
            assert os.path.exists(os.path.join(folder.private, "mine.data"))


def test_store_companions():
    """a store and its log, journal and shared memory in a folder like /tmp may not be another user's"""
    with Planted() as folder:
        for end in ("-wal", "-shm", "-journal"):
            folder.link("a.data" + end)
            refused(folder.call(*RECORD, "-o", "a.data"), 1, "another user")
            assert not os.path.exists(folder / "a.data")
            os.remove(folder / ("a.data" + end))
            folder.write("a.data" + end, "")
            os.chown(folder / ("a.data" + end), OTHER, OTHER)
            refused(folder.call(*RECORD, "-o", "a.data"), 1, "another user")
            assert not os.path.exists(folder / "a.data")
            os.remove(folder / ("a.data" + end))
        folder.write("theirs.data", "")
        os.chown(folder / "theirs.data", OTHER, OTHER)
        refused(folder.call(*RECORD, "-o", "theirs.data"), 1, "another user")
        folder.write("b.txt", "theirs")
        os.chown(folder / "b.txt", OTHER, OTHER)
        refused(folder.call(*RECORD, "-o", "b.data"), 1, "another user")
        folder.unharmed()


def test_control_links():
    """--control: refused if it is a link, another user's pipe, a regular file or a device"""
    with Planted() as folder:
        folder.link("control")
        refused(folder.call("--control", "fifo:control", "true"), 1, "another user")
        os.mkfifo(folder / "pipe")
        os.chown(folder / "pipe", OTHER, OTHER)
        refused(folder.call("--control", "fifo:pipe", "true"), 1, "another user")
        folder.write("file", "x")
        refused(folder.call("--control", "fifo:file", "true"), 1, "not a named pipe")
        refused(folder.call("--control", "fifo:/dev/null", "true"), 1, "not a named pipe")
        folder.unharmed()


def test_kept_folder():
    """plot --keep-script: not into another user's folder, nor through links in one's own"""
    with Planted() as folder:
        draw = ["plot", "-i", GOOD / "rpistat.data", "-o", "p.png", "--keep-script"]
        os.mkdir(folder / "theirs")
        os.chown(folder / "theirs", OTHER, OTHER)
        refused(folder.call(*draw, "theirs"), 1, "a directory of your own")
        os.mkdir(folder / "open")
        os.chmod(folder / "open", 0o777)
        refused(folder.call(*draw, "open"), 1, "a directory of your own")
        for name in ("figure.gp", "panels.gp", "text.gp", "draw.gp", "redraw.sh", "gnuplot.log"):
            os.mkdir(folder / ("own-" + name))
            folder.link(os.path.join("own-" + name, name))
            answer = folder.call(*draw, "own-" + name)
            assert answer.returncode == 1, (name, answer)
        folder.unharmed()


def test_gnuplot_start():
    """a start-up file of gnuplot is not run"""
    with Folder() as folder:
        os.mkdir(folder / "gnuplot")
        for name in (".gnuplot", "gnuplot/gnuplotrc"):
            folder.write(name, "system('touch %s')\n" % (folder / "canary"))
        expect(folder.call("plot", "-i", GOOD / "rpistat.data", "-o", "p.svg",
                           env=environment(HOME=folder.path, XDG_CONFIG_HOME=folder.path)), 0)
        assert not canaries(folder.path)


def test_pipes():
    """a pipe or a device instead of a store does not block a command"""
    with Folder() as folder:
        os.mkfifo(folder / "pipe")
        for path in ("pipe", "/dev/zero", "/dev/null"):
            for command in (["report"], ["check"], ["plot", "-o", "a.png"]):
                refused(folder.call(*command, "-i", path), 1)
            refused(folder.call("record", "--pmu", "sim:script.sim", "-o", path), 1)


def test_companions():
    """pipes, links and folders with the names of a store's log, journal and shared memory"""
    with Folder() as folder:
        shutil.copy(GOOD / "rpistat.data", folder / "s.data")
        folder.write("victim", "mine")
        for end in ("-wal", "-journal", "-shm"):
            name = folder / ("s.data" + end)
            for make, word in [(os.mkfifo, "named pipe"), (os.mkdir, "directory"),
                               (lambda name: os.symlink("victim", name), "symbolic link"),
                               (lambda name: os.link(folder / "victim", name), "2 hard links")]:
                make(name)
                for command in (["report"], ["runs"], ["check"], ["plot", "-o", "a.png"],
                                ["export"], ["phases"]):
                    refused(folder.call(*command, "-i", "s.data"), 1, word)
                refused(folder.call("record", "--pmu", "sim:script.sim", "-o", "s.data"), 1, word)
                assert os.path.lexists(name), name
                (os.rmdir if word == "directory" else os.remove)(name)
        assert folder.read("victim") == b"mine"
        expect(folder.call("report", "-i", "s.data"), 0)


def test_hidden_functions():
    """tables with the names of SQLite's functions, which hide endless views"""
    with Folder() as folder:
        for name in ("pragma_table_list", "pragma_table_xinfo", "json_each"):
            shutil.copy(GOOD / "rpistat.data", folder / "s.data")
            store = sqlite3.connect(folder / "s.data")
            with store:
                store.execute("DROP TABLE mark")
                store.execute("CREATE VIEW mark AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL"
                              " SELECT i + 1 FROM n) SELECT 1 AS run_id, max(i) AS mark_no,"
                              " max(i) AS time_ns, 'x' AS text FROM n")
                store.execute("CREATE TABLE %s (schema, name, type, hidden, key, value, id)" % name)
            store.close()
            for command in (["report"], ["runs"], ["check"], ["plot", "-o", "a.png"]):
                refused(folder.call(*command, "-i", "s.data"), 1, "not as rpistat made")


def test_locked():
    """a store that another program keeps locked: each command reports it"""
    with Folder() as folder:
        shutil.copy(GOOD / "rpistat.data", folder / "s.data")
        store = sqlite3.connect(folder / "s.data", isolation_level=None)
        store.execute("PRAGMA locking_mode = EXCLUSIVE")
        store.execute("BEGIN EXCLUSIVE")
        commands = [["report"], ["runs"], ["check"], ["plot", "-o", "a.png"], ["export"],
                    ["phases"]]
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:  # each waits 5 s
            for answer in pool.map(lambda command: folder.call(*command, "-i", "s.data"), commands):
                refused(answer, 1, "locked by another program")
        store.close()


def test_read_only():
    """another user's store in a read-only folder is read and left unchanged"""
    with Folder() as folder:
        shutil.copy(GOOD / "rpistat.data", folder / "theirs.data")
        before = folder.read("theirs.data")
        copy = shutil.copy(RPISTAT, folder / "rpistat")
        os.chmod(folder.path, 0o555)
        user = {"user": OTHER, "group": OTHER, "extra_groups": []} if os.geteuid() == 0 else {}
        answer = subprocess.run([copy, "report", "-i", "theirs.data"], cwd=folder.path, text=True,
                                env=environment(), capture_output=True, check=False, **user)
        expect(answer, 0)
        os.chmod(folder.path, 0o755)
        assert folder.read("theirs.data") == before
        assert sorted(os.listdir(folder.path)) == ["rpistat", "script.sim", "theirs.data"]


# --- root in another user's folder ---------------------------------------------------------------

class Theirs(Folder):
    """Another user's folder with a store."""

    def __enter__(self):
        if os.geteuid() != 0:
            raise tap.Skip("only root can work in another user's folder")
        super().__enter__()
        shutil.copy(GOOD / "rpistat.data", self / "theirs.data")
        for path in (self.path, self / "theirs.data"):
            os.chown(path, OTHER, OTHER)
        os.chmod(self.path, 0o755)
        return self

    def owners(self):
        return {name: os.lstat(self / name).st_uid for name in os.listdir(self.path) if name != "script.sim"}


def test_theirs():
    """root in another user's folder: stores are made and changed with that user's rights; outputs belong to root"""
    with Theirs() as folder:
        folder.record()
        folder.record("--label", "second")
        assert folder.owners() == {"theirs.data": OTHER, "rpistat.data": OTHER, "rpistat.txt": 0}, folder.owners()
        expect(folder.call("runs", "1", "-i", "theirs.data", "--set-label", "x"), 0)
        expect(folder.call("report", "-i", "theirs.data", "-o", "r.txt"), 0)
        expect(folder.call("plot", "-i", "theirs.data", "-o", "p.svg"), 0)
        expect(folder.call("check", "-i", "theirs.data", "--repair", "-o", "saved.data"), 0)
        with Folder() as own:  # files of two owners at the same time
            expect(own.call("merge", folder / "theirs.data", "-i", "all.data"), 0)
            expect(own.call("merge", "all.data", "-i", folder / "saved.data"), 0)
            assert os.stat(own / "all.data").st_uid == 0
        assert folder.owners() == {"theirs.data": OTHER, "rpistat.data": OTHER, "rpistat.txt": 0, "r.txt": 0,
                                   "p.svg": 0, "saved.data": OTHER}, folder.owners()
        assert "x" in expect(folder.call("runs", "-i", "theirs.data"), 0).stdout.split()


def test_theirs_and_not():
    """what that user may not read or write is not read or written there, and root is told what to do"""
    record = ["record", "--pmu", "sim:script.sim", "-o"]
    with Theirs() as folder, Folder() as private:
        shutil.copy(GOOD / "rpistat.data", folder / "roots.data")
        expect(folder.call("report", "-i", "roots.data"), 0)
        refused(folder.call(*record, "roots.data"), 1, "read-only", "`chown %d` on the store" % OTHER)
        os.chmod(folder / "roots.data", 0o600)
        refused(folder.call("report", "-i", "roots.data"), 1, "denied", "`chown %d` on the store" % OTHER)
        os.mkdir(folder / "closed")
        os.chmod(folder / "closed", 0o770)
        os.chown(folder.path, OTHER, 0)  # the state after `chown USER`: its group says nothing about the user
        refused(folder.call(*record, "closed/new.data"), 1, "denied")
        shutil.copy(GOOD / "rpistat.data", private / "s.data")
        for name, target in (("l.data", "s.data"), ("new.data", "new.data")):
            os.symlink(private / target, folder / name)  # whoever created it
            for command in (["report", "-i"], record):
                answer = folder.call(*command, name)
                assert answer.returncode == 1 and "denied" in answer.stderr, answer
        assert sorted(os.listdir(private.path)) == ["s.data", "script.sim"] and not os.listdir(folder / "closed")


def test_theirs_in_closed():
    """a user's folder below a folder that only root may enter, as with DynamicUser: root reads and labels"""
    with Folder() as closed, Theirs() as folder:
        shutil.move(folder.path, closed / "state")
        folder.path = closed / "state"
        os.symlink("state", closed / "link")
        assert closed.call("runs", "-i", folder / "theirs.data").stdout.count("run1") == 1
        expect(closed.call("report", "-i", closed / "link/theirs.data"), 0)
        expect(closed.call("runs", "1", "-i", closed / "state/theirs.data", "--set-label", "x"), 0)
        expect(closed.call("record", "--pmu", "sim:script.sim", "-o", "state/new.data"), 0)
        assert folder.owners() == {"theirs.data": OTHER, "new.data": OTHER, "new.txt": 0}, folder.owners()


def test_live_of_root():
    r"""a user can watch root's live recording"""
    with Folder() as folder, Recording(folder, "live.data") as live:
        assert "recording" in expect(folder.call_as_user("watch", "-i", "live.data", "--once"), 0).stdout
        assert "recording" in expect(folder.call_as_user("runs", "-i", "live.data"), 0).stdout
        assert live.end() == 0


class Exchanged(Theirs):
    """A user who constantly exchanges a folder, which has a store, with a folder of another user (root)."""

    def __init__(self, victim=0):
        super().__init__()
        self.victim = victim

    def __enter__(self):
        super().__enter__()
        for name in ("theirs", "roots"):
            os.mkdir(self / name, 0o700)
        os.rename(self / "theirs.data", self / "theirs/rpistat.data")
        os.chown(self / "theirs", OTHER, OTHER)
        for name in ("rpistat.data", "rpistat.data-shm"):
            self.write("roots/" + name, "")
        if self.victim:
            os.chmod(self / "theirs", 0o777)
            os.chmod(self / "theirs/rpistat.data", 0o666)
            for path in (self / "roots", self / "roots/rpistat.data", self / "roots/rpistat.data-shm"):
                os.chown(path, self.victim, self.victim)
        self.roots = os.open(self / "roots", os.O_RDONLY | os.O_DIRECTORY)
        self.theirs = os.open(self / "theirs", os.O_RDONLY | os.O_DIRECTORY)
        self.before = self.state()
        self.child = os.fork()
        if self.child == 0:
            self.exchange()
        return self

    def exchange(self):
        try:
            os.setgroups([])
            os.setresgid(OTHER, OTHER, OTHER)
            os.setresuid(OTHER, OTHER, OTHER)
            names = [os.fsencode(self / name) for name in ("theirs", "roots")]
            while ctypes.CDLL(None).renameat2(-100, names[0], -100, names[1], 2) == 0:  # RENAME_EXCHANGE
                pass
        finally:
            os._exit(1)

    def state(self):
        """{name: owner and size} of the files in root's folder, wherever it is now."""
        found = {name: os.stat(name, dir_fd=self.roots) for name in os.listdir(self.roots)}
        return {name: (status.st_uid, status.st_size) for name, status in found.items()}

    def stop(self):
        """Stop the exchanges, and give the folders their names. Assert that the exchanges did not stop before."""
        ended = os.waitpid(self.child, os.WNOHANG) != (0, 0)
        if not ended:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        self.child = 0
        if os.stat(self / "theirs").st_ino != os.fstat(self.theirs).st_ino:
            os.rename(self / "theirs", self / "other")
            os.rename(self / "roots", self / "theirs")
            os.rename(self / "other", self / "roots")
        return ended

    def __exit__(self, *unused):
        ended = self.child != 0 and self.stop()
        os.close(self.roots)
        os.close(self.theirs)
        super().__exit__(*unused)
        if ended:
            raise tap.Skip("folders cannot be exchanged here")


def test_exchanged():
    """a user exchanges a folder with one of root's while root reads the user's store: root's folder is unchanged"""
    commands = [["runs"], ["report"], ["runs", "1", "--set-label", "x"]]
    with Exchanged() as folder:
        for i in range(60):
            folder.call(*commands[i % len(commands)], "-i", "theirs/rpistat.data")
            folder.call(*commands[i % len(commands)], "-i", folder / "theirs/rpistat.data")
            assert folder.state() == folder.before, (i, folder.state())


READER = 65533


def test_exchanged_reader():
    """the same while an ordinary user reads their own store: nothing of theirs is changed or created there"""
    with Exchanged(READER) as folder, Folder() as program:
        copy = shutil.copy(RPISTAT, program / "rpistat")
        os.chmod(program.path, 0o755)

        def read(command):
            return subprocess.run([copy, command, "-i", "theirs/rpistat.data"], cwd=folder.path,
                                  env=environment(), capture_output=True, check=False, timeout=300,
                                  user=READER, group=READER, extra_groups=[])
        for i in range(40):
            read(("runs", "report")[i % 2])
            assert folder.state() == folder.before, (i, folder.state())
            found = {name: os.stat(name, dir_fd=folder.theirs, follow_symlinks=False).st_uid
                     for name in os.listdir(folder.theirs)}
            assert READER not in found.values(), (i, found)
        if folder.stop():
            raise tap.Skip("folders cannot be exchanged here")
        expect(read("runs"), 0)


# A sanitizer takes many times as long, finds nothing in texts beyond fuzz/store, and needs more
# time and memory than the program may take.
CASES = [("a store of %s: every command, every output" % name, test_store, name) for name in PAYLOADS] + [
    test_names, test_every_text, test_arguments, test_tables, test_documents, test_long_arguments,
    test_links, test_report_links, test_store_links, test_store_companions,
    test_control_links, test_kept_folder, test_gnuplot_start, test_pipes,
    test_companions, test_hidden_functions, test_locked, test_read_only,
    test_theirs, test_theirs_and_not, test_theirs_in_closed, test_live_of_root, test_exchanged,
    test_exchanged_reader]
with GOOD:
    tap.main(tap.quarter(CASES))
