/* Songs are made: notes are played by more and more voices (two threads) and filtered (nested), mastered (nested: reverb
 * by FFT with three threads, loudness), resampled, encoded, and played in real time by a thread that sleeps. Fixed work. */
#include <complex.h>
#include <pthread.h>
#include <stdint.h>

#include "program.h"

#define LENGTH (1 << 20)
#define BLOCK  16384
#define THREADS 3

static float song[LENGTH], room[LENGTH], half[LENGTH];
static float complex impulse[BLOCK], twiddle[BLOCK];
static int voices;
static volatile float sink;

static void *synthesise(void *part)
{
    int from = part ? LENGTH / 2 : 0;

    for (int i = from; i < from + LENGTH / 2; i++) {
        float sum = 0, at = (float)(i % 44100) / 44100;
        for (int k = 0; k < voices; k++) {
            float phase = at * (float)(110 + 55 * (k % 9)) * 6.2832F;
            sum += sinf(phase + .5F * (float)k) * (1 - at);
        }
        song[i] = sum / (float)voices;
    }
    return NULL;
}

static void both(int count)
{
    pthread_t other;

    voices = count;
    pthread_create(&other, NULL, synthesise, song);
    synthesise(NULL);
    pthread_join(other, NULL);
}

WORK filter(int bands)
{
    for (int band = 0; band < bands; band++) {
        float a = .2F + .05F * (float)(band % 9), x1 = 0, x2 = 0, y1 = 0, y2 = 0;
        for (int i = 0; i < LENGTH; i++) {
            float y = a * song[i] + .2F * x1 + .1F * x2 + .3F * y1 - .1F * y2;
            x2 = x1, x1 = song[i], y2 = y1, y1 = y;
            song[i] = y;
        }
    }
}

static void fft(float complex *data)
{
    for (unsigned i = 1, j = 0; i < BLOCK; i++) {
        unsigned bit = BLOCK >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            float complex kept = data[i];
            data[i] = data[j], data[j] = kept;
        }
    }
    for (unsigned size = 2; size <= BLOCK; size *= 2)
        for (unsigned i = 0; i < BLOCK; i += size)
            for (unsigned k = 0; k < size / 2; k++) {
                float complex a = data[i + k], w = twiddle[k * (BLOCK / size)], b = data[i + k + size / 2];
                float complex c = (crealf(b) * crealf(w) - cimagf(b) * cimagf(w))
                                  + I * (crealf(b) * cimagf(w) + cimagf(b) * crealf(w));
                data[i + k] = a + c;
                data[i + k + size / 2] = a - c;
            }
}

static void *reverb(void *part)
{
    float complex *data = malloc(BLOCK * sizeof *data);

    for (int at = (int)(intptr_t)part * BLOCK / 2; at + BLOCK <= LENGTH; at += THREADS * BLOCK / 2) {
        for (int i = 0; i < BLOCK; i++)
            data[i] = song[at + i];
        fft(data);
        for (int i = 0; i < BLOCK; i++)
            data[i] = crealf(data[i]) * impulse[i];
        fft(data);
        for (int i = 0; i < BLOCK / 2; i++)
            room[at + i] = crealf(data[i]) / BLOCK;
    }
    free(data);
    return NULL;
}

WORK reverbs(int times)
{
    pthread_t thread[THREADS];

    while (times--) {
        for (intptr_t i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, reverb, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
}

WORK loudness(int times)
{
    while (times--) {
        float gain = 1, peak = 0;
        for (int i = 0; i < LENGTH; i++) {
            float level = fabsf(song[i] + .3F * room[i]);
            peak = level > peak ? level : peak * .9999F;
            gain = peak * gain > .9F ? gain * .999F : gain + 1e-6F;
            room[i] = tanhf(song[i] * gain);
        }
    }
}

WORK resample(int times)
{
    while (times--)
        for (int i = 0; i < LENGTH / 2 - 40; i++) {
            float sum = 0, at = (float)i * 1.8375F;
            int first = (int)at;
            for (int k = 0; k < 32; k++) {
                float d = at - (float)(first + k - 16) + .01F;
                sum += room[(first + k) % LENGTH] * (1 - d * d / 300) / (1 + d * d);
            }
            half[i] = sum;
        }
}

WORK encode(int times)
{
    int file = open("song", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    while (times--) {
        unsigned char out[4096];
        int value = 0, step = 7, used = 0;
        for (int i = 0; i < LENGTH; i++) {
            int d = (int)(half[i] * 30000) - value, code = d < 0 ? 8 : 0, part = step;
            d = abs(d);
            for (int bit = 4; bit; bit >>= 1, part >>= 1)
                if (d >= part)
                    code |= bit, d -= part;
            value += (code & 8 ? -1 : 1) * (step * (2 * (code & 7) + 1) / 8);
            step = step * (code & 4 ? 19 : 15) / 16;
            step = step < 7 ? 7 : step > 32000 ? 32000 : step;
            out[used++] = (unsigned char)code;
            if (used == sizeof out) {
                if (write(file, out, sizeof out) < 0)
                    exit(5);
                used = 0;
            }
        }
    }
    fsync(file);
    close(file);
}

WORK play(int blocks)
{
    mark("play", NULL);
    for (int b = 0; b < blocks; b++) {
        float sum = 0;
        for (int i = 0; i < 441; i++)
            sum += half[(b * 441 + i) % LENGTH] * .7F;
        sink = sum;
        usleep(10000);
    }
}

int main(void)
{
    static const int plan[3][7] = {{14, 6, 7, 12, 3, 16, 160}, {18, 9, 9, 0, 0, 20, 0}, {16, 0, 8, 14, 4, 0, 200}};

    mark("record", "voices");
    for (int i = 0; i < BLOCK; i++) {
        twiddle[i] = cosf(6.2832F * (float)i / BLOCK) - I * sinf(6.2832F * (float)i / BLOCK);
        impulse[i] = expf(-(float)i / 3000);
    }
    for (int s = 0; s < 3; s++) {
        const int *p = plan[s];
        mark("record", "voices");
        for (int i = 1; i <= p[0]; i += 3)
            both(i);
        mark("record", "filter");
        filter(100);
        if (p[1]) {
            mark("master", "reverb");
            reverbs(p[1]);
        }
        mark("master", "loudness");
        loudness(p[2] * 4);
        if (p[3]) {
            mark("resample", NULL);
            resample(p[3]);
        }
        if (p[5]) {
            mark("encode", NULL);
            encode(p[5] * 3);
        }
        if (p[6])
            play(p[6]);
        if (s == 1) {
            mark("record", "filter");
            filter(110);
            mark("encode", NULL);
            encode(40);
        }
    }
    return 0;
}
