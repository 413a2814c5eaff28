/* Groups of runs, as they are named on a command line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "rpistat/parse.h"
#include "rpistat/suggestion.h"
#include "rpistat/text.h"

#define LABEL "label:"

/* The runs of a store, and which are chosen. */
struct catalogue {
    struct rps_reader *reader;
    const char *store;
    size_t count;
    int64_t *run_id;
    struct rps_run *run;
    char *chosen;
};

static void catalogue_free(struct catalogue *c)
{
    for (size_t i = 0; c->run && i < c->count; i++)
        rps_run_free(&c->run[i]);
    free(c->run);
    free(c->run_id);
    free(c->chosen);
}

static int read_catalogue(struct catalogue *c, struct rps_error *err)
{
    int result = rps_reader_runs(c->reader, &c->run_id, &c->count, err);

    if (result < 0)
        return result;
    c->run = calloc(c->count + 1, sizeof(*c->run));
    c->chosen = calloc(c->count + 1, 1);
    if (!c->run || !c->chosen)
        return rps_error_memory(err);
    for (size_t i = 0; i < c->count; i++)
        rps_run_init(&c->run[i]);
    for (size_t i = 0; i < c->count && result == 0; i++)
        result = rps_reader_run(c->reader, c->run_id[i], &c->run[i], err);
    return result;
}

/* How many of the runs first ... last there are, which are chosen now. */
static size_t choose_range(struct catalogue *c, uint64_t first, uint64_t last)
{
    size_t found = 0;

    for (size_t i = 0; i < c->count; i++) {
        int is_in = (uint64_t)c->run_id[i] >= first && (uint64_t)c->run_id[i] <= last;

        c->chosen[i] |= (char)is_in;
        found += (size_t)is_in;
    }
    return found;
}

static size_t choose_label(struct catalogue *c, const char *label)
{
    size_t found = 0;

    for (size_t i = 0; i < c->count; i++) {
        int has = label[0] != '\0' && strcmp(c->run[i].label, label) == 0;

        c->chosen[i] |= (char)has;
        found += (size_t)has;
    }
    return found;
}

static size_t choose_tag(struct catalogue *c, const char *tag)
{
    size_t found = 0;

    for (size_t i = 0; i < c->count; i++) {
        int has = rps_tag_is(&c->run[i], tag);

        c->chosen[i] |= (char)has;
        found += (size_t)has;
    }
    return found;
}

/* "did you mean main? ", of labels and tags. */
static char *near_names(const struct catalogue *c, const char *typed, char *ret, size_t size)
{
    struct rps_suggestion suggestion = {.typed = typed};
    char text[2 * RPS_SUGGESTION_SIZE + 2]; /* longer ones are not considered */

    for (size_t i = 0; i < c->count; i++) {
        if (c->run[i].label[0] != '\0')
            rps_suggestion_consider(&suggestion, c->run[i].label);
        for (int t = 0; t < c->run[i].tag_count; t++) {
            snprintf(text, sizeof(text), "%.*s=%.*s", RPS_SUGGESTION_SIZE, c->run[i].tag[t].key,
                     RPS_SUGGESTION_SIZE, c->run[i].tag[t].value);
            rps_suggestion_consider(&suggestion, text);
        }
    }
    return rps_suggestion_question(&suggestion, ret, size);
}

/* Nothing has this name: what is near, or what rps_reader_find said there is. */
static int none(const struct catalogue *c, const char *text, struct rps_error *err)
{
    int is_label = strncmp(text, LABEL, strlen(LABEL)) == 0;
    char question[256], printable[128];

    if (strspn(text, "0123456789-") == strlen(text)) /* a number was meant, not a name like it */
        return RPS_FAILED;
    near_names(c, is_label ? text + strlen(LABEL) : text, question, sizeof(question));
    if (!is_label && question[0] == '\0')
        return RPS_FAILED;
    return rps_error_set(err, RPS_FAILED,
                         "%s: no run of %s has this %s; %s`rpistat runs` lists them",
                         rps_text_printable(printable, sizeof(printable), text), c->store,
                         is_label ? "label" : "label or tag", question);
}

/* 1 and the numbers of "1-5". */
static int is_range(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    size_t length = strspn(text, "0123456789");
    char first[24];

    if (length == 0 || length >= sizeof(first) || text[length] != '-' || text[length + 1] < '0' ||
        text[length + 1] > '9')
        return 0;
    snprintf(first, sizeof(first), "%.*s", (int)length, text);
    return rps_parse_uint64("run", first, 0, INT64_MAX, ret_first, NULL) == 0 &&
           rps_parse_uint64("run", text + length + 1, 0, INT64_MAX, ret_last, NULL) == 0;
}

static int choose_item(struct catalogue *c, const char *text, struct rps_error *err)
{
    uint64_t first = 0, last = 0;
    int64_t run_id = 0;

    if (text[0] == '\0')
        return rps_error_set(err, RPS_USAGE, "the name of a group of runs is empty");
    if (strncmp(text, LABEL, strlen(LABEL)) == 0)
        return choose_label(c, text + strlen(LABEL)) > 0 ? 0 : none(c, text, err);
    if (strspn(text, "0123456789") == strlen(text) &&
        rps_parse_uint64("run", text, 0, INT64_MAX, &first, NULL) == 0 &&
        choose_range(c, first, first) > 0)
        return 0;
    if (choose_label(c, text) > 0 || choose_tag(c, text) > 0)
        return 0;
    if (is_range(text, &first, &last)) {
        if (first > last)
            return rps_error_set(err, RPS_USAGE, "runs %s go backwards; write %" PRIu64 "-%" PRIu64,
                                 text, last, first);
        if (choose_range(c, first, last) > 0)
            return 0;
    }
    if (rps_reader_find(c->reader, text, &run_id, err) < 0)
        return none(c, text, err);
    choose_range(c, (uint64_t)run_id, (uint64_t)run_id);
    return 0;
}

/* A label may have commas itself. */
static int choose_items(struct catalogue *c, const char *text, struct rps_error *err)
{
    char *copy, *rest, *item;
    int result = 0;

    if (!strchr(text, ',') || choose_label(c, text) > 0 || choose_tag(c, text) > 0)
        return choose_item(c, text, err);
    copy = rest = strdup(text);
    if (!copy)
        return rps_error_memory(err);
    while (result == 0 && (item = strsep(&rest, ",")))
        result = choose_item(c, item, err);
    free(copy);
    return result;
}

int rps_compare_choose(struct rps_reader *reader, const char *store, const char *text,
                       struct rps_compare_group *ret, struct rps_error *err)
{
    struct catalogue c = {.reader = reader, .store = store};
    int result = read_catalogue(&c, err);

    if (result == 0)
        result = choose_items(&c, text, err);
    if (result == 0) {
        *ret = (struct rps_compare_group){.run_id = c.run_id};
        for (size_t i = 0; i < c.count; i++) {
            if (c.chosen[i])
                ret->run_id[ret->count++] = c.run_id[i];
        }
        c.run_id = NULL;
    }
    catalogue_free(&c);
    return result;
}

void rps_compare_leave_out(struct rps_compare_group *group, const struct rps_compare_group *other)
{
    size_t kept = 0;

    for (size_t i = 0, k = 0; i < group->count; i++) {
        while (k < other->count && other->run_id[k] < group->run_id[i])
            k++;
        if (k == other->count || other->run_id[k] != group->run_id[i])
            group->run_id[kept++] = group->run_id[i];
    }
    group->count = kept;
}
