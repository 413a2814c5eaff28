/* The forms of a document, and what those for people have in common. */
#ifndef RPISTAT_DOCUMENT_TO_H
#define RPISTAT_DOCUMENT_TO_H

#include "rpistat/document.h"

void rps_document_to_text(const struct rps_document *document, FILE *out, int columns);
void rps_document_to_json(const struct rps_document *document, FILE *out);
void rps_document_to_csv(const struct rps_document *document, FILE *out);
/* Markup: 0 Markdown, 1 HTML, and so on in the order of RPS_DOCUMENT_FORMATS. */
void rps_document_to_markup(const struct rps_document *document, FILE *out, int markup);

/* A block as people read it: the columns that they see, in their order, and the words of all. */
struct rps_grid {
    const struct rps_block *block;
    size_t row_count, column_count;
    const struct rps_column **column;
    char **heading; /* printable, as what follows; "" */
    char **cell;    /* cell[row * column_count + column] */
    int has_head;   /* some heading has words */
    int *marks;     /* of each column: bits of the marks that its cells have */
};

/* The words are in the document's arena. */
struct rps_grid rps_grid_make(const struct rps_block *block);

static inline int rps_column_is_right(const struct rps_column *column)
{
    return column->kind > RPS_VALUE_JSON;
}

/* Printable text in the document's arena. */
char *rps_document_printable(const struct rps_document *document, const char *text);

/* "a=1 b=2" with that separator, in the document's arena; NULL: there are no tags. */
char *rps_document_tags_text(const struct rps_block *tags, const char *separator);

/* The blocks in people's order: the first is the one behind NULL; NULL behind the last. */
const struct rps_block *rps_document_next(const struct rps_document *document,
                                          const struct rps_block *block);

/* What a mark means that is in `marks` and not in *told, which gets it; NULL: all have been told. */
const char *rps_document_note(int marks, int *told);

#endif
