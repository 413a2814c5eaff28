/* Finite elements: a plate is meshed, loaded in short steps (matrix assembled, solved by conjugate gradients with two
 * threads), written down, and meshed finer, three times; memory grows. Fixed work. */
#include <pthread.h>

#include "program.h"

static int side, count, *column;
static double *entry, *right, *shift, *rest_, *way, *product, *stress;
static pthread_barrier_t start, finish;
static int quit;

WORK mesh(int wide)
{
    side = wide;
    count = side * side;
    column = realloc(column, sizeof(*column) * 9 * (size_t)count);
    entry = realloc(entry, sizeof(*entry) * 9 * (size_t)count);
    double **all[] = {&right, &shift, &rest_, &way, &product, &stress};
    for (int i = 0; i < 6; i++)
        *all[i] = realloc(*all[i], sizeof(double) * (size_t)count);
    for (int smooth = 0; smooth < 9000000 / count + 9; smooth++)
        for (int i = 0; i < count; i++) {
            int x = i % side, y = i / side;
            for (int k = 0; k < 9; k++) {
                int u = x + k % 3 - 1, v = y + k / 3 - 1;
                column[i * 9 + k] = u < 0 || v < 0 || u >= side || v >= side ? i : v * side + u;
            }
            shift[i] = 0;
            right[i] = sin(x * .01) * cos(y * .02);
        }
}

/* Elements of 4 nodes, integrated at 4 points, are added to the matrix. */
WORK assemble(double load)
{
    memset(entry, 0, sizeof(*entry) * 9 * (size_t)count);
    for (int y = 0; y + 1 < side; y++)
        for (int x = 0; x + 1 < side; x++) {
            double local[4][4] = {{0}};
            for (int point = 0; point < 4; point++) {
                double s = point % 2 ? .577 : -.577, t = point / 2 ? .577 : -.577;
                double stiff = 1 + load * exp(-.001 * fabs(shift[y * side + x] + s + t));
                double du[] = {-(1 - t), 1 - t, -(1 + t), 1 + t}, dv[] = {-(1 - s), -(1 + s), 1 - s, 1 + s};
                for (int a = 0; a < 4; a++)
                    for (int b = 0; b < 4; b++)
                        local[a][b] += stiff * (du[a] * du[b] + dv[a] * dv[b]) / 16;
            }
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++) {
                    int dx = b % 2 - a % 2, dy = b / 2 - a / 2, row = (y + a / 2) * side + x + a % 2;
                    entry[row * 9 + (dy + 1) * 3 + dx + 1] += local[a][b];
                }
        }
    for (int i = 0; i < count; i++)
        entry[i * 9 + 4] += .05;
}

static void multiply(int from, int to)
{
    for (int i = from; i < to; i++) {
        double sum = 0;
        for (int k = 0; k < 9; k++)
            sum += entry[i * 9 + k] * way[column[i * 9 + k]];
        product[i] = sum;
    }
}

static void *helper(void *unused)
{
    for (;;) {
        pthread_barrier_wait(&start);
        if (quit)
            return unused;
        multiply(count / 2, count);
        pthread_barrier_wait(&finish);
    }
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

WORK solve(int rounds)
{
    for (int i = 0; i < count; i++)
        rest_[i] = way[i] = right[i];
    double old = dot(rest_, rest_);
    while (rounds--) {
        pthread_barrier_wait(&start);
        multiply(0, count / 2);
        pthread_barrier_wait(&finish);
        double step = old / (dot(way, product) + 1e-300);
        for (int i = 0; i < count; i++) {
            shift[i] += step * way[i] * .01;
            rest_[i] -= step * product[i];
        }
        double new = dot(rest_, rest_);
        for (int i = 0; i < count; i++)
            way[i] = rest_[i] + new / (old + 1e-300) * way[i];
        old = new;
    }
}

/* Stresses at the nodes are computed and written as text. */
WORK output(int times)
{
    FILE *file = fopen("stress.txt", "w");
    for (int t = 0; t < times; t++)
        for (int i = side; i < count - side; i += 3)
            fprintf(file, "%d %.5g %.5g\n", i, shift[i + 1] - shift[i - 1], hypot(shift[i], shift[i + side] - shift[i - side]));
    fflush(file);
    fsync(fileno(file));
    fclose(file);
}

int main(void)
{
    static const int wide[] = {200, 300, 400}, steps[] = {4, 3, 3};
    pthread_t thread;

    pthread_barrier_init(&start, NULL, 2);
    pthread_barrier_init(&finish, NULL, 2);
    pthread_create(&thread, NULL, helper, NULL);
    for (int level = 0; level < 3; level++) {
        int nodes = wide[level] * wide[level];
        mark("mesh", NULL);
        mesh(wide[level]);
        for (int step = 0; step < steps[level]; step++) {
            mark("step", "assemble");
            for (int i = 0; i < 2600000 / nodes + 1; i++)
                assemble(step + 1);
            mark("step", "solve");
            solve((40000000 + step % 2 * 9000000) / nodes);
        }
        if (level != 1) {
            mark("output", NULL);
            output(2400000 / nodes);
        }
    }
    quit = 1;
    pthread_barrier_wait(&start);
    pthread_join(thread, NULL);
    return 0;
}
