/* A ray tracer of an animation: spheres move and collide, each frame builds a tree of boxes, is traced by three threads
 * and denoised by one, and after some frames the film is encoded. Fixed work. */
#include <algorithm>
#include <thread>
#include <vector>

#include "program.h"

struct vec { float x, y, z; };
static vec operator+(vec a, vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static vec operator-(vec a, vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static vec operator*(vec a, float f) { return {a.x * f, a.y * f, a.z * f}; }
static float dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec unit(vec a) { return a * (1 / sqrtf(dot(a, a))); }
struct ball { vec at, speed; float radius; };
struct box { vec low, high; int first, count, right; };
static const int WIDE = 320, HIGH = 240;
static std::vector<ball> balls;
static std::vector<box> tree;
static std::vector<vec> image(WIDE *HIGH), clean(WIDE *HIGH);
static float axis_of(const vec &v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

static void load(int count)
{
    for (int i = 0; i < count; i++) {
        char line[100];
        snprintf(line, sizeof(line), "%.6f %.6f %.6f %.6f", drawn(), drawn(), drawn(), drawn());
        char *at = line;
        ball one{};
        one.at = {strtof(at, &at) * 40 - 20, strtof(at, &at) * 40 - 20, 10 + strtof(at, &at) * 40};
        one.radius = .1f + strtof(at, &at) * .3f;
        one.speed = unit({(float)drawn() - .5f, (float)drawn() - .5f, (float)drawn() - .5f});
        if (i % 2) /* the other half is hidden */
            balls.push_back(one);
    }
}

/* Balls that touch their neighbours in cells of a grid push each other away. */
static void simulate(int steps)
{
    while (steps--) {
        std::vector<std::vector<int>> cells(32768);
        for (int i = 0; i < (int)balls.size(); i++) {
            ball &b = balls[i];
            b.at = b.at + b.speed * .01f;
            if (fabsf(b.at.x) > 20) b.speed.x = -b.speed.x;
            if (fabsf(b.at.y) > 20) b.speed.y = -b.speed.y;
            if (b.at.z < 10 || b.at.z > 50) b.speed.z = -b.speed.z;
            unsigned cell = ((unsigned)(int)(b.at.x + 40) * 73856093u ^ (unsigned)(int)(b.at.y + 40) * 19349663u ^ (unsigned)(int)b.at.z * 83492791u) % 32768;
            for (int other : cells[cell]) {
                vec way = b.at - balls[other].at;
                float reach = b.radius + balls[other].radius;
                if (dot(way, way) < reach * reach)
                    std::swap(b.speed, balls[other].speed);
            }
            cells[cell].push_back(i);
        }
    }
}

static int build(int first, int last)
{
    int self = (int)tree.size();
    box b{{1e9f, 1e9f, 1e9f}, {-1e9f, -1e9f, -1e9f}, first, last - first, 0};
    for (int i = first; i < last; i++) {
        vec r{balls[i].radius, balls[i].radius, balls[i].radius}, l = balls[i].at - r, h = balls[i].at + r;
        b.low = {std::min(b.low.x, l.x), std::min(b.low.y, l.y), std::min(b.low.z, l.z)};
        b.high = {std::max(b.high.x, h.x), std::max(b.high.y, h.y), std::max(b.high.z, h.z)};
    }
    tree.push_back(b);
    if (last - first > 4) {
        vec size = b.high - b.low;
        int axis = size.x > size.y && size.x > size.z ? 0 : size.y > size.z ? 1 : 2, middle = (first + last) / 2;
        std::sort(balls.begin() + first, balls.begin() + last, [=](const ball &a, const ball &c) { return axis_of(a.at, axis) < axis_of(c.at, axis); });
        tree[self].count = 0;
        build(first, middle);
        tree[self].right = build(middle, last);
    }
    return self;
}

static int hit(vec from, vec way, float &best)
{
    int stack[64], depth = 0, found = -1;
    vec over{1 / way.x, 1 / way.y, 1 / way.z};
    stack[depth++] = 0;
    while (depth) {
        int at = stack[--depth];
        const box &b = tree[at];
        float a = (b.low.x - from.x) * over.x, c = (b.high.x - from.x) * over.x, near = std::min(a, c), far = std::max(a, c);
        a = (b.low.y - from.y) * over.y, c = (b.high.y - from.y) * over.y, near = std::max(near, std::min(a, c)), far = std::min(far, std::max(a, c));
        a = (b.low.z - from.z) * over.z, c = (b.high.z - from.z) * over.z, near = std::max(near, std::min(a, c)), far = std::min(far, std::max(a, c));
        if (near > far || far < 0 || near > best)
            continue;
        if (!b.count) {
            stack[depth++] = at + 1;
            stack[depth++] = b.right;
        }
        for (int i = b.first; i < b.first + b.count; i++) {
            vec to = balls[i].at - from;
            float along = dot(to, way), gap = dot(to, to) - along * along, half = balls[i].radius * balls[i].radius - gap;
            if (half > 0 && (half = along - sqrtf(half)) > 1e-3f && half < best)
                best = half, found = i;
        }
    }
    return found;
}

static void trace(int rows, int phase)
{
    std::vector<std::thread> crew;
    for (int t = 0; t < 3; t++)
        crew.emplace_back([=] {
            for (int y = t; y < rows; y += 3)
                for (int x = 0; x < WIDE; x++) {
                    vec from{0, 0, (float)phase}, way = unit({(x - WIDE / 2) / 200.f, (y % HIGH - HIGH / 2) / 200.f, 1}), light = unit({.5f, -1, -.4f});
                    float shine = 0, share = 1;
                    for (int bounce = 0; bounce < 3; bounce++) {
                        float far = 1e9f, shade = 1e9f;
                        int i = hit(from, way, far);
                        if (i < 0) { shine += share * (.5f - way.y * .3f); break; }
                        from = from + way * far;
                        vec normal = unit(from - balls[i].at);
                        if (hit(from, light, shade) < 0) shine += share * std::max(0.f, dot(normal, light)) * .7f;
                        way = unit(way - normal * (2 * dot(way, normal)));
                        share *= .4f;
                    }
                    image[y % HIGH * WIDE + x] = {shine, shine * .9f, shine * .8f};
                }
        });
    for (auto &one : crew)
        one.join();
}

static void denoise(int times)
{
    while (times--) {
        for (int y = 3; y < HIGH - 3; y++)
            for (int x = 3; x < WIDE - 3; x++) {
                vec sum{0, 0, 0}, here = image[y * WIDE + x];
                float all = 0;
                for (int v = -3; v <= 3; v++)
                    for (int u = -3; u <= 3; u++) {
                        vec there = image[(y + v) * WIDE + x + u], gap = there - here;
                        float weight = 1 / (1 + dot(gap, gap) * 50 + (float)(u * u + v * v));
                        sum = sum + there * weight, all += weight;
                    }
                clean[y * WIDE + x] = sum * (1 / all);
            }
        image.swap(clean);
    }
}

/* Match runs by a table of hashes, and write bytes. */
static void encode(int times)
{
    static int seen[1 << 14];
    std::vector<unsigned char> in(WIDE * HIGH * 3), out;
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < WIDE * HIGH; i++)
            in[i * 3] = (unsigned char)(image[i].x * 200), in[i * 3 + 1] = (unsigned char)(image[i].y * 200), in[i * 3 + 2] = (unsigned char)(image[i].z * 200 + t);
        out.clear();
        for (int i = 0; i + 4 < (int)in.size();) {
            unsigned key = (in[i] * 65599u + in[i + 1] * 4099u + in[i + 2] * 31u) & 16383;
            int old = seen[key], length = 0;
            while (old < i && i + length < (int)in.size() && length < 60 && in[old + length] == in[i + length]) length++;
            seen[key] = i;
            if (length > 3) out.push_back((unsigned char)length), out.push_back((unsigned char)(i - old)), i += length;
            else out.push_back(in[i++]);
        }
    }
    FILE *file = fopen("film", "a");
    fwrite(out.data(), 1, out.size(), file);
    fclose(file);
}

int main()
{
    mark("load", NULL);
    load(240000);
    int plan[] = {3, 4, 0, 3, 0, 4, 0}; /* length of the simulation before a frame; 0: the film is encoded */
    for (int i = 0; i < 7; i++) {
        if (!plan[i]) {
            mark("encode", NULL);
            encode(220);
            continue;
        }
        mark("simulate", NULL);
        simulate(plan[i] * 12);
        mark("frame", "build");
        for (int again = 0; again < 6; again++)
            tree.clear(), build(0, (int)balls.size());
        mark("frame", "trace");
        trace(HIGH, i);
        mark("frame", "denoise");
        denoise(28);
    }
    return 0;
}
