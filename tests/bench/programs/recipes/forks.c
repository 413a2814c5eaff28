/* A server that forks a child for each request: pictures, mail, searches or games, and each child ends at once. */
#include <sys/wait.h>

#include "program.h"

#define SIZE (1 << 14)

static unsigned char in[SIZE], out[SIZE * 2];
static unsigned volatile sink;

#define REPEATED for (int round = 0; round < 60; round++)

WORK scale(void)
{
    REPEATED for (int i = 0; i < SIZE - 4; i++) out[i / 2] =
        (unsigned char)((in[i] + in[i + 1] + in[i + 2] + in[i + 3] + round) >> 2);
}

WORK sharpen(void)
{
    REPEATED for (int i = 128; i < SIZE - 128; i++)
    {
        int value = 5 * in[i] - in[i - 1] - in[i + 1] - in[i - 128] - in[i + 128] + round;
        out[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

WORK encode64(void)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    REPEATED for (int i = 0, to = 0; i < SIZE - 3; i += 3, to += 4)
    {
        unsigned three = (unsigned)(in[i] << 16 | in[i + 1] << 8 | in[i + 2]);
        for (int k = 0; k < 4; k++)
            out[to + k] = (unsigned char)letter[three >> (18 - 6 * k) & 63];
    }
}

WORK check_spam(void)
{
    REPEATED
    {
        unsigned state = 0, hits = 0;
        for (int i = 0; i < SIZE; i++) {
            state = (state * 33 + in[i]) & 0xffff;
            hits += state % 251 == (unsigned)round;
        }
        sink = hits;
    }
}

WORK match(void)
{
    REPEATED
    {
        int found = 0;
        for (int i = 0; i < SIZE - 4; i++)
            if (in[i] == 'a' + round % 8 && in[i + 1] > in[i + 2])
                found += in[i + 3];
        sink = (unsigned)found;
    }
}

WORK rank(void)
{
    static unsigned score[512];

    REPEATED for (int i = 0; i < 512; i++)
    {
        int at = i;
        for (unsigned value = score[i] = in [(i * 31 + round) % SIZE];
             at > 0 && score[at - 1] > value && i - at < 30; at--)
            score[at] = score[at - 1], score[at - 1] = value;
    }
}

WORK play(void)
{
    REPEATED for (int i = 1; i < SIZE - 1; i++)
    {
        int alive = (in[i - 1] & 1) + (in[i + 1] & 1) + (in[i] >> 1 & 1);
        out[i] = (unsigned char)(alive == 2 || (alive == 1 && in[i] & 1));
    }
}

static const struct kind {
    const char *label;
    void (*work[2])(void);
    int times[2];
} picture = {"pictures", {scale, sharpen}, {14, 12}},
  mail = {"mail", {encode64, check_spam}, {8, 6}}, search = {"searches", {match, rank}, {8, 14}},
  game = {"games", {play, play}, {5, 5}};

static void serve(const struct kind *kind, int requests)
{
    int running = 0;

    mark(kind->label, NULL);
    for (; requests--; running++) {
        if (running == 3) {
            wait(NULL);
            running--;
        }
        if (fork() == 0) {
            for (int i = 0; i < 2; i++)
                for (int k = 0; k < kind->times[i]; k++)
                    kind->work[i]();
            _exit(out[in[0]] == 1);
        }
    }
    while (wait(NULL) > 0)
        continue;
}

int main(void)
{
    for (int i = 0; i < SIZE; i++)
        in[i] = (unsigned char)(rand() >> 7);
    serve(&mail, 40);
    serve(&picture, 70);
    serve(&search, 50);
    serve(&mail, 30);
    serve(&game, 40);
    serve(&search, 80);
    serve(&picture, 40);
    serve(&game, 40);
    serve(&mail, 40);
    return 0;
}
