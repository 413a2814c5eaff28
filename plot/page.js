/*
 * The interactive page: panels that zoom together, phases behind them, tables beside them. Everything
 * that comes from the recording is put in as text nodes, never as markup.
 */
"use strict";
const system = matchMedia("(prefers-color-scheme: dark)"), systemTheme = () => system.matches ? "dark" : "light";
let isSystemTheme = document.documentElement.dataset.theme === "auto";
if (isSystemTheme)
    document.documentElement.dataset.theme = systemTheme();

globalThis.startPage = found => {
/* What a comparison has none of. */
const OF_A_RUN = { from: 0, phases: { label: [] }, levels: [], loops: [], labels: [], marks: [], gaps: [], regions: [], figures: [], order: [],
                   phaseTable: { head: [], right: [], rows: [], notes: [] },
                   run: [], duty: { x: [] }, threadsPanel: null, gaugePanels: [], codePanel: null, code: null, zeros: "" };
const data = {};
const root = document.documentElement;
const ROWS = 500, TABLE_ROWS = 40;
const PRINT_WIDTH = 690, PRINT_ZOOM = 0.75;
const LEFT = 62, RIGHT = 34, HEIGHT = 150, SMALL = 52, BAND = 8, NOTE_ROW = 18, STRIP = 20, RAN = 5, RAN_COLOUR = "F06BE6";
const SMALL_FONT = "10px system-ui, 'DejaVu Sans', Arial, sans-serif";
const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
               900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 2592000];

/* Panels of other things than metrics. */
function ownPanels({ threadsPanel, gaugePanels, codePanel, duty }) {
    const panels = [];
    const addAreas = areas => {
        const { title, unit = "%", top = 100, at, lines } = areas, x = at.slice(1).map((end, i) => (at[i] + end) / 2), none = x.map(() => null);
        panels.push({ title, unit, from: 0, to: top, steps: at, colours: lines.map(line => line.colour),
            lines: lines.map(({ name, share }) => ({ label: name, unit, x, steps: at, value: share, min: share, max: share, low: none, high: none, explain: "" })) });
    };
    if (threadsPanel)
        addAreas(threadsPanel);
    for (const { title, unit, top, lines } of gaugePanels)
        panels.push({ title, unit, from: 0, to: top * 1.05, lines: lines.map(line => {
            const none = line.x.map(() => null);
            return { ...line, unit, low: none, high: none,
                     explain: unit === "MiB" ? "A page that several processes share is counted once per process." : "" };
        }) });
    if (codePanel)
        addAreas(codePanel);
    if (duty.x.length > 0)
        panels.push({
            title: "Counted: share of the time for which each event set was counted", unit: "%", from: 0, to: 100, small: true,
            lines: [{ label: "Counted", unit: "%", x: duty.x, value: duty.value, min: duty.value,
                      max: duty.value, low: duty.value, high: duty.value, explain: "Events are estimated for the rest of the time." }],
        });
    return panels;
}

/* The panels, with what the data leaves out as it is elsewhere in it. */
function complete(found) {
    const lines = found.panels.flatMap(panel => panel.lines);
    for (const line of lines) {
        const first = lines.find(other => other.side === line.side), isEven = (each, i) => i % 2 === 0;
        if (!line.x)
            Object.assign(line, { x: first.x, steps: first.steps });
        else if (line.isStepped) { // two points per step
            line.steps = line.x.filter(isEven).concat(line.x.slice(-1));
            line.x = line.steps.slice(1).map((end, i) => (line.steps[i] + end) / 2);
        }
        if (line.isStepped)
            line.value = line.value.filter(isEven);
        const unknown = line.low.length === 0 ? line.value.map(() => null) : null;
        line.min = line.min || line.value;
        line.max = line.max || line.value;
        line.low = unknown || line.low;
        line.high = unknown || line.high;
    }
    return [...found.panels, ...ownPanels(found)];
}

function take(found) {
    Object.assign(data, OF_A_RUN, found);
    data.panels = complete(data);
    data.phases = data.phases.label.map((label, i) => {
        const phase = { label };
        for (const name of Object.keys(data.phases))
            phase[name] = data.phases[name][i];
        return { start: phase.from, end: phase.to, ...phase };
    });
    data.starts = data.phases.map(phase => phase.from);
}

take(found);

const palette = () => data[root.dataset.theme];
const hex = (colour, opacity) => "#" + colour + Math.round(255 * opacity).toString(16).padStart(2, "0");

/* --- elements and numbers ------------------------------------------------------------------- */

function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
        if (key === "style")
            Object.assign(made.style, value);
        else
            key.includes("-") || key === "role" ? made.setAttribute(key, value) : made[key] = value;
    }
    for (const child of children)
        if (child !== null && child !== undefined)
            made.append(child);
    return made;
}

/* A unit that has a prefix, as MiB, takes no second one. */
const hasPrefix = unit => /^(%|[numkKMGTP\u00b5]([A-Z]|iB|s(?![a-z])))/.test(unit || "");

function number(value, unit) {
    if (value === null || value === undefined || !isFinite(value))
        return "-";
    const size = Math.abs(value);
    if (size !== 0 && (size < 0.001 || size >= 1e15))
        return value.toExponential(2);
    for (const [from, suffix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])
        if (size >= from && !hasPrefix(unit))
            return +(value / (suffix === "k" ? 1e3 : from)).toPrecision(3) + " " + suffix;
    return String(+value.toPrecision(4));
}

/* The numbers of an axis, under one prefix. */
function axisNumbers(values, unit) {
    const size = Math.max(...values.map(Math.abs));
    const [, scale, suffix] = [[1e12, 1e12, " T"], [1e9, 1e9, " G"], [1e6, 1e6, " M"], [1e4, 1e3, " k"], [1e-3, 1, ""],
                               [1e-6, 1e-3, " m"], [0, 1, ""]].find(([least]) => least === 0 || size >= least && !hasPrefix(unit));
    return values.map(value => value === 0 ? "0" : +(value / scale).toPrecision(6) + suffix);
}

const withUnit = (value, unit) => number(value, unit) + (unit && value !== null ? " " + unit : "");

/* --- time of day ------------------------------------------------------------------------------ */

/* By the zone of who drew the page. `ahead` of UTC it is so much from the place `from` on. */
let byClock = data.byClock;
let zones = data.zones || [];

/* What the clock shows, as the text of a moment in UTC; ends of the double's digits are no time. */
function wall(s) {
    const zone = zones.reduce((found, next) => s >= next.from - 1e-6 ? next : found);
    return new Date(Math.floor((data.startNs / 1e9 + zone.ahead + s) * 1000 + 0.001)).toISOString();
}

const ofDays = () => zones.length > 0 && wall(data.from).slice(0, 10) !== wall(data.to).slice(0, 10);

/* A tic: the date at midnight. */
function wallTic(s, step, decimals) {
    const text = wall(s);
    return step >= 86400 || text.slice(11, 23) === "00:00:00.000" ? text.slice(0, 10)
        : text.slice(11, step >= 60 ? 16 : decimals ? 20 + Math.min(3, decimals) : 19);
}

/* Multiples of the step between two places: of what the axis shows. */
function splits(plot, axis, low, high, step) {
    const found = [];
    const shown = byClock ? zones : [{ from: -Infinity, ahead: 0 }];
    shown.forEach((zone, i) => {
        const base = byClock ? (data.startNs / 1e9 + zone.ahead) % 86400 : 0;
        const end = i + 1 < shown.length ? shown[i + 1].from : Infinity;
        for (let k = Math.ceil((Math.max(low, zone.from) + base) / step - 1e-6); k * step - base < end &&
             k * step - base <= high + step * 1e-6; k++)
            found.push(k * step - base);
    });
    return found;
}

function clock(s, decimals) {
    if (byClock)
        return (ofDays() ? wall(s).slice(0, 10) + " " : "") + wall(s).slice(11, decimals ? 20 + Math.min(3, decimals) : 19);
    const whole = Math.floor(s / 60 + 1e-9);
    const pad = (value, digits) => String(value).padStart(digits, "0");
    const rest = (s - 60 * whole).toFixed(decimals);
    return pad(Math.floor(whole / 60), 2) + ":" + pad(whole % 60, 2) + ":" +
        rest.padStart(decimals ? 3 + decimals : 2, "0");
}

const place = (value, decimals) =>
    data.axisIsTime ? clock(value, decimals) : number(value);

function duration(s) {
    return s < 1 ? number(s * 1000) + " ms" : s < 120 ? s.toFixed(1) + " s"
        : s < 7200 ? (s / 60).toFixed(1) + " min" : (s / 3600).toFixed(2) + " h";
}

/* --- the part that is shown ----------------------------------------------------------------- */

const plots = [];
let from = data.from, to = data.to;

/* What the other scripts take from here. */
const page = globalThis.page = { data, element, palette, number, place, duration, shown: () => [from, to], ran: [],
    redrawPanels: () => plots.forEach(plot => plot.redraw(false, false)) };

function show(low, high) {
    const least = (data.to - data.from) * 1e-6;
    low = Math.max(data.from, low);
    high = Math.min(data.to, high);
    if (!(high - low > least))
        return;
    from = low;
    to = high;
    fitLevels();
    for (const plot of plots)
        plot.setScale("x", { min: from, max: to });
    drawStrip();
    fillValues();
    fillFigures();
    showRange();
    noteView();
    document.dispatchEvent(new Event("shown"));
    spot === null || spot < from || spot > to ? unpoint() : point(spot, near, false);
}

const showAll = () => show(data.from, data.to);

function showRange() {
    const decimals = Math.max(1, Math.min(6, Math.ceil(2 - Math.log10(to - from))));
    document.getElementById("shown").textContent = "Shown: " + place(from, decimals) + " to " + place(to, decimals);
}

/* What is shown stands in the address, to be kept or sent: "t" from and to, "level" so many phases, "clock". What has
 * no name there is a live page's token. */
let noting = 0;
const isAll = () => from <= data.from && to >= data.to;

function noteView() {
    clearTimeout(noting);
    noting = data.sides ? 0 : setTimeout(() => {
        const token = location.hash.slice(1).split("&").filter(part => part && !part.includes("="));
        const view = [...token, ...isAll() ? [] : ["t=" + [from, to].map(x => +x.toPrecision(9)).join(",")],
                      ...byHand === null ? [] : ["level=" + levels[byHand].total],
                      ...byClock === data.byClock ? [] : ["clock=" + Number(byClock)]].join("&");
        history.replaceState(null, "", location.href.split("#")[0] + (view && "#" + view));
    }, 300);
}

function takeView() {
    const view = new URLSearchParams(data.sides ? "" : location.hash.slice(1)), [low, high] = (view.get("t") || "").split(",");
    const level = levels.findIndex(({ total }) => total === Number(view.get("level")));
    byHand = level < 0 ? null : level;
    if (zones.length > 0 && byClock !== (view.has("clock") ? view.get("clock") === "1" : data.byClock))
        toggleClock();
    high ? show(Number(low), Number(high)) : showAll();
}

/* Zoom by a factor around a place, or move by a part of what is shown. */
function zoom(factor, middle) {
    const around = middle === null ? (from + to) / 2 : middle;
    show(around - (around - from) * factor, around + (to - around) * factor);
}

function move(part) {
    const shift = Math.max(data.from - from, Math.min(data.to - to, part * (to - from)));
    show(from + shift, to + shift);
}

/* --- levels of phases ----------------------------------------------------------------------- */

/* From coarse to fine: `at` are the boundaries, `label` the label of the chosen level that each phase is a part
 * of, `tint` its shade. The chosen level is the one of the tables. */
let levels, chosen;
const MOST_SHADED = 30, LEAST_SHADED = 12, LEAST_BAND = 4;  /* phases in view; their least width in pixels */
let byHand = null;                                          /* null: as fits what is shown */
let shaded, band = null;                                    /* levels of the panels, and of the band */

/* The label of a strip at a place, or undefined. */
const labelAt = (strip, x) =>
    x >= strip.at[0] && x <= strip.at[strip.at.length - 1]
        ? data.labels[strip.label[Math.min(lastUpTo(strip.at, x), strip.label.length - 1)]] : undefined;

/* The last index of an ascending list whose value is not above x; 0 when there is none. */
function lastUpTo(list, x) {
    let low = 0, high = list.length;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (list[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The phases of a level that are in view: from the first to before the end. */
function inView(level) {
    const end = lastUpTo(level.at, to);
    return [Math.min(lastUpTo(level.at, from), level.label.length - 1),
            Math.min(level.at[end] < to ? end + 1 : end, level.label.length)];
}

/* The strips of phases above the panels, and what is marked in each; phases of label -1 are not drawn. */
function takeLevels() {
    levels = data.phases.length === 0 ? [] : data.levels.length > 0 ? data.levels : [{
        total: data.phases.length, first: 0, tint: data.phases.map(() => 0), label: data.phases.map(phase => phase.label),
        at: [...data.phases.map(phase => phase.from), data.phases[data.phases.length - 1].to] }];
    shaded = chosen = levels.length > 0 ? data.shown : -1;
    band = null;
    byHand = byHand === null ? null : Math.min(byHand, levels.length - 1);
    page.strips = chosen < 0 ? [] : [{ ...levels[chosen], name: "Phases", marked: [] }];
    document.getElementById("level").hidden = levels.length < 2;
}

takeLevels();

const countInView = index => { const [first, end] = inView(levels[index]); return end - first; };
const acrossPixels = () => Math.max(10, document.getElementById("strip").clientWidth - LEFT - RIGHT);

/* The finest level above `least` of which at most so many are in view, or `least`. */
function finest(least, most) {
    for (let index = levels.length - 1; index > least; index--)
        if (countInView(index) <= most)
            return countInView(index) > countInView(least) ? index : least;
    return least;
}

/* Choose what the panels are shaded by, and the band: finer the fewer are in view. */
function fitLevels() {
    if (levels.length === 0)
        return;
    const whole = from <= data.from && to >= data.to, across = acrossPixels();
    shaded = byHand !== null ? byHand : whole ? chosen
        : finest(chosen, Math.min(MOST_SHADED, across / LEAST_SHADED));
    const least = Math.max(chosen, shaded), fine = finest(least, across / LEAST_BAND);
    band = fine > chosen ? fine : null;
    showLevel();
}

/* A place among the phases of the band. */
function finerName(x) {
    const level = levels[band];
    return "finer " + (level.first + Math.min(lastUpTo(level.at, x), level.label.length - 1) + 1) + " of " + level.total;
}

const buttons = { coarser: document.getElementById("coarser"), finer: document.getElementById("finer"),
                  auto: document.getElementById("auto") };

function showLevel() {
    const name = levels[shaded].total + " of " + levels[levels.length - 1].total + " phases";
    const output = document.getElementById("levelName");
    if (output.textContent !== name)
        output.textContent = name;
    /* not `disabled`, which would take the keyboard's focus away */
    buttons.coarser.setAttribute("aria-disabled", shaded === 0);
    buttons.finer.setAttribute("aria-disabled", shaded === levels.length - 1);
    buttons.auto.setAttribute("aria-pressed", byHand === null);
}

function chooseLevel(index) {
    byHand = index === null ? null : Math.max(0, Math.min(levels.length - 1, index));
    fitLevels();
    for (const plot of plots)
        plot.redraw(false, false);
    drawStrip();
    noteView();
}

/* --- loops ---------------------------------------------------------------------------------- */

/*
 * A loop is one strip until it is clicked, or its turns are wide enough for their letters. A loop inside it is
 * folded in the same way when the one around it is not. Loops follow those that they are inside.
 */
const TURN_WIDE = 60;
const unfolded = new Set();

/* The loops that are folded, with their places, where `at` gives those of pixels of this size. */
function foldedLoops(at, ratio) {
    let end = -Infinity; // of the last one that is folded
    return data.loops.map((loop, i) => ({ ...loop, a: at(loop.from), b: at(loop.to), i })).filter(({ i, from: begin, to: stop, turn }) => {
        const isFolded = begin >= end && !unfolded.has(i) && (at(begin + turn) - at(begin)) / ratio < TURN_WIDE;
        end = isFolded ? stop : end;
        return isFolded;
    });
}

/* The loops inside one: those that follow it, up to one that is as deep. */
function innerLoops(i) {
    const next = data.loops.findIndex(({ depth }, k) => k > i && depth <= data.loops[i].depth);
    return [...data.loops.keys()].slice(i + 1, next < 0 ? undefined : next);
}

const inLoop = (loops, x) => loops.some(({ a, b }) => x > a && x < b);

function toggleLoop(i, isOpen = !unfolded.has(i)) {
    if (isOpen)
        unfolded.add(i);
    else
        for (const loop of [i, ...innerLoops(i)])
            unfolded.delete(loop);
    for (const loop of isOpen ? [i] : [i, ...innerLoops(i)]) {
        for (const row of document.querySelectorAll("tr[data-loop='" + loop + "']"))
            row.hidden = !isOpen;
        for (const button of document.querySelectorAll("button[data-loop='" + loop + "']"))
            button.setAttribute("aria-expanded", isOpen);
    }
    for (const plot of plots)
        plot.redraw(false, false);
    drawStrip();
}

/* The loop at a place of the strip that a click unfolds, or folds. */
function clickLoop(x) {
    const at = place => LEFT + (place - from) / (to - from) * acrossPixels();
    const narrow = [...data.loops.entries()].filter(([i, { from: begin, to: end, turn }]) =>
        x >= at(begin) && x <= at(end) && at(begin + turn) - at(begin) < TURN_WIDE).map(([i]) => i);
    const folded = narrow.find(i => !unfolded.has(i)), found = folded === undefined ? narrow.pop() : folded;
    if (found !== undefined)
        toggleLoop(found);
}

/* --- phases, marks and gaps ----------------------------------------------------------------- */

function phaseAt(x) {
    const found = data.phases[lastUpTo(data.starts, x)];
    return found && x >= found.from && x <= found.to ? found : null;
}

/*
 * The phases of a level that are shown, as boxes in pixels. Where there would be a boundary every few
 * pixels, each column of pixels has the label that prevails in it, and there are no boundaries.
 */
function boxes(level, at, left, width, ratio) {
    const right = left + width, columns = Math.floor(width / ratio), [first, end] = inView(level), found = [];
    const exact = end - first <= columns / 4;
    for (let i = first; i < end && exact; i++)
        found.push({ label: level.label[i], tint: level.tint[i], a: Math.max(left, at(level.at[i])),
                     b: Math.min(right, at(level.at[i + 1])) });
    if (exact)
        return { exact, boxes: found };
    let next = first;
    for (let column = 0; column < columns; column++) {
        const a = left + column * ratio, b = a + ratio, length = new Map();
        for (; next < end; next++) {
            const high = at(level.at[next + 1]), key = 8 * level.label[next] + level.tint[next];
            const overlap = Math.min(b, high) - Math.max(a, at(level.at[next]));
            if (overlap > 0)
                length.set(key, (length.get(key) || 0) + overlap);
            if (high >= b)
                break;
        }
        if (length.size === 0)
            continue;
        const key = [...length].reduce((best, entry) => entry[1] > best[1] ? entry : best)[0];
        const label = key >> 3, tint = key & 7, last = found[found.length - 1];
        if (last && last.label === label && last.tint === tint && last.b >= a - 0.01)
            last.b = b;
        else
            found.push({ label, tint, a, b });
    }
    return { exact, boxes: found };
}

const patterns = {};

/* Diagonal lines, `gap` pixels apart. */
function hatching(context, colour, gap) {
    const key = colour + gap;
    if (!patterns[key]) {
        const tile = element("canvas", { width: gap, height: gap });
        const pen = tile.getContext("2d");
        pen.strokeStyle = colour;
        pen.lineWidth = 1;
        pen.beginPath();
        for (const shift of [-gap, 0, gap]) {
            pen.moveTo(shift - 1, gap + 1);
            pen.lineTo(shift + gap + 1, -1);
        }
        pen.stroke();
        patterns[key] = context.createPattern(tile, "repeat");
    }
    return patterns[key];
}

/* Behind the lines of a panel: `at` turns a place on the axis into pixels of the canvas. */
function drawBehind(context, at, left, top, width, height, ratio) {
    const colours = palette(), right = left + width;
    const box = (x0, x1, fill) => {
        const a = Math.max(left, at(x0)), b = Math.min(right, at(x1));
        if (b > a) {
            context.fillStyle = fill;
            context.fillRect(a, top, Math.max(b - a, 0.5), height);
        }
    };
    context.save();
    const level = shaded < 0 ? page.behind : levels[shaded];
    const phases = level ? boxes(level, at, left, width, ratio) : { boxes: [] };
    for (const { label, tint, a, b } of phases.boxes.filter(box => data.labels[box.label])) {
        /* the tints of a finer level lie around the colour of the whole */
        const shade = shaded > chosen ? colours.tint[tint] / colours.tint[2] : 1;
        context.fillStyle = hex(data.labels[label].colour, colours.veil * shade);
        context.fillRect(a, top, b - a, height);
        if (data.labels[label].hatched) {
            context.fillStyle = hatching(context, hex(colours.quiet, 0.25), 7 * ratio);
            context.fillRect(a, top, b - a, height);
        }
    }
    for (const { a } of phases.exact && shaded !== chosen ? phases.boxes : []) {
        if (a <= left)
            continue;
        context.fillStyle = hex(colours.axis, shaded > chosen ? 0.25 : 0.7);
        context.fillRect(Math.round(a), top, ratio, height);
    }
    const loops = foldedLoops(at, ratio);
    for (const phase of phases.exact && shaded >= chosen ? data.phases : []) {
        if (phase.from <= data.from || phase.from < from || phase.from > to || inLoop(loops, at(phase.from)))
            continue;
        if (at(phase.latest) - at(phase.earliest) > 2 * ratio)
            box(phase.earliest, phase.latest, hatching(context, hex(colours.axis, 0.45), 5 * ratio));
        context.fillStyle = hex(colours.axis, 0.7);
        context.fillRect(Math.round(at(phase.from)), top, ratio, height);
    }
    for (const gap of data.gaps) {
        box(gap.from, gap.to, "#" + colours.background);
        box(gap.from, gap.to, hatching(context, hex(colours.quiet, 0.5), 5 * ratio));
    }
    context.restore();
}

function drawMarks(context, at, left, top, width, height, ratio) {
    context.save();
    context.strokeStyle = "#" + palette().text;
    context.lineWidth = ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    context.beginPath();
    let last = -Infinity;
    for (const mark of data.marks) {
        const x = Math.round(at(mark.from)) + 0.5;
        if (x < left || x > left + width || x - last < 1)
            continue;
        last = x;
        context.moveTo(x, top);
        context.lineTo(x, top + height);
    }
    context.stroke();
    context.restore();
}

/* When the chosen function ran, below the axis: as opaque as its share of the time of each pixel. */
function drawRan(context, at, left, top, width, ratio) {
    const share = new Float64Array(Math.ceil(width));
    for (const { from: start, to: end, share: value } of page.ran) {
        const low = Math.max(0, at(start) - left), high = Math.min(share.length, at(end) - left);
        for (let x = Math.floor(low); x < high; x++)
            share[x] += value * (Math.min(high, x + 1) - Math.max(low, x));
    }
    share.forEach((value, x) => {
        if (value === 0)
            return;
        context.fillStyle = hex(RAN_COLOUR, 0.2 + 0.8 * Math.min(1, value));
        context.fillRect(left + x, top + ratio, 1, RAN * ratio);
    });
}

/* Texts of marks and gaps, and the labels of the phases. */
const strip = document.getElementById("strip");
const stripCanvas = element("canvas");
strip.append(stripCanvas);

/* A row a region: when anybody was in it, and its name, once, where it has room. */
function drawRegions(context, at, left, right) {
    context.textAlign = "left";
    for (const [row, { name, at: ends }] of data.regions.entries()) {
        const text = name.length > 32 ? name.slice(0, 31) + "\u2026" : name;
        const width = context.measureText(text).width + 10;
        const shown = [];
        for (let i = 0; i < ends.length; i += 2)
            if (ends[i + 1] >= from && ends[i] <= to)
                shown.push([Math.max(left, at(ends[i])), Math.min(right, at(ends[i + 1]))]);
        const named = shown.findIndex(([a], i) =>
            a + width <= (i + 1 < shown.length ? shown[i + 1][0] : right + RIGHT));
        context.fillStyle = hex(palette().text, 0.25);
        for (const [a, b] of shown)
            context.fillRect(a, row * NOTE_ROW + 2, Math.max(1, b - a), NOTE_ROW - 5);
        context.fillStyle = "#" + palette().text;
        if (named >= 0) {
            context.fillRect(shown[named][0], row * NOTE_ROW + 1, 1, 15);
            context.fillText(text, shown[named][0] + 4, row * NOTE_ROW + 8);
        }
    }
}

function drawNotes(context, at, left, right) {
    const top = data.regions.length * NOTE_ROW;
    const notes = [...data.marks, ...data.gaps.map(gap => ({ ...gap, text: "not recorded: " + gap.text }))]
        .sort((a, b) => a.from - b.from);
    let free = -Infinity;
    context.textAlign = "left";
    context.fillStyle = "#" + palette().text;
    for (const note of notes) {
        const x = Math.max(left, at(note.from));
        const text = note.text.length > 32 ? note.text.slice(0, 31) + "\u2026" : note.text;
        const width = context.measureText(text).width + 10;
        if (at(note.to) < left || x > right || x < free || x + width > right + RIGHT)
            continue;
        free = x + width;
        context.fillRect(x, top + 1, 1, 15);
        context.fillText(text, x + 4, top + 8);
    }
}

/* The finer phases, under the strip: tints of those that they are parts of. */
function drawBand(context, at, top, across) {
    const colours = palette();
    for (const { label, tint, a, b } of boxes(levels[band], at, LEFT, across, 1).boxes) {
        context.fillStyle = hex(colours.ink[label % colours.ink.length], colours.tint[tint]);
        context.fillRect(a, top, b - a, BAND);
    }
    context.fillStyle = "#" + colours.quiet;
    context.textAlign = "right";
    context.font = SMALL_FONT;
    context.fillText(levels[band].total + " finer", LEFT - 7, top + BAND / 2);
}

/* A strip of phases, with its name to the left. */
function drawPhases(context, { label: labels, tint, at: places, name, marked }, at, top, across) {
    const phases = boxes({ label: labels, tint, at: places }, at, LEFT, across, 1), loops = foldedLoops(at, 1);
    for (const { label: index, a, b } of phases.boxes) {
        const isFolded = inLoop(loops, (a + b) / 2);
        const label = data.labels[index];
        if (!label || b <= a)
            continue;
        context.fillStyle = "#" + label.colour;
        context.fillRect(a, top, b - a, 18);
        if (label.hatched) {
            context.fillStyle = hatching(context, "#00000055", 6);
            context.fillRect(a, top, b - a, 18);
        }
        if (phases.exact && !(isFolded && inLoop(loops, b))) {
            context.fillStyle = "#" + palette().background;
            context.fillRect(b - 0.5, top, 1, 18);
        }
        context.fillStyle = "#101010";
        context.textAlign = "center";
        if (!isFolded && b - a > context.measureText(label.name).width + 4)
            context.fillText(label.name, (a + b) / 2, top + 9.5);
    }
    for (const loop of loops) {
        const a = Math.max(LEFT, loop.a), b = Math.min(LEFT + across, loop.b), room = context.measureText(loop.name).width + 8;
        if (b - a < room)
            continue;
        context.fillStyle = "#" + palette().background;
        context.fillRect((a + b - room) / 2, top + 2, room, 14);
        context.fillStyle = "#" + palette().text;
        context.fillText(loop.name, (a + b) / 2, top + 9.5);
    }
    context.fillStyle = "#" + palette().quiet;
    context.textAlign = "right";
    context.fillText(name, LEFT - 7, top + 9.5);
    context.strokeStyle = "#" + palette().text;
    context.lineWidth = 2;
    for (const [a, b] of marked)
        if (b > from && a < to)
            context.strokeRect(Math.max(LEFT, at(a)) + 1, top + 1, Math.min(LEFT + across, at(b)) - Math.max(LEFT, at(a)) - 2, 16);
}

function drawStrip() {
    const ratio = devicePixelRatio || 1, width = strip.clientWidth;
    const notes = (data.regions.length + (data.marks.length + data.gaps.length > 0)) * NOTE_ROW;
    const height = notes + STRIP * page.strips.length + (levels.length > chosen + 1 ? BAND + 2 : 0);
    const context = stripCanvas.getContext("2d");
    const across = width - LEFT - RIGHT, right = LEFT + across;
    const at = x => LEFT + (x - from) / (to - from) * across;

    stripCanvas.width = width * ratio;
    stripCanvas.height = height * ratio;
    stripCanvas.style.height = height + "px";
    if (height === 0)
        return;
    context.scale(ratio, ratio);
    context.font = "12px system-ui, 'DejaVu Sans', Arial, sans-serif";
    context.textBaseline = "middle";
    drawRegions(context, at, LEFT, right);
    drawNotes(context, at, LEFT, right);
    page.strips.forEach((each, row) => drawPhases(context, each, at, notes + STRIP * row, across));
    if (band !== null)
        drawBand(context, at, notes + STRIP, across);
}

/* --- panels --------------------------------------------------------------------------------- */

const same = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/* Lines as uPlot wants them: one x, then value, min, max, low and high of each line. CPUs have places of their
 * own, which are joined. */
function aligned(panel) {
    const columns = line => [line.x, line.value, line.min, line.max, line.low, line.high];
    const first = panel.lines[0];
    if (!first)
        return [[data.from, data.to], [null, null]];
    if (panel.lines.every(line => same(line.x, first.x)))
        return [first.x, ...panel.lines.flatMap(line => columns(line).slice(1))];
    return uPlot.join(panel.lines.map(columns), panel.lines.map(() => [2, 2, 2, 2, 2, 2]));
}

/* The highest value that is shown, or the whole panel's scale where no part is. */
function scaleOf(panel, plot) {
    if (panel.steps || panel.lines.some(line => line.steps) || from <= data.from && to >= data.to)
        return [panel.from, panel.to];
    let low = Math.min(0, panel.from), high = -Infinity;
    const x = plot.data[0];
    for (let i = 0; i < x.length; i++) {
        if (x[i] < from || x[i] > to)
            continue;
        for (let k = 1; k < plot.data.length; k++) {
            const value = plot.data[k][i];
            if (value !== null && value !== undefined && value <= panel.to) {
                high = Math.max(high, value);
                low = Math.min(low, value);
            }
        }
    }
    return high > low ? [low, low + (high - low) * 1.05] : [panel.from, panel.to];
}

function axes(panel, last) {
    const axis = {
        stroke: () => "#" + palette().text,
        grid: { show: !panel.steps, stroke: () => "#" + palette().grid, width: 1 },
        ticks: { stroke: () => "#" + palette().axis, width: 1, size: 4 },
        font: "12px system-ui, 'DejaVu Sans', Arial, sans-serif",
    };
    return [
        { ...axis, size: last ? 44 : 8, label: last ? data.axisLabel : undefined, labelSize: 18,
          labelFont: axis.font, space: 90, incrs: data.axisIsTime ? STEPS : undefined,
          splits,
          values: (plot, splits, i, space, step) => splits.map(value => {
              const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
              return !last ? "" : byClock ? wallTic(value, step, decimals)
                  : data.axisIsTime ? clock(value, decimals) : String(+(value / data.axisScale).toPrecision(6));
          }) },
        { ...axis, size: LEFT, space: 30,
          values: (plot, splits) => axisNumbers(splits, panel.unit) },
    ];
}

/* A line with a constant value in each step. */
const stepsPath = ({ steps, value }) => plot => {
    const stroke = new Path2D(), across = x => plot.valToPos(x, "x", true);
    value.forEach((each, i) => {
        if (each === null)
            return;
        const y = plot.valToPos(each, "y", true);
        if (i === 0 || value[i - 1] === null)
            stroke.moveTo(across(steps[i]), y);
        stroke.lineTo(across(steps[i]), y);
        stroke.lineTo(across(steps[i + 1]), y);
    });
    return { stroke, flags: 0 };
};

function seriesOf(panel) {
    const series = [{}], bands = [];
    panel.lines.forEach((line, n) => {
        const colour = () => panel.steps ? "transparent" : lineColour(panel, n);
        const edge = { stroke: "transparent", width: 0, points: { show: false } };
        series.push({ stroke: colour, points: line.steps ? { show: false } : undefined, paths: line.steps && !panel.steps ? stepsPath(line) : undefined, width: 1.6, dash: n >= 8 ? [6, 4] : undefined, spanGaps: false },
                    edge, { ...edge }, { ...edge }, { ...edge });
        if (panel.steps)
            return;
        bands.push({ series: [5 * n + 3, 5 * n + 2], fill: () => hex(palette().line[n % 8], 0.22) });
        bands.push({ series: [5 * n + 5, 5 * n + 4], fill: () => hex(palette().line[n % 8], 0.28) });
    });
    if (panel.lines.length === 0)
        series.push({ stroke: "transparent" });
    return { series, bands };
}

const lineColour = (panel, n) => "#" + (!panel.steps ? palette().line[n % 8]
    : panel.colours[n] === -2 ? palette().quiet : panel.colours[n] < 0 ? palette().grid : palette().area[panel.colours[n]]);

/* Shares, one on another. A pixel has the mean of the steps in it, of each as much as lies there: a loop would
 * beat with any one of them. */
function drawSteps(context, panel, at, { left, top, width, height }) {
    const places = panel.steps.map(x => at(x) - left), base = new Float64Array(Math.ceil(width));
    panel.lines.forEach((line, n) => {
        const share = new Float64Array(base.length);
        line.value.forEach((value, i) => {
            const low = Math.max(0, places[i]), high = Math.min(share.length, places[i + 1]);
            for (let x = Math.floor(low); x < high; x++)
                share[x] += (value || 0) * (Math.min(high, x + 1) - Math.max(low, x));
        });
        context.fillStyle = lineColour(panel, n);
        share.forEach((each, x) => {
            const low = base[x], high = base[x] = Math.min(panel.to, low + each);
            if (high > low)
                context.fillRect(left + x, top + height * (1 - high / panel.to), 1, height * (high - low) / panel.to);
        });
    });
    context.fillStyle = "#" + palette().background;
    for (const phase of data.phases.length <= MOST_SHADED * 4 ? data.phases : [])
        if (phase.from > Math.max(from, data.from) && phase.from < to)
            context.fillRect(Math.round(at(phase.from)), top, uPlot.pxRatio, height);
}

/* With Ctrl (which a trackpad's pinch is told as) or the command key; else the page scrolls. */
function wheel(plot) {
    plot.over.addEventListener("wheel", event => {
        if (!event.ctrlKey && !event.metaKey)
            return;
        event.preventDefault();
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), plot.posToVal(event.offsetX, "x"));
    }, { passive: false });
}

/* One finger shows values where it taps, and moves what is zoomed; two zoom, each keeping the place it
 * was put on. Up and down scrolls the page: see touch-action. */
function touch(plot) {
    const fingers = new Map();
    let held = [], low, high, moved;
    const across = x => (x - plot.over.getBoundingClientRect().left) / plot.over.clientWidth;
    const hold = () => {
        held = [...fingers.values()].map(across);
        [low, high] = [from, to];
    };
    const end = event => {
        if (fingers.size === 1 && event.type === "pointerup" && !moved)
            point(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"), plots.indexOf(plot), false);
        fingers.delete(event.pointerId);
        hold();
    };
    plot.over.addEventListener("pointerdown", event => {
        if (event.pointerType !== "touch")
            return;
        moved = fingers.size > 0;
        fingers.set(event.pointerId, event.clientX);
        hold();
    });
    plot.over.addEventListener("pointermove", event => {
        if (!fingers.has(event.pointerId))
            return;
        fingers.set(event.pointerId, event.clientX);
        const [a, b] = [...fingers.values()].map(across), length = high - low;
        moved = moved || Math.abs(a - held[0]) * plot.over.clientWidth > 8;
        if (!moved)
            return;
        if (b === undefined) {
            const shift = Math.max(data.from - low, Math.min(data.to - high, (held[0] - a) * length));
            show(low + shift, high + shift);
        } else if (Math.abs(b - a) > 0.02) {
            const span = Math.abs((held[1] - held[0]) / (b - a)) * length;
            const start = low + (held[0] + held[1]) / 2 * length - (a + b) / 2 * span;
            show(start, start + span);
        }
    });
    plot.over.addEventListener("pointerup", end);
    plot.over.addEventListener("pointercancel", end);
}

/*
 * Dragging zooms to the range between the two ends; with Shift it moves what is shown. The pointer is captured, so that
 * it may leave the panel and the window: uPlot's own selection jumps to the panel's start when that happens.
 */
function drag(plot) {
    let dragged = null;
    const pixel = event => Math.max(0, Math.min(plot.over.clientWidth, event.clientX - plot.over.getBoundingClientRect().left));
    const ends = event => [plot.valToPos(dragged.start, "x"), pixel(event)].sort((a, b) => a - b);
    const select = (left, width) => plot.setSelect({ left, width, top: 0, height: plot.over.clientHeight }, false);
    const moveTo = event => {
        const { x, low, high } = dragged, shift = (x - event.clientX) / plot.over.clientWidth * (high - low);
        const possible = Math.max(data.from - low, Math.min(data.to - high, shift));
        show(low + possible, high + possible);
    };
    plot.over.addEventListener("pointerdown", event => {
        if (event.pointerType === "touch" || event.button !== 0)
            return;
        plot.over.setPointerCapture(event.pointerId);
        dragged = { start: plot.posToVal(pixel(event), "x"), x: event.clientX, low: from, high: to, moves: event.shiftKey };
    });
    plot.over.addEventListener("pointermove", event => {
        if (dragged !== null && dragged.moves)
            moveTo(event);
        else if (dragged !== null)
            select(ends(event)[0], ends(event)[1] - ends(event)[0]);
    });
    plot.over.addEventListener("pointerup", event => {
        if (dragged === null || dragged.moves)
            return;
        const [left, right] = ends(event);
        if (right - left > 3)
            show(plot.posToVal(left, "x"), plot.posToVal(right, "x"));
    });
    plot.over.addEventListener("lostpointercapture", () => {
        dragged = null;
        select(0, 0);
    });
}

function addPanel(panel, last) {
    const holder = element("div", { className: "panel" });
    const heading = element("h2", {}, panel.title);
    if (panel.lines.length > 1)
        panel.lines.forEach((line, n) => heading.append(element("span", { className: "key", title: line.explain },
            element("i", { className: panel.steps ? "area" : n >= 8 ? "dashed" : "" }),
            line.label + (panel.unit || !line.unit ? "" : " (" + line.unit + ")"))));
    else if (panel.lines.length === 1)
        heading.title = panel.lines[0].explain;
    holder.append(heading);
    document.getElementById("panels").append(holder);

    const options = {
        width: holder.clientWidth, height: (panel.small ? SMALL : HEIGHT) + (last ? 36 : 0),
        legend: { show: false },
        padding: [9, RIGHT, 0, 0],
        cursor: {
            y: false,
            bind: { mousedown: () => null, dblclick: () => () => { showAll(); return null; } },
        },
        scales: {
            x: { time: false, range: () => [from, to] },
            y: { range: plot => scaleOf(panel, plot) },
        },
        axes: axes(panel, last),
        ...seriesOf(panel),
        hooks: {
            init: [drag, wheel, touch],
            drawClear: [plot => {
                const at = x => plot.valToPos(x, "x", true);
                const { left, top, width, height } = plot.bbox;
                if (panel.steps)
                    drawSteps(plot.ctx, panel, at, plot.bbox);
                else
                    drawBehind(plot.ctx, at, left, top, width, height, uPlot.pxRatio);
            }],
            draw: [plot => {
                const at = x => plot.valToPos(x, "x", true);
                const { left, top, width, height } = plot.bbox;
                drawMarks(plot.ctx, at, left, top, width, height, uPlot.pxRatio);
                drawRan(plot.ctx, at, left, top + height, width, uPlot.pxRatio);
            }],
        },
    };
    const plot = new uPlot(options, aligned(panel), holder);
    plot.heading = heading;
    plot.panel = panel;
    plots.push(plot);
    colourKeys(plot);
}

function colourKeys(plot) {
    plot.heading.querySelectorAll("i").forEach((key, n) => {
        key.style.background = key.style.borderColor = lineColour(plot.panel, n);
    });
}

/* --- the values at a place ------------------------------------------------------------------- */

const panels = document.getElementById("panels"), spoken = document.getElementById("spoken");
const tip = element("div", { id: "tip" });
document.getElementById("figure").append(tip);
let spot = null, near = 0, saying = 0, byKey = false;     /* on the axis, null: nowhere; the panel whose values come first */

function swatch(label) {
    return element("span", { className: "swatch" + (label.hatched ? " hatched" : ""),
                             style: { backgroundColor: "#" + label.colour } }, label.name);
}

const cell = (content, className) => element("td", { className: className || "" }, content);

/* Steps are not all as long: the next middle may be that of another one. */
const stepAt = (steps, x) => Math.min(lastUpTo(steps, x), steps.length - 2);

/* The point of a line that is nearest to a place, or its step there; undefined where the line has nothing there. */
function nearest(line, x) {
    if (line.steps) {
        const at = stepAt(line.steps, x);
        return line.value[at] === null ? undefined : at;
    }
    const i = lastUpTo(line.x, x), next = line.x[i + 1] - x < x - line.x[i] ? i + 1 : i, last = line.x.length - 1;
    const isFar = Math.abs(line.x[next] - x) > 2 * (line.x[last] - line.x[0]) / last;
    return last < 0 || isFar || line.value[next] === null ? undefined : next;
}

/* The rows of a panel: all that is known of the one that is pointed at, the values of the others. */
function tipRows(panel, first) {
    const at = panel.lines.map(line => nearest(line, spot));
    const range = (least, most) => number(least) + " \u2026 " + number(most);
    const shown = panel.lines.map((line, n) => n).filter(n => at[n] !== undefined && (!panel.steps || panel.lines[n].value[at[n]] > 0));
    const dot = n => element("span", { style: { color: lineColour(panel, n) } }, "\u25cf ");
    if (shown.length > 4 && !first && !panel.steps) {
        const values = shown.map(n => panel.lines[n].value[at[n]]);
        return [element("tr", {}, cell(panel.title), cell(range(Math.min(...values), Math.max(...values)), "number"), cell(""))];
    }
    const rows = shown.map(n => {
        const [value, least, most, low, high] = ["value", "min", "max", "low", "high"].map(name => panel.lines[n][name][at[n]]);
        const row = element("tr", {}, cell(dot(n)), cell(withUnit(value, panel.lines[n].unit), "number"),
            cell(!first ? "" : [least !== most ? range(least, most) : "",
                                low != null && high != null ? "95 %: " + range(low, high) : ""].filter(text => text).join(", "),
                 "range"));
        row.firstChild.append(panel.lines[n].label);
        return row;
    });
    if ((data.apart || data.sides) && rows.length > 0)
        rows.unshift(element("tr", {}, element("td", { colSpan: 3, className: "range" }, panel.title)));
    return rows;
}

const isInside = (region, x) =>
    region.at.some((start, i) => i % 2 === 0 && start <= x && x < region.at[i + 1]);

/* Where there are phases, their name at the place; the regions around it; marks that are no further off than 4 pixels. */
function fillTip(plot) {
    const phase = phaseAt(spot), body = element("tbody");
    for (const n of [...plots.keys()].sort((a, b) => (b === near) - (a === near)))
        body.append(...tipRows(data.panels[n], n === near));
    const labels = page.strips.map(strip => [data.sides ? " " + strip.name + " " : null, labelAt(strip, spot)]);
    tip.replaceChildren(element("div", {}, place(spot, 2) + "  ", ...labels.flatMap(([name, label]) => label ? [name, swatch(label)] : []),
        phase && band !== null ? " " + finerName(spot) : null,
        phase ? element("div", { className: "words" }, data.labels[phase.label].words) : null), element("table", {}, body));
    for (const mark of data.marks)
        if (Math.abs(plot.valToPos(mark.from, "x") - plot.valToPos(spot, "x")) < 4)
            tip.append(element("div", {}, "\u25b8 " + mark.text));
    const inside = data.regions.filter(region => isInside(region, spot)).map(region => region.name);
    if (inside.length > 0)
        tip.append(element("div", {}, "in " + inside.join(", ")));
}

/* Beside the place in the window, below its panel's top; of a narrow window at the foot. */
function placeTip(plot, clientY) {
    const over = plot.over.getBoundingClientRect(), x = over.left + plot.valToPos(spot, "x");
    const top = clientY === null ? Math.max(6, over.top) : clientY + 14;
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16) + "px";
    tip.style.top = Math.max(6, Math.min(innerHeight - box.height - 6, top)) + "px";
}

/* Show the values at a place of the point that is nearest to it; say them where the keyboard asked. */
function point(x, panel, aloud, clientY = null) {
    const plot = plots[near = panel], at = Math.max(from, Math.min(to, x)), steps = plot.panel.steps || plot.panel.lines.map(line => line.steps)[0];
    spot = plot.data[0][steps ? stepAt(steps, at) : plot.valToIdx(at)];
    for (const each of plots)
        each.setCursor({ left: each.valToPos(spot, "x"), top: 0 }, false);
    fillTip(plot);
    placeTip(plot, clientY);
    clearTimeout(saying);
    if (aloud)
        saying = setTimeout(() => { spoken.textContent = tip.innerText.replace(/\s+/g, " "); }, 200);
}

function unpoint() {
    spot = null;
    tip.style.display = "none";
    for (const plot of plots)
        plot.setCursor({ left: -10, top: -10 }, false);
}

const plotOf = target => plots.findIndex(plot => plot.over.contains(target));

panels.addEventListener("mousemove", event => {
    byKey = false;
    const n = plotOf(event.target);
    if (n < 0)
        unpoint();
    else
        point(plots[n].posToVal(event.clientX - plots[n].over.getBoundingClientRect().left, "x"), n, false, event.clientY);
});
panels.addEventListener("mouseleave", () => { if (!byKey) unpoint(); });
document.addEventListener("pointerdown", event => { if (plotOf(event.target) < 0) unpoint(); });

/* Steps of a point, or of a hundredth where points are closer. */
function step(times) {
    const x = plots[near].data[0], each = Math.max(1, Math.round((lastUpTo(x, to) - lastUpTo(x, from)) / 100));
    if (spot === null)
        return point((from + to) / 2, near, true);
    point(x[Math.max(0, Math.min(x.length - 1, plots[near].valToIdx(spot) + times * each))], near, true);
}

const KEYS = {
    ArrowLeft: shift => shift ? move(-0.1) : step(-1), ArrowRight: shift => shift ? move(0.1) : step(1),
    PageUp: () => step(-10), PageDown: () => step(10),
    ArrowUp: () => point(spot === null ? (from + to) / 2 : spot, Math.max(0, near - 1), true),
    ArrowDown: () => point(spot === null ? (from + to) / 2 : spot, Math.min(plots.length - 1, near + 1), true),
    Home: () => point(from, near, true), End: () => point(to, near, true),
    "+": () => zoom(0.5, spot), "=": () => zoom(0.5, spot), "-": () => zoom(2, spot), "0": showAll,
    Escape: () => spot === null ? showAll() : unpoint(),
};

panels.addEventListener("keydown", event => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey)
        return;
    event.preventDefault();
    byKey = true;
    KEYS[event.key](event.shiftKey);
});
panels.addEventListener("blur", unpoint);

/* What is shown, as a table: of so many points of each line, which are those of the panels. */
function fillValues() {
    const holder = document.getElementById("values");
    if (!holder.open || plots.length === 0)
        return;
    const x = plots[0].data[0], first = x[lastUpTo(x, from)] < from ? lastUpTo(x, from) + 1 : lastUpTo(x, from);
    const end = lastUpTo(x, to) + 1, each = Math.max(1, Math.ceil((end - first) / TABLE_ROWS));
    const lines = data.panels.flatMap(panel => panel.lines.map(line => ({ line, panel })));
    const rows = [];
    for (let i = first; i < end; i += each)
        rows.push(element("tr", {}, element("th", { scope: "row", className: "number" }, place(x[i], 2)),
            ...lines.map(({ line }) => cell(number(line.value[nearest(line, x[i])]), "number"))));
    const made = table("Values over time", ["Time", ...lines.map(({ line, panel }) => (data.apart || data.sides ? panel.title + ", " : "") +
        line.label + (line.unit && !data.sides ? " (" + line.unit + ")" : ""))], rows);
    inPlace([holder], () => holder.replaceChildren(holder.firstElementChild,
        element("p", { className: "hint" }, (each > 1 ? "1 point in " + each : "All points") + " of the time range shown."), made));
}

/* --- tables --------------------------------------------------------------------------------- */

/* Tables that are made anew are scrolled and focused as they were. */
function inPlace(holders, change) {
    const all = what => holders.flatMap(holder => [...holder.querySelectorAll(what)]);
    const places = all(".scroll").map(each => [each.scrollLeft, each.scrollTop]);
    const focused = all("button, .scroll").indexOf(document.activeElement);
    change();
    all(".scroll").forEach((each, i) => each.scrollTo(...places[i] || [0, 0]));
    if (focused >= 0 && all("button, .scroll")[focused])
        all("button, .scroll")[focused].focus({ preventScroll: true });
}

/* A table that scrolls by itself, with the keyboard too. Headings: the first column's to the left. */
function table(name, headings, rows) {
    const head = headings.map((text, n) => text ? element("th", { scope: "col", className: n > 0 ? "number" : "" }, text) : element("td"));
    return element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": name },
        element("table", { className: "data" }, headings.length ? element("thead", {}, element("tr", {}, ...head)) : null,
            element("tbody", {}, ...rows)));
}

function addTable(title, headings, rows, where = "tables", notes = []) {
    if (rows.length > 0)
        (where.nodeType ? where : document.getElementById(where)).append(element("section", {}, element("h2", {}, title), table(title, headings, rows),
            ...notes.map(note => element("p", { className: "hint" }, note))));
}

const rowHead = content => element("th", { scope: "row" }, content);

/* All but the first of a row of a table that the document has made. */
const gridCells = (row, right) => row.slice(1).map((text, i) => cell(text, right[i + 1] ? "number" : ""));

/* The mean of a line's points over what is shown, each for as long as it stands for. */
function meanShown({ x, value }) {
    const end = x.length - 1, middle = i => (x[Math.max(0, i)] + x[Math.min(end, i + 1)]) / 2;
    const edge = i => i < 0 ? x[0] - (middle(0) - x[0]) : i >= end ? x[end] + (x[end] - middle(end - 1)) : middle(i);
    let sum = 0, time = 0;
    for (let i = Math.max(0, lastUpTo(x, from) - 1); i <= end && edge(i - 1) < to; i++) {
        const length = Math.min(to, edge(i)) - Math.max(from, edge(i - 1));
        if (length > 0 && value[i] !== null) {
            sum += length * value[i];
            time += length;
        }
    }
    return time > 0 ? sum / time : null;
}

/* The command that tests how the part that is shown differs from the rest of the run. */
function explainNotes() {
    const number = data.axisIsTime && !isAll() && data.run.find(([name]) => name === "Number");
    const time = x => Math.max(0, x).toFixed(Math.max(1, Math.min(6, Math.ceil(2 - Math.log10(to - from))))) + "s";
    return number ? [`This page tests no differences. For the metrics, programs and functions that differ from the rest of the run by more than chance: rpistat explain ${number[1]} --from ${time(from)} --to ${time(to)}`] : [];
}

/* Of the whole run, and where a part is shown of that. */
let figures = null;

function fillFigures() {
    if (!figures || data.sides)
        return;
    const lines = data.apart ? [] : data.panels.filter(panel => !panel.steps).flatMap(panel => panel.lines), isPart = !isAll() && lines.length > 0;
    const rows = data.figures.filter(({ whole }) => whole !== null).map(({ label, unit, whole }) => {
        const line = lines.find(each => each.label === label && each.unit === unit);
        return element("tr", {}, rowHead(label), isPart ? cell(line ? withUnit(meanShown(line), unit) : "", "number") : null,
                       cell(withUnit(whole, unit), "number"));
    });
    inPlace([figures], () => {
        figures.replaceChildren();
        addTable(isPart ? "Metrics of the time range shown" : "Metrics of the whole run", isPart ? ["Metric", "Shown", "Whole run"] : [], rows, figures,
                 [...isPart ? ["Shown: the mean of the points between " + place(from, 2) + " and " + place(to, 2) + "."] : [],
                  ...explainNotes()]);
    });
}

function addPhaseTable() {
    const { head, right, rows, notes } = data.phaseTable, last = Math.max(0, rows.length - 1);
    const lines = data.phases.map((phase, i) => {
        const button = element("button", { className: "link", title: "Zoom to this phase" }, swatch(data.labels[phase.label]),
            i < last && rows[i][0].endsWith("?") ? "?" : "");
        button.addEventListener("click", () => {
            const room = (phase.to - phase.from) * 0.08, figure = document.getElementById("figure");
            show(phase.from - room, phase.to + room);
            if (figure.getBoundingClientRect().bottom < 100)
                figure.scrollIntoView();
        });
        return element("tr", {}, rowHead(button), ...gridCells(i < last ? rows[i] : [""], right));
    });
    data.loops.forEach((loop, i) => {
        for (const line of lines.slice(loop.first, loop.first + loop.count)) {
            line.dataset.loop = i; // of several the innermost
            line.hidden = !unfolded.has(i);
        }
    });
    data.loops.map((loop, i) => [loop, i]).reverse().forEach(([loop, i]) => {
        const button = element("button", { className: "link", title: "Show or hide all iterations" }, loop.name);
        button.dataset.loop = i;
        button.setAttribute("aria-expanded", unfolded.has(i));
        button.addEventListener("click", () => toggleLoop(i));
        const words = cell(loop.words, "text");
        words.colSpan = Math.max(1, head.length - 1);
        const row = element("tr", {}, rowHead(button), words), outer = data.loops.findLastIndex(({ depth }, k) => k < i && depth < loop.depth);
        if (loop.depth > 1) {
            row.dataset.loop = outer;
            row.hidden = !unfolded.has(outer);
        }
        lines.splice(loop.first, 0, row);
    });
    for (const row of rows.slice(last))
        lines.push(element("tr", {}, rowHead(row[0]), ...gridCells(row, right)));
    addTable("Phases in order of time", head, lines, "wide",
        data.phases.length > last ? [...notes, "Metrics of the first " + last + " phases."] : notes);
}

/* A row a label, and those of all of them. */
function addLabelTable() {
    if (!data.labelTable)
        return;
    const { head, right, rows, notes } = data.labelTable;
    addTable("Phase classes", head, rows.map((row, i) => element("tr", {},
        rowHead(i < data.labels.length ? swatch(data.labels[i]) : row[0]), ...gridCells(row, right))), "wide", notes);
}

function addTables() {
    addPhaseTable();
    addTable("Each class compared with the whole run", [], data.labels.filter(label => label.words).map(label =>
        element("tr", {}, rowHead(swatch(label)), cell(label.words, "text"))));
    addLabelTable();
    figures = element("div");
    document.getElementById("tables").append(figures);
    fillFigures();
    addTable("Regions of the program", ["Region", "Times entered", "Time inside"], data.regions.map(region =>
        element("tr", {}, rowHead(region.name), cell(String(region.entered), "number"), cell(duration(region.time), "number"))));
    addTable("Marks", [], data.marks.slice(0, ROWS).map(mark =>
        element("tr", {}, rowHead(clock(mark.start, 2)), cell(mark.text, "text"))));
    addTable("Not recorded", [], data.gaps.slice(0, ROWS).map(gap => element("tr", {},
        rowHead(clock(gap.start, 2)), cell(duration(gap.length), "number"), cell(gap.text, "text"))));
    addTable("Run", [], data.run.map(([name, text]) => element("tr", {}, rowHead(name), cell(text, "text"))));
}

/* The tables anew. */
function renewTables() {
    const holders = [document.getElementById("tables"), document.getElementById("wide")];
    inPlace(holders, () => {
        for (const holder of holders)
            holder.replaceChildren();
        addTables();
    });
}

/* --- a run that goes on ----------------------------------------------------------------------- */

/* After a change of the data as much is shown as before: the whole, or the last part, where that was shown. */
function extend(change) {
    const length = to - from, isEnd = to >= data.to - 0.01 * length, isWhole = isEnd && from <= data.from;
    page.isExtended = true;
    change();
    if (isWhole)
        showAll();
    else if (isEnd)
        show(data.to - length, data.to);
    else
        show(from, to);
    page.isExtended = false;
}

const namesOf = panel => [panel.title, ...panel.lines.map(line => line.label)].join("\n");

/* Other panels than before are made anew. */
function renewPanels() {
    if (plots.map(plot => namesOf(plot.panel)).join("\n") === data.panels.map(namesOf).join("\n")) {
        data.panels = plots.map((plot, n) => Object.assign(plot.panel, data.panels[n]));
        plots.forEach(plot => plot.setData(aligned(plot.panel), false));
        return;
    }
    for (const plot of plots.splice(0)) {
        plot.root.parentNode.remove();
        plot.destroy();
    }
    unpoint();
    near = 0;
    data.panels.forEach((panel, n) => addPanel(panel, n === data.panels.length - 1));
}

/* All data anew. */
page.renew = found => extend(() => {
    take(found);
    zones = data.zones || [];
    if (byClock !== data.byClock)
        [data.axisLabel, data.otherLabel] = [data.otherLabel, data.axisLabel];
    takeLevels();
    renewPanels();
    showTexts();
    renewTables();
});

/* Rows take the place of what is there from their beginning on. */
page.append = rows => extend(() => {
    const found = complete({ ...OF_A_RUN, ...rows });
    data.to = rows.to;
    for (const plot of plots) {
        const more = found.find(each => each.title === plot.panel.title);
        if (!more)
            continue;
        plot.panel.to = Math.max(plot.panel.to, more.to);
        plot.panel.from = Math.min(plot.panel.from, more.from);
        for (const line of plot.panel.lines) {
            const next = more.lines.find(each => each.label === line.label), kept = line.x.filter(x => x < rows.from).length;
            for (const name of next ? ["x", "value", "min", "max", "low", "high"] : [])
                line[name] = line[name].slice(0, kept).concat(next[name]);
        }
        plot.setData(aligned(plot.panel), false);
    }
});

/* --- all of it ------------------------------------------------------------------------------ */

/* Another axis: `change` gives the lines and the strips other places on it. */
function setAxis(end, label, change) {
    change();
    data.to = end;
    data.axisLabel = label;
    plots.forEach((plot, n) => plot.setData(aligned(data.panels[n]), false));
    for (const plot of plots.slice(-1))
        plot.axes[0].label = label;
    from = to = 0;
    showAll();
}

Object.assign(page, { table, addTable, cell, rowHead, swatch, drawStrip, labelAt, setAxis, show, spoken,
    at: pixels => from + (pixels - LEFT) / (strip.clientWidth - LEFT - RIGHT) * (to - from), phaseAt, STRIP });

function showTexts() {
    document.getElementById("title").textContent = data.title;
    document.getElementById("subtitle").textContent = data.subtitle;
    document.getElementById("zeros").textContent = data.zeros.replace(/\n */g, " ");
    document.getElementById("resolution").textContent = data.sides ? "" : data.binned
        ? data.points + " points per line, each the mean of about " + duration(data.binSeconds) +
          "; the band shows the smallest and the largest value. To see single periods, draw a part: " +
          "rpistat plot -o part.html --from T --to T."
        : "One point per " + data.point + ".";
    if (data.panels.some(panel => !panel.small && panel.lines.some(line => line.low.some(low => low !== null))))
        document.getElementById("resolution").append(data.binned
            ? " The darker band inside is the 95 % interval of the point."
            : " Bands of metrics that were counted in rotation are 95 % intervals.");
}

showTexts();
data.panels.forEach((panel, n) => addPanel(panel, n === data.panels.length - 1));
addTables();
fitLevels();
drawStrip();
showRange();

buttons.coarser.addEventListener("click", () => chooseLevel(shaded - 1));
buttons.finer.addEventListener("click", () => chooseLevel(shaded + 1));
buttons.auto.addEventListener("click", () => chooseLevel(null));

const clockButton = document.getElementById("clock");
clockButton.hidden = zones.length === 0;
clockButton.setAttribute("aria-pressed", byClock);
function toggleClock() {
    byClock = !byClock;
    clockButton.setAttribute("aria-pressed", byClock);
    [data.axisLabel, data.otherLabel] = [data.otherLabel, data.axisLabel];
    plots[plots.length - 1].axes[0].label = data.axisLabel;
    for (const plot of plots)
        plot.redraw(false, true);
    renewTables();
    fillValues();
    showRange();
    noteView();
}
clockButton.addEventListener("click", toggleClock);

document.getElementById("reset").addEventListener("click", showAll);
document.getElementById("closer").addEventListener("click", () => zoom(0.5, spot));
document.getElementById("wider").addEventListener("click", () => zoom(2, spot));
document.getElementById("earlier").addEventListener("click", () => move(-0.25));
document.getElementById("later").addEventListener("click", () => move(0.25));
document.getElementById("values").addEventListener("toggle", fillValues);

function setTheme(theme) {
    root.dataset.theme = theme;
    for (const plot of plots) {
        plot.redraw(false, true);
        colourKeys(plot);
    }
    drawStrip();
    document.dispatchEvent(new Event("redraw"));
}

/* As wide as the window, or as a sheet of paper. */
function fit(width = null) {
    strip.style.width = width ? width + "px" : "";
    fitLevels();
    for (const plot of plots)
        plot.setSize({ width: width || plot.root.parentNode.clientWidth, height: plot.height });
    drawStrip();
    document.dispatchEvent(new CustomEvent("redraw", { detail: width }));
    if (spot !== null)
        point(spot, near, false);
}

strip.addEventListener("click", event => {
    const notes = stripCanvas.clientHeight - STRIP - (levels.length > chosen + 1 ? BAND + 2 : 0);
    if (event.offsetY >= notes && event.offsetY < notes + STRIP)
        clickLoop(event.offsetX);
});
document.getElementById("theme").addEventListener("click", () => {
    isSystemTheme = false;
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
});
system.addEventListener("change", () => isSystemTheme && setTheme(systemTheme()));
addEventListener("resize", () => fit());
let screenTheme = null;
addEventListener("beforeprint", () => {
    screenTheme = root.dataset.theme;
    unpoint();
    setTheme("light");
    fit(PRINT_WIDTH / PRINT_ZOOM);
});
addEventListener("afterprint", () => {
    setTheme(screenTheme);
    fit();
});
takeView();
if (!document.getElementById("live"))
    addEventListener("hashchange", takeView);
};

/* A page that holds no data asks for them: live.js. */
{
    const found = JSON.parse(document.getElementById("data").textContent);
    if (found)
        startPage(found);
}
