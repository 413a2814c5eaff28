/* replay [-n MUTATIONS] FOLDER: main() of a fuzzer without libFuzzer.
 *
 * The fuzzer receives every file of the directory, and then MUTATIONS inputs derived from the
 * files, or a quarter of these if RPISTAT_TEST_QUARTER is set. The derived inputs are equal in every
 * run, so a failure can be repeated. Unlike libFuzzer, this program does not observe code coverage,
 * but it runs everywhere at no cost. */
#include "fuzz.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 65536

struct input {
    size_t size;
    uint8_t *data;
};

struct corpus {
    size_t count;
    struct input *input;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void add_file(struct corpus *corpus, const char *folder, const char *name)
{
    char path[1024];
    struct input *input;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "r");
    fuzz_expect(file != NULL, "a file of the corpus cannot be opened");
    corpus->input = realloc(corpus->input, (corpus->count + 1) * sizeof(*corpus->input));
    fuzz_expect(corpus->input != NULL, "out of memory");
    input = &corpus->input[corpus->count++];
    input->data = malloc(INPUT_MAX);
    fuzz_expect(input->data != NULL, "out of memory");
    input->size = fread(input->data, 1, INPUT_MAX, file);
    fclose(file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_corpus(struct corpus *corpus, const char *folder)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, NULL, by_name);

    for (int i = 0; i < count; i++) {
        if (entry[i]->d_name[0] != '.')
            add_file(corpus, folder, entry[i]->d_name);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
}

/* Write an edge value, where numbers often cause errors. */
static void put_edge(uint8_t *at, size_t room, uint64_t *state)
{
    static const uint64_t edges[] = {0,     1,         127,        128,       255,
                                     65535, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
    uint64_t edge = edges[next_random(state) % (sizeof(edges) / sizeof(edges[0]))];
    size_t length = (size_t)1 << (next_random(state) % 4);

    memcpy(at, &edge, length < room ? length : room);
}

/* Replace the number at or after a position of a text by another number. */
static size_t put_number(uint8_t *data, size_t size, size_t at, uint64_t *state)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "7",
                                          "1000",
                                          "4294967296",
                                          "1e300",
                                          "1000000000000000000",
                                          "9223372036854775807",
                                          "",
                                          "0.5"};
    const char *number = numbers[next_random(state) % (sizeof(numbers) / sizeof(numbers[0]))];
    size_t length = strlen(number), end;

    while (at < size && (data[at] < '0' || data[at] > '9'))
        at++;
    for (end = at; end < size && data[end] >= '0' && data[end] <= '9';)
        end++;
    if (at == size || size - (end - at) + length > INPUT_MAX)
        return size;
    memmove(data + at + length, data + end, size - end);
    memcpy(data + at, number, length);
    return size - (end - at) + length;
}

static size_t mutate(const struct corpus *corpus, uint8_t *ret, uint64_t *state)
{
    const struct input *first = &corpus->input[next_random(state) % corpus->count];
    const struct input *second = &corpus->input[next_random(state) % corpus->count];
    size_t size = first->size;

    memcpy(ret, first->data, size);
    for (unsigned change = 0; change < 1 + next_random(state) % 4 && size > 0; change++) {
        size_t at = next_random(state) % size, length = 1 + next_random(state) % 16;

        switch (next_random(state) % 7) {
        case 0:
            ret[at] ^= (uint8_t)(1 << next_random(state) % 8);
            break;
        case 1:
            ret[at] = (uint8_t)next_random(state);
            break;
        case 2:
            put_edge(ret + at, size - at, state);
            break;
        case 3: /* Remove a part of the input. */
            length = length < size - at ? length : size - at;
            memmove(ret + at, ret + at + length, size - at - length);
            size -= length;
            break;
        case 4: /* Duplicate a part of the input. */
            length = length < size - at ? length : size - at;
            if (size + length > INPUT_MAX)
                break;
            memmove(ret + at + length, ret + at, size - at);
            size += length;
            break;
        case 5:
            size = put_number(ret, size, at, state);
            break;
        default: /* Continue with the rest of another input. */
            if (at < second->size) {
                memcpy(ret + at, second->data + at, second->size - at);
                size = second->size;
            }
        }
    }
    return size;
}

int main(int argc, char **argv)
{
    uint64_t state = UINT64_C(88172645463325252);
    struct corpus corpus = {0};
    uint8_t *data = malloc(INPUT_MAX);
    const char *quarter = getenv("RPISTAT_TEST_QUARTER");
    long mutations = 0, tested = 0;
    int at = 1;

    if (argc > 3 && strcmp(argv[1], "-n") == 0) {
        mutations = strtol(argv[2], NULL, 10);
        at = 3;
    }
    fuzz_expect(at + 1 == argc, "usage: replay [-n MUTATIONS] FOLDER");
    read_corpus(&corpus, argv[at]);
    fuzz_expect(corpus.count > 0 && data, "the corpus is empty");
    printf("TAP version 13\n1..2\n");
    fflush(stdout);
    for (size_t i = 0; i < corpus.count; i++)
        LLVMFuzzerTestOneInput(corpus.input[i].data, corpus.input[i].size);
    printf("ok 1 - %zu kept inputs\n", corpus.count);
    fflush(stdout);
    for (long i = 0; i < mutations; i++) {
        size_t size = mutate(&corpus, data, &state);

        if (quarter && i % 4 != strtol(quarter, NULL, 10))
            continue;
        LLVMFuzzerTestOneInput(data, size);
        tested++;
    }
    printf("ok 2 - %ld inputs made of them\n", tested);
    for (size_t i = 0; i < corpus.count; i++)
        free(corpus.input[i].data);
    free(corpus.input);
    free(data);
    return 0;
}
