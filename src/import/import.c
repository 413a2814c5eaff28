/* The import of a file: finds the format, reads the file twice, and makes the run.
 *
 * The store is opened after the whole file is checked. A later failure removes the run. */
#include "rpistat/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import_build.h"
#include "import_parts.h"
#include "rpistat/arena.h"
#include "rpistat/check.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/report.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define ROW(object, name, help) &rps_import_##object,
static const struct rps_import_format *const formats[] = {RPS_IMPORT_FORMATS(ROW)};

/* Return 1 for a header such as "run,cpu,...", also with another separator. */
static int is_export(const char *head)
{
    return strncmp(head, "run", 3) == 0 && head[3] && strchr(",;\t|:", head[3]) &&
           strncmp(head + 4, "cpu", 3) == 0 && head[7] == head[3];
}

#define RECIPE(what, command)                                                                      \
    what "; import it with `" command " | rpistat import -` (see examples/README.md)"
#define AWK(what, script) RECIPE(what, "awk -f examples/import/" script " FILE")

/* Files that cannot be imported directly. Their first row begins with the text `begin` and contains
 * the text `has`. */
static const struct {
    const char *begin, *has, *what;
} unsupported[] = {
    {"{", "\"interval\"", RECIPE("output of perf stat -j", "sh examples/import/perf-json <FILE")},
    {"{", "\"counter-value\"",
     RECIPE("output of perf stat -j", "sh examples/import/perf-json <FILE")},
    {"{", "\"sysstat\"", RECIPE("JSON output of sadf or iostat", "sadf -d -- -u")},
    {"Timestamp", "Description", AWK("output of toplev", "toplev.awk")},
    {"Timestamp", "Perf-event", AWK("output of toplev", "toplev.awk")},
    {"\"D", "CSV output\"", AWK("output of dstat or dool", "dstat.awk")},
    {"AAA,", "progname", AWK("output of nmon", "nmon.awk")},
    {"RESET", "", AWK("output of atop -P", "atop.awk")},
    {"usec\t", "\tCPU", AWK("output of turbostat", "turbostat.awk")},
    {"top - ", "load average", AWK("output of top -b", "top.awk")},
    {"SQLite format 3", "",
     "a store or another database; use `rpistat merge` to copy the runs of a store into another"},
    {"\xff\xfe", "", "in UTF-16; save it as UTF-8"},
    {"\xfe\xff", "", "in UTF-16; save it as UTF-8"},
};

/* Return a description of a file that cannot be imported directly, with a remedy, or NULL. */
static const char *describe_unsupported(const struct rps_import_builder *builder)
{
    const char *head = rps_csv_rows_head(builder->rows), *row = rps_import_first_row(head);
    const size_t length = strcspn(row, "\n");

    for (size_t i = 0; i < RPS_COUNT(unsupported); i++) {
        if (strncmp(row, unsupported[i].begin, strlen(unsupported[i].begin)) == 0 &&
            memmem(row, length, unsupported[i].has, strlen(unsupported[i].has)))
            return unsupported[i].what;
    }
    if (is_export(head) && !builder->signals)
        return "an export of rpistat and contains a part of a run; use `rpistat merge` to copy "
               "whole runs between stores";
    return NULL;
}

static int choose_format(struct rps_import_builder *builder, const char *name,
                         const struct rps_import_format **ret, struct rps_error *err)
{
    const char *head = rps_csv_rows_head(builder->rows),
               *other = name ? NULL : describe_unsupported(builder);
    char names[256] = "", *const * cell;
    size_t count;

    for (size_t i = 0; i < RPS_COUNT(formats) && !other; i++) {
        *ret = formats[i];
        if (name ? strcmp(name, formats[i]->name) == 0 : formats[i]->recognises(head))
            return 0;
        rps_text_list(names, sizeof(names), formats[i]->name);
    }
    if (name)
        return rps_error_set(err, RPS_USAGE, "'%s' is not an import format; choose from %s", name,
                             names);
    if (other)
        return rps_error_set(err, RPS_FAILED, "%s is %s", builder->path, other);
    /* The file has no rows, or is not a text file. */
    if (!*rps_import_first_row(head))
        return rps_import_cells(builder, ',', 0, &cell, &count, err) < 0
                   ? RPS_FAILED
                   : rps_error_set(err, RPS_FAILED, "%s has no rows", builder->path);
    return rps_error_set(
        err, RPS_FAILED,
        "the format of %s is unknown (known: %s); convert it to a table as in examples/README.md",
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
        if (memchr(text, '\0', size)) { /* stop at a NUL byte, because /dev/zero has no end */
            rps_error_set(err, RPS_FAILED,
                          "%s has a NUL byte and is not a text file; check its name", path);
            goto out;
        }
        if (fwrite(text, 1, size, copy) != size)
            break;
    }
    if (copy && !ferror(from) && !ferror(copy) && fflush(copy) == 0)
        return copy;
    rps_error_set(err, RPS_FAILED, "cannot copy %s to a temporary file: %s", path, strerror(errno));
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
        rps_error_set(err, RPS_FAILED, "cannot open %s: %s; check its name and permissions", name,
                      strerror(errno));
        goto out;
    }
    if (S_ISDIR(status.st_mode)) {
        rps_error_set(err, RPS_FAILED, "%s is a directory; name the file to import", name);
        goto out;
    }
    changed_s = status.st_mtim.tv_sec;
    if (S_ISREG(status.st_mode) && changed_s < INT64_MAX / RPS_NS_PER_S)
        *ret_changed_ns = changed_s * RPS_NS_PER_S + status.st_mtim.tv_nsec;
    if (S_ISREG(status.st_mode) && !is_standard)
        return file;
    copy = copy_stream(file, name, err);
    if (!S_ISREG(status.st_mode)) /* the data of a pipe are as new as the current time */
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
    if (cpus > 0) /* the file has counts for each CPU */
        snprintf(builder->run.target, sizeof(builder->run.target), "all %zu CPUs of %s", cpus,
                 name);
    else
        snprintf(builder->run.target, sizeof(builder->run.target), "%s", name);
}

/* Return the start of the run, which has the file's time of day. The start is the latest such
 * moment for which the run ends before the file was written. */
static int64_t find_start(const struct rps_import_builder *builder, int64_t changed_ns)
{
    const struct rps_moment moment = {.time_of_day_ns = builder->time_of_day_ns};
    int64_t latest_ns = changed_ns - builder->end_ns, start_ns;

    if (builder->time_of_day_ns < 0 ||
        !rps_moment_find(&moment, latest_ns - RPS_NS_PER_DAY, latest_ns, &start_ns))
        return latest_ns;
    return start_ns;
}

/* Fill in the run's data that the file does not contain. */
static void describe_run(struct rps_import_builder *builder, const struct rps_import_format *format,
                         int64_t changed_ns, const struct rps_import_options *options)
{
    struct rps_plan *plan = builder->plan;
    struct rps_run *run = &builder->run;

    describe_target(builder);
    rps_import_make_remarks(builder);
    snprintf(plan->name, sizeof(plan->name), "%s", format->name);
    snprintf(run->pmu, sizeof(run->pmu), "import");
    snprintf(run->clock_label, sizeof(run->clock_label), "%s", plan->clock.label);
    run->period_ns = (int64_t)(builder->seconds * RPS_NS_PER_S / (double)builder->periods) /
                     plan->set_count; /* one interval of the file is stored as one row per set */
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

        rps_run_add_tag(run, key, options->tag[i] + length + 1);
    }
}

/* Store the estimates of the whole run, which each report would otherwise compute. The shares of
 * scaled values are stored first, since the estimates need these shares. */
static void store_estimates(const struct rps_import_builder *builder, struct rps_reader *reader)
{
    struct rps_plan *plan = NULL;

    rps_import_note_shares(builder);
    rps_writer_set_estimates(builder->writer, builder->plan, NULL);
    if (rps_report_conclude(reader, builder->run.run_id, &plan, NULL) == 0)
        rps_writer_set_estimates(builder->writer, plan, NULL);
    rps_plan_free(plan);
}

/* Check that the file describes a possible run, for example without a missing period, and store the
 * run's estimates. Errors that only writing reveals are found later. */
static int conclude(const struct rps_import_builder *builder, const char *store_path,
                    struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    char why[256];
    int result = rps_reader_open(&reader, store_path, err);

    if (result == 0 && !rps_store_run_is_sound(reader, builder->run.run_id, why, sizeof(why)))
        result = rps_error_set(err, RPS_FAILED, "%s has impossible values for its run: %s",
                               builder->path, why[0] ? why : "no memory");
    if (result == 0)
        store_estimates(builder, reader);
    rps_reader_close(reader);
    return result;
}

/* Begin the run. Until the import ends, the store shows the run as one that is being recorded. */
static int begin_run(struct rps_import_builder *builder, struct rps_writer *writer,
                     struct rps_error *err)
{
    struct rps_run begun = builder->run; /* a shallow copy */
    int result;

    begun.state = RPS_RUN_RECORDING;
    begun.elapsed_ns = -1;
    result = rps_writer_begin(writer, &begun, builder->plan, err);
    builder->run.run_id = begun.run_id;
    return result;
}

/* End the run, and check that the store has all periods. Periods are lost if the disk is full, or
 * if other programs locked the store for a time. */
static int end_imported_run(struct rps_import_builder *builder, const char *store_path, int result,
                            struct rps_error *err)
{
    struct rps_writer_status status;
    int ended;

    rps_writer_status(builder->writer, &status);
    if (result < 0 || status.dropped > 0) /* a run with this state is deleted below, if possible */
        builder->run.state = RPS_RUN_INTERRUPTED;
    ended = rps_writer_end(builder->writer, &builder->run, result < 0 ? NULL : err);
    if (result < 0)
        return result;
    rps_writer_status(builder->writer, &status);
    if (status.dropped > 0 || (ended < 0 && status.trouble[0]))
        return rps_error_set(err, RPS_FAILED,
                             "%s could not be written (%s), so the file is not imported; check its "
                             "disk and import again",
                             store_path, status.trouble[0] ? status.trouble : "for a time");
    return ended;
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
        rps_writer_abandon(writer);
        return result;
    }
    builder->writer = writer;
    result = rps_import_read(builder, format, options, err);
    result = end_imported_run(builder, store_path, result, err);
    if (result == 0)
        result = conclude(builder, store_path, err);
    if (result == 0)
        rps_writer_close(writer);
    else if (rps_writer_abandon(writer) < 0)
        snprintf(err->message + strlen(err->message), sizeof(err->message) - strlen(err->message),
                 "; a part stays in run %lld: wait a minute, then delete it with `rpistat runs "
                 "--delete`",
                 (long long)builder->run.run_id);
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
    return result == 0 && !builder->signals ? rps_import_make_plan(builder, err) : result;
}

/* --- the runs of a file ----------------------------------------------------------------------- */

/* perf stat --append begins each of its runs with this comment. */
#define RUN_MARK "# started on "

/* A file, and the part that is read: one run of the file. */
struct source {
    FILE *file; /* file, owned, except for standard input */
    const char *name;
    int64_t changed_ns;
    int is_continued; /* 1: the file may have several runs */
    off_t at, end;
    uint64_t line, end_line;
};

static int open_source(struct source *source, const char *path, struct rps_error *err)
{
    char mark[sizeof(RUN_MARK)] = "";

    *source = (struct source){.name = strcmp(path, "-") == 0 ? "standard input" : path};
    source->file = open_file(path, source->name, &source->changed_ns, err);
    if (!source->file)
        return RPS_FAILED;
    source->is_continued = fgets(mark, sizeof(mark), source->file) && strcmp(mark, RUN_MARK) == 0;
    rewind(source->file);
    return 0;
}

/* Find the next run of the file. Returns 1, or 0 at the end. */
static int next_run(struct source *source)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int has_rows = 0, is_first = source->end == 0;

    source->at = source->end;
    source->line = source->end_line;
    if (!source->is_continued)
        return source->end++ == 0;
    if (fseeko(source->file, source->at, SEEK_SET) != 0)
        return 0;
    while ((size = getline(&line, &room, source->file)) > 0) {
        if (has_rows && strncmp(line, RUN_MARK, strlen(RUN_MARK)) == 0)
            break;
        has_rows |= line[0] != '#' && line[strspn(line, " \t\r\n")] != '\0';
        source->end += size;
        source->end_line++;
    }
    free(line);
    return has_rows || is_first;
}

static struct rps_import_builder *open_run(const struct source *source, int is_signals,
                                           const struct rps_import_options *options)
{
    struct rps_import_builder *builder =
        rps_import_open(source->file, source->name, is_signals, options->note);

    builder->changed_ns = source->changed_ns;
    builder->part_at = source->at;
    if (source->is_continued && !is_signals)
        rps_csv_rows_limit(builder->rows, (uint64_t)(source->end - source->at), source->line);
    return builder;
}

static int import_run(const struct source *source, const char *store_path,
                      const struct rps_import_options *options, struct rps_import_outcome *ret,
                      struct rps_error *err)
{
    const struct rps_import_format *format = NULL;
    struct rps_import_builder *builder = open_run(source, 0, options);
    int result = rps_import_look(builder, options, &format, err);
    uint64_t intervals = 0; /* number of intervals of the CPU with most of them */

    if (result == 0) {
        describe_run(builder, format, source->changed_ns, options);
        result = write_imported_run(builder, format, store_path, options, err);
    }
    if (result == 0) {
        ret->runs++;
        ret->run_id = builder->run.run_id;
        ret->periods_each = builder->plan->set_count;
        ret->format = format->name;
        for (size_t i = 0; i < builder->track_count; i++)
            intervals =
                builder->track[i].periods > intervals ? builder->track[i].periods : intervals;
        ret->intervals += intervals;
    }
    rps_import_close(builder);
    return result;
}

int rps_import_file(const char *path, const char *store_path,
                    const struct rps_import_options *options, struct rps_import_outcome *ret,
                    struct rps_error *err)
{
    struct rps_import_outcome outcome = {0};
    struct source source;
    int64_t *run_id = NULL;
    size_t count = 0;
    int was_there = access(store_path, F_OK) == 0, result = open_source(&source, path, err);

    while (result == 0 && next_run(&source)) {
        result = import_run(&source, store_path, options, &outcome, err);
        if (result == 0 && !rps_array_add(&run_id, count, sizeof(*run_id)))
            rps_arena_exhausted();
        if (result == 0)
            run_id[count++] = outcome.run_id;
    }
    if (result == 0)
        *ret = outcome;
    while (result < 0 && count > 0)
        rps_store_delete_run(store_path, run_id[--count], NULL);
    if (result < 0 && !was_there)
        rps_store_delete_empty(store_path);
    free(run_id);
    if (source.file)
        fclose(source.file);
    return result;
}

int rps_import_signals_read(struct rps_arena *arena, const char *path,
                            const struct rps_import_options *options, struct rps_csv_signals *ret,
                            struct rps_error *err)
{
    const struct rps_import_format *format;
    struct rps_import_builder *builder;
    struct source source;
    int result = open_source(&source, path, err);

    if (result < 0)
        return result;
    builder = open_run(&source, 1, options);
    result = rps_import_look(builder, options, &format, err);
    if (result == 0)
        result = rps_import_take_signals(builder, arena, options, ret, err);
    rps_import_close(builder);
    fclose(source.file);
    return result;
}
