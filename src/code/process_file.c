/* Opens the files of other processes, with the checks that process_file.h promises. */
#include "process_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

#include "rpistat/process.h"

#define NOTES_MAX    4096 /* Maximum bytes read of a segment's notes. */
#define SEGMENTS_MAX 64

/* --- is it an ordinary file? ------------------------------------------------------------------ */

/* Return 1 for file systems of the kernel, where reading a file may have side effects. The numbers
 * are configfs, fusectl, mqueue, nfsd, rpc_pipefs, functionfs, gadgetfs, apparmorfs. */
static int is_kernels(long type)
{
    static const uint32_t types[] = {
        PROC_SUPER_MAGIC,     SYSFS_MAGIC,         TRACEFS_MAGIC,
        DEBUGFS_MAGIC,        CGROUP_SUPER_MAGIC,  CGROUP2_SUPER_MAGIC,
        AUTOFS_SUPER_MAGIC,   SECURITYFS_MAGIC,    SELINUX_MAGIC,
        SMACK_MAGIC,          BPF_FS_MAGIC,        PSTOREFS_MAGIC,
        EFIVARFS_MAGIC,       DEVPTS_SUPER_MAGIC,  NSFS_MAGIC,
        RDTGROUP_SUPER_MAGIC, BINFMTFS_MAGIC,      USBDEVICE_SUPER_MAGIC,
        XENFS_SUPER_MAGIC,    ANON_INODE_FS_MAGIC, SOCKFS_MAGIC,
        PIPEFS_MAGIC,         0x62656570,          0x65735543,
        0x19800202,           0x6e667364,          0x67596969,
        0x0a647361,           0xaee71ee7,          0x5a3c69f0};

    for (size_t i = 0; i < RPS_COUNT(types); i++) {
        if ((uint32_t)type == types[i])
            return 1;
    }
    return 0;
}

int rps_process_file_reopen(int fd)
{
    struct stat status;
    struct statfs system;
    char link[64];
    int result;

    if (fd < 0)
        return -errno;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (fstat(fd, &status) < 0)
        result = -errno;
    else if (!S_ISREG(status.st_mode))
        result = -EOPNOTSUPP;
    else if (fstatfs(fd, &system) < 0)
        result = -errno;
    else if (is_kernels(system.f_type))
        result = -EOPNOTSUPP;
    else if ((result = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0)
        result = -errno;
    close(fd);
    return result;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* SAFETY: without openat2 no component may be a link or "..". */
static int walk(int directory, const char *path, int flags)
{
    int at = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), is_last = 0;

    while (at >= 0 && !is_last) {
        size_t length = strcspn(path += strspn(path, "/"), "/");
        char name[NAME_MAX + 1];
        int next = -1, failure;

        is_last = path[length] == '\0';
        errno = ENOENT;
        if (length > 0 && length <= NAME_MAX && strncmp(path, "..", length > 2 ? length : 2) != 0) {
            snprintf(name, sizeof(name), "%.*s", (int)length, path);
            next =
                openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_last ? flags : O_DIRECTORY));
        }
        failure = errno;
        close(at);
        errno = failure;
        at = next;
        path += length;
    }
    return at;
}

static int open_path_below(int directory, const char *path, int flags)
{
#ifdef SYS_openat2
    const struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));

    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
#endif
    return walk(directory, path, flags);
}

int rps_process_file_open_below(int directory, const char *path, int flags)
{
    return rps_process_file_reopen(open_path_below(directory, path, flags));
}

/* Open a path below the root of a process. pid 0: below the root of this process. */
static int open_in_root(pid_t pid, const char *path, int flags)
{
    char root[64] = "/";
    int directory, fd;

    if (pid > 0)
        snprintf(root, sizeof(root), "/proc/%ld/root", (long)pid);
    directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    fd = rps_process_file_open_below(directory, path, flags);
    close(directory);
    return fd;
}

/* --- is it the file that was mapped? ---------------------------------------------------------- */

/* Return 1 if a segment's notes contain the build-id. The notes may be damaged. */
static int is_in_notes(const char *notes, size_t size, size_t align, const char *build_id)
{
    char hex[2 * RPS_BUILD_ID_MAX + 1];
    Elf64_Nhdr note;

    for (uint64_t at = 0; at < size && size - at >= sizeof(note);) {
        uint64_t name = at + sizeof(note), id, next;

        memcpy(&note, notes + at, sizeof(note));
        id = name + ((uint64_t)note.n_namesz + align - 1) / align * align;
        next = id + ((uint64_t)note.n_descsz + align - 1) / align * align;
        if (id > size || note.n_descsz > size - id)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
            note.n_descsz <= RPS_BUILD_ID_MAX)
            return strcmp(rps_code_build_id(hex, notes + id, note.n_descsz), build_id) == 0;
        at = next;
    }
    return 0;
}

/* Read offset, size and alignment of a segment with notes. Size 0: the segment has no notes. */
static void read_notes_place(const unsigned char *segment, int is_64, uint64_t ret[3])
{
    Elf64_Phdr wide;
    Elf32_Phdr narrow;

    memcpy(&wide, segment, sizeof(wide));
    memcpy(&narrow, segment, sizeof(narrow));
    ret[0] = is_64 ? wide.p_offset : narrow.p_offset;
    ret[1] = is_64 ? wide.p_filesz : narrow.p_filesz;
    ret[2] = is_64 && wide.p_align == 8 ? 8 : 4;
    if ((is_64 ? wide.p_type : narrow.p_type) != PT_NOTE || ret[0] > INT64_MAX)
        ret[1] = 0;
}

/* SAFETY: root runs this function on files of other users. The function uses fixed-size arrays and
 * follows no pointers: the kernel checks each offset. */
static int has_build_id(int fd, const char *build_id)
{
    unsigned char segment[SEGMENTS_MAX * sizeof(Elf64_Phdr)] = {0};
    char notes[NOTES_MAX];
    Elf64_Ehdr wide = {.e_phoff = 0};
    Elf32_Ehdr narrow;
    ssize_t size = pread(fd, &wide, sizeof(wide), 0);
    int is_64 = wide.e_ident[EI_CLASS] == ELFCLASS64;
    size_t each = is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), count;

    memcpy(&narrow, &wide, sizeof(narrow));
    if (size != sizeof(wide) || memcmp(wide.e_ident, ELFMAG, SELFMAG) != 0 ||
        (is_64 ? wide.e_phentsize : narrow.e_phentsize) != each || wide.e_phoff > INT64_MAX)
        return 0;
    count = is_64 ? wide.e_phnum : narrow.e_phnum;
    size = pread(fd, segment, each * (count < SEGMENTS_MAX ? count : SEGMENTS_MAX),
                 (off_t)(is_64 ? wide.e_phoff : narrow.e_phoff));
    for (size_t at = 0; size > 0 && at + each <= (size_t)size; at += each) {
        uint64_t place[3];
        ssize_t got;

        read_notes_place(segment + at, is_64, place);
        got = pread(fd, notes, place[1] < NOTES_MAX ? place[1] : NOTES_MAX, (off_t)place[0]);
        if (got > 0 && is_in_notes(notes, (size_t)got, place[2], build_id))
            return 1;
    }
    return 0;
}

/* Return 1 if this process's own map at the address has the device and inode of `origin` in the
 * kernel's list of maps. fstat reports another device on btrfs and overlayfs. */
static int is_mapped_as(const void *address, const struct rps_module_origin *origin)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t start, inode;
    unsigned major, minor;
    char *line = NULL;
    size_t room = 0;
    int is_same = 0;

    while (maps && getline(&line, &room, maps) > 0) {
        if (sscanf(line, "%" SCNx64 "-%*s %*s %*s %x:%x %" SCNu64, &start, &major, &minor,
                   &inode) == 4 &&
            start == (uintptr_t)address)
            is_same = major == origin->major && minor == origin->minor && inode == origin->inode;
    }
    free(line);
    if (maps)
        fclose(maps);
    return is_same;
}

static int is_origins(int fd, const struct rps_module_origin *origin)
{
    struct stat status;
    void *map;
    int is_same;

    if (origin->inode == 0 || fstat(fd, &status) < 0)
        return 0;
    if (status.st_ino == origin->inode && major(status.st_dev) == origin->major &&
        minor(status.st_dev) == origin->minor)
        return 1;
    map = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return 0;
    is_same = is_mapped_as(map, origin);
    munmap(map, 1);
    return is_same;
}

/* --- the kinds -------------------------------------------------------------------------------- */

/* Open the first matching candidate: the mapped file, then its path as seen by the process, then
 * the path as seen by rpistat. There are several candidates because the process may have ended. */
static int open_mapped(const struct rps_process_file *file)
{
    const struct rps_module_origin *origin = &file->origin;
    int result = -ENOENT, fd;
    char link[96];

    snprintf(link, sizeof(link), "/proc/%ld/map_files/%" PRIx64 "-%" PRIx64, (long)origin->pid,
             origin->start, origin->end);
    for (int i = origin->pid > 0 ? 0 : 2; i < 3; i++) {
        fd = i == 0 ? rps_process_file_reopen(open(link, O_PATH | O_CLOEXEC))
                    : open_in_root(i == 1 ? origin->pid : 0, file->path, O_NOFOLLOW);
        if (fd >= 0 &&
            (is_origins(fd, origin) || (file->build_id[0] && has_build_id(fd, file->build_id))))
            return fd;
        if (fd >= 0) {
            close(fd);
            result = -ESTALE;
        } else if (result == -ENOENT || fd == -EOPNOTSUPP) {
            result = fd;
        }
    }
    return result;
}

static int open_jit_map(const struct rps_process_file *file)
{
    uid_t user = file->origin.has_user ? file->origin.user : geteuid();
    int fd = -ENOENT;
    struct stat status;

    if (file->origin.pid > 0)
        fd = open_in_root(file->origin.pid, file->path, O_NOFOLLOW);
    if (fd < 0)
        fd = open_in_root(0, file->path, O_NOFOLLOW);
    if (fd >= 0 && (fstat(fd, &status) < 0 || status.st_uid != user || status.st_nlink > 1)) {
        close(fd);
        fd = -EPERM;
    }
    return fd;
}

int rps_process_file_has_servers(void)
{
    const char *servers = getenv("DEBUGINFOD_URLS");

    return servers && servers[0];
}

static int ask_debuginfod(const struct rps_process_file *file)
{
    typedef int find(void *client, const unsigned char *id, int size, char **ret_path);
    void *(*begin)(void);
    find *find_debuginfo, *find_executable;
    const struct rps_library_function functions[] = {
        {"debuginfod_begin", &begin},
        {"debuginfod_find_debuginfo", &find_debuginfo},
        {"debuginfod_find_executable", &find_executable},
        {NULL, NULL},
    };
    void *client;

    setenv("DEBUGINFOD_TIMEOUT", "5", 0); /* The default of the library is 90 s. */
    setenv("DEBUGINFOD_MAXTIME", "20", 0);
    if (!rps_library_open("libdebuginfod.so.1", functions) || !(client = begin()))
        return -ENOENT;
    return strcmp(file->path, "executable") == 0
               ? find_executable(client, (const unsigned char *)file->build_id, 0, NULL)
               : find_debuginfo(client, (const unsigned char *)file->build_id, 0, NULL);
}

int rps_process_file_open(const struct rps_process_file *file)
{
    switch (file->kind) {
    case RPS_PROCESS_FILE_MAPPED:
        return open_mapped(file);
    case RPS_PROCESS_FILE_JIT_MAP:
        return open_jit_map(file);
    case RPS_PROCESS_FILE_DEBUG:
        return open_in_root(file->origin.pid, file->path, 0);
    case RPS_PROCESS_FILE_DEBUGINFOD:
        return ask_debuginfod(file);
    default:
        return -ENOENT;
    }
}
