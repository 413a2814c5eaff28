/*
 * The page of a comparison: its rows, of which one is chosen, and its second axis. page.js draws both sides as the
 * lines of a panel, and page_code.js the calls of the row, side B with side A.
 */
"use strict";
(() => {
const { data, element, table, addTable, cell, rowHead, swatch, labelAt } = page;
const part = name => document.getElementById(name);
const NAMES = data.sides.map(side => side.name), SHORT = NAMES.map(name => name.length > 9 ? name.slice(0, 8) + "\u2026" : name);
const VERDICT = data.rows.some(row => row.changes.some(change => change[4] !== "-")) ? ["Verdict"] : []; // none with one run a side
const SHARE = data.rows.some(row => row.share !== null) ? ["Share of change"] : [];
let chosen = 0;

/* --- words ---------------------------------------------------------------------------------- */

const labelOf = row => data.labels[row.label];
page.rowName = row => labelOf(row) ? "phase " + labelOf(row).name : "the whole";

/* A row of a table: what it is of, then what was made of its change: both sides, the change, its interval, and the
 * verdict where the table has one. */
function changeRow(head, [a, b, change, interval, verdict]) {
    return element("tr", {}, rowHead(head), cell(a, "number"), cell(b, "number"),
        element("td", { className: "number" }, change, element("span", { className: "spread" }, interval)),
        ...VERDICT.map(() => cell(verdict, "text")));
}

/* --- rows ----------------------------------------------------------------------------------- */

/* How often the phase comes, and what went or came. */
function timesText({ times: [a, b] }) {
    return a === 0 ? NAMES[1] + " alone, " + b : b === 0 ? NAMES[0] + " alone, " + a : a === b ? String(a) : a + ", " + b;
}

const buttons = data.rows.map((row, r) => {
    const button = element("button", { type: "button", className: "link", "aria-pressed": "false", "aria-label": page.rowName(row) },
        labelOf(row) ? swatch(labelOf(row)) : "Whole");
    button.addEventListener("keydown", event => {
        const next = r + { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (!buttons[next])
            return;
        event.preventDefault();
        buttons[next].focus();
        choose(next);
    });
    return button;
});

function fillRows() {
    const rows = data.rows.map((row, r) => {
        const made = changeRow(buttons[r], row.changes[0]);
        made.firstChild.after(...[timesText(row), page.place(row.start, 1)].map(text => cell(labelOf(row) ? text : "", "number")));
        made.children[5].after(...SHARE.map(() => cell(row.share === null ? "" : Math.round(100 * row.share) + " %", "number")));
        made.addEventListener("click", () => choose(r));
        return made;
    });
    part("rows").append(table("The whole and its phases: " + data.figures[0], ["Row", "Times", "Start", ...NAMES, "Change", ...SHARE, ...VERDICT], rows));
}

function mark() {
    const { label } = data.rows[chosen];
    for (const strip of page.strips)
        strip.marked = strip.label.flatMap((each, i) => label >= 0 && each === label ? [[strip.at[i], strip.at[i + 1]]] : []);
    page.drawStrip();
}

/* All there is of the row. */
function fillTables() {
    const row = data.rows[chosen], name = page.rowName(row);
    part("tables").replaceChildren();
    addTable("Figures of " + name, ["Figure", ...NAMES, "Change", ...VERDICT], row.changes.map((change, i) =>
        changeRow(data.figures[i], change)));
    addTable("Functions of " + name + ", " + data.functionTime, ["Function", ...NAMES, "Change", ...VERDICT], row.functions.map(each => {
        const button = element("button", { type: "button", className: "link", title: "Show it in the graph" },
            row.functions.some(other => other !== each && other.name === each.name) ? each.name + " (" + each.module.replace(/.*\//, "") + ")" : each.name);
        button.addEventListener("click", () => page.search && page.search(each.name));
        return changeRow(button, each.seconds);
    }));
}

function choose(r) {
    chosen = r;
    buttons.forEach((button, i) => {
        button.setAttribute("aria-pressed", i === r);
        button.closest("tr").classList.toggle("chosen", i === r);
    });
    mark();
    fillTables();
    const list = part("codeOf");
    if (data.code && list.value !== "row" + r) {
        list.value = "row" + r;
        list.dispatchEvent(new Event("change"));
    }
}

/* --- the axes ------------------------------------------------------------------------------- */

const slots = data.slots.map(([from, to, sides, label]) => ({ from, to, sides, label }));
const stretchesOf = data.sides.map(side => side.stretches.map(([from, to, slot, label]) => ({ from, to, slot, label })));
const timeTo = data.to, timeLabel = data.axisLabel;
const zeros = list => list.map(() => 0);
const ends = list => [...list.map(each => each.from), ...list.slice(-1).map(each => each.to)];

function asItIs() {
    for (const panel of data.panels)
        panel.lines = panel.asItIs;
    page.strips = stretchesOf.map((stretches, i) => ({ name: SHORT[i], at: ends(stretches), tint: zeros(stretches), marked: [],
        label: stretches.map(each => each.label) }));
    page.behind = null;
}

/* The points of a line whose phase has a slot, in it; where slots are left out the line is broken. */
function byPhase(line) {
    const names = ["x", "value", "min", "max", "low", "high"], made = Object.fromEntries(names.map(name => [name, []]));
    const stretches = stretchesOf[line.side];
    const add = (x, at) => names.forEach(name => made[name].push(name === "x" ? x : at === null ? null : line[name][at]));
    let k = 0, before = null;
    line.x.forEach((x, i) => {
        while (k + 1 < stretches.length && x >= stretches[k + 1].from)
            k++;
        const { from, to, slot: number } = stretches[k], slot = slots[number];
        if (!slot)
            return;
        if (before !== null && number > before + 1) {
            add(slots[before].to, null);
            add(slot.from, null);
        }
        before = number;
        add(slot.from + Math.min(1, (x - from) / (to - from)) * (slot.to - slot.from), i);
    });
    return { ...line, ...made };
}

function bySlots() {
    for (const panel of data.panels)
        panel.lines = panel.asItIs.map(byPhase);
    const strip = { at: ends(slots), tint: zeros(slots), marked: [] };
    page.strips = SHORT.map((name, i) => ({ ...strip, name, label: slots.map(slot => slot.sides & 1 << i ? slot.label : -1) }));
    page.behind = { ...strip, label: slots.map(slot => slot.label) };
}

function chooseAxis(isByPhase) {
    part("byTime").setAttribute("aria-pressed", !isByPhase);
    part("byPhase").setAttribute("aria-pressed", isByPhase);
    page.setAxis(isByPhase ? data.phaseTo : timeTo,
                 isByPhase ? "Time by phase, each as long as the mean of both sides" : timeLabel, isByPhase ? bySlots : asItIs);
    mark();
}

/* --- all of it ------------------------------------------------------------------------------ */

for (const panel of data.panels)
    panel.asItIs = panel.lines;
fillRows();
part("remarks").append(...data.remarks.map(text => element("li", {}, text)));
part("tested").textContent = data.tested && "Tested: " + data.tested + ".";
part("rowsCode").hidden = !data.code;
part("axis").hidden = slots.length < 2;
if (data.labels.length > 0)
    chooseAxis(false);
choose(0);
part("byTime").addEventListener("click", () => chooseAxis(false));
part("byPhase").addEventListener("click", () => chooseAxis(true));
part("codeOf").addEventListener("change", event => choose(+event.target.value.slice(3)));
part("strip").addEventListener("click", event => {
    const strip = page.strips[Math.floor(event.offsetY / page.STRIP)], label = strip && labelAt(strip, page.at(event.offsetX));
    if (label)
        choose(data.labels.indexOf(label) + 1);
});
})();
