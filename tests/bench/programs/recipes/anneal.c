/* Three searches by annealing: each is hot, then cold, then improved step by step, and written down. */
#include "program.h"

#define CITIES 2000

static double x[CITIES], y[CITIES];
static int tour[CITIES];
static double warmth;

static double distance(int a, int b)
{
    return hypot(x[tour[a]] - x[tour[b]], y[tour[a]] - y[tour[b]]);
}

static void exchange(int a, int b)
{
    int kept = tour[a];

    tour[a] = tour[b];
    tour[b] = kept;
}

WORK shake(void)
{
    for (int i = 0; i < 12000; i++) {
        int a = rand() % CITIES, b = rand() % CITIES;

        if (drawn() < warmth)
            exchange(a, b);
    }
}

WORK cool(void)
{
    for (int i = 0; i < 6000; i++) {
        int a = rand() % (CITIES - 1), b = rand() % (CITIES - 1);

        if (distance(a, a + 1) + distance(b, b + 1) > distance(a, b) + exp(-distance(a, b + 1)))
            exchange(a, b);
    }
}

WORK improve(void)
{
    static int from;

    for (int i = 0; i < 20; i++, from = (from + 1) % (CITIES - 1)) {
        for (int to = 0; to + 1 < CITIES; to++) {
            double dx = x[tour[from]] - x[tour[to]], dy = y[tour[from]] - y[tour[to]];

            if (dx * dx + dy * dy < 1e-9 && from != to)
                exchange(from + 1, to);
        }
    }
}

WORK write_tour(void)
{
    FILE *file = fopen("tour", "w");

    for (int i = 0; i < CITIES; i++)
        fprintf(file, "%d %.6f %.6f\n", tour[i], x[tour[i]], y[tour[i]]);
    fclose(file);
}

int main(void)
{
    for (int i = 0; i < CITIES; i++)
        tour[i] = i, x[i] = drawn(), y[i] = drawn();
    for (int search = 0; search < 3; search++) {
        mark("hot", NULL);
        warmth = .9;
        during(5 + search, shake);
        mark("cold", NULL);
        during(7 - search, cool);
        mark("improve", NULL);
        during(4.5, improve);
        mark("write", NULL);
        during(2.5, write_tour);
    }
    return 0;
}
