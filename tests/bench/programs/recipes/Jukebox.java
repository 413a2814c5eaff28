// A library of music: albums of tracks are imported (nested: decode, fingerprint, store, the heap grows), unknown
// recordings identified by two threads, playlists recommended, it waits, tags are edited, and it is compacted. Fixed work.
import java.io.*;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.zip.DeflaterOutputStream;

public class Jukebox {
    static final int SIZE = 1024;
    static final Map<Integer, List<int[]>> index = new HashMap<>();
    static final List<Map<String, String>> tags = new ArrayList<>();
    static final List<float[]> tastes = new ArrayList<>();
    static int tracks;

    static void mark(String coarse, String fine) throws IOException {
        Instant now = Instant.now();
        String line = String.format("%d.%06d coarse=%s%s\n", now.getEpochSecond(), now.getNano() / 1000, coarse, fine == null ? "" : " fine=" + fine);
        Files.writeString(Path.of("truth"), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    // Codes of four bits each, whose step adapts
    static short[] decode(int track, int length) {
        Random random = new Random(track);
        short[] sound = new short[length];
        int value = 0, step = 16, note = 0;
        for (int i = 0; i < length; i++) {
            if (i % 4000 == 0)
                note = 3 + random.nextInt(40);
            int code = (int) (8 + 7.9 * Math.sin(i * note * .01)) + random.nextInt(2) & 15;
            int change = step * (2 * (code & 7) + 1) / 8;
            value = Math.max(-32768, Math.min(32767, value + ((code & 8) != 0 ? change : -change)));
            step = Math.max(16, Math.min(8000, (code & 7) > 3 ? step * 9 / 8 : step * 15 / 16));
            sound[i] = (short) value;
        }
        return sound;
    }

    static void transform(double[] re, double[] im) {
        for (int i = 1, j = 0; i < SIZE; i++) {
            int bit = SIZE >> 1;
            for (; (j & bit) != 0; bit >>= 1)
                j ^= bit;
            j ^= bit;
            if (i < j) {
                double t = re[i]; re[i] = re[j]; re[j] = t;
            }
        }
        for (int n = 2; n <= SIZE; n *= 2) {
            double c = Math.cos(2 * Math.PI / n), s = Math.sin(2 * Math.PI / n);
            for (int i = 0; i < SIZE; i += n) {
                double wr = 1, wi = 0;
                for (int k = i; k < i + n / 2; k++) {
                    int m = k + n / 2;
                    double tr = re[m] * wr - im[m] * wi, ti = re[m] * wi + im[m] * wr;
                    re[m] = re[k] - tr; im[m] = im[k] - ti;
                    re[k] += tr; im[k] += ti;
                    double w = wr * c - wi * s;
                    wi = wr * s + wi * c; wr = w;
                }
            }
        }
    }

    static int[] fingerprint(short[] sound) {
        int[] keys = new int[sound.length / 512];
        double[] re = new double[SIZE], im = new double[SIZE];
        for (int f = 0; f * 512 + SIZE <= sound.length; f++) {
            for (int i = 0; i < SIZE; i++) {
                re[i] = sound[f * 512 + i] * (.5 - .5 * Math.cos(2 * Math.PI * i / SIZE));
                im[i] = 0;
            }
            transform(re, im);
            int key = 0;
            for (int band = 0; band < 4; band++) {
                int best = band * 40 + 2;
                for (int i = best; i < band * 40 + 42; i++)
                    if (re[i] * re[i] + im[i] * im[i] > re[best] * re[best] + im[best] * im[best])
                        best = i;
                key = key * 40 + best % 40;
            }
            keys[f] = key;
        }
        return keys;
    }

    static void importAlbum(int count) throws IOException {
        mark("import", "decode");
        List<short[]> sounds = new ArrayList<>();
        for (int i = 0; i < count; i++)
            sounds.add(decode(tracks + i, 150000));
        mark("import", "fingerprint");
        List<int[]> prints = new ArrayList<>();
        for (short[] sound : sounds)
            prints.add(fingerprint(sound));
        mark("import", "store");
        for (int i = 0; i < count; i++) {
            int at = 0;
            for (int key : prints.get(i))
                for (int k = 0; k < 50; k++)
                    index.computeIfAbsent(key * 31 + k, x -> new ArrayList<>()).add(new int[] {tracks + i, at++});
            Map<String, String> tag = new TreeMap<>();
            for (String name : List.of("title", "artist", "album", "genre", "year"))
                tag.put(name, name + (tracks + i) * 7919 % 1000);
            tags.add(tag);
            float[] taste = new float[64];
            Random random = new Random(i);
            for (int k = 0; k < 64; k++)
                taste[k] = random.nextFloat();
            for (int k = 0; k < 50; k++)
                tastes.add(taste.clone());
        }
        tracks += count;
    }

    static void identify(int queries) throws Exception {
        mark("identify", null);
        Thread[] threads = new Thread[2];
        for (int t = 0; t < 2; t++) {
            int first = t;
            threads[t] = new Thread(() -> {
                for (int q = first; q < queries; q += 2) {
                    Map<Integer, Integer> votes = new HashMap<>();
                    for (int key : fingerprint(decode(q * 37 % tracks, 20000)))
                        for (int k = 0; k < 30; k += 3)
                            for (int[] place : index.getOrDefault(key * 31 + k, List.of()))
                                votes.merge(place[0] * 64 + place[1] % 64, 1, Integer::sum);
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads)
            thread.join();
    }

    static double recommend(int lists) throws IOException {
        mark("recommend", null);
        double sum = 0;
        for (int n = 0; n < lists; n++) {
            float[] own = tastes.get(n * 13 % tastes.size());
            PriorityQueue<Double> best = new PriorityQueue<>();
            for (float[] other : tastes) {
                double dot = 0, a = 0, b = 0;
                for (int k = 0; k < 64; k++) {
                    dot += own[k] * other[k]; a += own[k] * own[k]; b += other[k] * other[k];
                }
                best.add(dot / Math.sqrt(a * b));
                if (best.size() > 20)
                    best.poll();
            }
            sum += best.peek();
        }
        return sum;
    }

    static void edit(int rounds) throws IOException {
        mark("edit", null);
        for (int r = 0; r < rounds; r++)
            for (Map<String, String> tag : tags)
                for (Map.Entry<String, String> entry : tag.entrySet())
                    entry.setValue(entry.getValue().replaceAll("(\\d)(\\d*)$", "$2$1").toUpperCase().replace('E', 'e').toLowerCase());
    }

    static void compact(int rounds) throws IOException {
        mark("compact", "collect");
        for (int r = 0; r < rounds * 2; r++)
            System.gc();
        mark("compact", "write");
        for (int r = 0; r < rounds; r++)
            try (DataOutputStream out = new DataOutputStream(new DeflaterOutputStream(new BufferedOutputStream(new FileOutputStream("index"))))) {
                int n = 0;
                for (Map.Entry<Integer, List<int[]>> entry : index.entrySet())
                    if (n++ % 8 == 0)
                        for (int[] place : entry.getValue())
                            out.writeInt(entry.getKey() ^ place[0] << 8 ^ place[1]);
            }
    }

    static void listen(int beats) throws Exception {
        mark("listen", null);
        for (int i = 0; i < beats; i++)
            Thread.sleep(40);
    }

    public static void main(String[] arguments) throws Exception {
        importAlbum(60);
        identify(300);
        listen(20);
        recommend(1200);
        identify(250);
        edit(1500);
        importAlbum(60);
        compact(3);
        listen(30);
        recommend(800);
        edit(800);
        identify(200);
        listen(20);
        recommend(900);
    }
}
