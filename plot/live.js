/*
 * The page of a run that is being recorded. It asks the server that it came from: once a second for what was
 * measured since, and for all data, with phases, when the server has new ones. The token stands in the address
 * behind the #, which browsers do not send, before what is shown (page.js).
 */
"use strict";
(() => {
const EVERY = 1000, SOON = 200, SELDOM = 10000;  /* ms: live, before there is anything, after the end */
const token = location.hash.slice(1).split("&")[0], status = document.createElement("p");
let known = 0, after = null, isAll = false, isHeld = false, code = null, shownCode = null;

/* What the reader is told. */
class Trouble extends Error {}
const AWAY = new Trouble("The server does not answer: is rpistat watch --http still running? The page asks again every second.");
const REFUSED = new Trouble("The token in this address is not the server's: open the address that rpistat watch --http printed.");

async function ask(path) {
    let found;
    try {
        const answer = await fetch(path, { headers: { Authorization: "Bearer " + token }, cache: "no-store" });
        found = answer.status === 401 ? null : await answer.json();
    } catch {
        throw AWAY;
    }
    if (!found)
        throw REFUSED;
    if (found.error)
        throw new Trouble("The run cannot be read: " + found.error);
    return found;
}

function tell(text) {
    if (status.textContent !== text)
        status.textContent = text;
}

const event = (target, name) => new Promise(done => target.addEventListener(name, done, { once: true }));

/* While the user drags in the panels, nothing moves under the pointer. */
async function released() {
    while (isHeld)
        await Promise.race([event(window, "pointerup"), event(window, "pointercancel")]);
}

/* All data, and the rows after them. */
async function renew(number) {
    const found = await ask("/data"), more = await ask("/rows?after=" + found.after);
    await released();
    globalThis.page ? page.renew(found.page) : startPage(found.page);
    document.title = found.page.title + " - rpistat";
    code = found.page.code ? JSON.stringify(found.page.code) : null;
    known = number;
    isAll = !found.recording;
    return more;
}

/* Calls and functions anew, when nobody is at them. */
function renewCode() {
    if (code === shownCode || !code || document.activeElement && document.activeElement.closest("#code"))
        return;
    shownCode = code;
    startCode();
}

/* Of a loop, where the run was when its phases were looked at last. */
function turn() {
    const { turn, phases, labels } = page.data;
    return turn ? ", in phase " + labels[phases[phases.length - 1].label].name + ", " + turn : "";
}

/* What is new; returns when to ask again. */
async function follow() {
    let found = await ask(after === null ? "/rows" : "/rows?after=" + after);
    if (found.data !== known)
        found = await renew(found.data);
    if (known === 0) {
        tell(found.after > 0 ? "The run is being read."
             : found.recording ? "No data yet: the first event sets are being counted."
             : "The recording has ended, and nothing was counted.");
        return found.recording || found.after > 0 ? SOON : SELDOM;
    }
    await released();
    renewCode();
    if (found.rows)
        page.append(found.rows);
    after = found.after;
    tell(found.recording ? "Live: the page follows the recording" + turn() + "." : "The recording has ended.");
    return isAll && !found.recording ? SELDOM : EVERY;
}

async function run() {
    for (;;) {
        let pause = EVERY;
        try {
            pause = await follow();
        } catch (error) {
            if (!(error instanceof Trouble))
                throw error;
            tell(error.message);
            if (error === REFUSED)
                return;
        }
        await new Promise(done => setTimeout(done, pause));
        if (document.hidden)
            await event(document, "visibilitychange");
    }
}

status.id = "live";
status.className = "hint";
status.setAttribute("role", "status");
document.getElementById("subtitle").after(status);
document.getElementById("panels").addEventListener("pointerdown", event => { isHeld = event.button === 0; });
for (const name of ["pointerup", "pointercancel"])
    addEventListener(name, () => { isHeld = false; });
addEventListener("hashchange", () => location.reload());
tell("The run is being read.");
run();
})();
