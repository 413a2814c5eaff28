/*
 * The terminal while something is shown on it again and again: its second screen, its keys, its
 * size; and the signals that end or interrupt this. Signals are taken from a descriptor, so that
 * nothing is cut short by them and the terminal is always given back as it was.
 */
#ifndef RPISTAT_CLI_SCREEN_H
#define RPISTAT_CLI_SCREEN_H

#include <signal.h>
#include <stdint.h>
#include <termios.h>

#include "rpistat/error.h"

struct rps_screen {
    int full;      /* 1: the second screen is used, and keys are read */
    int entered;   /* 1: it is on the terminal now */
    int keys;      /* 1: standard input is a terminal, and `mode` its mode before */
    int signal_fd; /* -1: none */
    sigset_t old_mask;
    struct termios mode;
};

enum rps_screen_event {
    RPS_SCREEN_TIME, /* the time is over */
    RPS_SCREEN_DRAW, /* size changed, or back from being stopped: draw now */
    RPS_SCREEN_QUIT, /* q, or a signal that ends a program */
};

/* Take the signals, and with full 1 the terminal of standard output. Close it in any case. */
int rps_screen_open(struct rps_screen *screen, int full, struct rps_error *err);

/* Wait for at most timeout_ns. Cannot fail. */
enum rps_screen_event rps_screen_wait(struct rps_screen *screen, int64_t timeout_ns);

/*
 * Show text, in one piece: on the screen in place of what was there before, without a moment in
 * which it is empty; elsewhere on standard output as it is. RPS_FAILED when that cannot be written.
 */
int rps_screen_show(const struct rps_screen *screen, const char *text, struct rps_error *err);

/*
 * Ask the terminal whether it shows sixels (its primary device attributes), and wait half a
 * second at most for the answer. 0 without asking, where another program may be reading or writing
 * there: when standard input and output are not one terminal, in the background, and when something
 * was typed already.
 */
int rps_screen_has_sixel(void);

/* Its size in pixels, without the line of a prompt; from its characters where it does not say. */
void rps_screen_pixels(int *ret_width, int *ret_height);

/* Give the terminal and the signals back. Harmless when closed or never opened (all zero). */
void rps_screen_close(struct rps_screen *screen);

/* Leave the second screen, if it is shown: for a program that ends early. */
void rps_screen_restore(void);

#endif
