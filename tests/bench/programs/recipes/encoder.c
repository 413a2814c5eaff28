/* A video encoder: frames are captured and analysed, then four groups of pictures are coded (nested): intra by
 * one thread, motion search by three, entropy coding by one; the stream is muxed at the end. Fixed work. */
#include <pthread.h>

#include "program.h"

#define WIDE   640
#define HIGH   352
#define FRAMES 24
#define BLOCKS ((WIDE / 16) * (HIGH / 16))

static unsigned char frame[FRAMES][HIGH][WIDE];
static short coefficient[HIGH][WIDE];
static signed char vector[FRAMES][BLOCKS][2];
static unsigned char *stream;
static size_t written;
static unsigned low, range = ~0U;
static unsigned short model[4096];
static float cosine[8][8];
static int searched;

static unsigned hash(unsigned a)
{
    a = (a ^ 61) ^ (a >> 16);
    a *= 9;
    a ^= a >> 4;
    a *= 0x27d4eb2d;
    return a ^ (a >> 15);
}

WORK capture(int number)
{
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            int u = x + number * 3, v = y - number * 2;
            unsigned a = hash((unsigned)(u / 8) * 7919 + (unsigned)(v / 8)),
                     b = hash((unsigned)(u + v * WIDE));

            frame[number][y][x] =
                (unsigned char)(128 + 60 * sinf(u * .02F) * cosf(v * .03F) + a % 32 + b % 6);
        }
}

/* The variance of each block at three scales, and a histogram of differences to the frame before. */
WORK analyse(int number)
{
    static unsigned histogram[256];

    for (int scale = 1; scale <= 4; scale *= 2)
        for (int y = scale; y + scale < HIGH; y++)
            for (int x = scale; x + scale < WIDE; x++) {
                int here = frame[number][y][x],
                    before = frame[(number + FRAMES - 1) % FRAMES][y][x];
                int edge = abs(frame[number][y - scale][x] - frame[number][y + scale][x]) +
                           abs(frame[number][y][x - scale] - frame[number][y][x + scale]);

                histogram[(abs(here - before) + edge) & 255]++;
            }
}

/* A discrete cosine transform of each block of 8 x 8, and quantisation. */
WORK transform(int number)
{
    for (int by = 0; by < HIGH; by += 8)
        for (int bx = 0; bx < WIDE; bx += 8) {
            float rows[8][8], sum;

            for (int y = 0; y < 8; y++)
                for (int k = 0; k < 8; k++) {
                    sum = 0;
                    for (int x = 0; x < 8; x++)
                        sum += cosine[k][x] * (frame[number][by + y][bx + x] - 128);
                    rows[y][k] = sum;
                }
            for (int k = 0; k < 8; k++)
                for (int x = 0; x < 8; x++) {
                    sum = 0;
                    for (int y = 0; y < 8; y++)
                        sum += cosine[k][y] * rows[y][x];
                    coefficient[by + k][bx + x] = (short)(sum / (4 + k + x));
                }
        }
}

static unsigned difference(int number, int before, int x, int y, int dx, int dy, unsigned best)
{
    unsigned sum = 0;

    for (int i = 0; i < 16 && sum < best; i++)
        for (int j = 0; j < 16; j++)
            sum +=
                (unsigned)abs(frame[number][y + i][x + j] - frame[before][y + dy + i][x + dx + j]);
    return sum;
}

static void *search(void *argument)
{
    int number = *(int *)argument, before = number ? number - 1 : 1, block;

    while ((block = __atomic_fetch_add(&searched, 1, __ATOMIC_RELAXED)) < BLOCKS) {
        int x = block % (WIDE / 16) * 16, y = block / (WIDE / 16) * 16;
        unsigned best = ~0U;

        for (int dy = -9; dy <= 9; dy++)
            for (int dx = -9; dx <= 9; dx++) {
                unsigned sum;

                if (x + dx < 0 || y + dy < 0 || x + dx + 16 > WIDE || y + dy + 16 > HIGH)
                    continue;
                sum = difference(number, before, x, y, dx, dy, best);
                if (sum < best) {
                    best = sum;
                    vector[number][block][0] = (signed char)dx;
                    vector[number][block][1] = (signed char)dy;
                }
            }
    }
    return NULL;
}

WORK motion(int number)
{
    pthread_t thread[3];

    searched = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, search, &number);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

static void put_bit(unsigned context, int bit)
{
    unsigned bound = (range >> 12) * model[context];

    if (bit) {
        low += bound;
        range -= bound;
        model[context] -= model[context] >> 5;
    } else {
        range = bound;
        model[context] += (unsigned short)((4096 - model[context]) >> 5);
    }
    while (range < 1U << 24) {
        stream[written++] = (unsigned char)(low >> 24);
        low <<= 8;
        range <<= 8;
    }
}

WORK entropy(int number)
{
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            unsigned place = (unsigned)((y & 7) * 8 + (x & 7)),
                     size = (unsigned)abs(coefficient[y][x]), i;

            for (i = 0; i < 12 && size >> i; i++)
                put_bit(place * 16 + i, 1);
            put_bit(place * 16 + i, 0);
            while (i--)
                put_bit(1024 + place * 16 + i, (int)(size >> i & 1));
        }
    for (int i = 0; i < BLOCKS; i++)
        for (int bit = 0; bit < 5; bit++)
            put_bit(3000 + (unsigned)bit, vector[number][i][0] >> bit & 1);
}

WORK mux(int file)
{
    for (size_t at = 0; at < written; at += 188) {
        unsigned char packet[192] = {0x47};
        unsigned crc = ~0U;

        memcpy(packet + 4, stream + at, written - at < 184 ? written - at : 184);
        for (int i = 0; i < 188; i++) {
            crc ^= packet[i];
            for (int bit = 0; bit < 8; bit++)
                crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
        memcpy(packet + 188, &crc, 4);
        if (write(file, packet, sizeof packet) < 0)
            exit(1);
    }
}

int main(void)
{
    static const int group[4][3] = {
        {14, 6, 9}, {22, 10, 5}, {12, 5, 12}, {17, 8, 7}}; /* frames of each part */
    int file = open("stream", O_WRONLY | O_CREAT, 0600), number = 0;

    mark("capture", NULL);
    stream = malloc(256 << 20);
    for (int i = 0; i < 4096; i++)
        model[i] = 2048;
    for (int k = 0; k < 8; k++)
        for (int x = 0; x < 8; x++)
            cosine[k][x] = cosf((float)M_PI * (float)k * (2 * (float)x + 1) / 16) / (k ? 2 : 2.83F);
    for (int i = 0; i < FRAMES * 6; i++)
        capture(i % FRAMES);
    mark("first-pass", NULL);
    for (int i = 0; i < FRAMES * 16; i++)
        analyse(i % FRAMES);
    for (int i = 0; i < 4; i++) {
        mark("second-pass", "intra");
        for (int j = 0; j < group[i][0] * 8; j++)
            transform(number++ % FRAMES);
        mark("second-pass", "motion");
        for (int j = 0; j < group[i][1] * 20; j++)
            motion(number++ % FRAMES);
        mark("second-pass", "entropy");
        for (int j = 0; j < group[i][2] * 34; j++)
            entropy(number++ % FRAMES);
    }
    mark("mux", NULL);
    mux(file);
    fsync(file);
    return 0;
}
