#include "format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

int rps_format_document(struct rps_cli *cli, struct rps_document *document, enum rps_format format)
{
    int columns = 0;

    if (cli->out != stdout || !rps_output_terminal(&columns, NULL))
        columns = 0;
    return rps_document_write(document, cli->out, format, columns, &cli->err);
}

void rps_format_start(char *ret, size_t size, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / RPS_NS_PER_S);
    struct tm local;

    if (realtime_ns < 0 || localtime_r(&seconds, &local) == NULL ||
        strftime(ret, size, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(ret, size, "?");
}

char *rps_format_run(char *ret, size_t size, const struct rps_run *run)
{
    char label[RPS_RUN_TEXT_SIZE], title[128];

    snprintf(ret, size, "run %" PRId64 " (%s%s%s%s)", run->run_id,
             run->label[0] != '\0' ? "label " : "",
             rps_text_printable(label, sizeof(label), run->label),
             run->label[0] != '\0' ? ", " : "", rps_run_title(title, sizeof(title), run));
    return ret;
}
