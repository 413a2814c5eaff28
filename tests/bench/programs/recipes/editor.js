// An editor for several writers: documents are opened, typed in, merged with what others typed, checked for spelling,
// laid out (nested: break, justify), undone, and saved as snapshots; writers are away at times. Fixed numbers of edits.
'use strict';
const fs = require('fs');
const zlib = require('zlib');
const crypto = require('crypto');

function mark(coarse, fine) {
    const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
    const at = `${now / 1000000n}.${String(now % 1000000n).padStart(6, '0')}`;
    fs.appendFileSync('truth', `${at} coarse=${coarse}${fine ? ` fine=${fine}` : ''}\n`);
}

let state = 12345;
function draw(below) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor(state / 4294967296 * below);
}

const dictionary = Array.from({length: 2500}, () => Array.from({length: 3 + draw(8)}, () => 'etaoinshrdlu'[draw(12)]).join(''));
const word = () => dictionary[draw(dictionary.length)];

// The text is a list of parts; each character has an identity, and stays as a tombstone when it is deleted.
class Text {
    constructor() { this.parts = [[]]; this.where = new Map(); this.log = []; this.clock = 0; }

    open(text) {
        for (const character of text)
            this.insert(this.parts.length - 1, this.parts.at(-1).length, {id: `a${this.clock++}`, character, dead: false});
    }

    insert(part, place, item) {
        const list = this.parts[part];
        list.splice(place, 0, item);
        this.where.set(item.id, list);
        if (list.length > 400) {
            const rest = list.splice(200);
            this.parts.splice(part + 1, 0, rest);
            for (const one of rest)
                this.where.set(one.id, rest);
        }
    }

    type(count) {
        let part = draw(this.parts.length);
        for (let i = 0; i < count; i++) {
            if (i % 50 === 0)
                part = draw(this.parts.length);
            const list = this.parts[part], place = draw(list.length + 1);
            if (i % 7 === 0 && list[place])
                list[place].dead = true;
            const item = {id: `a${this.clock++}`, character: 'etaoin shrdlu'[draw(13)], dead: false};
            this.log.push({after: list[place - 1]?.id, id: item.id});
            this.insert(part, place, item);
        }
    }

    remote(count) {
        const ids = this.log.map((one) => one.id);
        return JSON.stringify(Array.from({length: count}, (_, i) => ({
            id: `b${this.clock + i}`, after: ids[draw(ids.length)], clock: draw(1e6), character: 'x', writer: `w${i % 9}`})));
    }

    merge(message) {
        const edits = JSON.parse(message).sort((a, b) => a.clock - b.clock || a.writer.localeCompare(b.writer));
        for (const edit of edits) {
            const list = this.where.get(edit.after);
            const part = this.parts.indexOf(list);
            let place = list.findIndex((one) => one.id === edit.after) + 1;
            while (place < list.length && list[place].id > edit.id)
                place++;
            this.insert(part, place, {id: edit.id, character: edit.character, dead: false});
        }
        this.clock += edits.length;
    }

    undo(count) {
        for (let i = 0; i < count; i++) {
            const {id} = this.log[this.log.length - 1 - i % this.log.length];
            const one = this.where.get(id).find((item) => item.id === id);
            one.dead = !one.dead;
        }
    }

    toString() { return this.parts.map((list) => list.filter((one) => !one.dead).map((one) => one.character).join('')).join(''); }
}

function distance(a, b) {
    let row = Array.from({length: b.length + 1}, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
        const next = [i];
        for (let k = 1; k <= b.length; k++)
            next.push(Math.min(next[k - 1] + 1, row[k] + 1, row[k - 1] + (a[i - 1] !== b[k - 1])));
        row = next;
    }
    return row[b.length];
}

function spell(text, count) {
    const words = text.split(/\s+/).filter((one) => one.length > 2 && one.length < 14);
    let wrong = 0;
    for (let i = 0; i < count; i++) {
        const one = words[i * 31 % words.length];
        wrong += dictionary.reduce((best, other) => Math.min(best, Math.abs(other.length - one.length) > 2 ? 9 : distance(one, other)), 9);
    }
    return wrong;
}

// Lines are broken where the sum of squared space is least.
function breakLines(text, times) {
    const words = text.split(/\s+/).map((one) => one.slice(0, 30)), starts = [];
    for (let t = 0; t < times; t++) {
        const cost = new Float64Array(words.length + 1), from = new Int32Array(words.length + 1);
        for (let i = 1; i <= words.length; i++) {
            cost[i] = Infinity;
            for (let k = i, width = -1; k > 0 && (width += words[k - 1].length + 1) <= 300; k--) {
                const now = cost[k - 1] + (300 - width) ** 2;
                if (now < cost[i]) {
                    cost[i] = now;
                    from[i] = k - 1;
                }
            }
        }
        starts.length = 0;
        for (let i = words.length; i > 0; i = from[i])
            starts.unshift(from[i]);
    }
    return starts.map((start, i) => words.slice(start, starts[i + 1]));
}

function justify(lines, times) {
    let size = 0;
    for (let t = 0; t < times; t++)
        for (const line of lines) {
            const space = 300 - line.join('').length, gaps = line.length - 1 || 1;
            const html = line.map((one, i) => `<span style="left:${(i * space / gaps).toFixed(2)}px">${one.replace(/[aeiou]/g, '<i>$&</i>')}</span>`);
            size += `<p>${html.join(' '.repeat(Math.ceil(space / gaps)))}</p>`.length;
        }
    return size;
}

function save(text, times) {
    for (let t = 0; t < times; t++) {
        const packed = zlib.deflateSync(JSON.stringify({parts: text.parts, log: text.log.slice(-20000)}), {level: 2});
        fs.writeFileSync(`snapshot${t}`, crypto.createHash('sha256').update(packed).digest('hex') + packed.toString('base64'));
    }
}

async function away(ticks) {
    mark('away');
    for (let i = 0; i < ticks; i++) {
        JSON.stringify({cursor: draw(1000), writer: i % 9});
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

async function main() {
    const text = new Text();
    mark('open');
    text.open(Array.from({length: 40000}, word).join(' '));
    const plan = [
        ['type', 250000], ['spell', 280], ['layout', 30, 8], ['save', 2], ['away', 34], ['merge', 45000], ['type', 250000],
        ['layout', 21, 7], ['undo', 270000], ['spell', 330], ['merge', 40000], ['save', 1], ['away', 30], ['layout', 19, 7],
        ['undo', 280000], ['save', 1],
    ];
    for (const [what, count, more] of plan) {
        if (what === 'layout') {
            mark('layout', 'break');
            const lines = breakLines(text.toString(), count);
            mark('layout', 'justify');
            justify(lines, more);
        } else if (what === 'away') {
            await away(count);
        } else {
            mark(what);
            if (what === 'merge')
                text.merge(text.remote(count));
            else if (what === 'spell')
                spell(text.toString(), count);
            else if (what === 'save')
                save(text, count);
            else
                text[what](count);
        }
    }
}

main();
