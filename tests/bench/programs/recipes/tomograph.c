/* A tomograph: a phantom is made and scanned, batches of slices are reconstructed (nested: filter, back-project
 * by two threads, denoise), the volume is rendered and written, and part of it is scanned again. Fixed work. */
#include <pthread.h>

#include "program.h"

#define SIDE   384
#define ANGLES 240
#define SLICES 3

static float volume[SLICES][SIDE][SIDE], sinogram[SLICES][ANGLES][SIDE], filtered[SLICES][ANGLES][SIDE];
static float kernel[SIDE * 2], clean[SIDE][SIDE], view[SIDE][SIDE];

WORK make_phantom(int ellipses)
{
    for (int s = 0; s < SLICES; s++)
        for (int e = 0; e < ellipses; e++) {
            float cx = (float)drawn() * SIDE, cy = (float)drawn() * SIDE, a = 20 + 60 * (float)drawn(), d = (float)drawn();

            for (int y = 0; y < SIDE; y++)
                for (int x = 0; x < SIDE; x++)
                    if ((x - cx) * (x - cx) + (y - cy) * (y - cy) * 2 < a * a)
                        volume[s][y][x] += d;
        }
}

WORK scan(int slices)
{
    for (int s = 0; s < slices; s++)
        for (int k = 0; k < ANGLES; k++) {
            float c = cosf(k * (float)M_PI / ANGLES), n = sinf(k * (float)M_PI / ANGLES);

            for (int d = 0; d < SIDE; d++) {
                float sum = 0;

                for (int t = -SIDE / 2; t < SIDE / 2; t++) {
                    int x = (int)((d - SIDE / 2) * c - t * n) + SIDE / 2, y = (int)((d - SIDE / 2) * n + t * c) + SIDE / 2;

                    if (x >= 0 && y >= 0 && x < SIDE && y < SIDE)
                        sum += volume[s][y][x];
                }
                sinogram[s][k][d] = sum + (float)drawn();
            }
        }
}

WORK filter(int s)
{
    for (int k = 0; k < ANGLES; k++)
        for (int d = 0; d < SIDE; d++) {
            double sum = 0;

            for (int i = 0; i < SIDE; i++)
                sum += (double)sinogram[s][k][i] * (double)kernel[d - i + SIDE];
            filtered[s][k][d] = (float)sum;
        }
}

static int slice;

static void *back_project(void *half)
{
    int from = half ? SIDE / 2 : 0;

    for (int y = from; y < from + SIDE / 2; y++)
        for (int x = 0; x < SIDE; x++)
            volume[slice][y][x] = 0;
    for (int k = 0; k < ANGLES; k++) {
        float c = cosf(k * (float)M_PI / ANGLES), n = sinf(k * (float)M_PI / ANGLES);

        for (int y = from; y < from + SIDE / 2; y++)
            for (int x = 0; x < SIDE; x++) {
                float at = (x - SIDE / 2) * c + (y - SIDE / 2) * n + SIDE / 2;
                int i = (int)at;

                if (i >= 0 && i + 1 < SIDE)
                    volume[slice][y][x] += filtered[slice][k][i] * (1 - at + i) + filtered[slice][k][i + 1] * (at - i);
            }
    }
    return NULL;
}

WORK denoise(int s)
{
    for (int y = 1; y + 1 < SIDE; y++)
        for (int x = 1; x + 1 < SIDE; x++) {
            float near[9];
            int count = 0;

            for (int i = 0; i < 9; i++) {
                float value = volume[s][y + i / 3 - 1][x + i % 3 - 1];
                int j = count++;

                for (; j > 0 && near[j - 1] > value; j--)
                    near[j] = near[j - 1];
                near[j] = value;
            }
            clean[y][x] = near[4];
        }
    memcpy(volume[s], clean, sizeof(clean));
}

static void reconstruct(int batches, int slices)
{
    pthread_t thread[2];

    for (int b = 0; b < batches; b++) {
        mark("reconstruct", "filter");
        for (int i = 0; i < slices * 7; i++)
            filter(i % slices);
        mark("reconstruct", "back-project");
        for (int i = 0; i < slices * 3; i++) {
            slice = i % slices;
            for (long t = 0; t < 2; t++)
                pthread_create(&thread[t], NULL, back_project, (void *)t);
            for (int t = 0; t < 2; t++)
                pthread_join(thread[t], NULL);
        }
        mark("reconstruct", "denoise");
        for (int i = 0; i < slices * 12; i++)
            denoise(i % slices);
    }
}

WORK render(int views)
{
    for (int v = 0; v < views; v++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                double light = 1;

                for (int s = 0; s < SLICES; s++)
                    light *= exp(-fabs((double)volume[s][(y + v * s) % SIDE][(x + v) % SIDE]) * 1e-5);
                view[y][x] = (float)pow(light, .45);
            }
}

WORK save(int copies)
{
    for (int i = 0; i < copies; i++) {
        int file = open("volume", O_WRONLY | O_CREAT | O_TRUNC, 0600);

        for (size_t at = 0; at < sizeof(volume); at += 4096)
            if (write(file, (char *)volume + at, 4096) < 0)
                exit(1);
        fsync(file);
        close(file);
    }
}

int main(void)
{
    for (int i = 0; i < SIDE * 2; i++)
        kernel[i] = i == SIDE ? .25f : i % 2 ? -1 / (9.87f * (float)(i - SIDE) * (float)(i - SIDE)) : 0;
    mark("phantom", NULL);
    make_phantom(600);
    mark("scan", NULL);
    scan(SLICES);
    reconstruct(2, SLICES);
    mark("render", NULL);
    render(60);
    mark("save", NULL);
    save(150);
    mark("scan", NULL);
    scan(SLICES);
    reconstruct(1, SLICES);
    mark("render", NULL);
    render(80);
    return 0;
}
