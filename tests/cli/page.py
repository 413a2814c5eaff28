"""The interactive pages in headless Chromium: mouse, keyboard, touch, zoom, print, and axe.

axe-core is used where RPISTAT_AXE names its axe.min.js, or where Debian or npm put it.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

from program import RPISTAT, Folder, Recording, environment, expect, tap
from chromium import Browser
from samples import Code
from served import Server
from words import CLASS_TITLE

FOLDER = Folder(runs=1)
BROWSER = None
WIDE, NARROW = {"width": 1600, "height": 1000}, {"width": 400, "height": 800, "mobile": True, "touch": True}
PLACES = "[...document.querySelectorAll('.u-over')].map(e => {const b = e.getBoundingClientRect(); " \
         "return [b.left, b.top, b.width, b.height]})"
SHOWN = "document.getElementById('shown').textContent"
TIP = "document.getElementById('tip').style.display === 'block' ? document.getElementById('tip').innerText : ''"


def opened(name="run.html", **window):
    """The page in a window. The test is skipped without a browser."""
    if isinstance(BROWSER, tap.Skip):
        raise BROWSER
    BROWSER.errors.clear()
    BROWSER.open(name if "://" in name else FOLDER / name, **window)
    BROWSER.frame()
    assert not BROWSER.errors, BROWSER.errors
    return BROWSER


def shown(browser):
    """The visible time range in seconds."""
    browser.frame()
    times = re.findall(r"(\d+):(\d+):([\d.]+)", browser.evaluate(SHOWN))
    return [3600 * int(h) + 60 * int(m) + float(s) for h, m, s in times]


def middle(browser, panel=0):
    left, top, width, height = browser.evaluate(PLACES)[panel]
    return left + width / 2, top + height / 2


def changed(function, replace):
    """A page whose data a function has changed."""
    with open(FOLDER / "run.html", encoding="utf-8") as file:
        before, data, after = re.split(r'(?<=id="data">\n)(.*?)(?=\n</script>)', file.read(), maxsplit=1, flags=re.S)
    data = json.loads(data)
    function(data)
    FOLDER.write(replace, before + json.dumps(data) + after)


def test_wheel():
    r"""the wheel over a panel scrolls the page; with Ctrl it zooms around the pointer"""
    browser = opened(width=1000, height=500)
    x, y = middle(browser)
    assert shown(browser) == [0, 25]
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=200)
    browser.wait("scrollY > 100")
    assert shown(browser) == [0, 25]
    x, y = middle(browser, 2)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200, modifiers=2)
    browser.wait(SHOWN + " !== 'Shown: 00:00:00.0 to 00:00:25.0'")
    start, end = shown(browser)
    assert abs((start + end) / 2 - 12.5) < 0.2 and 5 < end - start < 20, (start, end)


def test_drag():
    """dragging zooms, a double click shows the whole run, buttons zoom and move"""
    browser = opened(**WIDE)
    left, top, width, height = browser.evaluate(PLACES)[1]
    y = top + height / 2
    browser.mouse("mousePressed", left + width * 0.2, y, button="left", clickCount=1)
    browser.mouse("mouseMoved", left + width * 0.3, y, button="left", buttons=1)
    browser.mouse("mouseMoved", left + width * 0.6, y, button="left", buttons=1)
    browser.mouse("mouseReleased", left + width * 0.6, y, button="left", clickCount=1)
    start, end = shown(browser)
    assert abs(start - 5) < 0.1 and abs(end - 15) < 0.1, (start, end)
    for count in (1, 2):
        browser.mouse("mousePressed", left + 50, y, button="left", clickCount=count)
        browser.mouse("mouseReleased", left + 50, y, button="left", clickCount=count)
    assert shown(browser) == [0, 25]
    browser.mouse("mouseMoved", 5, 5)
    for name, part in [("closer", [6.25, 18.75]), ("later", [9.375, 21.875]), ("earlier", [6.25, 18.75]),
                       ("wider", [0, 25]), ("closer", [6.25, 18.75]), ("reset", [0, 25])]:
        browser.evaluate("document.getElementById('%s').click()" % name)
        found = shown(browser)
        assert all(abs(a - b) < 0.06 for a, b in zip(found, part)), (name, found)


def drag(browser, start, *places, modifiers=0, ends=True):
    """Press the left button at the first place, move over the others, and release it at the last."""
    browser.mouse("mousePressed", *start, button="left", clickCount=1, modifiers=modifiers)
    for x, y in places:
        browser.mouse("mouseMoved", x, y, button="left", buttons=1, modifiers=modifiers)
    if ends:
        browser.mouse("mouseReleased", *places[-1], button="left", clickCount=1, modifiers=modifiers)


def test_drag_outside():
    """a drag that ends outside its panel zooms to this side, in each panel, also on pages with code and of comparisons"""
    for name in ["run.html", "code.html", "compare.html"]:
        browser = opened(name, **WIDE)
        whole = browser.evaluate("page.shown()")
        for panel in range(len(browser.evaluate(PLACES))):
            browser.evaluate("document.querySelectorAll('.u-over')[%d].scrollIntoView({block: 'center'})" % panel)
            left, top, width, height = browser.evaluate(PLACES)[panel]
            start, y = (left + width * 0.4, top + height / 2), top + height / 2
            quarter = left + width / 4
            for ends, part in [([(left + width - 5, y), (left + width + 40, y)], (0.4, 1)), ([(left + 5, y), (left - 40, y)], (0, 0.4)),
                               # Then down, next to other panels.
                               ([(left + width + 90, y), (left + width + 90, y + 300)], (0.4, 1)),
                               ([(left + width + 30, y), (quarter, y)], (0.25, 0.4)),  # out of the panel and back
                               ([(quarter, top - 5), (quarter, top - 20)], (0.25, 0.4)), ([(quarter, top + height + 40)], (0.25, 0.4)),
                               ([(WIDE["width"] - 1, y), (WIDE["width"] + 200, y)], (0.4, 1)), ([(1, y), (-200, y)], (0, 0.4)),
                               ([(left + width, WIDE["height"] + 200)], (0.4, 1)), ([(left + width * 0.4 + 2, y)], (0, 1))]:
                drag(browser, start, *ends)
                expected = [whole[0] + share * (whole[1] - whole[0]) for share in part]
                found = browser.evaluate("page.shown()")
                near = 3 * (whole[1] - whole[0]) / width  # a pointer is exact to one pixel
                assert all(abs(a - b) <= near for a, b in zip(found, expected)), (name, panel, ends, found, expected)
                browser.evaluate("page.show(%r, %r)" % tuple(whole))
        assert not browser.errors, browser.errors


def test_drag_cancelled():
    """a drag that the system cancels changes nothing; a drag with Shift moves the view, also from outside the panel"""
    browser = opened(**WIDE)
    x, y = middle(browser)
    width = "document.querySelector('.u-select').getBoundingClientRect().width"
    drag(browser, (x, y), (x + 100, y), ends=False)
    assert 98 < browser.evaluate(width) < 102, browser.evaluate(width)
    browser.evaluate("window.taken = new Promise(done => addEventListener('lostpointercapture', done, { once: true })), 0")
    browser.evaluate("document.querySelector('.u-over').addEventListener('pointermove', event => "
                     "event.currentTarget.releasePointerCapture(event.pointerId), { once: true })")
    browser.mouse("mouseMoved", x + 110, y, button="left", buttons=1)
    browser.mouse("mouseMoved", x + 120, y, button="left", buttons=1)
    browser.evaluate("taken.then(() => true)")
    browser.mouse("mouseReleased", x + 120, y, button="left", clickCount=1)
    assert shown(browser) == [0, 25] and browser.evaluate(width) == 0
    browser.evaluate("page.show(5, 10)")
    left, top, over, height = browser.evaluate(PLACES)[0]
    drag(browser, (left + 0.9 * over, y), (left + 5, y), (left - 0.1 * over, y), modifiers=8)
    assert shown(browser) == [10, 15], shown(browser)


def test_tip():
    """at the pointer, the values of all panels appear, with phase and unit, and disappear when it leaves"""
    browser = opened(**WIDE)
    assert browser.evaluate(TIP) == ""
    browser.mouse("mouseMoved", *middle(browser, 2))
    text = browser.evaluate(TIP)
    for word in ["00:00:12", "B", "CPI", "IBUF stall percent", "DC miss ratio", "Micro miss rate", "Mispredict ratio",
                 "Counted"]:
        assert word in text, (word, text)
    assert re.search(r"DC miss ratio\s+20 %", text), text
    browser.mouse("mouseMoved", 5, 5)
    assert browser.evaluate(TIP) == ""


def test_touch():
    """a tap shows values; two fingers zoom; one finger moves a zoomed view; up and down scrolls the page"""
    browser = opened(**NARROW)
    x, y = middle(browser)
    browser.touch("touchStart", (x, y))
    browser.touch("touchEnd")
    browser.wait("(%s).includes('CPI')" % TIP)
    assert "Mispredict ratio" in browser.evaluate(TIP) and shown(browser) == [0, 25]
    browser.touch("touchStart", (x - 30, y), (x + 30, y))
    for each in (35, 45, 60):
        browser.touch("touchMove", (x - each, y), (x + each, y))
    browser.touch("touchEnd")
    start, end = shown(browser)
    assert abs(end - start - 12.5) < 1.5 and abs((start + end) / 2 - 12.5) < 0.5, (start, end)
    browser.touch("touchStart", (x, y))
    for each in (10, 30, 60):
        browser.touch("touchMove", (x - each, y))
    browser.touch("touchEnd")
    moved = shown(browser)
    assert moved[0] > start + 1 and abs(moved[1] - moved[0] - (end - start)) < 0.2, (start, end, moved)
    browser.touch("touchStart", (x, y))
    for each in range(10, 200, 20):
        browser.touch("touchMove", (x, y - each))
    browser.touch("touchEnd")
    browser.wait("scrollY > 100")
    assert shown(browser) == moved


def test_keyboard():
    """keyboard only: values, zoom, moving and the table of phases; the screen reader's text agrees with the view"""
    browser = opened(**WIDE)
    for _ in range(20):
        browser.key("Tab")
        if browser.evaluate("document.activeElement.id") == "panels":
            break
    assert browser.evaluate("document.activeElement.id") == "panels"
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.key("ArrowRight")
    first = browser.evaluate(TIP)
    browser.key("ArrowRight")
    assert first and browser.evaluate(TIP) not in ("", first)
    browser.wait("document.getElementById('spoken').textContent.includes('DC miss ratio')")
    browser.key("PageDown")
    browser.key("ArrowDown")
    browser.key("+")
    start, end = shown(browser)
    assert abs(end - start - 12.5) < 0.2, (start, end)
    browser.key("ArrowRight", modifiers=8)
    assert shown(browser)[0] > start + 1
    browser.key("0")
    assert shown(browser) == [0, 25]
    browser.key("Escape")
    assert browser.evaluate(TIP) == ""
    browser.evaluate("document.querySelectorAll('button.link')[1].focus()")
    browser.key("Enter")
    start, end = shown(browser)
    assert 8.5 < start < 10 and 20 < end < 21.5, (start, end)


def test_tables():
    """the table has all phases, with the cells of `rpistat phases`; it is as wide as the window or scrolls by itself; values are a table"""
    told = [[part.strip() for part in line.strip("|\n").split("|")] for line in
            expect(FOLDER.call("phases", "--no-samples", "--format", "markdown", "-r", "1"), 0).stdout.splitlines() if line[:1] == "|"]
    found = table_of(opened(**WIDE), "Phases in order of time")
    assert len(found) > 3 and [row[:len(told[0])] for row in found] == told[2:2 + len(found)], (found, told)
    assert any("±" in cell for cell in found[0][6:]), found
    def many(data):
        count = 600
        data["phases"] = {"label": [i % 2 for i in range(count)], "confidence": [1] * count,
                          **{name: [25 * (i + (name == "to")) / count for i in range(count)]
                             for name in ["from", "to", "earliest", "latest"]}}
        data["levels"], data["shown"] = [], 0
    changed(many, "many.html")
    for window in (WIDE, NARROW):
        browser = opened("many.html", **window)
        assert browser.evaluate("document.querySelectorAll('button.link').length") == 600
        assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    browser.evaluate("document.getElementById('values').open = true")
    browser.wait("document.querySelectorAll('#values tbody tr').length > 10")
    heads = browser.evaluate("[...document.querySelectorAll('#values thead th')].map(e => e.innerText)")
    assert heads[:2] == ["Time", "CPI"] and "DC miss ratio (%)" in heads, heads


def test_view():
    """the figures are those of the visible range, which is in the address; light and dark follow the system until the user chooses"""
    browser = opened(**WIDE, theme="dark")
    theme, at = "document.documentElement.dataset.theme", "location.hash"
    assert browser.evaluate(theme) == "dark"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    browser.wait(theme + " === 'light'")
    whole = dict(table_of(browser, "Metrics of the whole run"))
    browser.evaluate("page.show(5, 10)")
    browser.wait(at + " === '#t=5,10'")
    found = {row[0]: row[1:] for row in table_of(browser, "Metrics of the time range shown")}
    part = json.loads(expect(FOLDER.call("report", "-r", "1", "--from", "5s", "--to", "10s", "--format", "json"), 0).stdout)
    values = {row["label"]: row["value"] for row in part["figures"] if row["kind"] == "metric"}
    assert {name: row[1] for name, row in found.items()} == whole, (found, whole)
    seen = [name for name, row in found.items() if row[0]]
    assert len(seen) > 3, found
    for name in seen:
        number = float(found[name][0].split()[0]) * {"k": 1e3, "M": 1e6}.get((found[name][0].split() + [""])[1], 1)
        assert abs(number - values[name]) <= 0.03 * abs(values[name]) + 0.02, (name, found[name], values[name])
    browser.evaluate("document.getElementById('coarser').click()")
    browser.wait(at + ".includes('&level=')")
    address, kept = browser.evaluate("location.href"), "[page.shown(), document.getElementById('levelName').textContent]"
    before = browser.evaluate(kept)
    browser.call("Page.navigate", url="about:blank")
    browser.wait("location.protocol === 'about:'")
    assert opened(address, **WIDE).evaluate(kept) == before
    browser.evaluate("document.getElementById('auto').click()")
    browser.evaluate("document.getElementById('reset').click()")
    browser.wait(at + " === ''")
    assert dict(table_of(browser, "Metrics of the whole run")) == whole
    browser.evaluate("document.getElementById('theme').click()")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.frame()
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    browser.frame()
    assert browser.evaluate(theme) == "dark"


def test_loop():
    """a loop is one row and one text in the strip; a click on either unfolds and folds it; if few iterations are visible, the strip is unfolded"""
    browser = opened("loop.html", **WIDE)
    shown_rows = "[...document.querySelectorAll('tr[data-loop]')].filter(row => !row.hidden).length"
    row = [[cell for cell in row if cell] for row in table_of(browser, "Phases in order of time")]
    assert ["50 \u00d7 B C", "50 iterations, mean 30.0 s (sd 0.00 s)"] in row, row[:5]
    ink = ("(() => { const c = document.querySelector('#strip canvas'); return [...c.getContext('2d')"
           ".getImageData(62, 0, c.width - 96, 20).data].join() })()")
    folded, counts = browser.evaluate(ink), [browser.evaluate(shown_rows)]
    left, top, width = browser.evaluate("(() => { const b = document.querySelector('#strip canvas')"
                                        ".getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
    click(browser, left + 62 + .02 * (width - 96), top + 9)  # a phase outside all loops
    assert browser.evaluate(shown_rows) == 0 and browser.evaluate(ink) == folded
    click(browser, left + 62 + .5 * (width - 96), top + 9)
    counts.append(browser.evaluate(shown_rows))
    assert browser.evaluate(ink) != folded
    browser.evaluate("document.querySelector('button[data-loop]').click()")
    counts.append(browser.evaluate(shown_rows))
    assert counts == [0, 100, 0] and browser.evaluate(ink) == folded, counts


def test_nested_loop():
    """an inner loop is a row of each outer iteration, visible only while the outer loop is unfolded"""
    browser = opened("nested.html", **WIDE)
    shown_rows = "[...document.querySelectorAll('tr[data-loop]')].filter(row => !row.hidden).length"
    names = [[cell for cell in row if cell][0] for row in table_of(browser, "Phases in order of time")]
    assert names.count("20 \u00d7 (A, 4 \u00d7 (B C))") == 1 and names.count("4 \u00d7 B C") == 20, names
    counts = [browser.evaluate(shown_rows)]
    for click_on in (0, 3, 0, 0):  # the outer loop; the third inner loop; the outer loop folds all
        browser.evaluate("document.querySelectorAll('button[data-loop]')[%d].click()" % click_on)
        counts.append(browser.evaluate(shown_rows))
    assert counts == [0, 40, 48, 0, 40], counts


def test_ticks():
    """labels of the axes are complete: nothing is drawn at the edges of the canvases"""
    for window in ({"width": 1000, "height": 800}, NARROW):  # a number at the very end; the narrowest window
        browser = opened(**window)
        inks = browser.evaluate("""[...document.querySelectorAll('.panel canvas')].map(canvas => {
            const pen = canvas.getContext('2d'), {width, height} = canvas;
            return [0, width - 1].map(x => pen.getImageData(x, 0, 1, height).data.filter((v, i) => i % 4 == 3 && v > 0).length);
        })""")
        assert inks and all(ink == [0, 0] for ink in inks), inks


PAGES = ["run.html", "code.html", "compare.html", "groups.html", "bare.html", "loop.html"]
DOCUMENTS = {"report": [], "phases": [], "code": [], "runs": [], "status": [], "check": [], "events": ["--pmu", "software"],
             "compare": ["-i", "two.data", "1", "2"]}


def write_documents():
    """The names of the pages that commands write with --format html or as a file."""
    for name, options in DOCUMENTS.items():
        FOLDER.write("document-%s.html" % name, expect(FOLDER.call(name, "--format", "html", *options), 0).stdout)
    expect(FOLDER.call("runs", "-i", "groups.data", "-o", "history.html"), 0)
    return ["document-%s.html" % name for name in DOCUMENTS] + ["history.html"]


def test_width():
    """no page is wider than its window, on a phone and with a scroll bar"""
    for name in PAGES + write_documents():
        for width, mobile in ((1600, False), (390, True), (390, False), (360, True), (320, True), (320, False)):
            browser = opened(name, width=width, height=800, mobile=mobile, touch=mobile)
            # a table with wide rows scrolls by itself
            assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth && "
                                    "innerWidth === %d" % width), (name, width, mobile)


def test_axe():
    """axe finds nothing, wide and light, narrow and dark"""
    found = [os.environ.get("RPISTAT_AXE"), "/usr/share/nodejs/axe-core/axe.min.js",
             *glob.glob("/usr/*/lib/node_modules/axe-core/axe.min.js"), "/usr/lib/node_modules/axe-core/axe.min.js"]
    path = next((path for path in found if path and os.path.exists(path)), None)
    if not path:
        raise tap.Skip("axe-core is not installed; RPISTAT_AXE can name its axe.min.js")
    with open(path, encoding="utf-8") as file:
        axe = file.read()
    for name in PAGES + write_documents():
        for window, theme in ((WIDE, "light"), (NARROW, "dark")):
            browser = opened(name, **window, theme=theme)
            if name in PAGES:
                browser.evaluate("document.getElementById('values').open = true")
                browser.mouse("mouseMoved", *middle(browser))
            wrong = look(browser, axe)
            assert not wrong, (name, window, theme, wrong)
    with Recording(FOLDER, "looked.data"), Server(FOLDER, "-i", "looked.data") as server:
        for window in (WIDE, NARROW):
            browser = opened(server.url, **window)
            more(browser)
            wrong = look(browser, axe)
            assert not wrong, (window, wrong)
            assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        # Before its server ends, which the page would report as an error.
        browser.call("Page.navigate", url="about:blank")
        browser.wait("location.protocol === 'about:'")


def look(browser, axe):
    """The rules that axe finds broken, with their elements."""
    browser.evaluate(axe)
    return browser.evaluate("axe.run().then(found => found.violations.map(each => "
                            "[each.id, each.nodes.map(node => node.html).slice(0, 3)]))")


def test_print():
    """in print: light colours, figures as wide as the sheet, complete tables; afterwards as before"""
    browser = opened(**WIDE, theme="dark")
    before = browser.evaluate(PLACES)
    browser.evaluate("""window.printed = []; addEventListener('beforeprint', () => { printed = [
        document.documentElement.dataset.theme, document.querySelector('#strip canvas').clientWidth,
        document.querySelector('.panel canvas').clientWidth]; })""")
    FOLDER.write("page.pdf", browser.pdf())
    theme, strip, panel = browser.evaluate("printed")
    assert theme == "light" and abs(strip - panel) < 2 and 800 < panel < 1000, (theme, strip, panel)
    browser.frame()
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    assert browser.evaluate(PLACES) == before
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", "-layout", FOLDER / "page.pdf", "-"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        for word in ["calm" if "calm" in text else "sim:script.sim", "Phases in order of time", "00:20.0",
                     "Metrics of the whole run", "Exit status"]:
            assert word in text, (word, text)
        assert "Whole run" not in text


MAIN, WORK = ["_start", "main"], "/usr/bin/work"


def add_samples():
    """In the run's first ten seconds `load` reads; in the next ten `solve` multiplies; then the run sleeps."""
    code = Code(FOLDER / "rpistat.data")
    for period in range(200):
        if period < 100:
            code.add(period, MAIN + ["load", ("parse_block", WORK, "src/parse.c", 120)], 6)
            code.add(period, MAIN + ["load", ("read", "/lib/libc.so.6", "", 0), ("vfs_read", "[kernel]", "", 0)], 4)
        else:
            code.add(period, MAIN + ["solve", ("multiply", WORK, "src/matrix.c", 29)], 1)
            code.add(period, MAIN + ["solve", ("multiply", WORK, "src/matrix.c", 30)], 6)
            code.add(period, MAIN + ["solve", ("parse_block", WORK, "src/parse.c", 120)], 3)
    code.write(complete=1700)


def functions(browser):
    """The rows of the table of functions."""
    browser.frame()
    return browser.evaluate("[...document.querySelectorAll('#functions tbody tr')].map(row => "
                            "[...row.children].map(cell => cell.innerText))")


def text_of(browser, name):
    return browser.evaluate("document.getElementById('%s').textContent" % name)


def choose(browser, name, value):
    browser.evaluate("(() => { const list = document.getElementById('%s'); list.value = '%s'; "
                     "list.dispatchEvent(new Event('change')); })()" % (name, value))


def place_of(browser, row, share):
    """A position in the window, inside a row of the flame graph."""
    left, top, width = browser.evaluate("(() => { const graph = document.querySelector('#flame canvas'); "
        "graph.scrollIntoView({block: 'center'}); const b = graph.getBoundingClientRect(); "
        "return [b.left, b.top, b.width]; })()")
    return left + share * width, top + 18 * row + 9


def click(browser, x, y):
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)


def test_code_stretches():
    """functions of the whole run, of the phase that is clicked in the strip, and of the zoomed range"""
    browser = opened("code.html", **WIDE)
    assert functions(browser)[:2] == [["parse_block", "45.0 %", "45.0 %", "work", "parse.c:120"],
                                      ["multiply", "35.0 %", "35.0 %", "work", "matrix.c:30"]], functions(browser)
    about = text_of(browser, "codeAbout")
    assert "2,000 samples" in about and "Complete call stacks: 85 % of the samples" in about and "off-CPU or not sampled 20.0 %" in about, about
    left, top, width, height = browser.evaluate("(() => { const b = document.querySelector('#strip canvas')"
                                                ".getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
    click(browser, left + 62 + 0.2 * (width - 96), top + 9)
    assert browser.evaluate("document.getElementById('codeOf').value") == "phase0"
    found = {row[0]: row[1:3] for row in functions(browser)}
    assert found["parse_block"] == ["60.0 %", "60.0 %"] and "multiply" not in found, found
    assert found["load"] == ["0 %", "100.0 %"] and browser.evaluate("scrollY") > 0, found
    browser.evaluate("scrollTo(0, 0)")
    left, top, width, height = browser.evaluate(PLACES)[0]
    for kind, part in [("mousePressed", 0.5), ("mouseMoved", 0.55), ("mouseMoved", 0.7), ("mouseReleased", 0.7)]:
        browser.mouse(kind, left + part * width, top + height / 2, button="left", buttons=1, clickCount=1)
    assert browser.evaluate("document.getElementById('codeOf').value") == "shown"
    found = {row[0]: row[1] for row in functions(browser)}
    assert found["multiply"] == "70.0 %" and "load" not in found, found


def test_code_search():
    """a search shows the share of its matches, with each sample counted once; functions can be sorted by each column"""
    browser = opened("code.html", **WIDE)
    browser.evaluate("document.getElementById('codeSearch').focus()")
    browser.call("Input.insertText", text="READ")
    assert [row[0] for row in functions(browser)] == ["vfs_read", "read"], functions(browser)
    assert text_of(browser, "codeFound") == "20.0 % of the samples"
    browser.key("Escape")
    assert text_of(browser, "codeFound") == "" and len(functions(browser)) == 8
    browser.evaluate("document.querySelector('[data-sort=name]').click()")
    assert [row[0] for row in functions(browser)][:3] == ["_start", "load", "main"], functions(browser)
    assert browser.evaluate("document.querySelector('#functions [aria-sort]').ariaSort") == "ascending"
    browser.evaluate("document.querySelector('#functions tbody button').click()")
    assert text_of(browser, "codeFound") == "100.0 % of the samples"


def test_code_keyboard():
    """keyboard only: move between calls, into one and out again, with text for screen readers"""
    browser = opened("code.html", **WIDE)
    browser.evaluate("document.getElementById('codeOut').focus()")
    browser.key("Tab")
    assert browser.evaluate("document.activeElement.id + getComputedStyle(document.activeElement).outlineStyle") == "flamesolid"
    for key, name in [("ArrowDown", "_start"), ("ArrowDown", "main"), ("ArrowDown", "load"), ("ArrowRight", "solve"),
                      ("ArrowDown", "multiply"), ("ArrowRight", "parse_block"), ("Enter", "parse_block")]:
        browser.key(key)
        assert text_of(browser, "codeCall").startswith(name), (key, name, text_of(browser, "codeCall"))
        assert text_of(browser, "spoken") == text_of(browser, "codeCall")
    ran = " \u00b7 ran from 00:00:00.0 to 00:00:20.0, 36.1 % of the time shown above"
    assert text_of(browser, "codeCall") == "parse_block \u00b7 /usr/bin/work \u00b7 parse.c:120 \u00b7 " \
                                           "15.0 % of the samples, 15.0 % itself" + ran
    assert len(browser.evaluate("page.ran")) > 0
    browser.key("Enter")  # again: no marks, and in a third time marks
    assert browser.evaluate("page.ran") == [] and ran not in text_of(browser, "spoken") == text_of(browser, "codeCall")
    browser.key("Enter")
    assert len(browser.evaluate("page.ran")) > 0 and text_of(browser, "spoken").endswith(ran)
    browser.mouse("mouseMoved", *place_of(browser, 4, 0.05))  # shown alone, it has the full width
    assert text_of(browser, "codeCall").startswith("parse_block")
    for name in ("solve", "main", "_start", "all", "all"):
        browser.key("Escape")
        assert text_of(browser, "codeCall").startswith(name), (name, text_of(browser, "codeCall"))
        assert browser.evaluate("page.ran") == []


def marks_below(browser, panel):
    """The opacity of the marks at nine places below a panel, from 0.1 to 0.9 of its width: 0 to 1."""
    browser.frame()
    return browser.evaluate("""(() => { const canvas = document.querySelectorAll('.u-wrap canvas')[%d], pen = canvas.getContext('2d');
        const over = document.querySelectorAll('.u-over')[%d].getBoundingClientRect(), all = canvas.getBoundingClientRect(), ratio = canvas.width / all.width;
        return [1, 2, 3, 4, 5, 6, 7, 8, 9].map(tenth => { const [red, green, blue, alpha] = pen.getImageData(
            (over.left - all.left + over.width * tenth / 10 + 5) * ratio, (over.bottom - all.top + 3) * ratio, 1, 1).data;
            return red > green ? Math.round(100 * alpha / 255) / 100 : 0; }); })()""" % (panel, panel))


def test_code_marks():
    """a click on a call marks when its function ran, below each panel, by its share; a second click removes the marks"""
    browser = opened("code.html", **WIDE)
    panels = len(browser.evaluate(PLACES))
    assert marks_below(browser, 0) == marks_below(browser, panels - 1) == [0] * 9
    click(browser, *place_of(browser, 4, 0.55))
    assert text_of(browser, "codeCall").startswith("multiply") and \
        text_of(browser, "codeCall").endswith("ran from 00:00:10.0 to 00:00:20.0, 28.1 % of the time shown above"), text_of(browser, "codeCall")
    ran = browser.evaluate("page.ran")  # 7 of 10 samples of each 0.1 s, from 10 s to 20 s
    assert all(abs(step["share"] - (0.7 if 10 <= step["from"] and step["to"] <= 20 else 0)) < 0.001 for step in ran
               if step["to"] <= 10 or step["from"] >= 10 and step["to"] <= 20 or step["from"] >= 20), ran
    for panel in (0, panels - 1):
        found = marks_below(browser, panel)
        assert found[:3] == [0] * 3 and found[8:] == [0] and all(abs(each - 0.76) < 0.02 for each in found[4:7]), (panel, found)
    browser.evaluate("page.show(0, 8)")
    browser.frame()
    assert text_of(browser, "codeCall").endswith("\u00b7 multiply has no samples in the time shown above"), text_of(browser, "codeCall")
    browser.evaluate("page.show(0, 25)")
    browser.frame()
    click(browser, *place_of(browser, 4, 0.55))
    assert "ran from" in text_of(browser, "codeCall") and marks_below(browser, 0) != [0] * 9
    click(browser, *place_of(browser, 4, 0.55))
    assert "ran from" not in text_of(browser, "codeCall") and marks_below(browser, 0) == [0] * 9
    click(browser, *place_of(browser, 2, 0.5))  # main, of both
    assert "ran from 00:00:00.0 to 00:00:20.0, 80.2 %" in text_of(browser, "codeCall"), text_of(browser, "codeCall")
    click(browser, *place_of(browser, 0, 0.5))
    assert browser.evaluate("page.ran") == [] and not browser.errors, browser.errors


def test_code_compared():
    """two phases: the table has the differences, colours show those that exceed chance, and the legend explains them"""
    browser = opened("code.html", **WIDE)
    choose(browser, "codeOf", "label0")
    choose(browser, "codeWith", "label1")
    found = {row[0]: row[1:5] for row in functions(browser)}
    assert found["parse_block"][0] == "60.0 %" and re.match("\u2212(68|69|70)", found["multiply"][1]), found
    assert functions(browser)[0][0] == "multiply", functions(browser)  # the largest change comes first
    assert "more in A than in B" in text_of(browser, "codeLegend")
    colours = browser.evaluate("""(() => { const graph = document.querySelector('#flame canvas'), pen = graph.getContext('2d');
        return [[2, 0.9], [3, 0.45], [3, 0.95]].map(([row, part]) =>
            [...pen.getImageData(part * graph.width, row * 18 + 3, 1, 1).data].slice(0, 3)); })()""")
    main, load, solve = colours
    assert main == [0xf7, 0xf7, 0xf7] and load[0] > 3 * load[2] and solve[2] > 3 * solve[0], colours
    choose(browser, "codeWith", "")
    assert len(functions(browser)[0]) == 5 and "work" in text_of(browser, "codeLegend")


def test_code_touch():
    """a tap shows one call, a tap on the first row shows all again; nothing is wider than the window"""
    browser = opened("code.html", **NARROW)
    for row, part, name in [(3, 0.9, "solve"), (4, 0.05, "multiply"), (0, 0.5, "all")]:
        x, y = place_of(browser, row, part)
        browser.touch("touchStart", (x, y))
        browser.touch("touchEnd")
        browser.wait("document.getElementById('codeCall').textContent.startsWith('%s')" % name)
    assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_code_print():
    """in print: calls as wide as the sheet, and the functions"""
    browser = opened("code.html", **WIDE, theme="dark")
    browser.evaluate("window.printed = 0; addEventListener('beforeprint', () => { "
                     "printed = document.querySelector('#flame canvas').clientWidth; })")
    FOLDER.write("code.pdf", browser.pdf())
    assert 800 < browser.evaluate("printed") < 1000, browser.evaluate("printed")
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", "-layout", FOLDER / "code.pdf", "-"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        assert "Time by function" in text and "parse.c:120" in text and text.count("compared with") == text.count(CLASS_TITLE), text


def test_code_panel():
    r"""the panel of shares shows the values at the pointer"""
    browser = opened("code.html", **WIDE)
    titles = browser.evaluate("[...document.querySelectorAll('.panel h2')].map(head => head.textContent)")
    place = next(n for n, title in enumerate(titles) if title.startswith("Code: share of the time by function"))
    browser.evaluate("document.querySelectorAll('.panel')[%d].scrollIntoView({block: 'center'})" % place)
    left, top, width, height = browser.evaluate(PLACES)[place]
    browser.mouse("mouseMoved", left + 0.2 * width, top + height / 2)
    text = browser.evaluate(TIP)
    assert re.search(r"parse_block\s+60 %", text) and re.search(r"\bread\s+40 %", text), text
    assert "multiply" not in text, text


def test_code_steps():
    """with steps of different lengths, the pointer shows the right step in each panel"""
    def uneven(data):
        data["codePanel"] = {"title": "Code", "at": [0, 20, 25], "lines": [
            {"name": "long", "colour": 0, "share": [60, 0]}, {"name": "short", "colour": 1, "share": [0, 60]}]}
    changed(uneven, "steps.html")
    browser = opened("steps.html", **WIDE)
    titles = browser.evaluate("[...document.querySelectorAll('.panel h2')].map(head => head.textContent)")
    code = next(n for n, title in enumerate(titles) if title.startswith("Code"))
    for panel in (code - 1, code):
        browser.evaluate("document.querySelectorAll('.panel')[%d].scrollIntoView({block: 'center'})" % panel)
        left, top, width, height = browser.evaluate(PLACES)[panel]
        browser.mouse("mouseMoved", left + 18 / 25 * width, top + height / 2)
        text = browser.evaluate(TIP)
        assert re.search(r"long\s+60 %", text) and "short" not in text, (panel, text)


def test_function_steps():
    """a line of `plot --function` has a constant value in each step, ends at a gap, and the pointer shows the step's value"""
    def stepped(data):
        line = {"label": "f", "unit": "%", "explain": "", "isStepped": True, "x": [0, 10, 10, 12, 12, 20, 20, 25],
                "value": [60, 60, None, None, 0, 0, 80, 80], "min": None, "max": None, "low": [], "high": []}
        data["panels"].append({"title": "f with callees", "unit": "%", "from": 0, "to": 100, "lines": [line, {**line, "label": "same", "x": line["x"][:]}]})
    changed(stepped, "function.html")
    browser = opened("function.html", **WIDE)
    panel = browser.evaluate("[...document.querySelectorAll('.panel h2')].findIndex(head => head.textContent.startsWith('f with'))")
    browser.evaluate("document.querySelectorAll('.panel')[%d].scrollIntoView({block: 'center'})" % panel)
    left, top, width, height = browser.evaluate(PLACES)[panel]
    for at, value, (from_s, to_s) in ((9.8, 60, (0, 10)), (11, None, (10, 12)), (12.2, 0, (12, 20)), (19.8, 0, (12, 20)), (20.2, 80, (20, 25))):
        browser.mouse("mouseMoved", left + at / 25 * width, top + height / 2)
        found = re.search(r"f\s+([\d.]+) %", browser.evaluate(TIP))
        assert (value is None and not found) or float(found.group(1)) == value, (at, browser.evaluate(TIP))
        highest = browser.evaluate("""(() => {
            const canvas = document.querySelectorAll('.panel canvas')[%d], over = document.querySelectorAll('.u-over')[%d], box = canvas.getBoundingClientRect();
            const place = over.getBoundingClientRect(), ratio = canvas.width / box.width;
            const x = (place.left - box.left + %r / 25 * place.width) * ratio, y = (place.top - box.top) * ratio;
            const inks = canvas.getContext('2d').getImageData(x, y, 1, place.height * ratio + 2).data;
            const away = [...Array(inks.length / 4).keys()].map(i => [0, 2, 4].reduce((sum, at, k) =>
                sum + Math.abs(inks[4 * i + k] - parseInt(page.palette().line[1].slice(at, at + 2), 16)), 0)), least = Math.min(...away);
            return least < 120 ? 100 * (1 - away.indexOf(least) / away.length) : null; })()""" % (panel, panel, at))
        assert (highest is None) == (value is None) and abs((highest or 0) - (value or 0)) < 4, (at, highest)


def test_code_fine_steps():
    """if one pixel has many steps, their mean is drawn"""
    def loop(data):
        data["codePanel"] = {"title": "Code", "at": [n / 480 for n in range(12001)],
                             "lines": [{"name": "loop", "colour": 0, "share": [100, 0] * 6000}]}
    changed(loop, "fine.html")
    browser = opened("fine.html", width=800, height=800)
    shares = browser.evaluate("""(() => {
        const panel = [...document.querySelectorAll('.panel')].find(each => each.querySelector('h2').textContent.startsWith('Code'));
        const canvas = panel.querySelector('canvas'), pen = canvas.getContext('2d'), { width, height } = canvas, area = page.palette().area[0];
        const inks = x => [...Array(height).keys()].map(y => [...pen.getImageData(x, y, 1, 1).data].slice(0, 3));
        const parts = [0, 2, 4].map(at => parseInt(area.slice(at, at + 2), 16));
        return [...Array(40).keys()].map(n => inks(Math.round(width * (0.2 + 0.015 * n)))
            .filter(ink => ink.every((each, i) => Math.abs(each - parts[i]) < 3)).length);
    })()""")
    assert 30 < min(shares) and max(shares) < 1.3 * min(shares), shares


# --- the page of a comparison ---

BEFORE = """\
clock 700M
seed 1
default instructions=200M branches=20M branch_miss=1M ibuf_stall=100M
default dc_access=50M dc_miss=2M micro_tlb_miss=1M main_tlb_miss=100k
function main 0x1000 0x100 main.c:10
function load 0x2000 0x100 load.c:5
function solve 0x3000 0x40 solve.c:21-24
phase load 6s code=main>load
phase solve 10s dc_miss=10M instructions=100M code=main>solve
phase load 6s code=main>load
"""
# `solve` is faster, and something new follows it.
AFTER = BEFORE.replace("solve 10s dc_miss=10M instructions=100M", "solve 6s dc_miss=4M instructions=180M").replace(
    "code=main>solve\n", "code=main>solve\nphase save 4s micro_tlb_miss=8M instructions=400M code=main\n")


def table_of(browser, title):
    """The rows of the table below this heading."""
    browser.frame()
    return browser.evaluate("[...document.querySelectorAll('h2')].find(head => head.textContent === %s).parentNode"
                            ".querySelectorAll('tbody tr').values().map(row => [...row.children].map(cell => cell.innerText))"
                            ".toArray()" % json.dumps(title))


def chosen_row(browser):
    """The selected row by its button, and the row whose calls are shown."""
    return browser.evaluate("[[...document.querySelectorAll('#rows button')].findIndex(each => each.ariaPressed === 'true'), "
                            "+document.getElementById('codeOf').value.slice(3)]")


def test_compare_rows():
    """a click on a row or strip, the arrow keys and the list select a row, with its figures, functions and calls"""
    browser = opened("compare.html", **WIDE)
    assert re.match(r"Run 2 took as long as run 1 \(22\.0 s\); but main \(main\.c:10\) is new \(4\.00 s of CPU time\)", text_of(browser, "title")), text_of(browser, "title")
    rows = table_of(browser, "The whole and its phases")
    assert [row[:2] for row in rows] == [["Whole", ""], ["A", "2"], ["B", "1"], ["C", "run 2 alone, 1"]], rows
    assert rows[0][3:5] == ["22.0 s", "22.0 s"] and rows[3][3] == "-" and re.match("-(3[5-9]|4[0-5])", rows[2][5]), rows
    assert chosen_row(browser) == [0, 0]
    browser.evaluate("document.querySelectorAll('#rows tbody tr')[2].children[3].click()")
    assert chosen_row(browser) == [2, 2]
    figures = {row[0]: row[1:] for row in table_of(browser, "Figures of phase B")}
    a, b, _ = figures["DC miss ratio"]  # one run per side has no verdict
    assert re.match("19|20", a) and re.match("[78]", b), figures
    found = table_of(browser, "Functions of phase B, CPU time")
    assert found[0][0] == "solve" and len(found[0]) == 4, found
    assert functions(browser)[0][0] == "solve", functions(browser)
    browser.evaluate("document.querySelectorAll('#rows button')[2].focus()")
    browser.key("ArrowUp")
    assert chosen_row(browser) == [1, 1]
    browser.key("ArrowDown")
    browser.key("ArrowDown")
    assert chosen_row(browser) == [3, 3] and table_of(browser, "Figures of phase C")[0][1] == "-"
    choose(browser, "codeOf", "row0")
    assert chosen_row(browser) == [0, 0]
    left, top, width = browser.evaluate("(() => { const b = document.querySelector('#strip canvas').getBoundingClientRect(); "
                                        "return [b.left, b.top, b.width]; })()")
    click(browser, left + 62 + 14 / 22 * (width - 96), top + 9)  # A is in its second phase at that time,
    assert chosen_row(browser) == [2, 2]
    click(browser, left + 62 + 14 / 22 * (width - 96), top + 29)  # and B in the new phase
    assert chosen_row(browser) == [3, 3]


def test_compare_groups():
    """several runs per side have verdicts, on one line each; a share of the change only if there is a change"""
    browser = opened("groups.html", **WIDE)
    rows = table_of(browser, "The whole and its phases")
    heads = browser.evaluate("[...document.querySelectorAll('#rows th[scope=col]')].map(each => each.innerText)")
    assert heads == ["Row", "Times", "Start", "before", "after", "Change", "Share of change", "Verdict"], heads
    assert rows[0][-2:] == ["100 %", "possibly higher"] and len(rows[1]) == len(heads), rows
    lines = browser.evaluate("[...document.querySelectorAll('td.text')].map(cell => { const range = document.createRange(); "
                             "range.selectNodeContents(cell); return range.getClientRects().length; })")
    assert len(lines) > 10 and set(lines) == {1}, lines  # a verdict has one line


def test_compare_axes():
    """the time axis of each run, and the axis by phase, where equal parts overlap; both zoom"""
    browser = opened("compare.html", **WIDE)
    assert shown(browser) == [0, 22]
    left, top, width, height = browser.evaluate(PLACES)[1]
    browser.mouse("mouseMoved", left + 14 / 22 * width, top + height / 2)
    tip = browser.evaluate(TIP)
    assert re.search(r"run 1\s+7\s", tip) and re.search(r"run 2\s+1\.75\s", tip) and " run 1 B run 2 C" in tip, tip
    browser.evaluate("document.getElementById('byPhase').click()")
    end = shown(browser)[1]  # 6, 8 (from 10 and 6), 4 of run 2 alone, 6
    assert abs(end - 24) < 0.5, end
    browser.mouse("mouseMoved", left + 16 / 24 * width, top + height / 2)
    tip = browser.evaluate(TIP)
    assert "run 1" not in tip and re.search(r"run 2\s+1\.75\s", tip), tip
    browser.mouse("mouseMoved", left + 10 / 24 * width, top + height / 2)
    tip = browser.evaluate(TIP)
    assert re.search(r"run 1\s+7\s", tip) and re.search(r"run 2\s+3\.8", tip), tip
    browser.evaluate("scrollTo(0, 0)")
    x, y = middle(browser)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200, modifiers=2)
    browser.wait("!(%s).includes(': 00:00:00.0 to')" % SHOWN)
    start, end = shown(browser)
    assert abs((start + end) / 2 - 12) < 0.5 and 5 < end - start < 20, (start, end)
    browser.evaluate("document.getElementById('byTime').click()")
    assert shown(browser) == [0, 22]
    browser.evaluate("document.getElementById('values').open = true")
    browser.wait("document.querySelectorAll('#values tbody tr').length > 10")
    heads = browser.evaluate("[...document.querySelectorAll('#values thead th')].map(each => each.innerText)")
    assert heads[:3] == ["Time", "CPU use (%), run 1", "CPU use (%), run 2"], heads


def test_compare_code():
    """calls have the colour of their change in seconds per run; a function's button searches for it"""
    browser = opened("compare.html", **WIDE)
    colours = browser.evaluate("""(() => { const graph = document.querySelector('#flame canvas'), pen = graph.getContext('2d');
        return [[2, 0.3], [2, 0.85], [1, 0.5]].map(([row, part]) =>
            [...pen.getImageData(part * graph.width, row * 18 + 3, 1, 1).data].slice(0, 3)); })()""")
    load, solve, main = colours
    assert load == main == [0xf7, 0xf7, 0xf7] and solve[2] > solve[0] + 40, colours
    assert "more in run 2 than in run 1" in text_of(browser, "codeLegend"), text_of(browser, "codeLegend")
    browser.evaluate("[...document.querySelectorAll('#tables button')].find(each => each.innerText === 'solve').click()")
    assert functions(browser)[0][:3] == ["solve", "6.0 s", "\u22124.0 s"], functions(browser)
    assert text_of(browser, "codeFound") == "6.0 s" and [row[0] for row in functions(browser)] == ["solve"]


def test_compare_latency():
    """the calls of `compare --latency` have latency: four threads of 10 s have a quarter of their CPU time"""
    for name, seconds, about in (("cpu.html", "40.0 s", "4,500 samples of "), ("latency.html", "10.0 s", "15.0 s of latency in ")):
        browser = opened(name, **WIDE)
        assert functions(browser)[0][:2] == ["parallel", seconds], functions(browser)
        assert text_of(browser, "codeAbout").startswith(about), text_of(browser, "codeAbout")


def test_compare_bare():
    """without phases and samples there is one row, and no strips, calls or second axis"""
    browser = opened("bare.html", **WIDE)
    browser.evaluate("document.querySelector('#rows button').click()")
    assert not browser.errors, browser.errors
    assert [row[0] for row in table_of(browser, "The whole and its phases")] == ["Whole"]
    assert browser.evaluate("['code', 'axis', 'rowsCode', 'level'].every(name => document.getElementById(name).hidden)")
    assert table_of(browser, "Figures of the whole")[0][:3] == ["Elapsed", "22.0 s", "22.0 s"]
    assert shown(browser) == [0, 22]


def test_compare_narrow():
    """on a phone nothing is wider than the window, and a tap selects; the print is complete"""
    browser = opened("compare.html", **NARROW)
    assert browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    left, top = browser.evaluate("(() => { const b = document.querySelectorAll('#rows tbody tr')[2].getBoundingClientRect(); "
                                 "return [b.left + 20, b.top + 10]; })()")
    browser.touch("touchStart", (left, top))
    browser.touch("touchEnd")
    browser.wait("document.querySelector('#tables h2').textContent === 'Figures of phase B'")
    FOLDER.write("compare.pdf", browser.pdf())
    if shutil.which("pdftotext"):
        text = subprocess.run(["pdftotext", "-layout", FOLDER / "compare.pdf", "-"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        for word in ["Run 2 took as long as", "Figures of phase B", "Mispredict ratio", "solve.c:21"]:
            assert word in text, (word, text)
        assert "Search" not in text and "By phase" not in text, text


POINTS = "page.data.panels[0].lines[0].x.length"
TOLD = "document.getElementById('live').textContent"


def more(browser):
    """Wait until new points have arrived."""
    browser.wait("globalThis.page && %s > 0" % POINTS)
    browser.wait("%s > %d" % (POINTS, browser.evaluate(POINTS)))


def test_live():
    """a served page follows the recording and keeps the zoom; it reports the state of the server and the run"""
    if isinstance(BROWSER, tap.Skip):
        raise BROWSER
    with Recording(FOLDER, "live.data") as recording:
        with Server(FOLDER, "-i", "live.data") as server:
            BROWSER.open(server.url[:-1] + "x", theme="dark", **WIDE)
            BROWSER.wait(TOLD + ".includes('is not the server')")
            assert BROWSER.evaluate("document.documentElement.dataset.theme") == "dark"
            assert "CPU use" not in BROWSER.evaluate("document.body.innerText")
            browser = opened(server.url, **WIDE)
            more(browser)
            browser.wait(TOLD + ".startsWith('Live: ') && page.data.phases.length > 0")
            assert browser.evaluate("page.shown()[1] === page.data.to && page.shown()[0] === 0")
            browser.mouse("mousePressed", *middle(browser), button="right", clickCount=1)
            more(browser)  # an open menu does not stop the page's updates
            browser.evaluate("document.getElementById('values').open = true")
            browser.wait("document.querySelector('#values .scroll') !== null")
            browser.evaluate("(each => { each.focus(); each.scrollTop = 9; })(document.querySelector('#values .scroll'))")
            more(browser)  # somebody reading values in the table stays at the same place
            assert browser.evaluate("document.activeElement.matches('#values .scroll') && document.activeElement.scrollTop") == 9
            browser.evaluate("document.getElementById('values').open = false")
            browser.evaluate("page.show(0.1, 0.2)")
            browser.evaluate("document.getElementById('theme').click()")
            more(browser)
            assert browser.evaluate("page.shown()") == [0.1, 0.2]
            assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
            browser.evaluate("page.show(page.data.to - 0.25, page.data.to)")
            more(browser)
            start, end, last = browser.evaluate("[...page.shown(), page.data.to]")
            assert end == last and abs(end - start - 0.25) < 1e-6, (start, end, last)
            assert not browser.errors, browser.errors
        browser.wait(TOLD + ".includes('does not answer')")
        with Server(FOLDER, "-i", "live.data", "--port", str(server.port)) as server:
            browser.wait(TOLD + ".includes('is not the server')")
            browser.errors.clear()  # errors of the server that was down
            browser.evaluate("window.isOld = true")
            browser.open(server.url, **WIDE)  # the same address except for the token: the page reloads
            browser.wait("!window.isOld && document.readyState === 'complete'")
            more(browser)
            assert recording.end() == 0
            browser.wait("page.data.run.some(([name, text]) => name === 'State' && text === 'complete')")
            browser.wait(TOLD + " === 'The recording has ended.'")
            expect(FOLDER.call("plot", "-i", "live.data", "-o", "ended.html"), 0)
            found = "page.data.panels.map(panel => panel.lines.map(line => [line.x, line.value]))"
            served = browser.evaluate(found)
            assert not browser.errors, browser.errors
            assert opened("ended.html", **WIDE).evaluate(found) == served


def test_live_code():
    """calls and functions of a served page follow the recording, with names, but not while somebody uses them"""
    if isinstance(BROWSER, tap.Skip):
        raise BROWSER
    name = "[...document.querySelectorAll('#functions tbody button')].some(each => each.textContent.includes('PyEval'))"
    samples = "parseInt(document.getElementById('codeAbout').textContent.replaceAll(',', ''))"
    with subprocess.Popen([RPISTAT, "record", "--pmu", "software", "-q", "--commit", "0", "-o", "busy.data", sys.executable,
                           "-c", "while True: pass"], cwd=FOLDER.path, env=environment(), stderr=subprocess.DEVNULL) as recorder:
        try:
            while recorder.poll() is None and not re.search(r"recording +\S+ s +[1-9]", FOLDER.call("runs", "-i", "busy.data").stdout):
                pass
            with Server(FOLDER, "-i", "busy.data") as server:
                browser = opened(server.url, **WIDE)
                if "no samples of the code" in FOLDER.call("report", "-i", "busy.data").stdout:
                    raise tap.Skip("no samples here")
                browser.wait(name)
                assert "recording" in FOLDER.call("runs", "-i", "busy.data").stdout
                browser.evaluate("window.isOld = true, document.getElementById('codeOf').value = 'all', page.search('PyEval')")
                browser.evaluate("document.getElementById('codeSearch').focus()")
                before = browser.evaluate("document.getElementById('code').isOld = " + samples)
                known = browser.evaluate("page.data.code.samples")
                browser.wait("page.data.code.samples > %d" % known)
                browser.frame()
                assert browser.evaluate("document.getElementById('code').isOld") == before
                browser.evaluate("document.activeElement.blur()")
                browser.wait("!document.getElementById('code').isOld && %s > %d" % (samples, before))
                assert browser.evaluate("[window.isOld, document.getElementById('codeOf').value, "
                                        "document.getElementById('codeSearch').value]") == [True, "all", "PyEval"]
                assert browser.evaluate("document.querySelectorAll('#code').length") == 1
                assert not browser.errors, browser.errors
        finally:
            recorder.terminate()


CASES = [test_wheel, test_drag, test_drag_outside, test_drag_cancelled, test_width, test_tip, test_touch, test_keyboard, test_tables, test_view, test_loop, test_nested_loop, test_ticks, test_axe, test_print,
         test_code_stretches, test_code_search, test_code_keyboard, test_code_marks, test_code_compared, test_code_touch, test_code_print,
         test_code_panel, test_code_steps, test_function_steps, test_code_fine_steps, test_compare_rows, test_compare_groups, test_compare_axes, test_compare_code, test_compare_latency, test_compare_bare,
         test_compare_narrow, test_live, test_live_code]

with FOLDER:
    expect(FOLDER.call("plot", "-o", "run.html"), 0)
    add_samples()
    expect(FOLDER.call("plot", "-o", "code.html"), 0)
    for name, script in [("before.sim", BEFORE), ("after.sim", AFTER)]:
        FOLDER.write(name, script)
        expect(FOLDER.call("record", "-q", "--pmu", "sim:" + name, "-o", "two.data"), 0)
    expect(FOLDER.call("compare", "-i", "two.data", "-o", "compare.html", "1", "2"), 0)
    for label, script in [("before", BEFORE), ("after", BEFORE.replace("solve 10s", "solve 14s"))] * 2:
        FOLDER.write("one.sim", script)
        expect(FOLDER.call("record", "-q", "--pmu", "sim:one.sim", "--label", label, "-o", "groups.data"), 0)
    expect(FOLDER.call("compare", "-i", "groups.data", "-o", "groups.html", "before", "after"), 0)
    expect(FOLDER.call("compare", "-i", "two.data", "--no-phases", "--no-samples", "-o", "bare.html", "1", "2"), 0)
    FOLDER.write("four.sim", "function serial 0x1000 0x100\nfunction parallel 0x2000 0x100\n"
                 "phase a 5s instructions=1M code=serial\nphase b 10s threads=4 instructions=1M code=parallel\n")
    for run in range(2):
        expect(FOLDER.call("record", "-q", "--pmu", "sim:four.sim", "--frequency", "100", "-o", "four.data"), 0)
    for name, options in (("cpu.html", ()), ("latency.html", ("--latency",))):
        expect(FOLDER.call("compare", "-i", "four.data", *options, "-o", name, "1", "2"), 0)
    FOLDER.write("loop.sim", "phase a 90s instructions=30M\nrepeat 50\nphase b 20s instructions=200M\n"
                 "phase c 10s instructions=400M\nend\nphase d 60s instructions=90M dc_miss=9M\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:loop.sim", "-o", "loop.data"), 0)
    expect(FOLDER.call("plot", "-q", "-i", "loop.data", "-o", "loop.html"), 0)
    FOLDER.write("nested.sim", "repeat 20\nphase b 4s instructions=90M\nrepeat 4\nphase c 2s instructions=200M\n"
                 "phase d 2s instructions=400M\nend\nend\n")
    expect(FOLDER.call("record", "-q", "--pmu", "sim:nested.sim", "-o", "nested.data"), 0)
    expect(FOLDER.call("plot", "-q", "-i", "nested.data", "-o", "nested.html"), 0)
    try:
        with Browser() as BROWSER:
            tap.main(CASES)
    except tap.Skip as reason:
        BROWSER = reason
        tap.main(CASES)
