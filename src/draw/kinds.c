/* The names of the kinds of pictures, and of the contents of the panel "Code". */
#include "rpistat/picture_kinds.h"
#include "rpistat/plot.h"

const char *const rps_plot_kind_names[RPS_PLOT_KIND_COUNT] = {
#define NAME(kind, name, help) #name,
    RPS_PLOT_KINDS(NAME)};

const char *const rps_plot_code_names[RPS_PLOT_CODE_COUNT] = {
    [RPS_PLOT_CODE_CHOSEN] = "chosen",   [RPS_PLOT_CODE_FUNCTION] = "function",
    [RPS_PLOT_CODE_MODULE] = "module",   [RPS_PLOT_CODE_THREAD] = "thread",
    [RPS_PLOT_CODE_PROGRAM] = "program", [RPS_PLOT_CODE_CGROUP] = "cgroup",
    [RPS_PLOT_CODE_NONE] = "none",
};
