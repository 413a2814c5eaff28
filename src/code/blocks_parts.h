/* What the files share that fill the document of which code ran. */
#ifndef RPISTAT_CODE_BLOCKS_PARTS_H
#define RPISTAT_CODE_BLOCKS_PARTS_H

#include "rpistat/code_output.h"

#define RPS_CODE_TEXT_SIZE 320

/* What is filled: a document, of an output. */
struct rps_code_filling {
    struct rps_document *document;
    const struct rps_code_output *output;
};

/* "three.c:40", and "" where it is not known. */
const char *rps_code_line_text(char ret[RPS_CODE_TEXT_SIZE], const char *file, int line);

/* Calls, node by node for programs; for people as a tree, callers above, those of most samples
 * first. */
void rps_code_put_calls(const struct rps_code_filling *filling);
void rps_code_put_tree(const struct rps_code_filling *filling);

#endif
