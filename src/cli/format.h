/* --format of the commands, and what their texts share. */
#ifndef RPISTAT_CLI_FORMAT_H
#define RPISTAT_CLI_FORMAT_H

#include "cli.h"
#include "rpistat/document.h"

/* --format of a command that writes a document; `at` of an enum rps_format. */
#define RPS_FORMAT_OPTION(at)                                                                      \
    {                                                                                              \
        "format", 0, "FORMAT", "one of " RPS_DOCUMENT_FORMATS, "text", RPS_OPTION_CHOICE, at,      \
            .words = RPS_DOCUMENT_FORMATS                                                          \
    }

/* Of numbers that people read; (locale_t)0, which is the C locale, for programs. */
locale_t rps_format_locale(const struct rps_cli *cli, enum rps_format format);

/* Write a document to cli->out, with numbers of that locale, fitted to the terminal when that is
 * where it goes. */
void rps_format_document(const struct rps_cli *cli, const struct rps_document *document,
                         enum rps_format format);

/* "run 3 (label nightly, ./naive)", printable. Writes at most `size` bytes, and returns ret. */
char *rps_format_run(char *ret, size_t size, const struct rps_run *run);

#endif
