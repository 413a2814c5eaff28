/* The terminal while something is shown on it repeatedly: its second screen, its keys, its size,
 * and the signals that end or interrupt the output. Signals are read from a descriptor, so that
 * signals interrupt no operation and the terminal is always restored. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <termios.h>

#include "rpistat/error.h"

struct rps_screen {
    int full;      /* 1: the second screen is used, and keys are read */
    int entered;   /* 1: the second screen is shown now */
    int keys;      /* 1: standard input is a terminal, and `mode` is its previous mode */
    int signal_fd; /* descriptor for signals; -1: none */
    sigset_t old_mask;
    struct termios mode;
};

enum rps_screen_event {
    RPS_SCREEN_TIME, /* timeout_ns has passed */
    RPS_SCREEN_DRAW, /* draw now: the size changed, or the process continued after a stop */
    RPS_SCREEN_QUIT, /* the user typed q, or a signal requests that the program ends */
};

/* Start to read the signals. If `full` is 1, also take over the terminal of standard output. Call
 * rps_screen_close in any case, even after an error. */
int rps_screen_open(struct rps_screen *screen, int full, struct rps_error *err);

/* Wait for at most timeout_ns. The function cannot fail. */
enum rps_screen_event rps_screen_wait(struct rps_screen *screen, int64_t timeout_ns);

/* Show text in one piece. On the second screen, the text replaces the earlier text without flicker;
 * otherwise it goes to standard output unchanged. RPS_FAILED if the text cannot be written. */
int rps_screen_show(const struct rps_screen *screen, const char *text, struct rps_error *err);

/* Query whether the terminal shows sixels (its primary device attributes), and wait at most half a
 * second for the answer. If another program may use the terminal, return 0 without a query. Another
 * program may use the terminal if input and output are not the same terminal, rpistat is in the
 * background, or input is pending. */
int rps_screen_has_sixel(void);

/* Return the size of the screen in pixels, without the line of the prompt. If the size in pixels is
 * unknown, it is estimated from the number of characters. */
void rps_screen_pixels(int *ret_width, int *ret_height);

/* Restore terminal and signals. Harmless if the screen is closed or was never opened (all zero). */
void rps_screen_close(struct rps_screen *screen);

/* Leave the second screen, if it is shown. A program that ends early calls this function. */
void rps_screen_restore(void);
