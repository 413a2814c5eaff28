/* self_naive: runs examples/naive, measuring itself as a whole, for tests/bench/self_vs_rpistat.
 *
 * usage: self_naive SETS RESULT [NAIVE'S ARG...]
 *
 * SETS is a document of event sets. RESULT receives a line "NAME FIGURE" for each event, and for
 * "clock", "seconds" and "cpu_seconds". The example is linked unchanged, with its main() under
 * another name. */
#include <stdio.h>
#include <stdlib.h>

#include "rpistat/region.h"

int naive_main(int argc, char *argv[]);

static int write_result(const char *path)
{
    FILE *file = fopen(path, "w");
    struct rps_region_item item;

    if (!file)
        return -1;
    fprintf(file, "seconds %.9f\n", rps_region_value("naive", "seconds"));
    fprintf(file, "cpu_seconds %.9f\n", rps_region_value("naive", "cpu_seconds"));
    for (int i = 0; rps_region_item(i, &item) == 0; i++)
        if (item.kind != RPS_REGION_METRIC && item.reason[0] == '\0')
            fprintf(file, "%s %.0f\n", item.name, rps_region_value("naive", item.name));
    return fclose(file) == 0 ? 0 : -1;
}

int main(int argc, char *argv[])
{
    const char *result = argc < 3 ? "" : argv[2];
    int status;

    if (argc < 3) {
        fprintf(stderr, "usage: self_naive SETS RESULT [ARG...]\n");
        return 2;
    }
    if (rps_region_open(argv[1]) < 0) {
        fprintf(stderr, "%s\n", rps_region_problem());
        return EXIT_FAILURE;
    }
    rps_region_begin("naive");
    argv[2] = argv[0];
    status = naive_main(argc - 2, argv + 2);
    rps_region_end("naive");
    return write_result(result) < 0 ? EXIT_FAILURE : status;
}
