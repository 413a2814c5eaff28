/* A document for people. */
#ifndef RPISTAT_DOCUMENT_TEXT_H
#define RPISTAT_DOCUMENT_TEXT_H

#include "rpistat/document.h"

#define RPS_WORDS_UNKNOWN "-"

/* Write it for a terminal of so many columns; 0: none. Cells are cut where they stand. */
void rps_document_print(const struct rps_document *document, FILE *out, int columns);

#endif
