/* The terminal as a screen.
 *
 * The screen uses only escape sequences that every terminal since the VT100 and xterm supports: two
 * private modes, home and clear. Other files make the drawing, so four sequences are enough and a
 * library such as curses is not needed. */
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/process.h"

#define ANSWER_NS   (500 * RPS_NS_PER_MS) /* maximum wait for a terminal's answer */
#define ANSWER_SIZE 128
#define CELL_WIDTH  9 /* width of a character in pixels if the terminal does not report it */
#define CELL_HEIGHT 18

static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};

static struct rps_screen *on_terminal; /* screen that is entered; NULL: none */

/* Enter the second screen. The terminal's mode is set first, because setting the mode stops a
 * background process before the screen changes. */
static void enter_screen(struct rps_screen *screen)
{
    struct termios mode;

    if (!screen->full || screen->entered)
        return;
    screen->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->mode) == 0;
    if (screen->keys) {
        mode = screen->mode;
        mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        mode.c_cc[VMIN] = 1;
        mode.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
    }
    fputs("\033[?1049h\033[?25l\033[2J", stdout);
    fflush(stdout);
    screen->entered = 1;
    on_terminal = screen;
}

static void leave(struct rps_screen *screen)
{
    if (!screen->entered)
        return;
    fputs("\033[0m\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (screen->keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->mode);
    screen->entered = 0;
    on_terminal = NULL;
}

void rps_screen_restore(void)
{
    if (on_terminal)
        leave(on_terminal);
}

int rps_screen_open(struct rps_screen *screen, int full, struct rps_error *err)
{
    *screen = (struct rps_screen){.full = full, .signal_fd = -1};
    if (rps_signals_take(taken, RPS_COUNT(taken), &screen->signal_fd, &screen->old_mask, err) < 0)
        return RPS_FAILED;
    enter_screen(screen);
    return 0;
}

static enum rps_screen_event on_signals(struct rps_screen *screen)
{
    enum rps_screen_event event = RPS_SCREEN_TIME;
    struct signalfd_siginfo info;

    while (read(screen->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGTSTP) { /* Ctrl-Z: stop until SIGCONT */
            leave(screen);
            raise(SIGSTOP);
            enter_screen(screen);
        } else if (info.ssi_signo != SIGWINCH) {
            return RPS_SCREEN_QUIT;
        }
        event = RPS_SCREEN_DRAW;
    }
    return event;
}

/* Read the keys. The user quits with q or by closing the terminal; other keys have no effect. */
static enum rps_screen_event on_keys(void)
{
    char key[64];
    ssize_t got = read(STDIN_FILENO, key, sizeof(key));

    if (got < 0 && errno == EINTR)
        return RPS_SCREEN_TIME;
    if (got <= 0 || memchr(key, 'q', (size_t)got) || memchr(key, 'Q', (size_t)got))
        return RPS_SCREEN_QUIT;
    return RPS_SCREEN_TIME;
}

enum rps_screen_event rps_screen_wait(struct rps_screen *screen, int64_t timeout_ns)
{
    int64_t until_ns = rps_clock_monotonic_ns() + timeout_ns;
    enum rps_screen_event event = RPS_SCREEN_TIME;

    while (event == RPS_SCREEN_TIME) {
        struct pollfd wait[2] = {{.fd = screen->signal_fd, .events = POLLIN},
                                 {.fd = screen->keys ? STDIN_FILENO : -1, .events = POLLIN}};
        int64_t left_ns = until_ns - rps_clock_monotonic_ns();
        struct timespec left;

        left_ns = left_ns > 0 ? left_ns : 0;
        left.tv_sec = (time_t)(left_ns / RPS_NS_PER_S);
        left.tv_nsec = (long)(left_ns % RPS_NS_PER_S);
        if (ppoll(wait, 2, &left, NULL) == 0)
            return RPS_SCREEN_TIME;
        if (wait[0].revents)
            event = on_signals(screen);
        if (event == RPS_SCREEN_TIME && wait[1].revents)
            event = on_keys();
    }
    return event;
}

/* --- showing ---------------------------------------------------------------------------------- */

static int write_all(const char *text, size_t size, struct rps_error *err)
{
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, text, size);

        if (written < 0 && errno != EINTR)
            return rps_error_set(err, RPS_FAILED, "cannot write to standard output: %s",
                                 strerror(errno));
        text += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

int rps_screen_show(const struct rps_screen *screen, const char *text, struct rps_error *err)
{
    char *frame = NULL;
    size_t size = 0;
    FILE *file;
    int result;

    if (!screen->entered)
        return write_all(text, strlen(text), err);
    file = open_memstream(&frame, &size);
    if (!file)
        return rps_error_memory(err);
    fputs("\033[H", file);
    for (; *text; text++)
        fputs(*text == '\n' ? "\033[K\n" : (char[]){*text, '\0'}, file);
    fputs(screen->keys ? "\033[Jq: quit" : "\033[J", file);
    result = fclose(file) == 0 ? write_all(frame, size, err) : rps_error_memory(err);
    free(frame);
    return result;
}

/* --- queries ---------------------------------------------------------------------------------- */

/* Return 1 if rpistat may query the terminal and read the answer. */
static int is_ours(void)
{
    const char *term = getenv("TERM");
    struct stat in, out;

    return term && strcmp(term, "dumb") != 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
           fstat(STDIN_FILENO, &in) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
           in.st_rdev == out.st_rdev && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Read the terminal's answer up to its last letter. If no answer arrives, the text is empty. */
static void read_answer(char answer[ANSWER_SIZE])
{
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t until_ns = rps_clock_monotonic_ns() + ANSWER_NS;
    size_t used = 0;

    answer[0] = '\0';
    while (used + 1 < ANSWER_SIZE) {
        int64_t left_ns = until_ns - rps_clock_monotonic_ns();

        if (left_ns <= 0 || poll(&keys, 1, (int)(left_ns / RPS_NS_PER_MS) + 1) <= 0 ||
            read(STDIN_FILENO, &answer[used], 1) != 1)
            break;
        if (answer[used++] == 'c')
            break;
    }
    answer[used] = '\0';
}

/* Return 1 if the answer lists attribute 4 (sixels), as "ESC [ ? 62 ; 4 ; 22 c" does. */
static int tells_sixel(const char *answer)
{
    const char *at = strstr(answer, "\033[?");

    while (at && (at = strchr(at, ';')) != NULL) {
        at++;
        if (at[0] == '4' && (at[1] == ';' || at[1] == 'c'))
            return 1;
    }
    return 0;
}

int rps_screen_has_sixel(void)
{
    struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
    char answer[ANSWER_SIZE] = "";
    struct termios mode, before;
    sigset_t all, mask;

    if (!is_ours() || tcgetattr(STDIN_FILENO, &before) < 0)
        return 0;
    sigfillset(&all); /* delay all signals until the terminal is restored */
    sigprocmask(SIG_BLOCK, &all, &mask);
    mode = before;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &mode) == 0) {
        if (poll(&keys, 1, 0) == 0 && write(STDOUT_FILENO, "\033[c", 3) == 3)
            read_answer(answer);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return tells_sixel(answer);
}

void rps_screen_pixels(int *ret_width, int *ret_height)
{
    struct winsize size = {0};
    int columns, lines;

    rps_output_terminal(&columns, &lines);
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_width = size.ws_xpixel > 0 ? size.ws_xpixel : columns * CELL_WIDTH;
    *ret_height = (size.ws_ypixel > 0 ? size.ws_ypixel : lines * CELL_HEIGHT) * (lines - 1) / lines;
}

void rps_screen_close(struct rps_screen *screen)
{
    leave(screen);
    if (screen->signal_fd > 0) {
        close(screen->signal_fd);
        sigprocmask(SIG_SETMASK, &screen->old_mask, NULL);
    }
    screen->signal_fd = -1;
}
