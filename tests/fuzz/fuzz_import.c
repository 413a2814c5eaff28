/* Fuzz files of other tools in all import formats. An imported run must be valid. */
#include "fuzz.h"

#include <stdio.h>
#include <unistd.h>

#include "import/import_parts.h"
#include "rpistat/check.h"
#include "rpistat/plan.h"

static void tell(void *context, enum rps_finding_kind kind, const char *sentence)
{
    (void)context;
    if (kind == RPS_FINDING_WRONG)
        fprintf(stderr, "fuzz: %s\n", sentence);
}

/* Import into a store, and then run `check` on the store. */
static void import(const char *path, const struct rps_import_options *options)
{
    static const char *const companions[] = {"import.data", "import.data-wal", "import.data-shm"};
    const struct rps_finding_sink sink = {NULL, tell};
    struct rps_import_outcome outcome;
    struct rps_check_result found;
    struct rps_error err = {""};

    if (rps_import_file(path, fuzz_path(companions[0]), options, &outcome, &err) < 0) {
        fuzz_expect_sentence(&err);
        return;
    }
    fuzz_expect(rps_store_check(fuzz_path(companions[0]), &sink, &found, &err) == 0, err.message);
    fuzz_expect(found.wrong == 0, "what was imported is not sound");
    for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++)
        unlink(fuzz_path(companions[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rps_import_options options = {.start_realtime_ns = -1};
    const struct rps_import_format *format = NULL;
    struct rps_import_builder *builder;
    struct rps_error err = {""};
    FILE *in = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (!in)
        return 0;
    builder = rps_import_open(in, "fuzz.csv", 0, NULL);
    if (rps_import_look(builder, &options, &format, &err) < 0)
        fuzz_expect_sentence(&err);
    else
        fuzz_expect(builder->periods > 0 && builder->plan->set_count > 0, "a run of nothing");
    rps_import_close(builder);
    fclose(in);
    if (!err.message[0])
        import(fuzz_file("fuzz.csv", data, size), &options);
    return 0;
}
