/* Finds columns that number rows, and corrects row numbers in tables that were averaged. */
#include "rpistat/csv_signals.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* Steps of a column count as equal if they differ by at most this share: times are rounded. */
#define STEP_TOLERANCE 1e-6

static int in_list(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcasecmp(name, *list) == 0)
            return 1;
    }
    return 0;
}

/* Return 1 for names of columns that number rows: "time", "Time (s)", "date_utc", and "", which
 * other programs write above row numbers. */
int rps_csv_names_place(const char *name)
{
    static const char *const names[] = {
        "",       "index",  "idx",     "id",     "row",    "rowid",       "step",  "t",   "n",
        "no",     "nr",     "number",  "seq",    "epoch",  "year",        "month", "day", "hour",
        "minute", "second", "seconds", "period", "sample", "observation", "obs",   NULL};
    static const char *const beginnings[] = {"time", "date", "timestamp"};

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        size_t length = strlen(beginnings[i]);

        if (strncasecmp(name, beginnings[i], length) == 0 && !isalpha((unsigned char)name[length]))
            return 1;
    }
    return in_list(name, names) || strcasecmp(name, "datetime") == 0;
}

int rps_csv_is_place(const double *value, size_t count, int is_averaged, const char *name)
{
    double step = count > 1 ? value[1] - value[0] : 0, before = NAN;
    int never_falls = 1, is_whole = 1, is_even = count > 2 && step != 0;

    for (size_t i = 0; i < count && (never_falls || is_even); i++) {
        if (isnan(value[i])) {
            is_even = 0;
            continue;
        }
        never_falls = never_falls && !(value[i] < before);
        is_whole = is_whole && (is_averaged || value[i] == floor(value[i]));
        is_even =
            is_even && (i == 0 || fabs(value[i] - before - step) <= STEP_TOLERANCE * fabs(step));
        before = value[i];
    }
    return is_even || (never_falls && is_whole && rps_csv_names_place(name));
}

static void set_rows(const struct rps_csv_signals *table, struct rps_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        struct rps_phase *phase = &phases->phase[i];

        phase->first *= table->rows_per;
        phase->earliest = phase->earliest * table->rows_per - (i > 0 ? table->rows_per - 1 : 0);
        phase->latest = phase->latest * table->rows_per + (i > 0 ? table->rows_per - 1 : 0);
        phase->last = (phase->last + 1) * table->rows_per - 1;
        phase->last = phase->last < table->rows ? phase->last : table->rows - 1;
    }
    for (size_t i = 0; i < phases->outlier_count; i++)
        phases->outlier[i] *= table->rows_per;
    phases->wide = table->rows_per - 1;
}

void rps_csv_signals_set_rows(const struct rps_csv_signals *table, struct rps_found_phases *found)
{
    for (size_t l = 0; l < found->levels.count; l++)
        set_rows(table, &found->levels.level[l]);
    found->wave.length *= (double)table->rows_per;
}
