/* The parser of ARM1176 simulation scripts: one statement per line, words separated by blanks. */
#include "sim_script.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define WORD_MAX   64
#define NEST_MAX   8
#define ORDER_MAX  4000000u
#define LENGTH_MAX (INT64_C(366) * 86400 * 1000000000)

#define NOISE_MAX_PPM 500000u
#define TICK          "10ms" /* length of the kernel's tick, which ends a throttling of samples */

struct nest {
    size_t begin; /* start of the block, as an index into the order */
    uint64_t times;
    int line;
};

#define SCRIPT_LINE_MAX 4096 /* maximum length of a line with its newline */

struct parser {
    struct sim_script *script;
    const char *path;
    int line;
    struct sim_phase initial; /* values of the statement `default` */
    struct nest nest[NEST_MAX];
    int depth;
    struct rps_error *err;
};

static int __attribute__((format(printf, 2, 3))) wrong(struct parser *p, const char *format, ...)
{
    struct rps_error detail;
    va_list args;

    va_start(args, format);
    vsnprintf(detail.message, sizeof(detail.message), format, args);
    va_end(args);
    return rps_error_set(p->err, RPS_USAGE, "%s:%d: %s", p->path, p->line, detail.message);
}

/* Put FILE:LINE before the error message of a parser. */
static int placed(struct parser *p, int rc)
{
    return rc < 0 ? rps_error_prefix(p->err, rc, "%s:%d", p->path, p->line) : 0;
}

static int parse_number(struct parser *p, const char *what, const char *text, uint64_t max,
                        uint64_t *ret)
{
    return placed(p, rps_parse_uint64(what, text, 0, max, ret, p->err));
}

static int parse_time(struct parser *p, const char *what, const char *text, int64_t *ret_ns)
{
    return placed(p, rps_parse_time_ns(what, text, 0, LENGTH_MAX, ret_ns, p->err));
}

/* Parse a rate in events per second. The rate is a whole number, with an optional k, M or G. */
static int parse_rate(struct parser *p, const char *text, uint32_t *ret)
{
    static const char letters[] = "kMG";
    static const double scale[] = {1e3, 1e6, 1e9};
    char number[WORD_MAX], *letter;
    size_t length = strlen(text);
    double value;
    int rc;

    if (length == 0 || length >= sizeof(number))
        return wrong(p, "'%.40s' is not a rate", text);
    letter = strchr(letters, text[length - 1]);
    snprintf(number, sizeof(number), "%.*s", (int)(letter ? length - 1 : length), text);
    if ((rc = placed(p, rps_parse_double("rate", number, &value, p->err))) < 0)
        return rc;
    if (letter)
        value *= scale[letter - letters];
    if (value < 0 || value > (double)SIM_RATE_MAX)
        return wrong(p, "rate %s: must be between 0 and 4G events per second", text);
    *ret = (uint32_t)(value + 0.5);
    return 0;
}

/* Parse a word NAME=VALUE of a phase, which was cut at its equals sign. */
static int parse_word(struct parser *p, const char *name, char *value, struct sim_phase *phase)
{
    struct sim_script *s = p->script;
    int code, rc = rps_sim_system_word(&phase->signals, s->named, name, value, p->err);

    if (rc != 0)
        return placed(p, rc);
    if (strcmp(name, "code") == 0) {
        phase->mix = (int)s->code.mix_count;
        return placed(p, rps_sim_code_add_mix(&s->code, value, p->err));
    }
    if (phase->sleeping)
        return wrong(p, "'%s': a sleeping workload has only code and system metrics", name);
    if ((code = rps_sim_event(name)) < 0)
        return wrong(p, "'%s' is not an event of the ARM1176", name);
    return parse_rate(p, value, &phase->rate[code]);
}

/* Parse the words of a phase: EVENT=RATE, code=..., and system metrics. */
static int parse_words(struct parser *p, int count, char **word, struct sim_phase *phase)
{
    for (int i = 0; i < count; i++) {
        char *equals = strchr(word[i], '=');
        int rc;

        if (!equals)
            return wrong(p, "'%s': expected EVENT=RATE", word[i]);
        *equals = '\0';
        if ((rc = parse_word(p, word[i], equals + 1, phase)) < 0)
            return rc;
    }
    return 0;
}

static int add_order(struct parser *p, uint32_t phase)
{
    struct sim_script *s = p->script;

    if (s->order_count >= ORDER_MAX)
        return wrong(p, "more than %u phases when repeats are written out", ORDER_MAX);
    s->order = rps_arena_grow(s->arena, s->order, s->order_count, sizeof(*s->order));
    s->order[s->order_count++] = phase;
    return 0;
}

/* Add a phase. In a phase of `sleep` or `idle` the workload does not run, and the phase has only
 * the system metrics of `default`. */
static int add_phase(struct parser *p, const char *name, const char *length, int runs, int count,
                     char **word)
{
    struct sim_script *s = p->script;
    struct sim_phase *phase;
    int rc;

    s->phase = rps_arena_grow(s->arena, s->phase, s->phase_count, sizeof(*phase));
    phase = &s->phase[s->phase_count];
    *phase = p->initial;
    snprintf(phase->name, sizeof(phase->name), "%.31s", name);
    phase->sleeping = !runs && strcmp(name, "sleep") == 0;
    phase->idle = !runs && !phase->sleeping;
    if (!runs) {
        memset(phase->rate, 0, sizeof(phase->rate));
        phase->mix = -1;
    }
    if ((rc = parse_time(p, "length", length, &phase->length_ns)) < 0 ||
        (rc = parse_words(p, count, word, phase)) < 0 ||
        (rc = placed(p, rps_sim_system_settle(&phase->signals, runs, p->err))) < 0)
        return rc;
    return add_order(p, (uint32_t)s->phase_count++);
}

static int end_repeat(struct parser *p)
{
    struct nest *nest;
    size_t end = p->script->order_count;

    if (p->depth == 0)
        return wrong(p, "'end' without a 'repeat'");
    nest = &p->nest[--p->depth];
    for (uint64_t n = 1; n < nest->times; n++) {
        for (size_t i = nest->begin; i < end; i++) {
            int rc = add_order(p, p->script->order[i]);

            if (rc < 0)
                return rc;
        }
    }
    if (nest->times == 0)
        p->script->order_count = nest->begin;
    return 0;
}

/* Return an item after those that the list counts. */
static struct sim_stretch *next_item(struct parser *p, struct sim_stretches *list)
{
    list->item = rps_arena_grow(p->script->arena, list->item, list->count, sizeof(*list->item));
    return &list->item[list->count];
}

static int add_stretch(struct parser *p, struct sim_stretches *list, const char *at,
                       const char *length)
{
    struct sim_stretch *item = next_item(p, list);
    int rc;

    if ((rc = parse_time(p, "time", at, &item->at_ns)) < 0 ||
        (rc = parse_time(p, "length", length, &item->length_ns)) < 0)
        return rc;
    if (list->count > 0 && item[-1].at_ns + item[-1].length_ns > item->at_ns)
        return wrong(p, "must be in order of time, without overlap");
    list->count++;
    return 0;
}

/* Parse `switch` or `reading`, TIME [AT]: TIME is the cost from AT on (no AT: from the start). */
static int add_cost(struct parser *p, struct sim_stretches *list, const char *name, int count,
                    char **word)
{
    struct sim_stretch *item = next_item(p, list);
    int rc;

    if (count < 1 || count > 2)
        return wrong(p, "expected: %s TIME [AT]", name);
    if ((rc = parse_time(p, name, word[0], &item->length_ns)) < 0 ||
        (count == 2 && (rc = parse_time(p, "time", word[1], &item->at_ns)) < 0))
        return rc;
    if (list->count > 0 && item->at_ns < item[-1].at_ns)
        return wrong(p, "must be in order of time");
    list->count++;
    return 0;
}

static int set_fail(struct parser *p, char **word)
{
    int code = rps_sim_event(word[0]);

    if (code < 0)
        return wrong(p, "'%s' is not an event of the ARM1176", word[0]);
    if (strcmp(word[1], "unsupported") == 0)
        p->script->state[code] = RPS_EVENT_UNSUPPORTED;
    else if (strcmp(word[1], "denied") == 0)
        p->script->state[code] = RPS_EVENT_NOT_PERMITTED;
    else
        return wrong(p, "'%s': expected unsupported or denied", word[1]);
    return 0;
}

static int open_repeat(struct parser *p, const char *times)
{
    struct nest *nest = &p->nest[p->depth];

    if (p->depth == NEST_MAX)
        return wrong(p, "more than %d nested repeats", NEST_MAX);
    nest->begin = p->script->order_count;
    nest->line = p->line;
    p->depth++;
    return parse_number(p, "repeat", times, ORDER_MAX, &nest->times);
}

/* A statement, and the number of words that follow its name (-1: any number). A statement with a
 * maximum sets a number; a statement with a list adds a time range to it. */
struct statement {
    const char *name;
    int words;
    uint64_t min, max;
    size_t member; /* offset of the number, or of the list, in struct sim_script */
};

#define MEMBER(name) offsetof(struct sim_script, name)

static const struct statement statements[] = {
    {"clock", .words = 1},
    {"counters", 1, 0, 64, MEMBER(counters)},
    {"width", 1, 16, 64, MEMBER(width)},
    {"exit", 1, 0, 255, MEMBER(exit_status)},
    {"signal", 1, 0, 64, MEMBER(exit_signal)},
    {"late", 2, .member = MEMBER(late)},
    {"steal", 2, .member = MEMBER(steal)},
    {"steal-clock", 2, .member = MEMBER(steal_clock)},
    {"fail-read", 2, .member = MEMBER(fail_read)},
    {"fail-reading", 2, .member = MEMBER(fail_reading)},
    {"lose-samples", 2, .member = MEMBER(lose)},
    {"throttle", 1, .member = MEMBER(throttle)},
    {"seed", .words = 1},
    {"noise", .words = 1},
    {"switch", .words = -1},
    {"reading", .words = -1},
    {"default", .words = -1},
    {"phase", .words = -1},
    {"sleep", .words = -1},
    {"idle", .words = 1},
    {"repeat", .words = 1},
    {"end", .words = 0},
    {"fail", .words = 2},
    {"function", .words = -1},
    {"task", .words = -1},
};

static int set_number(struct parser *p, const struct statement *statement, const char *text)
{
    uint64_t value = 0;
    int rc = parse_number(p, statement->name, text, statement->max, &value);

    if (rc == 0 && value < statement->min)
        return wrong(p, "%s %s: must be between %d and %d bits", statement->name, text,
                     (int)statement->min, (int)statement->max);
    *(int *)(void *)((char *)p->script + statement->member) = (int)value;
    return rc;
}

static int parse_statement(struct parser *p, int count, char **word)
{
    struct sim_script *s = p->script;
    const struct statement *statement = statements, *end = statements + RPS_COUNT(statements);
    const char *name = word[0];

    while (statement < end && strcmp(statement->name, name) != 0)
        statement++;
    if (statement == end)
        return wrong(p, "unknown statement '%s'", name);
    if (statement->words >= 0 && count - 1 != statement->words)
        return wrong(p, "'%s' takes %d word%s", name, statement->words,
                     statement->words == 1 ? "" : "s");
    if (statement->max > 0)
        return set_number(p, statement, word[1]);
    if (statement->member > 0)
        return add_stretch(p, (struct sim_stretches *)(void *)((char *)s + statement->member),
                           word[1], count > 2 ? word[2] : TICK);
    if (strcmp(name, "clock") == 0)
        return parse_rate(p, word[1], &s->clock_hz);
    if (strcmp(name, "noise") == 0)
        return placed(p, rps_sim_percent("noise", word[1], NOISE_MAX_PPM, &s->noise_ppm, p->err));
    if (strcmp(name, "seed") == 0)
        return parse_number(p, "seed", word[1], UINT64_MAX, &s->seed);
    if (strcmp(name, "default") == 0)
        return parse_words(p, count - 1, word + 1, &p->initial);
    if (strcmp(name, "phase") == 0) {
        if (count < 3)
            return wrong(p, "expected: phase NAME LENGTH [EVENT=RATE...] [code=STACKS]");
        return add_phase(p, word[1], word[2], 1, count - 3, word + 3);
    }
    if (strcmp(name, "sleep") == 0 && count < 2)
        return wrong(p, "expected: sleep LENGTH [code=STACKS] [SIGNAL=VALUE...]");
    if (strcmp(name, "sleep") == 0 || strcmp(name, "idle") == 0)
        return add_phase(p, name, word[1], 0, count - 2, word + 2);
    if (strcmp(name, "repeat") == 0)
        return open_repeat(p, word[1]);
    if (strcmp(name, "end") == 0)
        return end_repeat(p);
    if (strcmp(name, "switch") == 0)
        return add_cost(p, &s->switches, name, count - 1, word + 1);
    if (strcmp(name, "reading") == 0)
        return add_cost(p, &s->readings, name, count - 1, word + 1);
    if (strcmp(name, "function") == 0)
        return placed(p, rps_sim_code_add_function(&s->code, count - 1, word + 1, p->err));
    if (strcmp(name, "task") == 0)
        return placed(p, rps_sim_code_add_task(&s->code, count - 1, word + 1, p->err));
    return set_fail(p, word + 1);
}

static int parse_script_line(struct parser *p, char *line)
{
    char *word[WORD_MAX], *save = NULL;
    int count = 0;

    line[strcspn(line, "#")] = '\0';
    for (int i = 0; i < WORD_MAX; i++)
        word[i] = line + strlen(line); /* a word that is missing becomes an empty text */
    for (char *w = strtok_r(line, " \t\r\n", &save); w; w = strtok_r(NULL, " \t\r\n", &save)) {
        if (count == WORD_MAX)
            return wrong(p, "more than %d words", WORD_MAX);
        word[count++] = w;
    }
    return count == 0 ? 0 : parse_statement(p, count, word);
}

static int check_script(struct parser *p)
{
    struct sim_script *s = p->script;
    char task_name[] = "workload", task_pid[] = "1000"; /* used if the script names no task */
    int64_t length_ns = 0;

    if (p->depth > 0) {
        p->line = p->nest[p->depth - 1].line;
        return wrong(p, "'repeat' without an 'end'");
    }
    for (size_t i = 0; i < s->order_count; i++) {
        length_ns += s->phase[s->order[i]].length_ns;
        if (length_ns > LENGTH_MAX)
            return wrong(p, "the script runs for more than a year");
    }
    if (length_ns == 0)
        return wrong(p, "the script has no phase");
    if (s->code.task_count == 0)
        return rps_sim_code_add_task(&s->code, 2, (char *[]){task_name, task_pid}, p->err);
    return 0;
}

/* Read the next line with its newline. Returns 0 at the end; negative: the line is not text. */
static int next_script_line(struct parser *p, FILE *file, char line[SCRIPT_LINE_MAX + 1])
{
    int length = 0, c;

    while (length < SCRIPT_LINE_MAX && (c = getc(file)) != EOF) {
        if (c == '\0')
            return wrong(p, "is not a text file");
        line[length++] = (char)c;
        if (c == '\n')
            break;
    }
    line[length] = '\0';
    if (length == SCRIPT_LINE_MAX && line[length - 1] != '\n')
        return wrong(p, "the line is longer than %d bytes", SCRIPT_LINE_MAX - 1);
    return length > 0;
}

static int parse_file(struct parser *p, FILE *file)
{
    char line[SCRIPT_LINE_MAX + 1];
    int rc;

    p->line = 1;
    while ((rc = next_script_line(p, file, line)) > 0 && (rc = parse_script_line(p, line)) == 0)
        p->line++;
    if (rc == 0 && ferror(file))
        rc = rps_error_set(p->err, RPS_FAILED, "cannot read the simulation script %s: %s", p->path,
                           strerror(errno));
    return rc == 0 ? check_script(p) : rc;
}

int rps_sim_script_load(const char *path, struct sim_script **ret, struct rps_error *err)
{
    struct parser p = {.path = path, .initial = {.mix = -1}, .err = err};
    FILE *file = fopen(path, "re");
    struct rps_arena *arena;
    int rc;

    p.initial.signals = (struct sim_system){
        .seen_ppm = SIM_PPM, .threads = SIM_THREADS_UNSET, .rest = -1, .runners = 1};
    if (!file && errno == ENOMEM)
        return rps_error_memory(err);
    if (!file)
        return rps_error_set(err, RPS_USAGE, "cannot open the simulation script %s: %s", path,
                             strerror(errno));
    arena = rps_arena_new();
    p.script = rps_arena_get(arena, 1, sizeof(*p.script));
    p.script->arena = p.script->code.arena = arena;
    p.script->counters = 2;
    p.script->width = 32;
    p.script->clock_hz = 700000000;
    p.script->seed = 1;
    rc = parse_file(&p, file);
    fclose(file);
    if (rc < 0) {
        rps_arena_free(arena);
        return rc;
    }
    *ret = p.script;
    return 0;
}

int rps_sim_stretches_have(const struct sim_stretches *list, int64_t time_ns)
{
    for (size_t i = 0; i < list->count && list->item[i].at_ns <= time_ns; i++)
        if (time_ns < list->item[i].at_ns + list->item[i].length_ns)
            return 1;
    return 0;
}

int64_t rps_sim_stretches_at(const struct sim_stretches *list, int64_t time_ns)
{
    int64_t length_ns = 0;

    for (size_t i = 0; i < list->count && list->item[i].at_ns <= time_ns; i++)
        length_ns = list->item[i].length_ns;
    return length_ns;
}
