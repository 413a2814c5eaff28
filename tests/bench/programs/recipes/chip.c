/* The design of a chip: logic is synthesised and simulated, gates are placed, timed and routed (nested), the layout is
 * written; then the design is changed, and is made again in part. Fixed work. */
#include "program.h"

#define INPUTS 2000
#define GATES  50000
#define SIDE   256
#define BUCKETS (1 << 17)

static struct gate {
    int in[2];
    short x, y;
    float delay, arrival, required;
} gate[GATES];
static unsigned long value[GATES];
static int table[BUCKETS], chained[GATES], cell[SIDE * SIDE], first_user[GATES + 1], user[2 * GATES];
static int used[SIDE * SIDE], from[SIDE * SIDE], wave[SIDE * SIDE];
static unsigned seed = 7;

static inline int next(int below)
{
    seed = seed * 1664525 + 1013904223;
    return (int)(((unsigned long)seed * (unsigned long)below) >> 32);
}

/* Gates are created from the source; equal ones are found in a hash table and shared. */
WORK synthesise(int passes)
{
    for (int pass = 0; pass < passes; pass++) {
        memset(table, -1, sizeof(table));
        for (int g = INPUTS; g < GATES;) {
            int a = g - 1 - next(g < 4000 ? g : 4000), b = next(8) ? g - 1 - next(g < 600 ? g : 600) : next(g), found;
            unsigned place = ((unsigned)a * 2654435761u ^ (unsigned)b * 40503u) % BUCKETS;

            for (found = table[place]; found >= 0 && (gate[found].in[0] != a || gate[found].in[1] != b);)
                found = chained[found];
            if (found >= 0 || a == b)
                continue;
            gate[g] = (struct gate){.in = {a, b}, .delay = .1f + .01f * (float)next(20)};
            chained[g] = table[place];
            table[place] = g++;
        }
    }
    memset(first_user, 0, sizeof(first_user));
    for (int k = 2 * INPUTS; k < 2 * GATES; k++)
        first_user[gate[k / 2].in[k % 2]]++;
    for (int g = 0; g < GATES; g++)
        first_user[g + 1] += first_user[g];
    for (int k = 2 * INPUTS; k < 2 * GATES; k++)
        user[--first_user[gate[k / 2].in[k % 2]]] = k / 2;
}

/* 64 test vectors at once. */
WORK simulate(int rounds)
{
    for (int n = 0; n < rounds; n++) {
        for (int g = 0; g < INPUTS; g++)
            value[g] = value[g] * 6364136223846793005UL + (unsigned long)(n + g);
        for (int g = INPUTS; g < GATES; g++)
            value[g] = g & 1 ? ~(value[gate[g].in[0]] & value[gate[g].in[1]]) : value[gate[g].in[0]] ^ value[gate[g].in[1]];
    }
}

static int apart(int a, int b)
{
    return abs(gate[a].x - gate[b].x) + abs(gate[a].y - gate[b].y);
}

static int wires(int g)
{
    int sum = g < INPUTS ? 0 : apart(g, gate[g].in[0]) + apart(g, gate[g].in[1]);

    for (int u = g < 0 ? 0 : first_user[g]; g >= 0 && u < first_user[g + 1]; u++)
        sum += apart(g, user[u]);
    return sum;
}

static void put(int g, int at)
{
    cell[at] = g;
    if (g >= 0) {
        gate[g].x = (short)(at % SIDE);
        gate[g].y = (short)(at / SIDE);
    }
}

/* Simulated annealing: swap gates with others in a window that becomes smaller. */
WORK place(int moves, double heat)
{
    for (int n = 0; n < moves; n++, heat *= .9999977) {
        int g = next(GATES), reach = 4 + (int)heat, old = gate[g].y * SIDE + gate[g].x;
        int x = gate[g].x + next(2 * reach + 1) - reach, y = gate[g].y + next(2 * reach + 1) - reach;

        if (x < 0 || y < 0 || x >= SIDE || y >= SIDE)
            continue;
        int at = y * SIDE + x, other = cell[at], before = wires(g) + wires(other);
        put(g, at);
        put(other, old);
        int more = wires(g) + wires(other) - before;
        if (more > 0 && next(1000) > 1000 * exp(-more / (.1 + heat))) {
            put(g, old);
            put(other, at);
        }
    }
}

/* Arrival times forward, required times back, for each corner of temperature and voltage. */
WORK time_paths(int corners)
{
    for (int n = 0; n < corners; n++) {
        float slow = 1 + .001f * (float)n, latest = 0;

        for (int g = INPUTS; g < GATES; g++) {
            float a = gate[gate[g].in[0]].arrival + .01f * (float)apart(g, gate[g].in[0]);
            float b = gate[gate[g].in[1]].arrival + .01f * (float)apart(g, gate[g].in[1]);

            gate[g].arrival = fmaxf(a, b) + gate[g].delay * slow * sqrtf((float)(1 + first_user[g + 1] - first_user[g]));
            latest = fmaxf(latest, gate[g].arrival);
        }
        for (int g = GATES - 1; g >= 0; g--) {
            gate[g].required = latest;
            for (int u = first_user[g]; u < first_user[g + 1]; u++)
                gate[g].required = fminf(gate[g].required, gate[user[u]].required - gate[user[u]].delay - .01f * (float)apart(g, user[u]));
        }
    }
}

/* A wave from one gate reaches the other through cells that are not full; the path back becomes the wire. */
WORK route(int first, int nets)
{
    memset(used, 0, sizeof(used));
    for (int g = first; g < first + nets; g++) {
        int start = gate[g].y * SIDE + gate[g].x, other = gate[g].in[0], goal = gate[other].y * SIDE + gate[other].x, end = 1;

        wave[0] = start;
        from[start] = start + 1;
        for (int next_cell = 0; next_cell < end && !from[goal]; next_cell++)
            for (int way = 0; way < 4; way++) {
                int at = wave[next_cell], to = at + (way == 0 ? 1 : way == 1 ? -1 : way == 2 ? SIDE : -SIDE);

                if (to >= 0 && to < SIDE * SIDE && !from[to] && (used[to] < 60 || to == goal)) {
                    from[to] = at + 1;
                    wave[end++] = to;
                }
            }
        for (int at = goal; from[goal] && at != start; at = from[at] - 1)
            used[at]++;
        while (end > 0)
            from[wave[--end]] = 0;
    }
}

WORK write_layout(const char *name, int layers)
{
    FILE *file = fopen(name, "w");

    for (int layer = 0; layer < layers; layer++)
        for (int g = INPUTS; g < GATES; g++)
            fprintf(file, "- gate_%d NAND%d + PLACED ( %d %d ) N + LAYER metal%d SLACK %.3f ;\n", g, g % 3 + 2, gate[g].x * 400,
                    gate[g].y * 400, layer, (double)(gate[g].required - gate[g].arrival));
    fclose(file);
}

static void implement(int rounds, double heat, int nets)
{
    for (int n = 0; n < rounds; n++, heat *= .4) {
        mark("implement", "place");
        place(2400000, heat);
        mark("implement", "time");
        time_paths(190);
    }
    mark("implement", "route");
    route(INPUTS + 9000, nets);
    mark("implement", "time");
    time_paths(240);
}

int main(void)
{
    mark("synthesise", NULL);
    synthesise(320);
    mark("simulate", NULL);
    simulate(3400);
    memset(cell, -1, sizeof(cell));
    for (int g = 0; g < GATES; g++)
        put(g, g);
    implement(3, 12, 9000);
    mark("write", NULL);
    write_layout("layout", 9);
    mark("simulate", NULL);
    simulate(4200);
    mark("synthesise", NULL);
    synthesise(380);
    implement(2, 4, 8000);
    mark("simulate", NULL);
    simulate(3800);
    implement(1, 1, 9000);
    mark("write", NULL);
    write_layout("layout", 10);
    return 0;
}
