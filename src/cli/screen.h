/*
 * The terminal while something is shown on it repeatedly: its second screen, its keys, its size;
 * and the signals that end or interrupt this. Signals are read from a descriptor, so that they
 * interrupt nothing and the terminal is always restored.
 */
#ifndef RPISTAT_CLI_SCREEN_H
#define RPISTAT_CLI_SCREEN_H

#include <signal.h>
#include <stdint.h>
#include <termios.h>

#include "rpistat/error.h"

struct rps_screen {
    int full;      /* 1: the second screen is used, and keys are read */
    int entered;   /* 1: it is shown now */
    int keys;      /* 1: standard input is a terminal, and `mode` its mode before */
    int signal_fd; /* -1: none */
    sigset_t old_mask;
    struct termios mode;
};

enum rps_screen_event {
    RPS_SCREEN_TIME, /* the time is up */
    RPS_SCREEN_DRAW, /* size changed, or continued after a stop: draw now */
    RPS_SCREEN_QUIT, /* q, or a signal that ends a program */
};

/* Read the signals; with full 1 take over standard output's terminal. Close it in any case. */
int rps_screen_open(struct rps_screen *screen, int full, struct rps_error *err);

/* Wait for at most timeout_ns. Cannot fail. */
enum rps_screen_event rps_screen_wait(struct rps_screen *screen, int64_t timeout_ns);

/*
 * Show text in one piece: on the screen it replaces the earlier text without flicker; otherwise it
 * goes to standard output unchanged. RPS_FAILED if it cannot be written.
 */
int rps_screen_show(const struct rps_screen *screen, const char *text, struct rps_error *err);

/*
 * Query whether the terminal shows sixels (its primary device attributes), and wait at most half a
 * second for the answer. 0 without a query if another program may read or write there. That is so
 * if input and output are not one terminal, in the background, and if input is pending.
 */
int rps_screen_has_sixel(void);

/* Return its size in pixels without a prompt's line, estimated from characters if unknown. */
void rps_screen_pixels(int *ret_width, int *ret_height);

/* Restore the terminal and the signals. Harmless if closed or never opened (all zero). */
void rps_screen_close(struct rps_screen *screen);

/* Leave the second screen, if it is shown: for a program that ends early. */
void rps_screen_restore(void);

#endif
