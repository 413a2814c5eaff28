/* A program that hardly computes: it sleeps, exchanges messages, waits for the disk, and is woken in bursts. */
#include <poll.h>

#include "program.h"

static int there[2], back[2], disk;

WORK sleep_short(void)
{
    usleep(2000);
}

WORK exchange(void)
{
    char byte = 0;

    if (write(there[1], &byte, 1) < 0 || read(back[0], &byte, 1) < 0)
        exit(1);
    usleep(500);
}

WORK write_through(void)
{
    static char block[16384];

    if (pwrite(disk, block, sizeof block, (off_t)(rand() % 64) * 16384) < 0 || fdatasync(disk))
        exit(1);
    usleep(1000);
}

WORK poll_in_bursts(void)
{
    struct pollfd nothing = {.fd = back[0], .events = POLLIN};

    usleep(60000);
    for (int i = 0; i < 20; i++)
        poll(&nothing, 1, 1);
}

int main(void)
{
    if (pipe(there) || pipe(back) || (disk = open("disk", O_RDWR | O_CREAT, 0600)) < 0)
        return 1;
    if (fork() == 0) { /* answers until the other end is closed */
        char byte;

        close(there[1]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
            ;
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        mark("sleep", NULL);
        during(7, sleep_short);
        mark("exchange", NULL);
        during(8, exchange);
        mark("bursts", NULL);
        during(6, poll_in_bursts);
        mark("disk", NULL);
        during(6, write_through);
    }
    return 0;
}
