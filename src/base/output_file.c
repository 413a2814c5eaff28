/* Output files that appear complete or not at all.
 *
 * The content goes to an unnamed file (O_TMPFILE), so that a killed program leaves no file. Then
 * linkat gives the file its final name, with a path in /proc/self/fd. If there is no /proc, linkat
 * uses the descriptor instead, which needs a recent kernel or a capability. linkat cannot replace
 * an existing file. Therefore, the file has a temporary name between two system calls, while
 * signals are blocked. The temporary name is left behind only if SIGKILL ends the program between
 * these calls.
 *
 * SAFETY: replacing a file never writes through a link, or into a file that also has another name.
 * In a directory that other users can write, a link or a second name may redirect the output.
 * Therefore, if the existing file has several names, it loses this name, and its content does not
 * change. Some files cannot be replaced: O_TMPFILE is not supported, the directory is not writable,
 * the file is a mount point, or the new file cannot get its owner or group. The finished content is
 * then copied into the file, which must not have another name. */
#include "rpistat/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/rights.h"
#include "walk.h"

#define COPY_SIZE 65536

/* Return the directory of a path in a new string. */
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
        result =
            rps_error_set(err, RPS_FAILED,
                          "cannot write '%s': '%s' is not a directory; choose another file with -o",
                          path, folder ? folder : "");
    else if (number == ENOENT)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': the directory '%s' does not exist; create it, "
                               "or choose another file with -o",
                               path, folder ? folder : "");
    else if (number == EISDIR)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': it is a directory; choose a file with -o", path);
    else if (number == EINVAL)
        result = rps_error_set(
            err, RPS_FAILED,
            "cannot write '%s': it is not a regular file; choose another file with -o", path);
    else if (number == EEXIST)
        result = rps_error_set(
            err, RPS_FAILED, "cannot write '%s': it is a store; choose another file with -o", path);
    else if (number == EMLINK)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': it has several hard links, and rpistat replaces "
                               "files; choose another file with -o",
                               path);
    else
        result =
            rps_error_set(err, RPS_FAILED, "cannot write '%s': %s; choose another file with -o",
                          path, strerror(number));
    free(folder);
    return result;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Open a file that has no name in any directory. */
static int open_elsewhere(void)
{
    int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : memfd_create("rpistat output", MFD_CLOEXEC);
}

/* Open the unnamed file, with the owner, group and mode of the file to replace (NULL: none). */
static int open_unnamed(struct rps_output_file *file, const struct stat *there)
{
    file->is_new = !there;
    file->fd = openat(file->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, there ? 0600 : 0666);
    file->rename =
        file->fd >= 0 && (!there || (fchown(file->fd, there->st_uid, there->st_gid) == 0 &&
                                     fchmod(file->fd, there->st_mode & 0777) == 0));
    if (file->fd < 0)
        file->fd = open_elsewhere();
    if (file->fd < 0 || (!there && faccessat(file->folder, ".", W_OK | X_OK, AT_EACCESS) < 0))
        return errno;
    return there && !file->rename && there->st_nlink > 1 ? EMLINK : 0;
}

/* Open a device or a pipe, or open for appending the file behind a descriptor's link in /proc. */
static int open_direct(struct rps_output_file *file, const struct stat *there)
{
    int follow = S_ISLNK(there->st_mode);
    struct stat opened;

    file->direct = 1;
    file->fd = openat(file->folder, file->name,
                      O_WRONLY | O_APPEND | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    if (file->fd < 0 || fstat(file->fd, &opened) < 0)
        return errno;
    return follow || (opened.st_dev == there->st_dev && opened.st_ino == there->st_ino) ? 0
                                                                                        : ESTALE;
}

/* Return 1 if the file is an SQLite database. */
static int is_store(const struct rps_output_file *file)
{
    static const char begin[] = "SQLite format 3";
    char text[sizeof(begin)] = "";
    const int fd = openat(file->folder, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const ssize_t size = fd < 0 ? 0 : pread(fd, text, sizeof(text), 0);

    if (fd >= 0)
        close(fd);
    return size == (ssize_t)sizeof(begin) && memcmp(text, begin, sizeof(begin)) == 0;
}

/* Open the file by its name. Return 0 or an errno value. */
static int open_name(struct rps_output_file *file, int regular)
{
    struct stat there;

    if (file->folder < 0)
        return -file->folder;
    if (!file->name[0])
        return EISDIR;
    if (fstatat(file->folder, file->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? open_unnamed(file, NULL) : errno;
    if (S_ISDIR(there.st_mode))
        return EISDIR;
    if (S_ISLNK(there.st_mode) && !rps_walk_in_proc(file->folder))
        return ELOOP; /* the path was checked before, and was not a link at that time */
    if (!S_ISREG(there.st_mode))
        return regular ? EINVAL : open_direct(file, &there);
    if (faccessat(file->folder, file->name, W_OK, AT_EACCESS) < 0)
        return errno;
    return is_store(file) ? EEXIST : open_unnamed(file, &there);
}

int rps_output_file_open(struct rps_output_file *ret, const char *path, int regular,
                         struct rps_error *err)
{
    struct rps_output_file file = {.fd = -1};
    const char *slash;
    int number;

    if (rps_trust_path(path, &file.path, &file.folder, err) < 0)
        return RPS_FAILED;
    slash = strrchr(file.path, '/');
    file.name = slash ? slash + 1 : file.path;
    number = open_name(&file, regular);
    if (number != 0) {
        rps_output_file_abandon(&file);
        return refuse(path, number, err);
    }
    *ret = file;
    return 0;
}

/* --- finishing -------------------------------------------------------------------------------- */

static int link_as(const struct rps_output_file *file, const char *name)
{
    char source[64];

    snprintf(source, sizeof(source), "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, source, file->folder, name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    return errno == EEXIST ? -1 : linkat(file->fd, "", file->folder, name, AT_EMPTY_PATH);
}

/* Replace the existing file by renaming, through a temporary name. */
static int replace(const struct rps_output_file *file)
{
    char passing[64];
    int number;

    snprintf(passing, sizeof(passing), ".rpistat-%ld-%lld", (long)getpid(),
             (long long)rps_clock_monotonic_ns());
    if (link_as(file, passing) < 0)
        return -1;
    if (renameat(file->folder, passing, file->folder, file->name) == 0)
        return 0;
    number = errno;
    unlinkat(file->folder, passing, 0);
    errno = number;
    return -1;
}

static int give_name(const struct rps_output_file *file)
{
    sigset_t all, before;
    int result, number;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = link_as(file, file->name);
    if (result < 0 && errno == EEXIST)
        result = replace(file);
    number = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return result;
}

static int copy(int from, int to)
{
    char buffer[COPY_SIZE];
    ssize_t done;

    for (off_t at = 0; (done = pread(from, buffer, sizeof(buffer), at)) > 0; at += done)
        if ((done = write(to, buffer, (size_t)done)) < 0)
            break;
    return done < 0 ? -1 : 0;
}

/* Copy the content into a new file, or into the existing file if that file has only one name. */
static int write_in_place(const struct rps_output_file *file)
{
    int fd = openat(file->folder, file->name,
                    O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                        (file->is_new ? O_CREAT | O_EXCL : 0),
                    0666);
    int number, result = -1;
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        number = errno;
    else if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
        number = EMLINK;
    else {
        result = ftruncate(fd, 0) < 0 ? -1 : copy(file->fd, fd);
        number = errno;
    }
    if (fd >= 0 && close(fd) < 0 && result == 0) {
        result = -1;
        number = errno;
    }
    if (result < 0 && fd >= 0 && file->is_new)
        unlinkat(file->folder, file->name, 0);
    errno = number;
    return result;
}

/* Return 1 if copying would fail for this reason, after it has destroyed the existing content. */
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
            result = write_in_place(file);
    }
    if (result < 0)
        result = rps_error_set(
            err, RPS_FAILED,
            "cannot write %s: %s; run the command again, because the output is incomplete",
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
    if (file->folder >= 0)
        close(file->folder);
    free(file->path);
    memset(file, 0, sizeof(*file));
}
