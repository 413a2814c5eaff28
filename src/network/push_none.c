/* Pushing in a build without the headers of libcurl and snappy. This file replaces push.c. */
#include <stddef.h>

#include "rpistat/push.h"

int rps_push_open(struct rps_push **ret, struct rps_reader **reader, int64_t run_id,
                  const struct rps_push_options *options, struct rps_error *err)
{
    (void)ret, (void)reader, (void)run_id, (void)options;
    return rps_error_set(err, RPS_FAILED,
                         "this rpistat was built without push; rebuild it with libcurl and snappy "
                         "(Debian: libcurl4-openssl-dev, libsnappy-dev)");
}

int rps_push_look(struct rps_push *push, struct rps_error *err)
{
    (void)push, (void)err;
    return 0;
}

const struct rps_push_outcome *rps_push_outcome(const struct rps_push *push)
{
    (void)push;
    return NULL;
}

void rps_push_close(struct rps_push *push)
{
    (void)push;
}
