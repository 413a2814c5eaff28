/*
 * Formulas of metrics: names, numbers, + - * / and parentheses, over the counts of a time range.
 * A formula is compiled to postfix steps once, then evaluated for many time ranges. The steps are
 * also stored with a run, so that SQL can evaluate them (view `rate`).
 *
 * Grammar (usual precedence, left associative):
 *     sum     = product { ("+" | "-") product }
 *     product = factor { ("*" | "/") factor }
 *     factor  = number | name | "'" any text "'" | "(" sum ")" | "-" factor
 *     name    = [A-Za-z_][A-Za-z0-9_.:]*          (quote names with other characters)
 * A name may continue after a minus if it is known only so: "page-faults / seconds".
 * A missing operand gives a missing value; so does a division by zero.
 */
#ifndef RPISTAT_FORMULA_H
#define RPISTAT_FORMULA_H

#include "rpistat/error.h"

#define RPS_FORMULA_STEP_MAX  64
#define RPS_FORMULA_DEPTH_MAX 8 /* operands on the stack: the columns s0 ... s7 of view `rate` */

enum rps_formula_op {
    RPS_FORMULA_NUMBER,
    RPS_FORMULA_OPERAND,
    RPS_FORMULA_ADD,
    RPS_FORMULA_SUBTRACT,
    RPS_FORMULA_MULTIPLY,
    RPS_FORMULA_DIVIDE,
};

struct rps_formula_step {
    enum rps_formula_op op;
    int operand;   /* index into the operands, for RPS_FORMULA_OPERAND */
    double number; /* for RPS_FORMULA_NUMBER */
};

struct rps_formula {
    int step_count;
    struct rps_formula_step step[RPS_FORMULA_STEP_MAX];
};

/* Return the index of the operand with that name, or -1. */
typedef int rps_formula_lookup(void *context, const char *name);

/*
 * Compile text. Returns 0, or RPS_USAGE with a sentence that quotes the formula and the position.
 * Errors are syntax, an unknown name, more than RPS_FORMULA_STEP_MAX steps or RPS_FORMULA_DEPTH_MAX
 * operands at once.
 */
int rps_formula_compile(const char *text, rps_formula_lookup *lookup, void *context,
                        struct rps_formula *ret, struct rps_error *err);

/* Evaluate over operands, where NaN is "missing". Returns NaN for a missing value. */
double rps_formula_value(const struct rps_formula *formula, const double *operand);

/* Return the derivative with respect to operand `by` at the operands. NaN if it is missing there.
 * The operands are restored afterwards. */
double rps_formula_derivative(const struct rps_formula *formula, double *operand, int by);

#endif
