/* Compiles formulas by recursive descent straight to postfix, without a tree. The store contains
 * the postfix form, and SQL evaluates this form. Therefore the depth of the stack is limited while
 * compiling, not while evaluating.
 *
 * A minus before an operand becomes "* -1" after the operand. A separate operator would be needed
 * in every evaluator, and "0 -" before the operand would need one more stack entry. */
#include "rpistat/formula.h"
#include "rpistat/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_SIZE  256
#define NESTING_MAX 32

/* Relative step for computing a derivative numerically. */
#define STEP 1e-4

struct compiler {
    const char *text; /* The whole formula, for messages. */
    const char *at;   /* Rest of the text to compile. */
    rps_formula_lookup *lookup;
    void *context;
    struct rps_formula formula;
    int depth;   /* Number of operands on the stack after the compiled steps. */
    int nesting; /* Nesting depth of parentheses and signs. */
    struct rps_error *err;
};

static int compile_sum(struct compiler *compiler);

/* Return the column of `at` in the formula, from 1. */
static int column(const struct compiler *compiler, const char *at)
{
    return (int)(at - compiler->text) + 1;
}

static int fail_at(struct compiler *compiler, const char *at, const char *message)
{
    return rps_error_set(compiler->err, RPS_USAGE, "formula \"%s\", column %d: %s", compiler->text,
                         column(compiler, at), message);
}

static void skip_blanks(struct compiler *compiler)
{
    while (*compiler->at == ' ' || *compiler->at == '\t')
        compiler->at++;
}

/* Append a step that changes the number of operands on the stack by `change`. */
static int emit(struct compiler *compiler, struct rps_formula_step step, int change)
{
    struct rps_formula *formula = &compiler->formula;
    char message[96];

    if (formula->step_count == RPS_FORMULA_STEP_MAX) {
        snprintf(message, sizeof(message), "too long, at most %d numbers, names and operators",
                 RPS_FORMULA_STEP_MAX);
        return fail_at(compiler, compiler->at, message);
    }
    compiler->depth += change;
    if (compiler->depth > RPS_FORMULA_DEPTH_MAX) {
        snprintf(message, sizeof(message), "more than %d operands at once: use fewer parentheses",
                 RPS_FORMULA_DEPTH_MAX);
        return fail_at(compiler, compiler->at, message);
    }
    formula->step[formula->step_count++] = step;
    return 0;
}

static int emit_operator(struct compiler *compiler, enum rps_formula_op op)
{
    return emit(compiler, (struct rps_formula_step){.op = op}, -1);
}

static int emit_number(struct compiler *compiler, double number)
{
    return emit(compiler, (struct rps_formula_step){.op = RPS_FORMULA_NUMBER, .number = number}, 1);
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* Return the length of the number at text: digits, points, and an exponent with its sign. */
static size_t number_length(const char *text)
{
    size_t length = 0;

    while (is_digit(text[length]) || text[length] == '.')
        length++;
    if (text[length] == 'e' || text[length] == 'E') {
        length++;
        if (text[length] == '-' || text[length] == '+')
            length++;
        while (is_digit(text[length]))
            length++;
    }
    return length;
}

/* Copy the next `length` characters into token, and move the current position past them. */
static int take_token(struct compiler *compiler, size_t length, char token[TOKEN_SIZE])
{
    if (length >= TOKEN_SIZE)
        return fail_at(compiler, compiler->at, "the name or number is too long");
    memcpy(token, compiler->at, length);
    token[length] = '\0';
    compiler->at += length;
    return 0;
}

static int compile_number(struct compiler *compiler)
{
    const char *start = compiler->at;
    char token[TOKEN_SIZE];
    double number = 0;
    int result = take_token(compiler, number_length(start), token);

    if (result < 0)
        return result;
    if (rps_parse_double("", token, &number, NULL) < 0)
        return fail_at(compiler, start, "not a number; write one like 1000 or 0.5");
    return emit_number(compiler, number);
}

/* Return the length of the name at text. A name may contain a minus: "page-faults" is one name if
 * the name "page" is unknown. The shortest known name is used. If no name is known, return the
 * length of the longest possible name, for the error message. */
static size_t name_length(const struct compiler *compiler, const char *text)
{
    char token[TOKEN_SIZE];
    size_t length = 0;

    for (;;) {
        while (is_name_start(text[length]) || is_digit(text[length]) || text[length] == '.' ||
               text[length] == ':')
            length++;
        if (length >= TOKEN_SIZE || text[length] != '-' || !is_name_start(text[length + 1]))
            return length;
        memcpy(token, text, length);
        token[length] = '\0';
        if (compiler->lookup(compiler->context, token) >= 0)
            return length;
        length++;
    }
}

static int compile_name(struct compiler *compiler, size_t length)
{
    const char *start = compiler->at;
    char token[TOKEN_SIZE], message[TOKEN_SIZE + 64];
    int result = take_token(compiler, length, token);
    int operand;

    if (result < 0)
        return result;
    operand = compiler->lookup(compiler->context, token);
    if (operand < 0) {
        snprintf(message, sizeof(message), "nothing named \"%s\" is counted", token);
        return fail_at(compiler, start, message);
    }
    return emit(compiler, (struct rps_formula_step){.op = RPS_FORMULA_OPERAND, .operand = operand},
                1);
}

static int compile_quoted_name(struct compiler *compiler)
{
    const char *end = strchr(compiler->at + 1, '\'');
    int result;

    if (!end)
        return fail_at(compiler, compiler->at, "the quote is not closed");
    compiler->at++;
    result = compile_name(compiler, (size_t)(end - compiler->at));
    compiler->at = end + 1;
    return result;
}

/* --- grammar ---------------------------------------------------------------------------------- */

static int compile_parentheses(struct compiler *compiler)
{
    const char *start = compiler->at++;
    int result = compile_sum(compiler);

    if (result < 0)
        return result;
    if (*compiler->at != ')')
        return fail_at(compiler, start, "the parenthesis is not closed");
    compiler->at++;
    return 0;
}

static int compile_factor(struct compiler *compiler);

static int compile_negative(struct compiler *compiler)
{
    int result;

    compiler->at++;
    result = compile_factor(compiler);
    if (result == 0)
        result = emit_number(compiler, -1);
    if (result == 0)
        result = emit_operator(compiler, RPS_FORMULA_MULTIPLY);
    return result;
}

/* Compile a factor that starts with a parenthesis or a sign, and so may contain other factors. */
static int compile_nested(struct compiler *compiler)
{
    int result;

    if (compiler->nesting == NESTING_MAX)
        return fail_at(compiler, compiler->at, "parentheses and signs are nested too deeply");
    compiler->nesting++;
    result = *compiler->at == '(' ? compile_parentheses(compiler) : compile_negative(compiler);
    compiler->nesting--;
    return result;
}

static int compile_factor(struct compiler *compiler)
{
    const char *at;
    int result;

    skip_blanks(compiler);
    at = compiler->at;
    if (*at == '(' || *at == '-') {
        result = compile_nested(compiler);
    } else if (is_digit(*at) || *at == '.') {
        result = compile_number(compiler);
    } else if (*at == '\'') {
        result = compile_quoted_name(compiler);
    } else if (is_name_start(*at)) {
        result = compile_name(compiler, name_length(compiler, at));
    } else {
        result = fail_at(compiler, at,
                         *at ? "a number, a name or ( is expected here"
                             : "it ends where a number or a name is expected");
    }
    skip_blanks(compiler);
    return result;
}

static int compile_product(struct compiler *compiler)
{
    int result = compile_factor(compiler);

    while (result == 0 && (*compiler->at == '*' || *compiler->at == '/')) {
        bool multiply = *compiler->at++ == '*';

        result = compile_factor(compiler);
        if (result == 0)
            result = emit_operator(compiler, multiply ? RPS_FORMULA_MULTIPLY : RPS_FORMULA_DIVIDE);
    }
    return result;
}

static int compile_sum(struct compiler *compiler)
{
    int result = compile_product(compiler);

    while (result == 0 && (*compiler->at == '+' || *compiler->at == '-')) {
        bool add = *compiler->at++ == '+';

        result = compile_product(compiler);
        if (result == 0)
            result = emit_operator(compiler, add ? RPS_FORMULA_ADD : RPS_FORMULA_SUBTRACT);
    }
    return result;
}

int rps_formula_compile(const char *text, rps_formula_lookup *lookup, void *context,
                        struct rps_formula *ret, struct rps_error *err)
{
    struct compiler compiler = {
        .text = text, .at = text, .lookup = lookup, .context = context, .err = err};
    int result = compile_sum(&compiler);

    if (result == 0 && *compiler.at != '\0')
        result =
            fail_at(&compiler, compiler.at, "an operator (+ - * /) or the end is expected here");
    if (result == 0)
        *ret = compiler.formula;
    return result;
}

/* --- evaluation ------------------------------------------------------------------------------- */

static double apply(enum rps_formula_op op, double left, double right)
{
    switch (op) {
    case RPS_FORMULA_ADD:
        return left + right;
    case RPS_FORMULA_SUBTRACT:
        return left - right;
    case RPS_FORMULA_MULTIPLY:
        return left * right;
    case RPS_FORMULA_DIVIDE:
        return right == 0 ? NAN : left / right;
    default:
        return NAN;
    }
}

double rps_formula_value(const struct rps_formula *formula, const double *operand)
{
    double stack[RPS_FORMULA_DEPTH_MAX] = {0};
    int depth = 0;

    for (int i = 0; i < formula->step_count; i++) {
        const struct rps_formula_step *step = &formula->step[i];

        if (step->op == RPS_FORMULA_NUMBER) {
            stack[depth++] = step->number;
        } else if (step->op == RPS_FORMULA_OPERAND) {
            stack[depth++] = operand[step->operand];
        } else {
            depth--;
            stack[depth - 1] = apply(step->op, stack[depth - 1], stack[depth]);
        }
    }
    return depth == 1 ? stack[0] : NAN;
}

double rps_formula_derivative(const struct rps_formula *formula, double *operand, int by)
{
    double at = operand[by], step = STEP * (at == 0 ? 1 : fabs(at)), above, below;

    operand[by] = at + step;
    above = rps_formula_value(formula, operand);
    operand[by] = at - step;
    below = rps_formula_value(formula, operand);
    operand[by] = at;
    return (above - below) / (2 * step);
}
