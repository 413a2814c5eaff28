/* A document for people. */
#ifndef RPISTAT_DOCUMENT_TEXT_H
#define RPISTAT_DOCUMENT_TEXT_H

#include "rpistat/document.h"

/* "build=42 host=a", with what stands between two tags; kept by the document, NULL without memory.
 */
char *rps_document_tags(struct rps_document *document, const struct rps_value *value,
                        const char *between);

/* Write it for a terminal of so many columns; 0: none. Sets no_memory. */
void rps_document_print(struct rps_document *document, FILE *out, int columns);

#endif
