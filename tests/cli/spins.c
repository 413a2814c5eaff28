/* A program that another user chose: it computes in a library, whose name may lead elsewhere by then.
 * usage: spins LIBRARY [TARGET]: TARGET is what the name becomes a link to; without it computes in a
 * function of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) int own_spin(int count)
{
    for (int i = 0; i < count; i++)
        sum += (unsigned long)i;
    return (int)sum;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*spin)(int) = own_spin;

    if (argc > 1 && !library)
        return 1;
    if (library)
        *(void **)&spin = dlsym(library, "library_spin");
    if (argc > 2 && (unlink(argv[1]) < 0 || symlink(argv[2], argv[1]) < 0))
        return 1;
    spin(1000000);
    puts("ready");
    fflush(stdout);
    for (;;)
        spin(1000000);
}
