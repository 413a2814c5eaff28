/* Code at known places: report() prints the file offset and line of each spot, from the kernel's
 * list of mappings. test_symbolize.c compiles this file with different options. */
#include <stdint.h>
#include <stdio.h>

void report(void);

#define TEXT_OF(line) #line
#define TEXT(line)    TEXT_OF(line)

/* Store the address and line of this place in `name`, without a symbol in the code. The address is
 * not the first of its function. */
#define SPOT(name)                                                                                 \
    __asm__ volatile("nop\n1: nop\n.pushsection .data.rel.local,\"aw\"\n.globl " #name "\n" #name  \
                     ": .dc.a 1b, " TEXT(__LINE__) "\n.popsection")

extern const uintptr_t spot_inner[2], spot_middle[2], spot_outer[2], spot_hidden[2], spot_bar[2],
    spot_rust[2], spot_legacy[2], spot_nested[2];
static volatile int sink = 1;

int bar(int x) __asm__("_ZN3foo3barEi");
int rust(int x) __asm__("_RNvC7mycrate3run");
int legacy(int x) __asm__("_ZN7mycrate4walk17h0123456789abcdefE");
int outer(int x);

static inline __attribute__((always_inline)) int inner(int x)
{
    SPOT(spot_inner);
    return x * sink;
}

static inline __attribute__((always_inline)) int middle(int x)
{
    SPOT(spot_middle);
    return inner(x) + sink;
}

enum { outer_line = __LINE__ + 1 };
__attribute__((noinline)) int outer(int x)
{
    SPOT(spot_outer);
    return middle(x) - sink;
}

static __attribute__((noinline)) int hidden(int x)
{
    SPOT(spot_hidden);
    return x + sink;
}

/* A nested function, as in local classes of C++. */
static __attribute__((noinline)) int around(int x)
{
    __attribute__((noinline)) int nested(int y)
    {
        SPOT(spot_nested);
        return y + sink;
    }

    return nested(x) * sink;
}

__attribute__((noinline)) int bar(int x)
{
    SPOT(spot_bar);
    return x - sink;
}

__attribute__((noinline)) int rust(int x)
{
    SPOT(spot_rust);
    return x ^ sink;
}

__attribute__((noinline)) int legacy(int x)
{
    SPOT(spot_legacy);
    return x | sink;
}

static void tell(const char *name, const uintptr_t *spot)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start, end, offset;
    char line[4096];

    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && spot[0] >= start &&
            spot[0] < end)
            printf("%s %#lx %lu\n", name, (unsigned long)spot[0] - start + offset,
                   (unsigned long)spot[1]);
    }
    if (maps)
        fclose(maps);
}

void report(void)
{
    sink = outer(hidden(bar(rust(legacy(around(sink))))));
    tell("inner", spot_inner);
    tell("middle", spot_middle);
    tell("outer", spot_outer);
    tell("hidden", spot_hidden);
    tell("bar", spot_bar);
    tell("rust", spot_rust);
    tell("legacy", spot_legacy);
    tell("nested", spot_nested);
    tell("entry", (const uintptr_t[]){(uintptr_t)outer, outer_line});
}
