/* The words of a simulation script that set system metrics. */
#include "sim_script.h"

#include <math.h>
#include <string.h>

#include "rpistat/text.h"

#define BIT(slot) (UINT32_C(1) << (slot))
#define SCHEDULED (BIT(RPS_TREE_RUNNING) | BIT(RPS_TREE_WAIT) | BIT(RPS_TREE_UNSEEN))

static int find_reason(const char *name)
{
    const struct rps_system_metric *reason = &rps_system_metrics[RPS_SYSTEM_TREE][RPS_TREE_IN_IO];

    for (int i = 0; i < SIM_REASONS; i++)
        if (strcmp(reason[i].name + strlen("in_"), name) == 0)
            return i;
    return -1;
}

/* Parse in=REASON[:COUNT],... */
static int set_reasons(struct sim_system *signals, char *text, struct rps_error *err)
{
    char *save = NULL;

    memset(signals->in, 0, sizeof(signals->in));
    signals->rest = -1;
    for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *colon = strchr(word, ':');
        uint64_t count = 0;
        int reason, rc;

        if (colon)
            *colon = '\0';
        if ((reason = find_reason(word)) < 0)
            return rps_error_set(
                err, RPS_USAGE, "'%.40s': expected io, lock, message, timer, child or other", word);
        if (colon && (rc = rps_parse_uint64("threads asleep", colon + 1, 0, SIM_THREADS_MAX, &count,
                                            err)) < 0)
            return rc;
        if (!colon && signals->rest >= 0)
            return rps_error_set(err, RPS_USAGE, "only one reason may be without a number");
        if (!colon)
            signals->rest = reason;
        signals->in[reason] += (uint32_t)count;
    }
    return 0;
}

/* Parse an energy per second such as "85J". *ret is in uJ. */
static int set_energy(const char *name, const char *text, uint64_t *ret, struct rps_error *err)
{
    size_t length = strlen(text);
    char number[32];
    double joules;

    if (length < 2 || length >= sizeof(number) || text[length - 1] != 'J')
        return rps_error_set(err, RPS_USAGE, "%s=%.40s: write it as 12.5J", name, text);
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    if (rps_parse_double(name, number, &joules, err) < 0)
        return RPS_USAGE;
    if (!(joules >= 0 && joules * 1e6 <= (double)SIM_PER_S_MAX))
        return rps_error_set(err, RPS_USAGE, "%s=%s: at most 16000J per second", name, text);
    *ret = (uint64_t)llround(joules * 1e6);
    return 0;
}

/* Parse the value of any other metric. The unit of the metric determines the format. */
static int set_amount(const struct rps_system_metric *signal, const char *text, uint64_t *ret,
                      struct rps_error *err)
{
    int64_t ns;
    int rc;

    if (strcmp(signal->unit, "us") == 0) {
        rc = rps_parse_duration_ns(signal->name, text, 0, (int64_t)SIM_PER_S_MAX, &ns, err);
        *ret = (uint64_t)ns;
        return rc;
    }
    if (strcmp(signal->unit, "uJ") == 0)
        return set_energy(signal->name, text, ret, err);
    if (strcmp(signal->unit, "KiB") != 0)
        return rps_parse_uint64(signal->name, text, 0, SIM_THREADS_MAX, ret, err);
    if ((rc = rps_parse_size(signal->name, text, ret, err)) < 0)
        return rc;
    if (signal->kind == RPS_SYSTEM_GAUGE)
        *ret /= 1024;
    else if (*ret > SIM_PER_S_MAX)
        return rps_error_set(err, RPS_USAGE, "%s=%s: at most 14G per second", signal->name, text);
    return 0;
}

int rps_sim_system_word(struct sim_system *signals, uint32_t named[RPS_SYSTEM_SOURCES],
                        const char *name, char *value, struct rps_error *err)
{
    uint32_t *const tree = &named[RPS_SYSTEM_TREE];
    uint64_t threads;
    int rc;

    if (strcmp(name, "wait") == 0 || strcmp(name, "seen") == 0) {
        *tree |= SCHEDULED | BIT(RPS_TREE_THREADS);
        rc = rps_sim_percent(name, value, SIM_PPM,
                             *name == 'w' ? &signals->wait_ppm : &signals->seen_ppm, err);
        return rc < 0 ? rc : 1;
    }
    if (strcmp(name, "in") == 0) {
        *tree |= BIT(RPS_TREE_THREADS) | BIT(RPS_TREE_IDLE) |
                 (BIT(RPS_TREE_IN_OTHER + 1) - BIT(RPS_TREE_IN_IO));
        rc = set_reasons(signals, value, err);
        return rc < 0 ? rc : 1;
    }
    if (strcmp(name, "threads") == 0) {
        *tree |= BIT(RPS_TREE_THREADS);
        rc = rps_parse_uint64(name, value, 1, SIM_THREADS_MAX, &threads, err);
        signals->threads = (uint32_t)threads;
        return rc < 0 ? rc : 1;
    }
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++)
        for (int s = source == RPS_SYSTEM_TREE ? RPS_TREE_UNSEEN : 0;
             s < rps_system_metric_count[source]; s++) {
            const struct rps_system_metric *signal = &rps_system_metrics[source][s];

            if (strcmp(signal->name, name) != 0 || strncmp(name, "in_", 3) == 0)
                continue;
            named[source] |= BIT(s);
            if (source == RPS_SYSTEM_PACKAGE)
                named[source] |= BIT(RPS_PACKAGE_COUNTERS);
            if (source == RPS_SYSTEM_TREE)
                *tree |= BIT(RPS_TREE_THREADS) | (s == RPS_TREE_UNSEEN ? SCHEDULED : 0);
            rc = set_amount(signal, value, &signals->amount[source][s], err);
            return rc < 0 ? rc : 1;
        }
    return 0;
}

int rps_sim_system_settle(struct sim_system *signals, int runs, struct rps_error *err)
{
    uint64_t asleep = signals->amount[RPS_SYSTEM_TREE][RPS_TREE_IDLE], least = runs ? 1 : 0;

    for (int i = 0; i < SIM_REASONS; i++)
        asleep += signals->in[i];
    if (signals->threads == SIM_THREADS_UNSET) {
        uint64_t all = asleep + least + (signals->rest >= 0);

        signals->threads = all > SIM_THREADS_MAX ? SIM_THREADS_MAX : all > 0 ? (uint32_t)all : 1;
    }
    if (asleep + least > signals->threads)
        return rps_error_set(err, RPS_USAGE, "there are %lu threads, so %lu cannot be asleep%s",
                             (unsigned long)signals->threads, (unsigned long)asleep,
                             runs ? ", because at least one runs" : "");
    if (signals->rest >= 0) {
        uint32_t rest = signals->threads - (uint32_t)(asleep + least);

        signals->in[signals->rest] += rest;
        asleep += rest;
    }
    signals->runners = runs ? signals->threads - (uint32_t)asleep : 0;
    if (signals->runners > SIM_RUNNERS_MAX)
        return rps_error_set(
            err, RPS_USAGE,
            "at most %u threads run at the same time; give the others a reason to sleep with in=",
            SIM_RUNNERS_MAX);
    return 0;
}
