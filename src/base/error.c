/* Error messages, formatted in a separate buffer, because the old message may be an argument. */
#include "rpistat/error.h"
#include "rpistat/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TAIL_BYTES 384
#define ELLIPSIS   "\xe2\x80\xa6"

/* Copy text into err. Text that is too long is cut in the middle, where it usually quotes the user.
 * Its end is not cut, because the remedy is there. A UTF-8 character is never cut. */
static void store(struct rps_error *err, const char *text)
{
    size_t length = strlen(text);
    size_t head = rps_text_cut(text, sizeof(err->message) - 1 - TAIL_BYTES - strlen(ELLIPSIS));
    const char *tail = text + length - TAIL_BYTES;

    if (length < sizeof(err->message)) {
        memcpy(err->message, text, length + 1);
        return;
    }
    while (rps_text_is_inside(*tail))
        tail++;
    snprintf(err->message, sizeof(err->message), "%.*s" ELLIPSIS "%s", (int)head, text, tail);
}

void rps_error_write(struct rps_error *err, const char *format, ...)
{
    char text[sizeof(err->message) + 1], *whole = NULL;
    va_list arguments;
    int length;

    if (!err)
        return;
    va_start(arguments, format);
    length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length < 0)
        text[0] = '\0';
    if (length >= (int)sizeof(text)) {
        va_start(arguments, format);
        if (vasprintf(&whole, format, arguments) < 0)
            whole = NULL; /* if memory runs out, `text` holds the beginning of the message */
        va_end(arguments);
    }
    store(err, whole ? whole : text);
    free(whole);
}

void rps_error_write_before(struct rps_error *err, const char *format, ...)
{
    char text[2 * sizeof(err->message) + 2];
    va_list arguments;
    size_t length;

    if (!err)
        return;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(err->message), format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    length = strlen(text);
    snprintf(text + length, sizeof(text) - length, ": %s", err->message);
    store(err, text);
}

/* Messages about a failed allocation, without and with a memory limit. If there is a limit, the
 * message does not name other programs as the cause. */
static const char *const no_memory[] = {
    "out of memory: close other programs and try again",
    "out of memory: raise the limit of this shell (ulimit -v, ulimit -d) and try again",
};

void rps_error_write_memory(struct rps_error *err)
{
    rps_error_write(err, "%s", no_memory[rps_memory_limit() != SIZE_MAX]);
}

int rps_error_is_memory(const struct rps_error *err)
{
    size_t length = strlen(err->message);

    for (int i = 0; i < 2; i++) {
        size_t end = strlen(no_memory[i]);

        if (length >= end && strcmp(err->message + length - end, no_memory[i]) == 0)
            return 1;
    }
    return 0;
}

size_t rps_memory_limit(void)
{
    const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    size_t least = SIZE_MAX;

    for (int i = 0; i < 2; i++) {
        struct rlimit limit;

        if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur < least)
            least = (size_t)limit.rlim_cur;
    }
    return least;
}
