/* Functions that write documents in each format, and functions that the formats for users share. */
#pragma once

#include "rpistat/document.h"

void rps_document_to_text(const struct rps_document *document, FILE *out, int columns);
void rps_document_to_json(const struct rps_document *document, FILE *out);
void rps_document_to_csv(const struct rps_document *document, FILE *out);
/* Write a document in the markup language with the number `markup` (0 Markdown, 1 HTML). */
void rps_document_to_markup(const struct rps_document *document, FILE *out, int markup);

/* A block for users: the shown columns in their order, and the text of their cells. */
struct rps_grid {
    const struct rps_block *block;
    size_t row_count, column_count;
    const struct rps_column **column;
    char **heading; /* printable text of each heading; "": no heading */
    char **cell;    /* printable text of each cell: cell[row * column_count + column] */
    int has_head;   /* 1 if a heading has text */
    int *marks;     /* bit mask of the marks in the cells of each column */
};

/* Return the grid of a block, with its text in the document's arena. */
struct rps_grid rps_grid_make(const struct rps_block *block);

static inline int rps_column_is_right(const struct rps_column *column)
{
    return column->kind > RPS_VALUE_JSON;
}

/* Convert text to printable text in the document's arena. */
char *rps_document_printable(const struct rps_document *document, const char *text);

/* Return the tags "a=1 b=2" with a separator, in the document's arena; NULL without tags. */
char *rps_document_tags_text(const struct rps_block *tags, const char *separator);

/* Return the block that users see after `block` (NULL: the first block), or NULL after the last. */
const struct rps_block *rps_document_next(const struct rps_document *document,
                                          const struct rps_block *block);

/* Explain a mark that is in `marks` but not in *told, and add the mark to *told; NULL: none. */
const char *rps_document_note(int marks, int *told);
