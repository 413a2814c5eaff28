/* Fuzz the values of options, and the conversion of text to printable text. */
#include "fuzz.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/record.h"
#include "rpistat/phase.h"
#include "rpistat/text.h"

static void parse(const char *text)
{
    struct rps_error err = {""};
    struct rps_cpus cpus;
    uint64_t number;
    int64_t ns;
    double real;
    struct rps_arena *arena = rps_arena_new();

    if (rps_parse_uint64("--n", text, 3, 1000, &number, &err) == 0)
        fuzz_expect(number >= 3 && number <= 1000, "a number lies outside its limits");
    else
        fuzz_expect_sentence(&err);
    if (rps_parse_double("--x", text, &real, &err) == 0)
        fuzz_expect(isfinite(real), "a number is not finite");
    if (rps_parse_duration_ns("--t", text, 0, INT64_MAX, &ns, &err) == 0)
        fuzz_expect(ns >= 0, "a duration is negative");
    else
        fuzz_expect_sentence(&err);
    if (rps_cpus_parse(arena, text, &cpus, &err) < 0)
        fuzz_expect_sentence(&err);
    rps_arena_free(arena);
    rps_phase_label_parse(text);
}

static void print(char *text, size_t room)
{
    char *argv[] = {text, text, NULL}, *large = malloc(8 * room + 64), small[7];

    fuzz_expect(large != NULL, "out of memory");
    fuzz_expect_printable(rps_text_printable(large, 8 * room + 64, text));
    fuzz_expect_printable(rps_text_printable(small, sizeof(small), text));
    fuzz_expect_printable(rps_text_command(large, 8 * room + 64, 2, argv));
    fuzz_expect_printable(rps_text_command(small, sizeof(small), 2, argv));
    rps_text_print(fuzz_sink(), text);
    free(large);
}

static void print_numbers(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    int64_t number = (int64_t)fuzz_take(&bytes, 8);
    char text[RPS_TEXT_NUMBER_SIZE];

    rps_text_duration(text, sizeof(text), number);
    rps_text_clock(text, sizeof(text), number, (int)(fuzz_take(&bytes, 1) % 10));
    rps_text_size(text, sizeof(text), (uint64_t)number);
    rps_text_utc(text, sizeof(text), number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    parse(text);
    print(text, size);
    print_numbers(data, size);
    free(text);
    return 0;
}
