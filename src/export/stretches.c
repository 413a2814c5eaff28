/* Data of a run in addition to its periods: its phases, regions and marks. */
#include "rpistat/export.h"

#include "rpistat/profile.h"
#include "rpistat/run_regions.h"

struct finding {
    struct rps_arena *arena;
    int64_t from_ns, to_ns;
    struct rps_export_stretches *ret;
};

/* Add the part that is in the time range. */
static void add(const struct finding *finding, const char *track, const char *name,
                int64_t start_ns, int64_t end_ns)
{
    struct rps_export_stretches *ret = finding->ret;
    struct rps_export_stretch stretch = {track, name,
                                         start_ns > finding->from_ns ? start_ns : finding->from_ns,
                                         end_ns < finding->to_ns ? end_ns : finding->to_ns};

    if (stretch.start_ns > stretch.end_ns ||
        (stretch.start_ns == stretch.end_ns && start_ns != end_ns))
        return;
    ret->stretch = rps_arena_grow(finding->arena, ret->stretch, ret->count, sizeof(*ret->stretch));
    ret->stretch[ret->count++] = stretch;
}

static int add_phases(const struct finding *finding, const struct rps_export_job *job,
                      const struct rps_cpus *cpus, struct rps_error *err)
{
    const struct rps_phases *phases = job->phases;
    char label[RPS_PHASE_LABEL_SIZE];
    struct rps_part_shares shares;
    struct rps_profile profile;
    int result = rps_part_shares_of_labels(finding->arena, job->reader, job->run->run_id, phases,
                                           cpus, &shares, err);

    if (result >= 0)
        result = rps_profile_run(finding->arena, job->reader, job->run->run_id, 0, INT64_MAX, cpus,
                                 phases, &profile, err);
    if (result < 0)
        return result;
    rps_profile_code(&profile, &shares);
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        const char *name = rps_phase_label(phase->label, label);
        const char *called = profile.label[phase->label].code;

        name = called[0] ? rps_arena_print(finding->arena, "%s (%s)", name, called)
                         : rps_arena_text(finding->arena, name);
        add(finding, "Phases", name, phase->start_ns, phase->end_ns);
    }
    return 0;
}

static void add_regions(const struct finding *finding, const struct rps_run_regions *regions)
{
    for (size_t i = 0; i < regions->count; i++) {
        const struct rps_run_region *region = &regions->region[i];
        const char *name = rps_arena_text(finding->arena, region->name);
        const char *track = rps_arena_print(finding->arena, "Region %s", name);

        for (size_t s = 0; s < region->spans.count; s++)
            add(finding, track, name, region->spans.span[s].start_ns, region->spans.span[s].end_ns);
    }
}

static void add_marks(const struct finding *finding, const struct rps_notes *marks)
{
    for (size_t i = 0; i < marks->count; i++) {
        const struct rps_note *mark = &marks->note[i];

        if (!rps_run_regions_is_mark(mark->text))
            add(finding, "Marks", rps_arena_text(finding->arena, mark->text), mark->start_ns,
                mark->start_ns);
    }
}

int rps_export_stretches_find(const struct rps_export_job *job, int64_t from_ns, int64_t to_ns,
                              const struct rps_cpus *cpus, struct rps_export_stretches *ret,
                              struct rps_error *err)
{
    const struct finding finding = {job->arena, from_ns, to_ns, ret};
    struct rps_run_regions regions;
    struct rps_notes marks = {0};
    int result = rps_reader_marks(job->reader, job->run->run_id, &marks, err);

    *ret = (struct rps_export_stretches){0};
    if (result == 0 && job->phases)
        result = add_phases(&finding, job, cpus, err);
    if (result == 0) {
        regions = rps_run_regions_find(job->arena, &marks, from_ns, to_ns);
        add_regions(&finding, &regions);
        add_marks(&finding, &marks);
    }
    rps_notes_free(&marks);
    return result;
}
