/* A simulation of 35 steps of two parts, with a checkpoint after every seventh. */
#include "program.h"

#define CELLS (1 << 16)

static float field[CELLS], flow[CELLS];

WORK advect(void)
{
    for (int i = 1; i + 1 < CELLS; i++)
        flow[i] = field[i] - .1f * (field[i + 1] - field[i - 1]) * (field[i] > 0 ? 1 : -1);
}

WORK transform(void)
{
    for (int half = CELLS / 2; half > 64; half /= 2) {
        for (int i = 0; i + half < CELLS; i += 2 * half) {
            for (int j = i; j < i + half; j++) {
                float sum = flow[j] + flow[j + half];

                flow[j + half] = flow[j] - sum / 2;
                field[j] = sum / 2;
            }
        }
    }
}

WORK checkpoint(void)
{
    int file = open("checkpoint", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    for (int i = 0; i < 8; i++) {
        if (write(file, field, sizeof field) < 0)
            exit(1);
    }
    fdatasync(file);
    close(file);
}

int main(void)
{
    for (int i = 0; i < CELLS; i++)
        field[i] = (float)(drawn() - .5);
    for (int i = 1; i <= 35; i++) {
        mark("steps", "advect");
        during(.7, advect);
        mark("steps", "transform");
        during(.5, transform);
        if (i % 7 == 0) {
            mark("checkpoint", NULL);
            during(1.5, checkpoint);
        }
    }
    return 0;
}
