/* Intervals as users read them. */
#ifndef RPISTAT_INTERVAL_TEXT_H
#define RPISTAT_INTERVAL_TEXT_H

#include "rpistat/interval.h"

#define RPS_INTERVAL_TEXT_SIZE 96

/* Return 1 if it is within a fifth of the value: print "± x"; otherwise print its two ends. */
int rps_interval_is_narrow(const struct rps_interval *interval);

/* Return the end of an interval to print, with so many significant digits, and at most `decimals`
 * decimals. It is rounded outwards, so that the printed interval holds the computed one. */
double rps_interval_round(double end, int digits, int decimals, int is_high);

/* Return the end as programs read it, with nine digits; NaN if there is none. */
double rps_interval_end(const struct rps_interval *interval, int is_high);

/* Return the larger distance of an end from the value. */
double rps_interval_half(const struct rps_interval *interval);

/* Format "± 2.1 %" of the value. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_percent(char *ret, const struct rps_interval *interval);

/* Format "12 %", or near all "99.95 %", never 100. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_share(char *ret, double share);

/* Format the reason for a missing interval: "rare bursts", "none seen in 26 % of the time", ...; ""
 * if none is missing. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_words(char *ret, const struct rps_interval *interval);

#endif
