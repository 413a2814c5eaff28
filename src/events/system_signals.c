/* The names of system metrics, for reading, storing and showing them. */
#include "rpistat/system_signals.h"

#define ROW(slot, ...) {.name = __VA_ARGS__},

static const struct rps_system_signal tree[] = {RPS_TREE_METRICS(ROW)};
static const struct rps_system_signal machine[] = {RPS_MACHINE_METRICS(ROW)};
static const struct rps_system_signal group[] = {RPS_GROUP_METRICS(ROW)};
static const struct rps_system_signal package[] = {RPS_PACKAGE_METRICS(ROW)};

const struct rps_system_signal *const rps_system_signals[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = tree,
    [RPS_SYSTEM_MACHINE] = machine,
    [RPS_SYSTEM_GROUP] = group,
    [RPS_SYSTEM_PACKAGE] = package,
};

const int rps_system_signal_count[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = RPS_TREE_SLOTS,
    [RPS_SYSTEM_MACHINE] = RPS_MACHINE_SLOTS,
    [RPS_SYSTEM_GROUP] = RPS_GROUP_SLOTS,
    [RPS_SYSTEM_PACKAGE] = RPS_PACKAGE_SLOTS,
};

const char *const rps_system_sources[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = "tree",
    [RPS_SYSTEM_MACHINE] = "machine",
    [RPS_SYSTEM_GROUP] = "group",
    [RPS_SYSTEM_PACKAGE] = "package",
};
