/* A route planner: a map is parsed, landmarks are prepared, three processes answer queries by A*, the traffic
 * changes, distances between all depots are computed, and tiles are drawn and written. Fixed work. */
#include <sys/wait.h>

#include <queue>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "program.h"

using namespace std;

constexpr int SIDE = 220, NODES = SIDE * SIDE, LANDMARKS = 8;

struct edge {
    int to;
    float cost;
};
static unordered_map<string, int> named;
static vector<vector<edge>> out;
static vector<pair<float, float>> place;
static vector<vector<float>> landmark;
static mt19937 draw(5);

static void print_map()
{
    mt19937 random(1);

    for (int i = 0; i < NODES; i++)
        printf("node n%d %.4f %.4f\n", i, i % SIDE + random() % 100 / 100., i / SIDE + random() % 100 / 100.);
    for (int i = 0; i < NODES; i++)
        for (int to : {i + 1, i + SIDE, i - 1, i - SIDE})
            if (to >= 0 && to < NODES && abs(to % SIDE - i % SIDE) <= 1 && random() % 8)
                printf("road n%d n%d %.3f street-%u\n", i, to, 1 + random() % 400 / 100., unsigned(random() % 900));
}

static void parse()
{
    FILE *file = fopen("map", "r");
    char line[256];

    named.clear();
    out.assign(NODES, {});
    place.clear();
    while (fgets(line, sizeof line, file)) {
        istringstream words(line);
        string kind, from, to, street;

        words >> kind >> from;
        if (kind == "node") {
            float x, y;

            words >> x >> y;
            named[from] = int(place.size());
            place.emplace_back(x, y);
        } else {
            float cost;

            words >> to >> cost >> street;
            out[size_t(named.at(from))].push_back({named.at(to), cost});
        }
    }
    fclose(file);
}

static vector<float> distances(int from)
{
    vector<float> best(NODES, 1e9F);
    priority_queue<pair<float, int>> waiting;

    best[size_t(from)] = 0;
    waiting.emplace(0, from);
    while (!waiting.empty()) {
        auto [cost, node] = waiting.top();

        waiting.pop();
        if (-cost > best[size_t(node)])
            continue;
        for (const edge &one : out[size_t(node)])
            if (best[size_t(node)] + one.cost < best[size_t(one.to)]) {
                best[size_t(one.to)] = best[size_t(node)] + one.cost;
                waiting.emplace(-best[size_t(one.to)], one.to);
            }
    }
    return best;
}

static void prepare(int times)
{
    for (int i = 0; i < times; i++) {
        landmark.clear();
        for (int j = 0; j < LANDMARKS; j++)
            landmark.push_back(distances(int(draw() % NODES)));
    }
}

static float route(int from, int to)
{
    unordered_map<int, float> best;
    priority_queue<pair<float, int>> waiting;
    auto bound = [&](int node) {
        float most = 0;

        for (const auto &one : landmark)
            most = max(most, abs(one[size_t(to)] - one[size_t(node)]) * .7F);
        return most;
    };

    best[from] = 0;
    waiting.emplace(-bound(from), from);
    while (!waiting.empty()) {
        int node = waiting.top().second;

        waiting.pop();
        if (node == to)
            break;
        float here = best[node];
        for (const edge &one : out[size_t(node)]) {
            auto known = best.find(one.to);

            if (known == best.end() || here + one.cost < known->second) {
                best[one.to] = here + one.cost;
                waiting.emplace(-(here + one.cost + bound(one.to)), one.to);
            }
        }
    }
    return best[to];
}

static void serve(int queries)
{
    for (int worker = 0; worker < 3; worker++)
        if (fork() == 0) {
            mt19937 random(unsigned(worker + queries));
            volatile float sum = 0;

            for (int i = 0; i < queries; i++)
                sum = sum + route(int(random() % NODES), int(random() % NODES));
            _exit(0);
        }
    while (wait(nullptr) > 0)
        ;
}

/* Measured speeds are taken into account: the costs of all roads drift to those of their neighbours. */
static void traffic(int rounds)
{
    for (int i = 0; i < rounds; i++)
        for (auto &roads : out)
            for (edge &one : roads) {
                float sum = one.cost * 2;
                int count = 2;

                for (const edge &after : out[size_t(one.to)]) {
                    sum += after.cost;
                    count++;
                }
                one.cost = max(1.F, min(5.F, sum / float(count) * (.9F + float(draw() % 1000) / 5000)));
            }
}

/* All distances between the depots, by Floyd and Warshall. */
static void matrix(int depots)
{
    vector<float> cost(size_t(depots) * size_t(depots));

    for (auto &one : cost)
        one = float(draw() % 10000);
    for (int k = 0; k < depots; k++)
        for (int i = 0; i < depots; i++)
            for (int j = 0; j < depots; j++) {
                float by = cost[size_t(i * depots + k)] + cost[size_t(k * depots + j)];

                if (by < cost[size_t(i * depots + j)])
                    cost[size_t(i * depots + j)] = by;
            }
}

static void tiles(int count)
{
    static unsigned char picture[256][256];

    for (int i = 0; i < count; i++) {
        char name[64];

        memset(picture, 255, sizeof picture);
        for (int node = i % 5; node < NODES; node += 40)
            for (const edge &one : out[size_t(node)])
                for (int step = 0; step < 24; step++) {
                    float share = float(step) / 24;
                    float x = place[size_t(node)].first * (1 - share) + place[size_t(one.to)].first * share;
                    float y = place[size_t(node)].second * (1 - share) + place[size_t(one.to)].second * share;

                    picture[int(y * 256 / (SIDE + 2))][int(x * 256 / (SIDE + 2))] = (unsigned char)(one.cost * 40);
                }
        snprintf(name, sizeof name, "tile%d.pgm", i);
        int file = open(name, O_WRONLY | O_CREAT, 0600);
        for (int y = 0; y < 256; y++)
            for (int part = 0; part < 4; part++)
                if (write(file, picture[y] + part * 64, 64) < 0)
                    exit(1);
        close(file);
    }
}

int main(int count, char **)
{
    if (count > 1) {
        print_map();
        return 0;
    }
    mark("parse", nullptr);
    parse();
    parse();
    mark("landmarks", nullptr);
    prepare(9);
    mark("queries", nullptr);
    serve(60);
    mark("traffic", nullptr);
    traffic(130);
    mark("landmarks", nullptr);
    prepare(7);
    mark("queries", nullptr);
    serve(90);
    mark("matrix", nullptr);
    matrix(800);
    mark("traffic", nullptr);
    traffic(180);
    mark("queries", nullptr);
    serve(42);
    mark("tiles", nullptr);
    tiles(1000);
    mark("queries", nullptr);
    serve(72);
    return 0;
}
