/* The export formats, for their table (export.c). */
#ifndef RPISTAT_EXPORT_FORMATS_H
#define RPISTAT_EXPORT_FORMATS_H

#include "rpistat/export.h"

extern const struct rps_export_format rps_export_wide, rps_export_table, rps_export_rates,
    rps_export_long, rps_export_long_rates, rps_export_every, rps_export_openmetrics,
    rps_export_line_protocol, rps_export_signals, rps_export_perfetto;

#endif
