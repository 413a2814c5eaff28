/* Tests of shares of samples by function, line, module, process, thread and program, and of call
 * trees. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpistat/run_code.h"
#include "support/arena.h"
#include "rpistat/shares.h"
#include "code/call_groups.h"

/* Frames of a program: main (frame 0) calls work (1) and spin (3), in which rest (2) is inlined.
 * work also calls itself and enters the kernel (4). Frames 5 and 6 are in a library without
 * symbols. Frame 7 is another line of main. */
static struct rps_module modules[] = {
    {0, RPS_MODULE_FILE, "/bin/prog", ""},
    {1, RPS_MODULE_KERNEL, "[kernel]", ""},
    {2, RPS_MODULE_FILE, "/lib/libx.so", ""},
    {3, RPS_MODULE_FILE, "/bin/prog", "abcd"}, /* another build of /bin/prog */
};
static struct rps_frame frames[] = {{0, 0, 0x10, 0}, {1, 0, 0x20, 0}, {2, 0, 0x30, 0},
                                    {3, 3, 0x40, 0}, {4, 1, 0x50, 0}, {5, 2, 0x60, 0},
                                    {6, 2, 0x70, 0}, {7, 0, 0x18, 0}};
static struct rps_location locations[] = {
    {0, 0, "main", "prog.c", 5, RPS_LOCATION_DEBUG},
    {1, 0, "work", "prog.c", 20, RPS_LOCATION_DEBUG},
    {2, 0, "rest", "prog.c", 30, RPS_LOCATION_DEBUG},
    {2, 1, "spin", "prog.c", 40, RPS_LOCATION_DEBUG},
    {3, 0, "spin", "prog.c", 41, RPS_LOCATION_DEBUG},
    {4, 0, "do_syscall", "", 0, RPS_LOCATION_SYMBOL},
    {5, 0, "stripped", "", 0, RPS_LOCATION_NONE},
    {7, 0, "main", "prog.c", 8, RPS_LOCATION_DEBUG},
};
static struct rps_stack stacks[] = {
    {0, -1, 0},  /* main */
    {1, 0, 1},   /* main > work */
    {2, 1, 1},   /* main > work > work */
    {3, 0, 2},   /* main > spin, with rest inlined */
    {4, 2, 4},   /* main > work > work > kernel */
    {5, 0, 5},   /* main > libx+0x60 */
    {6, 5, 6},   /* main > libx+0x60 > libx+0x70 */
    {7, -1, 3},  /* spin of the other build */
    {8, -1, -1}, /* a frame without information */
    {9, -1, 7},  /* another line of main */
};
static struct rps_task tasks[] = {
    {0, 10, 10, "sh", 0, -1, -1, 2, ""},
    {1, 10, 10, "prog", 5, -1, 7000, 0, "a.c"}, /* this task follows an exec */
    {2, 10, 11, "worker", 6, -1, -1, 0, ""},
    {3, 20, 21, "alone", 6, -1, -1, 1, ""},
    {4, 10, 12, "idle", 6, -1, -1, -1, ""},
};
static struct rps_cgroup cgroups[] = {
    {0, "/system.slice/a.service/main"}, {1, "/system.slice/a.service"}, {2, "/other/a.service"}};
static struct rps_code code = {.module_count = 4,
                               .frame_count = 8,
                               .location_count = 8,
                               .stack_count = 10,
                               .task_count = 5,
                               .module = modules,
                               .frame = frames,
                               .location = locations,
                               .stack = stacks,
                               .task = tasks,
                               .cgroup = cgroups,
                               .cgroup_count = 3};
static const uint64_t samples[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 3};

static const struct rps_share *find(const struct rps_shares *shares, const char *name)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (strcmp(shares->share[i].name, name) == 0)
            return &shares->share[i];
    }
    fail_msg("%s is not there", name);
    return NULL;
}

static void has(const struct rps_shares *shares, const char *name, uint64_t self, uint64_t total)
{
    const struct rps_share *share = find(shares, name);

    assert_int_equal(share->self, self);
    assert_int_equal(share->total, total);
}

static void functions(void **state)
{
    struct rps_shares shares;

    (void)state;
    shares = rps_shares_find(arena, &code, samples, RPS_SHARES_FUNCTION);
    assert_int_equal(shares.samples, 514);
    assert_int_equal(shares.count, 8);
    has(&shares, "main", 1 + 3, 1 + 2 + 4 + 8 + 16 + 32 + 64 + 3);
    has(&shares, "work", 6, 22); /* work counts once per stack */
    has(&shares, "rest", 8, 8);
    has(&shares, "spin", 128, 136); /* spin counts with inlined rest, in both builds */
    has(&shares, "do_syscall", 16, 16);
    has(&shares, "libx.so+0x60", 32, 96);
    has(&shares, "libx.so+0x70", 64, 64);
    has(&shares, "[unknown]", 256, 256);
    assert_string_equal(shares.share[0].name, "[unknown]");
    assert_string_equal(shares.share[1].name, "spin");
    assert_string_equal(shares.share[1].module, "/bin/prog");
    assert_int_equal(find(&shares, "main")->line, 8); /* line with most of the function's own
                                                         samples */
    assert_int_equal(find(&shares, "spin")->line, 41);
    assert_string_equal(find(&shares, "spin")->file, "prog.c");
    assert_true(find(&shares, "do_syscall")->is_kernel);
    assert_int_equal(find(&shares, "libx.so+0x60")->how, RPS_LOCATION_NONE);
    assert_int_equal(find(&shares, "work")->how, RPS_LOCATION_DEBUG);
}

/* Functions of hypervisors in the kernel have one common name and come after all work. Functions of
 * a program may have equal names. */
static void kernel_hooks(void **state)
{
    struct rps_location own[sizeof(locations) / sizeof(locations[0])];
    struct rps_code hooked = code;
    struct rps_shares shares;

    (void)state;
    memcpy(own, locations, sizeof(own));
    hooked.location = own;
    own[1].function = "native_safe_halt"; /* a program's function */
    own[5].function = "pvm_irq_enable";
    shares = rps_shares_find(arena, &hooked, samples, RPS_SHARES_FUNCTION);
    has(&shares, "kernel: interrupts", 16, 16);
    has(&shares, "native_safe_halt", 6, 22);
    assert_string_equal(shares.share[shares.count - 1].name, "kernel: interrupts");
    own[5].function = "acpi_idle_do_entry";
    shares = rps_shares_find(arena, &hooked, samples, RPS_SHARES_FUNCTION);
    assert_string_equal(shares.share[shares.count - 1].name, "kernel: idle");
    own[5].function = "disable_irq_nosync"; /* this function counts as work */
    shares = rps_shares_find(arena, &hooked, samples, RPS_SHARES_FUNCTION);
    has(&shares, "disable_irq_nosync", 16, 16);
    assert_string_not_equal(shares.share[shares.count - 1].name, "disable_irq_nosync");
}

/* Generated code counts as one function until it has names. */
static void made_code(void **state)
{
    struct rps_shares shares;

    (void)state;
    modules[2].kind = RPS_MODULE_JIT;
    shares = rps_shares_find(arena, &code, samples, RPS_SHARES_FUNCTION);
    modules[2].kind = RPS_MODULE_FILE;
    assert_int_equal(shares.count, 7);
    has(&shares, "[JIT code]", 32 + 64, 32 + 64);
    assert_string_equal(find(&shares, "[JIT code]")->module, "/lib/libx.so");
}

static void lines_and_modules(void **state)
{
    struct rps_shares shares;

    (void)state;
    shares = rps_shares_find(arena, &code, samples, RPS_SHARES_LINE);
    assert_int_equal(shares.count, 10); /* main and spin have two lines each */
    has(&shares, "work", 6, 22);
    assert_int_equal(find(&shares, "work")->line, 20);

    shares = rps_shares_find(arena, &code, samples, RPS_SHARES_MODULE);
    assert_int_equal(shares.count, 4);
    has(&shares, "/bin/prog", 1 + 6 + 8 + 128 + 3, 258);
    has(&shares, "/lib/libx.so", 96, 96);
    has(&shares, "[kernel]", 16, 16);
    has(&shares, "[unknown]", 256, 256);
}

static void processes_and_threads(void **state)
{
    static const uint64_t seen[] = {5, 1, 10, 7, 0};
    struct rps_shares shares;

    (void)state;
    shares = rps_shares_find(arena, &code, seen, RPS_SHARES_THREAD);
    assert_int_equal(shares.count, 4); /* the idle thread has no samples */
    assert_string_equal(shares.share[0].name, "worker");
    assert_int_equal(shares.share[0].tid, 11);

    shares = rps_shares_find(arena, &code, seen, RPS_SHARES_PROCESS);
    assert_int_equal(shares.count, 2);
    assert_string_equal(shares.share[0].name, "prog"); /* last name of the first thread */
    assert_int_equal(shares.share[0].self, 16);
    assert_int_equal(shares.share[0].pid, 10);
    assert_int_equal(shares.share[0].cpu_ns, 7000);
    assert_string_equal(shares.share[0].file, "a.c");
    assert_string_equal(shares.share[1].name, "alone");
    assert_int_equal(shares.share[1].cpu_ns, -1);
}

static void innermost_functions(void **state)
{
    struct rps_share_name *name;
    int64_t *function;
    size_t count;

    (void)state;
    function = rps_shares_functions(arena, &code, 0, RPS_UNNAMED_MODULE, &name, &count);
    assert_string_equal(name[function[4]].name, "do_syscall");
    assert_string_equal(name[function[3]].name, "rest");
    assert_int_equal(function[5], function[6]); /* one function for a module without symbols */
    assert_string_equal(name[function[5]].name, "[libx.so]");
    assert_int_equal(function[3] == function[7], 0);
    assert_int_equal(function[8], -1);
    function = rps_shares_functions(arena, &code, 1, RPS_UNNAMED_MODULE, &name, &count);
    assert_string_equal(name[function[4]].name, "work");
    rps_shares_place(&code, RPS_UNNAMED_MODULE, samples, name);
    assert_string_equal(name[function[1]].file, "prog.c");
    assert_int_equal(name[function[1]].line, 20);
    assert_int_equal(name[function[0]].line, 8); /* line 8 has more samples than line 5 */
    assert_string_equal(name[function[5]].file, "");
}

/* Return the functions of the code with other frames. */
static int64_t *functions_with(struct rps_frame *frame, enum rps_unnamed unnamed,
                               struct rps_share_name **ret_name)
{
    struct rps_code other = code;
    size_t count;

    other.frame = frame;
    return rps_shares_functions(arena, &other, 1, unnamed, ret_name, &count);
}

/* A function without a name is identified by its start, or by its module if the start is unknown.
 */
static void functions_by_beginning(void **state)
{
    struct rps_frame begun[8];
    struct rps_share_name *name;
    int64_t *function;

    (void)state;
    memcpy(begun, frames, sizeof(begun));
    begun[5].function = 0x2f80;
    function = functions_with(begun, RPS_UNNAMED_FUNCTION, &name);
    assert_string_equal(name[function[5]].name, "libx.so+0x2f80");
    assert_string_equal(name[function[6]].name, "[libx.so]");
}

static void functions_by_page(void **state)
{
    struct rps_frame moved[8];
    struct rps_share_name *name;
    int64_t *function;

    (void)state;
    memcpy(moved, frames, sizeof(moved));
    moved[5].address = 0x3000;
    for (uint64_t page = 3; page <= 4; page++) {
        moved[6].address = page << 12 | 0xfff;
        function = functions_with(moved, RPS_UNNAMED_PAGE, &name);
        assert_string_equal(name[function[5]].name, "libx.so+0x3000");
        assert_string_equal(name[function[6]].name,
                            page == 3 ? "libx.so+0x3000" : "libx.so+0x4000");
        assert_int_equal(function[5] == function[6], page == 3);
        assert_string_equal(name[function[3]].name, "spin");
    }
}

/* Inlined code belongs to the function around it, identified by its start if known. */
static void functions_by_place(void **state)
{
    struct rps_frame begun[8];
    struct rps_code other = code;
    struct rps_share_name *name;
    int64_t *function;
    size_t count;

    (void)state;
    memcpy(begun, frames, sizeof(begun));
    other.frame = begun;
    begun[5].function = begun[6].function = 0x2f80;
    function = rps_shares_functions(arena, &other, 1, RPS_UNNAMED_PLACE, &name, &count);
    assert_string_equal(name[function[5]].name, "libx.so+0x2f80");
    assert_int_equal(function[5], function[6]);
    assert_string_equal(name[function[3]].name, "spin");
    begun[2].function = 0x3f80;
    function = rps_shares_functions(arena, &other, 1, RPS_UNNAMED_PLACE, &name, &count);
    assert_string_equal(name[function[3]].name, "prog+0x3f80");
    begun[5].function = 0;
    begun[6] = (struct rps_frame){6, 2, 0x5070, 0};
    modules[2].kind = RPS_MODULE_JIT; /* compiled code is one function in a chain of callers */
    function = rps_shares_functions(arena, &other, 1, RPS_UNNAMED_PLACE, &name, &count);
    assert_string_equal(name[function[6]].name, "[JIT code]");
    assert_int_equal(function[5], function[6]);
    modules[2].kind = RPS_MODULE_FILE;
    function = rps_shares_functions(arena, &other, 1, RPS_UNNAMED_PAGE, &name, &count);
    assert_string_equal(name[function[3]].name, "spin");
}

/* Return the node of a path such as "main;work" below the root. */
static const struct rps_call *call_at(const struct rps_calls *calls, const char *path)
{
    char text[256], *rest = text, *name;
    size_t at = 0;

    snprintf(text, sizeof(text), "%s", path);
    while ((name = strsep(&rest, ";"))) {
        size_t i = at + 1;

        while (i < calls->count &&
               (calls->call[i].parent != at || strcmp(calls->call[i].function, name) != 0))
            i++;
        if (i == calls->count)
            fail_msg("%s is not there", path);
        at = i;
    }
    return &calls->call[at];
}

static void trees(void **state)
{
    static uint64_t few[10] = {[3] = 7}, other_line[10] = {[0] = 2, [9] = 3};
    struct rps_calls calls;

    (void)state;
    calls = rps_shares_calls(arena, &code, samples);
    assert_int_equal(calls.call[0].total, 514);
    assert_int_equal(calls.call[0].self, 0);
    assert_int_equal(call_at(&calls, "main")->total, 130);
    assert_int_equal(call_at(&calls, "main")->self, 4); /* two frames of one function */
    assert_int_equal(call_at(&calls, "main;work;work")->total, 20);
    assert_int_equal(call_at(&calls, "main;work;work;do_syscall")->self, 16);
    assert_true(call_at(&calls, "main;work;work;do_syscall")->is_kernel);
    assert_int_equal(call_at(&calls, "main;spin")->self, 0);
    assert_int_equal(call_at(&calls, "main;spin")->is_inlined, 0);
    assert_int_equal(call_at(&calls, "main;spin;rest")->self, 8);
    assert_int_equal(call_at(&calls, "main;spin;rest")->is_inlined, 1);
    assert_int_equal(call_at(&calls, "main;[libx.so];[libx.so]")->self, 64);
    assert_int_equal(call_at(&calls, "spin")->total, 128);
    for (size_t i = 1; i < calls.count; i++)
        assert_true(calls.call[i].parent < i);

    calls = rps_shares_calls(arena, &code, few);
    assert_int_equal(calls.count, 4); /* stacks without samples are left out */
    assert_int_equal(call_at(&calls, "main")->line, 5);
    assert_int_equal(call_at(&calls, "main;spin")->line, 40);
    calls = rps_shares_calls(arena, &code, other_line);
    assert_int_equal(call_at(&calls, "main")->line, 8); /* the line with most samples */
}

/* An inner function (2) with two callers (0, 1) makes two groups of calls. Calls with few samples
 * belong to their caller's group. Recursion, the kernel and stacks without functions make no
 * groups. */
static void groups_of_calls(void **unused)
{
    static struct rps_stack tree[] = {
        {0, -1, 0}, /* function 0 */
        {1, 0, 1},  /* function 0 > 2 */
        {2, -1, 2}, /* function 1 */
        {3, 2, 1},  /* function 1 > 2 */
        {4, 3, 3},  /* function 1 > 2 > 3: few samples */
        {5, 1, 1},  /* function 0 > 2 > 2 */
        {6, 3, 4},  /* function 1 > 2 > none */
        {7, 0, 3},  /* function 0 > 3: few samples */
    };
    static const int64_t function[] = {0, 2, 1, 2, 3, 2, -1, 3};
    static const uint64_t seen[] = {0, 400, 0, 300, 6, 100, 7, 6};
    static const uint64_t few[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const uint64_t small[] = {0, 400, 0, 90, 60, 100, 7, 5};
    static struct rps_frame frame[5];
    const struct rps_code of = {.stack_count = 8, .stack = tree, .frame_count = 5, .frame = frame};
    int64_t group[8], other[8];
    const struct rps_call_run run[] = {{&of, function, NULL, seen, group},
                                       {&of, function, NULL, few, other}};
    static const uint64_t all[] = {0, 40, 0, 30, 5, 10, 7, 5};
    const struct rps_call_run with_small = {&of, function, NULL, small, group};
    const struct rps_call_run all_small = {&of, function, NULL, all, group};

    (void)unused;
    assert_int_equal(rps_call_groups_find(run, 1), 3);
    assert_true(group[1] > 0 && group[3] > 0 && group[1] != group[3]);
    assert_int_equal(group[4], group[3]);
    assert_int_equal(group[5], group[1]);
    assert_int_equal(group[6], -1);
    assert_int_equal(group[7], 0);
    assert_int_equal(group[0], 0);
    /* Two runs together have enough samples (6 + 1) of 0 > 3 and of 1 > 2 > 3. Both runs have the
     * same group numbers. */
    assert_int_equal(rps_call_groups_find(run, 2), 5);
    assert_true(group[7] > 0 && group[7] == other[7] && group[1] == other[1]);
    assert_int_equal(rps_call_groups_find(&run[1], 1), 1);
    for (int s = 0; s < 8; s++)
        assert_int_equal(other[s], s == 6 ? -1 : 0);
    /* Function 1 has 150 samples with its callees, so all are one group. */
    assert_int_equal(rps_call_groups_find(&with_small, 1), 1 + 2);
    assert_true(group[2] > 0 && group[2] == group[3] && group[3] == group[4]);
    assert_true(group[1] > 0 && group[1] != group[2]);
    /* Each has more than 30 % of all samples. */
    assert_int_equal(rps_call_groups_find(&all_small, 1), 1 + 2);
    assert_true(group[1] > 0 && group[3] > 0 && group[1] != group[3] && group[2] == 0);
}

/* An unknown function (0) is divided by its addresses, if it is innermost. Blocks with few samples
 * are one group with their page. Functions with a name or a known beginning, and the kernel, are
 * not divided. */
static void groups_of_blocks(void **unused)
{
    static struct rps_frame frame[] = {
        {0, 0, 0x1000, 0}, {1, 0, 0x103f, 0},      {2, 0, 0x1040, 0}, {3, 0, 0x1100, 0},
        {4, 0, 0x1180, 0}, {5, 0, 0x1200, 0x1000}, {6, 1, 0x2000, 0}, {7, 0, 0x3000, 0},
        {8, 0, 0x4000, 0}, {9, 0, 0x4100, 0},
    };
    static struct rps_stack tree[] = {{0, -1, 0}, {1, -1, 1}, {2, -1, 2}, {3, -1, 3}, {4, -1, 4},
                                      {5, -1, 5}, {6, 0, 6},  {7, 2, 7},  {8, -1, 8}, {9, -1, 9}};
    static const struct rps_share_name name[] = {{.is_unnamed = 1}, {.is_unnamed = 0}};
    static const int64_t function[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    static const uint64_t seen[] = {100, 100, 100, 4, 4, 100, 100, 100, 100, 100};
    const struct rps_code of = {.stack_count = 10,
                                .stack = tree,
                                .frame_count = 10,
                                .frame = frame,
                                .module_count = 2,
                                .module = modules};
    int64_t group[10];
    struct rps_call_run run = {&of, function, name, seen, group};

    (void)unused;
    assert_int_equal(rps_call_groups_find(&run, 1), 1 + 6);
    assert_int_equal(group[0], group[1]);
    assert_true(group[2] != group[0] && group[3] != group[0] && group[3] != group[2]);
    assert_int_equal(group[3], group[4]); /* the rest of the page */
    assert_true(group[5] != group[0] && group[5] != group[3]);
    assert_int_equal(group[6], group[5]);
    assert_true(group[7] != group[2] && group[7] != group[5]);
    assert_int_equal(group[8], group[9]);
    run.name = NULL;
    assert_int_equal(rps_call_groups_find(&run, 1), 1 + 2);
}

/* A known function (0) with more than a quarter of the samples is divided into blocks. A function
 * (1) with fewer samples is not. */
static void groups_of_a_large_function(void **unused)
{
    static struct rps_frame frame[] = {{0, 0, 0x1000, 0x1000}, {1, 0, 0x1020, 0x1000},
                                       {2, 0, 0x1080, 0x1000}, {3, 0, 0x3000, 0x3000},
                                       {4, 0, 0x3080, 0x3000}, {5, 0, 0x5000, 0x5000}};
    static struct rps_stack tree[] = {{0, -1, 0}, {1, -1, 1}, {2, -1, 2},
                                      {3, -1, 3}, {4, -1, 4}, {5, -1, 5}};
    static const struct rps_share_name name[] = {
        {.is_unnamed = 1}, {.is_unnamed = 1}, {.is_unnamed = 1}};
    static const int64_t function[] = {0, 0, 0, 1, 1, 2};
    static const uint64_t seen[] = {100, 100, 100, 100, 100, 600};
    const struct rps_code of = {.stack_count = 6,
                                .stack = tree,
                                .frame_count = 6,
                                .frame = frame,
                                .module_count = 2,
                                .module = modules};
    int64_t group[6];
    const struct rps_call_run run = {&of, function, name, seen, group};

    (void)unused;
    assert_int_equal(rps_call_groups_find(&run, 1), 1 + 4);
    assert_int_equal(group[0], group[1]);
    assert_true(group[2] != group[0]);
    assert_int_equal(group[3], group[4]);
}

/* The calls of a function (1 or 2) by different places of a known function (0) are one group, also
 * those of a function (1) with more than a quarter of the samples. Another caller (3) makes another
 * group. */
static void groups_of_one_caller(void **unused)
{
    static struct rps_frame frame[] = {{0, 0, 0x1010, 0x1000}, {1, 0, 0x1120, 0x1000},
                                       {2, 0, 0x2000, 0x2000}, {3, 0, 0x2010, 0x2000},
                                       {4, 0, 0x3000, 0x3000}, {5, 0, 0x9000, 0}};
    static struct rps_stack tree[] = {{0, -1, 0}, {1, -1, 1}, {2, 0, 2},  {3, 0, 3}, {4, 1, 2},
                                      {5, 0, 4},  {6, 1, 4},  {7, -1, 5}, {8, 7, 2}};
    static const struct rps_share_name name[] = {
        {.is_unnamed = 1}, {.is_unnamed = 1}, {.is_unnamed = 1}, {.is_unnamed = 1}};
    static const int64_t function[] = {0, 0, 1, 1, 1, 2, 2, 3, 1};
    static const uint64_t seen[] = {0, 0, 100, 100, 100, 60, 60, 0, 100};
    const struct rps_code of = {.stack_count = 9,
                                .stack = tree,
                                .frame_count = 6,
                                .frame = frame,
                                .module_count = 2,
                                .module = modules};
    int64_t group[9];
    const struct rps_call_run run = {&of, function, name, seen, group};

    (void)unused;
    assert_int_equal(rps_call_groups_find(&run, 1), 1 + 3);
    assert_int_equal(group[2], group[3]);
    assert_true(group[4] > 0 && group[4] == group[2]);
    assert_true(group[5] > 0 && group[5] == group[6]);
    assert_true(group[8] > 0 && group[8] != group[2]);
}

/* JIT-compiled code without a name (function 0) is one function, whoever calls it, and is divided
 * into blocks. What it calls is in the same group wherever the code is. */
static void groups_below_made_code(void **unused)
{
    static struct rps_module made[] = {{.path = "node", .kind = RPS_MODULE_FILE},
                                       {.path = "perf-1.map", .kind = RPS_MODULE_JIT}};
    static struct rps_frame frame[] = {
        {0, 0, 0x1000, 0x1000}, {1, 1, 0x9000, 0}, {2, 1, 0xa000, 0}, {3, 0, 0x2000, 0x2000}};
    static struct rps_stack tree[] = {{0, -1, 0}, {1, 0, 1}, {2, 1, 2}, /* 1 > 0 > 0 */
                                      {3, 0, 3},  {4, 1, 3}, {5, 2, 3}};
    static const struct rps_share_name name[] = {
        {.is_unnamed = 1}, {.is_unnamed = 1}, {.is_unnamed = 1}};
    static const int64_t function[] = {1, 0, 0, 2, 2, 2};
    static const uint64_t seen[] = {0, 80, 80, 200, 80, 80};
    const struct rps_code of = {.stack_count = 6,
                                .stack = tree,
                                .frame_count = 4,
                                .frame = frame,
                                .module_count = 2,
                                .module = made};
    int64_t group[6];
    const struct rps_call_run run = {&of, function, name, seen, group};

    (void)unused;
    assert_int_equal(rps_call_groups_find(&run, 1), 1 + 4);
    assert_true(group[1] != group[2] && group[1] != group[4] && group[2] != group[4]);
    assert_int_equal(group[4], group[5]);
    assert_true(group[3] > 0 && group[3] != group[4]);
}

/* JIT-compiled functions with names: function 1 has enough samples for a group, and is one group
 * whether 0 calls it, or an interpreter (3). Function 2 has fewer, and belongs to its caller 1. The
 * samples of a thread that compiles code (4 and its callee 5) are in no group. */
static void groups_of_jit_functions(void **unused)
{
    static struct rps_module of_java[] = {{.path = "libjvm.so", .kind = RPS_MODULE_FILE},
                                          {.path = "perf-1.map", .kind = RPS_MODULE_JIT}};
    static struct rps_frame frame[] = {{0, 1, 0x9000, 0},      {1, 1, 0xa000, 0},
                                       {2, 1, 0xb000, 0},      {3, 0, 0x1000, 0x1000},
                                       {4, 0, 0x2000, 0x2000}, {5, 0, 0x3000, 0x3000}};
    static struct rps_location location[] = {
        {0, 0, "run", "", 0, RPS_LOCATION_MAP},
        {1, 0, "sort", "", 0, RPS_LOCATION_MAP},
        {2, 0, "swap", "", 0, RPS_LOCATION_MAP},
        {3, 0, "JavaCalls::call", "", 0, RPS_LOCATION_SYMBOL},
        {4, 0, "CompileBroker::compiler_thread_loop()", "", 0, RPS_LOCATION_SYMBOL},
        {5, 0, "Compile::Compile", "", 0, RPS_LOCATION_SYMBOL}};
    static struct rps_stack tree[] = {{0, -1, 0}, {1, 0, 1}, {2, 1, 2}, /* 0 > 1 > 2 */
                                      {3, -1, 3}, {4, 3, 1},            /* 3 > 1 */
                                      {5, 0, 2},                        /* 0 > 2 */
                                      {6, -1, 4}, {7, 6, 5},            /* 4 > 5 */
                                      {8, 3, 2}};                       /* 3 > 2 */
    static const struct rps_share_name name[6];
    static const int64_t function[] = {0, 1, 2, 3, 1, 2, 4, 5, 2};
    static const uint64_t seen[] = {200, 100, 2, 50, 100, 3, 100, 500, 1};
    const struct rps_code of = {.stack_count = 9,
                                .stack = tree,
                                .frame_count = 6,
                                .frame = frame,
                                .location_count = 6,
                                .location = location,
                                .module_count = 2,
                                .module = of_java};
    int64_t group[9];
    const struct rps_call_run run = {&of, function, name, seen, group};

    (void)unused;
    assert_int_equal(rps_call_groups_find(&run, 1), 1 + 3);
    assert_true(group[0] > 0 && group[1] > 0 && group[0] != group[1]);
    assert_int_equal(group[4], group[1]);
    assert_int_equal(group[2], group[1]);
    assert_int_equal(group[5], group[0]);
    assert_int_equal(group[6], -1);
    assert_int_equal(group[7], -1);
    assert_int_equal(group[8], 0); /* 3 is no JIT-compiled function */
}

/* Counts in a store may have any value, and sums must not overflow. */
static void sums_too_large(void **state)
{
    static const uint64_t huge[10] = {[1] = UINT64_C(1) << 63, [3] = UINT64_C(1) << 63};
    struct rps_calls calls;

    (void)state;
    calls = rps_shares_calls(arena, &code, huge);
    for (size_t i = 1; i < calls.count; i++)
        assert_true(calls.call[i].parent < i);
}

static void nothing(void **state)
{
    static const uint64_t none[10] = {0};
    struct rps_code empty = {0};
    struct rps_shares shares;
    struct rps_calls calls;

    (void)state;
    shares = rps_shares_find(arena, &empty, none, RPS_SHARES_FUNCTION);
    assert_int_equal(shares.count, 0);
    shares = rps_shares_find(arena, &code, none, RPS_SHARES_LINE);
    assert_int_equal(shares.count, 0);
    calls = rps_shares_calls(arena, &empty, none);
    assert_int_equal(calls.count, 1);
}

/* Make 200,000 stacks that pass through 50 functions twice. Readers return no stacks that are
 * deeper than samples. */
#define DEEP  200000
#define DEPTH 100
#define NAMES 50

_Static_assert(DEPTH < RPS_SAMPLE_DEPTH_MAX, "deeper than samples");

static void deep_recursion(void **state)
{
    struct rps_location *location = calloc(NAMES, sizeof(*location));
    struct rps_frame *frame = calloc(NAMES, sizeof(*frame));
    struct rps_stack *stack = calloc(DEEP, sizeof(*stack));
    uint64_t *seen = calloc(DEEP, sizeof(*seen));
    char(*name)[16] = calloc(NAMES, sizeof(*name));
    struct rps_code deep = {.module_count = 1,
                            .frame_count = NAMES,
                            .location_count = NAMES,
                            .stack_count = DEEP,
                            .module = modules,
                            .frame = frame,
                            .location = location,
                            .stack = stack};
    struct rps_shares shares;
    struct rps_calls calls;

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        snprintf(name[i], sizeof(name[i]), "f%d", i);
        frame[i] = (struct rps_frame){i, 0, (uint64_t)i, 0};
        location[i] = (struct rps_location){i, 0, name[i], "f.c", i + 1, RPS_LOCATION_DEBUG};
    }
    for (int i = 0; i < DEEP; i++) {
        stack[i] = (struct rps_stack){i, i % DEPTH > 0 ? i - 1 : -1, i % NAMES};
        seen[i] = 1;
    }
    shares = rps_shares_find(arena, &deep, seen, RPS_SHARES_FUNCTION);
    assert_int_equal(shares.count, NAMES);
    has(&shares, "f0", DEEP / NAMES, DEEP);
    has(&shares, "f49", DEEP / NAMES, DEEP / DEPTH * (DEPTH - 49));
    calls = rps_shares_calls(arena, &deep, seen);
    assert_int_equal(calls.count, DEPTH + 1);
    free(name);
    free(seen);
    free(stack);
    free(frame);
    free(location);
}

/* A program has the name of the first threads of its processes. An exec begins another program. */
static void programs(void **state)
{
    const uint64_t seen[] = {1, 2, 4, 8, 16};
    struct rps_share_name *name;
    struct rps_shares shares;
    int64_t *program;
    size_t count, *process;

    (void)state;
    program = rps_shares_owners(arena, &code, RPS_SHARES_PROGRAM, &name, &count, &process);
    assert_int_equal(count, 3);
    assert_string_equal(name[program[0]].name, "sh");
    assert_string_equal(name[program[1]].name, "prog");
    assert_int_equal(program[2], program[1]); /* threads belong to the program */
    assert_int_equal(program[4], program[1]);
    assert_string_equal(name[program[3]].name, "alone"); /* the first thread has no samples */
    assert_string_equal(name[program[3]].module, "");
    assert_int_equal(process[2], process[1]);
    assert_int_not_equal(process[3], process[1]);
    shares = rps_shares_find(arena, &code, seen, RPS_SHARES_PROGRAM);
    assert_int_equal(shares.count, 3);
    assert_int_equal(shares.samples, 31);
    assert_string_equal(shares.share[0].name, "prog");
    assert_int_equal(shares.share[0].self, 22);
    assert_int_equal(shares.share[0].processes, 1);
    assert_true(rps_shares_has_processes(&code));
    assert_false(rps_shares_has_processes(&(struct rps_code){.task_count = 3, .task = tasks}));
    assert_false(rps_shares_has_processes(&(struct rps_code){.task_count = 0}));
}

/* Process numbers are reused: threads of the first process 5 do not belong to the second. */
static void programs_with_one_number(void **state)
{
    const struct rps_task again[] = {
        {.pid = 5, .tid = 5, .name = "zstd", .start_ns = 10, .end_ns = 100, .cgroup = -1},
        {.pid = 5, .tid = 6, .name = "worker", .start_ns = 20, .end_ns = 90, .cgroup = -1},
        {.pid = 5, .tid = 5, .name = "stress", .start_ns = 2000000200, .end_ns = -1, .cgroup = -1},
        {.pid = 5, .tid = 7, .name = "worker", .start_ns = 2000000190, .end_ns = -1, .cgroup = -1},
        {.pid = 5, .tid = 8, .name = "between", .start_ns = 110, .end_ns = 120, .cgroup = -1},
    };
    const struct rps_code two = {.task_count = 5, .task = (struct rps_task *)again};
    const uint64_t seen[] = {1, 64, 8, 16, 4};
    struct rps_share_name *name;
    size_t count;
    int64_t *program = rps_shares_owners(arena, &two, RPS_SHARES_PROGRAM, &name, &count, NULL);
    struct rps_shares shares;

    (void)state;
    assert_string_equal(name[program[1]].name, "zstd");
    assert_string_equal(name[program[3]].name, "stress");
    assert_string_equal(name[program[4]].name, "between"); /* the first thread has no samples */
    shares = rps_shares_find(arena, &two, seen, RPS_SHARES_PROCESS);
    assert_int_equal(shares.count, 3);
    assert_string_equal(shares.share[0].name, "zstd");
    assert_int_equal(shares.share[0].self, 65);
    assert_string_equal(shares.share[1].name, "stress");
    assert_int_equal(shares.share[1].self, 24);
    assert_int_equal(shares.share[2].self, 4);
}

/* If the first thread has no samples, all threads are in one program: a JVM is "java", not also
 * "GC Thread#1". */
static void program_without_first_thread(void **state)
{
    const struct rps_task jvm[] = {
        {.pid = 5, .tid = 9, .name = "GC Thread#1", .start_ns = 10, .end_ns = -1, .cgroup = -1},
        {.pid = 5, .tid = 6, .name = "java", .start_ns = 20, .end_ns = -1, .cgroup = -1},
        {.pid = 5, .tid = 8, .name = "C1 CompilerThre", .start_ns = 30, .end_ns = -1, .cgroup = -1},
    };
    const struct rps_code one = {.task_count = 3, .task = (struct rps_task *)jvm};
    const uint64_t seen[] = {1, 2, 4};
    struct rps_share_name *name;
    size_t count;
    int64_t *program = rps_shares_owners(arena, &one, RPS_SHARES_PROGRAM, &name, &count, NULL);
    struct rps_shares shares = rps_shares_find(arena, &one, seen, RPS_SHARES_PROCESS);

    (void)state;
    assert_int_equal(count, 1);
    assert_string_equal(name[program[0]].name, "java");
    assert_int_equal(shares.count, 1);
    assert_string_equal(shares.share[0].name, "java");
    assert_int_equal(shares.share[0].self, 7);
}

static void expect_name(const char *path, const char *name, size_t end)
{
    size_t length, found_end;
    const char *found = rps_cgroup_name(path, &length, &found_end);

    assert_int_equal(length, strlen(name));
    assert_memory_equal(found, name, length);
    assert_int_equal(found_end, end > 0 ? end : strlen(path));
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Containers are named by the start of their number, units by their name, and other control groups
 * by their path. */
static void names_of_cgroups(void **state)
{
    (void)state;
    expect_name("/system.slice/docker-" ID ".scope", "0123456789ab", 0);
    expect_name("/docker/" ID, "0123456789ab", 0);
    expect_name("/machine.slice/libpod-" ID ".scope/container", "0123456789ab", 14 + 7 + 64 + 7);
    expect_name("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
                "cri-containerd-" ID ".scope",
                "0123456789ab", 0);
    expect_name("/kubepods/besteffort/pod12345678-1234-1234-1234-123456789abc/" ID, "0123456789ab",
                0);
    expect_name("/docker/f" ID, "/docker/f" ID, 0); /* one digit too many for a container */
    expect_name("/docker/" ID "/docker/ff" ID, "0123456789ab", 8 + 64);
    expect_name("/docker/" ID "/system.slice/nginx.service", "0123456789ab", 8 + 64);
    expect_name("/system.slice/cron.service", "cron.service", 0);
    expect_name("/user.slice/user-0.slice/user@0.service/app.slice/x.scope/a/b", "x.scope", 57);
    expect_name("/init.scope", "init.scope", 0);
    expect_name("/process_api/5732cbf1aac9f9c53171f8a0d3af991c",
                "/process_api/5732cbf1aac9f9c53171f8a0d3af991c", 0);
    expect_name("/.slice/a.slicex", "/.slice/a.slicex", 0);
    expect_name("/", "/", 0);
    expect_name("", "", 0);
}

/* Control groups below one unit count as one. Units of the same name elsewhere are separate. */
static void of_cgroups(void **state)
{
    const uint64_t seen[] = {1, 2, 4, 8, 16};
    struct rps_shares shares;

    (void)state;
    shares = rps_shares_find(arena, &code, seen, RPS_SHARES_CGROUP);
    assert_int_equal(shares.count, 3);
    assert_int_equal(shares.samples, 31);
    assert_string_equal(shares.share[0].name, "[unknown]");
    assert_int_equal(shares.share[0].self, 16);
    assert_string_equal(shares.share[1].name, "a.service");
    assert_string_equal(shares.share[1].module, "/system.slice/a.service");
    assert_int_equal(shares.share[1].self, 14);
    assert_int_equal(shares.share[1].processes, 2);
    assert_string_equal(shares.share[2].module, "/other/a.service");
    assert_int_equal(shares.share[2].self, 1);
}

/* A build with two paths is one module; another program of this name is another module. */
static void paths_of_one_build(void **state)
{
    static struct rps_module module[] = {{0, RPS_MODULE_FILE, "/usr/bin/git", "abcd"},
                                         {1, RPS_MODULE_FILE, "/usr/lib/git-core/git", "abcd"},
                                         {2, RPS_MODULE_FILE, "/opt/git", "ef01"}};
    static struct rps_frame frame[] = {{0, 0, 0x10, 0}, {1, 1, 0x20, 0}, {2, 2, 0x30, 0}};
    static struct rps_stack stack[] = {{0, -1, 0}, {1, -1, 1}, {2, -1, 2}};
    const struct rps_code git = {.module_count = 3,
                                 .module = module,
                                 .frame_count = 3,
                                 .frame = frame,
                                 .stack_count = 3,
                                 .stack = stack};
    const uint64_t seen[] = {1, 2, 4};
    struct rps_shares shares;

    (void)state;
    shares = rps_shares_find(arena, &git, seen, RPS_SHARES_MODULE);
    assert_int_equal(shares.count, 2);
    assert_string_equal(shares.share[0].module, "/opt/git");
    assert_int_equal(shares.share[0].self, 4);
    assert_string_equal(shares.share[1].module, "/usr/bin/git");
    assert_int_equal(shares.share[1].self, 3);
}

/* Programs are shown for a whole machine, and for several processes if most samples have no name.
 */
static void of_programs(void **state)
{
    const struct rps_share_name name[] = {{.name = "work"},
                                          {.name = "[a]", .is_unnamed = 1},
                                          {.name = "main"},
                                          {.name = "[b]", .is_unnamed = 1}};
    const uint64_t unnamed[] = {5, 3, 5, 3}, named[] = {6, 3, 5, 3}, none[] = {0, 0, 0, 0};
    const struct rps_code one = {.task_count = 3, .task = tasks}, machine = {.is_of_machine = 1};

    (void)state;
    assert_true(rps_shares_are_of_programs(&code, name, unnamed, 4));
    assert_false(rps_shares_are_of_programs(&code, name, named, 4));
    assert_false(rps_shares_are_of_programs(&code, name, none, 4));
    assert_false(rps_shares_are_of_programs(&one, name, unnamed, 4));
    assert_true(rps_shares_are_of_programs(&machine, name, named, 4));
}

/* With fewer than 20 samples, no shares are shown. */
static void parts(void **state)
{
    (void)state;
    assert_true(isnan(rps_shares_part(19, 19)));
    assert_true(isnan(rps_shares_part(0, 0)));
    assert_float_equal(rps_shares_part(5, 20), .25, 1e-9);
}

/* Make all times shorter and the samples more frequent by the factor `by`. */
static void scale(struct rps_code *of, int by)
{
    of->sampling.frequency *= (uint32_t)by;
    of->sampling.user_ns /= by;
    of->sampling.kernel_ns /= by;
    for (size_t i = 0; i < of->program_count; i++)
        of->program[i].cpu_ns /= by;
}

/* Time without samples counts as missing, unless samples of the same program stand for it. A
 * difference that may be chance is not shown. */
static void what_is_not_sampled(void **state)
{
    struct rps_program programs[] = {
        {0, "md5sum", 2000000000, 0, 2000000000, 500, 0, -1},
        {1, "cc", 9000000000, 910, 100000000, 3, 0, -1}, /* more samples than its time allows */
        {2, "sh", 1000000000, 60, 500000000, 20, 9, -1},
        {3, "", 100000000, 0, 100000000, 0, 7, -1},
    };
    struct rps_code ended = {
        .sampling = {.event = "cpu-clock", .frequency = 100, .user_ns = -1, .kernel_ns = -1},
        .program_count = 4,
        .program = programs};
    struct rps_unsampled unsampled;

    (void)state;
    unsampled = rps_code_unsampled(arena, &ended);
    assert_int_equal(unsampled.count, 3);
    assert_float_equal(unsampled.cpu_s, 2.4, 1e-9); /* all the time that has no samples */
    assert_int_equal(unsampled.processes, 520);
    assert_int_equal(unsampled.threads, 16);
    assert_string_equal(unsampled.program[0].name, "md5sum");
    assert_float_equal(unsampled.program[1].cpu_s, .4 * 2.4 / 2.5, 1e-9);
    assert_string_equal(unsampled.program[2].name, "[unknown]");
    /* only three quarters of the time can be sampled */
    strcpy(ended.sampling.event, "cpu-clock:u");
    ended.sampling.user_ns = 9000000000;
    ended.sampling.kernel_ns = 3000000000;
    unsampled = rps_code_unsampled(arena, &ended);
    assert_int_equal(unsampled.count, 0); /* other programs have too many samples */
    programs[1].samples = 690;
    unsampled = rps_code_unsampled(arena, &ended);
    assert_float_equal(unsampled.cpu_s, 1.5 + .15 + .075 - .15, 1e-9);
    /* the share is the same if the run is shorter than a second */
    scale(&ended, 100);
    assert_float_equal(rps_code_unsampled(arena, &ended).cpu_s, unsampled.cpu_s / 100, 1e-9);
    strcpy(ended.sampling.event, "page-faults");
    assert_float_equal(rps_code_unsampled(arena, &ended).cpu_s, 0, 0);
    strcpy(ended.sampling.event, "cpu-clock");
    programs[0].samples = 200;
    programs[1].samples = 841; /* 59 + 10 of 1,210 samples are missing, which may be chance */
    programs[2].samples = 100;
    assert_float_equal(rps_code_unsampled(arena, &ended).cpu_s, 0, 0);
}

/* Threads with 2 ms of CPU time do not explain .6 s without samples. */
static void test_who_lacks_samples(void **state)
{
    struct rps_program server = {0, "server", 6810000000, 600, 2000000, 0, 4, -1};
    const struct rps_code ended = {
        .sampling = {.event = "cpu-clock", .frequency = 100, .user_ns = -1, .kernel_ns = -1},
        .program_count = 1,
        .program = &server};
    struct rps_unsampled unsampled = rps_code_unsampled(arena, &ended);
    char text[128];

    (void)state;
    assert_float_equal(unsampled.cpu_s, .81, 1e-9);
    assert_int_equal(unsampled.threads, 0);
    assert_string_equal(rps_unsampled_text(text, sizeof(text), &unsampled, 8.1),
                        "[not sampled: server 10 %; share of the CPU time]");
    server.unsampled_ns = 500000000;
    unsampled = rps_code_unsampled(arena, &ended);
    assert_int_equal(unsampled.threads, 4);
    assert_string_equal(rps_unsampled_text(text, sizeof(text), &unsampled, 8.1),
                        "[not sampled: 4 short threads; server 10 %; share of the CPU time]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs),
        cmocka_unit_test(programs_with_one_number),
        cmocka_unit_test(program_without_first_thread),
        cmocka_unit_test(names_of_cgroups),
        cmocka_unit_test(of_cgroups),
        cmocka_unit_test(paths_of_one_build),
        cmocka_unit_test(of_programs),
        cmocka_unit_test(parts),
        cmocka_unit_test(what_is_not_sampled),
        cmocka_unit_test(test_who_lacks_samples),
        cmocka_unit_test(functions),
        cmocka_unit_test(kernel_hooks),
        cmocka_unit_test(made_code),
        cmocka_unit_test(lines_and_modules),
        cmocka_unit_test(processes_and_threads),
        cmocka_unit_test(innermost_functions),
        cmocka_unit_test(functions_by_beginning),
        cmocka_unit_test(functions_by_page),
        cmocka_unit_test(functions_by_place),
        cmocka_unit_test(trees),
        cmocka_unit_test(groups_of_calls),
        cmocka_unit_test(groups_of_blocks),
        cmocka_unit_test(groups_of_a_large_function),
        cmocka_unit_test(groups_of_one_caller),
        cmocka_unit_test(groups_below_made_code),
        cmocka_unit_test(groups_of_jit_functions),
        cmocka_unit_test(sums_too_large),
        cmocka_unit_test(nothing),
        cmocka_unit_test(deep_recursion),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
