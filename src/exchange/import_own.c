/*
 * Our own exports, back into a run: full gives the very run, with its uuid; wide has the counts of
 * each period but not how long they were counted, and not what the run was.
 *
 * Of a wide file the plan is made from what stands in it: the sets by their names, each with the
 * events that have a count in its rows. Columns are found by their names, so that a file may have
 * been through a spreadsheet.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "import_parts.h"
#include "rpistat/clock.h"
#include "rpistat/description.h"

#define SETS_MAX    128
#define METRICS_MAX 4096
#define NUMBER_MAX  (INT64_C(1) << 61)
#define SUMS        6

enum place {
    CPU,
    PERIOD,
    TIME,
    LENGTH,
    CYCLE,
    CYCLES,
    SET,
    ROTATION,
    CLOCK_RUNNING,
    IDLE,
    ENABLED,
    RUNNING,
    SWITCH,
    MISSED,
    ABOUT,
    PLACES,
};

static const char *const place_name[PLACES] = {
    "cpu",        "period",     "time_s",    "length_s",         "cycle",
    "cycles",     "set",        "rotation",  "clock_running_ns", "idle_ns",
    "enabled_ns", "running_ns", "switch_ns", "missed",           "about",
};

struct own {
    struct rps_import_builder *builder;
    struct rps_error *err;
    char separator;
    int is_full, has_end;
    size_t count;
    char **name; /* owned; of each column */
    size_t place[PLACES];
    char *const *cell; /* of the row */
    /* of each set, in the plan's order */
    int set_count;
    struct own_set {
        char name[RPS_NAME_SIZE];
        uint8_t *seen; /* owned; by column, of a wide file that is looked at */
        size_t slot[RPS_SLOT_MAX];
        uint64_t sum[RPS_SLOT_MAX];
    } set[SETS_MAX];
    /* of each CPU */
    size_t track_count;
    struct own_track {
        int32_t cpu;
        int has_before;
        uint64_t period, rotation, cycle, sets; /* of the row before; sets of its rotation */
        int64_t end_ns;
        uint64_t sum[SUMS];
    } * track; /* owned */
};

#define refuse(own, ...) rps_import_refuse((own)->builder, (own)->err, __VA_ARGS__)

/* --- the description -------------------------------------------------------------------------- */

static int take_member(struct own *own, const struct rps_member *member, const json_t *value,
                       void *at)
{
    const char *text = json_string_value(value);
    json_int_t number = json_integer_value(value);
    int is_text = member->kind == RPS_MEMBER_TEXT || member->kind == RPS_MEMBER_POINTER;

    if (!value || json_is_null(value))
        return 0;
    if (is_text ? !text : !json_is_integer(value))
        return refuse(own, "'%s' is not what it must be", member->name);
    switch (member->kind) {
    case RPS_MEMBER_TEXT:
        if (strlen(text) >= member->size)
            return refuse(own, "'%s' is longer than %zu bytes", member->name, member->size - 1);
        strcpy(at, text);
        break;
    case RPS_MEMBER_POINTER:
        free(*(char **)at);
        if (!(*(char **)at = strdup(text)))
            return rps_error_memory(own->err);
        break;
    case RPS_MEMBER_INT:
        if (number < INT32_MIN || number > INT32_MAX)
            return refuse(own, "'%s' is too large", member->name);
        *(int *)at = (int)number;
        break;
    case RPS_MEMBER_UINT32:
        if (number < 0 || number > UINT32_MAX)
            return refuse(own, "'%s' is too large", member->name);
        *(uint32_t *)at = (uint32_t)number;
        break;
    case RPS_MEMBER_INT64:
    case RPS_MEMBER_UINT64:
        *(int64_t *)at = number;
        break;
    }
    return 0;
}

static int take_members(struct own *own, const struct rps_member *member, const json_t *object,
                        void *of)
{
    for (; member->name; member++) {
        if (take_member(own, member, json_object_get(object, member->name),
                        (char *)of + member->offset) < 0)
            return RPS_FAILED;
    }
    return 0;
}

static int take_command(struct own *own, struct rps_run *run, const json_t *command)
{
    size_t count = json_array_size(command);
    char **argv = calloc(count + 1, sizeof(*argv));
    int result = argv ? 0 : rps_error_memory(own->err);

    for (size_t i = 0; i < count && result == 0; i++) {
        argv[i] = (char *)(uintptr_t)json_string_value(json_array_get(command, i));
        if (!argv[i])
            result = refuse(own, "'command' is no list of texts");
    }
    if (result == 0 && count > 0 && rps_run_set_command(run, (int)count, argv) < 0)
        result = rps_error_memory(own->err);
    free(argv);
    return result;
}

static int is_uuid(const char *text)
{
    return strlen(text) == 36 && strspn(text, "0123456789abcdef-") == 36;
}

static int take_run(struct own *own, json_t *object)
{
    struct rps_run *run = rps_import_run(own->builder);
    const char *key;
    json_t *value;

    if (take_members(own, rps_run_members, object, run) < 0 ||
        take_command(own, run, json_object_get(object, "command")) < 0)
        return RPS_FAILED;
    json_object_foreach(json_object_get(object, "tags"), key, value)
    {
        if (!json_is_string(value))
            return refuse(own, "the tag '%.60s' is no text", key);
        if (rps_run_add_tag(run, key, json_string_value(value)) < 0)
            return rps_error_memory(own->err);
    }
    if (run->state != RPS_RUN_COMPLETE)
        run->state = RPS_RUN_INTERRUPTED;
    return is_uuid(run->uuid) ? 0 : refuse(own, "'%.60s' is no uuid", run->uuid);
}

static int take_plan(struct own *own, json_t *object)
{
    return take_members(own, rps_plan_members, object, rps_import_plan(own->builder));
}

static int take_event_members(struct own *own, json_t *object, struct rps_event *event)
{
    if (take_members(own, rps_event_members, object, event) < 0)
        return RPS_FAILED;
    if ((int)event->state < RPS_EVENT_MEASURED || event->state > RPS_EVENT_NOT_PERMITTED ||
        !event->name[0])
        return refuse(own, "an event has no name, or a state that is none");
    return 0;
}

static int take_clock(struct own *own, json_t *object)
{
    return take_event_members(own, object, &rps_import_plan(own->builder)->clock);
}

static int take_set(struct own *own, json_t *object)
{
    struct rps_plan *plan = rps_import_plan(own->builder);
    struct rps_event_set *set;

    if (plan->set_count == SETS_MAX)
        return refuse(own, "there are more than %d event sets", SETS_MAX);
    set = rps_plan_add_set(plan);
    return set ? take_members(own, rps_set_members, object, set) : rps_error_memory(own->err);
}

static int take_event(struct own *own, json_t *object)
{
    struct rps_plan *plan = rps_import_plan(own->builder);
    struct rps_event_set *set = plan->set_count > 0 ? &plan->set[plan->set_count - 1] : NULL;

    if (!set || set->event_count == RPS_SLOT_MAX)
        return refuse(own, "an event set has more than %d events", RPS_SLOT_MAX);
    return take_event_members(own, object, &set->event[set->event_count++]);
}

static int take_metric(struct own *own, json_t *object)
{
    struct rps_plan *plan = rps_import_plan(own->builder);
    struct rps_metric *metric;

    if (plan->metric_count == METRICS_MAX)
        return refuse(own, "there are more than %d metrics", METRICS_MAX);
    metric = rps_plan_add_metric(plan);
    if (!metric)
        return rps_error_memory(own->err);
    if (take_members(own, rps_metric_members, object, metric) < 0)
        return RPS_FAILED;
    for (int m = 0; m + 1 < plan->metric_count; m++) {
        if (strcmp(plan->metric[m].name, metric->name) == 0)
            return refuse(own, "there are two metrics '%.60s'", metric->name);
    }
    return 0;
}

static int take_note(struct own *own, const json_t *object, int is_gap)
{
    json_int_t start_ns = json_integer_value(json_object_get(object, "start_ns"));
    json_int_t length_ns = json_integer_value(json_object_get(object, "length_ns"));
    json_int_t cpu = json_integer_value(json_object_get(object, "cpu"));
    const char *text = json_string_value(json_object_get(object, "text"));

    if (start_ns < 0 || start_ns > NUMBER_MAX || length_ns < 0 || length_ns > NUMBER_MAX ||
        cpu < RPS_CPU_ALL || cpu > INT32_MAX || !text)
        return refuse(own, "a %s has numbers that cannot be", is_gap ? "gap" : "mark");
    if (is_gap)
        rps_import_gap(own->builder, (int32_t)cpu, start_ns, length_ns, text);
    else
        rps_import_mark(own->builder, start_ns, text);
    return 0;
}

static int take_mark(struct own *own, json_t *object)
{
    return take_note(own, object, 0);
}

static int take_gap(struct own *own, json_t *object)
{
    return take_note(own, object, 1);
}

static int take_end(struct own *own, json_t *object)
{
    (void)object;
    own->has_end = 1;
    return 0;
}

static int take_about(struct own *own, const char *text)
{
    static const struct {
        const char *name;
        int (*take)(struct own *own, json_t *object);
        int is_plan; /* 1: of what is kept when the file was looked at */
    } kinds[] = {
        {"run", take_run, 0},   {"plan", take_plan, 1},   {"clock", take_clock, 1},
        {"set", take_set, 1},   {"event", take_event, 1}, {"metric", take_metric, 1},
        {"mark", take_mark, 0}, {"gap", take_gap, 0},     {"end", take_end, 0},
    };
    json_error_t why;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &why), *value = NULL;
    int result = RPS_FAILED;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !value; i++) {
        value = json_object_get(object, kinds[i].name);
        if (json_is_object(value))
            result =
                kinds[i].is_plan && !rps_import_looks(own->builder) ? 0 : kinds[i].take(own, value);
    }
    if (!object)
        refuse(own, "what stands in the column about is no JSON: %.100s", why.text);
    else if (!json_is_object(value))
        refuse(own, "what stands in the column about is nothing that a run has");
    json_decref(object);
    return result;
}

/* --- sets ------------------------------------------------------------------------------------- */

/* `time`, the clock on the wall, is behind time_s; another one is an event's. */
static int is_event_column(const struct own *own, size_t c)
{
    for (int p = 0; p < PLACES; p++) {
        if (own->place[p] == c)
            return 0;
    }
    return strcmp(own->name[c], "run") != 0 &&
           (strcmp(own->name[c], "time") != 0 || c != own->place[TIME] + 1);
}

/* Is it the name of a column that is no event's? An event NAME then has the column NAME_event. */
static int is_own_name(const struct own *own, const char *name)
{
    for (size_t c = 0; c < own->count; c++) {
        if (!is_event_column(own, c) && strcmp(own->name[c], name) == 0)
            return 1;
    }
    return 0;
}

static size_t find_column(const struct own *own, const char *name)
{
    char wanted[RPS_NAME_SIZE + 16];
    size_t c = 0;

    snprintf(wanted, sizeof(wanted), "%s%s", name, is_own_name(own, name) ? "_event" : "");
    while (c < own->count && (!is_event_column(own, c) || strcmp(own->name[c], wanted) != 0))
        c++;
    return c;
}

/* The plan is there: where the counts of its sets are. */
static int map_sets(struct own *own)
{
    const struct rps_plan *plan = rps_import_plan(own->builder);

    own->set_count = plan->set_count;
    for (int n = 0; n < plan->set_count; n++) {
        snprintf(own->set[n].name, sizeof(own->set[n].name), "%s", plan->set[n].name);
        for (int s = 0; s < plan->set[n].event_count; s++) {
            const char *name = plan->set[n].event[s].name;

            own->set[n].slot[s] = find_column(own, name);
            if (own->set[n].slot[s] == own->count)
                return refuse(own, "there is no column for the event '%.60s'", name);
        }
    }
    return 0;
}

/* The number of the row's set, which a wide file that is looked at may bring. */
static int find_set(struct own *own, const char *name, uint32_t *ret)
{
    struct own_set *set = &own->set[own->set_count];

    for (int n = 0; n < own->set_count; n++) {
        if (strcmp(own->set[n].name, name) == 0) {
            *ret = (uint32_t)n;
            return 0;
        }
    }
    if (own->is_full || !rps_import_looks(own->builder) || !name[0] ||
        strlen(name) >= sizeof(set->name))
        return refuse(own, "there is no event set '%.60s'", name);
    if (own->set_count == SETS_MAX)
        return refuse(own, "there are more than %d event sets", SETS_MAX);
    strcpy(set->name, name);
    if (!(set->seen = calloc(own->count, 1)))
        return rps_error_memory(own->err);
    *ret = (uint32_t)own->set_count++;
    return 0;
}

/* The event whose counts are in a column. */
static void name_event(const struct own *own, const char *column, struct rps_event *ret)
{
    char name[RPS_NAME_SIZE];
    size_t length = strlen(column);

    snprintf(name, sizeof(name), "%.*s", length > 6 ? (int)length - 6 : 0, column);
    if (!is_own_name(own, name) || strcmp(column + length - 6, "_event") != 0)
        snprintf(name, sizeof(name), "%s", column);
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->spec, sizeof(ret->spec), "%s", name);
    snprintf(ret->label, sizeof(ret->label), "%s", name);
    snprintf(ret->unit, sizeof(ret->unit), "events");
}

/* What a wide file comes to, of which all rows were looked at. */
static int make_plan(struct own *own)
{
    struct rps_plan *plan = rps_import_plan(own->builder);

    snprintf(plan->clock.name, sizeof(plan->clock.name), "clock");
    snprintf(plan->clock.label, sizeof(plan->clock.label), "Clock event");
    for (int n = 0; n < own->set_count; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        if (!set)
            return rps_error_memory(own->err);
        strcpy(set->name, own->set[n].name);
        for (size_t c = 0; c < own->count; c++) {
            if (!own->set[n].seen[c])
                continue;
            if (set->event_count == RPS_SLOT_MAX)
                return refuse(own, "the event set '%s' has more than %d events", set->name,
                              RPS_SLOT_MAX);
            name_event(own, own->name[c], &set->event[set->event_count++]);
        }
    }
    return 0;
}

/* --- periods ---------------------------------------------------------------------------------- */

static const char *text_at(const struct own *own, enum place place)
{
    return own->place[place] < own->count ? own->cell[own->place[place]] : "";
}

static int take_number(struct own *own, const char *text, const char *name, uint64_t most,
                       uint64_t *ret)
{
    size_t length = strlen(text);

    if (length == 0 || length > 19 || strspn(text, "0123456789") != length ||
        (*ret = strtoull(text, NULL, 10)) > most)
        return refuse(own, "'%.40s' in the column '%.60s' is no count", text, name);
    return 0;
}

static int number_at(struct own *own, enum place place, uint64_t *ret)
{
    return take_number(own, text_at(own, place), place_name[place], NUMBER_MAX, ret);
}

static int time_at(struct own *own, enum place place, int64_t *ret)
{
    const char *text = text_at(own, place);

    if ((rps_import_decimal(text, '.', RPS_NS_PER_S, ret) ||
         rps_import_decimal(text, ',', RPS_NS_PER_S, ret)) &&
        *ret <= NUMBER_MAX)
        return 0;
    return refuse(own, "'%.40s' in the column '%s' is no time", text, place_name[place]);
}

static struct own_track *find_track(struct own *own, int32_t cpu)
{
    struct own_track *grown;

    for (size_t i = 0; i < own->track_count; i++) {
        if (own->track[i].cpu == cpu)
            return &own->track[i];
    }
    grown = realloc(own->track, (own->track_count + 1) * sizeof(*grown));
    if (!grown) {
        rps_error_memory(own->err);
        return NULL;
    }
    own->track = grown;
    grown[own->track_count] = (struct own_track){.cpu = cpu};
    return &grown[own->track_count++];
}

/* What full has and wide has not. */
static int take_full(struct own *own, struct rps_period *period)
{
    uint64_t idle_ns = 0, switch_ns = 0, missed = 0;

    if (number_at(own, ROTATION, &period->rotation) < 0 ||
        number_at(own, CLOCK_RUNNING, &period->clock_running_ns) < 0 ||
        number_at(own, ENABLED, &period->enabled_ns) < 0 ||
        number_at(own, RUNNING, &period->running_ns) < 0 ||
        number_at(own, SWITCH, &switch_ns) < 0 || number_at(own, MISSED, &missed) < 0)
        return RPS_FAILED;
    if (text_at(own, IDLE)[0] == '\0')
        period->idle_ns = -1;
    else if (number_at(own, IDLE, &idle_ns) < 0)
        return RPS_FAILED;
    else
        period->idle_ns = (int64_t)idle_ns;
    period->switch_ns = (int64_t)switch_ns;
    period->missed = missed < UINT32_MAX ? (uint32_t)missed : UINT32_MAX;
    return 0;
}

/* As well as can be told: the workload slept where the clock stood still, else all was counted for
 * the whole of its period, and a rotation ends before a set comes again. */
static void guess_full(const struct own_track *track, struct rps_period *period)
{
    uint64_t bit = UINT64_C(1) << (period->set_no % 64);

    period->enabled_ns = period->cycles > 0 ? (uint64_t)period->length_ns : 0;
    period->running_ns = period->enabled_ns;
    period->clock_running_ns = period->enabled_ns;
    period->idle_ns = period->cpu >= 0 ? -1 : 0;
    period->rotation = track->rotation + (track->has_before && (track->sets & bit) != 0);
}

static int take_counts(struct own *own, struct rps_period *period)
{
    struct own_set *set = &own->set[period->set_no];
    const struct rps_plan *plan = rps_import_plan(own->builder);
    uint64_t count;

    if (set->seen) { /* which events the set has is not known yet */
        for (size_t c = 0; c < own->count; c++) {
            if (!is_event_column(own, c) || !own->cell[c][0])
                continue;
            if (take_number(own, own->cell[c], own->name[c], NUMBER_MAX, &count) < 0)
                return RPS_FAILED;
            set->seen[c] = 1;
        }
        return 0;
    }
    for (int s = 0; s < plan->set[period->set_no].event_count; s++) {
        const char *text = own->cell[set->slot[s]];

        if (!text[0])
            continue;
        if (take_number(own, text, own->name[set->slot[s]], NUMBER_MAX, &period->count[s]) < 0)
            return RPS_FAILED;
        period->counted |= UINT32_C(1) << s;
        set->sum[s] += period->count[s];
        if (set->sum[s] > INT64_MAX)
            return refuse(own, "the counts of '%.60s' are too many", own->name[set->slot[s]]);
    }
    if (!own->is_full && !period->counted)
        period->running_ns = 0;
    return 0;
}

/* What the store adds up must not become too large. */
static int add_up(struct own *own, struct own_track *track, const struct rps_period *period)
{
    const uint64_t number[SUMS] = {period->cycles,
                                   period->clock_running_ns,
                                   period->enabled_ns,
                                   period->running_ns,
                                   (uint64_t)period->switch_ns,
                                   period->idle_ns > 0 ? (uint64_t)period->idle_ns : 0};

    for (int i = 0; i < SUMS; i++) {
        track->sum[i] += number[i];
        if (track->sum[i] > NUMBER_MAX)
            return refuse(own, "the cycles or times of all periods up to there are too large");
    }
    return 0;
}

/* Does the period follow the one before it? */
static int check_order(struct own *own, struct own_track *track, const struct rps_period *period)
{
    uint64_t bit = UINT64_C(1) << (period->set_no % 64);

    if (track->has_before &&
        (period->period <= track->period || period->rotation < track->rotation ||
         period->cycle < track->cycle || period->start_ns + RPS_NS_PER_US < track->end_ns))
        return refuse(own, "the period %llu does not follow the one before it",
                      (unsigned long long)period->period);
    track->sets =
        track->has_before && period->rotation == track->rotation ? track->sets | bit : bit;
    track->period = period->period;
    track->rotation = period->rotation;
    track->cycle = period->cycle;
    track->end_ns = period->start_ns + period->length_ns;
    track->has_before = 1;
    return 0;
}

static int take_period(struct own *own)
{
    struct rps_period period = {.cpu = RPS_CPU_ALL};
    struct own_track *track;
    uint64_t cpu = 0;

    if (strcmp(text_at(own, CPU), "-1") != 0) {
        if (number_at(own, CPU, &cpu) < 0 || cpu > INT32_MAX)
            return cpu > INT32_MAX ? refuse(own, "a CPU of that number cannot be") : RPS_FAILED;
        period.cpu = (int32_t)cpu;
    }
    if (number_at(own, PERIOD, &period.period) < 0 || time_at(own, TIME, &period.start_ns) < 0 ||
        time_at(own, LENGTH, &period.length_ns) < 0 || number_at(own, CYCLE, &period.cycle) < 0 ||
        number_at(own, CYCLES, &period.cycles) < 0 ||
        find_set(own, text_at(own, SET), &period.set_no) < 0 ||
        !(track = find_track(own, period.cpu)))
        return RPS_FAILED;
    if (!own->is_full)
        guess_full(track, &period);
    else if (take_full(own, &period) < 0)
        return RPS_FAILED;
    if (take_counts(own, &period) < 0 || check_order(own, track, &period) < 0 ||
        add_up(own, track, &period) < 0)
        return RPS_FAILED;
    return rps_import_period(own->builder, &period, own->err);
}

/* --- the file --------------------------------------------------------------------------------- */

static int take_header(struct own *own, char *const *cell, size_t count)
{
    own->count = count;
    own->name = calloc(count, sizeof(*own->name));
    if (!own->name)
        return rps_error_memory(own->err);
    for (int p = 0; p < PLACES; p++)
        own->place[p] = count;
    for (size_t c = 0; c < count; c++) {
        if (!(own->name[c] = strdup(cell[c])))
            return rps_error_memory(own->err);
        for (int p = 0; p < PLACES; p++) {
            if (own->place[p] == count && strcmp(cell[c], place_name[p]) == 0)
                own->place[p] = c;
        }
    }
    own->is_full = own->place[ABOUT] < count;
    for (int p = ROTATION; p < PLACES && !own->is_full; p++)
        own->place[p] = count; /* of wide such a column is an event's */
    for (int p = 0; p < (own->is_full ? PLACES : ROTATION); p++) {
        if (own->place[p] == count)
            return refuse(own,
                          "it has no column '%s': of rpistat's exports the formats full and wide, "
                          "which have a row a period, can be imported",
                          place_name[p]);
    }
    return own->is_full || rps_import_looks(own->builder) ? 0 : map_sets(own);
}

static int take_row(struct own *own, char *const *cell, size_t count)
{
    const struct rps_plan *plan = rps_import_plan(own->builder);

    if (!own->name)
        return take_header(own, cell, count);
    if (count != own->count)
        return refuse(own, "the row has %zu cells, and the first has %zu", count, own->count);
    own->cell = cell;
    if (text_at(own, ABOUT)[0])
        return take_about(own, text_at(own, ABOUT));
    if (own->is_full && own->set_count == 0 && plan->set_count > 0 && map_sets(own) < 0)
        return RPS_FAILED;
    return take_period(own);
}

static int check_sets(struct own *own)
{
    const struct rps_plan *plan = rps_import_plan(own->builder);

    for (int n = 0; n < plan->set_count; n++) {
        if (plan->set[n].event_count == 0)
            return refuse(own, "the event set '%.60s' has no events%s", plan->set[n].name,
                          own->is_full ? "" : " with counts; in --format full it has");
    }
    return 0;
}

/* All rows were looked at. */
static int conclude(struct own *own)
{
    struct rps_run *run = rps_import_run(own->builder);
    struct rps_plan *plan = rps_import_plan(own->builder);
    int64_t end_ns = own->builder->end_ns;

    if (!rps_import_looks(own->builder))
        return 0;
    if (own->is_full && !own->has_end)
        return refuse(own, "the file was cut off: the row that ends it is missing");
    if ((!own->is_full && make_plan(own) < 0) || check_sets(own) < 0)
        return RPS_FAILED;
    if ((own->is_full ? rps_plan_compile(plan, own->err) : rps_plan_add_rates(plan, own->err)) < 0)
        return rps_error_prefix(own->err, RPS_FAILED, "%s", own->builder->path);
    if (!own->is_full) {
        rps_import_note(own->builder,
                        "%s has neither the times in which events were counted nor what the run "
                        "was: 'rpistat export --format full' has all",
                        own->builder->path);
        return 0;
    }
    if (run->elapsed_ns < end_ns)
        run->elapsed_ns = end_ns;
    return run->uuid[0] ? 0 : refuse(own, "nothing says what run it is");
}

static int read_own(struct rps_import_builder *builder, const struct rps_import_options *options,
                    struct rps_error *err)
{
    struct own *own = calloc(1, sizeof(*own));
    const char *head = rps_import_head(builder);
    char *const *cell;
    size_t count;
    int result;

    (void)options;
    if (!own)
        return rps_error_memory(err);
    own->builder = builder;
    own->err = err;
    own->separator = head[3]; /* "run," */
    while ((result = rps_import_cells(builder, own->separator, &cell, &count, err)) > 0 &&
           (result = take_row(own, cell, count)) == 0)
        ;
    if (result == 0)
        result = conclude(own);
    for (size_t c = 0; own->name && c < own->count; c++)
        free(own->name[c]);
    for (int n = 0; n < own->set_count; n++)
        free(own->set[n].seen);
    free(own->name);
    free(own->track);
    free(own);
    return result;
}

static int recognises(const char *head)
{
    return strncmp(head, "run", 3) == 0 && head[3] != '\0' && strncmp(head + 4, "cpu", 3) == 0 &&
           head[7] == head[3] && strchr(",;\t|:", head[3]) != NULL;
}

const struct rps_import_format rps_import_own = {
    .name = "rpistat",
    .recognises = recognises,
    .read = read_own,
};
