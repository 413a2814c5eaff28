/* Bursts and outliers in the document of detected phases. Outliers differ from their neighbours. */
#include "parts.h"

#include <inttypes.h>

#define OUTLIERS_MAX 10 /* maximum number of listed ranges; further ranges are only counted */
#define MANY_PERCENT 10 /* percentage of all observations that is too many to list */

/* Format a range of observations, "00:03.2-00:03.5" or "00:03.2", or of rows, "32-35" or "32". */
static char *stretch_text(struct rps_document *document, const struct rps_phase_output *output,
                          uint64_t first, uint64_t last)
{
    const struct rps_phases *phases = output->phases;
    const char *ends[2] = {"", ""};
    int is_one = last == first || (output->block == 0 && last - first <= phases->wide);

    for (int i = 0; i < 2 - is_one; i++)
        ends[i] =
            output->run
                ? rps_document_clock(document, rps_phases_time(phases, i == 0 ? first : last + 1))
                : rps_arena_print(document->arena, "%" PRIu64, i == 0 ? first : last);
    return rps_arena_print(document->arena, "%s%s%s", ends[0], is_one ? "" : "-", ends[1]);
}

/* Put a row if there are bursts. In the text, put a sentence. */
static void add_bursts(struct rps_document *document, const struct rps_run_bursts *of,
                       int in_blocks)
{
    static const struct rps_column columns[] = {
        {"occurrences", .kind = RPS_VALUE_INT},
        {"length_s", .kind = RPS_VALUE_DURATION},
        {"every_s", .kind = RPS_VALUE_DURATION},
        {.name = "words"},
    };
    struct rps_block *block = rps_document_block(document, "bursts", columns, 4);

    if (!of || of->bursts.count == 0)
        return;
    rps_put_int(block, (int64_t)of->bursts.count, 1);
    rps_put_int(block, of->length_ns, 1);
    rps_put_int(block, of->every_ns, 1);
    rps_put_text(block, of->words);
    rps_document_print(document, "%zu bursts of %s%s, every %s, from %s to %s%s%s.",
                       of->bursts.count, in_blocks ? "at most " : "",
                       rps_document_duration(document, of->length_ns),
                       rps_document_duration(document, of->every_ns),
                       rps_document_clock(document, of->start_ns[0]),
                       rps_document_clock(document, of->start_ns[of->bursts.count - 1]),
                       of->words[0] ? ": " : "", of->words);
}

/* Return 1 if an outlier is part of a burst. Call the function for the outliers in order of time.
 * Set *at to 0 before the first call. */
static int is_of_burst(const struct rps_run_bursts *of, uint64_t outlier, size_t *at)
{
    if (!of)
        return 0;
    while (*at < of->bursts.count && of->bursts.last[*at] < outlier)
        ++*at;
    return *at < of->bursts.count && of->bursts.first[*at] <= outlier;
}

/* Return 1 if an outlier is the first or last observation of a phase. Such an observation can
 * contain a part of the neighbouring phase. Set *at to 0 before the first call. */
static int is_edge(const struct rps_phases *fine, uint64_t outlier, uint64_t wide, size_t *at)
{
    size_t p = rps_phases_at(fine, outlier, at);

    return p != SIZE_MAX &&
           (outlier == fine->phase[p].first || outlier + wide >= fine->phase[p].last);
}

/* Store in ret the outliers that are part of a burst, and the outliers that are not at a phase
 * boundary. Return their number. */
static size_t listed_outliers(const struct rps_phase_output *output, uint64_t *ret)
{
    const struct rps_phases *phases = output->phases;
    size_t burst = 0, phase = 0, count = 0;

    for (size_t i = 0; i < phases->outlier_count; i++) {
        if (is_of_burst(output->bursts, phases->outlier[i], &burst) ||
            !is_edge(output->fine, phases->outlier[i], phases->wide, &phase))
            ret[count++] = phases->outlier[i];
    }
    return count;
}

/* Put the sentence on outliers outside bursts. `alone` is the number of these outliers. `text`
 * lists the first ranges of these outliers. If there are many, the sentence lists no ranges. */
static void report_outliers(struct rps_document *document, const struct rps_phase_output *output,
                            size_t alone, size_t stretches, const char *text)
{
    const char *unit = output->block > 0 ? "block" : output->unit, *more = "";
    const char *words = output->bursts ? output->bursts->outlier_words : "";
    double percent = 100 * (double)alone / (double)output->observations;
    int are_many = stretches > OUTLIERS_MAX && percent >= MANY_PERCENT;

    if (are_many)
        rps_document_print(document,
                           "%.0f %% of the %ss are outliers, unlike the %ss around them "
                           "(--format json lists them).",
                           percent, unit, unit);
    if (stretches > OUTLIERS_MAX)
        more = rps_arena_print(document->arena, ", %zu more (--format json)",
                               stretches - OUTLIERS_MAX);
    if (alone > 0 && !are_many)
        rps_document_print(document, "%zu outlier%s (%s%s%s unlike those around %s): %s%s.", alone,
                           alone == 1 ? "" : "s", alone == 1 ? "a " : "", unit,
                           alone == 1 ? "" : "s", alone == 1 ? "it" : "them", text, more);
    if (alone > 0 && words[0])
        rps_document_print(document, "  Outliers compared with the other periods: %s", words);
}

/* Put one row per range of outliers. In the text, put a sentence on the outliers outside bursts. */
static void add_outliers(struct rps_document *document, const struct rps_phase_output *output)
{
    const struct rps_phases *phases = output->phases;
    uint64_t *outlier = rps_arena_get(document->arena, phases->outlier_count + 1, sizeof(*outlier));
    const uint64_t end = phases->phase[phases->count - 1].last;
    const size_t count = listed_outliers(output, outlier);
    const struct rps_column columns[] = {
        {"first", .kind = RPS_VALUE_INT},
        {"last", .kind = RPS_VALUE_INT},
        {output->run ? "start_s" : NULL, .kind = RPS_VALUE_CLOCK},
        {output->run ? "end_s" : NULL, .kind = RPS_VALUE_CLOCK},
        {"burst", .kind = RPS_VALUE_BOOL},
    };
    struct rps_block *block = rps_document_block(document, "outliers", columns, 5);
    size_t at = 0, named = 0, alone = 0;
    const char *text = "";

    for (size_t i = 0, next; i < count; i = next) {
        int of_burst = is_of_burst(output->bursts, outlier[i], &at);
        uint64_t last;

        for (next = i + 1; next < count && outlier[next] == outlier[next - 1] + phases->wide + 1;)
            next++;
        last = outlier[next - 1] + phases->wide;
        last = last < end ? last : end;
        alone += of_burst ? 0 : next - i;
        if (!of_burst && named < OUTLIERS_MAX)
            text = rps_arena_print(document->arena, "%s%s%s", text, named > 0 ? ", " : "",
                                   stretch_text(document, output, outlier[i], last));
        named += !of_burst;
        rps_put_int(block, (int64_t)outlier[i], 1);
        rps_put_int(block, (int64_t)last, 1);
        rps_put_int(block, rps_phases_time(phases, outlier[i]), 1);
        rps_put_int(block, rps_phases_time(phases, last + 1), 1);
        rps_put_int(block, of_burst, 1);
    }
    report_outliers(document, output, alone, named, text);
}

void rps_phase_outliers(struct rps_document *document, const struct rps_phase_output *output)
{
    add_bursts(document, output->bursts, output->block > 0);
    add_outliers(document, output);
}
