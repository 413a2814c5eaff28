/* `rpistat runs --sort`: runs in the order of one of their columns. */
#include <stdlib.h>
#include <string.h>

#include "runs_edit.h"

/* The numbers of RPS_RUNS_COLUMNS. */
enum { BY_RUN, BY_LABEL, BY_START, BY_STATE, BY_ELAPSED, BY_PERIODS, BY_HOST, BY_COMMAND };

/* What a run is sorted by: the number, then the text. */
struct key {
    int64_t run_id;
    int sign; /* -1: the largest first */
    int64_t number;
    char *text; /* owned */
};

int rps_runs_sort_parse(const char *option, const char *text, void *ret, struct rps_error *err)
{
    int is_descending = text[0] == '-';
    int column = rps_options_word(RPS_RUNS_COLUMNS, text + is_descending);

    if (column < 0)
        return rps_error_set(err, RPS_USAGE, "%s: '%s' is none of the columns %s", option, text,
                             RPS_RUNS_COLUMNS);
    *(struct rps_runs_order *)ret = (struct rps_runs_order){column, is_descending};
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *one = a, *other = b;
    int by = (one->number > other->number) - (one->number < other->number);

    if (by == 0)
        by = strcmp(one->text, other->text);
    if (by != 0)
        return one->sign * by;
    return (one->run_id > other->run_id) - (one->run_id < other->run_id);
}

static int make_key(struct rps_cli *cli, int64_t run_id, struct key *ret)
{
    const struct rps_runs_settings *settings = cli->settings;
    struct rps_run_summary summary;
    struct rps_run run;
    char title[256];
    const char *text = "";
    int result;

    rps_run_init(&run);
    result = rps_reader_run(cli->reader, run_id, &run, &cli->err);
    *ret = (struct key){.run_id = run_id, .sign = settings->sort.is_descending ? -1 : 1};
    switch (settings->sort.column) {
    case BY_RUN:
        ret->number = run_id;
        break;
    case BY_LABEL:
        text = run.label;
        break;
    case BY_START:
        ret->number = run.start_realtime_ns;
        break;
    case BY_STATE:
        text = rps_run_states[run.state];
        break;
    case BY_ELAPSED:
        ret->number = run.elapsed_ns;
        break;
    case BY_PERIODS:
        if (result == 0)
            result = rps_reader_summary(cli->reader, run_id, &summary, &cli->err);
        ret->number = result == 0 ? (int64_t)summary.periods : 0;
        break;
    case BY_HOST:
        text = run.host;
        break;
    default:
        text = rps_run_title(title, sizeof(title), &run);
    }
    ret->text = strdup(text);
    if (result == 0 && ret->text == NULL)
        result = rps_error_memory(&cli->err);
    rps_run_free(&run);
    return result;
}

int rps_runs_sort(struct rps_cli *cli, int64_t *run_id, size_t count)
{
    const struct rps_runs_settings *settings = cli->settings;
    struct key *key;
    int result = 0;

    if (settings->sort.column == BY_RUN && !settings->sort.is_descending)
        return 0; /* they come so */
    key = calloc(count + 1, sizeof(*key));
    if (key == NULL)
        return rps_error_memory(&cli->err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = make_key(cli, run_id[i], &key[i]);
    if (result == 0)
        qsort(key, count, sizeof(*key), compare_keys);
    for (size_t i = 0; i < count; i++) {
        run_id[i] = result == 0 ? key[i].run_id : run_id[i];
        free(key[i].text);
    }
    free(key);
    return result;
}
