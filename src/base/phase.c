/*
 * Phases and the names of their labels: A to Z, then AA, AB and on, as spreadsheets name columns.
 */
#include "rpistat/phase.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Labels of more letters are nobody's. */
#define LETTERS_MAX 6

const char *rps_phase_label(int label, char text[RPS_PHASE_LABEL_SIZE])
{
    char reversed[RPS_PHASE_LABEL_SIZE];
    size_t length = 0, i = 0;
    long rest = (long)label + 1;

    for (; rest > 0; rest = (rest - 1) / 26)
        reversed[length++] = (char)('A' + (rest - 1) % 26);
    while (length > 0)
        text[i++] = reversed[--length];
    text[i] = '\0';
    return text;
}

int rps_phase_label_parse(const char *text)
{
    size_t length = strlen(text);
    int label = 0;

    if (length == 0 || length > LETTERS_MAX)
        return -1;
    for (size_t i = 0; i < length; i++) {
        int letter = toupper((unsigned char)text[i]);

        if (letter < 'A' || letter > 'Z')
            return -1;
        label = 26 * label + letter - 'A' + 1;
    }
    return label - 1;
}

void rps_phases_free(struct rps_phases *phases)
{
    if (!phases)
        return;
    free(phases->outlier);
    free(phases->phase);
    *phases = (struct rps_phases){0};
}
