/* The names of a sheet's columns, or with --explain its data dictionary. */
#include "sheet.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/plan.h"

int rps_sheet_begin_csv(struct rps_export_job *job, struct rps_csv_writer *csv,
                        struct rps_error *err)
{
    static const char *const names[] = {"column", "meaning", "unit", "aggregation"};
    int result = rps_csv_begin(job->arena, csv, job->out, &job->options->csv, err);

    job->state = csv;
    for (size_t i = 0; i < 4 && result == 0 && job->options->explain; i++)
        rps_csv_text(csv, names[i]);
    if (result == 0 && job->options->explain)
        rps_csv_end_head(csv);
    return result;
}

void rps_sheet_name(struct rps_export_job *job, const char *name, const char *unit, const char *how,
                    const char *meaning)
{
    rps_csv_text(job->state, name);
    if (!job->options->explain)
        return;
    rps_csv_text(job->state, meaning);
    rps_csv_text(job->state, strcmp(unit, RPS_UNIT_GAUGE) == 0 ? "" : unit);
    rps_csv_text(job->state, how);
    rps_csv_end_row(job->state);
}

/* Append the unit: "_percent", "_per_s", "_MB_per_s". Counts of events or cycles have no suffix. */
static void append_unit(char *name, size_t size, const char *unit)
{
    static const char *const none[] = {"events", "cycles", RPS_UNIT_GAUGE};
    char suffix[RPS_NAME_SIZE + 16] = "_";
    size_t used = 1, length = strlen(name);

    for (size_t i = 0; i < RPS_COUNT(none); i++) {
        if (strcmp(unit, none[i]) == 0)
            return;
    }
    for (; *unit && used + sizeof("_percent_") < sizeof(suffix); unit++) {
        const char *said = *unit == '%' ? "percent" : *unit == '/' ? "_per_" : "_";

        if (isalnum((unsigned char)*unit))
            suffix[used++] = *unit;
        else
            used += (size_t)sprintf(suffix + used, "%s", said + (said[0] == '_' && used == 1));
    }
    suffix[used] = '\0';
    if (strcmp(suffix, "_PTI") == 0)
        strcpy(suffix, "_pti");
    if (used > 1 && (length < used || strcmp(name + length - used, suffix) != 0))
        snprintf(name + length, size - length, "%s", suffix);
}

void rps_sheet_head(struct rps_export_job *job, const char *name, const char *unit,
                    const char *kind, const char *end, const char *how, const char *meaning)
{
    struct rps_sheet *sheet = job->state;
    char text[RPS_SPEC_SIZE + 2 * RPS_NAME_SIZE];

    snprintf(text, sizeof(text), "%s", name);
    if (kind && sheet->format != RPS_SHEET_TABLE)
        append_unit(text, sizeof(text), unit);
    sheet->name = rps_arena_grow(job->arena, sheet->name, sheet->name_count, sizeof(*sheet->name));
    name = rps_arena_print(job->arena, "%s%s%s", text, end ? "_" : "", end ? end : "");
    sheet->name[sheet->name_count++] =
        (struct rps_sheet_name){name, unit, (int)strlen(text), kind, how, meaning};
}
