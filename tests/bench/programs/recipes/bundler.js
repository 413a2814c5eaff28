// A bundler: modules are parsed, linked without dead code, minified by two worker threads, and compressed; the bundle is
// tested; then it watches files, and builds again what changed. Fixed work.
'use strict';
const fs = require('fs');
const vm = require('vm');
const zlib = require('zlib');
const {Worker, isMainThread, parentPort} = require('worker_threads');

const WORDS = /\s+|\/\/[^\n]*|[A-Za-z_$][\w$]*|\d+|"[^"]*"|=>|===|[-+*\/%<>=!&|(){}\[\];,.:?]/y;

function mark(coarse, fine) {
    const now = (performance.timeOrigin + performance.now()) / 1000;
    fs.appendFileSync('truth', `${now.toFixed(6)} coarse=${coarse}${fine ? ' fine=' + fine : ''}\n`);
}

function tokens(text) {
    const all = [];
    WORDS.lastIndex = 0;
    for (let found; WORDS.lastIndex < text.length && (found = WORDS.exec(text));)
        if (!/^(\s|\/\/)/.test(found[0])) all.push(found[0]);
    return all;
}

// Names of variables become short, and spaces go; the shortest of some tries is kept.
function minify(text, tries) {
    let best = text;
    for (let t = 0; t < tries; t++) {
        const names = new Map();
        let out = '', last = '';
        for (const word of tokens(text)) {
            let now = word;
            if (/^local_/.test(word)) {
                if (!names.has(word)) names.set(word, '_' + (names.size + t).toString(36));
                now = names.get(word);
            }
            out += (/\w$/.test(last) && /^\w/.test(now) ? ' ' : '') + now;
            last = now;
        }
        if (out.length < best.length) best = out;
    }
    return best;
}

if (!isMainThread) {
    parentPort.on('message', ({number, text, tries}) => parentPort.postMessage({number, text: minify(text, tries)}));
} else {
    let seed = 7;
    const draw = n => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;

    function source(number) {
        let text = `// module ${number}\n`;
        for (let i = 0; i < 4; i++) text += `import { f${draw(30)} } from "m${draw(240)}";\n`;
        for (let f = 0; f < 30; f++) {
            text += `export function f${f}(local_a, local_b) {\n    // part ${f}\n    let local_sum = ${draw(999)};\n`;
            text += `    for (let local_i = 0; local_i < 40; local_i = local_i + 1) {\n        local_sum = (local_sum * ${3 + draw(90)} + local_a) % 65521;\n`;
            text += `        if (local_sum % ${2 + draw(9)} === 0) { local_sum = local_sum + local_b; }\n    }\n    return local_sum;\n}\n`;
        }
        return text;
    }

    function parse(text) {
        const tree = {imports: [], functions: new Map()};
        const words = tokens(text);
        for (let i = 0; i < words.length; i++) {
            if (words[i] === 'import') tree.imports.push({name: words[i + 2], from: words[i + 5].slice(1, -1)});
            if (words[i] !== 'function') continue;
            const begin = i;
            let depth = 0, body = [];
            do {
                if (words[i] === '{') depth++;
                if (words[i] === '}') depth--;
                body.push({kind: /^[a-z]/i.test(words[i]) ? 'name' : 'sign', text: words[i], depth});
            } while (words[i++] !== '}' || depth);
            i--;
            tree.functions.set(words[begin + 1], body);
        }
        return tree;
    }

    // What is reached from each entry is kept, and printed.
    function link(trees, rounds) {
        let chunks = [];
        for (let round = 0; round < rounds; round++) {
            const used = new Set(), open = [...Array(trees.length).keys()].map(i => `m${i}:f${(round * 3 + i) % 30}`);
            while (open.length) {
                const name = open.pop();
                if (used.has(name)) continue;
                used.add(name);
                const [module, one] = name.split(':');
                const tree = trees[+module.slice(1)];
                if (one === 'f0' || used.size % 3 === 0) for (const {name: other, from} of tree.imports) open.push(`${from}:${other}`);
                for (let f = 0; f < 30; f++) if ((f + round) % 2 === 0) open.push(`${module}:f${f}`);
            }
            chunks = trees.map((tree, i) => [...tree.functions].filter(([name]) => used.has(`m${i}:${name}`))
                .map(([name, body]) => body.map(word => word.text).join(' ').replace(`function ${name} `, `function m${i}_${name}`)).join('\n'));
        }
        return chunks;
    }

    const workers = [];
    async function minified(chunks, tries) {
        const out = Array(chunks.length);
        let next = 0;
        await Promise.all(workers.map(worker => new Promise(done => {
            const give = () => next < chunks.length ? worker.postMessage({number: next, text: chunks[next++], tries}) : (worker.off('message', got), done());
            const got = ({number, text}) => { out[number] = text; give(); };
            worker.on('message', got);
            give();
        })));
        return out;
    }

    async function build(texts, trees, changed, times) {
        mark('build', 'parse');
        for (let t = 0; t < times.parse; t++) for (const i of changed) trees[i] = parse(texts[i]);
        mark('build', 'link');
        const chunks = link(trees, times.link);
        mark('build', 'minify');
        const small = await minified(chunks.map((c, i) => changed.includes(i) || i % 2 ? c : c.slice(0, 500)), times.minify);
        mark('build', 'compress');
        const bundle = chunks.join('\n');
        for (let t = 0; t < times.compress; t++) {
            fs.writeFileSync('bundle.br', zlib.brotliCompressSync(small.join('\n') + t, {params: {[zlib.constants.BROTLI_PARAM_QUALITY]: 8}}));
            fs.writeFileSync('bundle.gz', zlib.gzipSync(bundle));
        }
        return bundle;
    }

    function test(bundle, rounds) {
        mark('test');
        const context = vm.createContext({total: 0});
        const calls = [...bundle.matchAll(/function (m\d+_f\d+)/g)].map(found => `total += ${found[1]}(i, 3);`).join('\n');
        vm.runInContext(`${bundle}\nfor (let i = 0; i < ${rounds}; i++) {\n${calls}\n}`, context);
        return context.total;
    }

    const watch = length_s => { mark('watch'); return new Promise(done => setTimeout(done, length_s * 1000)); };

    (async () => {
        mark('generate');
        const texts = [...Array(4200).keys()].map(source).slice(0, 240), trees = [], all = [...Array(240).keys()];
        for (let i = 0; i < 2; i++) workers.push(new Worker(__filename));
        let bundle = await build(texts, trees, all, {parse: 2, link: 12, minify: 8, compress: 16});
        test(bundle, 26);
        await watch(1.5);
        bundle = await build(texts, trees, all.slice(0, 120), {parse: 5, link: 16, minify: 13, compress: 18});
        await watch(2.5);
        bundle = await build(texts, trees, all.slice(60, 200), {parse: 5, link: 20, minify: 14, compress: 20});
        test(bundle, 32);
        await watch(1);
        mark('format');
        for (let t = 0; t < 8; t++) fs.writeFileSync('formatted', texts.map(text => text.split('\n').map(line => line.replace(/local_(\w+)/g, 'my_$1').trimEnd().padEnd(100)).join('\n')).join('\n'));
        for (const worker of workers) await worker.terminate();
    })();
}
