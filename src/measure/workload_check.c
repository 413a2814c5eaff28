/* Check whether a command can be executed, and find the reason if not.
 *
 * rps_workload_check runs before anything is opened. Only exec itself finds whether a script's
 * interpreter or a program's loader exists, whether the file is being written, and whether the
 * arguments fit. So rps_workload_exec_error explains exec's error. */
#include "rpistat/workload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Directories that execvp searches if PATH is not set. */
#define DEFAULT_PATH "/bin:/usr/bin"

/* Set the error of a command whose file cannot be executed. */
static int set_error(struct rps_error *err, const char *command, int number)
{
    static const struct {
        int number;
        const char *why;
    } reasons[] = {
        {ENOENT, "command not found: no directory of PATH has it; write ./NAME for a program in "
                 "this directory"},
        {ENOTDIR, "command not found: a part of its path is not a directory"},
        {EACCES, "permission denied: it is not an executable file; set its permissions with chmod"},
        {EISDIR, "is a directory, not a command"},
        {ETXTBSY, "cannot be executed: another program has the file open for writing; try again "
                  "when it has closed the file"},
        {E2BIG, "cannot be executed: its arguments and environment are longer than Linux allows; "
                "pass fewer arguments, for example with xargs"},
    };
    const char *why = NULL;
    struct statvfs fs;

    for (size_t i = 0; i < RPS_COUNT(reasons) && !why; i++)
        why = reasons[i].number == number ? reasons[i].why : NULL;
    if (number == ENOENT && strchr(command, '/'))
        why = "command not found: no such file; check its path";
    if (number == EACCES && statvfs(command, &fs) == 0 && (fs.f_flag & ST_NOEXEC))
        why = "permission denied: its file system is mounted with noexec";
    return rps_error_set(
        err, number == ENOENT || number == ENOTDIR ? RPS_CANNOT_FIND : RPS_CANNOT_EXEC, "%s: %s%s",
        command, why ? "" : "cannot be executed: ", why ? why : strerror(number));
}

/* Return 0 if path is a regular file that may be executed, otherwise an errno. */
static int check_path(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
        return errno;
    return S_ISREG(st.st_mode) ? 0 : EACCES;
}

static int give_path(char *path, char **ret_path)
{
    if (ret_path)
        *ret_path = path;
    else
        free(path);
    return 0;
}

int rps_workload_check(const char *command, const char *search_path, char **ret_path,
                       struct rps_error *err)
{
    const char *folder, *end;
    int result = ENOENT;

    if (!*command)
        return rps_error_set(err, RPS_CANNOT_FIND,
                             "'': command not found: its name is empty; name a program");
    if (strchr(command, '/')) {
        char *copy;

        result = check_path(command);
        if (result)
            return set_error(err, command, result);
        copy = strdup(command);
        return copy ? give_path(copy, ret_path) : rps_error_memory(err);
    }
    for (folder = search_path ? search_path : DEFAULT_PATH;; folder = end + 1) {
        char *full;
        int found;

        end = strchrnul(folder, ':');
        if (asprintf(&full, "%.*s%s%s", (int)(end - folder), folder, end > folder ? "/" : "",
                     command) < 0)
            return rps_error_memory(err);
        found = check_path(full);
        if (found == 0)
            return give_path(full, ret_path);
        free(full);
        if (found == EACCES)
            result = EACCES;
        if (!*end)
            break;
    }
    return set_error(err, command, result);
}

/* --- after a failed exec ---------------------------------------------------------------------- */

/* Read the path of the loader that an ELF file names (PT_INTERP). Returns its length, or 0. */
static size_t read_loader(int fd, char *ret, size_t size)
{
    union {
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
    } head;
    union {
        Elf32_Phdr narrow;
        Elf64_Phdr wide;
    } entry = {0};
    int is_wide, count;
    ssize_t got = 0;

    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.wide.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    is_wide = head.wide.e_ident[EI_CLASS] == ELFCLASS64;
    count = is_wide ? head.wide.e_phnum : head.narrow.e_phnum;
    for (int i = 0; i < count && got == 0; i++) {
        size_t entry_size = is_wide ? sizeof(entry.wide) : sizeof(entry.narrow);
        uint64_t at = (is_wide ? head.wide.e_phoff : head.narrow.e_phoff) + (size_t)i * entry_size;

        if (pread(fd, &entry, entry_size, (off_t)at) != (ssize_t)entry_size)
            return 0;
        if (entry.wide.p_type == PT_INTERP) /* p_type is the first member in both structs */
            got = pread(fd, ret, size,
                        (off_t)(is_wide ? entry.wide.p_offset : entry.narrow.p_offset));
    }
    return got > 0 ? strnlen(ret, (size_t)got) : 0;
}

/* Read the path of the interpreter in the first line of a script. Returns its length. */
static size_t read_shebang(int fd, char *ret, size_t size)
{
    ssize_t got = pread(fd, ret, size - 1, 0);
    size_t blanks;

    if (got < 2 || ret[0] != '#' || ret[1] != '!')
        return 0;
    ret[got] = '\0';
    blanks = 2 + strspn(ret + 2, " \t");
    memmove(ret, ret + blanks, (size_t)got + 1 - blanks);
    return strcspn(ret, " \t\n");
}

static int set_interpreter_error(struct rps_error *err, const char *command, int is_script,
                                 const char *interpreter, int number)
{
    const char *what = is_script ? "interpreter" : "loader";
    const size_t length = strlen(interpreter);
    const int is_missing = number == ENOENT || number == ENOTDIR;

    if (is_missing && is_script && length > 0 && interpreter[length - 1] == '\r')
        return rps_error_set(err, RPS_CANNOT_FIND,
                             "'%.*s\\r', the interpreter of %s, does not exist: the script has "
                             "Windows line ends (CRLF); remove them, for example with dos2unix",
                             (int)length - 1, interpreter, command);
    if (is_missing)
        return rps_error_set(err, RPS_CANNOT_FIND, "'%s', the %s of %s, does not exist; %s",
                             interpreter, what, command,
                             is_script ? "install it or correct the script's first line"
                                       : "install the libraries that the program was built for");
    return rps_error_set(err, RPS_CANNOT_EXEC, "'%s', the %s of %s, cannot be executed: %s",
                         interpreter, what, command,
                         number == EISDIR
                             ? "it is a directory"
                             : "it is not an executable file; set its permissions with chmod");
}

int rps_workload_exec_error(const char *command, const char *search_path, int number,
                            struct rps_error *err)
{
    char *path = NULL, interpreter[4096];
    size_t length = 0;
    int result = rps_workload_check(command, search_path, &path, err), fd, is_script, found = 0;

    if (result < 0) /* the file has changed since the check */
        return result;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        length = read_shebang(fd, interpreter, sizeof(interpreter));
        is_script = length > 0;
        if (!is_script)
            length = read_loader(fd, interpreter, sizeof(interpreter) - 1);
        close(fd);
    }
    if (length > 0) {
        interpreter[length] = '\0';
        found = check_path(interpreter);
    }
    if (found != 0)
        result = set_interpreter_error(err, command, is_script, interpreter, found);
    else if (length > 0 && (number == ENOENT || number == EACCES))
        result = rps_error_set(err, number == ENOENT ? RPS_CANNOT_FIND : RPS_CANNOT_EXEC,
                               "'%s', the interpreter of %s, cannot be executed: its own "
                               "interpreter is missing or not executable; install it",
                               interpreter, command);
    else
        result = set_error(err, command, number);
    free(path);
    return result;
}

/* --- programs that change their rights -------------------------------------------------------- */

/* Return 1 if Linux applies the file's set-ID bits and capabilities. Linux does not apply them to
 * scripts, or if such rights are turned off. */
static int may_give_rights(const char *path)
{
    struct statvfs fs;
    char head[2] = "";
    int fd;

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0 ||
        (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)))
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        if (read(fd, head, sizeof(head)) < 0)
            head[0] = '\0';
        close(fd);
    }
    return head[0] != '#' || head[1] != '!';
}

int rps_workload_drops_counters(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return 0;
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0)
        return 1;
    if (!((st.st_mode & S_ISUID) && st.st_uid != geteuid()) &&
        !((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid()) &&
        (geteuid() == 0 || getxattr(path, "security.capability", NULL, 0) <= 0))
        return 0;
    return may_give_rights(path);
}
