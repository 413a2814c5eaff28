// A stock exchange: quotes are loaded, orders matched in sessions (the heap grows), crossed in auctions, risk
// simulated by two threads, trades archived, and the heap collected. Fixed work.
import java.io.*;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.stream.*;
import java.util.zip.GZIPOutputStream;

public class Market {
    record Order(long id, String symbol, double price, int count, boolean buys) {}

    record Trade(Order buyer, Order seller, double price, String note) {}

    static final List<Order> quotes = new ArrayList<>();
    static List<Trade> trades = new ArrayList<>();
    static final Random random = new Random(7);
    static long number;
    static double sink;

    static void mark(String label) throws IOException {
        Instant now = Instant.now();
        Files.writeString(Path.of("truth"),
            String.format(Locale.ROOT, "%d.%06d coarse=%s%n", now.getEpochSecond(), now.getNano() / 1000, label),
            StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    static void load(int times) throws IOException {
        for (int i = 0; i < times; i++) {
            quotes.clear();
            try (BufferedReader in = Files.newBufferedReader(Path.of("quotes"))) {
                for (String line; (line = in.readLine()) != null;) {
                    String[] part = line.split(";");
                    quotes.add(new Order(number++, part[0].intern(), Double.parseDouble(part[1]),
                        Integer.parseInt(part[2]), part[3].equals("buy")));
                }
            }
        }
    }

    static void trade(int orders) {
        Map<String, PriorityQueue<Order>> bids = new HashMap<>(), asks = new HashMap<>();
        for (int i = 0; i < orders; i++) {
            Order like = quotes.get(random.nextInt(quotes.size()));
            Order made = new Order(number++, like.symbol, 50 + random.nextGaussian() * 5, like.count, like.buys);
            var mine = (made.buys ? bids : asks).computeIfAbsent(made.symbol, key -> new PriorityQueue<>(
                made.buys ? Comparator.comparingDouble(one -> -one.price) : Comparator.comparingDouble(Order::price)));
            var others = (made.buys ? asks : bids).get(made.symbol);
            Order best = others == null ? null : others.peek();
            if (best != null && (made.buys ? best.price <= made.price : best.price >= made.price)) {
                others.poll();
                trades.add(new Trade(made.buys ? made : best, made.buys ? best : made, best.price,
                    "trade " + number + " of " + made.symbol));
            } else {
                mine.add(made);
            }
        }
    }

    // The price at which most is sold, of each symbol, from all quotes.
    static void auction(int times) {
        for (int i = 0; i < times; i++) {
            int shift = i;
            sink += quotes.stream().collect(Collectors.groupingBy(Order::symbol)).values().stream().mapToDouble(book -> {
                List<Order> sorted = new ArrayList<>(book);
                sorted.sort(Comparator.comparingDouble((Order one) -> (one.price * 7 + shift) % 50));
                double best = 0, volume = 0;
                for (Order at : sorted) {
                    long bought = 0, sold = 0;
                    for (Order one : sorted) {
                        if (one.buys && one.price >= at.price)
                            bought += one.count;
                        else if (!one.buys && one.price <= at.price)
                            sold += one.count;
                    }
                    if (Math.min(bought, sold) > volume) {
                        volume = Math.min(bought, sold);
                        best = at.price;
                    }
                }
                return best;
            }).sum();
        }
    }

    static double paths(int count, int seed) {
        SplittableRandom draw = new SplittableRandom(seed);
        double sum = 0;
        for (int i = 0; i < count; i++) {
            double price = 50;
            for (int day = 0; day < 250; day++)
                price *= Math.exp((draw.nextDouble() + draw.nextDouble() + draw.nextDouble() - 1.5) * .03);
            sum += Math.max(0, price - 55);
        }
        return sum / count;
    }

    static void risk(int count) throws InterruptedException {
        double[] value = new double[2];
        Thread[] thread = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int seed = i;
            thread[i] = new Thread(() -> value[seed] = paths(count, seed));
            thread[i].start();
        }
        for (Thread one : thread)
            one.join();
        sink += value[0] + value[1];
    }

    static void archive(int from) throws IOException {
        try (Writer out = new OutputStreamWriter(new GZIPOutputStream(new FileOutputStream("trades.gz")))) {
            for (Trade one : trades.subList(from, trades.size()))
                out.write(one.note + ";" + one.buyer.id + ";" + one.seller.id + ";" + one.price + "\n");
        }
    }

    static void collect(int times) {
        for (int i = 0; i < times; i++)
            System.gc();
    }

    public static void main(String[] arguments) throws Exception {
        load(6);
        mark("auction");
        auction(8);
        mark("trade");
        trade(700000);
        mark("risk");
        risk(26000);
        mark("trade");
        trade(900000);
        mark("archive");
        archive(trades.size() * 4 / 5);
        mark("collect");
        collect(4);
        mark("auction");
        auction(14);
        mark("trade");
        trade(600000);
        mark("collect");
        collect(3);
        mark("risk");
        risk(36000);
        mark("archive");
        archive(trades.size() * 3 / 4);
        System.out.println(sink);
    }
}
