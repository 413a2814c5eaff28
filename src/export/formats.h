/* The export formats, for their table (export.c). */
#ifndef RPISTAT_EXPORT_FORMATS_H
#define RPISTAT_EXPORT_FORMATS_H

#include "rpistat/export.h"

RPS_EXPORT_FORMATS(RPS_EXPORT_DECLARE)

#endif
