// A server of an online game: players wait in a lobby, a map is generated, a match is played (nested: bots find ways,
// fights are simulated, replays are encoded), players are rated, and all is saved. Fixed numbers of steps.
'use strict';
const fs = require('fs');
const zlib = require('zlib');
const crypto = require('crypto');

const SIDE = 384;
let state = 99;
function draw(below) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 4294967296 * below);
}

function mark(coarse, fine) {
    const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000));
    const at = `${now / 1000000n}.${String(now % 1000000n).padStart(6, '0')}`;
    fs.appendFileSync('truth', `${at} coarse=${coarse}${fine ? ` fine=${fine}` : ''}\n`);
}

const players = Array.from({length: 3000}, (_, id) => ({id, name: `player${id}`, rating: 1500, doubt: 350, games: []}));

// Heights are noise of several octaves; what is high is a wall.
function generate(octaves) {
    const height = new Float64Array(SIDE * SIDE);
    for (let octave = 0; octave < octaves; octave++) {
        const cell = 2 << (octave % 6), grid = Array.from({length: 40000}, () => draw(1000) / 1000);
        for (let y = 0; y < SIDE; y++)
            for (let x = 0; x < SIDE; x++) {
                const i = Math.floor(x / cell), j = Math.floor(y / cell), u = x / cell - i, v = y / cell - j;
                const at = j * 193 + i, su = u * u * (3 - 2 * u), sv = v * v * (3 - 2 * v);
                const top = grid[at] + su * (grid[at + 1] - grid[at]), low = grid[at + 193] + su * (grid[at + 194] - grid[at + 193]);
                height[y * SIDE + x] += (top + sv * (low - top)) * cell;
            }
    }
    const sorted = Float64Array.from(height).sort();
    const limit = sorted[Math.floor(sorted.length * .8)];
    return Uint8Array.from(height, (one, at) => one > limit || at % SIDE === 0 || at < SIDE || at >= SIDE * (SIDE - 1) ? 1 : 0);
}

// A field of directions to each goal, by a wave from the goal.
function navigate(map, goals) {
    const fields = [];
    for (let n = 0; n < goals; n++) {
        const distance = new Int32Array(SIDE * SIDE).fill(-1), goal = (20 + draw(SIDE - 40)) * SIDE + draw(SIDE - 40) + 20;
        let wave = [goal];
        distance[goal] = 0;
        while (wave.length) {
            const next = [];
            for (const at of wave)
                for (const to of [at - 1, at + 1, at - SIDE, at + SIDE])
                    if (distance[to] === -1 && !map[to]) {
                        distance[to] = distance[at] + 1;
                        next.push(to);
                    }
            wave = next;
        }
        if (fields.length < 8)
            fields.push(distance);
        else
            fields[n % 8] = distance;
    }
    return fields;
}

// Fighters follow the fields, push each other away, and hit what is near.
function fight(map, fields, fighters, ticks, replay) {
    for (let tick = 0; tick < ticks; tick++) {
        const cells = new Map();
        for (const one of fighters) {
            const key = Math.floor(one.x / 4) * 1000 + Math.floor(one.y / 4);
            if (!cells.has(key))
                cells.set(key, []);
            cells.get(key).push(one);
        }
        for (const one of fighters) {
            const field = fields[one.id % fields.length], at = Math.floor(one.y) * SIDE + Math.floor(one.x);
            let fx = 0, fy = 0;
            for (let i = -1; i <= 1; i++)
                for (let j = -1; j <= 1; j++)
                    for (const other of cells.get((Math.floor(one.x / 4) + i) * 1000 + Math.floor(one.y / 4) + j) || []) {
                        const dx = one.x - other.x, dy = one.y - other.y, far = Math.hypot(dx, dy);
                        if (other === one || far > 4)
                            continue;
                        fx += dx / (far * far + .1);
                        fy += dy / (far * far + .1);
                        if (far < 1.5)
                            other.health -= .01;
                    }
            fx += field[at - 1] - field[at + 1];
            fy += field[at - SIDE] - field[at + SIDE];
            const length = Math.hypot(fx, fy) + 1e-9, x = one.x + fx / length * .4, y = one.y + fy / length * .4;
            if (!map[Math.floor(y) * SIDE + Math.floor(x)]) {
                one.x = x;
                one.y = y;
            }
            if (one.health < 0)
                Object.assign(one, {x: 20 + draw(SIDE - 40), y: 20 + draw(SIDE - 40), health: 100});
        }
        if (tick % 4 === 0)
            replay.push(fighters.map(({id, x, y, health}) => ({id, x: +x.toFixed(2), y: +y.toFixed(2), health: Math.ceil(health)})));
    }
}

function encode(replay, times) {
    let size = 0;
    for (let n = 0; n < times; n++)
        for (const frame of replay)
            size += zlib.deflateSync(JSON.stringify({version: n, at: size, frame}), {level: 6 - n % 2}).length;
    return size;
}

// Ratings are estimated again from all games until they no longer change.
function rate(rounds) {
    for (const player of players)
        for (let i = 0; i < 20; i++)
            player.games.push({other: draw(players.length), won: draw(2)});
    for (let round = 0; round < rounds; round++)
        for (const player of players) {
            let sum = 0, weight = 0;
            for (const {other, won} of player.games) {
                const rival = players[other], g = 1 / Math.sqrt(1 + 3 * (rival.doubt * .00575 / Math.PI) ** 2);
                const chance = 1 / (1 + Math.exp(-g * (player.rating - rival.rating) * .00575));
                sum += g * (won - chance);
                weight += g * g * chance * (1 - chance);
            }
            player.rating += sum / (weight + 1);
            player.doubt = Math.max(30, player.doubt * .98);
        }
    players.forEach(player => player.games.splice(0, player.games.length - 40));
}

function save(name, copies) {
    for (let copy = 0; copy < copies; copy++) {
        const lines = players.map(player => `${JSON.stringify(player)}\n`);
        const sums = lines.map(line => crypto.createHash('sha256').update(line).digest('hex'));
        const file = fs.openSync(`${name}${copy % 3}`, 'w');
        lines.forEach((line, i) => fs.writeSync(file, `${sums[i]} ${line}`));
        fs.fsyncSync(file);
        fs.closeSync(file);
    }
}

async function main() {
    for (const [count, goals, ticks] of [[700, 40, 260], [900, 50, 200], [600, 60, 320], [900, 40, 220]]) {
        mark('lobby');
        await new Promise(done => setTimeout(done, 1300));
        mark('generate');
        const map = generate(40);
        mark('match', 'navigate');
        const fields = navigate(map, goals);
        mark('match', 'fight');
        const replay = [];
        fight(map, fields, Array.from({length: count}, (_, id) => ({id, x: 20 + draw(SIDE - 40), y: 20 + draw(SIDE - 40), health: 100})), ticks, replay);
        mark('match', 'encode');
        encode(replay, 3);
        if (count !== 700) {
            mark('rate');
            rate(48);
        }
        mark('save');
        save('players', 12);
    }
}

main();
