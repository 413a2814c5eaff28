/* The option --cpu: selects CPUs of a recording by CPU, and whether to add up these CPUs. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"

static const struct {
    const char *word;
    enum rps_cpus_way way;
} ways[] = {{"each", RPS_CPUS_EACH}, {"sum", RPS_CPUS_SUM}};

int rps_cpus_parse(struct rps_arena *arena, const char *text, struct rps_cpus *ret,
                   struct rps_error *err)
{
    struct rps_cpus cpus = {.way = RPS_CPUS_CHOSEN};
    int *list = NULL, *kept, rc;

    for (size_t i = 0; i < RPS_COUNT(ways); i++) {
        size_t length = strlen(ways[i].word);

        if (strncmp(text, ways[i].word, length) != 0 || !strchr(",", text[length]))
            continue;
        cpus.way = ways[i].way;
        text += length + (text[length] == ',');
        if (text[-1] != ',') { /* no list of CPUs follows */
            *ret = cpus;
            return 0;
        }
        break;
    }
    rc = rps_parse_cpus("--cpu", text, &list, &cpus.count, err);
    if (rc < 0)
        return cpus.way != RPS_CPUS_CHOSEN || rc != RPS_USAGE
                   ? rc
                   : rps_error_set(err, rc,
                                   "--cpu: '%s' is not a choice of CPUs; write 'each', 'sum', or a "
                                   "list such as '0-3,8'",
                                   text);
    kept = rps_arena_get(arena, (size_t)cpus.count, sizeof(*kept));
    cpus.cpu = memcpy(kept, list, (size_t)cpus.count * sizeof(*kept));
    free(list);
    *ret = cpus;
    return 0;
}

int rps_cpus_check(const char *option, const char *text, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_cpus cpus;
    int rc = rps_cpus_parse(arena, text, &cpus, err);

    (void)option;
    rps_arena_free(arena);
    return rc;
}
