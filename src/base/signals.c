/* See rpistat/signals.h. */
#include "rpistat/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>

void rps_signals_begin(struct rps_signals_before *ret)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    struct sigaction before = normal;
    sigset_t blocked;

    sigaction(SIGCHLD, &normal, &before);
    ret->ignores_children = before.sa_handler == SIG_IGN;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ); /* children would inherit an ignored signal */
    sigprocmask(SIG_BLOCK, &blocked, &ret->mask);
}

void rps_signals_restore(const struct rps_signals_before *before)
{
    if (before->ignores_children)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

int rps_signals_take(const int *number, size_t count, int *ret_fd, sigset_t *ret_before,
                     struct rps_error *err)
{
    sigset_t mask, before;
    int fd;

    sigemptyset(&mask);
    for (size_t i = 0; i < count; i++) {
        struct sigaction action;

        if (sigaction(number[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&mask, number[i]);
    }
    sigprocmask(SIG_BLOCK, &mask, &before);
    fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        rps_error_set(err, RPS_FAILED, "cannot watch for signals: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &before, NULL);
        return RPS_FAILED;
    }
    *ret_fd = fd;
    if (ret_before)
        *ret_before = before;
    return 0;
}
