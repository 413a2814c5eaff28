/* Intervals as people read them. */
#ifndef RPISTAT_INTERVAL_TEXT_H
#define RPISTAT_INTERVAL_TEXT_H

#include "rpistat/interval.h"

#define RPS_INTERVAL_TEXT_SIZE 96

/* 1: narrow enough, within a fifth of the value, for "± x" to say it; else its two ends do. */
int rps_interval_is_narrow(const struct rps_interval *interval);

/* The end of an interval as it is to be printed with so many significant digits, but no more than
 * `decimals` behind the point: rounded outwards, so that what is printed holds what was computed. */
double rps_interval_round(double end, int digits, int decimals, int is_high);

/* The end as programs read it, with nine digits; NaN where there is none. */
double rps_interval_end(const struct rps_interval *interval, int is_high);

/* The larger distance of an end from the value. */
double rps_interval_half(const struct rps_interval *interval);

/* "± 2.1 %" of the value. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_percent(char *ret, const struct rps_interval *interval);

/* "12 %", and of nearly all of it "99.95 %", never 100. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_share(char *ret, double share);

/* What stands in the place of an interval: "rare bursts", "none seen in 26 % of the time", "its start
 * was not counted", ...; "" where there is one, or none is needed. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_words(char *ret, const struct rps_interval *interval);

#endif
