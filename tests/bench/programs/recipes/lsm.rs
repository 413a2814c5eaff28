// A store of keys and values whose tables are sorted files: loads, point reads, scans, mixed work and compactions
// by two threads follow each other irregularly. Fixed numbers of operations.
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

type Key = [u8; 16];
const FLUSH: usize = 40_000;

struct Table {
    file: File,
    index: Vec<(Key, u64)>, // of every 16th entry
    bloom: Vec<u64>,
    end: u64,
}

struct Store {
    fresh: BTreeMap<Key, Vec<u8>>,
    tables: Vec<Table>,
    number: usize,
    random: u64,
}

fn mark(label: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut truth = OpenOptions::new().append(true).create(true).open("truth").unwrap();
    truth.write_all(format!("{}.{:06} coarse={}\n", now.as_secs(), now.subsec_micros(), label).as_bytes()).unwrap();
}

fn hash(key: &Key, seed: u64) -> u64 {
    key.iter().fold(seed ^ 0xcbf29ce484222325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100000001b3))
}

fn write_table(name: &str, entries: &mut dyn Iterator<Item = (Key, Vec<u8>)>) -> Table {
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(name).unwrap();
    let mut out = BufWriter::with_capacity(4096, made.try_clone().unwrap());
    let mut table = Table { file: made, index: Vec::new(), bloom: vec![0; 1 << 14], end: 0 };
    for (number, (key, value)) in entries.enumerate() {
        if number % 16 == 0 {
            table.index.push((key, table.end));
        }
        for seed in 0..3 {
            let bit = hash(&key, seed) % (1 << 20);
            table.bloom[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        out.write_all(&key).unwrap();
        out.write_all(&(value.len() as u32).to_le_bytes()).unwrap();
        out.write_all(&value).unwrap();
        table.end += 20 + value.len() as u64;
    }
    out.flush().unwrap();
    table.file.sync_data().unwrap();
    table
}

impl Table {
    fn block(&self, at: usize) -> Vec<(Key, Vec<u8>)> {
        let from = self.index[at].1;
        let to = self.index.get(at + 1).map_or(self.end, |one| one.1);
        let mut bytes = vec![0; (to - from) as usize];
        self.file.read_exact_at(&mut bytes, from).unwrap();
        let (mut entries, mut rest) = (Vec::new(), &bytes[..]);
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[16..20].try_into().unwrap()) as usize;
            entries.push((rest[..16].try_into().unwrap(), rest[20..20 + length].to_vec()));
            rest = &rest[20 + length..];
        }
        entries
    }

    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        for seed in 0..3 {
            let bit = hash(key, seed) % (1 << 20);
            if self.bloom[(bit / 64) as usize] >> (bit % 64) & 1 == 0 {
                return None;
            }
        }
        let at = self.index.partition_point(|one| one.0 <= *key).checked_sub(1)?;
        self.block(at).into_iter().find(|one| one.0 == *key).map(|one| one.1)
    }
}

impl Store {
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn key(&mut self) -> Key {
        format!("user{:012}", self.draw() % 400_000).into_bytes().try_into().unwrap()
    }

    fn put(&mut self) {
        let key = self.key();
        let value = format!("{{\"value\":{},\"name\":\"{:x}\"}}", self.draw(), self.draw()).into_bytes();
        self.fresh.insert(key, value);
        if self.fresh.len() >= FLUSH {
            self.number += 1;
            let fresh = std::mem::take(&mut self.fresh);
            self.tables.push(write_table(&format!("table{}", self.number), &mut fresh.into_iter()));
        }
    }

    fn get(&mut self) -> usize {
        let key = self.key();
        if let Some(value) = self.fresh.get(&key) {
            return value.len();
        }
        self.tables.iter().rev().find_map(|table| table.get(&key)).map_or(0, |value| value.len())
    }

    // Sum up the values of the next 800 keys in each table.
    fn scan(&mut self) -> usize {
        let key = self.key();
        let mut merged = BTreeMap::new();
        for table in &self.tables {
            let at = table.index.partition_point(|one| one.0 <= key).saturating_sub(1);
            for block in at..(at + 50).min(table.index.len()) {
                merged.extend(table.block(block));
            }
        }
        merged.range(key..).map(|one| one.1.len()).sum()
    }

    // Two threads merge the tables, each a half of the keys.
    fn compact(&mut self) {
        let tables = std::mem::take(&mut self.tables);
        self.number += 2;
        let number = self.number;
        let made: Vec<Table> = thread::scope(|scope| {
            let halves: Vec<_> = (0..2)
                .map(|half| {
                    let tables = &tables;
                    scope.spawn(move || {
                        let mut merged: Vec<(Key, usize, Vec<u8>)> = Vec::new();
                        for (age, table) in tables.iter().enumerate() {
                            for block in 0..table.index.len() {
                                merged.extend(table.block(block).into_iter().filter_map(|(key, value)| {
                                    ((key[10] >= b'2') == (half == 1)).then_some((key, age, value))
                                }));
                            }
                        }
                        merged.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                        merged.dedup_by(|b, a| a.0 == b.0);
                        let name = format!("table{}", number - half);
                        write_table(&name, &mut merged.into_iter().map(|one| (one.0, one.2)))
                    })
                })
                .collect();
            halves.into_iter().map(|half| half.join().unwrap()).collect()
        });
        self.tables = made;
    }
}

fn main() {
    let mut store = Store { fresh: BTreeMap::new(), tables: Vec::new(), number: 0, random: 88172645463325252 };
    let mut sum = 0;
    let plan = [
        ("load", 720_000), ("get", 180_000), ("compact", 1), ("get", 180_000), ("scan", 900), ("load", 420_000),
        ("mixed", 160_000), ("scan", 200), ("compact", 1), ("mixed", 200_000), ("load", 340_000), ("get", 110_000),
        ("compact", 1), ("scan", 900),
    ];
    for (what, count) in plan {
        mark(what);
        for number in 0..count {
            match what {
                "load" => store.put(),
                "get" => sum += store.get(),
                "scan" => sum += store.scan(),
                "compact" => store.compact(),
                _ if number % 2 == 0 => store.put(),
                _ => sum += store.get(),
            }
        }
    }
    println!("{sum}");
}
