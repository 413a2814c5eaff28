/*
 * Choose the columns of a table that are signals.
 *
 * A column that numbers the rows or gives their times is a perfect ramp: as a signal, it would cut
 * the rows into equal parts. Its name alone does not identify it (a column `year` may hold sales),
 * and neither do rising values (a population rises too). So both are required, or steps that are
 * all equal.
 */
#include "rpistat/csv_signals.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "csv_table.h"
#include "rpistat/text.h"

/* Steps of a column are equal within this share: times are rounded. */
#define STEP_TOLERANCE 1e-6

#define NAMES_SIZE 400

/* The table without its header. */
struct choice {
    const struct rps_csv_table *table;
    const char *origin;
    size_t first;   /* row; 1 after a header */
    size_t count;   /* rows */
    int own_export; /* 1: made by rpistat export */
    size_t *column; /* chosen */
    size_t chosen;
};

static double value_at(const struct choice *choice, size_t row, size_t column)
{
    return choice->table->value[(choice->first + row) * choice->table->column_count + column];
}

/* --- classes of columns ----------------------------------------------------------------------- */

static int is_numeric(const struct choice *choice, size_t c)
{
    const struct rps_csv_column *column = &choice->table->column[c];
    uint64_t numbers = column->numbers, words = column->words;

    if (choice->first == 0) { /* the first row counts too */
        numbers += isfinite(choice->table->value[c]) != 0;
        words += column->first_is_word != 0;
    }
    return numbers > 0 && numbers >= words;
}

static int in_list(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcasecmp(name, *list) == 0)
            return 1;
    }
    return 0;
}

/* Such names are "time", "Time (s)", "date_utc", and "" above the row numbers of other programs. */
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

/* Return 1 for a column that places the rows of an export in a run. */
static int places_export(const char *name)
{
    static const char *const names[] = {"run",   "cpu", "period", "rotation", "time_s", "length_s",
                                        "cycle", "set", "phase",  "label",    NULL};

    return in_list(name, names);
}

struct rise {
    int strictly, never_falls, even, whole;
};

/* Return how a column changes from row to row. */
static struct rise rise_of(const struct choice *choice, size_t c)
{
    struct rise rise = {1, 1, 1, 1};
    double step = choice->count > 1 ? value_at(choice, 1, c) - value_at(choice, 0, c) : 0;

    for (size_t i = 0; i < choice->count; i++) {
        double value = value_at(choice, i, c), before = i > 0 ? value_at(choice, i - 1, c) : NAN;
        double sum; /* over the rows that the value is the mean of */

        if (isnan(value)) {
            rise.strictly = rise.even = 0;
            continue;
        }
        sum = value * (double)choice->table->rows_per;
        rise.whole = rise.whole && sum == floor(sum);
        if (isnan(before))
            continue;
        rise.strictly = rise.strictly && value > before;
        rise.never_falls = rise.never_falls && value >= before;
        rise.even = rise.even && fabs(value - before - step) <= STEP_TOLERANCE * fabs(step);
    }
    rise.even = rise.even && step != 0 && choice->count > 2;
    return rise;
}

/* Return 1 if the column identifies the row, and is not an observation. */
static int is_place(const struct choice *choice, size_t c)
{
    const char *name = choice->first > 0 ? choice->table->column[c].first : "x";
    struct rise rise;

    if (choice->own_export && places_export(name))
        return 1;
    rise = rise_of(choice, c);
    if (rise.even)
        return 1;
    if (rps_csv_names_place(name))
        return rise.never_falls;
    /* numbers with gaps before the other columns of a table without a header */
    return c == 0 && choice->first == 0 && choice->table->column_count > 1 && rise.strictly &&
           rise.whole;
}

static int is_own_export(const struct choice *choice)
{
    const struct rps_csv_table *table = choice->table;

    return choice->first > 0 && table->column_count > 3 &&
           strcmp(table->column[0].first, "run") == 0 && strcmp(table->column[1].first, "cpu") == 0;
}

/* --- choosing --------------------------------------------------------------------------------- */

static void name_of(const struct choice *choice, size_t c, char ret[RPS_NAME_SIZE])
{
    const char *first = choice->table->column[c].first;

    if (choice->first > 0 && first[0])
        snprintf(ret, RPS_NAME_SIZE, "%s", first);
    else
        snprintf(ret, RPS_NAME_SIZE, "%zu", c + 1);
}

static int unknown_name(const struct choice *choice, const char *name, struct rps_error *err)
{
    char names[NAMES_SIZE] = "", one[RPS_NAME_SIZE];

    for (size_t c = 0; c < choice->table->column_count; c++) {
        if (!is_numeric(choice, c))
            continue;
        name_of(choice, c, one);
        rps_text_list(names, sizeof(names), one);
    }
    return rps_error_set(err, RPS_USAGE, "%s has no column of numbers '%s'; it has %s",
                         choice->origin, name, names[0] ? names : "none");
}

static int choose_names(struct choice *choice, const struct rps_csv_options *options,
                        struct rps_error *err)
{
    for (size_t i = 0; i < options->name_count; i++) {
        size_t found = SIZE_MAX;

        for (size_t c = 0; c < choice->table->column_count && found == SIZE_MAX; c++) {
            char name[RPS_NAME_SIZE];

            name_of(choice, c, name);
            if (strcmp(name, options->name[i]) == 0 && is_numeric(choice, c))
                found = c;
        }
        if (found == SIZE_MAX)
            return unknown_name(choice, options->name[i], err);
        choice->column[choice->chosen++] = found;
    }
    return 0;
}

static int choose_all(struct choice *choice, struct rps_error *err)
{
    size_t numeric = 0, last = 0;

    for (size_t c = 0; c < choice->table->column_count; c++) {
        if (!is_numeric(choice, c))
            continue;
        numeric++;
        last = c;
        if (!is_place(choice, c))
            choice->column[choice->chosen++] = c;
    }
    if (numeric == 0)
        return rps_error_set(err, RPS_FAILED,
                             "%s has no column of numbers: there is nothing to find phases in",
                             choice->origin);
    if (choice->chosen == 0) { /* the only numbers are a ramp */
        char name[RPS_NAME_SIZE];

        name_of(choice, last, name);
        if (numeric > 1 || (choice->first > 0 && rps_csv_names_place(name)))
            return rps_error_set(err, RPS_FAILED,
                                 "%s has no columns of numbers but those that number its rows; "
                                 "name one with --metric to take it all the same",
                                 choice->origin);
        choice->column[choice->chosen++] = last;
    }
    return 0;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Mark a new run or CPU in an export: nothing continues there. A run without CPUs has no number. */
static void mark_breaks(const struct choice *choice, uint8_t *broken)
{
    for (size_t i = 1; i < choice->count; i++) {
        for (size_t c = 0; c < 2; c++) { /* run, cpu */
            double before = value_at(choice, i - 1, c), value = value_at(choice, i, c);

            broken[i] |= value != before && !(isnan(value) && isnan(before));
        }
    }
}

static void take(struct rps_arena *arena, const struct choice *choice, struct rps_csv_signals *ret)
{
    struct rps_signals *signals = &ret->signals;

    *ret = (struct rps_csv_signals){
        .signals = {.count = choice->count,
                    .signal_count = choice->chosen,
                    .value = rps_arena_get(arena, choice->count,
                                           choice->chosen * sizeof(*signals->value))},
        .name = rps_arena_get(arena, choice->chosen, sizeof(*ret->name)),
        .rows = choice->table->rows - choice->first,
        .rows_per = choice->table->rows_per,
    };
    for (size_t s = 0; s < choice->chosen; s++) {
        name_of(choice, choice->column[s], ret->name[s]);
        for (size_t i = 0; i < choice->count; i++)
            signals->value[s * choice->count + i] = value_at(choice, i, choice->column[s]);
    }
    if (choice->own_export) {
        signals->broken = rps_arena_get(arena, choice->count, sizeof(*signals->broken));
        mark_breaks(choice, signals->broken);
    }
}

static int choose(struct rps_arena *scratch, struct choice *choice,
                  const struct rps_csv_options *options, struct rps_error *err)
{
    size_t most = choice->table->column_count + options->name_count;

    choice->first = rps_csv_table_has_header(choice->table);
    choice->count = choice->table->row_count - choice->first;
    if (choice->table->row_count == 0)
        return rps_error_set(err, RPS_FAILED, "%s has no rows", choice->origin);
    choice->own_export = is_own_export(choice);
    choice->column = rps_arena_get(scratch, most, sizeof(*choice->column));
    return options->name_count > 0 ? choose_names(choice, options, err) : choose_all(choice, err);
}

int rps_csv_signals_read(struct rps_arena *arena, FILE *in, const struct rps_csv_options *options,
                         struct rps_csv_signals *ret, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_csv_table table;
    struct choice choice = {.table = &table, .origin = options->origin};
    int result = rps_csv_table_read(scratch, in, options, &table, err);

    if (result == 0)
        result = choose(scratch, &choice, options, err);
    if (result == 0)
        take(arena, &choice, ret);
    rps_arena_free(scratch);
    return result;
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
