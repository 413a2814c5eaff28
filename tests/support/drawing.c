#include "support/drawing.h"
#include "rpistat/store.h"
#include "rpistat/code_store.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define GOLDEN_FOLDER TEST_DATA_FOLDER "/plot"

static int have_gnuplot(void)
{
    static int found = -1;

    if (found < 0)
        found = system("command -v gnuplot >/dev/null 2>&1") == 0;
    return found;
}

void drawing_need_gnuplot(void)
{
    if (have_gnuplot())
        return;
    print_message("gnuplot is not installed here\n");
    skip();
}

int drawing_draw(struct fixture *fixture, const char *output, struct rps_plot_options options,
                 struct rps_error *err)
{
    options.output = output;
    options.script_folder = TEST_PLOT_FOLDER;
    if (options.to_ns == 0)
        options.to_ns = INT64_MAX;
    return rps_plot_draw(fixture->reader, fixture->run_id, &options, err);
}

void drawing_must(struct fixture *fixture, const char *output, struct rps_plot_options options)
{
    struct rps_error err;

    if (drawing_draw(fixture, output, options, &err) < 0)
        fail_msg("%s", err.message);
}

char *drawing_text(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long size;

    if (!file)
        fail_msg("%s is not there", path);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    if (ret_size)
        *ret_size = (size_t)size;
    return text;
}

int drawing_count(const char *text, const char *part)
{
    int count = 0;

    for (; (text = strstr(text, part)) != NULL; text++)
        count++;
    return count;
}

double drawing_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    if (!at)
        fail_msg("no %s in %s", name, text);
    return strtod(at + strlen(name), NULL);
}

int drawing_panels(const char *panels)
{
    return drawing_count(panels, "set label 1 caption(");
}

double drawing_panel_end(const char *panels, int number)
{
    static const char range[] = "\nhigh = ";
    const char *at = panels, *before = NULL, *end = panels;

    for (int i = 0; i < number && end; i++)
        end = strstr(end + 1, "set border 3 ");
    if (!end)
        fail_msg("there is no panel %d in %s", number, panels);
    for (; (at = strstr(at, range)) != NULL && at < end; at++)
        before = at;
    assert_non_null(before);
    return strtod(before + strlen(range), NULL);
}

/* --- golden pictures -------------------------------------------------------------------------- */

static int is_data(const struct dirent *entry)
{
    const char *ending = strrchr(entry->d_name, '.');

    return strcmp(entry->d_name, "figure.gp") == 0 || strcmp(entry->d_name, "text.gp") == 0 ||
           strcmp(entry->d_name, "panels.gp") == 0 || (ending && strcmp(ending, ".dat") == 0);
}

/* Return all data files of a kept directory, in the order of their names. The caller frees the
 * text. */
static char *gather(const char *folder)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, is_data, alphasort);
    char *text = NULL, path[2048];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_true(count > 2);
    for (int i = 0; i < count; i++) {
        char *part;

        snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
        part = drawing_text(path, NULL);
        fprintf(out, "== %s\n%s", entry[i]->d_name, part);
        free(part);
        free(entry[i]);
    }
    free(entry);
    fclose(out);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file)
        fail_msg("%s cannot be written", path);
    fputs(text, file);
    fclose(file);
}

/* Write a data file. A long table is written as its first row, the number and the checksum (FNV-1a)
 * of the rows in between, and its last row. */
static void put_file(FILE *out, const char *text, const char *end)
{
    const char *name = text + strlen("== "), *begin = text, *row = end;
    int name_length = (int)strcspn(name, "\n"), rows = 0;
    uint64_t checksum = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < 2 && begin < end; i++)
        begin += strcspn(begin, "\n") + 1;
    for (const char *at = begin; at < end; at += strcspn(at, "\n") + 1, rows++)
        row = at;
    if (rows < 4 || strncmp(name + name_length - 4, ".dat", 4) != 0)
        begin = row = end;
    for (const char *at = begin; at < row; at++)
        checksum = (checksum ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    fwrite(text, 1, (size_t)(begin - text), out);
    if (begin < row)
        fprintf(out, "(%.*s: %d rows, checksum %016" PRIx64 ")\n", name_length, name, rows - 1,
                checksum);
    fwrite(row, 1, (size_t)(end - row), out);
}

/* Compare with a golden file, or write the golden file. The message shows the first line that
 * differs. */
static void compare(const char *name, const char *data)
{
    const char *mode = getenv("RPISTAT_GOLDEN");
    char path[1024], *golden, *text = NULL;
    size_t same = 0, line = 0, size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (const char *at = data, *next; *at; at = next) {
        next = strstr(at + 1, "\n== ");
        next = next ? next + 1 : at + strlen(at);
        put_file(out, at, next);
    }
    fclose(out);
    snprintf(path, sizeof(path), "%s/%s.txt", GOLDEN_FOLDER, name);
    if (mode)
        write_text(path, strcmp(mode, "whole") == 0 ? data : text);
    golden = drawing_text(path, NULL);
    for (; golden[same] && golden[same] == text[same]; same++)
        line = golden[same] == '\n' ? same + 1 : line;
    if (golden[same] != text[same])
        fail_msg("%s: \"%.*s\" instead of \"%.*s\"", name, (int)strcspn(text + line, "\n"),
                 text + line, (int)strcspn(golden + line, "\n"), golden + line);
    free(golden);
    free(text);
}

/* Replace the entities of XML, which gnuplot writes for some characters, in place. */
static void decode(char *text)
{
    static const char *const entity[] = {"<&lt;", ">&gt;", ">&#x3e;", "\"&quot;", "&&amp;"};
    char *to = text;

    for (const char *at = text; *at;) {
        size_t i = 0, count = sizeof(entity) / sizeof(entity[0]);

        while (i < count && strncmp(at, entity[i] + 1, strlen(entity[i] + 1)) != 0)
            i++;
        *to++ = i < count ? entity[i][0] : *at;
        at += i < count ? strlen(entity[i] + 1) : 1;
    }
    *to = '\0';
}

/* Expect that the picture contains each line of text.gp. */
static void expect_texts(const char *data, const char *picture)
{
    char *lines = strdup(data), *rest = lines, *drawn = strdup(picture);

    assert_non_null(lines);
    assert_non_null(drawn);
    decode(drawn);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        decode(line);
        if (line[0] == '|' && !strstr(drawn, line + 1))
            fail_msg("the picture lacks the text \"%s\"", line + 1);
    }
    free(drawn);
    free(lines);
}

/* Return whether a picture contains a colour, in one of the three forms that gnuplot writes. */
static bool is_drawn(const char *picture, unsigned long ink)
{
    unsigned long red = ink >> 16 & 255, green = ink >> 8 & 255, blue = ink & 255;
    char form[3][32];

    snprintf(form[0], sizeof(form[0]), "rgb(%lu,%lu,%lu)", red, green, blue);
    snprintf(form[1], sizeof(form[1]), "rgb(%3lu, %3lu, %3lu)", red, green, blue);
    snprintf(form[2], sizeof(form[2]), "\"#%06lx\"", ink & 0xffffff);
    return strstr(picture, form[0]) || strstr(picture, form[1]) || strstr(picture, form[2]);
}

/* Return the length of the colour that begins here (#rrggbb, #aarrggbb, 0xaarrggbb, rgb(r, g, b)).
 * A transparency (a number to be added, or an attribute) is accepted too. Return 0 if no colour
 * begins here. */
static size_t ink_length(const char *text)
{
    static const char hex[] = "0123456789abcdefABCDEF", opacity[] = "fill-opacity='";
    size_t begin = text[0] == '#' ? 1 : strncmp(text, "0x", 2) == 0 ? 2 : 0;
    size_t digits = begin ? strspn(text + begin, hex) : strspn(text, "0123456789");

    if (begin && (digits == 6 || digits == 8))
        return begin + digits;
    if (strncmp(text, "rgb(", 4) == 0)
        return strcspn(text, ")");
    if (strncmp(text, opacity, strlen(opacity)) == 0)
        return strlen(opacity) + strcspn(text + strlen(opacity), "'");
    return !begin && digits && strncmp(text + digits, " + int(", 7) == 0 ? digits : 0;
}

static const char *find_ink(const char *text, size_t *ret_length)
{
    while (*text && (*ret_length = ink_length(text)) == 0)
        text++;
    return *text ? text : NULL;
}

/* Expect that the picture contains each colour of the data. */
static void expect_inks(const char *data, const char *picture)
{
    size_t length;

    for (const char *at = data; (at = find_ink(at, &length)) != NULL; at += length)
        if ((at[0] == '#' || at[1] == 'x') &&
            !is_drawn(picture, strtoul(at + length - 6, NULL, 16)))
            fail_msg("the picture lacks the colour %.*s", (int)length, at);
}

void drawing_golden(const char *name, const char *keep, const char *path)
{
    char *data = gather(keep), *svg = drawing_text(path, NULL);

    compare(name, data);
    expect_texts(data, svg);
    expect_inks(data, svg);
    free(data);
    free(svg);
}

/* Expect texts that are equal except for their colours, some of which must differ. */
static void expect_same_but_inks(const char *a, const char *b)
{
    const char *ink_a, *ink_b;
    size_t length_a, length_b;
    int differ = 0;

    for (;; a = ink_a + length_a, b = ink_b + length_b) {
        ink_a = find_ink(a, &length_a);
        ink_b = find_ink(b, &length_b);
        if (!ink_a || !ink_b)
            break;
        assert_int_equal(ink_a - a, ink_b - b);
        assert_memory_equal(a, b, ink_a - a);
        differ += length_a != length_b || memcmp(ink_a, ink_b, length_a) != 0;
    }
    assert_string_equal(a, b);
    assert_true(differ > 0);
}

void drawing_same_but_inks(const char *keep, const char *path, const char *other_keep,
                           const char *other_path)
{
    char *data = gather(keep), *other_data = gather(other_keep);
    char *svg = drawing_text(path, NULL), *other_svg = drawing_text(other_path, NULL);

    expect_same_but_inks(data, other_data);
    expect_same_but_inks(svg, other_svg);
    free(data);
    free(other_data);
    free(svg);
    free(other_svg);
}

/* --- runs ------------------------------------------------------------------------------------- */

static void make_phases(struct rps_phases *ret, const struct rps_phase *phase, size_t count)
{
    *ret = (struct rps_phases){.count = count, .phase = calloc(count, sizeof(*phase))};
    assert_non_null(ret->phase);
    memcpy(ret->phase, phase, count * sizeof(*phase));
    for (size_t i = 0; i < count; i++) {
        struct rps_phase *each = &ret->phase[i];

        each->start_ns = (int64_t)each->first * FIXTURE_PERIOD_NS;
        each->end_ns = ((int64_t)each->last + 1) * FIXTURE_PERIOD_NS;
        each->confidence = each->label_confidence = 1;
        if (each->latest == 0)
            each->earliest = each->latest = each->first;
        if (each->label >= ret->label_count)
            ret->label_count = each->label + 1;
    }
}

static void detected(struct fixture *fixture, struct rps_phases *level, size_t count, size_t shown)
{
    struct rps_detection detection = {
        .method = "test",
        .parameters = (char *)"{}",
        .levels = {.count = count, .level = level, .shown = shown},
    };
    struct rps_error err;

    if (rps_store_add_detection(fixture->path, fixture->run_id, &detection, &err) < 0)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < count; i++)
        free(level[i].phase);
}

void drawing_detected(struct fixture *fixture, const struct rps_phase *phase, size_t count)
{
    struct rps_phases phases;

    make_phases(&phases, phase, count);
    detected(fixture, &phases, 1, 0);
}

/* Return a pseudo-random number below `below`. The sequence is always the same. */
static uint64_t noise(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

void drawing_story(struct fixture *fixture)
{
    static const struct rps_phase phase[] = {
        {.first = 0, .last = 79, .label = 0},
        {.first = 80, .last = 119, .earliest = 76, .latest = 84, .label = 1},
        {.first = 120, .last = 199, .earliest = 118, .latest = 124, .label = 0},
        {.first = 200, .last = 239, .earliest = 199, .latest = 203, .label = 2},
    };
    static const struct rps_phase coarse[] = {
        {.first = 0, .last = 199, .label = 0},
        {.first = 200, .last = 239, .label = 1},
    };
    static const struct rps_phase fine[] = {
        {.first = 0, .last = 39, .label = 0},    {.first = 40, .last = 79, .label = 1},
        {.first = 80, .last = 119, .label = 2},  {.first = 120, .last = 159, .label = 1},
        {.first = 160, .last = 199, .label = 3}, {.first = 200, .last = 219, .label = 3},
        {.first = 220, .last = 239, .label = 0},
    };
    static const uint64_t level[3] = {1000, 9000, 300};
    struct rps_phases levels[3];
    uint64_t state = 1;

    fixture_write(fixture);
    for (uint64_t i = 0; i < 240; i++) {
        uint64_t base = level[i < 80 ? 0 : i < 120 ? 1 : i < 200 ? 0 : 2];
        uint64_t count[2] = {20 * base + noise(&state, base), base + noise(&state, base / 4)};

        fixture_period(fixture, 100000 + 2000 * base / 100 + noise(&state, 4000), count);
    }
    rps_writer_mark(fixture->writer, INT64_C(5000000000), "</script><b>begin & \"end\"");
    rps_writer_mark(fixture->writer, INT64_C(5050000000), "right behind it");
    rps_writer_mark(fixture->writer, INT64_C(17000000000), "END\n!touch pwned");
    rps_writer_gap(fixture->writer, -1, INT64_C(13000000000), 800000000, "`touch pwned`");
    fixture_read(fixture);
    make_phases(&levels[0], coarse, sizeof(coarse) / sizeof(coarse[0]));
    make_phases(&levels[1], phase, sizeof(phase) / sizeof(phase[0]));
    make_phases(&levels[2], fine, sizeof(fine) / sizeof(fine[0]));
    detected(fixture, levels, 3, 1);
}

#ifdef RPS_HAS_CODE

/* Write the modules, stacks of one frame each, and threads of drawing_samples. */
static void write_code(struct fixture *fixture)
{
    static const struct rps_module module[] = {{0, RPS_MODULE_FILE, "/usr/bin/story", ""},
                                               {1, RPS_MODULE_KERNEL, "[kernel]", ""}};
    static const struct rps_frame frame[] = {
        {0, 0, 16, 0}, {1, 0, 32, 0}, {2, 0, 48, 0}, {3, 1, 64, 0}};
    static const struct rps_stack stack[] = {{0, -1, 0}, {1, 0, 1}, {2, 0, 2}, {3, 2, 3}};
    static const struct rps_task task[] = {{0, 7, 7, "story", 0, -1, -1, -1, ""},
                                           {1, 7, 8, "story", 0, -1, -1, -1, ""}};
    struct rps_sampling sampling = {
        .event = "cpu-clock", .frequency = 100, .stacks = "fp", .samples = 846, .complete = 846};

    rps_writer_sampling(fixture->writer, &sampling);
    for (int i = 0; i < 2; i++)
        rps_writer_module(fixture->writer, &module[i]);
    for (int i = 0; i < 4; i++) {
        rps_writer_frame(fixture->writer, &frame[i]);
        rps_writer_stack(fixture->writer, &stack[i]);
    }
    for (int i = 0; i < 2; i++)
        rps_writer_task(fixture->writer, &task[i]);
}

static void name_code(struct fixture *fixture)
{
    static struct rps_location location[] = {{0, 0, "main", "story.c", 9, RPS_LOCATION_DEBUG},
                                             {1, 0, "work", "story.c", 3, RPS_LOCATION_DEBUG},
                                             {2, 0, "rest", "story.c", 5, RPS_LOCATION_DEBUG},
                                             {3, 0, "sys", "", 0, RPS_LOCATION_SYMBOL}};
    const struct rps_code code = {.location_count = 4, .location = location};
    struct rps_error err;

    if (rps_store_set_locations(fixture->path, fixture->run_id, &code, &err) < 0)
        fail_msg("%s", err.message);
}

void drawing_samples(struct fixture *fixture)
{
    static const struct rps_phase phase[] = {{.first = 0, .last = 62, .label = 0},
                                             {.first = 63, .last = 119, .label = 1}};
    const uint64_t count[2] = {3000000, 4000};

    fixture_write(fixture);
    write_code(fixture);
    for (uint64_t i = 0; i < 120; i++) {
        const struct rps_code_count work = {.cpu = -1, .period = i, .id = 1, .samples = 8};
        const struct rps_code_count rest = {.cpu = -1, .period = i, .id = 2, .samples = 4};
        const struct rps_code_count sys = {.cpu = -1, .period = i, .id = 3, .samples = 2};
        const struct rps_code_count thread = {
            .cpu = -1, .period = i, .id = i < 63 ? 0 : 1, .samples = i < 63 ? 8 : 6};

        fixture_period(fixture, 5000000, count);
        if (i < 63)
            rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &work);
        if (i >= 63) {
            rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &rest);
            rps_writer_code_count(fixture->writer, RPS_COUNT_STACKS, &sys);
        }
        rps_writer_code_count(fixture->writer, RPS_COUNT_TASKS, &thread);
    }
    fixture_read(fixture);
    name_code(fixture);
    drawing_detected(fixture, phase, 2);
}

#else

void drawing_samples(struct fixture *fixture)
{
    fixture_write(fixture);
    fixture_read(fixture);
    fixture_end(fixture);
    print_message("# built without samples of the code\n");
    skip();
}

#endif

char *drawing_characters(struct fixture *fixture, struct rps_plot_options options)
{
    char *text = NULL;
    size_t size;

    options.out = open_memstream(&text, &size);
    assert_non_null(options.out);
    drawing_must(fixture, "-", options);
    fclose(options.out);
    return text;
}
