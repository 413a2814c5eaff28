/* A file that is copied in small, large and medium blocks, with and without a checksum, and looked at. */
#include <sys/stat.h>

#include "program.h"

#define FILE_SIZE (1 << 20)

static char block[FILE_SIZE];
static int from, to;
static size_t size;
static unsigned sum;

WORK copy(void)
{
    for (off_t at = 0; at < 1 << 19; at += (off_t)size) {
        if (pread(from, block, size, at) < 0 || pwrite(to, block, size, at) < 0)
            exit(1);
        if (size <= 512 && at > 1 << 17)
            break;
    }
}

WORK copy_checked(void)
{
    copy();
    for (int i = 0; i < FILE_SIZE / 2; i++)
        sum = (sum ^ (unsigned char)block[i]) * 16777619;
}

WORK look(void)
{
    struct stat about;

    for (int i = 0; i < 800; i++)
        sum += (unsigned)stat(i % 3 ? "from" : "none", &about);
}

static void phase(const char *label, double length_s, size_t with, void (*work)(void))
{
    mark(label, NULL);
    size = with;
    during(length_s, work);
}

int main(void)
{
    from = open("from", O_RDWR | O_CREAT, 0600);
    to = open("to", O_RDWR | O_CREAT, 0600);
    if (write(from, block, sizeof block) < 0)
        return 1;
    phase("small", 7, 256, copy);
    phase("large", 8, 1 << 18, copy);
    phase("checked", 7, 1 << 18, copy_checked);
    phase("look", 6, 0, look);
    phase("medium", 7, 8192, copy);
    phase("small", 6, 256, copy);
    phase("look", 6, 0, look);
    return 0;
}
