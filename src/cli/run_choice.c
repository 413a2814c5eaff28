/* The run that is meant where none is named. */
#include "run_choice.h"

#include <stdlib.h>

int rps_run_choice(struct rps_cli *cli, int64_t *ret_run_id)
{
    int64_t *run_id = NULL;
    size_t count = 0;
    int found = 0, result = rps_reader_find(cli->reader, cli->run_text, ret_run_id, &cli->err);

    if (result < 0 || cli->run_text != NULL)
        return result;
    result = rps_reader_runs(cli->reader, &run_id, &count, &cli->err);
    while (result == 0 && count > 0 && !found) {
        struct rps_run run;

        result = rps_reader_run(cli->reader, run_id[--count], &run, &cli->err);
        if (result == 0) {
            found = run.state == RPS_RUN_RECORDING;
            *ret_run_id = found ? run_id[count] : *ret_run_id;
            rps_run_free(&run);
        }
    }
    free(run_id);
    return result;
}
