/* Sending: which batches are sent again, which are left out, and which errors end the push. */
#include "push_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

#define PAUSE_MAX_NS (60 * RPS_NS_PER_S)
#define PAUSE_MIN    (10 * RPS_NS_PER_MS) /* first pause if the server sends a Retry-After of 0 */
#define REASON_SIZE  200

#define PATH "/api/v1/write" /* path of remote write, for a URL without a path */

static const char *const headers[] = {
    "Content-Type: application/x-protobuf",
    "Content-Encoding: snappy",
    "X-Prometheus-Remote-Write-Version: 0.1.0",
    NULL,
};

static const char not_here[] = "remote write is off there, or has another URL; for VictoriaMetrics "
                               "and Prometheus, write only http://HOST:PORT";

/* --- samples until they are sent, by series --------------------------------------------------- */

static struct rps_push_series *find_series(struct rps_push_batch *batch, size_t number)
{
    struct rps_push_series *grown;
    size_t more = number + 1 - batch->series_count;

    if (number < batch->series_count)
        return &batch->series[number];
    grown = rps_array_grow_by(batch->series, batch->series_count, more, sizeof(*grown));
    if (!grown)
        return NULL;
    memset(grown + batch->series_count, 0, more * sizeof(*grown));
    batch->series = grown;
    batch->series_count = number + 1;
    return &batch->series[number];
}

int rps_push_batch_put(void *context, const struct rps_time_series *series, int64_t time_ms,
                       double value, struct rps_error *err)
{
    struct rps_push_batch *batch = context;
    struct rps_push_series *of = find_series(batch, series->number);

    if (!of || !rps_array_add(&of->sample, of->count, sizeof(*of->sample)))
        return rps_error_memory(err);
    of->series = series;
    of->sample[of->count++] = (struct rps_remote_sample){time_ms, value};
    batch->count++;
    return 0;
}

int rps_push_batch_body(const struct rps_push_batch *batch, struct rps_protobuf *ret,
                        struct rps_error *err)
{
    struct rps_protobuf request = {0};
    int result;

    for (size_t i = 0; i < batch->series_count; i++) {
        const struct rps_push_series *of = &batch->series[i];

        if (of->count > 0)
            rps_remote_write_add(&request, of->series, of->sample, of->count);
    }
    result = rps_remote_write_body(&request, ret, err);
    rps_protobuf_free(&request);
    return result;
}

void rps_push_batch_clear(struct rps_push_batch *batch)
{
    for (size_t i = 0; i < batch->series_count; i++)
        batch->series[i].count = 0;
    batch->count = 0;
}

void rps_push_batch_free(struct rps_push_batch *batch)
{
    for (size_t i = 0; i < batch->series_count; i++)
        free(batch->series[i].sample);
    free(batch->series);
    *batch = (struct rps_push_batch){0};
}

/* --- opening ---------------------------------------------------------------------------------- */

int rps_push_target_open(struct rps_arena *arena, struct rps_push_target *ret,
                         const struct rps_push_options *options, struct rps_push_outcome *outcome,
                         struct rps_error *err)
{
    const struct rps_http_client_options http = {.user = options->user,
                                                 .bearer = options->bearer,
                                                 .ca_file = options->ca_file,
                                                 .timeout_ns = options->timeout_ns,
                                                 .wait = options->wait,
                                                 .context = options->context};
    size_t length, path = strlen(PATH);
    int result;

    *ret = (struct rps_push_target){.options = options,
                                    .outcome = outcome,
                                    .answer = rps_arena_get(arena, 1, sizeof(*ret->answer))};
    result = rps_http_open(arena, &ret->http, &http, err);

    if (result == 0)
        result = rps_http_url_parse(ret->http, options->url, PATH, &ret->url, err);
    if (result < 0)
        return result;
    rps_text_printable(outcome->target, sizeof(outcome->target), ret->url.shown);
    length = strlen(outcome->target);
    if (length > path && strcmp(outcome->target + length - path, PATH) == 0)
        outcome->target[length - path] = '\0';
    return 0;
}

int64_t rps_push_pause_ns(int attempts, int64_t retry_after_s)
{
    int64_t pause_ns = retry_after_s >= 0 ? PAUSE_MIN : RPS_NS_PER_S;

    for (int i = 1; i < attempts && pause_ns < PAUSE_MAX_NS; i++)
        pause_ns *= 2;
    if (retry_after_s > PAUSE_MAX_NS / RPS_NS_PER_S)
        return PAUSE_MAX_NS;
    if (pause_ns < retry_after_s * RPS_NS_PER_S)
        pause_ns = retry_after_s * RPS_NS_PER_S;
    return pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
}

/* --- messages --------------------------------------------------------------------------------- */

static void note(const struct rps_push_target *target, const char *sentence)
{
    if (target->options->note)
        target->options->note(target->options->context, sentence);
}

/* Return 1 if the text of the answer is a page for a browser. */
static int is_page(const struct rps_http_answer *answer)
{
    return answer->text[strspn(answer->text, " \t\r\n")] == '<';
}

/* Return the reason for a refusal: the status, and the first line of the answer's text. */
static const char *reason_of_refusal(const struct rps_http_answer *answer, char ret[REASON_SIZE])
{
    char line[REASON_SIZE], printable[REASON_SIZE - 32];

    snprintf(line, sizeof(line), "%.*s", is_page(answer) ? 0 : (int)strcspn(answer->text, "\r\n"),
             answer->text);
    rps_text_printable(printable, sizeof(printable), line);
    if (answer->status == 0)
        snprintf(ret, REASON_SIZE, "%s", printable);
    else
        snprintf(ret, REASON_SIZE, "status %d%s%s%s", answer->status, printable[0] ? " (" : "",
                 printable, printable[0] ? ")" : "");
    return ret;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Pause after a failed attempt. Returns 0 to try again, 1 if `wait` ended the pause, RPS_FAILED
 * after the time limit. */
static int wait_out(struct rps_push_target *target, int64_t took_ns, struct rps_error *err)
{
    const struct rps_push_options *options = target->options;
    int64_t pause_ns = rps_push_pause_ns(++target->attempts, target->answer->retry_after_s);
    char reason[REASON_SIZE], sentence[768], length[RPS_TEXT_NUMBER_SIZE];

    reason_of_refusal(target->answer, reason);
    target->trouble_ns += took_ns + pause_ns;
    if (options->give_up_ns > 0 && target->trouble_ns > options->give_up_ns)
        return rps_error_set(
            err, RPS_FAILED,
            "%s accepts no samples: %s; push again to continue with the samples that are left",
            target->outcome->target, reason);
    if (target->attempts == 1) {
        rps_text_duration(length, sizeof(length), options->give_up_ns);
        snprintf(sentence, sizeof(sentence), "%s accepts no samples: %s; trying again %s%s",
                 target->outcome->target, reason,
                 options->give_up_ns > 0 ? "for " : "until it does",
                 options->give_up_ns > 0 ? length : "");
        note(target, sentence);
    }
    return options->wait && options->wait(options->context, pause_ns) ? 1 : 0;
}

static void report_end_of_push(struct rps_push_target *target)
{
    char sentence[512], length[RPS_TEXT_NUMBER_SIZE];

    if (target->attempts > 0) {
        snprintf(sentence, sizeof(sentence), "%s takes samples again, after %s",
                 target->outcome->target,
                 rps_text_duration(length, sizeof(length), target->trouble_ns));
        note(target, sentence);
    }
    target->attempts = 0;
    target->trouble_ns = 0;
}

/* Leave out a refused batch. Only the first refused batch is reported. */
static void leave_out(struct rps_push_target *target, size_t samples)
{
    char reason[REASON_SIZE], sentence[768];

    if (target->outcome->skipped == 0) {
        snprintf(sentence, sizeof(sentence), "%s refuses %zu samples: %s; they are left out",
                 target->outcome->target, samples, reason_of_refusal(target->answer, reason));
        note(target, sentence);
    }
    target->outcome->skipped += samples;
}

/* Return the advice for an answer that another attempt would not change, otherwise NULL. */
static const char *way_out(const struct rps_push_target *target)
{
    const struct rps_http_answer *answer = target->answer;

    switch (answer->status) {
    case 0:
        return answer->way_out;
    case 400: /* messages of VictoriaMetrics, and of Go and nginx for a request without TLS */
        if (strstr(answer->text, "unsupported path requested"))
            return not_here;
        return strncmp(target->url.request, "http:", 5) == 0 && strstr(answer->text, " HTTPS ")
                   ? "the URL begins with https:// there"
                   : NULL;
    case 401:
    case 403:
    case 407:
        return "give name and password with --user-file, or a token with --bearer-file";
    case 404:
    case 405:
        return not_here;
    default:
        break;
    }
    if (answer->status >= 300 && answer->status < 400)
        return "redirections are not followed; write that URL or, if it is a login page, the URL "
               "of the database";
    if (answer->status >= 200 && answer->status < 300 && is_page(answer))
        return "that is a page for a browser; write the URL of the database";
    return NULL;
}

/* After an answer, return 1 to try again, 0 if the batch is finished, or RPS_FAILED. */
static int judge(struct rps_push_target *target, size_t samples, size_t size, struct rps_error *err)
{
    const struct rps_http_answer *answer = target->answer;
    const char *hint = way_out(target);
    char reason[REASON_SIZE];

    if (hint)
        return rps_error_set(err, RPS_FAILED, "%s accepts no samples: %s; %s",
                             target->outcome->target, reason_of_refusal(answer, reason), hint);
    if (answer->status == 0 || answer->status == 408 || answer->status == 429 ||
        answer->status >= 500)
        return 1;
    report_end_of_push(target);
    if (answer->status >= 400) {
        leave_out(target, samples);
        return 0;
    }
    target->outcome->samples += samples;
    target->outcome->bytes += size;
    return 0;
}

static int send_body(struct rps_push_target *target, const struct rps_protobuf *body,
                     size_t samples, struct rps_error *err)
{
    int result;

    do {
        int64_t start_ns = rps_clock_monotonic_ns();

        result = rps_http_post(target->http, &target->url, headers, body->data, body->size,
                               target->answer, err);
        if (result != 0)
            return result;
        result = judge(target, samples, body->size, err);
        if (result > 0 &&
            (result = wait_out(target, rps_clock_monotonic_ns() - start_ns, err)) == 0)
            continue;
        return result;
    } while (1);
}

int rps_push_send(struct rps_push_target *target, struct rps_push_batch *batch,
                  struct rps_error *err)
{
    struct rps_protobuf body = {0};
    int result;

    if (batch->count == 0)
        return 0;
    result = rps_push_batch_body(batch, &body, err);
    if (result == 0)
        result = send_body(target, &body, batch->count, err);
    rps_protobuf_free(&body);
    if (result == 0)
        rps_push_batch_clear(batch);
    return result;
}
