/*
 * SAFETY: gnuplot is started without a shell and without the user's start-up file. It writes to its
 * standard output, which is a file of ours. So no file name becomes part of a script, where `|`
 * would begin a command.
 */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(int folder_fd, const char *script, const char *argument, int out_fd,
                 pid_t *ret_pid)
{
    char script_copy[32], argument_copy[16];
    char *argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, (char[]){"-c"},
                    script_copy,         argument_copy,  NULL};
    posix_spawn_file_actions_t actions;
    int error;

    snprintf(script_copy, sizeof(script_copy), "%s", script);
    snprintf(argument_copy, sizeof(argument_copy), "%s", argument);
    error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    if ((error = posix_spawn_file_actions_addfchdir_np(&actions, folder_fd)) == 0 &&
        (error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)) == 0 &&
        (error = posix_spawn_file_actions_adddup2(&actions, out_fd, 1)) == 0 &&
        (error = posix_spawn_file_actions_addopen(
             &actions, 2, RPS_GNUPLOT_LOG, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666)) == 0)
        error = posix_spawnp(ret_pid, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

void rps_gnuplot_said(int folder_fd, char ret[RPS_GNUPLOT_SAID_SIZE])
{
    int fd = openat(folder_fd, RPS_GNUPLOT_LOG, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char line[512];

    snprintf(ret, RPS_GNUPLOT_SAID_SIZE, "it gave no reason");
    while (file && fgets(line, sizeof(line), file)) {
        char *text = line + strspn(line, " \t^\n");

        text[strcspn(text, "\n")] = '\0';
        /* gnuplot quotes the line of the script, points at it, and then describes the error. */
        if (text[0] && (strstr(text, "line ") || strstr(text, "rror")))
            snprintf(ret, RPS_GNUPLOT_SAID_SIZE, "%s", text);
    }
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
}

/* Wait until the process has ended; kill it when stop_fd becomes readable. */
static void watch(pid_t pid, int stop_fd)
{
    struct pollfd fd[2] = {
        {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN},
        {.fd = stop_fd, .events = POLLIN},
    };

    if (fd[0].fd < 0)
        return;
    while (poll(fd, 2, -1) < 0 && errno == EINTR)
        ;
    if (fd[1].revents)
        kill(pid, SIGKILL);
    close(fd[0].fd);
}

int rps_gnuplot_run(int folder_fd, const char *script, const char *argument, int out_fd,
                    int stop_fd, struct rps_error *err)
{
    char said[RPS_GNUPLOT_SAID_SIZE];
    pid_t pid;
    int status, error = spawn(folder_fd, script, argument, out_fd, &pid);

    if (error == ENOENT)
        return rps_error_set(err, RPS_FAILED,
                             "gnuplot was not found: install it (on Debian: apt-get install "
                             "gnuplot-nox), or use `rpistat export` and another program");
    if (error)
        return rps_error_set(err, RPS_FAILED, "gnuplot could not be started: %s", strerror(error));
    if (stop_fd > 0)
        watch(pid, stop_fd);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return rps_error_set(err, RPS_FAILED, "gnuplot could not be waited for: %s",
                                 strerror(errno));
    }
    if (WIFSIGNALED(status))
        return rps_error_set(err, RPS_FAILED, "gnuplot was ended by signal %d; nothing was drawn",
                             WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) {
        rps_gnuplot_said(folder_fd, said);
        return rps_error_set(err, RPS_FAILED, "gnuplot could not draw: %s", said);
    }
    return 0;
}
