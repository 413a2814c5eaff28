/* A browser of one thread: two pages are loaded, and used in short iterations of script, layout and paint. */
#include "program.h"

#define NODES 40000
#define SIDE  700

static struct node {
    int parent, next, child;
    int x, y, width, height, style;
    char tag[8];
} node[NODES];
static int nodes;
static unsigned pixel[SIDE * SIDE];
static char html[1 << 20];
static unsigned heap[1 << 16];
static volatile unsigned sink;

/* Make a page, and parse it to a tree. */
WORK parse(void)
{
    size_t length = 0;
    int stack[64], depth = 0;

    while (length < sizeof(html) - 64) {
        int tag = rand() % 90;
        if (tag < 45)
            length += (size_t)sprintf(html + length, "<t%d a=%d>words %d", tag, rand() % 999, tag);
        else
            length += (size_t)sprintf(html + length, "</t%d>", tag - 45);
    }
    nodes = 1;
    stack[0] = 0;
    for (char *at = html; at && nodes < NODES && (at = strchr(at, '<')); at++) {
        if (at[1] == '/') {
            depth -= depth > 0;
            continue;
        }
        struct node *new = &node[nodes];
        *new = (struct node){.parent = stack[depth], .next = node[stack[depth]].child};
        snprintf(new->tag, sizeof(new->tag), "%.3s", at + 1);
        if ((at = strchr(at, '=')))
            new->style = (int)strtol(at + 1, &at, 10);
        if (!at)
            break;
        node[new->parent].child = nodes;
        if (depth < 30)
            stack[++depth] = nodes;
        nodes++;
    }
}

/* Sizes from the leaves to the root, and places from the root to the leaves. */
WORK layout(void)
{
    for (int i = nodes - 1; i > 0; i--) {
        node[i].width = 8 + node[i].style % 200;
        node[i].height = 12;
        for (int one = node[i].child; one; one = node[one].next) {
            node[i].height += node[one].height;
            if (node[one].width > node[i].width)
                node[i].width = node[one].width + 4;
        }
    }
    for (int i = 1; i < nodes; i++) {
        node[i].x = node[node[i].parent].x + 2;
        node[i].y = node[node[i].parent].y + i % 17 * 12;
    }
}

/* An interpreter of bytecode. */
WORK script(void)
{
    static const unsigned char code[] = {0, 1, 2, 3, 1, 4, 2, 0, 5, 3};
    unsigned a = 1, b = (unsigned)nodes;

    for (unsigned step = 0; step < 500000; step++) {
        switch (code[(step + (b & 1)) % sizeof(code)]) {
        case 0:
            a += b;
            break;
        case 1:
            b = b * 31 + 7;
            break;
        case 2:
            heap[b >> 16] = a;
            break;
        case 3:
            a ^= heap[a >> 16];
            break;
        case 4:
            a = a / (1 + (b & 15));
            break;
        default:
            if (a & 4)
                b++;
        }
    }
    sink = a;
}

/* Boxes blended over each other. */
WORK paint(void)
{
    for (int i = 1; i < 300; i++) {
        int x = abs(node[i * 97 % nodes].x * 7) % (SIDE - 80),
            y = abs(node[i * 97 % nodes].y) % (SIDE - 60);
        for (int row = y; row < y + 60; row++)
            for (int column = x; column < x + 80; column++) {
                unsigned old = pixel[row * SIDE + column], colour = (unsigned)i * 2654435761U;
                pixel[row * SIDE + column] = ((old & 0xfefefe) >> 1) + ((colour & 0xfefefe) >> 1);
            }
    }
}

static void turn(const char *coarse, const char *fine, void (*work)(void), int times)
{
    mark(coarse, fine);
    while (times--)
        work();
}

int main(void)
{
    /* s: script, l: layout, p: paint; a space is a pause of the user */
    static const char *const use[] = {"slp sp lp sp slp p", "sp sp slp sl lp sp slp"};

    for (int page = 0; page < 2; page++) {
        turn("load", "parse", parse, 25 + 10 * page);
        turn("load", "layout", layout, 440);
        turn("load", "paint", paint, 1000);
        for (const char *at = use[page]; *at; at++)
            if (*at == 's')
                turn("use", "script", script, 190 + rand() % 50);
            else if (*at == 'l')
                turn("use", "layout", layout, 350 + rand() % 120);
            else if (*at == 'p')
                turn("use", "paint", paint, 950 + rand() % 250);
            else
                rest(.02);
    }
    return 0;
}
