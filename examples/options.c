/* Command-line options of the examples. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION_MAX   16
#define SIZE_MAX_KIB 16777216
#define LENGTH_MAX_S 1e6

static int letter_of(const struct example_option *table, int row)
{
    for (int i = 0; i < row; i++) {
        if (table[i].name[0] == table[row].name[0])
            return 256 + row;
    }
    return table[row].name[0] == 'h' ? 256 + row : table[row].name[0];
}

static void print_help(const char *program, const char *summary, const struct example_option *table)
{
    printf("usage: %s [OPTIONS]\n\n%s\n\n", program, summary);
    for (int i = 0; table[i].name; i++) {
        char heading[64];
        int letter = letter_of(table, i);

        snprintf(heading, sizeof(heading), letter < 256 ? "-%c, --%s%s%s" : "%c   --%s%s%s",
                 letter < 256 ? letter : ' ', table[i].name, table[i].argument ? " " : "",
                 table[i].argument ? table[i].argument : "");
        printf("  %-22s %s", heading, table[i].help);
        if (table[i].number)
            printf(" (%lld)", *table[i].number);
        else if (table[i].text && *table[i].text)
            printf(" (%s)", *table[i].text);
        printf("\n");
    }
    printf("  %-22s print this\n", "-h, --help");
}

static int set_option(const struct example_option *option, const char *argument)
{
    char *end;
    long long number;

    if (option->flag) {
        *option->flag = 1;
        return 0;
    }
    if (option->text) {
        *option->text = argument;
        return 0;
    }
    number = strtoll(argument, &end, 10);
    if (end == argument || *end || number < option->min || number > option->max) {
        fprintf(stderr, "--%s takes a number from %lld to %lld, not '%s'\n", option->name,
                option->min, option->max, argument);
        return -1;
    }
    *option->number = number;
    return 0;
}

int example_options(int argc, char *argv[], const char *summary, const struct example_option *table)
{
    struct option long_option[OPTION_MAX + 2] = {{0}};
    char short_option[3 * OPTION_MAX + 2] = "h";
    int count = 0, letter;

    for (; table[count].name && count < OPTION_MAX; count++) {
        long_option[count].name = table[count].name;
        long_option[count].has_arg = table[count].argument ? required_argument : no_argument;
        long_option[count].val = letter_of(table, count);
        if (long_option[count].val < 256)
            snprintf(short_option + strlen(short_option), 3, "%c%s", table[count].name[0],
                     table[count].argument ? ":" : "");
    }
    long_option[count] = (struct option){"help", no_argument, NULL, 'h'};
    while ((letter = getopt_long(argc, argv, short_option, long_option, NULL)) != -1) {
        int row = 0;

        if (letter == 'h') {
            print_help(argv[0], summary, table);
            return 1;
        }
        while (row < count && long_option[row].val != letter)
            row++;
        if (row == count || set_option(&table[row], optarg) < 0)
            return -1;
    }
    if (optind < argc) {
        fprintf(stderr, "%s: unexpected '%s'; see --help\n", argv[0], argv[optind]);
        return -1;
    }
    return 0;
}

int example_sizes(const char *program, const char *text, size_t *ret_kib, int room)
{
    int count = 0;

    while (count < room) {
        char *end;
        long long kib = strtoll(text, &end, 10);

        if (end == text || (*end && *end != ',') || kib < 1 || kib > SIZE_MAX_KIB)
            break;
        ret_kib[count++] = (size_t)kib;
        if (!*end)
            return count;
        text = end + 1;
    }
    fprintf(stderr, "%s: --sizes takes up to %d sizes in KiB, as in 8,64,1024, not '%s'\n", program,
            room, text);
    return -1;
}

int example_length(const char *program, const char *text, int64_t *ret_ns)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}};
    char *end;
    const double number = strtod(text, &end);

    for (size_t i = 0; end > text && i < sizeof(units) / sizeof(units[0]); i++) {
        double seconds = number * units[i].seconds;

        if (strcmp(end, units[i].name) == 0 && seconds > 0 && seconds <= LENGTH_MAX_S) {
            *ret_ns = (int64_t)(seconds * 1e9);
            return 0;
        }
    }
    fprintf(stderr, "%s: '%s' is no length; write 2s or 500ms\n", program, text);
    return -1;
}
