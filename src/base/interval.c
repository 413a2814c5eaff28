#include "rpistat/interval.h"

#include <string.h>

static const char *const names[] = {
    [RPS_CERTAINTY_NONE] = "",
    [RPS_CERTAINTY_COUNTED] = "counted",
    [RPS_CERTAINTY_SCALED] = "scaled",
    [RPS_CERTAINTY_INTERVAL] = "interval",
    [RPS_CERTAINTY_BURSTS] = "rare bursts",
    [RPS_CERTAINTY_UNSEEN] = "none seen",
    [RPS_CERTAINTY_ONCE] = "too few periods",
    [RPS_CERTAINTY_HARDLY] = "hardly counted",
};

const char *rps_certainty_name(enum rps_certainty certainty)
{
    return names[certainty];
}

enum rps_certainty rps_certainty_parse(const char *name)
{
    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
        if (strcmp(names[i], name) == 0)
            return (enum rps_certainty)i;
    }
    return RPS_CERTAINTY_NONE;
}
