/* A program chosen by another user. The program computes in a library whose name may later point to
 * another file. Usage: spins LIBRARY [TARGET]. LIBRARY becomes a link to TARGET; without TARGET the
 * program computes in its own function. */
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
