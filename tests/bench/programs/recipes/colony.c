/* A game of ants at up to 50 frames per second: idle menus, worlds that are generated, and games
 * whose number of ants grows (a ramp), with autosaves. The numbers of frames are fixed. */
#include "program.h"

#define SIDE 512
#define MOST 60000

static float height[SIDE][SIDE], scent[SIDE][SIDE], next[SIDE][SIDE];
static struct ant {
    float x, y, angle;
    int carries;
} ant[MOST];
static unsigned char screen[200][320];
static int save;

static float noise(int x, int y)
{
    unsigned a = (unsigned)x * 374761393U + (unsigned)y * 668265263U;

    a = (a ^ (a >> 13)) * 1274126177U;
    return (float)(a ^ (a >> 16)) / 4294967296.F;
}

static float smooth(float x, float y)
{
    int i = (int)floorf(x), j = (int)floorf(y);
    float u = x - (float)i, v = y - (float)j;

    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    return (noise(i, j) * (1 - u) + noise(i + 1, j) * u) * (1 - v) +
           (noise(i, j + 1) * (1 - u) + noise(i + 1, j + 1) * u) * v;
}

WORK generate(int seed)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float sum = 0, share = 1;

            for (int octave = 0; octave < 6; octave++, share /= 2)
                sum += share * smooth((float)(x + seed) / 64 / share, (float)y / 64 / share);
            height[y][x] = sum;
        }
}

/* Water takes earth downhill. */
WORK erode(int drops)
{
    for (int i = 0; i < drops; i++) {
        int x = rand() % SIDE, y = rand() % SIDE;

        for (int step = 0; step < 60; step++) {
            int best_x = x, best_y = y;

            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    if (height[(y + dy) & (SIDE - 1)][(x + dx) & (SIDE - 1)] <
                        height[best_y][best_x]) {
                        best_x = (x + dx) & (SIDE - 1);
                        best_y = (y + dy) & (SIDE - 1);
                    }
            if (best_x == x && best_y == y)
                break;
            height[y][x] -= .002F;
            x = best_x;
            y = best_y;
        }
    }
}

WORK draw_menu(int number)
{
    for (int y = 0; y < 200; y++)
        for (int x = 0; x < 320; x++)
            screen[y][x] = (unsigned char)((x * y + number * 3) >> 4);
}

WORK move_ants(int ants)
{
    for (int i = 0; i < ants; i++) {
        struct ant *one = &ant[i];
        float best = -1;

        for (int turn = -1; turn <= 1; turn++) {
            float angle = one->angle + (float)turn * .5F;
            int x = (int)(one->x + 3 * cosf(angle)) & (SIDE - 1),
                y = (int)(one->y + 3 * sinf(angle)) & (SIDE - 1);
            float value = scent[y][x] - height[y][x] * .1F + noise(i, x * 31 + y);

            if (value > best) {
                best = value;
                one->angle = angle;
            }
        }
        one->x += cosf(one->angle);
        one->y += sinf(one->angle);
        one->x -= one->x < 0 ? -SIDE : one->x >= SIDE ? SIDE : 0;
        one->y -= one->y < 0 ? -SIDE : one->y >= SIDE ? SIDE : 0;
        scent[(int)one->y & (SIDE - 1)][(int)one->x & (SIDE - 1)] += .05F;
    }
}

WORK spread_scent(void)
{
    for (int y = 1; y + 1 < SIDE; y++)
        for (int x = 1; x + 1 < SIDE; x++)
            next[y][x] =
                .96F * scent[y][x] + .01F * (scent[y - 1][x] + scent[y + 1][x] + scent[y][x - 1]);
    memcpy(scent, next, sizeof scent);
}

/* The state as text, packed by a table of pairs, and written through to the disk. */
WORK autosave(void)
{
    static char text[256];
    static unsigned short table[1 << 16];
    static unsigned char packed[1 << 16];
    size_t used = 0;

    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x += 4) {
            int length = snprintf(text, sizeof text, "%d %d %.4f %.3f %.3f\n", x, y, height[y][x],
                                  scent[y][x], ant[(y * SIDE + x) % MOST].x);

            for (int i = 0; i + 1 < length; i++) {
                unsigned pair = (unsigned)text[i] << 8 | (unsigned char)text[i + 1];

                packed[used++] = (unsigned char)table[pair];
                table[pair] = (unsigned short)used;
                if (used == sizeof packed) {
                    if (write(save, packed, used) < 0)
                        exit(1);
                    used = 0;
                }
            }
        }
    fdatasync(save);
}

static double due;

static void paced(void)
{
    double now = now_s(CLOCK_MONOTONIC);

    due += .02;
    if (due > now)
        rest(due - now);
    else
        due = now; /* late: the next frame is not made up for */
}

static void begin(const char *coarse, const char *fine)
{
    mark(coarse, fine);
    due = now_s(CLOCK_MONOTONIC);
}

static void menu(int frames)
{
    begin("menu", NULL);
    for (int i = 0; i < frames; i++) {
        draw_menu(i);
        paced();
    }
}

static void world(int seed, int times, int drops)
{
    begin("generate", NULL);
    for (int i = 0; i < times; i++)
        generate(seed + i * 17);
    erode(drops);
    for (int i = 0; i < MOST; i++)
        ant[i] = (struct ant){(float)(rand() % SIDE), (float)(rand() % SIDE), (float)rand(), 0};
}

static void play(int frames, int from, int to)
{
    begin("game", "play");
    for (int i = 0; i < frames; i++) {
        move_ants(from + (to - from) * i / frames);
        spread_scent();
        move_ants(from + (to - from) * i / frames);
        spread_scent();
        paced();
    }
    begin("game", "autosave");
    for (int i = 0; i < 7; i++)
        autosave();
}

int main(void)
{
    save = open("save", O_WRONLY | O_CREAT, 0600);
    menu(110);
    world(1, 5, 250000);
    play(70, 6000, 40000);
    play(90, 40000, 55000);
    play(40, 55000, 60000);
    menu(60);
    world(900, 8, 300000);
    play(60, 6000, 30000);
    play(110, 30000, 60000);
    menu(90);
    return 0;
}
