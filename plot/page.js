/*
 * The interactive page: panels that zoom together, phases behind them, tables beside them. Everything
 * that comes from the recording is put in as text nodes, never as markup.
 */
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const ROWS = 500;
const LEFT = 62, RIGHT = 14, HEIGHT = 150, SMALL = 52, BAND = 8;
const SMALL_FONT = "10px system-ui, 'DejaVu Sans', Arial, sans-serif";
const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
               900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 2592000];

if (root.dataset.theme === "auto")
    root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const palette = () => data[root.dataset.theme];
const hex = (colour, opacity) => "#" + colour + Math.round(255 * opacity).toString(16).padStart(2, "0");

/* --- elements and numbers ------------------------------------------------------------------- */

function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
        if (key === "style")
            Object.assign(made.style, value);
        else
            made[key] = value;
    }
    for (const child of children)
        if (child !== null && child !== undefined)
            made.append(child);
    return made;
}

function number(value) {
    if (value === null || value === undefined || !isFinite(value))
        return "-";
    const size = Math.abs(value);
    if (size !== 0 && (size < 0.001 || size >= 1e15))
        return value.toExponential(2);
    for (const [from, suffix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])
        if (size >= from)
            return +(value / (suffix === "k" ? 1e3 : from)).toPrecision(3) + " " + suffix;
    return String(+value.toPrecision(4));
}

const withUnit = (value, unit) => number(value) + (unit && value !== null ? " " + unit : "");

function clock(s, decimals) {
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
}

const showAll = () => show(data.from, data.to);

/* --- levels of phases ----------------------------------------------------------------------- */

/* From coarse to fine: `at` are the boundaries, `label` the label of the chosen level that each phase is a part
 * of, `tint` its shade. The chosen level is the one of the tables. */
const levels = data.phases.length === 0 ? [] : data.levels.length > 0 ? data.levels : [{
    total: data.phases.length, first: 0, tint: data.phases.map(() => 0), label: data.phases.map(phase => phase.label),
    at: [...data.phases.map(phase => phase.from), data.phases[data.phases.length - 1].to] }];
const chosen = levels.length > 0 ? data.shown : -1;
const MOST_SHADED = 30, LEAST_SHADED = 12, LEAST_BAND = 4;  /* phases in view; their least width in pixels */
let byHand = null;                                          /* null: as fits what is shown */
let shaded = chosen, band = null;                           /* levels of the panels, and of the band */

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
}

/* --- phases, marks and gaps ----------------------------------------------------------------- */

const starts = data.phases.map(phase => phase.from);

function phaseAt(x) {
    const found = data.phases[lastUpTo(starts, x)];
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
    const phases = shaded < 0 ? { boxes: [] } : boxes(levels[shaded], at, left, width, ratio);
    for (const { label, tint, a, b } of phases.boxes) {
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
    for (const phase of phases.exact && shaded >= chosen ? data.phases : []) {
        if (phase.from <= data.from || phase.from < from || phase.from > to)
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

/* Texts of marks and gaps, and the labels of the phases. */
const strip = document.getElementById("strip");
const stripCanvas = element("canvas");
strip.append(stripCanvas);

function drawNotes(context, at, left, right) {
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
        context.fillRect(x, 1, 1, 15);
        context.fillText(text, x + 4, 8);
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

function drawStrip() {
    const ratio = devicePixelRatio || 1, width = strip.clientWidth;
    const notes = data.marks.length + data.gaps.length > 0 ? 18 : 0;
    const height = notes + (levels.length > 0 ? 20 : 0) + (levels.length > chosen + 1 ? BAND + 2 : 0);
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
    drawNotes(context, at, LEFT, right);
    const phases = chosen < 0 ? { boxes: [] } : boxes(levels[chosen], at, LEFT, across, 1);
    for (const { label: index, a, b } of phases.boxes) {
        const label = data.labels[index];
        context.fillStyle = "#" + label.colour;
        context.fillRect(a, notes, b - a, 18);
        if (label.hatched) {
            context.fillStyle = hatching(context, "#00000055", 6);
            context.fillRect(a, notes, b - a, 18);
        }
        if (phases.exact) {
            context.fillStyle = "#" + palette().background;
            context.fillRect(b - 0.5, notes, 1, 18);
        }
        context.fillStyle = "#101010";
        context.textAlign = "center";
        if (b - a > context.measureText(label.name).width + 4)
            context.fillText(label.name, (a + b) / 2, notes + 9.5);
    }
    context.fillStyle = "#" + palette().quiet;
    context.textAlign = "right";
    if (data.phases.length > 0)
        context.fillText("Phases", LEFT - 7, notes + 9.5);
    if (band !== null)
        drawBand(context, at, notes + 20, across);
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
    if (from <= data.from && to >= data.to)
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

function axes(last) {
    const axis = {
        stroke: () => "#" + palette().text,
        grid: { stroke: () => "#" + palette().grid, width: 1 },
        ticks: { stroke: () => "#" + palette().axis, width: 1, size: 4 },
        font: "12px system-ui, 'DejaVu Sans', Arial, sans-serif",
    };
    return [
        { ...axis, size: last ? 44 : 8, label: last ? data.axisLabel : undefined, labelSize: 18,
          labelFont: axis.font, space: 90, incrs: data.axisIsTime ? STEPS : undefined,
          values: (plot, splits, i, space, step) => splits.map(value => !last ? "" :
              data.axisIsTime ? clock(value, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)))
                              : String(+(value / data.axisScale).toPrecision(6))) },
        { ...axis, size: LEFT, space: 30,
          values: (plot, splits) => splits.map(value => number(value)) },
    ];
}

function seriesOf(panel) {
    const series = [{}], bands = [];
    panel.lines.forEach((line, n) => {
        const colour = () => "#" + palette().line[n % 8];
        const edge = { stroke: "transparent", width: 0, points: { show: false } };
        series.push({ stroke: colour, width: 1.6, dash: n >= 8 ? [6, 4] : undefined, spanGaps: false },
                    edge, { ...edge }, { ...edge }, { ...edge });
        bands.push({ series: [5 * n + 3, 5 * n + 2], fill: () => hex(palette().line[n % 8], 0.22) });
        bands.push({ series: [5 * n + 5, 5 * n + 4], fill: () => hex(palette().line[n % 8], 0.28) });
    });
    if (panel.lines.length === 0)
        series.push({ stroke: "transparent" });
    return { series, bands };
}

function wheel(plot) {
    plot.over.addEventListener("wheel", event => {
        event.preventDefault();
        const middle = plot.posToVal(event.offsetX, "x");
        const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
        show(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }, { passive: false });
}

/* Dragging with Shift moves, without it zooms (uPlot's selection). */
function mover(plot) {
    plot.over.addEventListener("mousedown", event => {
        if (!event.shiftKey || event.button !== 0)
            return;
        event.preventDefault();
        event.stopImmediatePropagation();
        const start = event.clientX, low = from, high = to;
        const each = (high - low) / plot.over.clientWidth;
        const move = moved => {
            let shift = (start - moved.clientX) * each;
            shift = Math.max(data.from - low, Math.min(data.to - high, shift));
            show(low + shift, high + shift);
        };
        const end = () => {
            removeEventListener("mousemove", move);
            removeEventListener("mouseup", end);
        };
        addEventListener("mousemove", move);
        addEventListener("mouseup", end);
    }, true);
}

function addPanel(panel, last) {
    const holder = element("div", { className: "panel" });
    const heading = element("h3", {}, panel.title);
    if (panel.lines.length > 1)
        panel.lines.forEach((line, n) => heading.append(element("span", { className: "key", title: line.explain },
            element("i", { className: n >= 8 ? "dashed" : "" }),
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
            sync: { key: "run", scales: ["x", null] },
            drag: { x: true, y: false, setScale: false, dist: 4 },
            bind: { dblclick: () => () => { showAll(); return null; } },
        },
        scales: {
            x: { time: false, range: () => [from, to] },
            y: { range: plot => scaleOf(panel, plot) },
        },
        axes: axes(last),
        ...seriesOf(panel),
        hooks: {
            init: [mover, wheel],
            drawClear: [plot => {
                const at = x => plot.valToPos(x, "x", true);
                const { left, top, width, height } = plot.bbox;
                drawBehind(plot.ctx, at, left, top, width, height, uPlot.pxRatio);
            }],
            draw: [plot => {
                const at = x => plot.valToPos(x, "x", true);
                const { left, top, width, height } = plot.bbox;
                drawMarks(plot.ctx, at, left, top, width, height, uPlot.pxRatio);
            }],
            setSelect: [plot => {
                const { left, width } = plot.select;
                plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
                if (width > 3)
                    show(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
            }],
            setCursor: [plot => showTip(plot, panel)],
        },
    };
    const plot = new uPlot(options, aligned(panel), holder);
    plot.heading = heading;
    plots.push(plot);
    colourKeys(plot);
}

function colourKeys(plot) {
    plot.heading.querySelectorAll("i").forEach((key, n) => {
        key.style.background = key.style.borderColor = "#" + palette().line[n % 8];
    });
}

/* --- tooltip -------------------------------------------------------------------------------- */

const tip = element("div", { id: "tip" });
document.body.append(tip);
let pointer = null;

document.addEventListener("mousemove", event => { pointer = event; });
document.getElementById("panels").addEventListener("mouseleave", () => { tip.style.display = "none"; });

function swatch(label) {
    return element("span", { className: "swatch" + (label.hatched ? " hatched" : ""),
                             style: { backgroundColor: "#" + label.colour } }, label.name);
}

function showTip(plot, panel) {
    const i = plot.cursor.idx;
    if (!pointer || pointer.target !== plot.over)
        return;
    if (i === null || i === undefined || plot.cursor.left < 0) {
        tip.style.display = "none";
        return;
    }
    const x = plot.data[0][i], phase = phaseAt(x);
    const rows = element("table");
    panel.lines.forEach((line, n) => {
        const [value, least, most, low, high] = [1, 2, 3, 4, 5].map(k => plot.data[5 * n + k][i]);
        if (value === undefined || value === null && panel.lines.length > 4)
            return;
        rows.append(element("tr", {},
            element("td", {}, element("span", { style: { color: "#" + palette().line[n % 8] } }, "\u25cf "), line.label),
            element("td", { className: "number" }, withUnit(value, line.unit)),
            element("td", { className: "range" }, [
                least !== most && value !== null ? number(least) + " \u2026 " + number(most) : "",
                low != null && high != null ? "95 %: " + number(low) + " \u2026 " + number(high) : "",
            ].filter(text => text).join(", "))));
    });
    tip.replaceChildren(element("div", {}, place(x, 2) + "  ", phase ? swatch(data.labels[phase.label]) : null,
        phase ? element("div", { className: "words" }, data.labels[phase.label].words) : null), rows);
    if (phase && band !== null)
        tip.querySelector(".swatch").after(" " + finerName(x));
    for (const mark of data.marks)
        if (Math.abs(plot.valToPos(mark.from, "x") - plot.cursor.left) < 4)
            tip.append(element("div", {}, "\u25b8 " + mark.text));
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const left = pointer.clientX + 16 + box.width > innerWidth ? pointer.clientX - box.width - 12 : pointer.clientX + 16;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.min(innerHeight - box.height - 6, pointer.clientY + 14) + "px";
}

/* --- tables --------------------------------------------------------------------------------- */

const tables = document.getElementById("tables");

function addTable(title, headings, rows) {
    if (rows.length === 0)
        return;
    const head = element("tr", {}, ...headings.map(heading =>
        element("th", { className: heading.number ? "number" : "" }, heading.text)));
    tables.append(element("h2", {}, title), element("div", { className: "scroll" },
        element("table", { className: "data" }, headings.length ? element("thead", {}, head) : null,
            element("tbody", {}, ...rows))));
}

const cell = (content, className) => element("td", { className: className || "" }, content);

function addPhaseTable() {
    const shown = data.phases.slice(0, ROWS);
    addTable("Phases in order of time" + (shown.length < data.phases.length
        ? ": the first " + ROWS + " of " + data.phases.length : ""), [{ text: "" }, { text: "Start", number: true }, { text: "Length", number: true },
                                         { text: "Sure", number: true }],
        shown.map(phase => {
            const row = element("tr", { className: "link", title: "Zoom to this phase" },
                cell(swatch(data.labels[phase.label])), cell(clock(phase.start, 1), "number"),
                cell(duration(phase.end - phase.start), "number"),
                cell(Math.round(100 * phase.confidence) + " %", "number"));
            row.addEventListener("click", () => {
                const room = (phase.to - phase.from) * 0.08;
                show(phase.from - room, phase.to + room);
            });
            return row;
        }));
}

function addLabelTable() {
    const shown = data.order.slice(0, 6).map(index => ({ ...data.figures[index], index }));
    const headings = [{ text: "" }, { text: "Times", number: true }, { text: "Time", number: true },
                      { text: "Share", number: true },
                      ...shown.map(figure => ({ text: figure.label + (figure.unit ? " (" + figure.unit + ")" : ""), number: true }))];
    const rows = data.labels.filter(label => label.periods > 0).map(label => element("tr", {},
        cell(swatch(label)), cell(String(label.occurrences), "number"), cell(duration(label.seconds), "number"),
        cell((100 * label.share).toFixed(1) + " %", "number"),
        ...shown.map(figure => {
            const spread = label.spread[figure.index];
            const content = cell(number(label.mean[figure.index]), "number");
            const low = label.low[figure.index], high = label.high[figure.index];
            if (low !== null && high !== null)
                content.append(element("span", { className: "spread" },
                    ", " + number(+low.toPrecision(3)) + " to " + number(+high.toPrecision(3))));
            if (spread !== null && label.mean[figure.index] !== null)
                content.append(element("span", { className: "spread" }, ", sd " + number(+spread.toPrecision(2))));
            return content;
        })));
    addTable("What they are like", headings, rows);
}

function addTables() {
    addPhaseTable();
    addTable("What sets them apart from the whole run", [], data.labels.filter(label => label.words).map(label =>
        element("tr", {}, cell(swatch(label), "name"), cell(label.words, "text"))));
    addLabelTable();
    addTable("Figures of the whole run", [], data.figures.filter(figure => figure.whole !== null).map(figure =>
        element("tr", {}, cell(figure.label, "name"), cell(withUnit(figure.whole, figure.unit), "number"))));
    addTable("Marks", [], data.marks.slice(0, ROWS).map(mark =>
        element("tr", {}, cell(clock(mark.start, 2), "name"), cell(mark.text, "text"))));
    addTable("Not recorded", [], data.gaps.slice(0, ROWS).map(gap => element("tr", {},
        cell(clock(gap.start, 2), "name"), cell(duration(gap.length), "number"), cell(gap.text, "text"))));
    addTable("Run", [], data.run.map(([name, text]) =>
        element("tr", {}, cell(name, "name"), cell(text, "text"))));
}

/* --- all of it ------------------------------------------------------------------------------ */

document.getElementById("title").textContent = data.title;
document.getElementById("subtitle").textContent = data.subtitle;
document.getElementById("resolution").textContent = data.binned
    ? data.points + " points a line, each of about " + duration(data.binSeconds) +
      "; its band reaches from the smallest to the largest value inside. To see single periods, draw a part: " +
      "rpistat plot -o part.html --from T --to T."
    : "A point a rotation of the event sets.";
if (data.panels.some(panel => panel.lines.some(line => line.low.some(low => low !== null))))
    document.getElementById("resolution").append(data.binned
        ? " The darker band inside is the 95 % interval of the point."
        : " What was counted in turns is drawn with its 95 % interval.");
if (data.duty.x.length > 0)
    data.panels.push({
        title: "Counted: share of the time that each event set was on", unit: "%", from: 0, to: 100, small: true,
        lines: [{ label: "Counted", unit: "%", x: data.duty.x, value: data.duty.value, min: data.duty.value,
                  max: data.duty.value, low: data.duty.value, high: data.duty.value, explain: "Events that were not on counters are estimated." }],
    });
data.panels.forEach((panel, n) => addPanel(panel, n === data.panels.length - 1));
addTables();
document.getElementById("level").hidden = levels.length < 2;
fitLevels();
drawStrip();

buttons.coarser.addEventListener("click", () => chooseLevel(shaded - 1));
buttons.finer.addEventListener("click", () => chooseLevel(shaded + 1));
buttons.auto.addEventListener("click", () => chooseLevel(null));

document.getElementById("reset").addEventListener("click", showAll);
document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    for (const plot of plots) {
        plot.redraw(false, true);
        colourKeys(plot);
    }
    drawStrip();
});
addEventListener("resize", () => {
    fitLevels();
    for (const plot of plots)
        plot.setSize({ width: plot.root.parentNode.clientWidth, height: plot.height });
    drawStrip();
});
})();
