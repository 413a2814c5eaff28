// Jobs over a log of clicks: each maps lines (three threads), shuffles what is emitted through files, and reduces; between
// them, users are joined, sessions are scored, and the master waits. Fixed work.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import java.util.zip.*;

public class Clicks {
    static final int PARTS = 6;
    static final ExecutorService crew = Executors.newFixedThreadPool(3);

    static void mark(String coarse, String fine) throws IOException {
        Instant now = Instant.now();
        Files.writeString(Path.of("truth"), String.format("%d.%06d coarse=%s%s\n", now.getEpochSecond(), now.getNano() / 1000, coarse,
            fine == null ? "" : " fine=" + fine), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    static void parallel(int tasks, IntConsumer task) throws Exception {
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < tasks; i++) {
            int number = i;
            all.add(crew.submit(() -> task.accept(number)));
        }
        for (Future<?> one : all)
            one.get();
    }

    /** Lines are split, and key and value of each are kept in the buffer of their part. */
    static List<List<String>> map(List<String> lines, int repeats, BiConsumer<String[], Consumer<String>> emit) throws Exception {
        List<List<String>> parts = new ArrayList<>();
        for (int i = 0; i < PARTS; i++)
            parts.add(Collections.synchronizedList(new ArrayList<>()));
        parallel(12, task -> {
            List<List<String>> own = new ArrayList<>();
            for (int i = 0; i < PARTS; i++)
                own.add(new ArrayList<>());
            for (int repeat = 0; repeat < repeats; repeat++) {
                own.forEach(List::clear);
                for (int i = task; i < lines.size(); i += 12)
                    emit.accept(lines.get(i).split("[\t/?=]"), pair -> own.get((pair.substring(0, pair.indexOf('\t')).hashCode() & 0x7fffffff) % PARTS).add(pair));
            }
            for (int i = 0; i < PARTS; i++)
                parts.get(i).addAll(own.get(i));
        });
        return parts;
    }

    /** Each part is sorted, written, and read again. */
    static List<List<String>> shuffle(List<List<String>> parts) throws Exception {
        List<List<String>> sorted = new ArrayList<>();
        for (int i = 0; i < PARTS; i++) {
            List<String> one = new ArrayList<>(parts.get(i));
            Collections.sort(one);
            Path file = Path.of("spill" + i);
            try (FileOutputStream raw = new FileOutputStream(file.toFile()); GZIPOutputStream packed = new GZIPOutputStream(raw); Writer to = new BufferedWriter(new OutputStreamWriter(packed, StandardCharsets.UTF_8))) {
                for (String pair : one)
                    to.write(pair + "\n");
                to.flush();
                packed.finish();
                raw.getFD().sync();
            }
            try (BufferedReader from = new BufferedReader(new InputStreamReader(new GZIPInputStream(new FileInputStream(file.toFile())), StandardCharsets.UTF_8))) {
                sorted.add(new ArrayList<>(from.lines().toList()));
            }
        }
        return sorted;
    }

    static Map<String, Long> reduce(List<List<String>> parts, int repeats) throws Exception {
        Map<String, Long> result = new ConcurrentHashMap<>();
        parallel(PARTS, part -> {
            for (int repeat = 0; repeat < repeats; repeat++) {
                TreeMap<String, Long> sums = new TreeMap<>();
                for (String pair : parts.get(part)) {
                    int tab = pair.indexOf('\t');
                    sums.merge(pair.substring(0, tab), Long.parseLong(pair.substring(tab + 1)), Long::sum);
                }
                result.putAll(sums);
            }
        });
        return result;
    }

    static Map<String, Long> job(List<String> lines, int[] repeats, BiConsumer<String[], Consumer<String>> emit) throws Exception {
        mark("job", "map");
        List<List<String>> parts = map(lines, repeats[0], emit);
        mark("job", "shuffle");
        parts = shuffle(parts);
        mark("job", "reduce");
        return reduce(parts, repeats[1]);
    }

    /** Users and pages are joined by a hash of both. */
    static int join(Map<String, Long> users, Map<String, Long> pages, int rounds) {
        int found = 0;
        for (int round = 0; round < rounds; round++) {
            HashMap<Long, List<String>> by = new HashMap<>();
            users.forEach((name, value) -> by.computeIfAbsent(value % 9973, key -> new ArrayList<>()).add(name));
            for (Map.Entry<String, Long> page : pages.entrySet())
                for (String user : by.getOrDefault((page.getValue() + round) % 9973, List.of()))
                    found += user.length();
        }
        return found;
    }

    /** A logistic regression over the clicks. */
    static double score(double[][] rows, int rounds) {
        double[] weight = new double[rows[0].length];
        for (int round = 0; round < rounds; round++)
            for (double[] row : rows) {
                double sum = 0;
                for (int i = 0; i < row.length; i++)
                    sum += row[i] * weight[i];
                double gap = (row[0] > .5 ? 1 : 0) - 1 / (1 + Math.exp(-sum));
                for (int i = 0; i < row.length; i++)
                    weight[i] += .001 * gap * row[i];
            }
        return weight[1];
    }

    public static void main(String[] arguments) throws Exception {
        mark("read", null);
        List<String> lines = Files.readAllLines(Path.of("clicks.tsv"));
        Random draw = new Random(1);
        double[][] rows = new double[80000][20];
        for (double[] row : rows)
            for (int i = 0; i < row.length; i++)
                row[i] = draw.nextDouble();
        Map<String, Long> users = job(lines, new int[] {2, 7}, (word, to) -> to.accept(word[1] + "\t" + word[word.length - 1]));
        mark("score", null);
        score(rows, 80);
        Map<String, Long> pages = job(lines.subList(0, 240000), new int[] {3, 9}, (word, to) -> to.accept(word[4] + "-" + word[5] + "\t1"));
        mark("join", null);
        join(users, pages, 26);
        mark("wait", null);
        Thread.sleep(2000);
        mark("score", null);
        score(rows, 90);
        mark("join", null);
        join(pages, users, 34);
        Map<String, Long> hours = job(lines.subList(20000, 260000), new int[] {3, 9}, (word, to) -> to.accept(Integer.parseInt(word[0]) / 3000 + ":" + word[4] + "\t" + word[word.length - 1]));
        mark("join", null);
        join(hours, users, 26);
        crew.shutdown();
    }
}
