/* Limits of a comparison: --fail-if. */
#include <math.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "rpistat/parse.h"
#include "rpistat/suggestion.h"

int rps_compare_limit_parse(const char *text, struct rps_comparison_limit *ret,
                            struct rps_error *err)
{
    size_t length = strcspn(text, "<>"), end = strlen(text);
    struct rps_comparison_limit limit = {.text = text, .is_above = text[length] == '>'};
    char number[32] = "";

    if (length < end && text[end - 1] == '%' && end - length - 2 < sizeof(number))
        snprintf(number, sizeof(number), "%.*s", (int)(end - length - 2), text + length + 1);
    if (length == 0 || length >= sizeof(limit.name) || !strchr("+-", number[0]) ||
        number[1] < '0' || number[1] > '9' ||
        rps_parse_double("--fail-if", number + 1, &limit.change, NULL) < 0)
        return rps_error_set(err, RPS_USAGE,
                             "--fail-if '%s': write the metric, > or < and a signed percentage, as "
                             "in 'cpi>+3%%', 'elapsed>-10%%' (10 %% less is required) or, for a "
                             "phase, 'C:cpi>+3%%'",
                             text);
    snprintf(limit.name, sizeof(limit.name), "%.*s", (int)length, text);
    limit.change /= number[0] == '+' ? 100 : -100;
    *ret = limit;
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int no_figure(const struct rps_comparison *comparison,
                     const struct rps_comparison_limit *limit, const char *name,
                     struct rps_error *err)
{
    struct rps_suggestion suggestion = {.typed = name};
    const char *known = "";
    char question[256];

    for (size_t i = 0; i < comparison->figure_count; i++) {
        rps_suggestion_consider(&suggestion, comparison->figure[i].name);
        known = rps_arena_print(comparison->arena, "%s%s%s", known, i > 0 ? ", " : "",
                                comparison->figure[i].name);
    }
    return rps_error_set(
        err, RPS_USAGE, "--fail-if '%s': no figure '%s' is on both sides; %sthere are %s",
        limit->text, name, rps_suggestion_question(&suggestion, question, sizeof(question)), known);
}

static int no_phase(const struct rps_comparison *comparison,
                    const struct rps_comparison_limit *limit, int length, struct rps_error *err)
{
    char last[RPS_PHASE_LABEL_SIZE];

    if (comparison->row_count < 2)
        return rps_error_set(err, RPS_USAGE, "--fail-if '%s': there are no phases to compare",
                             limit->text);
    return rps_error_set(err, RPS_USAGE, "--fail-if '%s': there is no phase '%.*s'; the last is %s",
                         limit->text, length, limit->name,
                         rps_phase_label(comparison->row[comparison->row_count - 1].label, last));
}

/* Find the metric, and the row if a phase precedes it. Names of events may have colons too. */
static int find_figure(const struct rps_comparison *comparison, struct rps_comparison_limit *limit,
                       struct rps_error *err)
{
    const char *name = limit->name, *colon = strchr(name, ':');
    char phase[RPS_NAME_SIZE];
    int figure = rps_comparison_figure(comparison, name), label;

    limit->row = 0;
    if (figure < 0 && colon) {
        snprintf(phase, sizeof(phase), "%.*s", (int)(colon - name), name);
        label = rps_phase_label_parse(phase);
        for (size_t r = 1; r < comparison->row_count && label >= 0; r++) {
            if (comparison->row[r].label == label)
                limit->row = r;
        }
        figure = rps_comparison_figure(comparison, colon + 1);
        if (limit->row == 0 && figure >= 0)
            return no_phase(comparison, limit, (int)(colon - name), err);
        name = limit->row > 0 ? colon + 1 : name;
    }
    if (figure < 0)
        return no_figure(comparison, limit, name, err);
    limit->figure = (size_t)figure;
    return 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

int rps_compare_limits_check(const struct rps_comparison *comparison,
                             struct rps_comparison_limit *limit, size_t count,
                             struct rps_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct rps_change *change;

        if (find_figure(comparison, &limit[i], err) < 0)
            return RPS_USAGE;
        change = &comparison->row[limit[i].row].change[limit[i].figure];
        if (change->why == RPS_CHANGE_ABSENT)
            return rps_error_set(err, RPS_FAILED,
                                 "--fail-if '%s' can never be decided: %s has no value of it",
                                 limit[i].text, comparison->name[!isnan(change->a)]);
        limit[i].answer = rps_change_judge(change, limit[i].change, limit[i].is_above);
    }
    return 0;
}

enum rps_change_answer rps_compare_limits_answer(const struct rps_comparison *comparison,
                                                 const struct rps_comparison_limit *limit,
                                                 size_t count, int is_told)
{
    size_t of[RPS_CHANGE_UNDECIDED + 1] = {0};

    for (size_t i = 0; i < count; i++) {
        of[limit[i].answer]++;
        if (limit[i].answer != RPS_CHANGE_HOLDS && !is_told)
            rps_output_message(rps_comparison_limit_text(comparison, &limit[i]));
    }
    return of[RPS_CHANGE_FAILS] > 0       ? RPS_CHANGE_FAILS
           : of[RPS_CHANGE_UNDECIDED] > 0 ? RPS_CHANGE_UNDECIDED
                                          : RPS_CHANGE_HOLDS;
}
