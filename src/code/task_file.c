/* The source file of a process. SAFETY: the command line may have secrets; the rest is not kept. */
#include "rpistat/code.h"

#include <stdio.h>
#include <string.h>

#include "rpistat/proc.h"
#include "rpistat/text.h"

/* Return 1 if an argument names a source file. With one of the characters below, it may be a URL, a
 * host or a command line (of sh -c), with a password. */
static int is_source(const char *argument)
{
    static const char suffixes[] = " adb ads asm awk c c++ cc clj cpp cs cu cxx d el erl ex f f03 "
                                   "f08 f77 f90 f95 for go groovy"
                                   " hs java jl js kt l lisp lua m ml mm mjs nim pas php pl proto "
                                   "py r rb rs S scala scm sh sql"
                                   " sv swift tcl tex ts tsx v vala vhd vhdl y zig C F F90 R ";
    const char *dot = strrchr(rps_text_file_name(argument), '.');
    char suffix[16];

    if (!dot || strlen(dot) < 2 || strlen(dot) > 10 || argument[0] == '-' ||
        strpbrk(argument, ":=@?* <>|&;"))
        return 0;
    snprintf(suffix, sizeof(suffix), " %s ", dot + 1);
    return strstr(suffixes, suffix) != NULL;
}

void rps_task_file_read(char ret[RPS_TASK_FILE_SIZE], const char *proc, pid_t pid)
{
    char text[32768];
    const char *at = text, *last, *from;
    int is_value = 1; /* the value of -o, or the program itself */
    const size_t got = rps_proc_read(text, sizeof(text), "%s/%ld/cmdline", proc, (long)pid);

    ret[0] = '\0';
    while (at < text + got && (is_value || !is_source(at))) {
        is_value = strcmp(at, "-o") == 0 || strcmp(at, "-main-file-name") == 0;
        at += strlen(at) + 1;
    }
    if (at >= text + got || (got == sizeof(text) - 1 && at + strlen(at) == text + got))
        return; /* no source file, or its end was not read */
    last = rps_text_file_name(at);
    from = last > at ? memrchr(at, '/', (size_t)(last - at) - 1) : NULL;
    from = from ? from + 1 : at;
    from = strlen(from) < RPS_TASK_FILE_SIZE ? from : last;
    if (strlen(from) < RPS_TASK_FILE_SIZE)
        strcpy(ret, from);
}
