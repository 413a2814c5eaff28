/* Markdown, as GitHub and GitLab have it in comments: text and tables that say what they say,
 * whatever characters are in them. */
#ifndef RPISTAT_SHOW_MARKDOWN_H
#define RPISTAT_SHOW_MARKDOWN_H

#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/table.h"

/* Text, made printable and cut where it is longer than a sentence, in which nothing is markup, a
 * link, or the mention of somebody. */
void rps_markdown_text(FILE *out, const char *text);

/* The table behind an empty line; blanks that a cell begins with stay. RPS_FAILED when there was
 * no memory for it. */
int rps_markdown_table(FILE *out, const struct rps_text_table *table, struct rps_error *err);

#endif
