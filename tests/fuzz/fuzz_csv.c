/* Fuzz tables of other programs, and phase detection in their columns. */
#include "fuzz.h"

#include <stdlib.h>

#include "import/import_parts.h"
#include "rpistat/joint.h"
#include "rpistat/csv_signals.h"
#include "rpistat/phase_output.h"
#include "rpistat/profile.h"

/* With more values, detection is too slow for a fuzzer. The CSV parser itself has no limit. */
#define VALUES_MAX 4000

static void detect(const struct rps_csv_signals *table)
{
    const struct rps_detect_options options = {.exact = table->signals.count % 2 == 1};
    const char **name = calloc(table->signals.signal_count, sizeof(*name));
    struct rps_detect_details details;
    struct rps_components components = {0};
    struct rps_profile profile = {0};
    struct rps_phases phases = {0};
    struct rps_phase_output output = {.title = "fuzz.csv",
                                      .unit = "row",
                                      .observations = table->signals.count,
                                      .method = "screened",
                                      .parameters = "{}",
                                      .signal_count = table->signals.signal_count,
                                      .signal = name,
                                      .phases = &phases,
                                      .fine = &phases,
                                      .profile = &profile,
                                      .component_signal = name};
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_signals even = rps_csv_signals_even(document.arena, &table->signals);
    struct rps_error err;

    fuzz_expect(name != NULL, "out of memory");
    for (size_t i = 0; i < table->signals.signal_count; i++)
        name[i] = table->name[i];
    if (rps_detect(document.arena, &even, &options, &phases, &details, &err) == 0) {
        profile =
            rps_profile_signals(document.arena, &table->signals, name, table->rows_per, &phases);
        if (rps_components_find(document.arena, &table->signals, 3, &components, &err) == 0)
            output.components = &components;
        rps_phase_document(&document, &output);
        for (int format = RPS_FORMAT_TEXT; format <= RPS_FORMAT_MARKDOWN + 1; format++)
            rps_document_write(&document, fuzz_sink(), format, 0);
    }
    rps_arena_free(document.arena);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rps_import_options options = {.skip_bad = size % 2};
    const struct rps_import_format *format;
    struct rps_import_builder *builder;
    struct rps_arena *arena;
    struct rps_csv_signals table;
    struct rps_error err = {""};
    FILE *in = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (!in)
        return 0;
    arena = rps_arena_new();
    builder = rps_import_open(in, "fuzz.csv", 1, NULL);
    if (rps_import_look(builder, &options, &format, &err) == 0 &&
        rps_import_take_signals(builder, arena, &options, &table, &err) == 0) {
        if (table.signals.count >= 4 &&
            table.signals.count * table.signals.signal_count <= VALUES_MAX)
            detect(&table);
    } else {
        fuzz_expect_sentence(&err);
    }
    rps_import_close(builder);
    rps_arena_free(arena);
    fclose(in);
    return 0;
}
