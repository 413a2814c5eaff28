/*
 * Detections of phases for people: a table of the phases in order of time, one of the distinct
 * ones.
 *
 * Both have the same few figures, those that tell the phases apart most, so that the reader sees at
 * once why there is a boundary. All figures of a run would be twenty columns.
 */
#include "rpistat/output_file.h"
#include "rpistat/phase_output.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "rpistat/interval_text.h"
#include "rpistat/table.h"

#define WIDTH_DEFAULT 100
#define LEVELS_BESIDE 6   /* levels that are named on either side of the one that is shown */
#define FIGURES_MAX   8   /* of a table */
#define OUTLIERS_MAX  12  /* that are listed, as stretches */
#define APART_MIN     .02 /* figures below it say nothing */
#define SHORT_NS      (1000 * RPS_NS_PER_S) /* a run without minutes in its lengths */
#define LABEL_SURE    .75                   /* below it, a label has a question mark */
#define HOUR_NS       (3600 * RPS_NS_PER_S)
#define CELL_SIZE     96

/* What is written, and how wide. */
struct page {
    FILE *out;
    const struct rps_phase_output *output;
    int width;
    int decimals;          /* of seconds */
    int doubtful;          /* 1: a label had a question mark */
    int estimated, unsure; /* 1: a figure had an interval; had none although it was estimated */
};

/* --- cells ------------------------------------------------------------------------------------ */

/* Three or four digits, whatever the size; 4 decimals at most. */
static int decimals_for(double value)
{
    double size = fabs(value);

    return size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
}

static const char *decimal_text(char *ret, double value, int decimals)
{
    double size = fabs(value);

    if (!isfinite(value))
        return "-";
    if (size >= 1e9 || (size > 0 && size < 1e-4))
        snprintf(ret, CELL_SIZE, "%.1e", value);
    else
        snprintf(ret, CELL_SIZE, "%.*f", value > 0 || value < 0 ? decimals : 0, value);
    return ret;
}

static const char *figure_text(char *ret, double value)
{
    return decimal_text(ret, value, decimals_for(value));
}

static const char *share_text(char *ret, double share)
{
    snprintf(ret, CELL_SIZE, "%.1f %%", 100 * share);
    return ret;
}

/* A position: hours only in runs that have them. */
static const char *time_text(const struct page *page, char *ret, int64_t ns)
{
    const struct rps_phases *phases = page->output->phases;

    rps_text_clock(ret, CELL_SIZE, ns, page->decimals);
    return phases->phase[phases->count - 1].end_ns < HOUR_NS ? ret + strlen("00:") : ret;
}

/* How far off the boundary may be. */
static const char *uncertainty_text(const struct page *page, char *ret,
                                    const struct rps_phase *phase)
{
    uint64_t before = phase->first - phase->earliest, behind = phase->latest - phase->first;
    uint64_t off = before > behind ? before : behind;

    if (off == 0)
        return "";
    if (page->output->run)
        snprintf(ret, CELL_SIZE, "±%.*f", page->decimals,
                 (double)off * (double)page->output->run->period_ns / RPS_NS_PER_S);
    else
        snprintf(ret, CELL_SIZE, "±%" PRIu64, off);
    return ret;
}

static const char *label_text(struct page *page, char *ret, const struct rps_phase *phase)
{
    rps_phase_label(phase->label, ret);
    if (phase->label_confidence < LABEL_SURE) {
        strcat(ret, "?");
        page->doubtful = 1;
    }
    return ret;
}

static const char *length_text(const struct page *page, char *ret, int64_t length_ns, uint64_t rows)
{
    if (!page->output->run)
        snprintf(ret, CELL_SIZE, "%" PRIu64, rows);
    else if (page->output->profile->length_ns < SHORT_NS)
        snprintf(ret, CELL_SIZE, "%.*f s", page->decimals, (double)length_ns / RPS_NS_PER_S);
    else
        rps_text_duration(ret, CELL_SIZE, length_ns);
    return ret;
}

/* --- figures ---------------------------------------------------------------------------------- */

static void add_figure_column(struct rps_text_table *table, const struct rps_figure *figure)
{
    rps_table_add_column(table, figure->label[0] ? figure->label : figure->name, figure->unit, 0);
}

/* Figures worth a column: those that were seen, and not those that are the same everywhere unless
 * there is nothing else to show. */
static size_t figures_to_show(const struct rps_profile *profile, size_t figure[FIGURES_MAX])
{
    size_t count = 0;

    for (int any = 0; any < 2 && count == 0; any++) {
        for (size_t i = 0; i < profile->figure_count && count < FIGURES_MAX; i++) {
            const struct rps_figure *at = &profile->figure[profile->order[i]];

            if (isfinite(at->whole) && (any || i == 0 || at->apart > APART_MIN))
                figure[count++] = profile->order[i];
        }
    }
    return count;
}

/* --- the phases in order of time -------------------------------------------------------------- */

static void fill_phase(struct page *page, struct rps_text_table *table,
                       const struct rps_phase *phase)
{
    int64_t length_ns = phase->end_ns - phase->start_ns;
    uint64_t rows = phase->last - phase->first + 1;
    char text[CELL_SIZE];
    double share;
    int c = 0;

    rps_table_add_row(table);
    rps_table_set(table, c++, label_text(page, text, phase));
    if (page->output->run) {
        rps_table_set(table, c++, time_text(page, text, phase->start_ns));
        rps_table_set(table, c++, uncertainty_text(page, text, phase));
        rps_table_set(table, c++, time_text(page, text, phase->end_ns));
    } else {
        snprintf(text, sizeof(text), "%" PRIu64, phase->first);
        rps_table_set(table, c++, text);
        rps_table_set(table, c++, uncertainty_text(page, text, phase));
        snprintf(text, sizeof(text), "%" PRIu64, phase->last);
        rps_table_set(table, c++, text);
    }
    if (phase->first > 0) {
        snprintf(text, sizeof(text), "%.0f %%", 100 * phase->confidence);
        rps_table_set(table, c, text);
    }
    c++;
    rps_table_set(table, c++, length_text(page, text, length_ns, rows));
    share = rps_profile_share(page->output->profile, length_ns, rows);
    rps_table_set(table, c, share_text(text, share));
}

#define PHASE_COLUMNS 7

static void begin_phases(const struct page *page, struct rps_text_table *table)
{
    const int times = page->output->run != NULL;

    rps_table_add_column(table, "Phase", "", 1);
    rps_table_add_column(table, times ? "Start" : "First", "", 0);
    rps_table_add_column(table, "", "", 1);
    rps_table_add_column(table, times ? "End" : "Last", "", 0);
    rps_table_add_column(table, "Sure", "", 0);
    rps_table_add_column(table, times ? "Length" : "Rows", "", 0);
    rps_table_add_column(table, "Share", "", 0);
}

/* The width of so many columns of figures: those with intervals are wider than their headings. */
static int figures_width(const struct rps_profile *profile, const size_t *figure, size_t count)
{
    static const char usual[] = "0.00 ±0.00";
    struct rps_text_table probe = {0};
    int width;

    for (size_t i = 0; i < count; i++)
        add_figure_column(&probe, &profile->figure[figure[i]]);
    rps_table_add_row(&probe);
    for (size_t i = 0; i < count; i++) {
        if (profile->figure[figure[i]].interval.certainty > RPS_CERTAINTY_COUNTED)
            rps_table_set(&probe, (int)i, usual);
    }
    width = rps_table_width(&probe, probe.column_count);
    rps_table_free(&probe);
    return width;
}

/* How many of the figures fit beside the other columns, at least one. */
static size_t figures_that_fit(const struct page *page, const struct rps_text_table *table,
                               const size_t *figure, size_t count)
{
    int width = page->width - rps_table_width(table, table->column_count);
    size_t fit = count > 0 ? 1 : 0;

    while (fit < count && figures_width(page->output->profile, figure, fit + 1) <= width)
        fit++;
    return fit;
}

/* A figure and how sure it is: "2.14 ±.04", "2.14 (1.20-3.80)" where that is wide, and "2.14 *"
 * where it was estimated and there is no interval. */
static const char *sure_text(struct page *page, char *ret, double value,
                             const struct rps_interval *interval)
{
    char first[CELL_SIZE], second[CELL_SIZE];
    int decimals = decimals_for(value);

    if (!isfinite(value) || interval->certainty <= RPS_CERTAINTY_COUNTED)
        return figure_text(ret, value);
    if (interval->certainty != RPS_CERTAINTY_INTERVAL) {
        snprintf(ret, CELL_SIZE, "%.40s *", figure_text(first, value));
        page->unsure = 1;
        return ret;
    }
    page->estimated = 1;
    if (decimals > 0 && rps_interval_half(interval) >= pow(10, 1 - decimals))
        decimals--; /* the last one says nothing */
    decimal_text(first, value, decimals);
    if (rps_interval_is_narrow(interval))
        snprintf(ret, CELL_SIZE, "%.40s ±%.40s", first,
                 decimal_text(second, rps_interval_half(interval), decimals));
    else
        snprintf(ret, CELL_SIZE, "%.30s (%.3g-%.3g)", first, interval->low, interval->high);
    return ret;
}

static void fill_figures(struct page *page, struct rps_text_table *table, int column,
                         const size_t *figure, size_t count, size_t phase)
{
    const struct rps_profile *profile = page->output->profile;
    char text[CELL_SIZE];

    for (size_t i = 0; i < count; i++) {
        size_t at = phase * profile->figure_count + figure[i];

        rps_table_set(table, column + (int)i,
                      sure_text(page, text, profile->phase[at], &profile->phase_interval[at]));
    }
}

/* Columns cannot be added once there are rows: a first table, of fixed columns, finds what fits. */
static int print_phases(struct page *page, const size_t *figure, size_t *count,
                        struct rps_error *err)
{
    const struct rps_phases *phases = page->output->phases;
    const struct rps_profile *profile = page->output->profile;
    struct rps_text_table table = {0};
    char text[CELL_SIZE];
    int result;

    begin_phases(page, &table);
    for (size_t i = 0; i < phases->count; i++)
        fill_phase(page, &table, &phases->phase[i]);
    *count = figures_that_fit(page, &table, figure, *count);
    rps_table_free(&table);

    begin_phases(page, &table);
    for (size_t i = 0; i < *count; i++)
        add_figure_column(&table, &profile->figure[figure[i]]);
    for (size_t i = 0; i < phases->count; i++) {
        fill_phase(page, &table, &phases->phase[i]);
        fill_figures(page, &table, PHASE_COLUMNS, figure, *count, i);
    }
    rps_table_add_row(&table);
    rps_table_set(&table, 0, "all");
    rps_table_set(&table, PHASE_COLUMNS - 2,
                  length_text(page, text, profile->length_ns, profile->periods));
    for (size_t i = 0; i < *count; i++)
        rps_table_set(&table, PHASE_COLUMNS + (int)i,
                      sure_text(page, text, profile->figure[figure[i]].whole,
                                &profile->figure[figure[i]].interval));
    result = rps_table_print(page->out, &table, PHASE_COLUMNS, page->width, err);
    rps_table_free(&table);
    return result;
}

/* --- the distinct phases ---------------------------------------------------------------------- */

#define LABEL_COLUMNS 4

/* A label's figure, and the standard deviation between its observations. */
static void mean_text(struct page *page, char *ret, const struct rps_profile *profile, size_t at)
{
    double mean = profile->mean[at], spread = profile->spread[at];
    char first[CELL_SIZE], second[CELL_SIZE];
    const char *sure = sure_text(page, first, mean, &profile->mean_interval[at]);

    if (isfinite(mean) && isfinite(spread))
        snprintf(ret, CELL_SIZE, "%.60s sd %.28s", sure,
                 decimal_text(second, spread, decimals_for(mean)));
    else
        snprintf(ret, CELL_SIZE, "%s", sure);
}

static void fill_label(struct page *page, struct rps_text_table *table, int l, const size_t *figure,
                       size_t count)
{
    const struct rps_profile *profile = page->output->profile;
    const struct rps_profile_label *label = &profile->label[l];
    char text[CELL_SIZE];

    rps_table_add_row(table);
    rps_table_set(table, 0, rps_phase_label(l, text));
    snprintf(text, sizeof(text), "%zu", label->occurrences);
    rps_table_set(table, 1, text);
    rps_table_set(table, 2, length_text(page, text, label->length_ns, label->periods));
    rps_table_set(table, 3,
                  share_text(text, rps_profile_share(profile, label->length_ns, label->periods)));
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)l * profile->figure_count + figure[i];

        mean_text(page, text, profile, at);
        rps_table_set(table, LABEL_COLUMNS + (int)i, text);
    }
}

/* Of a run in percent of the mean; of a table, whose columns may have means of about 0, as it
 * is. */
static void fill_variation(const struct page *page, struct rps_text_table *table, const char *name,
                           const size_t *figure, size_t count, int inside)
{
    char text[CELL_SIZE], number[CELL_SIZE];

    rps_table_add_row(table);
    rps_table_set(table, 0, name);
    for (size_t i = 0; i < count; i++) {
        const struct rps_figure *at = &page->output->profile->figure[figure[i]];
        double variation = inside ? at->inside_cv : at->whole_cv;
        double spread = inside ? at->inside : at->spread;

        if (page->output->run && isfinite(variation)) {
            rps_table_set(table, LABEL_COLUMNS + (int)i, share_text(text, variation));
        } else if (!page->output->run && isfinite(spread)) {
            snprintf(text, sizeof(text), "sd %.40s", figure_text(number, spread));
            rps_table_set(table, LABEL_COLUMNS + (int)i, text);
        }
    }
}

static int print_labels(struct page *page, const size_t *figure, size_t count,
                        struct rps_error *err)
{
    const struct rps_profile *profile = page->output->profile;
    struct rps_text_table table = {0};
    int result;

    rps_table_add_column(&table, "Phase", "", 1);
    rps_table_add_column(&table, "Times", "", 0);
    rps_table_add_column(&table, page->output->run ? "Time" : "Rows", "", 0);
    rps_table_add_column(&table, "Share", "", 0);
    for (size_t i = 0; i < count; i++)
        add_figure_column(&table, &profile->figure[figure[i]]);
    for (int l = 0; l < profile->label_count; l++)
        fill_label(page, &table, l, figure, count);
    fill_variation(page, &table, "variation", figure, count, 0);
    fill_variation(page, &table, "inside", figure, count, 1);
    result = rps_table_print(page->out, &table, 1, page->width, err);
    rps_table_free(&table);
    return result;
}

/* "34 % in solve (three.c:40)", and where samples are fewer than expected "(120 of 400 samples)". */
static void code_text(const struct page *page, char ret[CELL_SIZE], int l)
{
    const struct rps_part_shares *shares = page->output->shares;
    const struct rps_share_group *group = &shares->group[l];
    double expected =
        rps_samples_expected(&shares->sampling, page->output->profile->label[l].cpu_s);
    size_t used = strlen(rps_share_group_text(ret, CELL_SIZE, group));

    if (rps_samples_are_short(group->samples, expected))
        snprintf(ret + used, CELL_SIZE - used, "%s(%" PRIu64 " of %.0f samples)", used ? " " : "",
                 group->samples, expected);
}

/* All samples are those of the labels. */
static void print_samples(const struct page *page)
{
    const struct rps_part_shares *shares = page->output->shares;
    double cpu_s = 0;
    char text[320];

    for (int l = 0; l < page->output->profile->label_count; l++)
        cpu_s += page->output->profile->label[l].cpu_s;
    if (shares && rps_samples_short_text(text, sizeof(text), &shares->sampling,
                                         shares->sample_count, cpu_s)[0])
        fprintf(page->out, "\n%s\n", text);
}

/* A line a label: what sets it apart, and its function. */
static void print_words(const struct page *page)
{
    const struct rps_profile *profile = page->output->profile;
    const struct rps_part_shares *shares = page->output->shares;
    char label[RPS_PHASE_LABEL_SIZE], words[RPS_PROFILE_WORDS_SIZE], code[CELL_SIZE] = "";

    if (profile->label_count > 1)
        fprintf(page->out, "\nWhat sets them apart from the whole%s:\n",
                page->output->run ? " run" : "");
    for (int l = 0; l < profile->label_count && profile->label_count > 1; l++) {
        rps_phase_label(l, label);
        if (shares && (size_t)l < shares->group_count)
            code_text(page, code, l);
        rps_profile_words(words, profile, l,
                          page->width - (int)strlen(label) - 4 -
                              (code[0] ? rps_text_width(code) + 2 : 0));
        fprintf(page->out, "  %s: ", label);
        rps_text_print(page->out, words);
        fputs(words[0] && code[0] ? ", " : "", page->out);
        rps_text_print(page->out, code);
        fputc('\n', page->out);
    }
}

/* --- the rest --------------------------------------------------------------------------------- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_outliers(const struct page *page)
{
    const struct rps_phases *phases = page->output->phases;
    const uint64_t *outlier = phases->outlier;
    int shown = 0;

    if (phases->outlier_count == 0)
        return;
    fprintf(page->out, "\n%zu outlier%s, %ss like none around them: ", phases->outlier_count,
            plural(phases->outlier_count), page->output->unit);
    for (size_t i = 0; i < phases->outlier_count;) {
        size_t last = i;

        if (shown++ == OUTLIERS_MAX) {
            fprintf(page->out, ", and %zu more", phases->outlier_count - i);
            break;
        }
        while (last + 1 < phases->outlier_count && outlier[last + 1] == outlier[last] + 1)
            last++;
        fprintf(page->out, "%s%" PRIu64, i > 0 ? ", " : "", outlier[i]);
        if (last > i)
            fprintf(page->out, "-%" PRIu64, outlier[last]);
        i = last + 1;
    }
    fputs(".\n", page->out);
}

static int print_components(const struct page *page, struct rps_error *err)
{
    const struct rps_components *components = page->output->components;
    struct rps_text_table table = {0};
    char text[CELL_SIZE];
    int result;

    fputs("\nPrincipal components: the directions in which the signals vary together. A figure is "
          "the\ncorrelation of the signal with the component.\n",
          page->out);
    rps_table_add_column(&table, "Signal", "", 1);
    for (size_t c = 0; c < components->component_count; c++) {
        snprintf(text, sizeof(text), "%zu.", c + 1);
        rps_table_add_column(&table, text, "", 0);
    }
    for (size_t s = 0; s < components->signal_count; s++) {
        rps_table_add_row(&table);
        rps_table_set(&table, 0, page->output->component_signal[s]);
        for (size_t c = 0; c < components->component_count; c++)
            rps_table_set(
                &table, (int)c + 1,
                decimal_text(text, components->loading[c * components->signal_count + s], 2));
    }
    rps_table_add_row(&table);
    rps_table_set(&table, 0, "of the variance");
    for (size_t c = 0; c < components->component_count; c++)
        rps_table_set(&table, (int)c + 1, share_text(text, components->share[c]));
    result = rps_table_print(page->out, &table, 1, page->width, err);
    rps_table_free(&table);
    return result;
}

/* The other levels; where they are many, those around the one that is shown, and the finest. */
static void print_levels(const struct page *page)
{
    const struct rps_phase_output *output = page->output;
    size_t other[2 * LEVELS_BESIDE + 1], count = 0, fine = output->level_count - 1, from, to;

    if (output->level_count < 2 || (output->level_count == 2 && output->level[0].stretches == 1))
        return;
    from = output->level_shown > LEVELS_BESIDE ? output->level_shown - LEVELS_BESIDE : 0;
    to = output->level_shown + LEVELS_BESIDE;
    for (size_t at = from; at <= fine; at++) {
        if (at != output->level_shown && (at <= to || at == fine))
            other[count++] = at;
    }
    for (size_t i = 0; i < count; i++)
        fprintf(page->out, "%s%zu%s",
                i == 0           ? "Other levels have "
                : i + 1 == count ? " and "
                                 : ", ",
                output->level[other[i]].stretches, other[i] == fine ? " (fine)" : "");
    fputs(" phases: --level N\n", page->out);
}

/* A time that --from takes, not before the one that is said. */
static void print_thinned(const struct page *page)
{
    int64_t from_ns = page->output->periods_from_ns, unit = RPS_NS_PER_S;
    char text[CELL_SIZE];

    if (from_ns < 0)
        return;
    for (int i = 0; i < page->decimals; i++)
        unit /= 10;
    from_ns += (unit - from_ns % unit) % unit;
    fprintf(page->out, "Periods only since %s: --from %.*fs\n", time_text(page, text, from_ns),
            page->decimals, (double)from_ns / RPS_NS_PER_S);
}

static void print_heading(const struct page *page)
{
    const struct rps_phase_output *output = page->output;
    const struct rps_profile *profile = output->profile;
    char text[CELL_SIZE];

    fputs("Phases of ", page->out);
    rps_text_print(page->out, output->title);
    fprintf(page->out, "\n%zu phase%s of %d kind%s", output->phases->count,
            plural(output->phases->count), output->phases->label_count,
            plural((uint64_t)output->phases->label_count));
    if (output->block > 0)
        fprintf(page->out, ", found in %" PRIu64 " block%s of %d rotations", output->observations,
                plural(output->observations), output->block);
    else
        fprintf(page->out, ", found in %" PRIu64 " %s%s", output->observations, output->unit,
                plural(output->observations));
    if (output->run)
        fprintf(page->out, " (%s)", length_text(page, text, profile->length_ns, profile->periods));
    fprintf(page->out, " of %zu signal%s, %zu of which vary on their own\n", output->signal_count,
            plural(output->signal_count), output->details->used_signal_count);
    print_thinned(page);
    print_levels(page);
    if (output->remark)
        fprintf(page->out, "%c%s.\n", toupper((unsigned char)output->remark[0]),
                output->remark + 1);
}

static int write_page(struct page *page, struct rps_error *err)
{
    const struct rps_profile *profile = page->output->profile;
    size_t figure[FIGURES_MAX], count = figures_to_show(profile, figure);
    int result;

    print_heading(page);
    result = print_phases(page, figure, &count, err);
    if (page->doubtful)
        fputs("\n?: the phase may well be of another kind.\n", page->out);
    if (result == 0)
        result = print_labels(page, figure, count, err);
    if (result == 0)
        print_words(page);
    if (result == 0)
        print_samples(page);
    if (page->estimated)
        fputs("\n± and ranges: 95 % intervals of what was counted in turns.\n", page->out);
    if (page->unsure)
        fputs("\n*: counted in turns, too rare or in too few periods for an interval.\n",
              page->out);
    if (result == 0)
        print_outliers(page);
    if (result == 0 && page->output->components)
        result = print_components(page, err);
    return result;
}

int rps_phase_output_text(FILE *out, const struct rps_phase_output *output, struct rps_error *err)
{
    struct page page = {
        .out = out, .output = output, .width = output->width > 0 ? output->width : WIDTH_DEFAULT};
    int64_t period_ns = output->run ? output->run->period_ns : 0;
    locale_t before = (locale_t)0;
    int result;

    for (int64_t unit = RPS_NS_PER_S; unit > period_ns && page.decimals < 6; unit /= 10)
        page.decimals++;
    if (output->locale != (locale_t)0)
        before = uselocale(output->locale);
    result = write_page(&page, err);
    if (output->locale != (locale_t)0)
        uselocale(before);
    return result == 0 ? rps_output_written(out, "the phases", err) : result;
}
