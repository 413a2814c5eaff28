// An analyser of network packets: captures are written, decoded into streams (a hash table that grows),
// inspected (nested: patterns by three threads, entropy by one), summed up and exported; it waits for captures. Fixed work.
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn mark(coarse: &str, fine: &str) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let fine = if fine.is_empty() { String::new() } else { format!(" fine={fine}") };
    let mut file = OpenOptions::new().create(true).append(true).open("truth").unwrap();
    file.write_all(format!("{}.{:06} coarse={coarse}{fine}\n", at.as_secs(), at.subsec_micros()).as_bytes()).unwrap();
}

struct Packet { flow: u64, sequence: u32, body: Vec<u8> }

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += (pair[0] as u32) << 8 | *pair.get(1).unwrap_or(&0) as u32;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !sum as u16
}

fn capture(random: &mut u64, count: usize) {
    let mut out = BufWriter::new(File::create("capture").unwrap());
    for _ in 0..count {
        let (flow, size) = (next(random) % 6000, 80 + next(random) % 700);
        let mut body: Vec<u8> = Vec::new();
        while body.len() < size as usize {
            write!(body, "GET /{:x}?q={} ", next(random) % 4096, next(random) % 100000).unwrap();
        }
        out.write_all(&flow.to_be_bytes()).unwrap();
        out.write_all(&((next(random) % 100000) as u32).to_be_bytes()).unwrap();
        out.write_all(&checksum(&body).to_be_bytes()).unwrap();
        out.write_all(&(body.len() as u16).to_be_bytes()).unwrap();
        out.write_all(&body).unwrap();
    }
}

fn decode() -> Vec<Packet> {
    let mut bytes = Vec::new();
    File::open("capture").unwrap().read_to_end(&mut bytes).unwrap();
    let (mut at, mut packets) = (0, Vec::new());
    while at < bytes.len() {
        let size = u16::from_be_bytes(bytes[at + 14..at + 16].try_into().unwrap()) as usize;
        let body = &bytes[at + 16..at + 16 + size];
        if checksum(body).to_be_bytes() == bytes[at + 12..at + 14] {
            packets.push(Packet {
                flow: u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap()),
                sequence: u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()),
                body: body.to_vec(),
            });
        }
        at += 16 + size;
    }
    packets
}

fn reassemble(streams: &mut HashMap<u64, Vec<(u32, Vec<u8>)>>, packets: Vec<Packet>) {
    for packet in packets {
        let stream = streams.entry(packet.flow).or_default();
        let place = stream.partition_point(|one| one.0 < packet.sequence);
        stream.insert(place, (packet.sequence, packet.body));
    }
}

// An automaton that finds all words at once; it looks at each byte.
fn automaton(words: &[String]) -> (Vec<[u32; 256]>, Vec<bool>) {
    let (mut go, mut ends) = (vec![[0u32; 256]], vec![false]);
    for word in words {
        let mut state = 0usize;
        for &byte in word.as_bytes() {
            if go[state][byte as usize] == 0 {
                go[state][byte as usize] = go.len() as u32;
                go.push([0; 256]);
                ends.push(false);
            }
            state = go[state][byte as usize] as usize;
        }
        ends[state] = true;
    }
    let (mut fail, mut queue) = (vec![0u32; go.len()], Vec::new());
    queue.extend(go[0].iter().filter(|&&to| to > 0).copied());
    let mut first = 0;
    while first < queue.len() {
        let state = queue[first] as usize;
        first += 1;
        for byte in 0..256 {
            let (to, other) = (go[state][byte], go[fail[state] as usize][byte]);
            if to > 0 {
                fail[to as usize] = other;
                queue.push(to);
            } else {
                go[state][byte] = other;
            }
        }
    }
    (go, ends)
}

fn patterns(streams: &HashMap<u64, Vec<(u32, Vec<u8>)>>, rules: &(Vec<[u32; 256]>, Vec<bool>), times: usize) -> usize {
    let all: Vec<_> = streams.values().collect();
    thread::scope(|scope| {
        let parts: Vec<_> = all.chunks(all.len() / 3 + 1).map(|part| scope.spawn(move || {
            let mut found = 0;
            for stream in (0..times).flat_map(|_| part) {
                let mut state = 0;
                for &byte in stream.iter().flat_map(|one| &one.1) {
                    state = rules.0[state][byte as usize] as usize;
                    found += rules.1[state] as usize;
                }
            }
            found
        })).collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    })
}

fn entropy(streams: &HashMap<u64, Vec<(u32, Vec<u8>)>>, times: usize) -> f64 {
    let mut sum = 0.0;
    for body in (0..times).flat_map(|_| streams.values()).flatten() {
        let mut count = [0u32; 256];
        body.1.iter().for_each(|&byte| count[byte as usize] += 1);
        sum += count.iter().map(|&n| (n as f64 + 1.0) / body.1.len() as f64).map(|p| -p * p.log2()).sum::<f64>();
    }
    sum
}

fn talkers(streams: &HashMap<u64, Vec<(u32, Vec<u8>)>>, times: usize) -> usize {
    let mut total = 0;
    for _ in 0..times {
        let mut paths: HashMap<&[u8], usize> = HashMap::new();
        for body in streams.values().flatten() {
            for word in body.1.split(|&byte| byte == b' ' || byte == b'?').filter(|word| word.first() == Some(&b'/')) {
                *paths.entry(word).or_default() += word.len();
            }
        }
        let mut sorted: Vec<_> = paths.into_iter().collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        total += sorted[0].1;
    }
    total
}

fn export(streams: &HashMap<u64, Vec<(u32, Vec<u8>)>>, times: usize) {
    for number in 0..times {
        let mut out = BufWriter::new(File::create(format!("export{number}")).unwrap());
        for (flow, stream) in streams {
            for one in stream {
                writeln!(out, "{flow:016x};{};{};{:.3}", one.0, one.1.len(), one.0 as f64 / 7.0).unwrap();
            }
        }
        out.into_inner().unwrap().sync_all().unwrap();
    }
}

fn main() {
    let mut random = 88172645463325252;
    let rules = automaton(&(0..3000).map(|_| format!("{:x}", next(&mut random) % (1 << 24))).collect::<Vec<_>>());
    let (mut streams, mut packets, mut sum) = (HashMap::new(), Vec::new(), 0.0);
    let plan = [
        ("capture", 150_000), ("decode", 3), ("patterns", 2), ("entropy", 1), ("talkers", 1), ("wait", 1500),
        ("capture", 130_000), ("decode", 3), ("talkers", 1), ("export", 2), ("patterns", 1), ("entropy", 1),
        ("wait", 1800), ("capture", 140_000), ("decode", 3), ("export", 2), ("patterns", 1), ("entropy", 1),
    ];
    for (what, count) in plan {
        match what {
            "patterns" | "entropy" => mark("inspect", what),
            _ => mark(what, ""),
        }
        match what {
            "capture" => capture(&mut random, count),
            "decode" => {
                (0..count).for_each(|_| packets = decode());
                reassemble(&mut streams, std::mem::take(&mut packets));
            }
            "patterns" => sum += patterns(&streams, &rules, count) as f64,
            "entropy" => sum += entropy(&streams, count),
            "talkers" => sum += talkers(&streams, count) as f64,
            "export" => export(&streams, count),
            _ => thread::sleep(Duration::from_millis(count as u64)),
        }
    }
    println!("{sum}");
}
