/* Lists of CPUs, and the option --cpu: which CPUs of a recording by CPU, and whether they are added
 * up. */
#include "cpus.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/parse.h"

#define CPU_MAX 65535

/* The numbers of one item, "8" or "0-3". */
static int parse_item(const char *what, char *item, uint64_t *ret_first, uint64_t *ret_last,
                      struct rps_error *err)
{
    char *dash = strchr(item, '-');
    int rc;

    if (dash)
        *dash = '\0';
    if ((rc = rps_parse_uint64(what, item, 0, CPU_MAX, ret_first, err)) < 0)
        return rc;
    *ret_last = *ret_first;
    if (dash && (rc = rps_parse_uint64(what, dash + 1, 0, CPU_MAX, ret_last, err)) < 0)
        return rc;
    if (*ret_last < *ret_first)
        return rps_error_set(err, RPS_USAGE, "%s: CPUs %s-%s go backwards; write %s-%s", what, item,
                             dash + 1, dash + 1, item);
    return 0;
}

int rps_cpus_parse_list(const char *what, const char *text, int **ret, int *ret_count,
                        struct rps_error *err)
{
    char *copy = strdup(text), *rest = copy, *item;
    int *list = malloc((CPU_MAX + 1) * sizeof(*list)), count = 0;
    int rc = copy && list ? 0 : rps_error_memory(err);
    uint8_t known[CPU_MAX + 1] = {0};

    while (rc == 0 && (item = strsep(&rest, ","))) {
        uint64_t first = 0, last = 0;

        rc = parse_item(what, item, &first, &last, err);
        for (uint64_t cpu = first; rc == 0 && cpu <= last; cpu++) {
            if (!known[cpu])
                list[count++] = (int)cpu;
            known[cpu] = 1;
        }
    }
    free(copy);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *ret = list;
    *ret_count = count;
    return 0;
}

static const struct {
    const char *word;
    enum rps_cpus_way way;
} ways[] = {{"each", RPS_CPUS_EACH}, {"sum", RPS_CPUS_SUM}};

int rps_cpus_parse(const char *text, struct rps_cpus *ret, int **ret_list, struct rps_error *err)
{
    struct rps_cpus cpus = {.way = RPS_CPUS_CHOSEN};
    int *list = NULL, rc;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        size_t length = strlen(ways[i].word);

        if (strncmp(text, ways[i].word, length) != 0 || !strchr(",", text[length]))
            continue;
        cpus.way = ways[i].way;
        text += length + (text[length] == ',');
        if (text[-1] != ',') { /* no list behind it */
            *ret = cpus;
            *ret_list = NULL;
            return 0;
        }
        break;
    }
    rc = rps_cpus_parse_list("--cpu", text, &list, &cpus.count, err);
    if (rc < 0)
        return cpus.way != RPS_CPUS_CHOSEN || rc != RPS_USAGE
                   ? rc
                   : rps_error_set(err, rc,
                                   "--cpu: '%s' is neither each nor sum nor a list of CPUs as in "
                                   "0-3,8",
                                   text);
    cpus.cpu = list;
    *ret = cpus;
    *ret_list = list;
    return 0;
}

int rps_cpus_check(const char *option, const char *text, struct rps_error *err)
{
    struct rps_cpus cpus;
    int *list = NULL;
    int rc = rps_cpus_parse(text, &cpus, &list, err);

    (void)option;
    free(list);
    return rc;
}
