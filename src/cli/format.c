#include "format.h"

#include <inttypes.h>
#include <stdio.h>

#include "rpistat/text.h"

locale_t rps_format_locale(const struct rps_cli *cli, enum rps_format format)
{
    return format == RPS_FORMAT_JSON || format == RPS_FORMAT_CSV ? (locale_t)0 : cli->locale;
}

void rps_format_document(const struct rps_cli *cli, const struct rps_document *document,
                         enum rps_format format)
{
    struct rps_document localised = *document;
    int columns = 0;

    localised.locale = rps_format_locale(cli, format);
    if (cli->out != stdout || !rps_output_terminal(&columns, NULL))
        columns = 0;
    rps_document_write(&localised, cli->out, format, columns);
}

char *rps_format_run(char *ret, size_t size, const struct rps_run *run)
{
    char label[RPS_RUN_TEXT_SIZE], title[128], number[48] = "a run without a number yet";

    if (run->run_id > 0)
        snprintf(number, sizeof(number), "run %" PRId64, run->run_id);
    snprintf(ret, size, "%s (%s%s%s%s)", number, run->label[0] != '\0' ? "label " : "",
             rps_text_printable(label, sizeof(label), run->label),
             run->label[0] != '\0' ? ", " : "", rps_run_title(title, sizeof(title), run));
    return ret;
}
