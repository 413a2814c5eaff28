/* mutated [-k NUMBER] COUNT RPISTAT: every reading command opens damaged stores (hurt.h).
 *
 * The number of a store defines the store. `-k NUMBER` makes only this store and reports every
 * command. A command must end by itself, with a status and not by a signal, within 5 s of CPU time
 * and 256 MiB. A refusal is one sentence, and all output is harmless to a terminal. Although
 * gnuplot is not available, its input is written, and the page is drawn without it. */
#include "hurt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_MAX   ((rlim_t)256 << 20)
#define SECONDS_MAX  5    /* CPU time, which does not depend on the load */
#define HANGS_S      600  /* limit of elapsed time */
#define SENTENCE_MAX 4200 /* maximum bytes of an error message of the program */
#define INPUT_SIZE   48

/* OUT is replaced by the name of an output file. */
static const char *const commands[][8] = {
    {"runs"},
    {"report", "--explain"},
    {"report", "-r", "2", "--cpu", "each"},
    {"report", "--explain", "--cpu", "each", "--format", "json"},
    {"export"},
    {"export", "--rates", "-r", "2"},
    {"export", "--long"},
    {"export", "--format", "openmetrics"},
    {"export", "--format", "perfetto"},
    {"export", "--format", "perfetto", "-r", "2"},
    {"export", "--every", "1s", "-r", "2"},
    {"export", "--explain"},
    {"export", "--format", "line-protocol", "-r", "2"},
    {"phases"},
    {"phases", "--format", "json", "--pca", "-r", "2"},
    {"plot", "-o", "OUT.html"},
    {"plot", "-o", "-", "--chars", "braille"},
    {"plot", "-o", "OUT.svg", "-r", "2", "--cpu", "each"},
    {"plot", "-o", "OUT.svg", "--kind", "phases"},
    {"plot", "-o", "OUT.svg", "--kind", "scatter"},
    {"plot", "-o", "OUT.svg", "--kind", "heat"},
    {"plot", "-o", "OUT.svg", "--kind", "pca"},
    {"report", "--from", "phase:B", "--to", "phase:B"},
    {"code"},
    {"code", "--tree", "-r", "2"},
    {"compare", "1", "2"},
    {"history", "1-9"},
    {"check"},
    {"check", "--repair", "-o", "OUT.data"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void limit(int what, rlim_t most)
{
    const struct rlimit limit = {most, most};

    if (setrlimit(what, &limit) < 0)
        _exit(99);
}

/* Execute the command in the child process. */
static void become(const char *rpistat, const char *const *command, const char *store)
{
    char *argv[12] = {(char *)(uintptr_t)rpistat, NULL};
    int argc = 1;
    int out = open(fuzz_path("stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int said = open(fuzz_path("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    for (; *command; command++)
        argv[argc++] = strncmp(*command, "OUT", 3) == 0 ? (char *)(uintptr_t)fuzz_path(*command)
                                                        : (char *)(uintptr_t)*command;
    argv[argc++] = (char *)"-i";
    argv[argc++] = (char *)(uintptr_t)store;
    argv[argc] = NULL;
    if (out < 0 || said < 0 || dup2(out, 1) < 0 || dup2(said, 2) < 0)
        _exit(99);
    limit(RLIMIT_AS, MEMORY_MAX);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, (rlim_t)1 << 30);
    limit(RLIMIT_CPU, SECONDS_MAX);
    alarm(HANGS_S);
    execv(rpistat, argv);
    _exit(99);
}

/* Return the content of a file of fuzz_path. The caller frees the content. */
static char *content(const char *name, size_t *ret_size)
{
    FILE *file = fopen(fuzz_path(name), "r");
    struct stat status;
    char *text;

    fuzz_expect(file && fstat(fileno(file), &status) == 0, "what was printed is not there");
    text = calloc(1, (size_t)status.st_size + 1);
    fuzz_expect(text != NULL, "out of memory");
    *ret_size = fread(text, 1, (size_t)status.st_size, file);
    fclose(file);
    return text;
}

/* Return the fault of the output, or NULL if there is none. Exports are for programs, so their
 * output is not limited. */
static const char *look_at_output(const char *const *command, int status)
{
    int is_export = strcmp(command[0], "export") == 0;
    /* 2 if the time range may be empty */
    int most = command[1] && strcmp(command[1], "--from") == 0 ? 2 : 1;
    size_t out_size, said_size;
    char *out = content("stdout", &out_size), *said = content("stderr", &said_size);
    const char *wrong = NULL;

    if (!is_export && (strlen(out) != out_size || !fuzz_is_printable(out)))
        wrong = "printed what a terminal would obey";
    else if (strlen(said) != said_size || !fuzz_is_printable(said) || said_size > SENTENCE_MAX)
        wrong = "complained in a way that hurts a terminal";
    else if (status < 0 || status > most)
        wrong = "ended with an odd status";
    else if (status != 0 && said_size == 0 && out_size == 0)
        wrong = "failed without a word";
    free(out);
    free(said);
    return wrong;
}

static const char *run(const char *rpistat, const char *const *command, const char *store)
{
    static char wrong[64];
    pid_t pid = fork();
    int status;

    fuzz_expect(pid >= 0, "no process can be made");
    if (pid == 0)
        become(rpistat, command, store);
    fuzz_expect(waitpid(pid, &status, 0) == pid, "a process is gone");
    /* If the limit is also the hard limit, Linux sends SIGKILL. */
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return "took more than 5 s of CPU time";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return "hangs";
    if (WIFSIGNALED(status)) {
        snprintf(wrong, sizeof(wrong), "was ended by signal %d", WTERMSIG(status));
        return wrong;
    }
    return look_at_output(command, WEXITSTATUS(status));
}

/* Make the input bytes of a store's number: few or many changes, in rows, in bytes or in both. */
static size_t make_input(uint64_t number, uint8_t ret[INPUT_SIZE])
{
    uint64_t state = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

    for (int i = 0; i < INPUT_SIZE; i++) {
        state ^= state >> 30;
        state *= UINT64_C(0xbf58476d1ce4e5b9);
        state ^= state >> 27;
        state *= UINT64_C(0x94d049bb133111eb);
        ret[i] = (uint8_t)(state >> 32);
    }
    if (number % 3 == 0)
        ret[0] = 0; /* The input changes only bytes of the file. */
    return number % 3 == 1 ? 12 + ret[1] % 8u : INPUT_SIZE;
}

static int try_store(uint64_t number, const char *rpistat, int tell)
{
    uint8_t input[INPUT_SIZE];
    size_t size = make_input(number, input);
    int failures = 0;

    for (size_t i = 0; i < COMMANDS; i++) {
        const char *store, *wrong;

        /* `phases` has changed the store. */
        if (i == 0 || strcmp(commands[i - 1][0], "phases") == 0)
            store = hurt_store("hurt.data", input, size);
        else
            store = fuzz_path("hurt.data");
        unlink(fuzz_path("OUT.data"));
        wrong = run(rpistat, commands[i], store);
        if (wrong || tell)
            printf("# store %llu: %s %s %s: %s\n", (unsigned long long)number, commands[i][0],
                   commands[i][1] ? commands[i][1] : "", commands[i][3] ? commands[i][3] : "",
                   wrong ? wrong : "well");
        failures += wrong != NULL;
    }
    unlink(fuzz_path("hurt.data-wal"));
    unlink(fuzz_path("hurt.data-shm"));
    return failures;
}

int main(int argc, char **argv)
{
    unsigned long long count, first = 0;
    int failures = 0, at = 1;

    if (argc == 5 && strcmp(argv[1], "-k") == 0) {
        first = strtoull(argv[2], NULL, 10);
        at = 3;
    }
    fuzz_expect(argc == at + 2, "usage: mutated [-k NUMBER] COUNT RPISTAT");
    count = at == 3 ? 1 : strtoull(argv[at], NULL, 10);
    setenv("PATH", "/nonexistent", 1);
    setenv("LC_ALL", "C", 1);
    printf("TAP version 13\n1..1\n");
    for (unsigned long long i = first; i < first + count; i++) {
        failures += try_store(i, argv[at + 1], at == 3);
        fflush(stdout);
    }
    printf("%sok 1 - %llu hurt stores, each opened by %zu commands\n", failures ? "not " : "",
           count, COMMANDS);
    return failures > 0;
}
