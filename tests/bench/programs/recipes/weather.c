/* A weather service: reports are decoded and assimilated (nested), the forecast alternates dynamics by two threads and
 * radiation (nested), its fields are packed into an archive, and it waits for reports. Fixed work. */
#include <pthread.h>

#include "program.h"

#define WIDE    192
#define HIGH    128
#define LEVELS  8
#define CELLS   (WIDE * HIGH)
#define REPORTS 60000

enum {U, V, H, T, Q, FIELDS};
static float state[2][FIELDS][LEVELS][CELLS], ground[CELLS], map[CELLS];
static struct report {
    float x, y, value;
    int level;
} report[REPORTS];
static int reports, steps;
static pthread_barrier_t barrier;

WORK initialise(void)
{
    FILE *file = fopen("reports", "w");

    for (int wave = 1; wave < 400; wave++)
        for (int i = 0; i < CELLS; i++)
            ground[i] += sinf((float)wave * .05f * (float)(i % WIDE + wave)) * cosf((float)wave * .07f * (float)(i / WIDE)) / (float)wave;
    for (int n = 0; n < LEVELS * CELLS; n++) {
        state[0][U][n / CELLS][n % CELLS] = 10 + ground[n % CELLS];
        state[0][H][n / CELLS][n % CELLS] = 1000 + 30 * ground[n * 7 % CELLS];
        state[0][T][n / CELLS][n % CELLS] = 290 - 6 * (float)(n / CELLS) + 8 * ground[n * 3 % CELLS];
        state[0][Q][n / CELLS][n % CELLS] = .01f * expf(-.4f * (float)(n / CELLS));
    }
    for (int i = 0; i < REPORTS; i++)
        fprintf(file, "TEMP %05d %.3f %.3f %d %.2f %.1f\n", i, drawn() * (WIDE - 2), drawn() * (HIGH - 2), rand() % LEVELS,
                250 + drawn() * 45, drawn() * 30);
    fclose(file);
}

/* Read reports, and reject those that differ too much from the last forecast. */
WORK decode(int messages)
{
    for (int pass = 0; pass < messages; pass++) {
        FILE *file = fopen("reports", "r");
        char line[100];
        struct report one;

        for (reports = 0; fgets(line, sizeof(line), file);)
            if (sscanf(line, "TEMP %*d %f %f %d %f", &one.x, &one.y, &one.level, &one.value) == 4 &&
                fabsf(one.value - state[0][T][one.level][(int)one.y * WIDE + (int)one.x]) < 30)
                report[reports++] = one;
        fclose(file);
    }
}

/* Smooth rows and columns, because errors of neighbours are correlated. */
static void smooth(int step)
{
    for (int i = step; i < CELLS; i++)
        map[i] += .6f * (map[i - step] - map[i]);
    for (int i = CELLS - step - 1; i >= 0; i--)
        map[i] += .6f * (map[i + step] - map[i]);
}

WORK minimise(int iterations)
{
    for (int n = 0; n < iterations * LEVELS; n++) {
        float *t = state[0][T][n % LEVELS];

        memset(map, 0, sizeof(map));
        for (struct report *one = report; one < report + reports; one++)
            if (one->level == n % LEVELS) {
                int at = (int)one->y * WIDE + (int)one->x;
                float x = one->x - floorf(one->x), y = one->y - floorf(one->y);
                float share[4] = {(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y}, gap = one->value;

                for (int k = 0; k < 4; k++)
                    gap -= share[k] * t[at + k % 2 + k / 2 * WIDE];
                for (int k = 0; k < 4; k++)
                    map[at + k % 2 + k / 2 * WIDE] += share[k] * gap;
            }
        for (int k = 0; k < 4; k++)
            smooth(k % 2 ? WIDE : 1);
        for (int i = 0; i < CELLS; i++)
            t[i] += .02f * map[i];
    }
}

static void *move_rows(void *half)
{
    int from = half ? HIGH / 2 * WIDE : WIDE, to = half ? CELLS - WIDE : HIGH / 2 * WIDE;

    for (int n = 0; n < steps; n++) {
        for (int l = 0; l < LEVELS * FIELDS; l++)
            for (int i = from, f = l % FIELDS; i < to; i++) {
                const float *a = state[n % 2][f][l / FIELDS], *h = state[n % 2][H][l / FIELDS];
                float u = state[n % 2][U][l / FIELDS][i], v = state[n % 2][V][l / FIELDS][i];
                float change = -u * (u > 0 ? a[i] - a[i - 1] : a[i + 1] - a[i]) - v * (v > 0 ? a[i] - a[i - WIDE] : a[i + WIDE] - a[i]);

                change += f == U ? .1f * v - .2f * (h[i + 1] - h[i - 1]) : f == V ? -.1f * u - .2f * (h[i + WIDE] - h[i - WIDE]) : 0;
                state[!(n % 2)][f][l / FIELDS][i] = a[i] + .002f * change + .02f * (a[i - 1] + a[i + 1] + a[i - WIDE] + a[i + WIDE] - 4 * a[i]);
            }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

WORK dynamics(int count)
{
    pthread_t thread;

    steps = count; /* an even number: the result is in the first array again */
    pthread_create(&thread, NULL, move_rows, "second half");
    move_rows(NULL);
    pthread_join(thread, NULL);
}

/* Each level warms or cools each other level, in each band of the spectrum. */
WORK radiation(int bands)
{
    for (int n = 0; n < CELLS * LEVELS; n++) {
        int i = n / LEVELS, a = n % LEVELS;
        float sum = 0;

        for (int b = 0; b < LEVELS; b++) {
            float path = state[0][Q][b][i] * 40 * (float)abs(a - b), gap = state[0][T][b][i] - state[0][T][a][i];

            for (int band = 1; band <= bands; band++)
                sum += gap * expf(-path * (float)band);
        }
        state[0][T][a][i] += 1e-5f * sum;
    }
}

/* Write the fields as differences of 16-bit values, in one or three bytes each. */
WORK archive(int products)
{
    FILE *file = fopen("archive", "w");

    for (int n = 0; n < products * FIELDS * LEVELS; n++) {
        const float *a = state[0][n / LEVELS % FIELDS][n % LEVELS];

        for (int i = 1; i < CELLS; i++) {
            int gap = (int)((a[i] - a[i - 1]) * 64);

            if (abs(gap) > 126)
                fprintf(file, "\177%c%c", gap & 255, gap >> 8);
            else
                fputc(gap, file);
        }
    }
    fflush(file);
    fsync(fileno(file));
    fclose(file);
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    mark("initialise", NULL);
    initialise();
    for (int cycle = 0; cycle < 3; cycle++) {
        mark("analysis", "decode");
        decode(6 + cycle);
        mark("analysis", "minimise");
        minimise(65);
        for (int day = 0; day < 2; day++) {
            mark("forecast", "dynamics");
            dynamics(90 + 10 * cycle);
            mark("forecast", "radiation");
            radiation(45);
        }
        mark("archive", NULL);
        archive(16);
        if (cycle < 2) {
            mark("wait", NULL);
            rest(1.7);
        }
    }
    return 0;
}
