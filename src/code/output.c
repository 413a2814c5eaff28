/* Which code ran, for programs: JSON and CSV. */
#include "rpistat/code_output.h"
#include "rpistat/output_file.h"
#include "rpistat/report_parts.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"

const char *const rps_code_by_names[] = {
    [RPS_SHARES_FUNCTION] = "function",
    [RPS_SHARES_LINE] = "line",
    [RPS_SHARES_MODULE] = "module",
    [RPS_SHARES_PROCESS] = "process",
    [RPS_SHARES_THREAD] = "thread",
    [RPS_SHARES_PROGRAM] = "program",
    NULL,
};

/* --- of the views ----------------------------------------------------------------------------- */

char *rps_code_way_text(char *ret, size_t size, const struct rps_calls *calls, size_t node)
{
    char name[512];
    size_t at = size - 1;

    ret[at] = '\0';
    for (; node != 0; node = calls->call[node].parent) {
        size_t length = strlen(rps_text_printable(name, sizeof(name), calls->call[node].function));

        if (length + (ret[at] ? 1 : 0) + strlen("...;") > at) {
            at -= strlen("...;");
            memcpy(ret + at, "...;", strlen("...;"));
            break;
        }
        if (ret[at])
            ret[--at] = ';';
        at -= length;
        memcpy(ret + at, name, length);
    }
    memmove(ret, ret + at, size - at);
    return ret;
}

static int by_self(const void *a, const void *b, void *context)
{
    const struct rps_call *call = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (call[x].self != call[y].self)
        return call[x].self < call[y].self ? 1 : -1;
    return (x > y) - (x < y);
}

size_t *rps_code_stacks_order(const struct rps_calls *calls, size_t *ret_count)
{
    size_t *order = malloc((calls->count + 1) * sizeof(*order)), count = 0;

    for (size_t i = 1; i < calls->count && order; i++) {
        if (calls->call[i].self > 0)
            order[count++] = i;
    }
    if (order)
        qsort_r(order, count, sizeof(*order), by_self, calls->call);
    *ret_count = count;
    return order;
}

uint64_t rps_code_unnamed(const struct rps_code_output *output)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < output->shares->count && output->by <= RPS_SHARES_LINE; i++) {
        if (output->shares->share[i].how == RPS_LOCATION_NONE)
            samples += output->shares->share[i].self;
    }
    return samples;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put_share(struct rps_rows *rows, const struct rps_code_output *output,
                      const struct rps_share *share)
{
    int is_task = output->by >= RPS_SHARES_PROCESS;

    rps_rows_row(rows);
    rps_rows_text(rows, "name", share->name);
    rps_rows_uint(rows, "self", share->self, 1);
    rps_rows_double(rows, "self_share", rps_shares_part(share->self, output->shares->samples));
    rps_rows_uint(rows, "total", share->total, 1);
    rps_rows_double(rows, "total_share", rps_shares_part(share->total, output->shares->samples));
    rps_rows_text(rows, "module", share->module);
    rps_rows_text(rows, "file", share->file);
    rps_rows_int(rows, "line", share->line, share->line > 0);
    rps_rows_bool(rows, "in_kernel", share->is_kernel, !is_task);
    rps_rows_text(rows, "named_by",
                  is_task || output->by == RPS_SHARES_MODULE ? NULL
                                                             : rps_location_how_name(share->how));
    rps_rows_int(rows, "pid", share->pid, share->pid >= 0);
    rps_rows_int(rows, "tid", share->tid, share->tid >= 0);
    rps_rows_end_row(rows);
}

static void put_shares(struct rps_rows *rows, const struct rps_code_output *output)
{
    if (rps_rows_begin(rows, "code"))
        put_share(rows, output, &(struct rps_share){.name = ""});
    for (size_t i = 0; i < output->shares->count && (output->at_most == 0 || i < output->at_most);
         i++)
        put_share(rows, output, &output->shares->share[i]);
    rps_rows_end(rows);
}

static void put_call(struct rps_rows *rows, const struct rps_code_output *output, size_t node)
{
    const struct rps_call *call = &output->calls->call[node];

    rps_rows_row(rows);
    rps_rows_uint(rows, "call", node, 1);
    rps_rows_uint(rows, "caller", call->parent, node > 0);
    rps_rows_text(rows, "name", call->function);
    rps_rows_uint(rows, "self", call->self, 1);
    rps_rows_uint(rows, "total", call->total, 1);
    rps_rows_double(rows, "total_share",
                    rps_shares_part(call->total, output->calls->call[0].total));
    rps_rows_text(rows, "module", call->module);
    rps_rows_text(rows, "file", call->file);
    rps_rows_int(rows, "line", call->line, call->line > 0);
    rps_rows_bool(rows, "in_kernel", call->is_kernel, node > 0);
    rps_rows_bool(rows, "inlined", call->is_inlined, node > 0);
    rps_rows_end_row(rows);
}

static void put_calls(struct rps_rows *rows, const struct rps_code_output *output)
{
    if (rps_rows_begin(rows, "calls"))
        put_call(rows, output, 0);
    for (size_t i = 0; i < output->calls->count; i++)
        put_call(rows, output, i);
    rps_rows_end(rows);
}

static void put_stack(struct rps_rows *rows, const struct rps_code_output *output, size_t node)
{
    const struct rps_call *call = output->calls->call;
    char way[16384];

    rps_rows_row(rows);
    rps_rows_text(rows, "stack", rps_code_way_text(way, sizeof(way), output->calls, node));
    rps_rows_uint(rows, "self", call[node].self, 1);
    rps_rows_double(rows, "self_share", rps_shares_part(call[node].self, call[0].total));
    rps_rows_end_row(rows);
}

static int put_stacks(struct rps_rows *rows, const struct rps_code_output *output,
                      struct rps_error *err)
{
    size_t count, *order = rps_code_stacks_order(output->calls, &count);

    if (!order)
        return rps_error_memory(err);
    if (rps_rows_begin(rows, "stacks"))
        put_stack(rows, output, 0);
    for (size_t i = 0; i < count && (output->at_most == 0 || i < output->at_most); i++)
        put_stack(rows, output, order[i]);
    rps_rows_end(rows);
    free(order);
    return 0;
}

/* --- what only JSON has ----------------------------------------------------------------------- */

static void put_sampling(struct rps_rows *rows, const struct rps_sampling *sampling)
{
    rps_json_object(rows->json, "sampling");
    rps_rows_text(rows, "event", sampling->event);
    rps_rows_uint(rows, "frequency", sampling->frequency, sampling->frequency > 0);
    rps_rows_uint(rows, "threshold", sampling->threshold, sampling->threshold > 0);
    rps_rows_text(rows, "callers", sampling->stacks);
    rps_rows_uint(rows, "taken", sampling->samples, 1);
    rps_rows_uint(rows, "complete", sampling->complete, 1);
    rps_rows_uint(rows, "lost_samples", sampling->lost, 1);
    rps_rows_uint(rows, "throttled", sampling->throttled, 1);
    rps_rows_uint(rows, "unmapped", sampling->unmapped, 1);
    rps_json_end(rows->json);
}

static void put_groups(struct rps_rows *rows, const struct rps_code_output *output)
{
    char label[RPS_PHASE_LABEL_SIZE];

    rps_json_array(rows->json, "labels");
    for (size_t g = 0; output->groups && g < output->groups->group_count; g++) {
        const struct rps_share_group *group = &output->groups->group[g];

        rps_json_object(rows->json, NULL);
        rps_rows_text(rows, "label", rps_phase_label((int)g, label));
        rps_rows_double(rows, "off_cpu", output->groups_time[g].off_cpu);
        rps_report_rows_group(rows, &output->code->sampling, group, output->groups_time[g].cpu_s);
        rps_json_end(rows->json);
    }
    rps_json_end(rows->json);
}

int rps_code_output_rows(FILE *out, const struct rps_code_output *output, enum rps_format format,
                         struct rps_error *err)
{
    char command[4096];
    struct rps_rows rows;
    int result = 0;

    if (rps_rows_open(&rows, out, format, err) < 0)
        return RPS_FAILED;
    if (rows.json) {
        rps_rows_int(&rows, "run", output->run->run_id, 1);
        rps_rows_text(&rows, "command", rps_run_title(command, sizeof(command), output->run));
        rps_rows_text(&rows, "part", output->part);
        rps_rows_text(&rows, "by", rps_code_by_names[output->by]);
        put_sampling(&rows, &output->code->sampling);
        rps_rows_uint(&rows, "samples", output->shares->samples, 1);
        rps_rows_double(&rows, "expected_samples",
                        rps_samples_expected(&output->code->sampling, output->time.cpu_s));
        rps_rows_uint(&rows, "unnamed", rps_code_unnamed(output), output->by <= RPS_SHARES_LINE);
        rps_rows_double(&rows, "off_cpu", output->time.off_cpu);
    }
    if (rows.json || output->view == RPS_CODE_TABLE)
        put_shares(&rows, output);
    if (output->view == RPS_CODE_TREE)
        put_calls(&rows, output);
    if (output->view == RPS_CODE_STACKS)
        result = put_stacks(&rows, output, err);
    if (rows.json)
        put_groups(&rows, output);
    if (rps_rows_close(&rows, result, err) < 0)
        return RPS_FAILED;
    return rps_output_written(out, "the code", err);
}
