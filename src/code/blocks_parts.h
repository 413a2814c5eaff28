/* Declarations shared by the files that fill the document of the code that ran. */
#pragma once

#include "rpistat/code_output.h"

#define RPS_CODE_TEXT_SIZE 320

struct rps_code_filling {
    struct rps_document *document;
    const struct rps_code_output *output;
};

/* Format a line of code as "three.c:40". The text is empty if the line is unknown. */
const char *rps_code_line_text(char ret[RPS_CODE_TEXT_SIZE], const char *file, int line);

/* Put the call tree. Machine-readable output has one row per node. The text has a tree with callers
 * on top, and the callee with most samples first. */
void rps_code_put_calls(const struct rps_code_filling *filling);
void rps_code_put_tree(const struct rps_code_filling *filling);
