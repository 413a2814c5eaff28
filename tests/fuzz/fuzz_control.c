/* Fuzz the commands of --control, received through its named pipe in pieces of any size. */
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include "cli/record.h"

static void take_mark(void *context, const char *text)
{
    (void)context;
    fuzz_expect(text[0] != '\0', "an empty mark");
}

/* Read and discard the answers, so that the pipe has room for further ones. */
static void drain(int fd)
{
    char text[4096];

    while (read(fd, text, sizeof(text)) > 0)
        continue;
}

static void feed(const struct rps_watch *watch, int command, int answer, struct fuzz_bytes *bytes)
{
    while (bytes->left > 1) {
        size_t piece = (size_t)fuzz_take(bytes, 1) * 8 + 1;
        enum rps_wake wake;

        piece = piece < bytes->left ? piece : bytes->left;
        if (write(command, bytes->at, piece) != (ssize_t)piece)
            return;
        bytes->at += piece;
        bytes->left -= piece;
        while (watch->on_ready(watch->context, &wake) > 0)
            watch->on_done(watch->context);
        drain(answer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct rps_control *control = NULL;
    struct rps_watch watch;
    struct rps_error err;
    char choice[700];
    int command, answer;

    snprintf(choice, sizeof(choice), "fifo:%s", fuzz_path("pipe"));
    fuzz_expect(rps_control_open(&control, choice, take_mark, NULL, &err) == 0, err.message);
    command = open(fuzz_path("pipe"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    answer = open(fuzz_path("pipe.ack"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    fuzz_expect(command >= 0 && answer >= 0, "the pipes cannot be opened");
    watch = rps_control_watch(control);
    feed(&watch, command, answer, &bytes);
    close(command);
    close(answer);
    rps_control_close(control);
    return 0;
}
