// A node of a chain of blocks: it syncs (nested: verify, apply, which fills a map), takes transactions, mines by two
// threads, waits, reorganises, scans a wallet and flushes, in irregular order. Fixed work.
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn mark(coarse: &str, fine: &str) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let mut file = OpenOptions::new().append(true).create(true).open("truth").unwrap();
    let line = if fine.is_empty() { format!("{at:.6} coarse={coarse}\n") } else { format!("{at:.6} coarse={coarse} fine={fine}\n") };
    file.write_all(line.as_bytes()).unwrap();
}

type Hash = [u32; 8];
const START: Hash = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

fn compress(state: &Hash, block: &[u32; 16]) -> Hash {
    let mut w = [0u32; 64];
    w[..16].copy_from_slice(block);
    for i in 16..64 {
        let a = w[i - 15];
        let b = w[i - 2];
        w[i] = w[i - 16].wrapping_add(a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3)).wrapping_add(w[i - 7])
            .wrapping_add(b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10));
    }
    let mut s = *state;
    for i in 0..64u32 {
        let t1 = s[7].wrapping_add(s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25))
            .wrapping_add((s[4] & s[5]) ^ (!s[4] & s[6])).wrapping_add(0x428a2f98u32.wrapping_mul(2 * i + 1)).wrapping_add(w[i as usize]);
        let t2 = (s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22)).wrapping_add((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        s = [t1.wrapping_add(t2), s[0], s[1], s[2], s[3].wrapping_add(t1), s[4], s[5], s[6]];
    }
    for i in 0..8 {
        s[i] = s[i].wrapping_add(state[i]);
    }
    s
}

#[derive(Clone)]
struct Tx { id: u64, from: u64, to: u64, amount: u64, fee: u64 }

struct Node { coins: HashMap<u64, (u64, u64)>, owners: BTreeMap<(u64, u64), u64>, blocks: Vec<Vec<Tx>>, mempool: BTreeMap<(u64, u64), Tx>, seed: u64, ids: u64 }

impl Node {
    fn next(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.seed >> 20
    }
    fn tx(&mut self) -> Tx {
        self.ids += 1;
        let (id, r) = (self.ids, self.next());
        Tx { id: id.wrapping_mul(0x9e3779b97f4a7c15), from: r % id, to: self.next() % 5000, amount: r % 1000, fee: self.next() % 10000 }
    }
    fn hash(&self, txs: &[Tx]) -> Hash {
        let mut level: Vec<Hash> = txs.iter().map(|t| {
            let mut b = [0u32; 16];
            for (i, v) in [t.id, t.from, t.to, t.amount, t.fee].iter().enumerate() {
                b[2 * i] = *v as u32;
                b[2 * i + 1] = (*v >> 32) as u32;
            }
            compress(&compress(&START, &b), &b)
        }).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|p| {
                let mut b = [0u32; 16];
                b[..8].copy_from_slice(&p[0]);
                b[8..].copy_from_slice(&p[p.len() - 1]);
                compress(&START, &b)
            }).collect();
        }
        level[0]
    }
    fn sync(&mut self, times: u32, blocks: usize, size: usize) {
        for _ in 0..times {
            mark("sync", "verify");
            let batch: Vec<Vec<Tx>> = (0..blocks).map(|_| (0..size).map(|_| self.tx()).collect()).collect();
            let mut all = 0;
            for b in &batch {
                all ^= self.hash(b)[0];
            }
            std::hint::black_box(all);
            mark("sync", "apply");
            for b in batch {
                self.apply(b);
            }
        }
    }
    fn apply(&mut self, block: Vec<Tx>) {
        for t in &block {
            self.coins.remove(&t.from.wrapping_mul(0x9e3779b97f4a7c15));
            self.coins.insert(t.id, (t.to, t.amount));
            self.owners.insert((t.to, t.id), t.amount);
        }
        self.blocks.push(block);
    }
    fn gossip(&mut self, count: usize) {
        mark("gossip", "");
        for _ in 0..count {
            let t = self.tx();
            self.mempool.insert((t.fee, t.id), t);
            if self.mempool.len() > 120_000 {
                self.mempool.pop_first();
            }
        }
    }
    fn mine(&mut self, tries: u32) {
        mark("mine", "");
        let txs: Vec<Tx> = (0..2000).filter_map(|_| self.mempool.pop_last().map(|p| p.1)).collect();
        let mut header = [7u32; 16];
        header[..8].copy_from_slice(&self.hash(&txs));
        std::thread::scope(|s| {
            for t in 0..2u32 {
                let mut header = header;
                s.spawn(move || {
                    let mut least = u32::MAX;
                    for i in 0..tries {
                        header[15] = i * 2 + t;
                        least = least.min(compress(&compress(&START, &header), &header)[0]);
                    }
                    std::hint::black_box(least)
                });
            }
        });
        self.apply(txs);
    }
    fn reorganise(&mut self, depth: usize) {
        mark("reorganise", "");
        for _ in 0..2 {
            let from = self.blocks.len() - depth;
            let undone = self.blocks.split_off(from);
            for b in undone.iter().rev() {
                for t in b.iter().rev() {
                    self.coins.remove(&t.id);
                    self.owners.remove(&(t.to, t.id));
                    self.coins.insert(t.from.wrapping_mul(0x9e3779b97f4a7c15), (t.to, t.amount));
                }
            }
            for b in undone {
                self.apply(b);
            }
        }
    }
    fn wallet(&mut self, times: u64) {
        mark("wallet", "");
        let mut sum = 0;
        for w in 0..times {
            for b in &self.blocks {
                sum += b.iter().filter(|t| t.to % 500 == w).map(|t| t.amount * 3 + t.fee % 7).sum::<u64>();
            }
        }
        std::hint::black_box(sum);
    }
    fn flush(&mut self) {
        mark("flush", "");
        for _ in 0..6 {
            let mut out = BufWriter::with_capacity(4096, File::create("coins").unwrap());
            for (k, (to, amount)) in &self.coins {
                writeln!(out, "{k:x} {to} {amount}").unwrap();
            }
            out.flush().unwrap();
            out.get_ref().sync_all().unwrap();
        }
    }
}

fn wait(beats: u32) {
    mark("wait", "");
    for _ in 0..beats {
        std::thread::sleep(Duration::from_millis(25));
    }
}

fn main() {
    let mut n = Node { coins: HashMap::new(), owners: BTreeMap::new(), blocks: vec![], mempool: BTreeMap::new(), seed: 3, ids: 1 };
    n.sync(2, 125, 4000);
    n.gossip(3_000_000);
    n.mine(500_000);
    wait(30);
    n.mine(400_000);
    n.reorganise(25);
    n.gossip(3_200_000);
    n.flush();
    n.sync(1, 110, 4000);
    n.wallet(80);
    n.mine(600_000);
    wait(40);
    n.gossip(3_500_000);
    n.mine(400_000);
    n.wallet(70);
}
