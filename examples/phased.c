/* phased: a workload with known phases, to test recorders.
 *
 * The program passes through phases that each stress one thing, in a given order and with given
 * lengths. It can log the real begin and end of each phase. The ends of phases are fixed times on
 * CLOCK_MONOTONIC, planned after the set-up. So threads change phases together, and lengths do not
 * drift. A phase works for some tenths of a millisecond between two readings of the clock.
 *
 * Times in the boundaries file are seconds since main() was entered. main() is entered a
 * millisecond or two after exec, at which a recording begins. The file also has the values of the
 * clock, for comparison with a recording on the same clock.
 *
 * The 64 MiB are set up only if the order has a phase that chases through them, so other orders
 * need little memory. Huge pages are disabled: on some machines, they would remove the page faults
 * of "touch" and most TLB misses of "chase-large". Neighbours in the default order differ even for
 * a recorder with only software events. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "list.h"
#include "options.h"

#define NS_PER_S        INT64_C(1000000000)
#define THREAD_MAX      4096
#define NODE_SIZE       64 /* a cache line on most machines, so every step touches a new line */
#define SMALL_SIZE      ((size_t)32 << 10)
#define LARGE_SIZE      ((size_t)64 << 20)
#define TOUCH_SIZE      ((size_t)1 << 20)
#define DEFAULT_ORDER   "compute,touch,chase-small,sleep,chase-large,touch,syscall"
#define DEFAULT_SECONDS 3.0

/* State of the work of one thread. `result` keeps the compiler from removing the work. */
struct worker {
    pthread_t thread;
    const struct plan *plan;
    struct list_item *small, *large;
    uint32_t result;
    int error; /* errno of the failure that stopped this thread */
};

struct phase {
    const char *name;
    const char *summary;
    int (*work)(struct worker *worker, int64_t end_ns); /* work function of the phase; returns 0
                                                           or an errno */
};

struct step {
    const struct phase *phase;
    int64_t length_ns;
};

/* The order of phases, and the memory and the schedule that all threads share. */
struct plan {
    int step_count;
    struct step *step;
    int thread_count;
    struct list_item *small, *large;
    int64_t start_ns; /* end of the set-up, begin of the first phase */
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* --- phases ----------------------------------------------------------------------------------- */

static int work_compute(struct worker *worker, int64_t end_ns)
{
    uint32_t a = worker->result, b = 2, c = 3, d = 4;

    while (now_ns() < end_ns) {
        for (int i = 0; i < 50000; i++) {
            a = a * 1664525 + 1013904223;
            b = (b ^ a) + 0x9e3779b9;
            c = c * 22695477 + 1;
            d = (d + c) ^ (b >> 3);
        }
    }
    worker->result = a ^ d;
    return 0;
}

static int work_touch(struct worker *worker, int64_t end_ns)
{
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

    while (now_ns() < end_ns) {
        volatile char *fresh =
            mmap(NULL, TOUCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (fresh == MAP_FAILED)
            return errno;
#ifdef MADV_NOHUGEPAGE
        madvise((void *)fresh, TOUCH_SIZE, MADV_NOHUGEPAGE);
#endif
        for (size_t i = 0; i < TOUCH_SIZE; i += page_size)
            fresh[i] = 1;
        munmap((void *)fresh, TOUCH_SIZE);
        worker->result++;
    }
    return 0;
}

/* Follow the list from `item` until the time is up. Return the item reached. */
static struct list_item *chase(struct list_item *item, uint64_t hops, int64_t end_ns)
{
    while (now_ns() < end_ns)
        item = list_chase(item, hops);
    return item;
}

static int work_chase_small(struct worker *worker, int64_t end_ns)
{
    worker->small = chase(worker->small, 100000, end_ns);
    return 0;
}

static int work_chase_large(struct worker *worker, int64_t end_ns)
{
    worker->large = chase(worker->large, 2000, end_ns);
    return 0;
}

static int work_syscall(struct worker *worker, int64_t end_ns)
{
    while (now_ns() < end_ns) {
        for (int i = 0; i < 1000; i++)
            worker->result += (uint32_t)getppid();
    }
    return 0;
}

static int work_sleep(struct worker *worker, int64_t end_ns)
{
    const struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_S),
                                 .tv_nsec = (long)(end_ns % NS_PER_S)};
    int error;

    (void)worker;
    do
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    while (error == EINTR);
    return error;
}

static const struct phase phases[] = {
    {"compute", "integer arithmetic in registers", work_compute},
    {"touch", "first writes to new pages: page faults", work_touch},
    {"chase-small", "chasing pointers through 32 KiB", work_chase_small},
    {"chase-large", "chasing pointers through 64 MiB: cache and TLB misses", work_chase_large},
    {"syscall", "the shortest system call, again and again", work_syscall},
    {"sleep", "asleep", work_sleep},
    {NULL, NULL, NULL},
};

/* --- set-up ----------------------------------------------------------------------------------- */

/* Set the start of a thread in the lists. Threads start at different places, so that no thread
 * fetches data for another. */
static void place_worker(struct worker *worker, const struct plan *plan, size_t large_size,
                         int number)
{
    const size_t small_count = SMALL_SIZE / NODE_SIZE;
    const size_t large_count = large_size / NODE_SIZE;
    const size_t part = (size_t)number, parts = (size_t)plan->thread_count;

    *worker = (struct worker){
        .plan = plan,
        .small = list_at(plan->small, NODE_SIZE, small_count * part / parts),
        .large = list_at(plan->large, NODE_SIZE, (size_t)((uint64_t)large_count * part / parts)),
        .result = 1,
    };
}

/* --- running ---------------------------------------------------------------------------------- */

static int write_boundary(FILE *file, const char *name, int64_t zero_ns, int64_t start_ns,
                          int64_t end_ns)
{
    if (!file)
        return 0;
    fprintf(file, "%s,%.6f,%.6f,%" PRId64 ",%" PRId64 "\n", name,
            (double)(start_ns - zero_ns) / 1e9, (double)(end_ns - zero_ns) / 1e9, start_ns, end_ns);
    return fflush(file) == 0 ? 0 : errno;
}

/* Run all phases on the calling thread. If a file is given, log each boundary when it passes. */
static int run_phases(struct worker *worker, FILE *boundaries, int64_t zero_ns)
{
    const struct plan *plan = worker->plan;
    int64_t start_ns = plan->start_ns, planned_ns = plan->start_ns;

    for (int i = 0; i < plan->step_count; i++) {
        const struct step *step = &plan->step[i];
        int64_t end_ns;
        int error;

        planned_ns += step->length_ns;
        error = step->phase->work(worker, planned_ns);
        end_ns = now_ns();
        if (!error)
            error = write_boundary(boundaries, step->phase->name, zero_ns, start_ns, end_ns);
        if (error)
            return error;
        start_ns = end_ns;
    }
    return 0;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;

    worker->error = run_phases(worker, NULL, 0);
    return NULL;
}

/* Run the plan on its threads. The calling thread is the first. Return 0 or an errno. */
static int run_threads(const struct plan *plan, struct worker *worker, FILE *boundaries,
                       int64_t zero_ns)
{
    int started = 1, error = 0;

    for (; started < plan->thread_count && !error; started++)
        error = pthread_create(&worker[started].thread, NULL, run_worker, &worker[started]);
    if (error)
        started--;
    else
        error = run_phases(&worker[0], boundaries, zero_ns);
    for (int i = 1; i < started; i++) {
        pthread_join(worker[i].thread, NULL);
        if (!error)
            error = worker[i].error;
    }
    return error;
}

static int needs_large(const struct plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        if (plan->step[i].phase->work == work_chase_large)
            return 1;
    }
    return 0;
}

/* Set up, which is the first phase, then run. Returns the exit status. */
static int run(struct plan *plan, FILE *boundaries, int64_t zero_ns)
{
    struct worker *worker = calloc((size_t)plan->thread_count, sizeof(*worker));
    const size_t large_size = needs_large(plan) ? LARGE_SIZE : SMALL_SIZE;
    int error = ENOMEM;

    plan->small = list_new(SMALL_SIZE, NODE_SIZE);
    plan->large = list_new(large_size, NODE_SIZE);
    if (!worker || !plan->small || !plan->large)
        goto out;
    for (int i = 0; i < plan->thread_count; i++)
        place_worker(&worker[i], plan, large_size, i);
    plan->start_ns = now_ns();
    error = write_boundary(boundaries, "setup", zero_ns, zero_ns, plan->start_ns);
    if (!error)
        error = run_threads(plan, worker, boundaries, zero_ns);
out:
    if (error)
        fprintf(stderr, "phased: stopped: %s\n", strerror(error));
    list_free(plan->large, large_size);
    list_free(plan->small, SMALL_SIZE);
    free(worker);
    return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- arguments -------------------------------------------------------------------------------- */

static const struct phase *find_phase(const char *name, size_t size)
{
    for (const struct phase *phase = phases; phase->name; phase++) {
        if (strlen(phase->name) == size && memcmp(phase->name, name, size) == 0)
            return phase;
    }
    return NULL;
}

/* Parse one step "NAME" or "NAME:LENGTH" of an order. */
static int parse_step(char *text, int64_t length_ns, struct step *ret)
{
    const size_t name_size = strcspn(text, ":");

    ret->phase = find_phase(text, name_size);
    ret->length_ns = length_ns;
    if (!ret->phase) {
        fprintf(stderr, "phased: there is no phase '%.*s'; phased --help lists them\n",
                (int)name_size, text);
        return -1;
    }
    return text[name_size] == ':' ? example_length("phased", text + name_size + 1, &ret->length_ns)
                                  : 0;
}

/* Fill plan->step from "NAME[:LENGTH],..."; steps without a length get length_ns. */
static int parse_order(const char *order, int64_t length_ns, struct plan *plan)
{
    char *copy = strdup(order), *rest = copy;
    size_t count = 1;
    int status = -1;

    for (const char *c = order; *c; c++)
        count += *c == ',';
    plan->step = calloc(count, sizeof(*plan->step));
    if (!copy || !plan->step) {
        fprintf(stderr, "phased: out of memory\n");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        char *text = rest;
        char *comma = strchr(rest, ',');

        if (comma) {
            *comma = '\0';
            rest = comma + 1;
        }
        if (parse_step(text, length_ns, &plan->step[i]) != 0)
            goto out;
    }
    plan->step_count = (int)count;
    status = 0;
out:
    free(copy);
    return status;
}

static void print_help(void)
{
    printf("usage: phased [--order PHASE[:LENGTH],...] [--length LENGTH] [--threads N]\n"
           "              [--boundaries FILE]\n"
           "\n"
           "A workload with known phases. After the set-up, phases run one after another:\n\n");
    for (const struct phase *phase = phases; phase->name; phase++)
        printf("  %-12s %s\n", phase->name, phase->summary);
    printf("\n"
           "  --order       phases in their order; names may repeat, LENGTH is 2, 2s, 500ms, 1m\n"
           "                (%s)\n"
           "  --length      of phases that have none of their own (%gs)\n"
           "  --threads     threads that all do the same (1)\n"
           "  --boundaries  write the true boundaries, CSV: phase,start_s,end_s since the start\n"
           "                of the program, and the same on CLOCK_MONOTONIC in ns\n",
           DEFAULT_ORDER, DEFAULT_SECONDS);
}

struct arguments {
    const char *order, *boundaries;
    int64_t length_ns;
    int thread_count;
};

/* Return 0; or 1 if help was requested; or -1 with a message on stderr for wrong usage. */
static int parse_arguments(int argc, char *argv[], struct arguments *ret)
{
    static const struct option options[] = {
        {"order", required_argument, NULL, 'o'},
        {"length", required_argument, NULL, 'l'},
        {"boundaries", required_argument, NULL, 'b'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    char *end;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'o':
            ret->order = optarg;
            break;
        case 'l':
            if (example_length("phased", optarg, &ret->length_ns) != 0)
                return -1;
            break;
        case 'b':
            ret->boundaries = optarg;
            break;
        case 't':
            ret->thread_count = (int)strtol(optarg, &end, 10);
            if (*end || ret->thread_count < 1 || ret->thread_count > THREAD_MAX) {
                fprintf(stderr, "phased: --threads takes 1 to %d, not '%s'\n", THREAD_MAX, optarg);
                return -1;
            }
            break;
        case 'h':
            return 1;
        default:
            return -1;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "phased: unexpected '%s'; see phased --help\n", argv[optind]);
        return -1;
    }
    return 0;
}

static FILE *open_boundaries(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        fprintf(stderr, "phased: cannot write %s: %s\n", path, strerror(errno));
    else
        fprintf(file, "phase,start_s,end_s,start_monotonic_ns,end_monotonic_ns\n");
    return file;
}

int main(int argc, char *argv[])
{
    const int64_t zero_ns = now_ns();
    struct arguments arguments = {
        .order = DEFAULT_ORDER, .length_ns = (int64_t)(DEFAULT_SECONDS * 1e9), .thread_count = 1};
    struct plan plan = {0};
    FILE *boundaries = NULL;
    int status = parse_arguments(argc, argv, &arguments);

    if (status > 0) {
        print_help();
        return EXIT_SUCCESS;
    }
    if (status < 0)
        return 2;
    plan.thread_count = arguments.thread_count;
    if (parse_order(arguments.order, arguments.length_ns, &plan) != 0) {
        status = 2;
        goto out;
    }
    status = EXIT_FAILURE;
    if (arguments.boundaries && !(boundaries = open_boundaries(arguments.boundaries)))
        goto out;
    status = run(&plan, boundaries, zero_ns);
out:
    if (boundaries)
        fclose(boundaries);
    free(plan.step);
    return status;
}
