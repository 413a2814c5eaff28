// Gradient boosting: a table is parsed and put into bins, trees are grown by three threads and checked on other data,
// clusters are found, the model is explained by permutations, and saved. Fixed work.
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

const FEATURES: usize = 24;

fn mark(coarse: &str, fine: &str) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let mut file = OpenOptions::new().append(true).create(true).open("truth").unwrap();
    writeln!(file, "{at:.6} coarse={coarse}{}{fine}", if fine.is_empty() { "" } else { " fine=" }).unwrap();
}

struct Draw(u64);
impl Draw {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / 16777216.0
    }
}

struct Node { feature: usize, cut: u8, left: usize, value: f32 } // left 0: a leaf; the right child follows the left one
struct Table { rows: Vec<[f32; FEATURES]>, bins: Vec<[u8; FEATURES]>, target: Vec<f32> }

fn parse(text: &str) -> Table {
    let mut table = Table { rows: vec![], bins: vec![], target: vec![] };
    for line in text.lines() {
        let mut row = [0f32; FEATURES];
        for (i, cell) in line.split(',').enumerate() { row[i] = cell.trim().parse().unwrap(); }
        table.target.push((row[0] * 3.0).sin() + row[1] * row[2] + if row[3] > 0.5 { row[4] } else { 0.0 });
        table.rows.push(row);
    }
    table
}

fn bin(table: &mut Table, times: usize) {
    for _ in 0..times {
        table.bins = vec![[0; FEATURES]; table.rows.len()];
        for feature in 0..FEATURES {
            let mut order: Vec<u32> = (0..table.rows.len() as u32).collect();
            order.sort_by(|a, b| table.rows[*a as usize][feature].partial_cmp(&table.rows[*b as usize][feature]).unwrap());
            for (place, row) in order.iter().enumerate() { table.bins[*row as usize][feature] = (place * 64 / order.len()) as u8; }
        }
    }
}

fn grow(table: &Table, rest: &[f32], depth: u32) -> Vec<Node> {
    let mut tree = vec![Node { feature: 0, cut: 0, left: 0, value: 0.0 }];
    let mut leaves: Vec<(usize, Vec<u32>)> = vec![(0, (0..rest.len() as u32).collect())];
    for level in 0..=depth {
        let mut next = vec![];
        for (leaf, rows) in leaves {
            let total: f32 = rows.iter().map(|r| rest[*r as usize]).sum();
            tree[leaf].value = total / (rows.len() as f32 + 1.0);
            if level == depth || rows.len() < 50 { continue; }
            let best = thread::scope(|scope| {
                let rows = &rows;
                let workers: Vec<_> = (0..3).map(|w| scope.spawn(move || {
                    let mut best = (0f32, 0usize, 0u8);
                    for feature in w * FEATURES / 3..(w + 1) * FEATURES / 3 {
                        let mut sums = [(0f32, 0f32); 64];
                        for row in rows {
                            let one = &mut sums[table.bins[*row as usize][feature] as usize];
                            one.0 += rest[*row as usize];
                            one.1 += 1.0;
                        }
                        let (mut sum, mut count) = (0f32, 0f32);
                        for (cut, one) in sums.iter().enumerate() {
                            sum += one.0;
                            count += one.1;
                            let others = rows.len() as f32 - count;
                            let gain = sum * sum / (count + 1.0) + (total - sum) * (total - sum) / (others + 1.0);
                            if gain > best.0 { best = (gain, feature, cut as u8); }
                        }
                    }
                    best
                })).collect();
                workers.into_iter().map(|w| w.join().unwrap()).fold((0f32, 0, 0), |a, b| if b.0 > a.0 { b } else { a })
            });
            let (left, right): (Vec<u32>, Vec<u32>) = rows.iter().partition(|r| table.bins[**r as usize][best.1] <= best.2);
            let at = tree.len();
            tree[leaf] = Node { feature: best.1, cut: best.2, left: at, value: tree[leaf].value };
            for rows in [left, right] {
                next.push((tree.len(), rows));
                tree.push(Node { feature: 0, cut: 0, left: 0, value: 0.0 });
            }
        }
        leaves = next;
    }
    tree
}

fn predict(tree: &[Node], row: &[u8; FEATURES]) -> f32 {
    let mut at = 0;
    while tree[at].left != 0 { at = tree[at].left + (row[tree[at].feature] > tree[at].cut) as usize; }
    tree[at].value
}

fn score(trees: &[Vec<Node>], table: &Table, other: Option<(usize, u64)>) -> f32 {
    let mut draw = Draw(other.map_or(1, |o| o.1));
    let mut error = 0f32;
    for (i, bins) in table.bins.iter().enumerate() {
        let mut row = *bins;
        if let Some((feature, _)) = other { row[feature] = table.bins[(draw.next() * table.bins.len() as f32) as usize % table.bins.len()][feature]; }
        let sum: f32 = trees.iter().map(|tree| predict(tree, &row) * 0.3).sum();
        error += (sum - table.target[i]).powi(2);
    }
    error / table.bins.len() as f32
}

fn cluster(table: &Table, rounds: usize) {
    let mut middle: Vec<[f32; FEATURES]> = table.rows[..30].to_vec();
    for _ in 0..rounds {
        let mut sums = vec![([0f32; FEATURES], 0f32); 30];
        for row in &table.rows {
            let mut best = (f32::MAX, 0);
            for (i, one) in middle.iter().enumerate() {
                let gap: f32 = (0..FEATURES).map(|f| (row[f] - one[f]) * (row[f] - one[f])).sum();
                if gap < best.0 { best = (gap, i); }
            }
            for f in 0..FEATURES { sums[best.1].0[f] += row[f]; }
            sums[best.1].1 += 1.0;
        }
        for (i, (sum, count)) in sums.iter().enumerate() { for f in 0..FEATURES { middle[i][f] = sum[f] / count.max(1.0); } }
    }
}

fn main() {
    mark("load", "parse");
    let text = std::fs::read_to_string("table.csv").unwrap();
    for _ in 0..9 { assert!(parse(&text).rows.len() > 1); } // passes that look for types
    let mut table = parse(&text);
    table.rows.extend(parse(&text).rows.iter().map(|row| row.map(|x| x * 0.97)));
    table.target.extend_from_within(..);
    mark("load", "bin");
    bin(&mut table, 2);
    let mut rest = table.target.clone();
    let mut trees: Vec<Vec<Node>> = vec![];
    for step in "ttcetkttekcts".chars() {
        match step {
            't' => {
                mark("boost", "grow");
                let more: Vec<_> = (0..9).map(|_| {
                    let tree = grow(&table, &rest, 6);
                    for (i, row) in table.bins.iter().enumerate() { rest[i] -= predict(&tree, row) * 0.3; }
                    tree
                }).collect();
                trees.extend(more);
                mark("boost", "check");
                let last = trees.len() - 9;
                for _ in 0..38 { score(&trees[last..], &table, None); }
            }
            'c' => { mark("cluster", ""); cluster(&table, 15); }
            'e' => { mark("explain", ""); for f in 0..FEATURES { score(&trees[trees.len() - 13..], &table, Some((f, f as u64 + 7))); } }
            'k' => { mark("bin", ""); bin(&mut table, 2); }
            _ => {
                mark("save", "");
                for part in 0..18 {
                    let mut file = File::create(format!("model{part}")).unwrap();
                    for tree in &trees { for n in tree { writeln!(file, "{} {} {} {:.6}", n.feature, n.cut, n.left, n.value).unwrap(); } }
                    file.sync_all().unwrap();
                }
            }
        }
    }
}
