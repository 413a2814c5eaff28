/* --format of the commands, and their common text functions. */
#ifndef RPISTAT_CLI_FORMAT_H
#define RPISTAT_CLI_FORMAT_H

#include "cli.h"
#include "rpistat/document.h"

/* --format of a command that writes a document; `at` is that of an enum rps_format. */
#define RPS_FORMAT_OPTION(at)                                                                      \
    {                                                                                              \
        "format", 0, "FORMAT", "one of " RPS_DOCUMENT_FORMATS, "text", RPS_OPTION_CHOICE, at,      \
            .words = RPS_DOCUMENT_FORMATS                                                          \
    }

/* Return the locale for numbers in human-readable formats; (locale_t)0, the C locale, for
 * programs. */
locale_t rps_format_locale(const struct rps_cli *cli, enum rps_format format);

/* Write a document to cli->out, with numbers of that locale. It is fitted to a terminal. */
void rps_format_document(const struct rps_cli *cli, const struct rps_document *document,
                         enum rps_format format);

/* Put "run 3 (label nightly, ./naive)", printable. Writes at most `size` bytes, and returns ret. */
char *rps_format_run(char *ret, size_t size, const struct rps_run *run);

#endif
