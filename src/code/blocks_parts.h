/* Declarations shared by the files that fill the document of the code that ran. */
#ifndef RPISTAT_CODE_BLOCKS_PARTS_H
#define RPISTAT_CODE_BLOCKS_PARTS_H

#include "rpistat/code_output.h"

#define RPS_CODE_TEXT_SIZE 320

/* The document to fill, and the output that it shows. */
struct rps_code_filling {
    struct rps_document *document;
    const struct rps_code_output *output;
};

/* Format "three.c:40"; "" if not known. */
const char *rps_code_line_text(char ret[RPS_CODE_TEXT_SIZE], const char *file, int line);

/* Put calls: for programs node by node; in the text as a tree with callers on top, most samples
 * first. */
void rps_code_put_calls(const struct rps_code_filling *filling);
void rps_code_put_tree(const struct rps_code_filling *filling);

#endif
