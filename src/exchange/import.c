/*
 * Importing a file: finding its format, reading it twice, and making the run.
 *
 * The store is opened after the whole file has been checked. A later failure, such as a full disk,
 * removes the run.
 */
#include "rpistat/import.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "import_build.h"
#include "import_parts.h"
#include "rpistat/check.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/report.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/text.h"
#include "rpistat/wall.h"

#define ROW(object, name, help) &rps_import_##object,
static const struct rps_import_format *const formats[] = {RPS_IMPORT_FORMATS(ROW)};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

/* "run,cpu,...", also with another separator. */
static int is_export(const char *head)
{
    return strncmp(head, "run", 3) == 0 && head[3] && strchr(",;\t|:", head[3]) &&
           strncmp(head + 4, "cpu", 3) == 0 && head[7] == head[3];
}

/* Tables of other tools: their first row begins with one text, and contains the other. */
static const struct {
    const char *begin, *has, *what, *recipe;
} recipes[] = {
    {"{", "\"interval\"", "what perf stat -j writes", "sh examples/import/perf-json <FILE"},
    {"{", "\"counter-value\"", "what perf stat -j writes", "sh examples/import/perf-json <FILE"},
    {"{", "\"sysstat\"", "the JSON of sadf and iostat", "sadf -d -- -u"},
    {"Timestamp", "Description", "what toplev writes", "awk -f examples/import/toplev.awk FILE"},
    {"Timestamp", "Perf-event", "what toplev writes", "awk -f examples/import/toplev.awk FILE"},
};

#define RECIPE_COUNT (sizeof(recipes) / sizeof(recipes[0]))

/* Find the recipe for a file; RECIPE_COUNT: none. */
static size_t find_recipe(const char *head)
{
    const char *row = rps_import_first_row(head), *end = row + strcspn(row, "\n"), *found;
    size_t i = 0;

    while (i < RECIPE_COUNT && (strncmp(row, recipes[i].begin, strlen(recipes[i].begin)) != 0 ||
                                !(found = strstr(row, recipes[i].has)) || found > end))
        i++;
    return i;
}

static int choose_format(const struct rps_import_builder *builder, const char *name,
                         const struct rps_import_format **ret, struct rps_error *err)
{
    size_t recipe = name ? RECIPE_COUNT : find_recipe(rps_import_head(builder));
    int is_other = !name && (recipe < RECIPE_COUNT || is_export(rps_import_head(builder)));
    char names[256] = "";

    for (size_t i = 0; i < FORMAT_COUNT && !is_other; i++) {
        *ret = formats[i];
        if (name ? strcmp(name, formats[i]->name) == 0
                 : formats[i]->recognises(rps_import_head(builder)))
            return 0;
        rps_text_list(names, sizeof(names), formats[i]->name);
    }
    if (!name && strncmp(rps_import_head(builder), "SQLite format 3", 15) == 0)
        return rps_error_set(err, RPS_FAILED,
                             "%s is a store already, or another database: 'rpistat merge' copies "
                             "the runs of one store into another",
                             builder->path);
    if (recipe < RECIPE_COUNT)
        return rps_error_set(err, RPS_FAILED,
                             "%s is %s: '%s | rpistat import -' makes a table of it, see "
                             "examples/README.md",
                             builder->path, recipes[recipe].what, recipes[recipe].recipe);
    if (is_other)
        return rps_error_set(err, RPS_FAILED,
                             "%s is an export of rpistat's, which holds a part of a run: 'rpistat "
                             "merge' copies whole runs from store to store",
                             builder->path);
    if (!name && (strncmp(rps_import_head(builder), "\xff\xfe", 2) == 0 ||
                  strncmp(rps_import_head(builder), "\xfe\xff", 2) == 0))
        return rps_error_set(err, RPS_FAILED, "%s is UTF-16: save it as UTF-8", builder->path);
    if (name)
        return rps_error_set(err, RPS_USAGE, "there is no format '%s' to import; there are %s",
                             name, names);
    return rps_error_set(err, RPS_FAILED,
                         "%s is in no format that is known: %s; examples/README.md has recipes "
                         "that make a table of others",
                         builder->path, names);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Copy a stream that can be read only once into a file that can be read twice. */
static FILE *copy_stream(FILE *from, const char *path, struct rps_error *err)
{
    FILE *copy = tmpfile();
    char text[65536];
    size_t size;

    while (copy && (size = fread(text, 1, sizeof(text), from)) > 0) {
        if (memchr(text, '\0', size)) { /* /dev/zero has no end */
            rps_error_set(err, RPS_FAILED, "%s has a NUL byte: it is no text file", path);
            goto out;
        }
        if (fwrite(text, 1, size, copy) != size)
            break;
    }
    if (copy && !ferror(from) && !ferror(copy) && fflush(copy) == 0)
        return copy;
    rps_error_set(err, RPS_FAILED, "cannot copy %s into a temporary file: %s", path,
                  strerror(errno));
out:
    if (copy)
        fclose(copy);
    return NULL;
}

static FILE *open_file(const char *path, const char *name, int64_t *ret_changed_ns,
                       struct rps_error *err)
{
    int is_standard = strcmp(path, "-") == 0;
    FILE *file = is_standard ? stdin : fopen(path, "re"), *copy;
    struct stat status;
    int64_t changed_s;

    *ret_changed_ns = rps_clock_realtime_ns();
    if (!file || fstat(fileno(file), &status) < 0) {
        rps_error_set(err, RPS_FAILED, "cannot open %s: %s", name, strerror(errno));
        goto out;
    }
    if (S_ISDIR(status.st_mode)) {
        rps_error_set(err, RPS_FAILED, "%s is a folder: name the file to import", name);
        goto out;
    }
    changed_s = status.st_mtim.tv_sec;
    if (S_ISREG(status.st_mode) && changed_s < INT64_MAX / RPS_NS_PER_S)
        *ret_changed_ns = changed_s * RPS_NS_PER_S + status.st_mtim.tv_nsec;
    if (S_ISREG(status.st_mode) && !is_standard)
        return file;
    copy = copy_stream(file, name, err);
    if (!S_ISREG(status.st_mode)) /* it grew until now */
        *ret_changed_ns = rps_clock_realtime_ns();
    if (!is_standard)
        fclose(file);
    return copy;
out:
    if (file && !is_standard)
        fclose(file);
    return NULL;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void describe_target(struct rps_import_builder *builder)
{
    char name[RPS_RUN_TEXT_SIZE - 40];
    size_t cpus = 0;

    rps_text_printable(name, sizeof(name), rps_text_file_name(builder->path));
    for (size_t i = 0; i < builder->track_count; i++)
        cpus += builder->track[i].cpu >= 0;
    if (cpus > 0) /* counts are by CPU */
        snprintf(builder->run.target, sizeof(builder->run.target), "all %zu CPUs of %s", cpus,
                 name);
    else
        snprintf(builder->run.target, sizeof(builder->run.target), "%s", name);
}

/* The latest start at that time of day for which the run had ended when the file was written. */
static int64_t find_start(const struct rps_import_builder *builder, int64_t changed_ns)
{
    const struct rps_moment moment = {.time_of_day_ns = builder->time_of_day_ns};
    int64_t latest_ns = changed_ns - builder->end_ns, start_ns;

    if (builder->time_of_day_ns < 0 ||
        !rps_moment_find(&moment, latest_ns - RPS_NS_PER_DAY, latest_ns, &start_ns))
        return latest_ns;
    return start_ns;
}

/* Fill in the data that the file does not have. */
static int describe_run(struct rps_import_builder *builder, const struct rps_import_format *format,
                        int64_t changed_ns, const struct rps_import_options *options,
                        struct rps_error *err)
{
    struct rps_plan *plan = builder->plan;
    struct rps_run *run = &builder->run;

    describe_target(builder);
    rps_import_make_remarks(builder);
    snprintf(plan->name, sizeof(plan->name), "%s", format->name);
    snprintf(run->pmu, sizeof(run->pmu), "import");
    snprintf(run->clock_label, sizeof(run->clock_label), "%s", plan->clock.label);
    run->period_ns = (int64_t)(builder->seconds * RPS_NS_PER_S / (double)builder->periods) /
                     plan->set_count; /* rows of a period */
    run->elapsed_ns = builder->end_ns;
    run->state = RPS_RUN_COMPLETE;
    if (run->start_realtime_ns < 0)
        run->start_realtime_ns = find_start(builder, changed_ns);
    if (options->start_realtime_ns >= 0)
        run->start_realtime_ns = options->start_realtime_ns;
    if (options->label)
        snprintf(run->label, sizeof(run->label), "%s", options->label);
    for (int i = 0; i < options->tag_count; i++) {
        int length = (int)strcspn(options->tag[i], "=");
        const char *key = rps_arena_print(builder->arena, "%.*s", length, options->tag[i]);

        if (rps_run_add_tag(run, key, options->tag[i] + length + 1) < 0)
            return rps_error_memory(err);
    }
    return 0;
}

/* Store the estimates of the whole run; without them a report computes its own. The shares of
 * scaled values come first, since the estimates need them. */
static void store_estimates(const struct rps_import_builder *builder, const char *store_path)
{
    struct rps_writer *writer = builder->writer;
    int64_t run_id = builder->run.run_id;
    struct rps_reader *reader = NULL;
    struct rps_plan *plan = NULL;

    rps_import_note_shares(builder);
    rps_writer_set_estimates(writer, builder->plan, NULL);
    if (rps_reader_open(&reader, store_path, NULL) == 0 &&
        rps_report_conclude(reader, run_id, &plan, NULL) == 0)
        rps_writer_set_estimates(writer, plan, NULL);
    rps_plan_free(plan);
    rps_reader_close(reader);
}

/* A file may describe an impossible run, such as one with a missing period. Errors that writing
 * reveals are not checked before. */
static int check_sound(const struct rps_import_builder *builder, const char *store_path,
                       struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    char why[256];
    int result = rps_reader_open(&reader, store_path, err);

    if (result == 0 && !rps_store_run_is_sound(reader, builder->run.run_id, why, sizeof(why)))
        result = rps_error_set(err, RPS_FAILED, "%s says of its run what cannot be: %s",
                               builder->path, why[0] ? why : "no memory");
    rps_reader_close(reader);
    return result;
}

/* The run as it begins: the store shows that it is being recorded. */
static int begin_run(struct rps_import_builder *builder, struct rps_writer *writer,
                     struct rps_error *err)
{
    struct rps_run begun = builder->run; /* shallow */
    int result;

    begun.state = RPS_RUN_RECORDING;
    begun.elapsed_ns = -1;
    result = rps_writer_begin(writer, &begun, builder->plan, err);
    builder->run.run_id = begun.run_id;
    return result;
}

/* A store that could not be written for a time, as when others locked it, has lost periods. */
static int check_written(struct rps_writer *writer, const char *store_path, struct rps_error *err)
{
    struct rps_writer_status status;

    rps_writer_status(writer, &status);
    if (status.dropped == 0)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s could not be written for a time, and %llu periods were lost: see to "
                         "the disk and to who else writes it, and import again",
                         store_path, (unsigned long long)status.dropped);
}

static int write_imported_run(struct rps_import_builder *builder,
                              const struct rps_import_format *format, const char *store_path,
                              const struct rps_import_options *options, struct rps_error *err)
{
    const struct rps_writer_options writer_options = {.commit_ns = RPS_NS_PER_S};
    struct rps_writer *writer = NULL;
    int result = rps_writer_open(&writer, store_path, &writer_options, err);

    if (result == 0)
        result = begin_run(builder, writer, err);
    if (result < 0) {
        rps_writer_close(writer);
        return result;
    }
    builder->writer = writer;
    result = rps_import_read(builder, format, options, err);
    if (result == 0)
        result = check_written(writer, store_path, err);
    if (result < 0) /* if it cannot be removed */
        builder->run.state = RPS_RUN_INTERRUPTED;
    if (rps_writer_end(writer, &builder->run, result < 0 ? NULL : err) < 0)
        result = RPS_FAILED;
    if (result == 0)
        result = check_sound(builder, store_path, err);
    if (result == 0)
        store_estimates(builder, store_path);
    rps_writer_close(writer);
    if (result < 0)
        rps_store_delete_run(store_path, builder->run.run_id, NULL);
    return result;
}

/* Count the run's periods like the readers of the store. */
static int count_periods(const char *store_path, int64_t run_id, uint64_t *ret,
                         struct rps_error *err)
{
    struct rps_run_summary summary = {0};
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, store_path, err);

    if (result == 0)
        result = rps_reader_summary(reader, run_id, &summary, err);
    rps_reader_close(reader);
    *ret = summary.periods;
    return result;
}

int rps_import_look(struct rps_import_builder *builder, const struct rps_import_options *options,
                    const struct rps_import_format **ret, struct rps_error *err)
{
    int result = rps_import_rewind(builder, err);

    if (result == 0)
        result = choose_format(builder, options->format, ret, err);
    if (result == 0)
        result = rps_import_read(builder, *ret, options, err);
    return result == 0 ? rps_import_make_plan(builder, err) : result;
}

int rps_import_file(const char *path, const char *store_path,
                    const struct rps_import_options *options, struct rps_import_outcome *ret,
                    struct rps_error *err)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    const struct rps_import_format *format = NULL;
    struct rps_import_builder *builder = NULL;
    int64_t changed_ns = 0;
    FILE *file = open_file(path, name, &changed_ns, err);
    uint64_t periods = 0;
    int result = file ? 0 : RPS_FAILED;

    if (result == 0) {
        builder = rps_import_open(file, name, options->note);
        result = rps_import_look(builder, options, &format, err);
    }
    if (result == 0)
        result = describe_run(builder, format, changed_ns, options, err);
    if (result == 0)
        result = write_imported_run(builder, format, store_path, options, err);
    if (result == 0)
        result = count_periods(store_path, builder->run.run_id, &periods, err);
    if (result == 0) {
        *ret = (struct rps_import_outcome){.run_id = builder->run.run_id,
                                           .periods_each = builder->plan->set_count,
                                           .format = format->name};
        ret->intervals = periods / (uint64_t)ret->periods_each;
    }
    rps_import_close(builder);
    if (file)
        fclose(file);
    return result;
}
