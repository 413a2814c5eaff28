/* Functions that the tests of the store share. */
#include "fixture.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/database.h"
#ifdef RPS_HAS_CODE
#include "rpistat/code_store.h"
#include "rpistat/period.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"
#include "rpistat/system_reader.h"

/* Install the hooks of the store, as main() does. */
__attribute__((constructor)) static void use_hooks(void)
{
    rps_store_use(&rps_code_store, NULL);
}
#endif

struct rps_arena *fixture_arena;

int fixture_make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *folder = NULL;

    if (asprintf(&folder, "%s/rpistat-store-XXXXXX", parent ? parent : "/tmp") < 0)
        return -1;
    if (!mkdtemp(folder))
        return -1;
    chmod(folder, 0755);
    *state = folder;
    fixture_arena = rps_arena_new();
    return 0;
}

int fixture_remove_folder(void **state)
{
    char *folder = *state, name[1024];
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlink(name) != 0)
            rmdir(name);
    }
    if (dir)
        closedir(dir);
    rps_arena_free(fixture_arena);
    rmdir(folder);
    free(folder);
    return 0;
}

const char *fixture_path(void **state, const char *name)
{
    static char path[4][512];
    static unsigned int turn;
    char *ret = path[turn++ % 4];

    snprintf(ret, sizeof(path[0]), "%s/%s", (char *)*state, name);
    return ret;
}

static void fill_event(struct rps_event *event, const char *name, uint64_t config)
{
    snprintf(event->name, sizeof(event->name), "%s", name);
    snprintf(event->spec, sizeof(event->spec), "spec-%s", name);
    snprintf(event->label, sizeof(event->label), "Label %s", name);
    snprintf(event->role, sizeof(event->role), "role_%s", name);
    snprintf(event->unit, sizeof(event->unit), "events");
    snprintf(event->family, sizeof(event->family), "DC");
    snprintf(event->modifiers, sizeof(event->modifiers), "u");
    snprintf(event->explain, sizeof(event->explain), "What %s counts.", name);
    event->type = RPS_EVENT_RAW;
    event->config = config;
    event->config1 = 7;
    event->config2 = UINT64_MAX;
    event->cost_ns = config == 0 ? 150 : 0; /* cost of a call; 0: unknown */
}

static void fill_metric(struct rps_metric *metric, const char *name, const char *formula)
{
    snprintf(metric->name, sizeof(metric->name), "%s", name);
    snprintf(metric->label, sizeof(metric->label), "Label %s", name);
    snprintf(metric->unit, sizeof(metric->unit), "%%");
    snprintf(metric->family, sizeof(metric->family), "DC");
    snprintf(metric->panel, sizeof(metric->panel), "Panel");
    snprintf(metric->formula_text, sizeof(metric->formula_text), "%s", formula);
    snprintf(metric->explain, sizeof(metric->explain), "What %s is.", name);
}

struct rps_plan *fixture_plan(void)
{
    static const char *const metrics[][2] = {
        {"a_per_clock", "a / clock"},   {"c_share", "100 * c / (a + c)"},
        {"b_rate", "b / seconds"},      {"d_per_cpu_s", "d / cpu_seconds"},
        {"nested", "-(a - 2) * 3 + b"}, {"by_zero", "a / (a - a)"},
    };
    static const char *const names[2][2] = {{"a", "b"}, {"c", "d"}};
    struct rps_plan *plan = rps_plan_new();
    struct rps_error err;

    assert_non_null(plan);
    snprintf(plan->name, sizeof(plan->name), "test");
    snprintf(plan->title, sizeof(plan->title), "A plan for tests");
    snprintf(plan->explain, sizeof(plan->explain), "Two sets of two events.");
    fill_event(&plan->clock, "cycles", 0);
    snprintf(plan->clock.unit, sizeof(plan->clock.unit), "cycles");
    for (int n = 0; n < 2; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        assert_non_null(set);
        snprintf(set->name, sizeof(set->name), "set%d", n);
        snprintf(set->explain, sizeof(set->explain), "Set number %d.", n);
        set->event_count = 2;
        for (int slot = 0; slot < 2; slot++)
            fill_event(&set->event[slot], names[n][slot], (uint64_t)(16 * n + slot));
    }
    plan->set[1].event[1].state = RPS_EVENT_NOT_PERMITTED;
    snprintf(plan->set[1].event[1].reason, sizeof(plan->set[1].event[1].reason), "paranoid");
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        struct rps_metric *metric = rps_plan_add_metric(plan);

        assert_non_null(metric);
        fill_metric(metric, metrics[i][0], metrics[i][1]);
    }
    if (rps_plan_compile(plan, &err) < 0)
        fail_msg("%s", err.message);
    return plan;
}

void fixture_run(struct rps_run *run)
{
    char *argv[] = {(char *)"./naive", (char *)"--size=5 00", (char *)"\"q\\uo\n\xc3\xa9",
                    (char *)"", NULL};

    rps_run_init(run);
    snprintf(run->label, sizeof(run->label), "first");
    rps_run_add_tag(run, "board", "Pi 1 \"B\"");
    rps_run_add_tag(run, "a.b[0]", "x");
    rps_run_set_command(run, 4, argv);
    run->folder = rps_arena_text(run->arena, "/home/pi/work");
    gethostname(run->host, sizeof(run->host) - 1);
    rps_heartbeat_boot_id(run->boot_id, sizeof(run->boot_id));
    snprintf(run->cpu_model, sizeof(run->cpu_model), "ARMv6-compatible");
    run->cpu_count = 1;
    snprintf(run->kernel, sizeof(run->kernel), "3.6.11+");
    snprintf(run->architecture, sizeof(run->architecture), "armv6l");
    snprintf(run->version, sizeof(run->version), "0.1.0");
    run->recorder_pid = getpid();
    snprintf(run->pmu, sizeof(run->pmu), "sim");
    run->counter_count = 2;
    snprintf(run->fitting, sizeof(run->fitting), "nothing was merged\nnothing was split");
    snprintf(run->clock_label, sizeof(run->clock_label), "Cycles");
    run->paranoid = 2;
    run->nmi_watchdog = 0;
    snprintf(run->governor, sizeof(run->governor), "ondemand");
    run->period_ns = 100000000;
    run->start_realtime_ns = INT64_C(1372259553000000000);
    run->start_monotonic_ns = 5000000000;
}

/* Return a realistic number below `range`, always the same for the same n and salt. */
static uint64_t jitter(uint64_t n, uint64_t salt, uint64_t range)
{
    uint64_t x = (n + 1) * UINT64_C(0x9e3779b97f4a7c15) + salt * UINT64_C(0xd1342543de82ef95);

    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 32;
    return x % range;
}

/* Return the start of period n. Periods follow one another without holes. */
static int64_t start_of(uint64_t n)
{
    return (int64_t)(n * 100030000 + (n > 0 ? jitter(n, 1, 30000) : 0));
}

struct rps_period fixture_period(uint64_t n, unsigned int sets)
{
    uint64_t length = (uint64_t)(start_of(n + 1) - start_of(n));
    uint64_t enabled = length - jitter(n, 4, 2000);

    return (struct rps_period){
        .cpu = RPS_CPU_ALL,
        .set_no = (uint32_t)(n % sets),
        .period = n,
        .rotation = n / sets,
        .cycle = (n + 1) * 70000000 + jitter(n, 2, 200000),
        .cycles = 70000000 + jitter(n, 3, 200000),
        .start_ns = start_of(n),
        .length_ns = (int64_t)length,
        .enabled_ns = enabled,
        .clock_running_ns = enabled,
        .running_ns = length - 2000 - jitter(n, 5, 4000),
        .switch_ns = (int64_t)(2000 + jitter(n, 6, 2000)),
        .counted = 3,
        .count = {900000 + jitter(n, 7, 300000), 800000 + jitter(n, 8, 500000)},
    };
}

struct rps_writer *fixture_writer(const char *path, const struct rps_writer_options *options,
                                  struct rps_run *run)
{
    const struct rps_writer_options none = {0};
    static struct rps_plan *plan; /* The writer borrows the plan until it is closed. */
    struct rps_writer *writer = NULL;
    struct rps_error err;

    if (!plan)
        plan = fixture_plan();
    fixture_run(run);
    if (rps_writer_open(&writer, path, options ? options : &none, &err) < 0)
        fail_msg("%s", err.message);
    if (rps_writer_begin(writer, run, plan, &err) < 0)
        fail_msg("%s", err.message);
    return writer;
}

/* Add a frame and a stack at most eight frames deep, and occasionally a task. */
#ifdef RPS_HAS_CODE
static void add_code(struct rps_writer *writer, int64_t n)
{
    const struct rps_frame frame = {n, n % 2, 0x1000 + 16 * (uint64_t)n, 0};
    const struct rps_stack stack = {n, n % 8 == 0 ? -1 : n - 1, n};
    const struct rps_task task = {n / 20, 100, 100 + n / 20, "worker", n * 100000000,
                                  -1,     -1,  n ? -1 : 0,   ""};

    if (n < 2) {
        const struct rps_module module = {n, RPS_MODULE_FILE, n ? "/usr/bin/b" : "/usr/bin/a",
                                          "00ff"};

        rps_writer_module(writer, &module);
    }
    if (n == 0)
        rps_writer_cgroup(writer, &(struct rps_cgroup){0, "/system.slice/work.service"});
    rps_writer_frame(writer, &frame);
    rps_writer_stack(writer, &stack);
    if (n % 20 == 0) {
        const struct rps_program program = {n / 20, "worker", 7000000, 2, 1000000, 3, 0, -1};

        rps_writer_task(writer, &task);
        rps_writer_process_time(writer, n / 20, 6000000);
        rps_writer_program(writer, &program);
    }
}

void fixture_code(struct rps_writer *writer, uint64_t n)
{
    const struct rps_sampling sampling = {.event = "cpu-clock",
                                          .frequency = 99,
                                          .stacks = "fp",
                                          .samples = FIXTURE_SAMPLES * n,
                                          .complete = n};
    struct rps_code_count count = {.cpu = RPS_CPU_ALL, .period = n - 1};

    rps_writer_sampling(writer, &sampling);
    if (n < FIXTURE_STACKS)
        add_code(writer, (int64_t)n);
    if (n == 0)
        return;
    for (uint64_t part = 1; part <= 2; part++) {
        count.id = part == 1 ? 0 : (int64_t)((n - 1) % FIXTURE_STACKS);
        count.samples = part;
        rps_writer_code_count(writer, RPS_COUNT_STACKS, &count);
    }
    count.id = (int64_t)((n - 1) % FIXTURE_STACKS / 20);
    count.samples = FIXTURE_SAMPLES;
    rps_writer_code_count(writer, RPS_COUNT_TASKS, &count);
}
#else
void fixture_code(struct rps_writer *writer, uint64_t n)
{
    (void)writer;
    (void)n;
}
#endif

static void read_source(struct rps_writer *writer, enum rps_system_source source, uint64_t n,
                        uint64_t every, uint32_t valid)
{
    struct rps_system_reading reading = {
        .source = source,
        .period = n,
        .end_ns = start_of(n + 1),
        .length_us = (start_of(n + 1) - start_of(n + 1 > every ? n + 1 - every : 0)) / 1000,
        .valid = valid,
    };

    for (unsigned int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++)
        reading.value[slot] = (int64_t)jitter(n, 20 + slot, 1000 * (slot + 1));
    rps_writer_system(writer, &reading);
}

void fixture_system(struct rps_writer *writer, uint64_t n)
{
    struct rps_system_state tree = {RPS_SYSTEM_TREE, (1u << RPS_TREE_SLOTS) - 1, {""}};
    struct rps_system_state machine = {
        RPS_SYSTEM_MACHINE, ((1u << RPS_MACHINE_SLOTS) - 1) & ~(1u << RPS_MACHINE_STEAL), {""}};
    struct rps_system_state group = {RPS_SYSTEM_GROUP, (1u << RPS_GROUP_SLOTS) - 1, {""}};
    struct rps_system_state package = {RPS_SYSTEM_PACKAGE, (1u << RPS_PACKAGE_SLOTS) - 1, {""}};

    if (n == 0) {
        snprintf(machine.reason[RPS_MACHINE_STEAL], sizeof(machine.reason[0]), "no hypervisor");
        rps_writer_system_state(writer, &tree);
        rps_writer_system_state(writer, &machine);
        rps_writer_system_state(writer, &group);
        rps_writer_system_state(writer, &package);
    }
    read_source(writer, RPS_SYSTEM_TREE, n, 1,
                n % 5 == 4 ? tree.supported : tree.supported & ~(1u << RPS_TREE_RSS));
    if (n % 10 == 9) {
        read_source(writer, RPS_SYSTEM_MACHINE, n, 10, machine.supported);
        read_source(writer, RPS_SYSTEM_GROUP, n, 10, group.supported);
        read_source(writer, RPS_SYSTEM_PACKAGE, n, 10, package.supported);
    }
}

void fixture_wait_committed(struct rps_writer *writer, uint64_t periods)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct rps_writer_status status;

    for (rps_writer_status(writer, &status); status.committed < periods;
         rps_writer_status(writer, &status))
        nanosleep(&pause, NULL);
}

void fixture_end(struct rps_writer *writer, struct rps_run *run)
{
    struct rps_error err;

    run->state = RPS_RUN_COMPLETE;
    run->exit_status = 0;
    if (rps_writer_end(writer, run, &err) < 0)
        fail_msg("%s", err.message);
    rps_writer_close(writer);
    rps_run_free(run);
}

pid_t fixture_fork(void)
{
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0)
        setenv("CMOCKA_TEST_ABORT", "1", 1);
    return child;
}

static sqlite3 *open_plain(const char *path)
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail_msg("%s: %s", path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, FIXTURE_BUSY_MS); /* a writer of the test may be committing */
    return db;
}

static sqlite3_stmt *first_row(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return stmt;
}

static void done(sqlite3 *db, sqlite3_stmt *stmt)
{
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

int64_t fixture_number(const char *path, const char *sql)
{
    sqlite3 *db = open_plain(path);
    sqlite3_stmt *stmt = first_row(db, sql);
    int64_t ret = sqlite3_column_int64(stmt, 0);

    done(db, stmt);
    return ret;
}

double fixture_real(const char *path, const char *sql)
{
    sqlite3 *db = open_plain(path);
    sqlite3_stmt *stmt = first_row(db, sql);
    double ret = sqlite3_column_double(stmt, 0);

    assert_int_not_equal(sqlite3_column_type(stmt, 0), SQLITE_NULL);
    done(db, stmt);
    return ret;
}

const char *fixture_text(const char *path, const char *sql)
{
    static char ret[1024];
    sqlite3 *db = open_plain(path);
    sqlite3_stmt *stmt = first_row(db, sql);
    const char *text = (const char *)sqlite3_column_text(stmt, 0);

    snprintf(ret, sizeof(ret), "%s", text ? text : "(null)");
    done(db, stmt);
    return ret;
}

void fixture_exec(const char *path, const char *sql)
{
    sqlite3 *db = open_plain(path);

    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

void fixture_says(const struct rps_error *err, ...)
{
    va_list list;
    const char *text;

    va_start(list, err);
    while ((text = va_arg(list, const char *))) {
        if (!strstr(err->message, text))
            fail_msg("\"%s\" does not say \"%s\"", err->message, text);
    }
    va_end(list);
    assert_null(strchr(err->message, '\n'));
    if (getenv("RPISTAT_TEST_SHOW"))
        print_message("# %s\n", err->message);
}

struct rps_reader *fixture_reader(const char *path)
{
    struct rps_reader *reader = NULL;
    struct rps_error err;

    if (rps_reader_open(&reader, path, &err) < 0)
        fail_msg("%s", err.message);
    return reader;
}

int fixture_try_write(const char *path, struct rps_error *err)
{
    struct rps_writer *writer = NULL;
    int result = rps_writer_open(&writer, path, &(struct rps_writer_options){0}, err);

    rps_writer_close(writer);
    return result;
}

int fixture_try_read(const char *path, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, path, err);

    rps_reader_close(reader);
    return result;
}

void fixture_store(const char *path)
{
    struct rps_run run;
    struct rps_writer *writer = fixture_writer(path, NULL, &run);

    for (unsigned int n = 0; n < 3; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
    fixture_end(writer, &run);
}

void fixture_write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

int fixture_is_in_quarter(uint64_t number)
{
    const char *quarter = getenv("RPISTAT_TEST_QUARTER");

    return !quarter || number % 4 == strtoul(quarter, NULL, 10);
}
