/*
 * Error messages. Every message is formatted into a buffer of its own first, so that the old
 * message may be an argument of the new one.
 */
#include "rpistat/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Put text into err, cut to what fits, but never inside a UTF-8 character. */
static void store(struct rps_error *err, const char *text)
{
    size_t length = strlen(text);

    if (length >= sizeof(err->message)) {
        length = sizeof(err->message) - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    memcpy(err->message, text, length);
    err->message[length] = '\0';
}

int rps_error_set(struct rps_error *err, int code, const char *format, ...)
{
    /* room for one byte more than fits shows store() where the cut falls */
    char text[sizeof(err->message) + 1];
    va_list arguments;

    if (!err)
        return code;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    store(err, text);
    return code;
}

int rps_error_prefix(struct rps_error *err, int code, const char *format, ...)
{
    char text[2 * sizeof(err->message) + 2];
    va_list arguments;
    size_t length;

    if (!err)
        return code;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(err->message), format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    length = strlen(text);
    snprintf(text + length, sizeof(text) - length, ": %s", err->message);
    store(err, text);
    return code;
}

static const char no_memory[] = "out of memory: close other programs and try again";

int rps_error_memory(struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED, "%s", no_memory);
}

int rps_error_is_memory(const struct rps_error *err)
{
    size_t length = strlen(err->message);

    return length >= strlen(no_memory) &&
           strcmp(err->message + length - strlen(no_memory), no_memory) == 0;
}
