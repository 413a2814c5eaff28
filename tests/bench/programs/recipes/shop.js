// A web shop: a server, and a process of clients that send it requests of mixes that change, over a socket.
// It warms up, is browsed, searched, logged in to, paid, quiet, and makes pictures. Fixed numbers of requests.
'use strict';
const {fork} = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const zlib = require('zlib');

const SOCKET = './shop.socket';
// What is asked for, how often, and ms that each of the clients waits in between
const PLAN = [
    ['browse', 700, 0], ['search', 150, 0], ['browse', 500, 0], ['quiet', 45, 50], ['login', 60, 0],
    ['checkout', 700, 0], ['browse', 1300, 0], ['search', 200, 0], ['pictures', 42, 0], ['quiet', 30, 50],
    ['checkout', 1200, 0], ['login', 90, 0], ['search', 180, 0], ['browse', 1400, 0],
];

function mark(label) {
    fs.appendFileSync('truth', `${((performance.timeOrigin + performance.now()) / 1000).toFixed(6)} coarse=${label}\n`);
}

function clients() {
    const agent = new http.Agent({keepAlive: true, maxSockets: 4});
    const ask = (path) => new Promise((resolve, reject) => {
        http.get({socketPath: SOCKET, path, agent}, (answer) => {
            answer.resume();
            answer.on('end', resolve);
        }).on('error', reject);
    });
    process.on('message', async ([kind, count, wait]) => {
        let next = 0;
        const client = async () => {
            while (next < count) {
                await ask(`/${kind}?id=${next++}`);
                if (wait)
                    await new Promise((resolve) => setTimeout(resolve, wait));
            }
        };
        await Promise.all(wait ? [client()] : [client(), client(), client(), client()]);
        process.send('done');
    });
    process.send('ready');
}

async function server() {
    const stamp = (performance.timeOrigin / 1000).toFixed(6);
    fs.appendFileSync('truth', `${stamp} coarse=warm-up\n`);
    let seed = 1;
    const draw = (most) => (seed = (seed * 48271) % 2147483647) % most;
    const word = () => Array.from({length: 3}, () => 'kalemotusiraneho'.substr(draw(8) * 2, 2)).join('');
    const goods = Array.from({length: 4000}, (_, id) => ({
        id, name: `${word()} ${word()}`, price: draw(10000) / 100, tags: [word(), word(), word()],
        text: Array.from({length: 25}, word).join(' '),
    }));
    const inverted = new Map();
    for (const one of goods)
        for (const term of one.text.split(' '))
            inverted.set(term, (inverted.get(term) || []).concat(one.id));
    const pages = new Map();
    const page = (id) => {
        const one = goods[id % goods.length];
        const near = goods.slice(id % 3900, id % 3900 + 40).sort((a, b) => a.price - b.price);
        const item = (each) => `<li class="item" data-id="${each.id}"><a href="/g/${each.id}">` +
            `${each.name.replace(/\b\w/g, (first) => first.toUpperCase())}</a> ${each.price.toFixed(2)}</li>`;
        return `<html><h1>${one.name}</h1><p>${one.text}</p><ul>${near.map(item).join('\n')}</ul></html>`;
    };
    for (let id = 0; id < 1500; id++)
        pages.set(id, zlib.gzipSync(page(id)));
    const orders = fs.openSync('orders', 'a');
    const answers = {
        browse: (id) => [1, 2, 3, 4, 5].map((part) => page(id * 7 + part)).join(''),
        search: (id) => {
            const like = new RegExp(`${word().slice(0, 4)}.*${word().slice(0, 2)}`, 'g');
            const found = goods.filter((one) => like.test(one.text) || one.tags.some((tag) => tag.includes('kale')));
            return JSON.stringify(found.sort((a, b) => a.name.localeCompare(b.name)).slice(0, 50).concat(id));
        },
        login: (id) => crypto.scryptSync(`secret${id}`, 'salt', 32, {N: 4096, r: 8, p: 1}).toString('hex'),
        checkout: (id) => {
            const basket = JSON.parse(JSON.stringify(goods.slice(id, id + 60)));
            const text = JSON.stringify({id, sum: basket.reduce((sum, one) => sum + one.price, 0), basket});
            fs.writeSync(orders, `${crypto.createHash('sha256').update(text).digest('hex')} ${text}\n`);
            if (id % 20 === 0)
                fs.fdatasyncSync(orders);
            return '{"paid":true}';
        },
        pictures: (id) => {
            const picture = Buffer.alloc(200 * 200 * 3);
            for (let i = 0; i < picture.length; i++)
                picture[i] = (Math.sin(i * 0.01 + id) + Math.cos(i / 600)) * 60 + 120;
            return zlib.deflateSync(picture, {level: 9});
        },
        quiet: (id) => pages.get(id % 1500),
    };
    const web = http.createServer((request, answer) => {
        const at = new URL(request.url, 'http://shop');
        answer.end(answers[at.pathname.slice(1)](Number(at.searchParams.get('id'))));
    });
    await new Promise((resolve) => web.listen(SOCKET, resolve));
    const child = fork(__filename, ['clients']);
    const said = () => new Promise((resolve) => child.once('message', resolve));
    await said();
    for (const [kind, count, wait] of PLAN) {
        mark(kind);
        child.send([kind, count, wait]);
        await said();
    }
    child.kill();
    web.close();
    process.exit(0);
}

if (process.argv[2] === 'clients')
    clients();
else
    server();
