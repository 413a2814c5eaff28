/*
 * Tables in which a column and its cell are one row of a list:
 *
 *      #define COLUMNS(CELL, BY)                                           \
 *          CELL(INT, (run->run_id, 1), "run", "RUN", .place = 1)           \
 *          CELL(TEXT, (run->uuid), "uuid")                                 \
 *          BY(TIME, put_start(block, run), "start", "START", .place = 4)
 *
 * A row has the kind of the values, the cell, and the members of struct rps_column. The list makes
 * the columns and the calls that put a row of the table:
 *
 *      static const struct rps_column columns[] = {COLUMNS(RPS_COLUMN, RPS_COLUMN)};
 *      COLUMNS(RPS_PUT, RPS_PUT_BY)
 *
 * CELL takes the arguments of the kind's rps_put function, except the block, which is the variable
 * `block`. A cell that does not fit the kind does not compile. BY takes any call.
 */
#ifndef RPISTAT_COLUMNS_H
#define RPISTAT_COLUMNS_H

#include "rpistat/document.h"

#define RPS_COLUMN(value_kind, cell, ...) {__VA_ARGS__, .kind = RPS_VALUE_##value_kind},
#define RPS_PUT(value_kind, cell, ...)    RPS_PUT_##value_kind cell;
#define RPS_PUT_BY(value_kind, call, ...) call;

#define RPS_PUT_TEXT(text)              rps_put_text(block, text)
#define RPS_PUT_TAGS(tag, count)        rps_put_tags(block, tag, count)
#define RPS_PUT_BOOL(number, known)     rps_put_int(block, number, known)
#define RPS_PUT_TIME(number, known)     rps_put_int(block, number, known)
#define RPS_PUT_INT(number, known)      rps_put_int(block, (int64_t)(number), known)
#define RPS_PUT_BYTES(number, known)    rps_put_int(block, number, known)
#define RPS_PUT_DURATION(number, known) rps_put_int(block, number, known)
#define RPS_PUT_NUMBER(number)          rps_put_number(block, number)
#define RPS_PUT_SHARE(number)           rps_put_number(block, number)
#define RPS_PUT_FIGURE(number, sure)    rps_put_figure(block, number, sure)

#endif
