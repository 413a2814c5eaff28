/* three: a program that does three things, twice: load, solve, save.
 *
 * The program computes the spread of heat over a plate. `load` reads the plate from a text file,
 * `solve` balances its temperatures, and `save` writes the plate back. Each phase repeats its work
 * until its CPU time is used up. A `load` reads the file of the previous `save`. For counters, load
 * and save are very similar: both convert digits, and both transfer the same number of bytes
 * through the kernel. Only samples show which of the two runs.
 *
 * The program can log the true phases: begin and end of each phase, its CPU time, and the part
 * outside the kernel. Interrupts in that time are included. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

#define NS_PER_S      INT64_C(1000000000)
#define SIZE          400 /* number of rows of the plate, and of numbers in each row */
#define BLOCK_ROWS    100 /* rows processed between two readings of the clock */
#define BLOCK_COUNT   (SIZE / BLOCK_ROWS)
#define WHOLE_DIGITS  3
#define PART_DIGITS   6
#define PART_UNIT     1000000
#define NUMBER_LENGTH (WHOLE_DIGITS + 1 + PART_DIGITS + 1) /* such as "012.345678 " */
#define BLOCK_LENGTH  ((size_t)BLOCK_ROWS * SIZE * NUMBER_LENGTH)
#define HOT           100.0

/* Marks functions that are not inlined, so that each has its own address range. */
#define OWN_FUNCTION __attribute__((noinline))

struct plate {
    double at[SIZE][SIZE];
    char text[BLOCK_LENGTH];
    int file;
    int block;       /* block of rows being processed */
    int64_t own_ns;  /* CPU time of the function itself, so far in this phase */
    int64_t last_ns; /* CPU time at the last reading of the clock */
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Return the CPU time since the last call. */
static int64_t lap_ns(struct plate *plate)
{
    int64_t before_ns = plate->last_ns;

    plate->last_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    return plate->last_ns - before_ns;
}

static off_t file_offset(const struct plate *plate)
{
    return (off_t)plate->block * (off_t)BLOCK_LENGTH;
}

/* Return the result of reading or writing a block: 0, or an errno. */
static int block_error(ssize_t length)
{
    if (length == (ssize_t)BLOCK_LENGTH)
        return 0;
    return length < 0 ? errno : EIO;
}

/* --- the three -------------------------------------------------------------------------------- */

OWN_FUNCTION static int load(struct plate *plate)
{
    double *value = plate->at[plate->block * BLOCK_ROWS];
    int error = block_error(pread(plate->file, plate->text, BLOCK_LENGTH, file_offset(plate)));

    if (error)
        return error;
    lap_ns(plate);
    for (const char *c = plate->text; c < plate->text + BLOCK_LENGTH; c += NUMBER_LENGTH) {
        int parts = 0;

        for (int i = 0; i < WHOLE_DIGITS + 1 + PART_DIGITS; i++) {
            if (i == WHOLE_DIGITS ? c[i] != '.' : c[i] < '0' || c[i] > '9')
                return EILSEQ;
            if (i != WHOLE_DIGITS)
                parts = parts * 10 + (c[i] - '0');
        }
        *value++ = (double)parts / PART_UNIT;
    }
    plate->own_ns += lap_ns(plate);
    return 0;
}

/* Apply the Gauss-Seidel method: each point becomes the mean of its neighbours. */
OWN_FUNCTION static int solve(struct plate *plate)
{
    int first = plate->block * BLOCK_ROWS, end = first + BLOCK_ROWS;

    for (int row = first > 0 ? first : 1; row < end && row < SIZE - 1; row++) {
        const double *above = plate->at[row - 1], *below = plate->at[row + 1];
        double *value = plate->at[row];

        for (int i = 1; i < SIZE - 1; i++)
            value[i] = (above[i] + below[i] + value[i - 1] + value[i + 1]) / 4;
    }
    plate->own_ns += lap_ns(plate);
    return 0;
}

OWN_FUNCTION static int save(struct plate *plate)
{
    const double *value = plate->at[plate->block * BLOCK_ROWS];
    int error;

    for (char *c = plate->text; c < plate->text + BLOCK_LENGTH; c += NUMBER_LENGTH) {
        int parts = (int)(*value++ * PART_UNIT + 0.5);

        c[NUMBER_LENGTH - 1] = ' ';
        for (int i = WHOLE_DIGITS + PART_DIGITS; i >= 0; i--) {
            if (i == WHOLE_DIGITS) {
                c[i] = '.';
                continue;
            }
            c[i] = (char)('0' + parts % 10);
            parts /= 10;
        }
    }
    plate->own_ns += lap_ns(plate);
    error = block_error(pwrite(plate->file, plate->text, BLOCK_LENGTH, file_offset(plate)));
    lap_ns(plate);
    return error;
}

static const struct phase {
    const char *name;
    int (*work)(struct plate *plate); /* processes one block; returns 0 or an errno */
} phases[] = {{"load", load}, {"solve", solve}, {"save", save}};

/* --- running ---------------------------------------------------------------------------------- */

struct moment {
    int64_t monotonic_ns, cpu_ns;
};

/* The log of the true phases. */
struct truth {
    FILE *file; /* log file; NULL: do not log */
    int64_t zero_ns;
    struct moment start; /* start of the current phase */
};

/* End a phase and log its row. The next phase begins. */
static int end_phase(struct truth *truth, const char *name, struct plate *plate)
{
    const struct moment start = truth->start, end = {now_ns(CLOCK_MONOTONIC), plate->last_ns};
    int64_t own_ns = plate->own_ns;

    truth->start = end;
    plate->own_ns = 0;
    if (!truth->file)
        return 0;
    fprintf(truth->file, "%s,%.6f,%.6f,%" PRId64 ",%" PRId64 ",%.6f,%.6f\n", name,
            (double)(start.monotonic_ns - truth->zero_ns) / 1e9,
            (double)(end.monotonic_ns - truth->zero_ns) / 1e9, start.monotonic_ns, end.monotonic_ns,
            (double)(end.cpu_ns - start.cpu_ns) / 1e9, (double)own_ns / 1e9);
    return fflush(truth->file) == 0 ? 0 : errno;
}

/* Repeat one kind of work, block after block, until the CPU time reaches end_ns. */
static int run_phase(const struct phase *phase, struct plate *plate, int64_t end_ns)
{
    int error = 0;

    while (plate->last_ns < end_ns && !error) {
        error = phase->work(plate);
        plate->block = (plate->block + 1) % BLOCK_COUNT;
    }
    return error;
}

/* Make a plate with one hot edge, and save it once. */
static int set_up(struct plate *plate)
{
    int error = 0;

    for (int i = 0; i < SIZE; i++)
        plate->at[0][i] = HOT;
    for (; plate->block < BLOCK_COUNT && !error; plate->block++)
        error = save(plate);
    plate->block = 0;
    return error;
}

static int run(struct plate *plate, struct truth *truth, int64_t length_ns, long long rounds)
{
    int error = set_up(plate);
    int64_t planned_ns = plate->last_ns;

    if (!error)
        error = end_phase(truth, "setup", plate);
    for (long long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && !error; i++) {
            planned_ns += length_ns;
            error = run_phase(&phases[i], plate, planned_ns);
            if (!error)
                error = end_phase(truth, phases[i].name, plate);
        }
    }
    return error;
}

/* Open the file of this name, or an unnamed file. Return -1 with a message on standard error on
 * failure. */
static int open_plate(const char *path)
{
    FILE *unnamed = path ? NULL : tmpfile();
    int file = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

    if (unnamed) {
        file = dup(fileno(unnamed));
        fclose(unnamed);
    }
    if (file < 0)
        fprintf(stderr, "three: cannot make %s: %s\n", path ? path : "a temporary file",
                strerror(errno));
    return file;
}

static FILE *open_truth(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        fprintf(stderr, "three: cannot write %s: %s\n", path, strerror(errno));
    else
        fprintf(file, "phase,start_s,end_s,start_monotonic_ns,end_monotonic_ns,cpu_s,own_s\n");
    return file;
}

int main(int argc, char *argv[])
{
    struct truth truth = {.zero_ns = now_ns(CLOCK_MONOTONIC)};
    const char *length = "2s", *boundaries = NULL, *path = NULL;
    long long rounds = 2;
    const struct example_option options[] = {
        {.name = "length",
         .argument = "LENGTH",
         .text = &length,
         .help = "CPU time of each phase, as 2, 2s, 500ms, 1m"},
        {.name = "rounds",
         .argument = "N",
         .number = &rounds,
         .min = 1,
         .max = 1000000,
         .help = "how often load, solve, save"},
        {.name = "boundaries",
         .argument = "FILE",
         .text = &boundaries,
         .help = "write what is true of each phase, CSV"},
        {.name = "file",
         .argument = "FILE",
         .text = &path,
         .help = "of the plate; else a temporary one"},
        {.name = NULL},
    };
    struct plate *plate = NULL;
    int64_t length_ns;
    int error, file = -1, status;

    truth.start = (struct moment){truth.zero_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID)};
    status = example_options(argc, argv, "Heat on a plate: load, solve, save, again and again.",
                             options);
    if (status != 0)
        return status > 0 ? EXIT_SUCCESS : 2;
    if (example_length(argv[0], length, &length_ns) < 0)
        return 2;
    status = EXIT_FAILURE;
    if ((boundaries && !(truth.file = open_truth(boundaries))) || (file = open_plate(path)) < 0)
        goto out;
    plate = calloc(1, sizeof(*plate));
    if (plate) {
        plate->file = file;
        plate->last_ns = truth.start.cpu_ns;
    }
    error = plate ? run(plate, &truth, length_ns, rounds) : ENOMEM;
    if (error)
        fprintf(stderr, "three: stopped: %s\n", strerror(error));
    else
        status = EXIT_SUCCESS;
out:
    free(plate);
    if (file >= 0)
        close(file);
    if (truth.file)
        fclose(truth.file);
    return status;
}
