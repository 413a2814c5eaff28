/* Serving the page of a run until the user has had enough. */
#include "watch_http.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/live_page.h"
#include "rpistat/signals.h"

static void print_url(void *context, const char *url)
{
    (void)context;
    printf("%s\n", url);
    fflush(stdout);
}

/* A signal that ends the server has done so, and does not end the program. */
static int wait_for_end_signal(void *context, int fd, int64_t ns)
{
    const int *signal_fd = context;
    struct signalfd_siginfo info;
    struct pollfd wait[2] = {{.fd = *signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    const struct timespec left = {(time_t)(ns / RPS_NS_PER_S), (long)(ns % RPS_NS_PER_S)};

    return ppoll(wait, 2, &left, NULL) > 0 && wait[0].revents != 0 &&
           read(*signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

int rps_watch_http(struct rps_cli *cli, int64_t run_id, int port)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    int signal_fd = -1, result;
    const struct rps_live_page_options options = {
        .store_path = cli->input,
        .run_id = run_id,
        .script_folder = rps_output_scripts(),
        .port = port,
        .ready = print_url,
        .wait = wait_for_end_signal,
        .context = &signal_fd,
    };
    sigset_t before;

    result = rps_signals_take(ending, sizeof(ending) / sizeof(ending[0]), &signal_fd, &before,
                              &cli->err);
    if (result < 0)
        return result;
    result = rps_live_page_serve(&options, &cli->err);
    close(signal_fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}
