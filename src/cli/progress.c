/* What takes long tells so: the progress of commands. */
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "terminal_line.h"
#include "rpistat/clock.h"

struct rps_progress {
    struct rps_terminal_line *line;
    const char *what;
    int64_t start_ns;
};

static void compose(void *context, struct rps_status_text *line)
{
    const struct rps_progress *progress = context;
    int64_t taken_ns = rps_clock_monotonic_ns() - progress->start_ns;

    rps_status_text_add(line, "rpistat: %s, %.1f s", progress->what,
                        (double)taken_ns / RPS_NS_PER_S);
}

void rps_progress_begin(struct rps_cli *cli, const char *what)
{
    struct rps_error unheard;

    if (cli->quiet || cli->progress || !isatty(STDERR_FILENO))
        return;
    cli->progress = calloc(1, sizeof(*cli->progress));
    if (!cli->progress)
        return;
    cli->progress->what = what;
    cli->progress->start_ns = rps_clock_monotonic_ns();
    if (rps_terminal_line_start(&cli->progress->line, STDERR_FILENO, compose, cli->progress,
                                &unheard) < 0)
        rps_progress_end(cli);
}

void rps_progress_end(struct rps_cli *cli)
{
    if (!cli->progress)
        return;
    rps_terminal_line_stop(cli->progress->line);
    free(cli->progress);
    cli->progress = NULL;
}
