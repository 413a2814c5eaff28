/*
 * Verifying: a server may say that it took what it did not (VictoriaMetrics answers 204 to
 * garbage), and may lose what it took when it is killed. So the last values of some series are
 * asked for, and how many samples there are. It may be a while until they can be seen.
 */
#include "push_parts.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"

#define QUERY_PATH   "/api/v1/query"
#define SERIES_MAX   4
#define PAUSE_NS     (50 * RPS_NS_PER_MS) /* at first */
#define PAUSE_MAX_NS RPS_NS_PER_S

/* --- what to ask ------------------------------------------------------------------------------ */

static int is_of_events(const struct rps_push_series *of)
{
    return of->has_last && strcmp(of->series->metric, "rpistat_events_total") == 0;
}

/* Some series that have values, spread over all there are; of events, if there are any. */
static size_t choose(const struct rps_push_batch *batch, const struct rps_push_series **ret)
{
    size_t events = 0, all = 0, chosen = 0, at = 0;

    for (size_t i = 0; i < batch->series_count; i++) {
        events += (size_t)is_of_events(&batch->series[i]);
        all += (size_t)batch->series[i].has_last;
    }
    for (size_t i = 0; i < batch->series_count && chosen < SERIES_MAX; i++) {
        const struct rps_push_series *of = &batch->series[i];

        if (events > 0 ? !is_of_events(of) : !of->has_last)
            continue;
        if (at++ * SERIES_MAX >= chosen * (events > 0 ? events : all))
            ret[chosen++] = of;
    }
    return chosen;
}

/* What is secret on the way to the samples' URL would not be on the way to this one. */
static int is_disclosing(const struct rps_push_target *target, const struct rps_http_url *url)
{
    const struct rps_push_options *options = target->options;

    return (options->user || options->bearer || target->url.user) &&
           strncmp(target->url.request, "https:", 6) == 0 &&
           strncmp(url->request, "https:", 6) != 0;
}

int rps_push_find_query(struct rps_push_target *target, struct rps_error *err)
{
    struct rps_http_url *ret = &target->query;
    const char *given = target->options->query_url, *write = target->url.shown;
    size_t length = strlen(write), path = strlen(RPS_PUSH_PATH);
    char *text = NULL;
    int result = 0;

    if (given && !given[0])
        return 0;
    if (!given && (length < path || strcmp(write + length - path, RPS_PUSH_PATH) != 0))
        return 0;
    if (!given && asprintf(&text, "%.*s%s", (int)(length - path), write, QUERY_PATH) < 0)
        return rps_error_memory(err);
    result = rps_http_url_parse(target->http, given ? given : text, QUERY_PATH, ret, err);
    free(text);
    if (result == 0 && is_disclosing(target, ret))
        return rps_error_set(err, RPS_USAGE,
                             "name, password and token are sent to --query-url, too: it has to "
                             "begin with https:// as the other URL does");
    if (result == 0 && !ret->user && target->url.user && !(ret->user = strdup(target->url.user)))
        return rps_error_memory(err);
    return result;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct question {
    const char *function;                 /* of PromQL, over the window */
    const struct rps_time_series *series; /* or some of its labels */
    int64_t window_ms, time_ms;           /* the window's end */
    double least, most;                   /* answers that are right */
};

enum seen {
    SEEN_RIGHT,
    SEEN_WRONG, /* another value, or none */
    SEEN_NONE,  /* no answer to the question */
};

/* The value that an answer has: 1, 0 when it has none, -1 when it is none. */
static int read_value(const struct rps_http_answer *answer, double *ret)
{
    json_t *root = json_loadb(answer->text, answer->size, 0, NULL), *result;
    const char *text, *status = json_string_value(json_object_get(root, "status"));
    int found = -1;

    result = json_object_get(json_object_get(root, "data"), "result");
    if (answer->status == 200 && status && strcmp(status, "success") == 0 &&
        json_is_array(result)) {
        text = json_string_value(
            json_array_get(json_object_get(json_array_get(result, 0), "value"), 1));
        found = text != NULL;
        if (text)
            *ret = strtod(text, NULL);
    }
    json_decref(root);
    return found;
}

/* Ask once: 0, *ret and the value, 0 when there is none; 1 when `wait` ended it. VictoriaMetrics
 * keeps for ten seconds that a selector chooses nothing, so that each attempt has one of its own:
 * no series has this label. */
static int ask(struct rps_push_target *target, const struct rps_http_url *url,
               const struct question *question, int attempt, enum seen *ret, double *ret_value,
               struct rps_error *err)
{
    char *selector = rps_time_series_text(question->series), *query = NULL, time[48];
    int result, found;

    snprintf(time, sizeof(time), "time=%" PRId64 ".%03" PRId64, question->time_ms / 1000,
             question->time_ms % 1000);
    if (!selector ||
        asprintf(&query, "query=sum(%s(%.*s,attempt!=\"%d\"}[%" PRId64 "ms]))", question->function,
                 (int)strlen(selector) - 1, selector, attempt, question->window_ms) < 0) {
        free(selector);
        return rps_error_memory(err);
    }
    result = rps_http_get(target->http, url, (const char *[]){query, time, "nocache=1", NULL},
                          target->answer, err);
    if (result == 0) {
        *ret_value = 0;
        found = read_value(target->answer, ret_value);
        *ret = found < 0 ? SEEN_NONE : SEEN_WRONG;
        if (found > 0 && *ret_value >= question->least && *ret_value <= question->most)
            *ret = SEEN_RIGHT;
    }
    free(selector);
    free(query);
    return result;
}

/* Ask until the answer is right, or the time is over. A server that answers with something else has
 * no queries, unless it is in trouble. */
static int ask_until(struct rps_push_target *target, const struct rps_http_url *url,
                     const struct question *question, int64_t until_ns, enum seen *ret,
                     double *ret_value, struct rps_error *err)
{
    const struct rps_push_options *options = target->options;
    int64_t pause_ns = PAUSE_NS;
    int result, attempt = 0;

    while ((result = ask(target, url, question, attempt++, ret, ret_value, err)) == 0 &&
           *ret != SEEN_RIGHT) {
        int status = target->answer->status;
        int is_trouble =
            (status == 0 && !target->answer->way_out) || status == 429 || status >= 500;

        if ((*ret == SEEN_NONE && !is_trouble) || rps_clock_monotonic_ns() + pause_ns > until_ns)
            break;
        if (options->wait && options->wait(options->context, pause_ns))
            return 1;
        pause_ns = 2 * pause_ns < PAUSE_MAX_NS ? 2 * pause_ns : PAUSE_MAX_NS;
    }
    return result;
}

/* SEEN_NONE: also when there is nothing to ask for. */
static int ask_last(struct rps_push_target *target, const struct rps_http_url *url,
                    const struct rps_push_batch *batch, int64_t until_ns, enum seen *ret,
                    struct rps_error *err)
{
    const struct rps_push_series *of[SERIES_MAX];
    size_t count = choose(batch, of);
    int result = 0;
    double value;

    *ret = count > 0 ? SEEN_RIGHT : SEEN_NONE;
    for (size_t i = 0; i < count && result == 0 && *ret == SEEN_RIGHT; i++) {
        const struct question question = {
            .function = "last_over_time",
            .series = of[i]->series,
            .window_ms = 1000,
            .time_ms = of[i]->last.time_ms,
            .least = of[i]->last.value,
            .most = of[i]->last.value,
        };

        result = ask_until(target, url, &question, until_ns, ret, &value, err);
    }
    if (result == 0 && *ret == SEEN_WRONG)
        return rps_error_set(err, RPS_FAILED,
                             "%s took the samples, but does not have the last values: see to its "
                             "log and to the time it keeps samples for, and push with --again",
                             target->outcome->target);
    return result;
}

/* The label that all series of a run, and no others, have; NULL when nothing was put. */
static const struct rps_time_label *find_run(const struct rps_push_batch *batch)
{
    for (size_t i = 0; i < batch->series_count; i++) {
        const struct rps_time_series *series = batch->series[i].series;

        for (size_t l = 0; series && l < series->label_count; l++) {
            if (strcmp(series->label[l].name, "run") == 0)
                return &series->label[l];
        }
    }
    return NULL;
}

/* A server that was killed may have lost what it took before, while the last values are there. */
static int ask_count(struct rps_push_target *target, const struct rps_http_url *url,
                     const struct rps_push_batch *batch, int64_t start_ms, int64_t until_ns,
                     enum seen *ret, struct rps_error *err)
{
    const struct rps_time_label *run = find_run(batch);
    const struct rps_time_series all = {.metric = RPS_PUSH_COUNTED, .label_count = 1, .label = run};
    const struct question question = {
        .function = "count_over_time",
        .series = &all,
        .window_ms = batch->last_ms - start_ms + 1000,
        .time_ms = batch->last_ms,
        .least = (double)target->taken,
        .most = HUGE_VAL,
    };
    double value = 0;
    int result;

    if (!run || target->taken == 0)
        return 0;
    result = ask_until(target, url, &question, until_ns, ret, &value, err);
    if (result == 0 && *ret == SEEN_WRONG)
        return rps_error_set(err, RPS_FAILED,
                             "%s has %.0f of the %" PRId64 " samples of " RPS_PUSH_COUNTED
                             " that it took: some were lost, as when it is killed, or it keeps "
                             "fewer than are sent; push with --again, or with a longer --every",
                             target->outcome->target, value, target->taken);
    return result;
}

int rps_push_verify(struct rps_push_target *target, const struct rps_push_batch *batch,
                    int64_t start_ms, struct rps_error *err)
{
    int64_t until_ns = rps_clock_monotonic_ns() + target->options->timeout_ns;
    enum seen seen = SEEN_NONE;
    int result = 0;

    if (target->query.request)
        result = ask_last(target, &target->query, batch, until_ns, &seen, err);
    if (result == 0 && seen == SEEN_RIGHT)
        result = ask_count(target, &target->query, batch, start_ms, until_ns, &seen, err);
    target->outcome->verified = result == 0 && seen == SEEN_RIGHT;
    target->outcome->lost = seen == SEEN_WRONG;
    return result;
}
