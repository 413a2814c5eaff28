/* A spooler of prints with three worker processes: text, photos and mixed jobs are printed, it waits, and
 * cleans its directory, in irregular order. Fixed numbers of jobs. */
#include <sys/wait.h>

#include "program.h"

#define WIDE    600
#define WORKERS 3

static unsigned char page[WIDE * WIDE], out[WIDE * WIDE * 2];
static short error[2][WIDE + 2];
static int jobs[2], done[2];

WORK typeset(unsigned seed)
{
    for (int glyph = 0; glyph < 9000; glyph++) {
        int x = (int)((seed = seed * 1103515245 + 12345) >> 8) % (WIDE - 12), y = (int)((seed >> 4) % (WIDE - 16));
        unsigned shape = seed * 2654435761U;

        for (int r = 0; r < 16; r++)
            for (int c = 0; c < 8; c++)
                if (shape >> (r * 3 + c) % 32 & 1)
                    page[(y + r) * WIDE + x + c] = (unsigned char)(255 - c);
    }
}

WORK pack(void)
{
    int size = 0;

    for (int i = 0; i < WIDE * WIDE;) {
        int run = 1;

        while (i + run < WIDE * WIDE && run < 255 && page[i + run] == page[i])
            run++;
        out[size++] = (unsigned char)run;
        out[size++] = page[i];
        i += run;
    }
}

WORK draw_photo(unsigned seed)
{
    for (int y = 0; y < WIDE; y++)
        for (int x = 0; x < WIDE; x++)
            page[y * WIDE + x] = (unsigned char)(127 + 60 * sinf(x * .01f * (float)(seed % 7 + 1)) + 60 * cosf(y * .02f));
}

WORK halftone(void)
{
    memset(error, 0, sizeof(error));
    for (int y = 0; y < WIDE; y++) {
        short *here = error[y % 2], *below = error[(y + 1) % 2];

        memset(below, 0, sizeof(error[0]));
        for (int x = 0; x < WIDE; x++) {
            int value = page[y * WIDE + x] + here[x + 1] / 16, dot = value > 127 ? 255 : 0, left = value - dot;

            page[y * WIDE + x] = (unsigned char)dot;
            here[x + 2] = (short)(here[x + 2] + left * 7);
            below[x] = (short)(below[x] + left * 3);
            below[x + 1] = (short)(below[x + 1] + left * 5);
            below[x + 2] = (short)(below[x + 2] + left);
        }
    }
}

static void worker(void)
{
    unsigned job;

    while (read(jobs[0], &job, sizeof(job)) == sizeof(job)) {
        if (job % 2) {
            draw_photo(job);
            halftone();
        } else {
            memset(page, 255, sizeof(page));
            typeset(job);
            pack();
        }
        if (write(done[1], &job, sizeof(job)) < 0)
            exit(1);
    }
    exit(0);
}

/* Print jobs of which every so many is a photo; three are on their way. */
static void print(const char *label, int count, int texts, int photos)
{
    mark(label, NULL);
    for (int sent = 0, got = 0; got < count; got++) {
        for (; sent < count && sent - got < WORKERS; sent++) {
            unsigned job = (unsigned)sent * 2 + (sent % (texts + photos) >= texts);

            if (write(jobs[1], &job, sizeof(job)) < 0)
                exit(1);
        }
        unsigned job;
        if (read(done[0], &job, sizeof(job)) < 0)
            exit(1);
    }
}

static void idle(int beats)
{
    mark("idle", NULL);
    for (int i = 0; i < beats; i++) {
        usleep(40000);
        for (int j = 0; j < 5; j++)
            access("/etc/passwd", R_OK);
    }
}

static void clean(int files)
{
    mark("clean", NULL);
    for (int i = 0; i < files; i++) {
        char name[32];
        snprintf(name, sizeof(name), "job%d", i % 200);
        int file = open(name, O_WRONLY | O_CREAT, 0600);
        if (write(file, page, 6000) < 0)
            exit(1);
        close(file);
        rename(name, "old");
        unlink("old");
    }
}

int main(void)
{
    if (pipe(jobs) || pipe(done))
        return 1;
    for (int i = 0; i < WORKERS; i++)
        if (!fork()) {
            close(jobs[1]);
            worker();
        }
    idle(20);
    print("text", 400, 1, 0);
    print("photos", 150, 0, 1);
    idle(35);
    print("photos", 200, 0, 1);
    clean(30000);
    print("text", 300, 1, 0);
    idle(25);
    print("mixed", 250, 3, 1);
    clean(20000);
    print("photos", 120, 0, 1);
    print("text", 220, 1, 0);
    close(jobs[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
