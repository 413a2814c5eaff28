/*
 * Files that appear whole or not at all.
 *
 * The content is written without a name (O_TMPFILE), so that nothing is left behind by a program
 * that is killed, and gets its name by linkat, through /proc/self/fd or, where there is no /proc,
 * from the descriptor, which needs a recent kernel or a right. linkat cannot replace a file, so
 * there is a passing name, for no longer than signals are blocked.
 *
 * A file that somebody else owns, or that has several names, cannot be replaced by another one
 * without a loss: the finished content is copied into it. So it is where the folder takes no new
 * file (a file system without O_TMPFILE, a folder that cannot be written, a mounted file).
 */
#include "rpistat/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "rpistat/trust.h"

#define ATTRIBUTES_SIZE 4096 /* of a file's attributes: their names, or the value of one */
#define PASSING_MAX     100
#define COPY_MAX        (1 << 30)

/* The folder of path, in a new string. */
static char *folder_of(const char *path)
{
    char *copy = strdup(path);
    char *folder = copy ? strdup(dirname(copy)) : NULL;

    free(copy);
    return folder;
}

static int refuse(const char *path, int number, struct rps_error *err)
{
    char *folder = folder_of(path);
    int result;

    if (number == ENOTDIR)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': '%s' is no folder; choose another file with -o",
                               path, folder ? folder : "");
    else if (number == ENOENT)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': there is no folder '%s'; make it, or choose "
                               "another file with -o",
                               path, folder ? folder : "");
    else if (number == EISDIR)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': it is a folder; choose a file with -o", path);
    else
        result =
            rps_error_set(err, RPS_FAILED, "cannot write '%s': %s; choose another file with -o",
                          path, strerror(number));
    free(folder);
    return result;
}

/* --- what is there ---------------------------------------------------------------------------- */

/* Access lists, labels and what else there is of attributes. */
static int copy_attributes(int fd, const char *path)
{
    char name[ATTRIBUTES_SIZE], value[ATTRIBUTES_SIZE];
    ssize_t names = listxattr(path, name, sizeof(name));

    if (names < 0)
        return errno == ENOTSUP ? 0 : -1;
    fremovexattr(fd, "system.posix_acl_access"); /* what the folder gives to new files */
    for (ssize_t at = 0; at < names; at += (ssize_t)strlen(name + at) + 1) {
        ssize_t size = getxattr(path, name + at, value, sizeof(value));

        if (size < 0 || fsetxattr(fd, name + at, value, (size_t)size, 0) < 0)
            return -1;
    }
    return 0;
}

/* Can the file be replaced by fd, which gets all that it has? */
static int is_replaceable(int fd, const char *path, const struct stat *there)
{
    struct stat own;

    return there->st_nlink == 1 && fstat(fd, &own) == 0 && own.st_uid == there->st_uid &&
           (own.st_gid == there->st_gid || fchown(fd, (uid_t)-1, there->st_gid) == 0) &&
           copy_attributes(fd, path) == 0 && fchmod(fd, there->st_mode & 07777) == 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* A file without a name anywhere. */
static int open_elsewhere(void)
{
    int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : memfd_create("rpistat output", MFD_CLOEXEC);
}

static int open_unnamed(struct rps_output_file *file, const struct stat *there)
{
    char *folder = folder_of(file->path);
    int result;

    file->fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, there ? 0600 : 0666) : -1;
    file->rename = file->fd >= 0 && (!there || is_replaceable(file->fd, file->path, there));
    if (file->fd < 0)
        file->fd = open_elsewhere();
    result = file->fd < 0 || (!there && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
                 ? errno
                 : 0;
    free(folder);
    return result;
}

/* Returns 0 or an errno. */
static int open_path(struct rps_output_file *file, int regular)
{
    size_t length = strlen(file->path);
    struct stat there;

    if (stat(file->path, &there) < 0) {
        if (errno != ENOENT)
            return errno;
        return length > 0 && file->path[length - 1] == '/' ? EISDIR : open_unnamed(file, NULL);
    }
    if (S_ISDIR(there.st_mode))
        return EISDIR;
    if (!S_ISREG(there.st_mode)) {
        file->direct = 1;
        file->fd = regular ? -1 : open(file->path, O_WRONLY | O_CLOEXEC);
        return file->fd < 0 && !regular ? errno : 0;
    }
    if (faccessat(AT_FDCWD, file->path, W_OK, AT_EACCESS) < 0)
        return errno;
    return open_unnamed(file, &there);
}

int rps_output_file_open(struct rps_output_file *ret, const char *path, int regular,
                         struct rps_error *err)
{
    struct rps_output_file file = {.fd = -1};
    int number, result = 0;

    if (rps_trust_path(path, &file.path, err) < 0)
        return RPS_FAILED;
    number = open_path(&file, regular);
    if (number != 0)
        result = refuse(path, number, err);
    else if (file.direct && regular)
        result =
            rps_error_set(err, RPS_FAILED,
                          "cannot write '%s': it is not a regular file; choose another name", path);
    if (result == 0)
        *ret = file;
    else
        rps_output_file_abandon(&file);
    return result;
}

/* --- finishing -------------------------------------------------------------------------------- */

static int link_as(int fd, const char *name)
{
    char source[64];

    snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    return errno == EEXIST ? -1 : linkat(fd, "", AT_FDCWD, name, AT_EMPTY_PATH);
}

/* By way of a passing name. */
static int replace(const struct rps_output_file *file)
{
    char passing[PATH_MAX];
    int number;

    for (int i = 0; i < PASSING_MAX; i++) {
        int length = snprintf(passing, sizeof(passing), "%s.%ld-%d", file->path, (long)getpid(), i);

        if (length < 0 || (size_t)length >= sizeof(passing))
            errno = ENAMETOOLONG;
        else if (link_as(file->fd, passing) == 0)
            break;
        if (errno != EEXIST || i == PASSING_MAX - 1)
            return -1;
    }
    if (rename(passing, file->path) == 0)
        return 0;
    number = errno;
    unlink(passing);
    errno = number;
    return -1;
}

static int give_name(const struct rps_output_file *file)
{
    sigset_t all, before;
    int result, number;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = link_as(file->fd, file->path);
    if (result < 0 && errno == EEXIST)
        result = replace(file);
    number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return result;
}

static int copy_into(const struct rps_output_file *file)
{
    int is_new = access(file->path, F_OK) < 0;
    int fd = open(file->path, O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : O_TRUNC), 0666);
    int number, result = fd < 0 ? -1 : 0;
    struct stat content;
    off_t at = 0;

    if (result == 0)
        result = fstat(file->fd, &content);
    while (result == 0 && at < content.st_size) {
        ssize_t put = sendfile(fd, file->fd, &at, COPY_MAX);

        if (put == 0)
            break;
        if (put < 0 && errno != EINTR)
            result = -1;
    }
    number = errno;
    if (fd >= 0 && close(fd) < 0 && result == 0) {
        result = -1;
        number = errno;
    }
    if (result < 0 && fd >= 0 && is_new)
        unlink(file->path);
    errno = number;
    return result;
}

/* Is there no point in trying otherwise, which would cost what is there? */
static int is_final(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EIO || number == EROFS;
}

int rps_output_file_finish(struct rps_output_file *file, struct rps_error *err)
{
    int result = 0;

    if (!file->path)
        return 0;
    if (!file->direct) {
        result = file->rename ? give_name(file) : -1;
        if (result < 0 && !(file->rename && is_final(errno)))
            result = copy_into(file);
    }
    if (result < 0)
        result = rps_error_set(err, RPS_FAILED, "cannot write %s: %s; the output is not complete",
                               file->path, strerror(errno));
    rps_output_file_abandon(file);
    return result;
}

void rps_output_file_abandon(struct rps_output_file *file)
{
    if (!file->path)
        return;
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    memset(file, 0, sizeof(*file));
}

int rps_output_written(FILE *out, const char *what, struct rps_error *err)
{
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return rps_error_set(err, RPS_FAILED, "cannot write %s: see to the disk's free space", what);
}
