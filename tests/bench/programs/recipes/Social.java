// A social network is loaded and analysed: ranks are iterated (nested: spread, compare), communities found by two
// threads, paths searched, friends suggested (objects fill the heap), posts written, and members kept. Fixed work.
import java.io.*;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.stream.*;
import java.util.zip.GZIPOutputStream;

public class Social {
    record Suggestion(int who, int friend, double weight, String why) {}

    static final int MEMBERS = 60000;
    static int[][] friends = new int[MEMBERS][];
    static double[] rank = new double[MEMBERS];
    static int[] community = new int[MEMBERS];
    static final Map<Integer, List<Suggestion>> suggested = new HashMap<>();
    static double sink;

    static void mark(String label) throws IOException {
        Instant now = Instant.now();
        Files.writeString(Path.of("truth"),
            String.format(Locale.ROOT, "%d.%06d coarse=%s%n", now.getEpochSecond(), now.getNano() / 1000, label),
            StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    static void write(int edges, int seed) throws IOException {
        Random draw = new Random(seed);
        try (PrintWriter out = new PrintWriter(new BufferedWriter(new FileWriter("edges")))) {
            for (int i = 0; i < edges; i++) {
                int from = draw.nextInt(MEMBERS), near = draw.nextInt(300) - 150;
                out.printf("%d;%d;friend%n", from, draw.nextInt(4) == 0 ? draw.nextInt(MEMBERS) : Math.floorMod(from + near, MEMBERS));
            }
        }
    }

    static void load(int times) throws IOException {
        for (int i = 0; i < times; i++) {
            List<List<Integer>> lists = new ArrayList<>();
            for (int k = 0; k < MEMBERS; k++)
                lists.add(new ArrayList<>());
            for (String line : Files.readAllLines(Path.of("edges"))) {
                String[] part = line.split(";");
                int from = Integer.parseInt(part[0]), to = Integer.parseInt(part[1]);
                lists.get(from).add(to);
                lists.get(to).add(from);
            }
            for (int k = 0; k < MEMBERS; k++)
                friends[k] = lists.get(k).stream().mapToInt(Integer::intValue).toArray();
        }
    }

    static double[] spread(int rounds) {
        double[] before = rank.clone();
        for (int round = 0; round < rounds; round++) {
            double[] after = new double[MEMBERS];
            for (int i = 0; i < MEMBERS; i++)
                for (int friend : friends[i])
                    after[friend] += .85 * (rank[i] + .1) / friends[i].length;
            rank = after;
        }
        return before;
    }

    static void compare(double[] before, int times) {
        for (int i = 0; i < times; i++) {
            double[] gain = IntStream.range(0, MEMBERS).mapToDouble(k -> rank[k] + before[k]).toArray(), order = gain.clone();
            Arrays.sort(order);
            for (double one : gain)
                sink += Arrays.binarySearch(order, one);
        }
    }

    static void communities(int rounds) throws InterruptedException {
        Runnable[] half = new Runnable[2];
        for (int h = 0; h < 2; h++) {
            int from = h * MEMBERS / 2;
            half[h] = () -> {
                int[] votes = new int[MEMBERS];
                for (int i = from; i < from + MEMBERS / 2; i++) {
                    int best = community[i];
                    for (int friend : friends[i])
                        if (++votes[community[friend]] > votes[best])
                            best = community[friend];
                    for (int friend : friends[i])
                        votes[community[friend]] = 0;
                    community[i] = best;
                }
            };
        }
        for (int round = 0; round < rounds; round++) {
            if (round % 12 == 0)
                Arrays.setAll(community, i -> i);
            Thread other = new Thread(half[1]);
            other.start();
            half[0].run();
            other.join();
        }
    }

    static void paths(int searches) {
        for (int s = 0; s < searches; s++) {
            int[] distance = new int[MEMBERS];
            ArrayDeque<Integer> queue = new ArrayDeque<>(List.of(s * 37));
            while (!queue.isEmpty()) {
                int at = queue.poll();
                for (int friend : friends[at])
                    if (distance[friend] == 0) {
                        distance[friend] = distance[at] + 1;
                        queue.add(friend);
                    }
            }
            sink += distance[7];
        }
    }

    static void suggest(int from, int to) {
        for (int i = from; i < to; i++) {
            Map<Integer, Double> weight = new HashMap<>();
            for (int friend : friends[i])
                for (int other : friends[friend])
                    if (other != i)
                        weight.merge(other, 1.0 / friends[friend].length, Double::sum);
            int who = i;
            suggested.put(i, weight.entrySet().stream().sorted((a, b) -> Double.compare(b.getValue(), a.getValue())).limit(20)
                .map(e -> new Suggestion(who, e.getKey(), e.getValue(), "knows " + e.getKey() + " of " + who)).collect(Collectors.toList()));
        }
    }

    static void posts(int count) {
        Random draw = new Random(count);
        for (int i = 0; i < count; i++) {
            StringBuilder text = new StringBuilder();
            for (int k = 0; k < 40; k++)
                text.append(k % 9 == 0 ? "#tag" : "word").append(draw.nextInt(5000)).append(' ');
            sink += Arrays.stream(text.toString().split(" ")).filter(word -> word.startsWith("#")).map(String::toUpperCase)
                .distinct().count() + text.toString().replaceAll("word([0-9])", "<a>$1</a>").length();
        }
    }

    static void keep(int times) throws IOException {
        for (int i = 0; i < times; i++)
            try (OutputStream out = new GZIPOutputStream(new FileOutputStream("members" + i))) {
                StringBuilder text = new StringBuilder();
                for (int k = 0; k < MEMBERS; k++)
                    text.append(k).append(':').append(Arrays.toString(friends[k])).append(community[k]).append('\n');
                out.write(text.toString().getBytes());
            }
    }

    static void ranks(int iterations) throws IOException {
        for (int i = 0; i < iterations; i++) {
            mark("rank fine=spread");
            double[] before = spread(185);
            mark("rank fine=compare");
            compare(before, 20);
        }
    }

    public static void main(String[] arguments) throws Exception {
        mark("load fine=write");
        write(270000, 1);
        mark("load fine=parse");
        load(1);
        ranks(2);
        mark("communities");
        communities(90);
        mark("suggest");
        suggest(0, 9000);
        mark("keep");
        keep(1);
        mark("posts");
        posts(12000);
        mark("load fine=write");
        write(280000, 2);
        mark("load fine=parse");
        load(1);
        mark("paths");
        paths(45);
        mark("suggest");
        suggest(9000, 23000);
        ranks(2);
        mark("posts");
        posts(20000);
        mark("communities");
        communities(90);
        mark("paths");
        paths(60);
        mark("keep");
        keep(1);
        mark("suggest");
        suggest(23000, 38000);
        System.out.println(sink);
    }
}
