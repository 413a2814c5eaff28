/*
 * The part of the page about code: calls as a flame graph, from the outermost down, and functions as a table, of
 * any stretch of the run, or of two compared; on the page of a comparison of a row, side B with side A. page.js
 * hands over what it has in `page`.
 */
"use strict";
{
let untouched = null, listening = null, markedBefore = null;  /* the marked function, as kept for new data */

/* The section as it was before it was filled, for new data. Returns what was chosen in it. */
function emptySection() {
    const section = document.getElementById("code"), chosen = [...section.querySelectorAll("select, input")].map(each => [each.id, each.value]);
    if (untouched) {
        listening.abort();
        section.replaceWith(untouched.cloneNode(true));
    } else {
        untouched = section.cloneNode(true);
    }
    listening = new AbortController();
    return chosen;
}

globalThis.startCode = () => {
const { data, element, palette, table, cell, rowHead } = page;
const code = data.code;
if (!code)
    return;
const chosenBefore = emptySection(), { signal } = listening;
const ROW = 18, FONT = "12px system-ui, 'DejaVu Sans', Arial, sans-serif", LETTER = 6.6, LEAST = 0.4;
const MODULES = 7, FUNCTIONS = 100, PHASES = 500, FEW = 0.9, FEWEST = 20, ENOUGH = 50, CHANCE = 2;
const ink = "#101010", plain = "DDDDDD", waited = "A8A8A8", found = "F06BE6";
const part = name => document.getElementById(name);
const holder = part("flame"), canvas = holder.firstElementChild, of = part("codeOf"), beside = part("codeWith"), search = part("codeSearch");

/* --- the data ------------------------------------------------------------------------------- */

/* Calls have lower numbers than those that they made; number 0 is the root, of everything. */
const count = code.caller.length, caller = code.caller.map((distance, call) => call - distance);
const functions = code.functions.name.map((name, i) => ({
    name, module: code.functions.module[i], file: code.functions.file[i], line: code.functions.line[i], self: 0, total: 0 }));
const functionOf = code.function, callees = caller.map(() => []);
const nameOf = call => call === 0 ? "all" : functionOf[call] < 0 ? "others" : functions[functionOf[call]].name;
const base = path => path.slice(path.lastIndexOf("/") + 1) || path || "[unknown]";
const where = each => each.file ? base(each.file) + (each.line ? ":" + each.line : "") : "";

/* The counts of bin b are those from starts[b] to before starts[b + 1]. */
function read(text) {
    const starts = [0], calls = [], counts = [];
    for (const bin of text.split(";")) {
        let call = 0;
        for (const each of bin ? bin.split(",") : []) {
            const [distance, samples] = each.split("x");
            calls.push(call += +distance);
            counts.push(samples === undefined ? 1 : +samples);
        }
        starts.push(calls.length);
    }
    return { starts, calls, counts };
}
const samples = read(code.counts), waits = code.waits === undefined ? null : read(code.waits), starts = samples.starts;

/* By time each sample stands for its interval, and time off the CPU, in microseconds, is known. */
const time = part("codeTime"), byTime = () => waits !== null && time.value === "time";
if (waits)
    time.parentElement.hidden = false;
/* Of a comparison bins have no place: isIn is asked for their number. */
const edges = code.edges || starts.map((start, bin) => bin - 0.5), middles = edges.slice(1).map((end, i) => (edges[i] + end) / 2);

/* How often each call was there in the bins that are asked for, with what it called, and what that is to be divided
 * by: samples to shares, or where `perSecond` is known to seconds; `off` is the total of what was off the CPU. */
function totals(isIn, perSecond) {
    const self = new Float64Array(count), total = new Float64Array(count), off = new Float64Array(count);
    const weight = byTime() ? 1e6 / code.frequency : 1;
    let length = 0;
    middles.forEach((middle, bin) => {
        if (!isIn(middle))
            return;
        length += edges[bin + 1] - edges[bin];
        for (let i = starts[bin]; i < starts[bin + 1]; i++)
            self[samples.calls[i]] += weight * samples.counts[i];
        for (let i = byTime() ? waits.starts[bin] : Infinity; i < (waits ? waits.starts[bin + 1] : 0); i++) {
            self[waits.calls[i]] += waits.counts[i];
            off[waits.calls[i]] += waits.counts[i];
        }
    });
    for (let call = count - 1; call > 0; call--) {
        total[call] += self[call];
        total[caller[call]] += total[call];
        off[caller[call]] += off[call];
    }
    total[0] += self[0];
    return { self, total, off, all: total[0], per: perSecond || total[0], length };
}

const whole = totals(() => true);
for (let call = 1; call < count; call++)
    callees[caller[call]].push(call);
for (const each of callees)
    each.sort((a, b) => (functionOf[a] < 0) - (functionOf[b] < 0) || whole.total[b] - whole.total[a]);

/* Calls that are not inside another one of the same function: of these is its total. */
const isOutermost = functionOf.map((each, call) => {
    let at = caller[call];
    while (at > 0 && functionOf[at] !== each)
        at = caller[at];
    return at === 0;
});

/* Colours of modules, those with most samples first. */
const ofModule = code.modules.map(() => 0);
for (let call = 1; call < count; call++)
    if (functionOf[call] >= 0)
        ofModule[functions[functionOf[call]].module] += whole.self[call];
const modules = code.modules.map((path, i) => i).filter(i => ofModule[i] > 0).sort((a, b) => ofModule[b] - ofModule[a]);
const colourOfModule = i => {
    const rank = modules.indexOf(i);
    return rank >= 0 && rank < MODULES ? palette().area[rank] : plain;
};

/* --- what is chosen ------------------------------------------------------------------------- */

const inPhases = phases => x => phases.some(phase => x >= phase.from && x <= phase.to);
const choices = data.rows ? {} : { shown: { name: "what is shown above" }, all: { name: "everything", isIn: () => true } };
const option = (value, name) => element("option", { value }, name);
const inSeconds = data.rows && data.sides.every(side => side.samplesPerSecond > 0);

/* The rows of a comparison: the whole is all bins of a side, a phase one. */
function addRows() {
    data.rows.forEach((row, r) => {
        const [a, b] = data.sides.map((side, i) => ({ name: side.name, perSecond: inSeconds ? side.samplesPerSecond : 0,
            isIn: bin => Math.floor(bin / data.rows.length) === i && (r === 0 || bin % data.rows.length === r) }));
        choices["row" + r] = { ...b, against: a };
        of.append(option("row" + r, page.rowName(row)));
    });
}

function addChoices() {
    const groups = [["Phase classes", data.labels.map((label, i) => {
        const phases = data.phases.filter(phase => phase.label === i);
        choices["label" + i] = { name: label.name, phases, isIn: inPhases(phases) };
        return phases.length > 0 ? ["label" + i, label.name + ", " + (phases.length > 1 ? phases.length + " times" : "once")] : null;
    })], ["Phases in order of time", data.phases.slice(0, PHASES).map((phase, i) => {
        const name = data.labels[phase.label].name + " from " + page.place(phase.from, 1);
        choices["phase" + i] = { name, phases: [phase], isIn: inPhases([phase]) };
        return ["phase" + i, name];
    })]];
    for (const list of [of, beside]) {
        list.append(...(list === of ? [option("shown", "what is shown above")] : [option("", "nothing")]), option("all", "everything"));
        for (const [label, options] of groups)
            if (options.some(each => each))
                list.append(element("optgroup", { label }, ...options.filter(each => each).map(each => option(...each))));
    }
}

/* `mine` is of what is looked at, `other` of what it is compared with, or null. */
let mine = whole, other = null, against = null, zoomed = 0, current = 0, matches = null, boxes = [], sortBy = "self", falling = true;

const share = (of, value) => of.per > 0 ? value / of.per : 0;
const width = call => other ? (share(mine, mine.total[call]) + share(other, other.total[call])) / 2 : share(mine, mine.total[call]);
const isFew = () => !byTime() && (mine.all < FEWEST || other && other.all < FEWEST);
const inPercent = value => value === 0 ? "0 %" : (100 * value).toFixed(value < 0.0995 ? 2 : 1) + " %";
const percent = value => isFew() ? "\u2013" : inPercent(value);
const sign = value => value > 0 ? "+" : value < 0 ? "\u2212" : "\u00b1";
const points = value => isFew() ? "\u2013" : sign(value) + (100 * Math.abs(value)).toFixed(1);
const amount = inSeconds ? value => value === 0 ? "0 s" : page.duration(value) : percent;
const difference = inSeconds ? value => sign(value) + amount(Math.abs(value)) : points;
const ofB = data.rows ? ", B" : "";
const ofSamples = () => inSeconds ? "" : byTime() ? " of the time" : " of the samples";
/* With `compare --latency`, counts are microseconds of latency. */
const isLatency = data.functionTime === "latency";
const sizeOf = each => isLatency ? amount(share(each, each.all)) : each.all.toLocaleString("en");
const seconds = us => (us / 1e6).toFixed(us < 1e6 ? 3 : us < 1e8 ? 2 : 0) + " s";

function choose() {
    const [low, high] = page.shown(), chosen = choices[of.value];
    against = chosen.against || beside && choices[beside.value] || null;
    if (!data.rows) {
        choices.shown.isIn = x => x >= low && x <= high;
        for (const strip of page.strips)
            strip.marked = (chosen.phases || []).map(phase => [phase.from, phase.to]);
        page.drawStrip();
    }
    mine = totals(chosen.isIn, chosen.perSecond);
    other = against ? totals(against.isIn, against.perSecond) : null;
    while (zoomed > 0 && width(zoomed) === 0)
        zoomed = current = caller[zoomed];
    addUp();
    tellAbout();
    find();
}

/* What each function has. */
function addUp() {
    for (const each of functions)
        Object.assign(each, { self: 0, total: 0, off: 0, otherSelf: 0, otherTotal: 0 });
    for (let call = 1; call < count; call++) {
        const each = functions[functionOf[call]];
        if (!each)
            continue;
        each.self += mine.self[call];
        each.total += isOutermost[call] ? mine.total[call] : 0;
        each.off += isOutermost[call] ? mine.off[call] : 0;
        if (other) {
            each.otherSelf += other.self[call];
            each.otherTotal += isOutermost[call] ? other.total[call] : 0;
        }
    }
}

/* The shares of the time in which no thread ran, by the steps of the panel: "asleep 19.5 % of the time"; "" for hardly any. */
function tellOff(isIn) {
    const { at = [], lines = [] } = data.codePanel || {}, names = ["waiting for a CPU", "asleep", "not sampled", "off-CPU or not sampled"];
    const length = share => at.slice(1).reduce((all, end, i) => all + (isIn((at[i] + end) / 2) ? share(i) * (end - at[i]) : 0), 0), all = length(() => 100);
    const parts = lines.filter(line => names.includes(line.name)).map(({ name, share }) => ({ name, part: length(i => share[i]) / all })).filter(({ part }) => part > 0.0005);
    return parts.reduce((sum, { part }) => sum + part, 0) > 0.005 ? "; " + parts.map(({ name, part }) => name + " " + inPercent(part)).join(", ") + " of the time" : "";
}

function tellAbout() {
    const complete = code.samples > 0 ? code.complete / code.samples : 0, about = part("codeAbout"), could = code.frequency * mine.length * code.cpus;
    if (byTime())
        about.replaceChildren("Time of all threads in " + choices[of.value].name + ": " + seconds(mine.all) + ", of which " + seconds(mine.all - mine.off[0]) +
            " running (estimated from samples) and " + seconds(mine.off[0]) + " asleep" + (other ? "; compared with " + seconds(other.all) + " in " + against.name : "") + ". ");
    else
        about.replaceChildren(sizeOf(mine) + (isLatency ? " of latency in " : " samples of ") + choices[of.value].name +
        (other ? ", compared with " + sizeOf(other) + " of " + against.name : "") +
        (code.frequency > 0 && data.axisIsTime && could >= FEWEST ? tellOff(choices[of.value].isIn) : "") + (isFew() && !inSeconds ? "; too few samples for shares. " : ". "));
    if (complete < FEW && code.samples >= FEWEST)
        about.append(element("span", { className: "warning" }, "Complete call stacks: " + Math.floor(100 * complete) + " % of the samples. "),
            "The others lack callers: Self is right, but Total is too low.");
}

/* --- when a function ran -------------------------------------------------------------------- */

/* `marked` is the function whose time is marked on the axis of each panel, or null. */
let marked = null;

/*
 * The samples, or the time, of each bin: those with the function in their call stack, and all. `could` is how many samples there
 * would be of busy CPUs. Neighbours are added up until there are enough for a share.
 */
function stepsOf(f) {
    const isIn = new Uint8Array(count), weight = byTime() ? 1e6 / code.frequency : 1, steps = [];
    let step = null;
    const lostIn = (start, end) => data.gaps.reduce((sum, { from, to, cpu }) =>
        sum + Math.max(0, Math.min(end, to) - Math.max(start, from)) * (cpu < 0 ? code.cpus : 1), 0);
    const add = ({ starts, calls, counts }, bin, each) => {
        for (let i = starts[bin]; i < starts[bin + 1]; i++) {
            step.all += each * counts[i];
            if (!isIn[calls[i]])
                continue;
            step.inside += each * counts[i];
            step.first = step.first === undefined ? edges[bin] : step.first;
            step.last = edges[bin + 1];
        }
    };
    for (let call = 1; call < count; call++)
        isIn[call] = functionOf[call] === f || isIn[caller[call]];
    for (let bin = 0; bin < middles.length; bin++) {
        if (!step || Math.max(step.all, step.could) >= ENOUGH * weight)
            steps.push(step = { from: edges[bin], inside: 0, all: 0, could: 0 });
        step.to = edges[bin + 1];
        add(samples, bin, weight);
        if (byTime())
            add(waits, bin, 1);
        else if (data.axisIsTime)
            step.could += code.frequency * (code.cpus * (edges[bin + 1] - edges[bin]) - lostIn(edges[bin], edges[bin + 1]));
    }
    for (const each of steps) {
        each.all = Math.max(each.all, each.could);
        each.share = each.inside > 0 ? each.inside / each.all : 0;
    }
    return steps;
}

function mark(f) {
    marked = f === null || f < 0 || data.rows ? null : f;
    markedBefore = marked === null ? null : [functions[f].name, code.modules[functions[f].module]].join();
    page.ran = marked === null ? [] : stepsOf(f);
    page.redrawPanels();
}

/* When the marked function ran, of what is shown above. */
function tellWhen() {
    const [low, high] = page.shown(), shown = page.ran.filter(({ from, to }) => from < high && to > low);
    const ran = shown.filter(({ inside }) => inside > 0), decimals = Math.max(1, Math.min(6, Math.ceil(2 - Math.log10(high - low))));
    const sum = name => shown.reduce((all, step) => all + step[name] * (Math.min(high, step.to) - Math.max(low, step.from)) / (step.to - step.from), 0);
    return ran.length === 0 ? "has no samples in the time shown above"
        : "ran from " + page.place(Math.max(low, ran[0].first), decimals) + " to " + page.place(Math.min(high, ran[ran.length - 1].last), decimals) + ", " +
            inPercent(sum("inside") / sum("all")) + " of the " + (byTime() ? "threads' time" : code.frequency > 0 && data.axisIsTime ? "time" : "samples") + " shown above";
}

/* --- the flame graph ------------------------------------------------------------------------ */

/* How sure a difference is: beyond chance, in standard errors. */
function change(call) {
    const a = share(mine, mine.total[call]), b = share(other, other.total[call]);
    const unit = byTime() ? 1e6 / code.frequency : 1;
    const error = Math.sqrt((mine.per > 0 ? a / mine.per * unit : 0) + (other.per > 0 ? b / other.per * unit : 0));
    return error > 0 && Math.abs(a - b) > CHANCE * error ? (a - b) / (a + b) : 0;
}

const parts = hex => [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16));

/* From `middle` to `low` (-1) or `high` (1). */
function colourOfChange(value) {
    const { low, middle, high } = palette(), from = parts(middle), to = parts(value < 0 ? low : high), by = Math.sqrt(Math.abs(value));
    return from.map((each, i) => Math.round(each + (to[i] - each) * by).toString(16).padStart(2, "0")).join("");
}

function inkOn(colour) {
    const [r, g, b] = parts(colour);
    return 0.299 * r + 0.587 * g + 0.114 * b > 125 ? ink : "#FFFFFF";
}

function colourOf(call) {
    if (matches && matches[call])
        return found;
    if (other)
        return colourOfChange(change(call));
    return functionOf[call] < 0 ? plain : colourOfModule(functions[functionOf[call]].module);
}

/* The calls that can be seen, as boxes: those that lead to the one that is looked at, and all below it. */
function layOut(across) {
    const above = [];
    for (let call = zoomed; call > 0; call = caller[call])
        above.unshift(caller[call]);
    boxes = above.map((call, row) => ({ call, row, x: 0, w: across, above: true }));
    const scale = width(zoomed) > 0 ? across / width(zoomed) : 0, waiting = [{ call: zoomed, row: above.length, x: 0 }];
    while (waiting.length > 0) {
        const { call, row, x } = waiting.pop(), w = width(call) * scale;
        let at = x;
        if (w < LEAST)
            continue;
        boxes.push({ call, row, x, w });
        for (const each of callees[call]) {
            waiting.push({ call: each, row: row + 1, x: at });
            at += width(each) * scale;
        }
    }
}

function draw(across = 0) {
    const ratio = devicePixelRatio || 1, room = across || holder.clientWidth, pen = canvas.getContext("2d");
    layOut(room);
    part("codeOut").setAttribute("aria-disabled", zoomed === 0);
    const rows = boxes.reduce((most, box) => Math.max(most, box.row + 1), 1), height = rows * ROW + 2;
    canvas.width = room * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    canvas.style.width = across ? across + "px" : "";
    pen.scale(ratio, ratio);
    pen.font = FONT;
    pen.textBaseline = "middle";
    for (const { call, row, x, w, above } of boxes) {
        const colour = colourOf(call), dim = above || matches && !matches[call], letters = Math.floor((w - 6) / LETTER);
        pen.globalAlpha = dim ? 0.45 : 1;
        pen.fillStyle = "#" + colour;
        pen.fillRect(x, row * ROW + 1, Math.max(LEAST, w - (w > 3 ? 1 : 0)), ROW - 1);
        if (!other && !(matches && matches[call]) && mine.off[call] > 0) { /* at the right, what was off the CPU */
            const grey = w * mine.off[call] / mine.total[call];
            pen.fillStyle = "#" + waited;
            pen.fillRect(x + w - grey, row * ROW + 1, Math.max(LEAST, grey - (w > 3 ? 1 : 0)), ROW - 1);
        }
        pen.globalAlpha = 1;
        if (letters < 3)
            continue;
        const name = nameOf(call);
        pen.fillStyle = dim ? "#" + palette().text : inkOn(!other && 2 * mine.off[call] > mine.total[call] ? waited : colour);
        pen.fillText(name.length > letters ? name.slice(0, letters - 1) + "\u2026" : name, x + 3, row * ROW + ROW / 2 + 1, w - 4);
    }
    const box = boxes.find(each => each.call === current);
    if (box && document.activeElement === holder) {
        pen.strokeStyle = "#" + palette().text;
        pen.lineWidth = 2;
        pen.strokeRect(box.x + 1, box.row * ROW + 2, Math.max(2, box.w - 3), ROW - 3);
    }
}

function describe(call) {
    const each = functions[functionOf[call]], parts = [nameOf(call)];
    if (each)
        parts.push(code.modules[each.module] || "[unknown]", where(each));
    parts.push(amount(share(mine, mine.total[call])) + ofSamples() +
        (mine.self[call] > 0 ? ", " + amount(share(mine, mine.self[call])) + " itself" : "") +
        (byTime() ? ", " + seconds(mine.total[call]) + (mine.off[call] > 0 ? ", of which " + seconds(mine.off[call]) + " asleep" : "") : ""));
    if (other)
        parts.push(difference(share(mine, mine.total[call]) - share(other, other.total[call])) + (inSeconds ? "" : " points") + " of " +
            amount(share(other, other.total[call])));
    if (functionOf[call] === -2 && !data.rows)
        parts.push("functions with few samples: `rpistat plot --function NAME` shows when one ran");
    if (marked !== null)
        parts.push((functionOf[call] === marked ? "" : functions[marked].name + " ") + tellWhen());
    return parts.filter(text => text).join(" \u00b7 ");
}

const tell = call => { part("codeCall").textContent = describe(call); };

function zoom(call) {
    zoomed = current = call;
    tell(call);
    draw();
}

/* A second choice of the same call takes the marks away. */
function pick(call) {
    mark(call === zoomed && marked !== null ? null : functionOf[call]);
    zoom(call);
}

function callAt(event) {
    const at = canvas.getBoundingClientRect(), x = event.clientX - at.left, row = Math.floor((event.clientY - at.top) / ROW);
    const box = boxes.find(each => each.row === row && x >= each.x && x < each.x + Math.max(1, each.w));
    return box ? box.call : null;
}

canvas.addEventListener("mousemove", event => { const call = callAt(event); if (call !== null) tell(call); });
canvas.addEventListener("mouseleave", () => tell(current));
canvas.addEventListener("click", event => { const call = callAt(event); if (call !== null) pick(call); });
part("codeOut").addEventListener("click", () => pick(0));

/* Beside a call: the next one that its caller made and that can be seen. */
function sibling(step) {
    const seen = new Set(boxes.map(box => box.call)), row = callees[caller[current]].filter(call => seen.has(call));
    return current === 0 ? 0 : row[Math.max(0, Math.min(row.length - 1, row.indexOf(current) + step))];
}

const KEYS = {
    ArrowUp: () => caller[current], ArrowDown: () => callees[current].find(call => boxes.some(box => box.call === call)) || current,
    ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1), Home: () => 0,
};

holder.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] && event.key !== "Enter" && event.key !== "Escape")
        return;
    event.preventDefault();
    if (event.key === "Enter") {
        pick(current);
    } else if (event.key === "Escape") {
        mark(null);
        zoom(zoomed === 0 ? 0 : caller[zoomed]);
    } else {
        current = KEYS[event.key]();
    }
    tell(current);
    page.spoken.textContent = describe(current);
    draw();
});
holder.addEventListener("focus", () => { tell(current); draw(); });
holder.addEventListener("blur", () => draw());

/* --- searching, and functions --------------------------------------------------------------- */

function find() {
    const text = search.value.trim().toLowerCase();
    const fits = functions.map(each => text && (each.name.toLowerCase().includes(text) || code.modules[each.module].toLowerCase().includes(text)));
    matches = text ? functionOf.map(each => each >= 0 && fits[each]) : null;
    let sum = 0;
    for (let call = 1; call < count && matches; call++) {
        let at = caller[call];
        while (matches[call] && at > 0 && !matches[at])
            at = caller[at];
        sum += matches[call] && at === 0 ? mine.total[call] : 0;
    }
    part("codeFound").textContent = !text ? "" : matches.includes(true) ? amount(share(mine, sum)) + ofSamples() : "nothing found";
    fillLegend();
    tell(current);
    draw();
    fillFunctions(functions.filter((each, i) => !text || fits[i]));
}

function fillLegend() {
    const key = (colour, text) => element("span", {}, element("i", { style: { background: "#" + colour } }), text);
    const name = choices[of.value].name;
    part("codeLegend").replaceChildren(...(other
        ? [key(colourOfChange(1), "more in " + name + " than in " + against.name), key(colourOfChange(-1), "less"),
           key(palette().middle, "no significant difference"), element("span", {}, "Width: mean of both " + (inSeconds ? "times." : "shares."))]
        : [...modules.slice(0, MODULES).map(i => key(colourOfModule(i), base(code.modules[i]))),
           modules.length > MODULES ? key(plain, "others") : "", mine.off[0] > 0 ? key(waited, "asleep") : ""]), matches ? key(found, "found") : "");
}

const byText = (a, b) => a < b ? -1 : a > b ? 1 : 0;

const selfChange = each => share(mine, each.self) - share(other, each.otherSelf);
const totalChange = each => share(mine, each.total) - share(other, each.otherTotal);

const columns = () => [
    { id: "name", name: "Function", of: each => each.name },
    { id: "self", name: "Self" + ofB, of: each => share(mine, each.self), show: amount },
    ...other ? [{ id: "selfChange", name: "change", full: "change of self", of: selfChange, show: difference }] : [],
    { id: "total", name: "Total" + ofB, of: each => share(mine, each.total), show: amount },
    ...other ? [{ id: "totalChange", name: "change", full: "change of total", of: totalChange, show: difference }] : [],
    ...byTime() ? [{ id: "off", name: "Asleep", of: each => share(mine, each.off), show: amount }] : [],
    { id: "module", name: "Module", of: each => base(code.modules[each.module]), title: each => code.modules[each.module] },
    { id: "where", name: "File", of: where, title: each => each.file },
];

function fillFunctions(list) {
    const shown = columns(), by = shown.find(column => column.id === sortBy) || shown[1];
    const compare = (a, b) => typeof a === "number" ? (by.id.endsWith("Change") ? Math.abs(a) - Math.abs(b) : a - b) : byText(a, b);
    const there = list.filter(each => each.total > 0 || each.otherTotal > 0)
        .sort((a, b) => (falling ? -1 : 1) * compare(by.of(a), by.of(b)) || b.total - a.total || byText(a.name, b.name));
    const rows = there.slice(0, FUNCTIONS).map(each => element("tr", {}, ...shown.map(column => {
        if (column.id !== "name")
            return element("td", { className: column.show ? "number" : "", title: column.title ? column.title(each) : "" },
                column.show ? column.show(column.of(each)) : column.of(each));
        const button = element("button", { type: "button", className: "link", title: "Show it in the graph" }, each.name);
        button.addEventListener("click", () => page.search(each.name));
        return rowHead(button);
    })));
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.sort : null;
    const made = table("Functions", shown.map(column => column.name), rows);
    made.querySelectorAll("thead th").forEach((head, i) => {
        const column = shown[i], button = element("button", { type: "button", title: "Sort by it", "data-sort": column.id }, column.name);
        if (column.full)
            button.setAttribute("aria-label", column.full);
        head.className = column.show ? "number" : "";
        if (column.id === by.id)
            head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        button.addEventListener("click", () => {
            falling = sortBy === column.id ? !falling : Boolean(column.show);
            sortBy = column.id;
            find();
        });
        head.replaceChildren(button);
    });
    part("functions").replaceChildren(element("h2", {}, "Functions"), made,
        there.length > FUNCTIONS ? element("p", { className: "hint" }, "The first " + FUNCTIONS + " of " + there.length + "; search for others.") : "");
    if (focused)
        part("functions").querySelector("[data-sort='" + focused + "']").focus();
}

/* --- all of it ------------------------------------------------------------------------------ */

let waiting = 0;

/* Many changes come before the next frame. */
function later(change) {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(change);
}

data.rows ? addRows() : addChoices();
part("code").hidden = false;
if (data.rows)
    sortBy = "selfChange";
for (const [id, value] of chosenBefore)
    if (choices[value] || id === search.id || waits && id === time.id)
        part(id).value = value;
const kept = functions.findIndex(({ name, module }) => [name, code.modules[module]].join() === markedBefore);
if (kept >= 0)
    mark(kept);
choose();
of.addEventListener("change", choose);
if (waits)
    time.addEventListener("change", () => {
        mark(marked);
        choose();
    });
if (beside)
    beside.addEventListener("change", () => {
        [sortBy, falling] = [beside.value ? "selfChange" : "self", true];
        choose();
    });
page.search = text => { search.value = text; find(); };
search.addEventListener("input", find);
search.addEventListener("keydown", event => {
    if (event.key === "Escape") {
        search.value = "";
        find();
    }
});
document.addEventListener("shown", () => {
    if (data.rows)
        return;
    if (!page.isExtended)  /* the run goes on, and nobody has zoomed */
        of.value = "shown";
    later(choose);
}, { signal });
document.addEventListener("redraw", event => {
    if (event.detail || matchMedia("print").matches)
        find(), draw(event.detail || 0);
    else
        later(find);
}, { signal });
document.getElementById("strip").addEventListener("click", event => {
    const phase = page.phaseAt(page.at(event.offsetX)), i = data.phases.indexOf(phase);
    if (!phase || !choices["phase" + i])
        return;
    of.value = "phase" + i;
    choose();
    part("code").scrollIntoView({ block: "nearest" });
}, { signal });
};
}

if (globalThis.page)
    startCode();
