/* Intervals as people read them. */
#ifndef RPISTAT_INTERVAL_TEXT_H
#define RPISTAT_INTERVAL_TEXT_H

#include "rpistat/interval.h"

#define RPS_INTERVAL_TEXT_SIZE 96

/* 1: narrow enough, within a fifth of the value, for "± x" to say it; else its two ends do. */
int rps_interval_is_narrow(const struct rps_interval *interval);

/* The larger distance of an end from the value. */
double rps_interval_half(const struct rps_interval *interval);

/* "± 2.1 %" of the value. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_percent(char *ret, const struct rps_interval *interval);

/* Why there is no interval: "rare bursts", "none seen in 26 % of the time", ...; "" where there is
 * one, or none is needed. RPS_INTERVAL_TEXT_SIZE bytes; returns ret. */
char *rps_interval_words(char *ret, const struct rps_interval *interval);

/* The value with three significant digits: for the ends of a wide interval. */
double rps_interval_round(double value);

#endif
