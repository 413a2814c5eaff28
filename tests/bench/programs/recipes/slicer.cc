/* A slicer for 3D printers: each model is read, welded, sliced by two threads, filled, ordered, and written as G-code
 * (nested: import, toolpath); the printer heats up between. Models differ in size. Fixed work. */
#include <algorithm>
#include <thread>
#include <unordered_map>
#include <vector>

#include "program.h"

struct point { float x, y, z; };
struct triangle { int corner[3]; };
struct segment { float x0, y0, x1, y1; };
typedef std::vector<segment> layer;

static std::vector<point> soup, vertices;
static std::vector<triangle> mesh;
static std::vector<layer> outlines, fills;
static float thickness;

static void read_model(const char *name, int copies)
{
    soup.clear();
    for (int copy = 0; copy < copies; copy++) {
        FILE *file = fopen(name, "r");
        char line[200];
        point p;
        while (fgets(line, sizeof(line), file))
            if (sscanf(line, " vertex %f %f %f", &p.x, &p.y, &p.z) == 3)
                soup.push_back({p.x + 60 * (float)copy, p.y, p.z});
        fclose(file);
    }
}

struct hash_of {
    size_t operator()(const point &p) const
    {
        return (size_t)(p.x * 10007) * 73856093 ^ (size_t)(p.y * 10007) * 19349663 ^ (size_t)(p.z * 10007) * 83492791;
    }
};
static bool operator==(const point &a, const point &b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

/* Equal corners become one vertex; then the edges are counted, because a solid has two triangles at each. */
static int weld(int passes)
{
    int open = 0;
    for (int pass = 0; pass < passes; pass++) {
        std::unordered_map<point, int, hash_of> known;
        std::unordered_map<long, int> edges;
        vertices.clear();
        mesh.clear();
        for (size_t i = 0; i < soup.size(); i += 3) {
            triangle t;
            for (int k = 0; k < 3; k++) {
                auto [at, fresh] = known.emplace(soup[i + (size_t)k], (int)vertices.size());
                if (fresh)
                    vertices.push_back(soup[i + (size_t)k]);
                t.corner[k] = at->second;
            }
            mesh.push_back(t);
            for (int k = 0; k < 3; k++)
                edges[(long)std::min(t.corner[k], t.corner[(k + 1) % 3]) << 32 | std::max(t.corner[k], t.corner[(k + 1) % 3])]++;
        }
        open = (int)std::count_if(edges.begin(), edges.end(), [](auto &edge) { return edge.second != 2; });
    }
    return open;
}

/* Cut all triangles with the planes of the layers of one thread. */
static void slice_layers(size_t from, size_t step)
{
    for (size_t n = from; n < outlines.size(); n += step) {
        float z = ((float)n + .5f) * thickness;
        outlines[n].clear();
        for (const triangle &t : mesh) {
            float cut[4];
            int cuts = 0;
            for (int k = 0; k < 3 && cuts < 4; k++) {
                const point &a = vertices[(size_t)t.corner[k]], &b = vertices[(size_t)t.corner[(k + 1) % 3]];
                if ((a.z < z) == (b.z < z))
                    continue;
                float share = (z - a.z) / (b.z - a.z);
                cut[cuts++] = a.x + share * (b.x - a.x);
                cut[cuts++] = a.y + share * (b.y - a.y);
            }
            if (cuts == 4)
                outlines[n].push_back({cut[0], cut[1], cut[2], cut[3]});
        }
    }
}

static void slice(int layers)
{
    thickness = 24.f / (float)layers;
    outlines.assign((size_t)layers, {});
    std::thread other(slice_layers, 0, 2);
    slice_layers(1, 2);
    other.join();
}

/* Lines in turned directions fill the inside of each layer, between pairs of crossings with its outline. */
static void fill(float gap)
{
    fills.assign(outlines.size(), {});
    for (size_t n = 0; n < outlines.size(); n++) {
        float c = cosf((float)n * 1.047f), s = sinf((float)n * 1.047f);
        std::vector<float> at;
        for (float row = -40; row < 140; row += gap) {
            at.clear();
            for (const segment &one : outlines[n]) {
                float a = one.y0 * c - one.x0 * s - row, b = one.y1 * c - one.x1 * s - row;
                if ((a < 0) != (b < 0))
                    at.push_back((one.x0 * c + one.y0 * s) + a / (a - b) * ((one.x1 - one.x0) * c + (one.y1 - one.y0) * s));
            }
            std::sort(at.begin(), at.end());
            for (size_t i = 0; i + 1 < at.size(); i += 2)
                fills[n].push_back({at[i] * c - row * s, at[i] * s + row * c, at[i + 1] * c - row * s, at[i + 1] * s + row * c});
        }
    }
}

static float square(float a) { return a * a; }

/* Each path is followed by the nearest one that is left. */
static void order(layer &paths)
{
    float x = 0, y = 0;
    for (size_t done = 0; done < paths.size(); done++) {
        size_t best = done;
        float least = 1e30f;
        for (size_t i = done; i < paths.size(); i++) {
            float start = square(paths[i].x0 - x) + square(paths[i].y0 - y), end = square(paths[i].x1 - x) + square(paths[i].y1 - y);
            if (std::min(start, end) < least) {
                least = std::min(start, end);
                best = i;
            }
        }
        std::swap(paths[done], paths[best]);
        segment &one = paths[done];
        if (square(one.x1 - x) + square(one.y1 - y) < square(one.x0 - x) + square(one.y0 - y))
            one = {one.x1, one.y1, one.x0, one.y0};
        x = one.x1;
        y = one.y1;
    }
}

static void write_code(const char *name)
{
    FILE *file = fopen(name, "w");
    double fed = 0;
    for (size_t n = 0; n < outlines.size(); n++) {
        fprintf(file, ";LAYER:%zu\nG1 Z%.3f F1200\n", n, (double)((float)n * thickness));
        for (const layer *paths : {&outlines[n], &fills[n]})
            for (const segment &one : *paths) {
                fed += hypot(one.x1 - one.x0, one.y1 - one.y0) * .033;
                fprintf(file, "G0 X%.3f Y%.3f F9000\nG1 X%.3f Y%.3f E%.5f F%d\n", (double)one.x0, (double)one.y0, (double)one.x1,
                        (double)one.y1, fed, paths == &fills[n] ? 3600 : 1800);
            }
    }
    fflush(file);
    fsync(fileno(file));
    fclose(file);
}

int main()
{
    const struct { const char *name; int copies, layers; float gap; } jobs[] = {
        {"model1.stl", 3, 200, .7f}, {"model3.stl", 2, 260, .8f}, {"model2.stl", 3, 160, .6f}};
    for (auto &job : jobs) {
        mark("import", "read");
        read_model(job.name, job.copies);
        mark("import", "weld");
        weld(8);
        mark("slice", NULL);
        slice(job.layers);
        mark("toolpath", "fill");
        fill(job.gap);
        mark("toolpath", "order");
        for (size_t n = 0; n < outlines.size(); n++) {
            order(outlines[n]);
            order(fills[n]);
        }
        mark("write", NULL);
        write_code("print.gcode");
        if (job.gap != .6f) {
            mark("heat", NULL);
            rest(1.8);
        }
    }
    return 0;
}
