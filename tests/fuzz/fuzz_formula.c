/* Fuzz formulas of metrics: compile and evaluate them. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/plan.h"

static int lookup(void *context, const char *name)
{
    (void)context;
    return name[0] >= 'a' && name[0] <= 'h' ? name[0] - 'a' : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double operand[8] = {0, 1, -1, 1e308, NAN, 1e-308, 42, INFINITY};
    struct rps_formula formula;
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};
    char *text = fuzz_text(data, size);

    if (rps_formula_compile(text, lookup, NULL, &formula, &err) == 0) {
        fuzz_expect(formula.step_count > 0 && formula.step_count <= RPS_FORMULA_STEP_MAX,
                    "a formula has more steps than there are");
        rps_formula_value(&formula, operand);
    } else {
        fuzz_expect_sentence(&err);
    }
    if (strchr(text, '=') && rps_plan_load("software", &plan, &err) == 0)
        rps_plan_add_formula(plan, text, &err);
    rps_plan_free(plan);
    free(text);
    return 0;
}
