/* --cpu of a reading command: selects CPUs of the run, with a note if there are none to select. */
#include "cli.h"
#include "cpus.h"
#include "rpistat/store.h"

#include <stdlib.h>
#include <string.h>

int rps_cpus_choose(struct rps_cli *cli, const char *text, struct rps_cpus *ret)
{
    int *list = NULL, *kept, rc = text ? rps_cpus_parse(text, ret, &list, &cli->err) : 0;
    struct rps_run run;

    if (rc == 0 && list) {
        kept = rps_arena_get(cli->arena, (size_t)ret->count, sizeof(*kept));
        ret->cpu = memcpy(kept, list, (size_t)ret->count * sizeof(*kept));
        free(list);
    }
    if (rc < 0 || !text || ret->way != RPS_CPUS_EACH || ret->count > 0 || !cli->reader ||
        rps_reader_run(cli->reader, cli->run_id, &run, NULL) < 0)
        return rc;
    if (!rps_run_is_of_machine(run.target))
        snprintf(cli->note, sizeof(cli->note),
                 "run %lld counted its workload as a whole, not by CPU, and --cpu each shows that; "
                 "'rpistat record -a' counts by CPU",
                 (long long)cli->run_id);
    rps_run_free(&run);
    return 0;
}
