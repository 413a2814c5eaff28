/* Tests of rings of perf_event and messages of taskstats, made by hand: the reported samples, their
 * order, and losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/taskstats.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/sampler_perf.h"

#define RING_BYTES 512

/* One or two rings, and the samples reported from them. */
struct rings {
    struct rps_perf_rings all;
    struct rps_perf_ring ring[2];
    struct perf_event_mmap_page page[2];
    uint64_t data[2][RING_BYTES / 8];
    char text[1024]; /* type, time and main values of each sample */
    uint64_t place;  /* place of the last sample */
};

static const char kind[] = {
    [RPS_SAMPLE_STACK] = 's', [RPS_SAMPLE_MAP] = 'm',   [RPS_SAMPLE_FORK] = 'f',
    [RPS_SAMPLE_NAME] = 'n',  [RPS_SAMPLE_EXIT] = 'e',  [RPS_SAMPLE_TIME] = 't',
    [RPS_SAMPLE_WAIT] = 'w',  [RPS_SAMPLE_AWAKE] = 'a', [RPS_SAMPLE_SYMBOL] = '?',
    [RPS_SAMPLE_ASLEEP] = 'd'};

static void keep_sample(void *context, const struct rps_sample *sample)
{
    struct rings *rings = context;
    size_t length = strlen(rings->text);
    char *end = rings->text + sizeof(rings->text), *at = rings->text + length;

    at +=
        snprintf(at, (size_t)(end - at), "%c%lld:%d.%d@%d", kind[sample->kind],
                 (long long)sample->time_ns, (int)sample->pid, (int)sample->tid, (int)sample->cpu);
    for (size_t i = 0; i < sample->address_count; i++)
        at += snprintf(at, (size_t)(end - at), "%c%llx", i == sample->kernel_count ? '|' : ',',
                       (unsigned long long)sample->address[i]);
    if (sample->is_cut)
        at += snprintf(at, (size_t)(end - at), "...");
    if (sample->registers.mask)
        at +=
            snprintf(at, (size_t)(end - at), "r%llx/%zu",
                     (unsigned long long)sample->registers.value[0], sample->registers.stack_bytes);
    if (sample->kind == RPS_SAMPLE_WAIT)
        at += snprintf(at, (size_t)(end - at), "%s%s", sample->place ? "#" : "",
                       sample->is_partial ? "-" : "");
    if (sample->since_ns > 0)
        at += snprintf(at, (size_t)(end - at), "since%lld", (long long)sample->since_ns);
    rings->place = sample->place;
    if (sample->is_preempted)
        at += snprintf(at, (size_t)(end - at), "p");
    if (sample->kind == RPS_SAMPLE_TIME)
        at += snprintf(at, (size_t)(end - at), "=%lld", (long long)sample->cpu_time_ns);
    if (sample->kind == RPS_SAMPLE_FORK)
        at += snprintf(at, (size_t)(end - at), "<%d.%d", (int)sample->parent_pid,
                       (int)sample->parent_tid);
    if (sample->kind == RPS_SAMPLE_MAP)
        at += snprintf(
            at, (size_t)(end - at), "[%llx+%llx=%llx %zu %d]",
            (unsigned long long)sample->map_address, (unsigned long long)sample->map_length,
            (unsigned long long)sample->file_offset, sample->build_id_bytes, sample->build_id[0]);
    if (sample->path)
        at += snprintf(at, (size_t)(end - at), "%s%s", sample->path, sample->is_exec ? "!" : "");
    snprintf(at, (size_t)(end - at), " ");
}

/* Begin rings whose first record starts `before_end` bytes before the end of the buffer. */
static void begin(struct rings *rings, enum rps_stacks stacks, size_t before_end)
{
    static uint64_t scratch[RPS_PERF_RECORD_BYTES / 8];

    memset(rings, 0, sizeof(*rings));
    memset(scratch, 0, sizeof(scratch));
    rings->all.scratch = scratch;
    rings->all.ring = rings->ring;
    rings->all.count = 2;
    rings->all.stacks = stacks;
    rings->all.registers = stacks == RPS_STACKS_DWARF ? 3 : 0;
    rings->all.depth_max = 4;
    for (int i = 0; i < 2; i++) {
        rings->ring[i].page = &rings->page[i];
        rings->ring[i].data = (const uint8_t *)rings->data[i];
        rings->ring[i].bytes = RING_BYTES;
        rings->page[i].data_head = rings->page[i].data_tail = 3 * RING_BYTES - before_end;
    }
}

static void put_word(struct rings *rings, int ring, uint64_t word)
{
    uint64_t head = rings->page[ring].data_head;

    rings->data[ring][head % RING_BYTES / 8] = word;
    rings->page[ring].data_head = head + 8;
}

static uint64_t pair(uint32_t low, uint32_t high)
{
    uint32_t both[2] = {low, high};
    uint64_t word;

    memcpy(&word, both, sizeof(word));
    return word;
}

static void put_header(struct rings *rings, int ring, uint32_t type, uint16_t misc, size_t bytes)
{
    struct perf_event_header header = {type, misc, (uint16_t)bytes};
    uint64_t word;

    memcpy(&word, &header, sizeof(word));
    put_word(rings, ring, word);
}

/* Put a sample of a thread at address 0x10, followed by these words. */
static void put_sample_of(struct rings *rings, int ring, uint32_t pid, uint32_t tid, uint16_t misc,
                          uint64_t time_ns, const uint64_t *word, size_t count)
{
    put_header(rings, ring, PERF_RECORD_SAMPLE, misc, 40 + 8 * count);
    put_word(rings, ring, 0x10);
    put_word(rings, ring, pair(pid, tid));
    put_word(rings, ring, time_ns);
    put_word(rings, ring, pair((uint32_t)ring, 0));
    for (size_t i = 0; i < count; i++)
        put_word(rings, ring, word[i]);
}

/* Put a sample of process 7, thread 8. */
static void put_sample(struct rings *rings, int ring, uint16_t misc, uint64_t time_ns,
                       const uint64_t *word, size_t count)
{
    put_sample_of(rings, ring, 7, 8, misc, time_ns, word, count);
}

/* Put another record: these words, and the trailer. */
static void put_other(struct rings *rings, int ring, uint32_t type, uint16_t misc, uint64_t time_ns,
                      const uint64_t *word, size_t count)
{
    put_header(rings, ring, type, misc, 32 + 8 * count);
    for (size_t i = 0; i < count; i++)
        put_word(rings, ring, word[i]);
    put_word(rings, ring, pair(7, 8));
    put_word(rings, ring, time_ns);
    put_word(rings, ring, pair((uint32_t)ring, 0));
}

static const char *drain(struct rings *rings, int64_t until_ns)
{
    const struct rps_sample_sink sink = {rings, keep_sample};

    rings->text[0] = '\0';
    rps_perf_rings_drain(&rings->all, until_ns, &sink);
    return rings->text;
}

/* Check that the rings are empty. */
static void check_empty(const struct rings *rings)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(rings->page[i].data_tail, rings->page[i].data_head);
}

/* Two rings form one stream. Newer records stay for the next call. A sample taken while an older
 * record was written precedes it, and the order is correct. */
static void test_order(void **state)
{
    struct rings r;

    (void)state;
    begin(&r, RPS_STACKS_NONE, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 100, NULL, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 300, NULL, 0);
    put_sample(&r, 1, PERF_RECORD_MISC_KERNEL, 200, NULL, 0);
    put_sample(&r, 1, PERF_RECORD_MISC_USER, 400, NULL, 0);
    put_sample(&r, 1, PERF_RECORD_MISC_USER, 399, NULL, 0);
    assert_string_equal(drain(&r, 300), "s100:7.8@0|10 s200:7.8@1,10 ");
    assert_int_equal(r.page[0].data_head - r.page[0].data_tail, 40);
    assert_int_equal(r.page[1].data_head - r.page[1].data_tail, 80);
    assert_string_equal(drain(&r, 400), "s300:7.8@0|10 ");
    assert_string_equal(drain(&r, INT64_MAX), "s400:7.8@1|10 s400:7.8@1|10 ");
    assert_string_equal(drain(&r, INT64_MAX), "");
    check_empty(&r);
    assert_int_equal(r.all.lost, 0);
}

/* A record that wraps around the end of the buffer is read correctly, wherever it wraps. */
static void test_wrapped(void **state)
{
    static const uint64_t chain[] = {3, PERF_CONTEXT_USER, 0x10, 0x20};

    (void)state;
    for (size_t before = 0; before <= 72; before += 8) {
        struct rings r;

        begin(&r, RPS_STACKS_FP, before);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 100, chain, 4);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 101, chain, 4);
        assert_string_equal(drain(&r, INT64_MAX), "s100:7.8@0|10,20 s101:7.8@0|10,20 ");
        check_empty(&r);
    }
}

static void test_chains(void **state)
{
    static const uint64_t both[] = {6, PERF_CONTEXT_KERNEL, 0x10, 0x11, PERF_CONTEXT_USER, 1, 2};
    static const uint64_t guest[] = {5, PERF_CONTEXT_GUEST_KERNEL, 0x99, PERF_CONTEXT_USER, 1, 2};
    static const uint64_t none[] = {0};
    static const uint64_t calls[] = {
        5, PERF_CONTEXT_KERNEL, 0x10, PERF_CONTEXT_USER, 1, 0xbad, 2, 0x200, 0x1, 0, 0x300, 0x1f0,
        0};
    static const uint64_t registers[] = {
        2, PERF_CONTEXT_USER, 1, PERF_SAMPLE_REGS_ABI_64, 0xabc, 0xdef, 16, 0, 0, 8};
    static const uint64_t foreign[] = {
        2, PERF_CONTEXT_USER, 1, PERF_SAMPLE_REGS_ABI_32, 0xabc, 0xdef, 16, 0, 0, 8};
    static const uint64_t thread[] = {2, PERF_CONTEXT_KERNEL, 0x10, PERF_SAMPLE_REGS_ABI_NONE, 0};
    struct rings r;

    (void)state;
    begin(&r, RPS_STACKS_FP, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_KERNEL, 1, both, 7); /* a stack of the kernel's maximum
                                                               depth */
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 2, guest, 6);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 3, none, 1);
    put_sample(&r, 0, PERF_RECORD_MISC_KERNEL, 4, none, 1);
    put_sample(&r, 0, PERF_RECORD_MISC_GUEST_USER, 5, none, 1);
    assert_string_equal(drain(&r, INT64_MAX), "s1:7.8@0,10,11|1,2... s2:7.8@0|1,2 s3:7.8@0|10 "
                                              "s4:7.8@0,10 ");
    assert_int_equal(r.all.lost, 0);
    begin(&r, RPS_STACKS_LBR, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_KERNEL, 1, calls, 13);
    assert_string_equal(drain(&r, INT64_MAX), "s1:7.8@0,10|1,201,301 ");
    if (sizeof(long) == 8) {
        begin(&r, RPS_STACKS_DWARF, 0);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 1, registers, 10);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 2, foreign, 10);
        put_sample(&r, 0, PERF_RECORD_MISC_KERNEL, 3, thread, 5);
        assert_string_equal(drain(&r, INT64_MAX), "s1:7.8@0|1rabc/8 s2:7.8@0|1 s3:7.8@0,10 ");
        assert_int_equal(r.all.lost, 0);
    }
}

/* A call stack may be longer than the buffer for it. */
static void test_long_chain(void **state)
{
    static struct rps_perf_rings all;
    static uint64_t data[512];
    struct perf_event_mmap_page page = {.data_head = 8 * (5 + 1 + 1 + 200)};
    struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, page.data_head};
    struct rps_perf_ring ring = {
        .page = &page, .data = (const uint8_t *)data, .bytes = sizeof(data)};
    struct rings r;
    const struct rps_sample_sink sink = {&r, keep_sample};

    (void)state;
    begin(&r, RPS_STACKS_FP, 0);
    all.ring = &ring;
    all.count = 1;
    all.depth_max = 1000;
    memcpy(data, &header, sizeof(header));
    data[5] = 201;
    data[6] = PERF_CONTEXT_USER;
    for (size_t i = 0; i < 200; i++)
        data[7 + i] = 1;
    rps_perf_rings_drain(&all, INT64_MAX, &sink);
    assert_int_equal(strlen(r.text), strlen("s0:0.0@0... ") + 2 * RPS_SAMPLE_DEPTH_MAX);
    assert_non_null(strstr(r.text, "|1,1,1"));
    assert_non_null(strstr(r.text, ",1... "));
}

/* Return eight bytes of text as a word. */
static uint64_t text_word(const char *text)
{
    char bytes[8] = {0};
    uint64_t word;

    memcpy(bytes, text, strlen(text) < 8 ? strlen(text) : 8);
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static void test_other_records(void **state)
{
    const uint64_t fork_words[] = {pair(20, 7), pair(21, 8), 5};
    const uint64_t exit_words[] = {pair(20, 7), pair(20, 7), 5};
    const uint64_t name[] = {pair(7, 8), text_word("sh")};
    uint64_t map[] = {pair(7, 8),          0x1000, 0x200, 0x40, pair(3, 0), 0, 0, pair(5, 2),
                      text_word("/bin/sh")};
    const uint64_t lost[] = {1, 30}, lost_samples[] = {4}, throttle[] = {1, 2, 3};
    struct rings r;

    (void)state;
    begin(&r, RPS_STACKS_FP, 0);
    ((uint8_t *)&map[4])[4] = 99;
    put_other(&r, 0, PERF_RECORD_FORK, 0, 5, fork_words, 3);
    put_other(&r, 0, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 6, name, 2);
    put_other(&r, 0, PERF_RECORD_COMM, 0, 7, name, 2);
    put_other(&r, 0, PERF_RECORD_EXIT, 0, 8, exit_words, 3);
    put_other(&r, 1, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 9, map, 9);
    put_other(&r, 1, PERF_RECORD_MMAP2, 0, 10, map, 9); /* this record has an inode in place of a
                                                           build-id */
    assert_string_equal(drain(&r, INT64_MAX), "f5:20.21@0<7.8 n6:7.8@0sh! n7:7.8@0sh e8:20.20@0 "
                                              "m9:7.8@1[1000+200=40 3 99]/bin/sh "
                                              "m10:7.8@1[1000+200=40 0 0]/bin/sh ");
    check_empty(&r);
    put_other(&r, 0, PERF_RECORD_LOST, 0, 11, lost, 2);
    put_other(&r, 1, PERF_RECORD_LOST_SAMPLES, 0, 12, lost_samples, 1);
    put_other(&r, 1, PERF_RECORD_THROTTLE, 0, 13, throttle, 3);
    put_other(&r, 1, PERF_RECORD_UNTHROTTLE, 0, 14, throttle, 3);
    put_other(&r, 1, PERF_RECORD_MAX + 5, 0, 15, NULL, 0); /* a record of a future kernel */
    assert_string_equal(drain(&r, INT64_MAX), "");
    assert_int_equal(r.all.lost, 34);
    assert_int_equal(r.all.throttled, 1);
    check_empty(&r);
    r.ring[0].kind = RPS_PERF_HEARD; /* ring 0 contains no samples */
    r.ring[1].kind = RPS_PERF_TIMES;
    put_other(&r, 0, PERF_RECORD_LOST, 0, 16, lost, 2);
    put_other(&r, 1, PERF_RECORD_LOST, 0, 17, lost, 2);
    assert_string_equal(drain(&r, INT64_MAX), "");
    assert_int_equal(r.all.lost, 34);
    assert_int_equal(r.all.switches_lost, 0);
    check_empty(&r);
}

/* A malformed record is counted as lost, and the next records are read. */
static void test_malformed(void **state)
{
    static const uint64_t too_many[] = {3, PERF_CONTEXT_USER, 0x10};
    static const uint64_t far_too_many[] = {UINT64_MAX / 8 + 3, PERF_CONTEXT_USER, 0x10};
    const uint64_t no_zero[] = {pair(7, 8), text_word("eightlet")};
    uint64_t map[] = {pair(7, 8), 0x1000, 0x200, 0x40, 0xff, 0, 0, 0, text_word("x")};
    static const uint64_t fine[] = {2, PERF_CONTEXT_USER, 0x10};
    struct rings r;

    (void)state;
    begin(&r, RPS_STACKS_FP, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 1, too_many, 3);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 2, far_too_many, 3);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 3, NULL, 0);
    put_header(&r, 0, PERF_RECORD_SAMPLE, 0, 16); /* the record is too short for a time */
    put_word(&r, 0, 0);
    put_header(&r, 0, PERF_RECORD_COMM, 0, 8);
    put_other(&r, 0, PERF_RECORD_COMM, 0, 4, no_zero, 2);
    put_other(&r, 0, PERF_RECORD_FORK, 0, 5, no_zero, 1);
    put_other(&r, 0, PERF_RECORD_LOST, 0, 6, no_zero, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 7, fine, 3);
    /* a build-id of this length is ignored */
    put_other(&r, 1, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 8, map, 9);
    assert_string_equal(drain(&r, INT64_MAX), "s7:7.8@0|10 m8:7.8@1[1000+200=40 0 0]x ");
    assert_int_equal(r.all.lost, 8);
    check_empty(&r);
}

/* After a malformed length, no later record can be found, so the ring is emptied. */
static void test_bad_lengths(void **state)
{
    static const uint64_t fine[] = {2, PERF_CONTEXT_USER, 0x10};
    static const size_t length[] = {0, 4, 44, 128};
    struct rings r;

    (void)state;
    for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
        begin(&r, RPS_STACKS_FP, 24);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 1, fine, 3);
        put_header(&r, 0, PERF_RECORD_SAMPLE, 0, length[i]);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 2, fine, 3);
        put_sample(&r, 1, PERF_RECORD_MISC_USER, 3, fine, 3);
        assert_string_equal(drain(&r, INT64_MAX), "s1:7.8@0|10 s3:7.8@1|10 ");
        assert_int_equal(r.all.lost, 1);
        check_empty(&r);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 4, fine, 3);
        assert_string_equal(drain(&r, INT64_MAX), "s4:7.8@0|10 ");
    }
    begin(&r, RPS_STACKS_FP, 0);
    r.page[0].data_head += RING_BYTES + 8; /* the head is beyond the end of the buffer */
    assert_string_equal(drain(&r, INT64_MAX), "");
    assert_int_equal(r.all.lost, 1);
    check_empty(&r);
}

/* Of all threads on a CPU, only the target's are reported. Samples of other threads are not copied.
 */
static void test_foreign(void **state)
{
    static const uint64_t chain[] = {3, PERF_CONTEXT_USER, 0xbad, 0xbad};
    const uint64_t forked[] = {pair(9, 7), pair(9, 8)}, ended[] = {pair(7, 1), pair(8, 1)};
    struct rps_perf_tree tree;
    struct rings r;

    (void)state;
    for (size_t before = 0; before <= 72; before += 8) {
        begin(&r, RPS_STACKS_FP, before);
        rps_perf_tree_init(&tree);
        rps_perf_tree_add(&tree, 7, 8);
        r.all.tree = &tree;
        put_sample_of(&r, 0, 5, 5, PERF_RECORD_MISC_USER, 100, chain, 4);
        put_sample_of(&r, 0, 5, 8, PERF_RECORD_MISC_USER, 101, chain, 4);
        put_sample_of(&r, 0, 7, 5, PERF_RECORD_MISC_USER, 102, chain, 4);
        put_sample_of(&r, 0, 9, 9, PERF_RECORD_MISC_USER, 103, chain, 4);
        put_other(&r, 1, PERF_RECORD_FORK, 0, 104, forked, 2);
        assert_string_equal(drain(&r, INT64_MAX), "f104:9.9@1<7.8 ");
        for (size_t i = 0; i < RPS_PERF_RECORD_BYTES / 8; i++)
            assert_true(r.all.scratch[i] != 0xbad);
        put_sample_of(&r, 0, 9, 9, PERF_RECORD_MISC_USER, 105, chain, 4);
        put_other(&r, 1, PERF_RECORD_EXIT, 0, 106, ended, 2);
        put_sample(&r, 0, PERF_RECORD_MISC_USER, 107, chain, 4);
        assert_string_equal(drain(&r, INT64_MAX), "s105:9.9@0|bad,bad e106:7.8@1 ");
        check_empty(&r);
        rps_perf_tree_free(&tree);
    }
    assert_int_equal(r.all.lost, 0);
    r.all.lost = 12; /* 12 lost samples of all threads: one sample of six was the target's */
    assert_int_equal(rps_perf_rings_lost(&r.all), 2);
}

/* CPU times belong to the CPU of the ring, wherever the thread ended. Times of 0 are left out. */
static void test_times(void **state)
{
    static const uint64_t none[] = {0x900000007, 0, 0, 4}, some[] = {0x900000007, 0, 55, 4};
    struct rps_perf_timer timer[] = {{.id = 2, .tid = 9}, {.id = 4, .tid = 9}, {.id = 5}};
    struct rings r;

    (void)state;
    begin(&r, RPS_STACKS_NONE, 0);
    r.ring[1].cpu = 6;
    r.all.timer = timer;
    r.all.timer_count = 3;
    put_other(&r, 0, PERF_RECORD_READ, 0, 100, none, 4);
    put_other(&r, 1, PERF_RECORD_READ, 0, 101, some, 4);
    put_other(&r, 1, PERF_RECORD_READ, 0, 102, some, 3);
    assert_string_equal(drain(&r, INT64_MAX), "t101:7.9@6=55 ");
    assert_int_equal(timer[0].told_ns, 0);
    assert_int_equal(timer[1].told_ns, 55);
    assert_true(timer[1].is_reported && !timer[0].is_reported && !timer[2].is_reported);
    assert_int_equal(r.all.lost, 1); /* one record without its end is lost */
}

/* Stacks are taken when threads leave a CPU, and threads on a CPU are recorded, including preempted
 * threads. If switches were lost or not read, the waits of these threads are unknown. */
static void test_switches(void **state)
{
    static const uint64_t chain[] = {3, PERF_CONTEXT_USER, 0x10, 0x20}, lost[] = {1, 5};
    struct rings r;

    (void)state;
    begin(&r, RPS_STACKS_FP, 64);
    r.ring[0].kind = RPS_PERF_WAITS;
    r.ring[1].kind = RPS_PERF_SWITCHES;
    r.ring[1].cpu = 4;
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 100, chain, 4);
    put_other(&r, 1, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 101, NULL, 0);
    put_other(&r, 1, PERF_RECORD_SWITCH, 0, 140, NULL, 0);
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 150, chain, 4);
    put_other(&r, 1, PERF_RECORD_SWITCH,
              PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 151, NULL, 0);
    assert_string_equal(drain(&r, 200),
                        "w100:7.8@0|10,20 d101:7.8@1 a140:7.8@1 w150:7.8@0|10,20 a151:7.8@1p ");
    assert_int_equal(r.all.switches, 2);
    put_other(&r, 1, PERF_RECORD_LOST, 0, 210, lost, 2);
    put_other(&r, 0, PERF_RECORD_LOST, 0, 211, lost, 2);
    assert_string_equal(drain(&r, 300), "a210:0.0@4since151 ");
    assert_int_equal(r.all.switches_lost, 10);
    assert_int_equal(r.all.lost, 0);
    r.all.deaf_ns = 320;
    put_other(&r, 1, PERF_RECORD_SWITCH, 0, 310, NULL, 0);
    assert_string_equal(drain(&r, 320), "a310:7.8@1 a320:0.0@-1 ");
    put_sample(&r, 0, PERF_RECORD_MISC_USER, 330, chain, 4);
    put_other(&r, 1, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 340, NULL, 0);
    assert_string_equal(drain(&r, 400), ""); /* switches while none are read */
    assert_int_equal(r.all.switches, 3);
    r.all.complete_ns = 410;
    r.all.deaf_ns = 430;
    r.all.is_paused = 1;
    put_other(&r, 1, PERF_RECORD_SWITCH, 0, 420, NULL, 0);
    assert_string_equal(drain(&r, 500), "d410:0.0@-1p a420:7.8@1 a430:0.0@-1p ");
    r.all.deaf_ns = 510;
    r.all.complete_ns = 520;
    r.all.is_paused = 0;
    assert_string_equal(drain(&r, 600), "a510:0.0@-1 d520:0.0@-1 ");
}

/* A place consists of the kernel's addresses and the user's instruction. The number of a place
 * equals the number of a complete stack there. Another instruction, stack pointer or kernel address
 * makes another place. */
static void test_places(void **state)
{
    static const uint64_t differs[] = {0, 1, 2, 3};
    const uint64_t registers = rps_perf_place_registers();
    uint64_t place[5] = {0};
    struct rings r;

    (void)state;
    if (registers == 0) {
        print_message("stacks are not copied on this architecture\n");
        skip();
    }
    for (size_t i = 0; i < 5; i++) {
        const uint64_t way = i < 4 ? differs[i] : 0;
        const uint64_t words[] = {4,
                                  PERF_CONTEXT_KERNEL,
                                  0xff01,
                                  0xff02 + (way == 1),
                                  PERF_CONTEXT_USER,
                                  PERF_SAMPLE_REGS_ABI_64,
                                  0x7000 + (way == 2 ? 8 : 0),
                                  0x4010 + (way == 3 ? 8 : 0)};
        const uint64_t whole[] = {
            5,      PERF_CONTEXT_KERNEL,     0xff01, 0xff02, PERF_CONTEXT_USER,
            0x4010, PERF_SAMPLE_REGS_ABI_64, 0x7000, 0x4010, 0};

        begin(&r, RPS_STACKS_DWARF, 64);
        r.all.registers = registers;
        r.all.depth_max = 100;
        r.ring[0].kind = i < 4 ? RPS_PERF_PLACES : RPS_PERF_WAITS;
        put_sample(&r, 0, PERF_RECORD_MISC_KERNEL, 100, i < 4 ? words : whole, i < 4 ? 8 : 10);
        if (i == 0)
            assert_string_equal(drain(&r, 200), "w100:7.8@0,ff01,ff02|4010#- ");
        else
            drain(&r, 200);
        assert_int_equal(r.all.lost, 0);
        place[i] = r.place;
    }
    assert_int_equal(place[4], place[0]);
    for (size_t i = 1; i < 4; i++)
        assert_int_not_equal(place[i], place[0]);
}

/* --- messages of taskstats -------------------------------------------------------------------- */

#define FAMILY 31

/* A message of `bytes` bytes, as Linux sends at the end of a thread. */
struct ended {
    struct nlmsghdr head;
    struct genlmsghdr command;
    struct nlattr of, pid;
    uint32_t number;
    struct nlattr pad, stats;
    struct taskstats task;
};

static struct ended ended_of(uint32_t pid, uint64_t wait_ns)
{
    struct ended ended = {
        .head = {.nlmsg_len = sizeof(ended), .nlmsg_type = FAMILY},
        .of = {sizeof(ended) - offsetof(struct ended, of), TASKSTATS_TYPE_AGGR_PID | NLA_F_NESTED},
        .pid = {8, TASKSTATS_TYPE_PID},
        .number = pid,
        .pad = {4, TASKSTATS_TYPE_NULL},
        .stats = {4 + sizeof(ended.task), TASKSTATS_TYPE_STATS},
        .task = {.version = 1, .cpu_count = 3, .cpu_delay_total = wait_ns, .ac_pid = pid}};

    strcpy(ended.task.ac_comm, "cc1");
    return ended;
}

static int parse(const struct ended *ended, size_t size, struct taskstats *ret)
{
    uint8_t *exact = malloc(size > 0 ? size : 1); /* exact size, so that reading beyond it is
                                                     detected */
    int rc;

    memcpy(exact, ended, size);
    rc = rps_perf_queue_parse(exact, size, FAMILY, ret);
    free(exact);
    return rc;
}

static void test_ended(void **state)
{
    struct ended ended = ended_of(1234, 56789);
    struct taskstats task;

    (void)state;
    assert_int_equal(parse(&ended, sizeof(ended), &task), 0);
    assert_int_equal(task.ac_pid, 1234);
    assert_int_equal(task.cpu_delay_total, 56789);
    assert_string_equal(task.ac_comm, "cc1");
    memset(ended.task.ac_comm, 'x', sizeof(ended.task.ac_comm));
    assert_int_equal(parse(&ended, sizeof(ended), &task), 0);
    assert_int_equal(strlen(task.ac_comm), TS_COMM_LEN - 1);
    ended.head.nlmsg_type++;
    assert_int_equal(parse(&ended, sizeof(ended), &task), -1);
    ended = ended_of(0, 1);
    assert_int_equal(parse(&ended, sizeof(ended), &task), -1);
    ended = ended_of(UINT32_C(1) << 31, 1);
    assert_int_equal(parse(&ended, sizeof(ended), &task), -1);
    ended = ended_of(1, UINT64_C(1) << 63);
    assert_int_equal(parse(&ended, sizeof(ended), &task), -1);
    ended = ended_of(1, 1);
    ended.of.nla_type = TASKSTATS_TYPE_AGGR_TGID; /* for a process: its threads are reported
                                                     separately */
    assert_int_equal(parse(&ended, sizeof(ended), &task), -1);
}

/* Each length field gets every value, and reading stays within the message. */
static void test_hostile_lengths(void **state)
{
    const struct ended good = ended_of(1234, 56789);
    struct taskstats task;
    int accepted = 0;

    (void)state;
    for (size_t size = 0; size < sizeof(good); size++)
        assert_int_equal(parse(&good, size, &task), -1);
    for (uint32_t length = 0; length <= UINT16_MAX; length++) {
        struct ended bad[5] = {good, good, good, good, good};

        bad[0].head.nlmsg_len = length;
        bad[1].of.nla_len = (uint16_t)length;
        bad[2].pid.nla_len = (uint16_t)length;
        bad[3].pad.nla_len = (uint16_t)length;
        bad[4].stats.nla_len = (uint16_t)length;
        for (int i = 0; i < 5; i++)
            accepted += parse(&bad[i], sizeof(good), &task) == 0;
    }
    /* Accepted lengths: correct, rounded up to correct, or statistics that end after the number. */
    assert_true(accepted >= 5 && accepted < 1000);
}

static struct rps_sample last_queue;
static char last_name[32];
static int queues;

static void keep_queue(void *context, const struct rps_sample *sample)
{
    const int *pid = context;

    queues += sample->tid == 0;
    if (sample->tid != *pid)
        return;
    last_queue = *sample;
    snprintf(last_name, sizeof(last_name), "%s", sample->path);
}

/* Messages from another socket are rejected. Linux reports the end of a child. */
static void test_kernel_alone(void **state)
{
    struct ended forged = ended_of(1, 77);
    struct rps_perf_queue queue = {.fd = 0};
    struct sockaddr_nl to;
    socklen_t bytes = sizeof(to);
    int pid = 1, other;
    const struct rps_sample_sink sink = {&pid, keep_queue};

    (void)state;
    rps_perf_queue_open(&queue);
    if (queue.fd == 0) {
        print_message("skipped: %s\n", queue.failure);
        skip();
    }
    rps_perf_queue_drain(&queue, 1, 0, NULL);
    forged.head.nlmsg_type = queue.family;
    assert_int_equal(getsockname(queue.fd, (struct sockaddr *)&to, &bytes), 0);
    other = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    assert_true(sendto(other, &forged, sizeof(forged), 0, (struct sockaddr *)&to, bytes) < 0);
    close(other);
    pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    rps_perf_queue_drain(&queue, 1, 0, &sink);
    assert_int_equal(last_queue.tid, pid);
    assert_string_equal(last_name, "test_measure_sa");
    assert_int_equal(queues, 0);
    rps_perf_queue_drain(&queue, 0, 1, &sink);
    assert_int_equal(queues, 1);
    assert_null(queue.failure);
    rps_perf_queue_close(&queue);
    rps_perf_queue_open(&queue);
    rps_perf_queue_drain(&queue, 0, 0, &sink); /* recording pauses here */
    rps_perf_queue_drain(&queue, 0, 1, &sink);
    assert_int_equal(queues, 1);
    assert_non_null(queue.failure);
    rps_perf_queue_close(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),           cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_chains),          cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_other_records),   cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_bad_lengths),     cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_times),           cmocka_unit_test(test_switches),
        cmocka_unit_test(test_places),          cmocka_unit_test(test_ended),
        cmocka_unit_test(test_hostile_lengths), cmocka_unit_test(test_kernel_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
