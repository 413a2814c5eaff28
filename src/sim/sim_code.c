/* The parser for the code of a simulated workload. */
#include "sim_code.h"

#include <stdio.h>
#include <string.h>

#include "rpistat/text.h"

#define LINE_NUMBER_MAX 10000000
#define LINES_MAX       1000 /* maximum number of lines of a function */
#define PPM_PER_PERCENT 10000

/* Cut off the text before the next `mark`, and return this text; NULL at the end. */
static char *cut(char **rest, char mark)
{
    char *text = *rest, *end = text ? strchr(text, mark) : NULL;

    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return text;
}

int rps_sim_percent(const char *what, const char *text, uint32_t max_ppm, uint32_t *ret_ppm,
                    struct rps_error *err)
{
    char number[32];
    size_t length = strlen(text);
    double value;
    int rc;

    if (length < 2 || length > sizeof(number) || text[length - 1] != '%')
        return rps_error_set(err, RPS_USAGE, "'%.40s': expected a percentage such as 2%%", text);
    snprintf(number, sizeof(number), "%.*s", (int)length - 1, text);
    if ((rc = rps_parse_double(what, number, &value, err)) < 0)
        return rc;
    if (value < 0 || value * PPM_PER_PERCENT > max_ppm)
        return rps_error_set(err, RPS_USAGE, "%s must be between 0%% and %u%%", what,
                             max_ppm / PPM_PER_PERCENT);
    *ret_ppm = (uint32_t)(value * PPM_PER_PERCENT + 0.5);
    return 0;
}

/* Check that a name does not contain the separators of `code=`. */
static int check_name(const char *name, struct rps_error *err)
{
    if (*name && !strpbrk(name, "/>,"))
        return 0;
    return rps_error_set(err, RPS_USAGE, "'%s': a name must not contain / > ,", name);
}

/* --- functions -------------------------------------------------------------------------------- */

uint64_t rps_sim_code_line_address(const struct sim_function *function, int i)
{
    uint64_t count = (uint64_t)function->line_count, n = (uint64_t)i;

    return function->address + function->length / count * n + function->length % count * n / count;
}

static const struct sim_function *find_function(const struct sim_code *code, const char *name)
{
    for (size_t i = 0; i < code->function_count; i++)
        if (strcmp(code->function[i].name, name) == 0)
            return &code->function[i];
    return NULL;
}

/* Parse FILE:LINE or FILE:FIRST-LAST. */
static int parse_lines(struct rps_arena *arena, struct sim_function *ret, char *text,
                       struct rps_error *err)
{
    char *colon = strrchr(text, ':'), *last;
    uint64_t first_line, last_line;
    int rc;

    if (!colon || colon == text)
        return rps_error_set(err, RPS_USAGE, "'%s': expected FILE:LINE or FILE:FIRST-LAST", text);
    *colon = '\0';
    last = strchr(colon + 1, '-');
    if (last)
        *last++ = '\0';
    if ((rc = rps_parse_uint64("line", colon + 1, 1, LINE_NUMBER_MAX, &first_line, err)) < 0)
        return rc;
    last_line = first_line;
    if (last &&
        (rc = rps_parse_uint64("line", last, first_line, LINE_NUMBER_MAX, &last_line, err)) < 0)
        return rc;
    if (last_line - first_line >= LINES_MAX)
        return rps_error_set(err, RPS_USAGE, "a function has at most %d lines", LINES_MAX);
    ret->line = (int)first_line;
    ret->line_count = (int)(last_line - first_line) + 1;
    if ((uint64_t)ret->line_count > ret->length)
        return rps_error_set(err, RPS_USAGE, "more lines than bytes of code");
    ret->file = rps_arena_text(arena, text);
    return 0;
}

/* Check that the function does not overlap with earlier functions. */
static int check_function(const struct sim_code *code, const char *name, uint64_t address,
                          uint64_t length, struct rps_error *err)
{
    if (length > UINT64_MAX - address)
        return rps_error_set(err, RPS_USAGE, "function %s ends beyond the last address", name);
    if (find_function(code, name))
        return rps_error_set(err, RPS_USAGE, "there is already a function %s", name);
    for (size_t i = 0; i < code->function_count; i++) {
        const struct sim_function *other = &code->function[i];

        if (address < other->address + other->length && other->address < address + length)
            return rps_error_set(err, RPS_USAGE, "function %s overlaps with %s", name, other->name);
    }
    return 0;
}

int rps_sim_code_add_function(struct sim_code *code, int count, char **word, struct rps_error *err)
{
    struct sim_function *function;
    uint64_t address, length;
    int rc;

    if (count < 3 || count > 4)
        return rps_error_set(err, RPS_USAGE,
                             "expected: function NAME ADDRESS LENGTH [FILE:LINE[-LINE]]");
    if ((rc = check_name(word[0], err)) < 0 ||
        (rc = rps_parse_uint64("address", word[1], 1, UINT64_MAX, &address, err)) < 0 ||
        (rc = rps_parse_uint64("length", word[2], 1, UINT64_MAX, &length, err)) < 0 ||
        (rc = check_function(code, word[0], address, length, err)) < 0)
        return rc;
    code->function =
        rps_arena_grow(code->arena, code->function, code->function_count, sizeof(*function));
    function = &code->function[code->function_count++];
    function->name = rps_arena_text(code->arena, word[0]);
    function->address = address;
    function->length = length;
    function->line_count = 1;
    return count == 4 ? parse_lines(code->arena, function, word[3], err) : 0;
}

/* --- tasks ------------------------------------------------------------------------------------ */

int rps_sim_code_add_task(struct sim_code *code, int count, char **word, struct rps_error *err)
{
    uint64_t pid, tid;
    const char *cgroup = count > 2 && strncmp(word[count - 1], "cgroup=/", 8) == 0
                             ? word[--count] + strlen("cgroup=")
                             : NULL;
    int rc;

    if (count < 2 || count > 3)
        return rps_error_set(err, RPS_USAGE, "expected: task NAME PID [TID] [cgroup=/PATH]");
    if ((rc = check_name(word[0], err)) < 0 ||
        (rc = rps_parse_uint64("process", word[1], 1, INT32_MAX, &pid, err)) < 0 ||
        (rc = rps_parse_uint64("thread", word[count - 1], 1, INT32_MAX, &tid, err)) < 0)
        return rc;
    for (size_t i = 0; i < code->task_count; i++)
        if (strcmp(code->task[i].name, word[0]) == 0 || code->task[i].tid == (pid_t)tid)
            return rps_error_set(err, RPS_USAGE, "there is already a task %s of thread %ld",
                                 code->task[i].name, (long)code->task[i].tid);
    code->task = rps_arena_grow(code->arena, code->task, code->task_count, sizeof(*code->task));
    code->task[code->task_count++] = (struct sim_task){
        rps_arena_text(code->arena, word[0]),
        rps_arena_text(code->arena, cgroup),
        (pid_t)pid,
        (pid_t)tid,
    };
    return 0;
}

static int find_task(const struct sim_code *code, const char *name, size_t *ret,
                     struct rps_error *err)
{
    for (size_t i = 0; i < code->task_count; i++) {
        if (strcmp(code->task[i].name, name) == 0) {
            *ret = i;
            return 0;
        }
    }
    return rps_error_set(err, RPS_USAGE, "task '%s' is not defined above this line", name);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Parse FUNCTION>FUNCTION>..., with the outermost function first. */
static int parse_calls(const struct sim_code *code, struct sim_stack *ret, char *text,
                       struct rps_error *err)
{
    for (char *rest = text, *name; (name = cut(&rest, '>'));) {
        const struct sim_function *function = find_function(code, name);

        if (!function)
            return rps_error_set(err, RPS_USAGE, "function '%s' is not defined above this line",
                                 name);
        if (ret->kernel_count > 0 && function->address < SIM_KERNEL_ADDRESS)
            return rps_error_set(err, RPS_USAGE, "the kernel does not call %s", name);
        if (ret->depth == RPS_SAMPLE_DEPTH_MAX)
            return rps_error_set(err, RPS_USAGE, "more than %d nested calls", RPS_SAMPLE_DEPTH_MAX);
        ret->function =
            rps_arena_grow(code->arena, ret->function, ret->depth, sizeof(*ret->function));
        ret->function[ret->depth++] = (size_t)(function - code->function);
        ret->kernel_count += function->address >= SIM_KERNEL_ADDRESS;
    }
    return 0;
}

/* Parse [TASK/]CALLS[:SHARE%]. *ret_rest is 1 if no share is given. */
static int parse_stack(const struct sim_code *code, struct sim_stack *ret, char *text,
                       int *ret_rest, struct rps_error *err)
{
    char *slash = strchr(text, '/'), *share = strrchr(text, ':');
    size_t length = strlen(text);
    int rc;

    *ret_rest = !share || text[length - 1] != '%';
    if (!*ret_rest) {
        *share = '\0';
        if ((rc = rps_sim_percent("a share", share + 1, SIM_SHARE_ALL, &ret->share_ppm, err)) < 0)
            return rc;
    }
    if (slash) {
        *slash = '\0';
        if ((rc = find_task(code, text, &ret->task, err)) < 0)
            return rc;
    }
    return parse_calls(code, ret, slash ? slash + 1 : text, err);
}

/* Compute the shares of a mix. `without` is the stack that gets the rest, or SIZE_MAX. */
static int share_out(struct sim_code *code, const struct sim_mix *mix, size_t without,
                     struct rps_error *err)
{
    uint64_t sum_ppm = 0;

    for (size_t i = 0; i < mix->count; i++)
        sum_ppm += code->stack[mix->first + i].share_ppm;
    if (sum_ppm > SIM_SHARE_ALL || (sum_ppm < SIM_SHARE_ALL && without == SIZE_MAX))
        return rps_error_set(err, RPS_USAGE, "the shares add up to %g%%, not to 100%%",
                             (double)sum_ppm / PPM_PER_PERCENT);
    if (without != SIZE_MAX)
        code->stack[without].share_ppm = SIM_SHARE_ALL - (uint32_t)sum_ppm;
    return 0;
}

int rps_sim_code_add_mix(struct sim_code *code, char *text, struct rps_error *err)
{
    struct sim_mix *mix;
    size_t without = SIZE_MAX;

    code->mix = rps_arena_grow(code->arena, code->mix, code->mix_count, sizeof(*mix));
    mix = &code->mix[code->mix_count++];
    mix->first = code->stack_count;
    for (char *rest = text, *item; (item = cut(&rest, ','));) {
        int is_rest, rc;

        code->stack =
            rps_arena_grow(code->arena, code->stack, code->stack_count, sizeof(*code->stack));
        rc = parse_stack(code, &code->stack[code->stack_count++], item, &is_rest, err);
        if (rc < 0)
            return rc;
        if (is_rest && without != SIZE_MAX)
            return rps_error_set(err, RPS_USAGE, "only one stack may be without a share");
        if (is_rest)
            without = mix->first + mix->count;
        mix->count++;
    }
    return share_out(code, mix, without, err);
}
