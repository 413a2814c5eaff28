/* The names of the kinds of pictures. */
#include "rpistat/picture_kinds.h"
#include "rpistat/plot.h"

const char *const rps_plot_kind_names[RPS_PLOT_KIND_COUNT] = {
#define NAME(kind, name, help) #name,
    RPS_PLOT_KINDS(NAME)};
