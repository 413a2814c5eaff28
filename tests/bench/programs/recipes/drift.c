/* One phase: two functions in shares that drift at random, and return to the middle. */
#include "program.h"

static unsigned word[1 << 14];
volatile double result;

WORK mix_words(void)
{
    for (unsigned i = 0; i < 300000; i++)
        word[i * 2654435761U >> 18] += i;
}

WORK add_roots(void)
{
    double sum = 0;

    for (int i = 0; i < 100000; i++)
        sum += sqrt(i);
    result = sum;
}

int main(void)
{
    double end = now_s(CLOCK_MONOTONIC) + 45, share = .5, until = 0;

    mark("drift", NULL);
    while (now_s(CLOCK_MONOTONIC) < end) {
        if (now_s(CLOCK_MONOTONIC) >= until) {
            share += .1 * (.5 - share) + .12 * (drawn() - .5);
            until = now_s(CLOCK_MONOTONIC) + .5;
        }
        (drawn() < share ? mix_words : add_roots)();
    }
    return 0;
}
