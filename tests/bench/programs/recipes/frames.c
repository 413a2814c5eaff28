/* Two scenes of 30 frames each, every one of them computed and drawn in .6 s, and loaded before. */
#include "program.h"

#define PIXELS (1 << 18)

static unsigned char picture[PIXELS], texture[PIXELS];
static float body[3000][4];

WORK load(void)
{
    int file = open("/proc/self/maps", O_RDONLY);
    char text[4096];

    while (read(file, text, sizeof text) > 0)
        ;
    close(file);
    for (int i = 0; i < PIXELS; i++)
        texture[i] = (unsigned char)(i * 7 + text[i % 100]);
}

WORK move_bodies(void)
{
    for (int i = 0; i < 3000; i++) {
        float x = body[i][0], y = body[i][1], far = sqrtf(x * x + y * y) + 1;

        body[i][2] -= x / far, body[i][3] -= y / far;
        body[i][0] += body[i][2] * .01f + sinf((float)i), body[i][1] += body[i][3] * .01f;
    }
}

WORK draw_plain(void)
{
    for (int i = 0; i < PIXELS; i++)
        picture[i] = (unsigned char)((picture[i] * 3 + texture[i]) >> 2);
}

WORK draw_warped(void)
{
    for (int i = 0; i < PIXELS / 2; i++)
        picture[i] = texture[(unsigned)(i * 40503U + picture[i]) % PIXELS];
}

static void play(const char *scene, double moving_s, double drawing_s, void (*draw)(void))
{
    mark("load", NULL);
    during(3, load);
    for (int i = 0; i < 30; i++) {
        mark(scene, "move");
        during(moving_s, move_bodies);
        mark(scene, scene);
        during(drawing_s, draw);
    }
}

int main(void)
{
    play("plain", .25, .35, draw_plain);
    play("warped", .35, .25, draw_warped);
    return 0;
}
