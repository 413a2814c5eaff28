/* Fuzz documents of event sets, and the use of the resulting plan. */
#include "fuzz.h"

#include <stdlib.h>

#include "rpistat/plan.h"

static void use(struct rps_plan *plan)
{
    const char *const *scenario = rps_plan_scenarios();
    struct rps_error err;

    rps_plan_matches(plan, "/proc/cpuinfo", &err);
    rps_plan_operand(plan, "clock");
    for (int i = 0; i < rps_plan_operand_count(plan); i++)
        rps_plan_operand_name(plan, i);
    rps_plan_add_rates(plan, &err);
    rps_plan_compile(plan, &err);
    rps_plan_keep_default(plan);
    if (scenario[plan->set_count % 6])
        rps_plan_select(plan, scenario[plan->set_count % 6], &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};
    char *text = fuzz_text(data, size);

    if (rps_plan_parse("fuzz.ini", text, size, &plan, &err) == 0) {
        use(plan);
        rps_plan_free(plan);
    } else {
        fuzz_expect_sentence(&err);
    }
    free(text);
    return 0;
}
