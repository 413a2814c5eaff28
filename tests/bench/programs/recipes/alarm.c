/* A steady program that is interrupted three times, at irregular times, by something short. */
#include "program.h"

static unsigned log_line[1 << 12];

WORK serve(void)
{
    for (unsigned i = 0; i < 200000; i++)
        log_line[i * 2654435761U >> 20] ^= i << 3;
    usleep(600);
}

WORK flush(void)
{
    int file = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);

    for (int i = 0; i < 60; i++) {
        if (write(file, log_line, sizeof log_line) < 0)
            exit(1);
    }
    if (lseek(file, 0, SEEK_END) > 1 << 25 && ftruncate(file, 0))
        exit(1);
    close(file);
}

int main(void)
{
    static const double quiet_s[] = {17, 9, 14, 12};

    for (int i = 0; i < 4; i++) {
        mark("serve", NULL);
        during(quiet_s[i], serve);
        if (i < 3) {
            mark("flush", NULL);
            during(1.4, flush);
        }
    }
    return 0;
}
