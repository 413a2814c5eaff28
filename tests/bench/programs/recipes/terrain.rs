// A map of a terrain: surveys of heights are read, pits filled, the flow of water accumulated (nested: hydrology), slopes
// shaded, what towers can see computed by two threads, contours traced, and maps written. Fixed work.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SIDE: usize = 1200;
const AROUND: [(i32, i32); 8] = [(0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)];

fn mark(coarse: &str, fine: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut truth = OpenOptions::new().append(true).create(true).open("truth").unwrap();
    let nested = if fine.is_empty() { String::new() } else { format!(" fine={}", fine) };
    truth.write_all(format!("{}.{:06} coarse={}{}\n", now.as_secs(), now.subsec_micros(), coarse, nested).as_bytes()).unwrap();
}

/// The heights are the mean of all surveys, higher by what was built.
fn read(built: f32) -> Vec<f32> {
    let mut height = vec![0f32; SIDE * SIDE];
    for survey in 1..7 {
        let text = fs::read_to_string(format!("survey{}.asc", survey)).unwrap();
        for (row, line) in height.chunks_mut(SIDE).zip(text.lines().skip(3)) {
            row.iter_mut().zip(line.split_whitespace()).for_each(|(at, word)| *at += word.parse::<f32>().unwrap() / 6. + built);
        }
    }
    height
}

fn neighbours(at: usize) -> impl Iterator<Item = usize> {
    let (x, y) = ((at % SIDE) as i32, (at / SIDE) as i32);
    AROUND.iter().map(move |(dx, dy)| (x + dx, y + dy)).filter(|&(x, y)| x >= 0 && y >= 0 && x < SIDE as i32 && y < SIDE as i32)
        .map(|(x, y)| y as usize * SIDE + x as usize)
}

/// Water rises from the border into the tile: each cell is at least as high as the way out.
fn fill(height: &[f32]) -> Vec<f32> {
    let mut filled = vec![f32::INFINITY; height.len()];
    let mut queue = BinaryHeap::new();
    for at in 0..height.len() {
        let (x, y) = (at % SIDE, at / SIDE);
        if x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1 {
            filled[at] = height[at];
            queue.push(Reverse(((height[at] * 100.) as u32, at)));
        }
    }
    while let Some(Reverse((_, at))) = queue.pop() {
        for to in neighbours(at) {
            if filled[to].is_infinite() {
                filled[to] = height[to].max(filled[at] + 0.001);
                queue.push(Reverse(((filled[to] * 100.) as u32, to)));
            }
        }
    }
    filled
}

/// Each cell, from the highest on, gives its water to its lowest neighbour. Low cells get less rain.
fn flow(filled: &[f32], rain: f32) -> Vec<f32> {
    let mut order: Vec<u32> = (0..filled.len() as u32).collect();
    order.sort_by(|&a, &b| filled[b as usize].total_cmp(&filled[a as usize]));
    let mut water: Vec<f32> = filled.iter().map(|height| rain * height).collect();
    for &at in &order {
        let low = neighbours(at as usize).min_by(|&a, &b| filled[a].total_cmp(&filled[b])).unwrap();
        if filled[low] < filled[at as usize] {
            water[low] += water[at as usize];
        }
    }
    water
}

fn shade(height: &[f32], lights: usize) -> Vec<f32> {
    let mut image = vec![0f32; height.len()];
    for y in 1..SIDE - 1 {
        for x in 1..SIDE - 1 {
            let at = y * SIDE + x;
            let (dx, dy) = ((height[at + 1] - height[at - 1]) / 20., (height[at + SIDE] - height[at - SIDE]) / 20.);
            let (slope, aspect) = (dx.hypot(dy).atan(), dy.atan2(-dx));
            for light in 0..lights {
                image[at] += (0.7 * slope.cos() + 0.7 * slope.sin() * (light as f32 - aspect).cos()).max(0.) / lights as f32;
            }
        }
    }
    image
}

/// Count how many towers see each cell, along a line to it.
fn view(height: &[f32], towers: &[usize]) -> Vec<u16> {
    let mut seen = vec![0u16; height.len()];
    for &tower in towers {
        let (x0, y0) = ((tower % SIDE) as f32, (tower / SIDE) as f32);
        for edge in 0..4 * SIDE {
            let along = (edge % SIDE) as f32;
            let (x1, y1) = [(along, 0.), (along, SIDE as f32 - 1.), (0., along), (SIDE as f32 - 1., along)][edge / SIDE];
            let length = (x1 - x0).abs().max((y1 - y0).abs());
            let mut steepest = f32::NEG_INFINITY;
            for step in 1..length as usize {
                let share = step as f32 / length;
                let at = (y0 + share * (y1 - y0)) as usize * SIDE + (x0 + share * (x1 - x0)) as usize;
                let slope = (height[at] - height[tower] - 30.) / step as f32;
                if slope > steepest {
                    steepest = slope;
                    seen[at] += 1;
                }
            }
        }
    }
    seen
}

/// Lines of equal height: crossings with the edges of cells are joined by a hash of their places.
fn contours(height: &[f32], step: f32) -> Vec<Vec<(u32, u32)>> {
    let mut lines = Vec::new();
    for level in 0..(1200. / step) as usize {
        let z = level as f32 * step;
        let mut ends: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
        for at in (0..height.len() - SIDE - 1).filter(|at| at % SIDE < SIDE - 1) {
            let mut cut = Vec::new();
            for (a, b) in [(at, at + 1), (at + 1, at + SIDE + 1), (at + SIDE + 1, at + SIDE), (at + SIDE, at)] {
                if (height[a] < z) != (height[b] < z) {
                    cut.insert(if height[a] < z { 0 } else { cut.len() }, (a.min(b) as u32, a.max(b) as u32));
                }
            }
            for pair in cut.chunks_exact(2) {
                ends.insert(pair[0], pair[1]);
            }
        }
        while let Some(&start) = ends.keys().next() {
            let (mut line, mut at) = (vec![start], start);
            while let Some(to) = ends.remove(&at) {
                line.push(to);
                at = to;
            }
            lines.push(line);
        }
    }
    lines
}

fn write(name: &str, image: &[f32], lines: &[Vec<(u32, u32)>]) {
    let mut file = BufWriter::new(File::create(name).unwrap());
    writeln!(file, "P2 {} {} 255", SIDE, SIDE).unwrap();
    for row in image.chunks(SIDE) {
        let words: Vec<String> = row.iter().map(|value| format!("{}", (value * 200.) as i32 % 256)).collect();
        writeln!(file, "{}", words.join(" ")).unwrap();
    }
    for (number, line) in lines.iter().enumerate() {
        let points: Vec<String> = line.iter().map(|(a, _)| format!("{:.1},{:.1}", f64::from(a % SIDE as u32) * 10., f64::from(a / SIDE as u32) * 10.)).collect();
        writeln!(file, "<path id=\"{}\" d=\"M{}\"/>", number, points.join(" L")).unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
}

fn main() {
    for (built, views) in [(0., 14), (2.5, 0), (0.5, 17), (3.5, 0)] {
        mark("read", "");
        let height = read(built);
        mark("hydrology", "fill");
        let mut filled = fill(&height);
        mark("hydrology", "flow");
        let (summer, winter) = (flow(&filled, 0.01), flow(&filled, 0.03));
        mark("shade", "");
        let mut image = shade(&height, 16);
        if views > 0 {
            mark("view", "");
            let towers: Vec<usize> = (0..views).map(|i| (i * 7919 + 321) * 331 % (SIDE * SIDE)).collect();
            let (left, right) = towers.split_at(towers.len() / 2);
            let seen = thread::scope(|scope| {
                let other = scope.spawn(|| view(&height, left));
                let own = view(&height, right);
                (other.join().unwrap(), own)
            });
            image.iter_mut().zip(seen.0.iter().zip(&seen.1)).for_each(|(pixel, (a, b))| *pixel += 0.1 * f32::from(a + b));
        } else {
            mark("wait", "");
            thread::sleep(Duration::from_millis(1800));
        }
        filled.iter_mut().zip(summer.iter().zip(&winter)).for_each(|(a, (b, c))| *a += (b + c).ln());
        mark("contour", "");
        let lines = contours(&filled, 25.);
        mark("write", "");
        write("map", &image, &lines);
    }
}
