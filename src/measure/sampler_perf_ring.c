/* perf_event: read the rings. All samples have the same format, so that every record has its time
 * at a known position. Hence the rings can be merged in order of time by comparing their first
 * records. Only records that wrap around the end of a ring are copied. */
#include "sampler_perf.h"

#include <linux/perf_event.h>
#include <math.h>
#include <string.h>

#include "rpistat/arena.h"

#if defined(__x86_64__) || defined(__aarch64__) || defined(__arm__)
#include <asm/perf_regs.h>
#endif

/* Size of the data at the end of each record except samples (sample_id_all): ids, time, CPU. */
#define TRAILER_BYTES 24

/* Offset of pid and tid in a sample. Order: header, address, pid and tid, time, CPU. */
#define SAMPLE_TASK  16
#define SAMPLE_TIME  24
#define SAMPLE_BYTES 40

/* Maximum size of a record for a map with the longest path. The smallest ring is larger. */
#define HEARD_BYTES_MAX ((size_t)8 * 1024)

uint64_t rps_perf_place_registers(void)
{
#if defined(__x86_64__)
    return UINT64_C(1) << PERF_REG_X86_SP | UINT64_C(1) << PERF_REG_X86_IP;
#elif defined(__aarch64__)
    return UINT64_C(1) << PERF_REG_ARM64_SP | UINT64_C(1) << PERF_REG_ARM64_PC;
#elif defined(__arm__)
    return UINT64_C(1) << PERF_REG_ARM_SP | UINT64_C(1) << PERF_REG_ARM_PC;
#else
    return 0;
#endif
}

uint64_t rps_perf_sample_type(enum rps_stacks stacks, uint64_t registers)
{
    uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

    if (stacks != RPS_STACKS_NONE)
        type |= PERF_SAMPLE_CALLCHAIN;
    if (registers != 0)
        type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    if (stacks == RPS_STACKS_LBR)
        type |= PERF_SAMPLE_BRANCH_STACK;
    return type;
}

size_t rps_perf_sample_bytes(enum rps_stacks stacks, uint64_t registers, size_t depth_max)
{
    size_t bytes = SAMPLE_BYTES;

    if (stacks != RPS_STACKS_NONE)
        bytes += 8 * (1 + depth_max + PERF_MAX_CONTEXTS_PER_STACK);
    if (registers != 0)
        bytes += 8 * (1 + (size_t)__builtin_popcountll(registers)) + 16 + RPS_PERF_STACK_BYTES;
    if (stacks == RPS_STACKS_LBR)
        bytes += 8 + 32 * sizeof(struct perf_branch_entry);
    return bytes;
}

/* --- a record's fields ------------------------------------------------------------------------ */

/* The unparsed rest of a record. */
struct fields {
    const uint8_t *at;
    size_t bytes;
    int is_short; /* 1 if the record was shorter than requested */
};

/* Return the next bytes of a record, or NULL if the record has fewer bytes left. */
static const void *take_bytes(struct fields *fields, uint64_t bytes)
{
    const uint8_t *at = fields->at;

    if (bytes > fields->bytes) {
        fields->is_short = 1;
        return NULL;
    }
    fields->at += bytes;
    fields->bytes -= (size_t)bytes;
    return at;
}

static uint64_t take_64(struct fields *fields)
{
    const void *at = take_bytes(fields, sizeof(uint64_t));
    uint64_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

static uint32_t take_32(struct fields *fields)
{
    const void *at = take_bytes(fields, sizeof(uint32_t));
    uint32_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return value;
}

/* Return an array of 64-bit numbers in a record. Records are aligned for such arrays. */
static const uint64_t *take_array(struct fields *fields, uint64_t count)
{
    return count > fields->bytes / 8 ? take_bytes(fields, UINT64_MAX)
                                     : take_bytes(fields, count * 8);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int is_of_switches(const struct rps_perf_ring *ring)
{
    return ring->kind == RPS_PERF_WAITS || ring->kind == RPS_PERF_PLACES;
}

/* The addresses of a sample, while they are collected. */
struct stack {
    uint64_t address[RPS_SAMPLE_DEPTH_MAX];
    size_t count;
    int is_cut;
};

static void push_address(struct stack *stack, uint64_t address)
{
    if (stack->count == RPS_SAMPLE_DEPTH_MAX)
        stack->is_cut = 1;
    else
        stack->address[stack->count++] = address;
}

/* Add the kernel's or the user's addresses of a call stack, which follow a marker. Returns the
 * number of addresses of any kind. */
static size_t push_chain(struct stack *stack, const uint64_t *chain, uint64_t count,
                         uint64_t context)
{
    uint64_t present = 0;
    size_t total = 0;

    for (uint64_t i = 0; i < count; i++) {
        if (chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
            present = chain[i];
            continue;
        }
        total++;
        if (present == context)
            push_address(stack, chain[i]);
    }
    return total;
}

/* Offset of a stack pointer in its page. */
#define PAGE_BITS UINT64_C(0xfff)

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static void take_registers(struct fields *fields, uint64_t mask, int has_stack,
                           struct rps_sample_registers *ret)
{
    const uint64_t abi = take_64(fields);
    const uint64_t own = sizeof(long) == 8 ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32;
    uint64_t bytes, copied;

    if (abi != PERF_SAMPLE_REGS_ABI_NONE)
        ret->value = take_array(fields, (uint64_t)__builtin_popcountll(mask));
    if (abi == own && ret->value) /* other ABIs have other registers and other unwinding */
        ret->mask = mask;
    bytes = has_stack ? take_64(fields) : 0;
    if (bytes == 0)
        return;
    ret->stack = take_bytes(fields, bytes);
    copied = take_64(fields);
    ret->stack_bytes = (size_t)(copied < bytes ? copied : bytes);
}

/* Return the value of one register, or 0 if the sample lacks it. */
static uint64_t register_of(const struct rps_sample_registers *registers, uint64_t bit)
{
    return registers->mask & bit
               ? registers->value[__builtin_popcountll(registers->mask & (bit - 1))]
               : 0;
}

/* Compute the number of a place from the kernel's addresses, the instruction, and the given bits of
 * the stack pointer. Of the two registers of a place, the stack pointer has the lower bit in the
 * register mask. */
static uint64_t place_of(const struct stack *stack, const struct rps_sample_registers *registers,
                         uint64_t pointer_bits)
{
    const uint64_t both = rps_perf_place_registers();
    uint64_t place = mix(1, register_of(registers, both & (both - 1)));

    for (size_t i = 0; i < stack->count; i++)
        place = mix(place, stack->address[i]);
    place = mix(place, register_of(registers, both & -both) & pointer_bits);
    return place != 0 ? place : 1;
}

/* Mark a switch as a wait. A place is enough for a wait, as it includes the instruction. */
static void make_wait(const struct rps_perf_rings *rings, const struct rps_perf_ring *ring,
                      struct stack *stack, struct rps_sample *ret)
{
    const uint64_t both = rps_perf_place_registers();
    uint64_t instruction;

    ret->kind = RPS_SAMPLE_WAIT;
    if (rings->registers == 0)
        return; /* each wait has its whole stack */
    ret->place = place_of(stack, &ret->registers, UINT64_MAX);
    ret->place_alike = place_of(stack, &ret->registers, PAGE_BITS);
    ret->is_partial = ring->kind == RPS_PERF_PLACES;
    if (!ret->is_partial)
        return;
    instruction = register_of(&ret->registers, both & (both - 1));
    if (instruction != 0)
        push_address(stack, instruction);
    ret->registers = (struct rps_sample_registers){.mask = 0};
}

/* Parse a sample into *ret. Returns 1, 0 if it is not passed on, -1 if it is invalid. */
static int parse_sample(const struct rps_perf_rings *rings, const struct rps_perf_ring *ring,
                        uint16_t misc, struct fields *fields, struct stack *stack,
                        struct rps_sample *ret)
{
    const unsigned mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    const uint64_t ip = take_64(fields), *chain = NULL;
    const struct perf_branch_entry *call = NULL;
    uint64_t count = 0, calls = 0;

    if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER ||
        (rings->counts_only && is_of_switches(ring)))
        return 0;
    ret->kind = RPS_SAMPLE_STACK;
    ret->pid = (pid_t)take_32(fields);
    ret->tid = (pid_t)take_32(fields);
    take_64(fields); /* skip the time, which is already known */
    ret->cpu = (int32_t)take_32(fields);
    take_32(fields);
    if (rings->stacks != RPS_STACKS_NONE) {
        count = take_64(fields);
        chain = take_array(fields, count);
    }
    if (rings->stacks == RPS_STACKS_LBR) {
        calls = take_64(fields);
        call = (const void *)take_array(fields, calls > UINT64_MAX / 3 ? calls : calls * 3);
    }
    if (rings->registers != 0 && ring->kind == RPS_PERF_PLACES)
        take_registers(fields, rps_perf_place_registers(), 0, &ret->registers);
    else if (rings->registers != 0)
        take_registers(fields, rings->registers, 1, &ret->registers);
    if (fields->is_short)
        return -1;
    if (chain && push_chain(stack, chain, count, PERF_CONTEXT_KERNEL) >= rings->depth_max)
        stack->is_cut = 1;
    if (stack->count == 0 && mode == PERF_RECORD_MISC_KERNEL)
        push_address(stack, ip);
    ret->kernel_count = stack->count;
    if (is_of_switches(ring))
        make_wait(rings, ring, stack, ret);
    if (chain)
        push_chain(stack, chain, count, PERF_CONTEXT_USER);
    if (stack->count == 0)
        push_address(stack, ip);
    if (calls > 0) {
        if (stack->count > ret->kernel_count)
            stack->count = ret->kernel_count + 1;
        /* The record has the address of each call, but stacks have return addresses. The call's
         * address plus one serves the same purpose, because readers subtract one to get an address
         * inside the call. */
        for (uint64_t i = 0; i < calls; i++)
            push_address(stack, call[i].from + 1);
    }
    ret->address = stack->address;
    ret->address_count = stack->count;
    ret->is_cut = stack->is_cut;
    return 1;
}

/* --- the other records ------------------------------------------------------------------------ */

/* Return the text that fills the rest of a record, with its terminating zero, or NULL. */
static const char *take_text(struct fields *fields)
{
    const char *text = (const char *)fields->at;

    return memchr(text, '\0', fields->bytes) ? text : NULL;
}

static int parse_map(uint16_t misc, struct fields *fields, struct rps_sample *ret)
{
    const uint8_t *id;
    uint8_t bytes;

    ret->kind = RPS_SAMPLE_MAP;
    ret->pid = (pid_t)take_32(fields);
    ret->tid = (pid_t)take_32(fields);
    ret->map_address = take_64(fields);
    ret->map_length = take_64(fields);
    ret->file_offset = take_64(fields);
    id = take_bytes(fields, 24);
    take_64(fields); /* skip protection and flags */
    ret->path = take_text(fields);
    if (fields->is_short || !ret->path)
        return -1;
    bytes = id[0];
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID && bytes <= RPS_BUILD_ID_MAX) {
        memcpy(ret->build_id, id + 4, bytes);
        ret->build_id_bytes = bytes;
    } else {
        memcpy(&ret->major, id, 4);
        memcpy(&ret->minor, id + 4, 4);
        memcpy(&ret->inode, id + 8, 8);
    }
    return 1;
}

static int parse_name(uint16_t misc, struct fields *fields, struct rps_sample *ret)
{
    ret->kind = RPS_SAMPLE_NAME;
    ret->pid = (pid_t)take_32(fields);
    ret->tid = (pid_t)take_32(fields);
    ret->is_exec = !!(misc & PERF_RECORD_MISC_COMM_EXEC);
    ret->path = take_text(fields);
    return fields->is_short || !ret->path ? -1 : 1;
}

static int parse_task(enum rps_sample_kind kind, struct fields *fields, struct rps_sample *ret)
{
    ret->kind = kind;
    ret->pid = (pid_t)take_32(fields);
    ret->parent_pid = (pid_t)take_32(fields);
    ret->tid = (pid_t)take_32(fields);
    ret->parent_tid = (pid_t)take_32(fields);
    return fields->is_short ? -1 : 1;
}

RPS_ARRAY_BEFORE(is_before, struct rps_perf_timer, .id, <, uint64_t)

/* Maximum number of ended threads to keep if times were lost. The time of a dropped thread is
 * credited to the opened thread. */
#define SILENT_MAX 1000

static void add_silent(struct rps_perf_rings *rings, pid_t pid, pid_t tid)
{
    if (rings->timer_count == 0 || rings->silent_count == SILENT_MAX ||
        !rps_array_add(&rings->silent, rings->silent_count, sizeof(*rings->silent)))
        return;
    rings->silent[rings->silent_count++] = (struct rps_perf_ended){pid, tid};
}

static void remove_silent(struct rps_perf_rings *rings, pid_t tid)
{
    for (size_t i = rings->silent_count; i-- > 0;) /* from the end: the thread ended recently */
        if (rings->silent[i].tid == tid) {
            rings->silent[i] = rings->silent[--rings->silent_count];
            return;
        }
}

/* Compute the CPU time of a thread that has ended. Returns 0 if the record has none. */
static int parse_time(struct rps_perf_rings *rings, int cpu, struct fields *fields,
                      struct rps_sample *ret)
{
    uint64_t id, running_ns;
    size_t place;

    ret->kind = RPS_SAMPLE_TIME;
    ret->cpu = cpu; /* CPU of the event; the thread may have ended on another CPU */
    ret->pid = (pid_t)take_32(fields);
    ret->tid = (pid_t)take_32(fields);
    take_64(fields); /* skip the value: the event counts nothing */
    running_ns = take_64(fields);
    id = take_64(fields);
    if (fields->is_short)
        return -1;
    place = rps_array_find(rings->timer, rings->timer_count, sizeof(*rings->timer), is_before, &id);
    if (place < rings->timer_count && rings->timer[place].id == id) {
        rings->timer[place].told_ns += running_ns;
        rings->timer[place].is_reported |= rings->timer[place].tid == ret->tid;
    }
    remove_silent(rings, ret->tid);
    ret->cpu_time_ns = (int64_t)running_ns;
    return running_ns > 0;
}

/* Parse a switch: a thread left its CPU to wait or although runnable, or returned to a CPU. */
static int parse_switch(struct rps_perf_rings *rings, uint16_t misc, struct fields *trailer,
                        struct rps_sample *ret)
{
    int is_out = !!(misc & PERF_RECORD_MISC_SWITCH_OUT);

    rings->switches += is_out;
    ret->is_preempted = is_out && misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    ret->kind = is_out && !ret->is_preempted ? RPS_SAMPLE_ASLEEP : RPS_SAMPLE_AWAKE;
    ret->pid = (pid_t)take_32(trailer);
    ret->tid = (pid_t)take_32(trailer);
    return ret->tid != 0 && !rings->counts_only;
}

/* Count lost samples and switches. After lost switches the waits of the CPU's threads are unknown.
 * The loss of other records can be seen in other ways: addresses without a map, missing ends of
 * threads, and a rebuilt tree. */
static int count_lost(struct rps_perf_rings *rings, const struct rps_perf_ring *ring,
                      struct fields *fields, int has_id, struct rps_sample *ret)
{
    uint64_t lost;

    if (has_id)
        take_64(fields);
    lost = take_64(fields);
    if (fields->is_short)
        return -1;
    if (ring->kind == RPS_PERF_SAMPLES)
        rings->lost += lost;
    else if (ring->kind >= RPS_PERF_WAITS)
        rings->switches_lost += lost;
    ret->kind = RPS_SAMPLE_AWAKE;
    ret->cpu = ring->cpu;
    ret->since_ns = ring->last_ns;
    return ring->kind == RPS_PERF_SWITCHES;
}

/* Parse a record that is not a sample and has a trailer. */
static int parse_other(struct rps_perf_rings *rings, const struct rps_perf_ring *ring,
                       const struct perf_event_header *header, struct fields *fields,
                       struct rps_sample *ret)
{
    struct fields trailer = {fields->at + fields->bytes - TRAILER_BYTES, TRAILER_BYTES, 0};

    struct fields task = trailer;

    take_bytes(&trailer, 16);
    ret->cpu = (int32_t)take_32(&trailer);
    fields->bytes -= TRAILER_BYTES;
    switch (header->type) {
    case PERF_RECORD_MMAP2:
        return parse_map(header->misc, fields, ret);
    case PERF_RECORD_COMM:
        return parse_name(header->misc, fields, ret);
    case PERF_RECORD_FORK:
        return parse_task(RPS_SAMPLE_FORK, fields, ret);
    case PERF_RECORD_EXIT:
        return parse_task(RPS_SAMPLE_EXIT, fields, ret);
    case PERF_RECORD_SWITCH:
        return parse_switch(rings, header->misc, &task, ret);
    case PERF_RECORD_READ:
        return parse_time(rings, ring->cpu, fields, ret);
    case PERF_RECORD_LOST:
        return count_lost(rings, ring, fields, 1, ret);
    case PERF_RECORD_LOST_SAMPLES:
        return count_lost(rings, ring, fields, 0, ret);
    case PERF_RECORD_THROTTLE:
        rings->throttled++;
        return 0;
    default:
        return 0;
    }
}

/* Return the first record as contiguous memory. */
static const uint8_t *in_one_piece(struct rps_perf_rings *rings, const struct rps_perf_ring *ring)
{
    const size_t start = (size_t)ring->tail & (ring->bytes - 1), rest = ring->bytes - start;
    uint8_t *scratch = (uint8_t *)rings->scratch;

    if (ring->size <= rest)
        return ring->data + start;
    memcpy(scratch, ring->data + start, rest);
    memcpy(scratch + rest, ring->data, ring->size - rest);
    return scratch;
}

static void hand_over_record(struct rps_perf_rings *rings, const struct rps_perf_ring *ring,
                             const struct rps_sample_sink *sink)
{
    const uint8_t *record = in_one_piece(rings, ring);
    struct fields fields = {record + sizeof(struct perf_event_header),
                            ring->size - sizeof(struct perf_event_header), 0};
    struct perf_event_header header;
    struct rps_sample sample = {0};
    struct stack stack;
    int rc = -1;

    stack.count = 0;
    stack.is_cut = 0;
    memcpy(&header, record, sizeof(header));
    if (header.type == PERF_RECORD_SAMPLE)
        rc = parse_sample(rings, ring, header.misc, &fields, &stack, &sample);
    else if (fields.bytes >= TRAILER_BYTES)
        rc = parse_other(rings, ring, &header, &fields, &sample);
    rings->lost += rc < 0;
    if (rc <= 0)
        return;
    rings->own += header.type == PERF_RECORD_SAMPLE && ring->kind == RPS_PERF_SAMPLES;
    /* If an interrupt takes a sample while a record is being written, the sample has the later
     * time, although it comes first in the ring. */
    if (rings->last_ns < ring->time_ns)
        rings->last_ns = ring->time_ns;
    sample.time_ns = rings->last_ns;
    if (rings->tree)
        rps_perf_tree_hear(rings->tree, &sample);
    if (sample.kind == RPS_SAMPLE_EXIT)
        add_silent(rings, sample.pid, sample.tid);
    sink->sample(sink->context, &sample);
}

/* --- the rings -------------------------------------------------------------------------------- */

/* Return the bytes at an offset in the first record. Records and rings are multiples of 8 bytes
 * long, so that 8 bytes never wrap around. */
static uint64_t word_at(const struct rps_perf_ring *ring, size_t offset)
{
    uint64_t word;

    memcpy(&word, ring->data + ((size_t)(ring->tail + offset) & (ring->bytes - 1)), sizeof(word));
    return word;
}

/* Parse the header of the first record. If its length is invalid, no later record can be found. */
static void look_at_first_record(struct rps_perf_rings *rings, struct rps_perf_ring *ring)
{
    const size_t waiting = (size_t)(ring->head - ring->tail);
    struct perf_event_header header = {0};
    uint64_t word;

    ring->size = 0;
    if (waiting == 0)
        return;
    if (waiting >= sizeof(header) && waiting <= ring->bytes) {
        word = word_at(ring, 0);
        memcpy(&header, &word, sizeof(header));
    }
    if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > waiting) {
        rings->lost++;
        ring->tail = ring->head;
        return;
    }
    ring->size = header.size;
    ring->time_ns = 0; /* the record is too short for a time, and will be found invalid */
    if (header.type == PERF_RECORD_SAMPLE && header.size >= SAMPLE_BYTES)
        ring->time_ns = (int64_t)word_at(ring, SAMPLE_TIME);
    else if (header.type != PERF_RECORD_SAMPLE && header.size >= sizeof(header) + TRAILER_BYTES)
        ring->time_ns = (int64_t)word_at(ring, header.size - TRAILER_BYTES + 8);
}

/* Return 1 if the first record is a sample of a thread outside the target. */
static int is_foreign(const struct rps_perf_rings *rings, const struct rps_perf_ring *ring)
{
    uint64_t word = word_at(ring, 0);
    struct perf_event_header header;
    uint32_t task[2];

    memcpy(&header, &word, sizeof(header));
    if (!rings->tree || is_of_switches(ring) || header.type != PERF_RECORD_SAMPLE ||
        ring->size < SAMPLE_BYTES)
        return 0;
    word = word_at(ring, SAMPLE_TASK);
    memcpy(task, &word, sizeof(task));
    return !rps_perf_tree_has(rings->tree, (pid_t)task[0], (pid_t)task[1]);
}

/* Return the ring whose first record is the oldest of all, or NULL if all rings are empty. */
static struct rps_perf_ring *oldest(const struct rps_perf_rings *rings)
{
    struct rps_perf_ring *found = NULL;

    for (int i = 0; i < rings->count; i++)
        if (rings->ring[i].size > 0 && (!found || rings->ring[i].time_ns < found->time_ns))
            found = &rings->ring[i];
    return found;
}

/* SAFETY: the kernel writes records, then data_head. This code reads data_head, then records, then
 * releases their space by data_tail; the fences keep that order. Loads of 64 bits need not be
 * atomic: the kernels of 32-bit processors without such atomic loads count with 32 bits. */
static uint64_t load_head(const struct perf_event_mmap_page *page)
{
    uint64_t head = *(const volatile __u64 *)&page->data_head;

    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return head;
}

static void store_tail(struct perf_event_mmap_page *page, uint64_t tail)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    *(volatile __u64 *)&page->data_tail = tail;
}

/* Pass on the time from which switches are read, or from which they are no longer read. This
 * happens after all earlier records were passed on. */
static void hand_over_moment(struct rps_perf_rings *rings, int64_t *time_ns,
                             enum rps_sample_kind kind, int64_t until_ns,
                             const struct rps_sample_sink *sink)
{
    const struct rps_sample sample = {
        .kind = kind, .time_ns = *time_ns, .cpu = -1, .is_preempted = rings->is_paused};

    if (*time_ns == 0 || *time_ns > until_ns)
        return;
    *time_ns = 0;
    rings->counts_only = kind == RPS_SAMPLE_AWAKE;
    sink->sample(sink->context, &sample);
}

static void hand_over_moments(struct rps_perf_rings *rings, int64_t until_ns,
                              const struct rps_sample_sink *sink)
{
    if (rings->deaf_ns <= rings->complete_ns)
        hand_over_moment(rings, &rings->deaf_ns, RPS_SAMPLE_AWAKE, until_ns, sink);
    hand_over_moment(rings, &rings->complete_ns, RPS_SAMPLE_ASLEEP, until_ns, sink);
    hand_over_moment(rings, &rings->deaf_ns, RPS_SAMPLE_AWAKE, until_ns, sink);
}

void rps_perf_rings_drain(struct rps_perf_rings *rings, int64_t until_ns,
                          const struct rps_sample_sink *sink)
{
    struct rps_perf_ring *ring;

    for (int i = 0; i < rings->count; i++) {
        ring = &rings->ring[i];
        ring->head = load_head(ring->page);
        ring->tail = ring->page->data_tail; /* only this code writes data_tail */
        if (rings->tree && ring->kind == RPS_PERF_HEARD &&
            !(ring->head - ring->tail <= ring->bytes - HEARD_BYTES_MAX))
            rings->tree->is_in_doubt = 1;
        look_at_first_record(rings, ring);
    }
    while ((ring = oldest(rings)) && ring->time_ns < until_ns) {
        hand_over_moments(rings, ring->time_ns, sink);
        if (is_foreign(rings, ring))
            rings->foreign++;
        else
            hand_over_record(rings, ring, sink);
        ring->last_ns = ring->time_ns;
        ring->tail += ring->size;
        look_at_first_record(rings, ring);
    }
    hand_over_moments(rings, until_ns, sink);
    for (int i = 0; i < rings->count; i++)
        store_tail(rings->ring[i].page, rings->ring[i].tail);
}

uint64_t rps_perf_rings_lost(const struct rps_perf_rings *rings)
{
    double own = (double)rings->own, all = own + (double)rings->foreign;

    return rings->foreign > 0 ? (uint64_t)llround((double)rings->lost * own / all) : rings->lost;
}
