/* A heap that is filled and collected seven times, and grows by a sixth each time. */
#include "program.h"

#define OBJECTS 60000

static struct object {
    struct object *next;
    char text[1000];
} * head;
static int count, limit = OBJECTS;

WORK allocate(void)
{
    for (int i = 0; i < 300 && count < limit; i++, count++) {
        struct object *made = malloc(sizeof *made);

        memset(made->text, i, sizeof made->text);
        made->next = head;
        head = made;
    }
    usleep(4000);
}

WORK mark_live(void)
{
    static struct object *at;

    if (!at)
        at = head;
    for (int i = 0; i < 3000 && at; i++, at = at->next)
        at->text[0] ^= 1;
}

WORK sweep(void)
{
    for (int i = 0; i < 300 && head; i++, count--) {
        struct object *next = head->next;

        free(head);
        head = next;
    }
    usleep(500);
}

int main(void)
{
    mark("start", NULL);
    during(3, mark_live);
    for (int i = 0; i < 7; i++, limit += OBJECTS / 6) {
        mark("work", "allocate");
        during(4, allocate);
        mark("work", "mark");
        during(1.8, mark_live);
        mark("work", "sweep");
        during(1.2, sweep);
    }
    return 0;
}
