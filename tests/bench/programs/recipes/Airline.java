// An airline: flights are scheduled, journeys searched, seats booked by two threads, fares set, crews paired with flights
// (nested: planning), documents issued and packed; it is quiet at night. Two seasons of irregular days. Fixed work.
import java.io.*;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.zip.*;

public class Airline {
    record Flight(int number, int from, int to, int leaves, int arrives, AtomicInteger free) { }

    static final int AIRPORTS = 90;
    static final Random draw = new Random(4);
    static final List<List<Flight>> departures = new ArrayList<>();
    static List<Flight> flights = new ArrayList<>();
    static final Map<Long, String> bookings = new ConcurrentHashMap<>();
    static double[][] fare;

    static void mark(String coarse, String fine) throws IOException {
        Instant now = Instant.now();
        Files.writeString(Path.of("truth"), String.format("%d.%06d coarse=%s%s\n", now.getEpochSecond(), now.getNano() / 1000, coarse,
            fine == null ? "" : " fine=" + fine), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Read the plan, a text, and sort the departures of each airport by time. */
    static void schedule(int revisions) throws IOException {
        for (int revision = 0; revision < revisions; revision++) {
            flights = new ArrayList<>();
            departures.clear();
            for (int i = 0; i < AIRPORTS; i++)
                departures.add(new ArrayList<>());
            for (String line : Files.readAllLines(Path.of("plan.csv"))) {
                String[] word = line.split(",");
                int leaves = Integer.parseInt(word[3].substring(0, 2)) * 60 + Integer.parseInt(word[3].substring(3)) + revision;
                flights.add(new Flight(Integer.parseInt(word[0].substring(2)), Integer.parseInt(word[1]), Integer.parseInt(word[2]), leaves,
                    leaves + Integer.parseInt(word[4]), new AtomicInteger(150)));
            }
            for (Flight flight : flights)
                departures.get(flight.from).add(flight);
            departures.forEach(list -> list.sort(Comparator.comparingInt(Flight::leaves).thenComparing(Flight::number)));
        }
    }

    /** Find the earliest arrival, with at most three flights. */
    static List<Flight> journey(int from, int to, int start) {
        PriorityQueue<Flight> queue = new PriorityQueue<>(Comparator.comparingInt(Flight::arrives));
        Map<Flight, Flight> before = new HashMap<>();
        int[] reached = new int[AIRPORTS];
        Arrays.fill(reached, Integer.MAX_VALUE);
        Flight last = new Flight(0, from, from, start, start, new AtomicInteger());
        queue.add(last);
        while ((last = queue.poll()) != null && last.to != to)
            for (Flight next : departures.get(last.to))
                if (next.leaves >= last.arrives + 40 && next.arrives < reached[next.to]) {
                    reached[next.to] = next.arrives;
                    before.put(next, last);
                    queue.add(next);
                }
        LinkedList<Flight> way = new LinkedList<>();
        for (; last != null && last.number != 0; last = before.get(last))
            way.addFirst(last);
        return way;
    }

    static List<List<Flight>> search(int count) {
        List<List<Flight>> found = new ArrayList<>();
        for (int i = 0; i < count; i++)
            found.add(journey(draw.nextInt(AIRPORTS), draw.nextInt(AIRPORTS), draw.nextInt(900)));
        return found;
    }

    /** Two threads take seats; each booking gets a reference with a check sum. */
    static void book(List<List<Flight>> offers, int count) throws Exception {
        AtomicLong next = new AtomicLong();
        Runnable clerk = () -> {
            for (long i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
                StringBuilder reference = new StringBuilder();
                for (Flight flight : offers.get((int) (i % offers.size())))
                    reference.append(flight.free.decrementAndGet() < -20000 ? "W" : "K").append(flight.number).append('/');
                CRC32 sum = new CRC32();
                sum.update(reference.append("passenger ").append(i * 7919 % 100003).toString().getBytes());
                bookings.merge(sum.getValue() % 20000, reference.toString(), (old, fresh) -> old.length() < fresh.length() ? old : fresh);
            }
        };
        Thread other = new Thread(clerk);
        other.start();
        clerk.run();
        other.join();
    }

    /** For each group of flights: expected income by seats left and days left. */
    static void price(int groups) {
        for (int group = 0; group < groups; group++) {
            double[][] income = new double[121][151];
            fare = new double[121][151];
            for (int day = 1; day <= 120; day++)
                for (int seats = 1; seats <= 150; seats++) {
                    double best = 0;
                    for (int price = 60; price <= 420; price += 30) {
                        double chance = Math.exp(-price / (90. + group % 7)) * (1 + day * .001);
                        double value = chance * (price + income[day - 1][seats - 1]) + (1 - chance) * income[day - 1][seats];
                        if (value > best) {
                            best = value;
                            fare[day][seats] = price;
                        }
                    }
                    income[day][seats] = best;
                }
        }
    }

    /** Depth first: a crew flies from its base and back, in a day. */
    static int pair(Flight last, int base, int duty, int legs) {
        int found = last.to == base ? 1 : 0;
        if (legs < 5)
            for (Flight next : departures.get(last.to)) {
                if (next.leaves > last.arrives + 150 || duty + next.arrives - last.arrives > 840)
                    break;
                if (next.leaves >= last.arrives + 30)
                    found += pair(next, base, duty + next.arrives - last.arrives, legs + 1);
            }
        return found;
    }

    static void issue(int copies) throws IOException {
        try (Writer to = new OutputStreamWriter(new GZIPOutputStream(new FileOutputStream("documents.gz")))) {
            for (int copy = 0; copy < copies; copy++)
                for (Map.Entry<Long, String> one : new TreeMap<>(bookings).entrySet())
                    to.write(String.format("%06X %-40s %8.2f EUR %s\n", one.getKey(), one.getValue(), fare[one.getKey().intValue() % 121][100] + copy, one.getValue().hashCode()));
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String day : "plan sell issue night sell sell night plan sell issue night sell issue".split(" "))
            switch (day) {
                case "plan" -> {
                    mark("planning", "schedule");
                    schedule(40);
                    mark("planning", "pair");
                    for (Flight flight : flights)
                        pair(flight, flight.from, 60, 1);
                    mark("planning", "price");
                    price(60);
                }
                case "sell" -> {
                    mark("search", null);
                    List<List<Flight>> offers = search(7000);
                    mark("book", null);
                    book(offers, 400000);
                }
                case "issue" -> {
                    mark("issue", null);
                    issue(2);
                }
                default -> {
                    mark("night", null);
                    Thread.sleep(1600);
                }
            }
    }
}
