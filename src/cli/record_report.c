/* The end of a recording, after the run is stored: the report next to the store, and the lines on
 * the terminal. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "record.h"
#include "rpistat/arena.h"
#include "rpistat/report.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

char *rps_record_path_beside(struct rps_arena *arena, const char *store, const char *ending)
{
    size_t length = strlen(store);

    if (length > 5 && strcmp(store + length - 5, ".data") == 0)
        length -= 5;
    return rps_arena_print(arena, "%.*s%s", (int)length, store, ending);
}

struct report {
    const struct rps_recording *recording;
    int64_t after_ns;
    int is_last; /* 1: the run is the last one of the store */
    char answer[RPS_REPORT_ANSWER_SIZE];
};

/* Write the report. after_ns is set to the value in the report, unless the workload continued after
 * the recording. */
static int report_run(void *context, struct rps_reader *reader, struct rps_error *err)
{
    struct report *report = context;
    const struct rps_recording *r = report->recording;
    int64_t last = 0;
    struct rps_report_options options = {.to_ns = INT64_MAX,
                                         .locale = r->cli->locale,
                                         .answer = report->answer,
                                         .after_ns = r->outlived ? NULL : &report->after_ns};
    struct rps_output output = {0};
    int rc;

    rps_reader_find(reader, NULL, &last, NULL);
    if ((rc = rps_output_open(&output, r->report_path, err)) == 0 &&
        (rc = rps_report_write_2013(output.file, reader, r->run.run_id, &options, err)) == 0)
        rc = rps_output_close(&output, err);
    rps_output_abandon(&output);
    report->is_last = last == r->run.run_id;
    return rc;
}

/* Return a command line that reads the run, as a user types it. `output` is its -o, or NULL. */
static char *reading_command(const struct rps_recording *r, int is_last, const char *command,
                             const char *output, char *ret, size_t size)
{
    char number[24];
    const char *argv[] = {program_invocation_name, command, NULL, NULL, NULL, NULL, NULL, NULL};
    int argc = 2;

    if (strcmp(r->store, r->cli->command->output_value) != 0) {
        argv[argc++] = "-i";
        argv[argc++] = r->store;
    }
    if (!is_last) {
        snprintf(number, sizeof(number), "%lld", (long long)r->run.run_id);
        argv[argc++] = "-r";
        argv[argc++] = number;
    }
    if (output) {
        argv[argc++] = "-o";
        argv[argc++] = output;
    }
    return rps_text_command(ret, size, argc, (char *const *)(uintptr_t)argv);
}

/* Show two lines on a terminal that the workload no longer uses: the answer of the report, and the
 * next command to type. No picture is suggested for a run without periods. */
static void show_summary(const struct rps_recording *r, int is_last, const char *answer)
{
    char run[32] = "", report[1024], plot[1024] = "";
    const char *page = rps_record_path_beside(r->cli->arena, r->cli->output, ".html");

    if (r->cli->quiet || r->turn || !rps_output_has_terminal())
        return;
    if (r->run.run_id > 1)
        snprintf(run, sizeof(run), "run %lld: ", (long long)r->run.run_id);
    rps_output_print("%s%.*s", run, (int)strcspn(answer, "\n") - 1, answer);
    reading_command(r, is_last, "report", NULL, report, sizeof(report));
    if (r->period_count > 0)
        reading_command(r, is_last, "plot", page, plot, sizeof(plot));
    rps_output_print("next: %s%s%s", report, plot[0] ? "; " : "", plot);
}

int rps_record_exit_status(const struct rps_recording *r)
{
    if (r->stop_signal)
        return r->argv ? 128 + r->stop_signal : 0;
    if (r->run.exit_signal)
        return 128 + r->run.exit_signal;
    return r->run.exit_status > 0 ? r->run.exit_status : 0;
}

void rps_record_report_number(const struct rps_recording *r)
{
    /* Outside a series no process reads the number. In another store the number would mean another
     * run. */
    ssize_t put = r->turn && r->run.run_id > 0 && r->store == r->cli->output && !r->is_damaged
                      ? write(r->turn->told_fd, &r->run.run_id, sizeof(r->run.run_id))
                      : 0;

    (void)put;
}

int rps_record_without_report(const struct rps_recording *r, int rc, struct rps_error *err)
{
    return rps_error_prefix(err, rc, "run %lld is in the store, but has no report",
                            (long long)r->run.run_id);
}

static struct rps_recording *reporting; /* end_without_report() has no parameter for this pointer */

/* End early if reading fails. The stored run and the workload's exit status are unchanged. */
static void end_without_report(const struct rps_error *why)
{
    struct rps_error err = *why;

    rps_record_without_report(reporting, RPS_FAILED, &err);
    rps_output_message(err.message);
    rps_record_report_number(reporting);
    rps_registry_close(&reporting->registry);
    _exit(reporting->argv ? rps_record_exit_status(reporting) : 1);
}

void rps_record_begin_reading(struct rps_recording *r)
{
    reporting = r;
    rps_arena_on_exhaustion(end_without_report);
}

int rps_record_report(struct rps_recording *r, struct rps_error *err)
{
    struct report report = {.recording = r, .after_ns = r->before_end_ns};
    int rc;

    prctl(PR_SET_NAME, "rpistat report"); /* `status` ignores processes with this name */
    rc = rps_writer_read(r->writer, report_run, &report, err);
    if (rc == 0 && !r->outlived) /* a failed report does not make the run invalid */
        rps_writer_set_after(r->writer, report.after_ns, NULL);
    if (rc == 0)
        show_summary(r, report.is_last, report.answer);
    return rc < 0 ? rps_record_without_report(r, rc, err) : 0;
}
