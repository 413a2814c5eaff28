/* A game: the program thinks about each of ten moves, and waits for the other player's. */
#include "program.h"

static signed char board[64];
static unsigned long seen;

static int search(int depth, int low, int high)
{
    int best = low;

    seen++;
    if (depth == 0) {
        int sum = 0;

        for (int i = 0; i < 64; i++)
            sum += board[i] * (i % 8);
        return sum % 100;
    }
    for (int i = 0; i < 8 && best < high; i++) {
        signed char *field = &board[(seen * 13 + (unsigned)i * 7) % 64], kept = *field;
        int value;

        *field = (signed char)(kept + 1 - depth % 3);
        value = -search(depth - 1, -high, -best);
        *field = kept;
        best = value > best ? value : best;
    }
    return best;
}

WORK think(void)
{
    search(4, -100, 100);
}

WORK await_other(void)
{
    usleep(50000);
    board[rand() % 64] ^= 1;
}

int main(void)
{
    static const double thinking_s[] = {3, 4.5, 2.5, 6, 3.5, 5, 2.6, 4, 3, 5},
                        waiting_s[] = {2, 1.6, 3, 2.2, 1.8, 4, 2, 2.5, 1.7, 3};

    for (int i = 0; i < 10; i++) {
        mark("think", NULL);
        during(thinking_s[i], think);
        mark("wait", NULL);
        during(waiting_s[i], await_other);
    }
    return 0;
}
