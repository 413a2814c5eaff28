/* A library with inlined functions, a block, a static function and a call through its table. */
extern int elsewhere(int);
int first(int x);
int second(int x) __asm__("_ZN3foo6secondEi");

static inline __attribute__((always_inline)) int inner(int x)
{
    return elsewhere(x) * 3;
}

static __attribute__((noinline)) int hidden(int x)
{
    for (int i = 0; i < x; i++) {
        int y = inner(i);

        x ^= y;
    }
    return x;
}

int first(int x)
{
    return hidden(x) + inner(x);
}

int second(int x)
{
    return first(x) - hidden(x);
}
