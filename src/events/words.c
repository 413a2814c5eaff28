/* Words and numbers inside sentences. */
#include "rpistat/words.h"

#include <math.h>
#include <string.h>

#include "rpistat/period.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/text.h"

char *rps_words_name(char ret[RPS_NAME_SIZE], const char *label, const char *name)
{
    if (!label[0])
        label = name;
    snprintf(ret, RPS_NAME_SIZE, "%s", label);
    if (strcmp(label, name) != 0 && label[0] >= 'A' && label[0] <= 'Z' && label[1] >= 'a' &&
        label[1] <= 'z')
        ret[0] = (char)(label[0] - 'A' + 'a');
    return ret;
}

const char *rps_words_clock_label(const struct rps_run *run, const struct rps_plan *plan)
{
    if (plan->clock.label[0])
        return plan->clock.label;
    return run->clock_label[0] ? run->clock_label : "Cycles";
}

char *rps_words_times(char *ret, size_t size, double ratio)
{
    if (ratio < 99.5)
        snprintf(ret, size, "%.*f", ratio >= 9.95 ? 0 : ratio >= .995 ? 1 : 2, ratio);
    else
        snprintf(ret, size, "%.0f", 10 * round(ratio / 10));
    return ret;
}

char *rps_words_cut(char *ret, size_t size, const char *text, int width)
{
    size_t at = 0;

    rps_text_printable(ret, size, text);
    if (rps_text_width(ret) <= width)
        return ret;
    for (int seen = 0; ret[at]; at++) {
        if (!rps_text_is_inside(ret[at]) && ++seen > width - 3)
            break;
    }
    memcpy(ret + at, "...", 4);
    return ret;
}
