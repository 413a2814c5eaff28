/* A grid that is refined: 13 iterations of three parts, each iteration a fifth longer than the last. */
#include "program.h"

#define SIDE 400

static double cell[SIDE][SIDE], next[SIDE][SIDE];
volatile double result;

WORK fill(void)
{
    for (int i = 0; i < SIDE / 4; i++) {
        for (int j = 0; j < SIDE; j++)
            cell[i * 4][j] = sin(i * .1) * cos(j * .1);
    }
}

WORK relax(void)
{
    for (int i = 1; i + 1 < SIDE; i++) {
        for (int j = 1; j + 1 < SIDE; j++)
            next[i][j] = (cell[i - 1][j] + cell[i + 1][j] + cell[i][j - 1] + cell[i][j + 1]) / 4;
    }
    memcpy(cell, next, sizeof cell);
}

WORK reduce(void)
{
    double sum = 0;

    for (int j = 0; j < SIDE; j++) {
        for (int i = 0; i < SIDE; i++)
            sum += sqrt(fabs(cell[i][j]));
    }
    result = sum;
}

WORK save(void)
{
    int file = open("saved", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (write(file, cell, sizeof cell) < 0)
        exit(1);
    close(file);
}

int main(void)
{
    double length = .6;

    mark("setup", NULL);
    during(4, fill);
    for (int i = 0; i < 13; i++, length *= 1.2) {
        mark("refine", "relax");
        during(length * .5, relax);
        mark("refine", "reduce");
        during(length * .3, reduce);
        mark("refine", "fill");
        during(length * .2, fill);
    }
    mark("save", NULL);
    during(4, save);
    return 0;
}
