/* The forms of a document, and the parts that those for users have in common. */
#ifndef RPISTAT_DOCUMENT_TO_H
#define RPISTAT_DOCUMENT_TO_H

#include "rpistat/document.h"

void rps_document_to_text(const struct rps_document *document, FILE *out, int columns);
void rps_document_to_json(const struct rps_document *document, FILE *out);
void rps_document_to_csv(const struct rps_document *document, FILE *out);
/* Write markup: 0 Markdown, 1 HTML, and so on in the order of RPS_DOCUMENT_FORMATS. */
void rps_document_to_markup(const struct rps_document *document, FILE *out, int markup);

/* A block as users read it: the columns that they see, in their order, and the text of cells. */
struct rps_grid {
    const struct rps_block *block;
    size_t row_count, column_count;
    const struct rps_column **column;
    char **heading; /* printable, as the cells are; "": none */
    char **cell;    /* cell[row * column_count + column] */
    int has_head;   /* some heading has text */
    int *marks;     /* of each column: bits of the marks in its cells */
};

/* Return the grid of a block; its text is in the document's arena. */
struct rps_grid rps_grid_make(const struct rps_block *block);

static inline int rps_column_is_right(const struct rps_column *column)
{
    return column->kind > RPS_VALUE_JSON;
}

/* Return printable text in the document's arena. */
char *rps_document_printable(const struct rps_document *document, const char *text);

/* Return "a=1 b=2" with that separator, in the document's arena; NULL: no tags. */
char *rps_document_tags_text(const struct rps_block *tags, const char *separator);

/* Return the block after `block` in users' order: the first after NULL, NULL after the last. */
const struct rps_block *rps_document_next(const struct rps_document *document,
                                          const struct rps_block *block);

/* Return the meaning of a mark that is in `marks` and not yet in *told, which gets it; or NULL. */
const char *rps_document_note(int marks, int *told);

#endif
