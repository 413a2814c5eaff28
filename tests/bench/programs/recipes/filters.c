/* Seven pictures of different sizes, each decoded, blurred, sharpened and encoded. */
#include "program.h"

#define SIDE 512

static unsigned char from[SIDE][SIDE], to[SIDE][SIDE];

WORK decode(void)
{
    unsigned bits = 1;

    for (int i = 0; i < SIDE / 2; i++) {
        for (int j = 0; j < SIDE; j++) {
            bits = bits << 1 | ((bits >> 30 ^ bits >> 27) & 1);
            from[i][j] = (unsigned char)(from[i][j / 2] + (bits & 15));
        }
    }
}

WORK blur(void)
{
    for (int i = 2; i < SIDE / 4; i++) {
        for (int j = 2; j + 2 < SIDE; j++) {
            int sum = 0;

            for (int k = -2; k <= 2; k++)
                sum += from[i + k][j] + from[i][j + k];
            to[i][j] = (unsigned char)(sum / 10);
        }
    }
}

WORK sharpen(void)
{
    for (int i = 1; i < SIDE / 3; i++) {
        for (int j = 1; j + 1 < SIDE; j++) {
            double edge =
                4. * from[i][j] - from[i - 1][j] - from[i + 1][j] - from[i][j - 1] - from[i][j + 1];

            to[i][j] = (unsigned char)fmin(255, fmax(0, from[i][j] + edge / (1 + fabs(edge) / 64)));
        }
    }
}

WORK encode(void)
{
    static char out[SIDE * SIDE * 2];
    size_t length = 0;

    for (int i = 0; i < SIDE / 4; i++) {
        for (int j = 0, run = 1; j + 1 < SIDE; j++, run++) {
            if (to[i][j] != to[i][j + 1]) {
                out[length++] = (char)run;
                out[length++] = (char)to[i][j];
                run = 0;
            }
        }
    }
    int file = open("picture", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (write(file, out, length) < 0)
        exit(1);
    close(file);
}

int main(void)
{
    static const double size[] = {1, 1.4, .8, 1.2, 1, 1.6, .9};

    for (int i = 0; i < 7; i++) {
        mark(NULL, "decode");
        during(1.5 * size[i], decode);
        mark(NULL, "blur");
        during(2.2 * size[i], blur);
        mark(NULL, "sharpen");
        during(1.8 * size[i], sharpen);
        mark(NULL, "encode");
        during(1.3 * size[i], encode);
    }
    return 0;
}
