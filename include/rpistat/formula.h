/* Formulas of metrics: names, numbers, + - * / and parentheses. A formula is computed from the
 * counts of a time range. A formula is compiled once to postfix steps, then evaluated for many time
 * ranges. The steps are also stored with a run, so that SQL can evaluate them (view `rate`).
 *
 * Grammar (usual precedence, left associative):
 *     sum     = product { ("+" | "-") product }
 *     product = factor { ("*" | "/") factor }
 *     factor  = number | name | "'" any text "'" | "(" sum ")" | "-" factor
 *     name    = [A-Za-z_][A-Za-z0-9_.:]*          (quote names with other characters)
 * A minus sign continues a name if the part before it is no known name: "page-faults / seconds".
 * A missing operand or a division by zero gives a missing value. */
#pragma once

#include "rpistat/error.h"

#define RPS_FORMULA_STEP_MAX  64
#define RPS_FORMULA_DEPTH_MAX 8 /* Maximum number of operands on the stack: columns s0 ... s7 */

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
    int operand;   /* Index into the operands, for RPS_FORMULA_OPERAND */
    double number; /* Constant, for RPS_FORMULA_NUMBER */
};

struct rps_formula {
    int step_count;
    struct rps_formula_step step[RPS_FORMULA_STEP_MAX];
};

/* Return the index of the operand with the given name, or -1. */
typedef int rps_formula_lookup(void *context, const char *name);

/* Compile the text of a formula. Return 0, or RPS_USAGE with a sentence that quotes the formula and
 * the position. Errors are wrong syntax, an unknown name, more than RPS_FORMULA_STEP_MAX steps, or
 * a stack of more than RPS_FORMULA_DEPTH_MAX operands. */
int rps_formula_compile(const char *text, rps_formula_lookup *lookup, void *context,
                        struct rps_formula *ret, struct rps_error *err);

/* Evaluate a formula over operands, where NaN means missing. Return NaN for a missing value. */
double rps_formula_value(const struct rps_formula *formula, const double *operand);

/* Return the derivative of a formula with respect to operand `by`, at the given operands. Return
 * NaN if there is no derivative. The function changes the operands temporarily. */
double rps_formula_derivative(const struct rps_formula *formula, double *operand, int by);
