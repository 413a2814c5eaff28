/* Fuzz event names as users type them, resolved on a machine without a PMU. */
#include "fuzz.h"

#include <stdlib.h>

#include "rpistat/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rps_plan *plan = NULL;
    struct rps_error err = {""};
    char *text = fuzz_text(data, size < 400 ? size : 400);
    const char *group = text;

    if (rps_plan_from_events(&group, 1, &plan, &err) == 0) {
        for (int slot = 0; slot < plan->set[0].event_count; slot++)
            if (rps_event_resolve(&plan->set[0].event[slot], FUZZ_SYS, &err) < 0)
                fuzz_expect_sentence(&err);
        rps_plan_add_rates(plan, &err);
        rps_plan_free(plan);
    } else {
        fuzz_expect_sentence(&err);
    }
    free(text);
    return 0;
}
