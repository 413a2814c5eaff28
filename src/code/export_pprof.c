/* Exports samples for pprof, as a message Profile of profile.proto in protobuf's wire format. The
 * message's fields may be in any order, so they are written as soon as they are known.
 *
 * Each entry has two values: the number of samples, and the time (for samples by frequency) or the
 * events that these samples represent. Each entry is labelled with its phase. Addresses are offsets
 * in files, as in the store. Mappings are marked as symbolized, because otherwise pprof would
 * search for symbols itself, at wrong addresses. */
#include <stdlib.h>
#include <string.h>

#include "timeline.h"
#include "rpistat/clock.h"
#include "rpistat/protobuf.h"
#include "rpistat/run_code.h"
#include "rpistat/text.h"

/* Field numbers, message by message. */
enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRING,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
    MAPPING_ID = 1,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_FUNCTIONS,
    MAPPING_FILES,
    MAPPING_LINES,
    MAPPING_INLINED
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

/* --- a profile -------------------------------------------------------------------------------- */

struct profile {
    struct rps_export_job *job;
    const struct rps_export_code *of;
    struct rps_protobuf field, inner; /* Outer and inner message, emptied when written. */
    uint64_t string_count;
    uint8_t *frame_used; /* 1 for each used frame; the last element is the unknown frame. */
    size_t *function;    /* Number of the function of each location, from 1. */
    uint64_t phase_key;
    int failed;
};

static void write_field(struct profile *profile, uint64_t field)
{
    struct rps_protobuf head = {0};

    rps_protobuf_varint(&head, field << 3 | 2);
    rps_protobuf_varint(&head, profile->field.size);
    fwrite(head.data, 1, head.size, profile->job->out);
    if (profile->field.size > 0)
        fwrite(profile->field.data, 1, profile->field.size, profile->job->out);
    profile->failed |= profile->field.failed | head.failed;
    profile->field.size = 0;
    free(head.data);
}

static void write_number(struct profile *profile, uint64_t field, uint64_t value)
{
    struct rps_protobuf number = {0};

    rps_protobuf_number(&number, field, value);
    fwrite(number.data, 1, number.size, profile->job->out);
    profile->failed |= number.failed;
    free(number.data);
}

/* Write a text to the string table. Return its number. */
static uint64_t write_string(struct profile *profile, const char *text)
{
    /* pprof prints the text unchanged. */
    const char *valid =
        rps_text_harmless(rps_arena_get(profile->job->arena, strlen(text) + 1, 3), text);

    rps_protobuf_bytes(&profile->field, valid, strlen(valid));
    write_field(profile, PROFILE_STRING);
    return profile->string_count++;
}

static void write_type(struct profile *profile, uint64_t field, const char *type, const char *unit)
{
    uint64_t type_string = write_string(profile, type), unit_string = write_string(profile, unit);

    rps_protobuf_number(&profile->field, TYPE_TYPE, type_string);
    rps_protobuf_number(&profile->field, TYPE_UNIT, unit_string);
    write_field(profile, field);
}

/* Return the second value of a sample: ns, or the number of events per sample (the threshold). */
static uint64_t sample_weight(const struct rps_export_code *of)
{
    const struct rps_sampling *sampling = &of->code->sampling;

    return of->part->latency         ? 1000 /* ns per us */
           : sampling->frequency > 0 ? RPS_NS_PER_S / sampling->frequency
                                     : sampling->threshold;
}

static void write_head(struct profile *profile)
{
    const struct rps_sampling *sampling = &profile->of->code->sampling;
    const struct rps_run *run = profile->job->run;
    const int is_latency = profile->of->part->latency != NULL;
    const char *type = is_latency ? "latency" : sampling->frequency > 0 ? "time" : sampling->event;
    const char *unit = sampling->frequency > 0 ? "nanoseconds" : "count";

    write_string(profile, ""); /* String number 0 must be the empty string. */
    write_type(profile, PROFILE_TYPE, is_latency ? "weight" : "samples",
               is_latency ? "microseconds" : "count");
    write_type(profile, PROFILE_TYPE, type, unit);
    write_type(profile, PROFILE_PERIOD_TYPE, type, unit);
    write_number(profile, PROFILE_PERIOD, sample_weight(profile->of));
    if (run->start_realtime_ns > 0)
        write_number(profile, PROFILE_TIME, (uint64_t)run->start_realtime_ns);
    if (run->elapsed_ns > 0)
        write_number(profile, PROFILE_DURATION, (uint64_t)run->elapsed_ns);
    profile->phase_key = write_string(profile, "phase");
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Write the samples of a stack. phase: string number of the phase's label, or 0 for none. */
static void write_sample(struct profile *profile, size_t stack, uint64_t samples, uint64_t phase)
{
    const struct rps_code *code = profile->of->code;

    for (int64_t s = (int64_t)stack; s >= 0; s = code->stack[s].parent) {
        size_t frame = code->stack[s].frame < 0 ? code->frame_count : (size_t)code->stack[s].frame;

        rps_protobuf_varint(&profile->inner, frame + 1);
        profile->frame_used[frame] = 1;
    }
    rps_protobuf_message(&profile->field, SAMPLE_LOCATION, &profile->inner);
    rps_protobuf_varint(&profile->inner, samples);
    rps_protobuf_varint(&profile->inner, samples * sample_weight(profile->of));
    rps_protobuf_message(&profile->field, SAMPLE_VALUE, &profile->inner);
    if (phase > 0) {
        rps_protobuf_number(&profile->inner, LABEL_KEY, profile->phase_key);
        rps_protobuf_number(&profile->inner, LABEL_TEXT, phase);
        rps_protobuf_message(&profile->field, SAMPLE_LABEL, &profile->inner);
    }
    write_field(profile, PROFILE_SAMPLE);
}

static void write_samples(struct profile *profile, const uint64_t *samples, const char *label)
{
    uint64_t phase = label ? write_string(profile, label) : 0;

    for (size_t s = 0; s < profile->of->code->stack_count; s++) {
        if (samples[s] > 0)
            write_sample(profile, s, samples[s], phase);
    }
}

/* Count how often each stack was seen in a part of the run. */
static int count(const struct profile *profile, struct rps_arena *arena,
                 const struct rps_run_part *part, uint64_t **ret, struct rps_error *err)
{
    const struct rps_export_code *of = profile->of;
    struct rps_code_counts counts = {0};
    int result = rps_code_counts_read(arena, &counts, profile->job->reader,
                                      profile->job->run->run_id, part, of->cpus, of->code, 0, err);

    *ret = counts.id;
    return result;
}

/* Write the samples of a phase label, and subtract them from `rest`. */
static int write_label(struct profile *profile, const struct rps_phases *phases, int label,
                       uint64_t *rest, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_part part = {0};
    char name[RPS_PHASE_LABEL_SIZE];
    uint64_t *unit;
    int result = rps_run_part_choose(
        arena, profile->job->reader, profile->job->run->run_id,
        &(struct rps_part_choice){
            .to_ns = INT64_MAX, .phase = rps_phase_label(label, name), .phases = phases},
        &part, err);

    part = rps_run_part_both(arena, &part, profile->of->part);
    if (result == 0)
        result = count(profile, arena, &part, &unit, err);
    if (result == 0) {
        for (size_t s = 0; s < profile->of->code->stack_count; s++)
            rest[s] -= unit[s] < rest[s] ? unit[s] : rest[s];
        write_samples(profile, unit, name);
    }
    rps_arena_free(arena);
    return result;
}

static int write_labels(struct profile *profile, struct rps_error *err)
{
    const struct rps_phases *phases = profile->job->phases;
    uint64_t *rest;
    int result = count(profile, profile->job->arena, profile->of->part, &rest, err);

    for (int label = 0; phases && label < phases->label_count && result == 0; label++)
        result = write_label(profile, phases, label, rest, err);
    if (result == 0)
        write_samples(profile, rest, NULL);
    return result;
}

/* --- functions and mappings ------------------------------------------------------------------- */

static int by_function(const void *a, const void *b, void *context)
{
    const struct rps_code *code = context;
    const struct rps_location *x = &code->location[*(const size_t *)a];
    const struct rps_location *y = &code->location[*(const size_t *)b];
    int order = strcmp(x->function, y->function);

    return order ? order : strcmp(x->file, y->file);
}

/* Write one function per combination of name and file. Set profile->function for each location. */
static void write_functions(struct profile *profile)
{
    const struct rps_code *code = profile->of->code;
    struct rps_arena *arena = profile->job->arena;
    size_t *order = rps_arena_get(arena, code->location_count, sizeof(*order)), number = 0;

    profile->function = rps_arena_get(arena, code->location_count, sizeof(*profile->function));
    for (size_t i = 0; i < code->location_count; i++)
        order[i] = i;
    qsort_r(order, code->location_count, sizeof(*order), by_function, (void *)code);
    for (size_t i = 0; i < code->location_count; i++) {
        const struct rps_location *at = &code->location[order[i]];

        if (i == 0 || by_function(&order[i - 1], &order[i], (void *)code) != 0) {
            uint64_t name = write_string(profile, at->function);
            uint64_t file = at->file[0] ? write_string(profile, at->file) : 0;

            rps_protobuf_number(&profile->field, FUNCTION_ID, ++number);
            rps_protobuf_number(&profile->field, FUNCTION_NAME, name);
            rps_protobuf_number(&profile->field, FUNCTION_SYSTEM_NAME, name);
            rps_protobuf_number(&profile->field, FUNCTION_FILE, file);
            write_field(profile, PROFILE_FUNCTION);
        }
        profile->function[order[i]] = number;
    }
}

/* Write a frame as a location. *at: index of the frame's first function in code->location; set to
 * the index after the frame's last function. */
static void write_location(struct profile *profile, size_t frame, size_t *at)
{
    const struct rps_code *code = profile->of->code;

    rps_protobuf_number(&profile->field, LOCATION_ID, frame + 1);
    if (frame < code->frame_count) {
        rps_protobuf_number(&profile->field, LOCATION_MAPPING,
                            (uint64_t)(code->frame[frame].module + 1));
        rps_protobuf_number(&profile->field, LOCATION_ADDRESS, code->frame[frame].address);
    }
    for (; *at < code->location_count && code->location[*at].frame == (int64_t)frame; ++*at) {
        if (code->location[*at].how == RPS_LOCATION_NONE)
            continue;
        rps_protobuf_number(&profile->inner, LINE_FUNCTION, profile->function[*at]);
        rps_protobuf_number(&profile->inner, LINE_LINE, (uint64_t)code->location[*at].line);
        rps_protobuf_message(&profile->field, LOCATION_LINE, &profile->inner);
    }
    write_field(profile, PROFILE_LOCATION);
}

static void write_locations(struct profile *profile)
{
    const struct rps_code *code = profile->of->code;
    size_t at = 0;

    for (size_t f = 0; f <= code->frame_count; f++) {
        while (at < code->location_count && code->location[at].frame < (int64_t)f)
            at++;
        if (profile->frame_used[f])
            write_location(profile, f, &at);
    }
}

static void write_mappings(struct profile *profile)
{
    const struct rps_code *code = profile->of->code;

    for (size_t m = 0; m < code->module_count; m++) {
        uint64_t path = write_string(profile, code->module[m].path);
        uint64_t build_id = write_string(profile, code->module[m].build_id);

        rps_protobuf_number(&profile->field, MAPPING_ID, m + 1);
        rps_protobuf_number(&profile->field, MAPPING_LIMIT, INT64_MAX);
        rps_protobuf_number(&profile->field, MAPPING_FILE, path);
        rps_protobuf_number(&profile->field, MAPPING_BUILD_ID, build_id);
        for (uint64_t has = MAPPING_FUNCTIONS; has <= MAPPING_INLINED; has++)
            rps_protobuf_number(&profile->field, has, 1);
        write_field(profile, PROFILE_MAPPING);
    }
}

static int write_pprof(struct rps_export_job *job, const struct rps_export_code *of,
                       struct rps_error *err)
{
    struct profile profile = {.job = job, .of = of};
    int result;

    profile.frame_used = rps_arena_get(job->arena, of->code->frame_count + 1, 1);
    write_head(&profile);
    result = write_labels(&profile, err);
    if (result == 0) {
        write_functions(&profile);
        write_locations(&profile);
        write_mappings(&profile);
    }
    if (profile.failed)
        rps_arena_exhausted();
    rps_protobuf_free(&profile.field);
    rps_protobuf_free(&profile.inner);
    return result;
}

static int pprof_part(struct rps_export_job *job, const struct rps_part_choice *choice,
                      const struct rps_cpus *cpus, struct rps_error *err)
{
    return rps_export_code(job, choice, cpus, write_pprof, err);
}

const struct rps_export_format rps_export_pprof = {
    .name = "pprof",
    .own_form = 1,
    .phases = 1,
    .part = pprof_part,
    .is_binary = 1,
};
