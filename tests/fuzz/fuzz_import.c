/* Files of other tools and our own exports, as all formats read them, up to the store. */
#include "fuzz.h"

#include <stdio.h>

#include "exchange/import_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rps_import_options options = {.start_realtime_ns = -1};
    const struct rps_import_format *format = NULL;
    struct rps_import_builder *builder;
    struct rps_error err = {""};
    FILE *in = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (!in)
        return 0;
    builder = rps_import_open(in, "fuzz.csv", NULL);
    fuzz_expect(builder != NULL, "out of memory");
    if (rps_import_look(builder, &options, &format, &err) < 0)
        fuzz_expect_sentence(&err);
    else
        fuzz_expect(builder->periods > 0 && builder->plan->set_count > 0, "a run of nothing");
    rps_import_close(builder);
    fclose(in);
    return 0;
}
