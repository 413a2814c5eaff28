/* Names similar to a typed one. */
#include "rpistat/suggestion.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NEAR_LENGTH_MAX (RPS_SUGGESTION_SIZE - 1)

/* Return how many letters may be wrong in a name of this length: one in five, so that short names
 * stay distinct. */
static int tolerance(size_t length)
{
    return length < 5 ? 1 : (int)(length / 5);
}

static bool same_letter(char a, char b)
{
    return (a >= 'A' && a <= 'Z' ? a + 'a' - 'A' : a) == (b >= 'A' && b <= 'Z' ? b + 'a' - 'A' : b);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Return the number of letters to insert, remove, change or swap with a neighbour to turn a into b.
 * Case is ignored. Both are at most NEAR_LENGTH_MAX long. */
static int distance_between(const char *a, const char *b)
{
    int row[3][NEAR_LENGTH_MAX + 1]; /* of the last three letters of a, by modulo */
    int length_a = (int)strlen(a), length_b = (int)strlen(b);

    for (int j = 0; j <= length_b; j++)
        row[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= length_b; j++) {
            now[j] = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            now[j] = smaller(now[j], smaller(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                now[j] = smaller(now[j], before[j - 2] + 1);
        }
    }
    return row[length_a % 3][length_b];
}

void rps_suggestion_consider(struct rps_suggestion *suggestion, const char *name)
{
    size_t typed_length = strlen(suggestion->typed), length = strlen(name);
    int limit = tolerance(typed_length), distance;

    if (typed_length == 0 || typed_length > NEAR_LENGTH_MAX || length > NEAR_LENGTH_MAX ||
        length + (size_t)limit < typed_length || typed_length + (size_t)limit < length)
        return;
    distance = distance_between(suggestion->typed, name);
    if (distance > limit || (suggestion->count > 0 && distance > suggestion->distance))
        return;
    if (suggestion->count > 0 && distance < suggestion->distance)
        suggestion->count = 0;
    for (int i = 0; i < suggestion->count; i++) {
        if (strcmp(suggestion->name[i], name) == 0)
            return;
    }
    if (suggestion->count == RPS_SUGGESTIONS_MAX)
        return;
    suggestion->distance = distance;
    memcpy(suggestion->name[suggestion->count++], name, length + 1);
}

char *rps_suggestion_question(const struct rps_suggestion *suggestion, char *ret, size_t size)
{
    size_t length = 0;

    ret[0] = '\0';
    for (int i = 0; i < suggestion->count && length < size; i++) {
        const char *before = i == 0 ? "did you mean " : i == suggestion->count - 1 ? " or " : ", ";

        length += (size_t)snprintf(ret + length, size - length, "%s%s%s", before,
                                   suggestion->name[i], i == suggestion->count - 1 ? "? " : "");
    }
    return ret;
}
