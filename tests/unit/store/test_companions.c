/* Tests of files alongside a store that have the names of SQLite's own files. A file that does not
 * belong to the store is refused in one sentence, delays nobody, and is left in place. */
#include "fixture.h"
#include "rpistat/arena.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database.h"
#include "store/identity.h"
#include "store/reader.h"

#define NOBODY   65534
#define STRANGER 12345

/* Time limit, in seconds, for a test that hangs. */
#define PATIENCE_S 600

/* File position of SQLite's shared (reader) locks. */
#define AT_SHARED    0x40000002
#define SHARED_BYTES 510

static const char *const ends[] = {"-wal", "-journal", "-shm"};

static void refused_reading(const char *path, const char *says, const char *names)
{
    struct rps_error err = {"it was not refused"};

    alarm(PATIENCE_S);
    if (fixture_try_read(path, &err) == 0)
        fail_msg("%s: read, which should say: %s", path, says);
    fixture_says(&err, says, names, NULL);
    alarm(0);
}

static void refused_writing(const char *path, const char *says, const char *names)
{
    struct rps_error err = {"it was not refused"};

    alarm(PATIENCE_S);
    if (fixture_try_write(path, &err) == 0)
        fail_msg("%s: written, which should say: %s", path, says);
    fixture_says(&err, says, names, NULL);
    alarm(0);
}

static void refused_nothing(const char *path)
{
    struct rps_error err;

    if (fixture_try_read(path, &err) < 0 || fixture_try_write(path, &err) < 0)
        fail_msg("%s", err.message);
}

static void still_says(const char *path, const char *text)
{
    char got[100] = "";
    FILE *file = fopen(path, "r");

    if (!file)
        fail_msg("%s is gone", path);
    assert_non_null(fgets(got, sizeof(got), file));
    fclose(file);
    assert_string_equal(got, text);
}

static int64_t size_of(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 ? status.st_size : -1;
}

static void wait_for(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Run SQL in a process that dies right after it, with an open transaction or a remaining log. */
static void killed_after(const char *path, const char *sql)
{
    pid_t child = fixture_fork();

    if (child == 0) {
        sqlite3 *db = NULL;

        _exit(sqlite3_open(path, &db) == SQLITE_OK &&
                      sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
                  ? 0
                  : 1);
    }
    wait_for(child);
}

/* Leave a rollback journal that must be played back. Without syncs, its header is complete at once.
 */
#define UNFINISHED                                                                                 \
    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; BEGIN IMMEDIATE;"                     \
    " UPDATE run SET label = 'unfinished'"

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("# skipped: giving files to another user takes root\n");
        skip();
    }
}

/* Call `check` in a child process, as a user without root rights. */
static void as_nobody(int (*check)(const char *path), const char *path)
{
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(2);
        _exit(check(path) ? 0 : 1);
    }
    wait_for(child);
}

/* --- journals --------------------------------------------------------------------------------- */

static void put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i));
}

/* Write the super-journal record at the end of a journal, as in SQLite's file format. */
static void name_super_journal(const char *journal, const char *name)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char number[4];
    uint32_t sum = 0;
    FILE *file = fopen(journal, "a");

    assert_non_null(file);
    for (const char *c = name; *c; c++)
        sum += (uint32_t)*c;
    put_number(number, 0x40000000 / 4096 + 1);
    fwrite(number, 1, 4, file);
    fputs(name, file);
    put_number(number, (uint32_t)strlen(name));
    fwrite(number, 1, 4, file);
    put_number(number, sum);
    fwrite(number, 1, 4, file);
    fwrite(magic, 1, sizeof(magic), file);
    fclose(file);
}

/* Expect that the journal is refused before SQLite opens the store, whatever its contents. The
 * message names both the journal and the store. */
static void journal_is_refused(const char *path)
{
    char journal[600];
    int64_t size;

    snprintf(journal, sizeof(journal), "%s-journal", path);
    size = size_of(journal);
    assert_true(size > 0);
    refused_reading(path, "is a journal of another program", journal);
    refused_writing(path, "move the journal away", journal);
    assert_int_equal(size_of(journal), size);
}

static void a_super_journal_deletes_nothing(void **state)
{
    char path[512], journal[600], victim[512];

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(journal, sizeof(journal), "%s-journal", path);
    snprintf(victim, sizeof(victim), "%s", fixture_path(state, "victim"));
    fixture_store(path);
    killed_after(path, UNFINISHED);
    fixture_write_text(victim, "mine");
    name_super_journal(journal, victim);
    journal_is_refused(path);
    still_says(victim, "mine");
}

static void anothers_unfinished_transaction_is_left(void **state)
{
    char path[512];

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    fixture_store(path);
    killed_after(path, UNFINISHED);
    journal_is_refused(path);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run WHERE label = 'unfinished'"),
                     0); /* SQLite rolls its own journal back. */
    refused_nothing(path);

    snprintf(path, sizeof(path), "%s", fixture_path(state, "foreign"));
    fixture_write_text(path, "");
    fixture_exec(path, "CREATE TABLE a (b); CREATE TABLE c (d)");
    killed_after(path, "PRAGMA synchronous = OFF; BEGIN IMMEDIATE; INSERT INTO a VALUES (1)");
    journal_is_refused(path);
}

/* --- what is not the store's ------------------------------------------------------------------ */

static void other_kinds_of_file(void **state)
{
    char path[512], fresh[512], name[600], victim[512];

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(fresh, sizeof(fresh), "%s", fixture_path(state, "fresh"));
    snprintf(victim, sizeof(victim), "%s", fixture_path(state, "victim"));
    fixture_write_text(victim, "mine");
    fixture_store(path);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        for (int is_fresh = 0; is_fresh < 2; is_fresh++) {
            const char *store = is_fresh ? fresh : path;

            snprintf(name, sizeof(name), "%s%s", store, ends[i]);
            assert_int_equal(mkfifo(name, 0600), 0);
            if (!is_fresh)
                refused_reading(store, "named pipe", name);
            refused_writing(store, "named pipe", name);
            unlink(name);
            assert_int_equal(symlink(victim, name), 0);
            if (!is_fresh)
                refused_reading(store, "symbolic link", name);
            refused_writing(store, "symbolic link", name);
            unlink(name);
            assert_int_equal(link(victim, name), 0);
            if (!is_fresh)
                refused_reading(store, "2 hard links", name);
            refused_writing(store, "2 hard links", name);
            unlink(name);
            assert_int_equal(mkdir(name, 0700), 0);
            if (!is_fresh)
                refused_reading(store, "directory", name);
            refused_writing(store, "directory", name);
            rmdir(name);
            assert_int_equal(size_of(fresh), -1);
        }
    }
    still_says(victim, "mine");
}

static int refuses_stranger(const char *path)
{
    struct rps_error err;

    return fixture_try_read(path, &err) < 0 && strstr(err.message, "another user (12345)") &&
           fixture_try_write(path, &err) < 0 && strstr(err.message, "another user (12345)");
}

static void another_users_file(void **state)
{
    char path[512], name[600];

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    fixture_store(path);
    chmod(*state, 01777);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        fixture_write_text(name, "planted");
        assert_int_equal(chown(name, STRANGER, STRANGER), 0);
        assert_int_equal(chown(path, 0, 0), 0);
        refused_reading(path, "another user (12345)", name);
        refused_writing(path, "another user (12345)", name);
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
        as_nobody(refuses_stranger, path);
        still_says(name, "planted");
        unlink(name);
    }
}

static int reads(const char *path)
{
    struct rps_error err = {"no error"};

    if (fixture_try_read(path, &err) == 0)
        return 1;
    fprintf(stderr, "said: %s\n", err.message);
    return 0;
}

static int reads_the_log(const char *path)
{
    struct rps_reader *reader = NULL;
    struct rps_run run;
    struct rps_error err;
    int found;

    if (rps_reader_open(&reader, path, &err) < 0 ||
        rps_reader_run(fixture_arena, reader, 1, &run, &err) < 0) {
        fprintf(stderr, "said: %s\n", err.message);
        return 0;
    }
    found = strcmp(run.label, "in the log") == 0;
    rps_reader_close(reader);
    return found;
}

/* In a directory shared by a group, members can remove each other's files, and so may also have
 * created them. */
static void a_shared_folder(void **state)
{
    char path[512], log[600];

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(log, sizeof(log), "%s-wal", path);
    fixture_store(path);
    fixture_write_text(log, "");
    assert_int_equal(chown(log, STRANGER, STRANGER), 0);
    assert_int_equal(chown(*state, 0, STRANGER), 0);
    chmod(*state, 0755);
    refused_reading(path, "another user", log);
    chmod(*state, 0775);
    assert_true(reads(path));
}

/* A reader leaves no file in a sticky directory that the owner of the store could not use or
 * remove. */
static void a_reader_locks_no_owner_out(void **state)
{
    char path[512], name[600];

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    fixture_store(path);
    chmod(*state, 01777);
    as_nobody(reads, path);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        assert_int_equal(size_of(name), -1);
    }
}

static int leaves_nothing(const char *path)
{
    char name[600];

    if (!reads(path))
        return 0;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        if (size_of(name) >= 0)
            return 0;
    }
    return 1;
}

/* A reader creates no file in a directory that its owner has opened to all users. */
static void a_reader_makes_nothing(void **state)
{
    const char *path = fixture_path(state, "s");

    need_root();
    fixture_store(path);
    chmod(*state, 0777);
    as_nobody(leaves_nothing, path);
    assert_int_equal(chown(path, STRANGER, STRANGER), 0);
    assert_int_equal(chown(*state, STRANGER, STRANGER), 0);
    as_nobody(leaves_nothing, path);
}

/* A reader reads the log of a recorder in place, even if the recorder was killed, and changes
 * nothing. */
static void a_reader_changes_nothing(void **state)
{
    char path[512], name[600];
    sqlite3 *db = NULL;
    struct stat before[2], after;

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    fixture_store(path);
    killed_after(path, "UPDATE run SET label = 'in the log'");
    chmod(*state, 0777);
    for (int is_live = 0; is_live < 2; is_live++) {
        for (size_t i = 0; i < 2; i++) {
            snprintf(name, sizeof(name), "%s%s", path, ends[2 * i]);
            chmod(name, 0666);
            assert_int_equal(stat(name, &before[i]), 0);
        }
        as_nobody(reads_the_log, path);
        for (size_t i = 0; i < 2; i++) {
            snprintf(name, sizeof(name), "%s%s", path, ends[2 * i]);
            assert_int_equal(stat(name, &after), 0);
            assert_int_equal(after.st_ino, before[i].st_ino);
            assert_int_equal(after.st_size, before[i].st_size);
            assert_int_equal(after.st_mtim.tv_nsec, before[i].st_mtim.tv_nsec);
        }
        if (!is_live) {
            assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
            assert_int_equal(sqlite3_exec(db, "SELECT * FROM run", NULL, NULL, NULL), SQLITE_OK);
        }
    }
    sqlite3_close(db);
}

/* A reader that created no log checks whether another process has changed the store. */
static void a_reader_is_told_of_changes(void **state)
{
    const char *path = fixture_path(state, "s");
    int ready[2], changed[2];
    char byte = 0;
    pid_t child;

    need_root();
    fixture_store(path);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(changed), 0);
    child = fixture_fork();
    if (child == 0) {
        struct rps_reader *reader = NULL;
        struct rps_run run;
        struct rps_error err = {"it was not said"};

        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0 ||
            rps_reader_open(&reader, path, &err) < 0 ||
            rps_reader_run(fixture_arena, reader, 1, &run, &err) < 0 ||
            write(ready[1], &byte, 1) != 1 || read(changed[0], &byte, 1) != 1)
            _exit(2);
        if (rps_reader_run(fixture_arena, reader, 1, &run, &err) < 0 &&
            strstr(err.message, "changed while it was"))
            _exit(0);
        fprintf(stderr, "said: %s\n", err.message);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    fixture_exec(path, "UPDATE run SET label = 'changed'");
    assert_int_equal(write(changed[1], &byte, 1), 1);
    wait_for(child);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(changed[i]);
    }
}

/* Files that root creates by reading belong to the owner of the store. */
static void root_locks_no_owner_out(void **state)
{
    char path[512], name[600];
    struct rps_reader *reader = NULL;
    struct rps_error err;
    struct stat status;

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    fixture_store(path);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    chmod(*state, 01777);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i += 2) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        assert_int_equal(stat(name, &status), 0);
        assert_int_equal(status.st_uid, NOBODY);
        assert_int_equal(status.st_mode & 0777, 0644);
    }
    as_nobody(reads, path);
    rps_reader_close(reader);
}

/* Files deleted at the end are deleted with the rights of the owner, however long after opening. */
static void root_closes_as_the_owner(void **state)
{
    const struct rps_database_options options = {0};
    char path[512], log[600];
    struct rps_error err;
    sqlite3 *db = NULL;

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(log, sizeof(log), "%s-wal", path);
    assert_int_equal(chown(*state, NOBODY, NOBODY), 0);
    assert_int_equal(rps_database_open_write(path, &options, &db, &err), 0);
    chmod(*state, 0555); /* The mode restricts the owner, but not root. */
    rps_database_close(db);
    assert_true(size_of(log) >= 0);
    chmod(*state, 0755);
    assert_int_equal(rps_database_open_write(path, &options, &db, &err), 0);
    rps_database_close(db);
    assert_int_equal(size_of(log), -1);
}

/* --- stores that were moved ------------------------------------------------------------------- */

static void a_log_of_a_moved_store_is_kept(void **state)
{
    char path[512], log[600], moved[512], text[100];
    int64_t size;

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(log, sizeof(log), "%s-wal", path);
    snprintf(moved, sizeof(moved), "%s", fixture_path(state, "moved"));
    fixture_store(path);
    killed_after(path, "UPDATE run SET label = 'in the log'");
    size = size_of(log);
    assert_true(size > 0);
    assert_int_equal(rename(path, moved), 0);
    refused_writing(path, "moved or deleted", log);
    assert_int_equal(size_of(path), -1);
    assert_int_equal(size_of(log), size);
    assert_int_equal(rename(moved, path), 0);
    snprintf(text, sizeof(text), "%s", fixture_text(path, "SELECT label FROM run"));
    assert_string_equal(text, "in the log");
}

/* When a moved store is closed, its own files are removed, but not the files that took their place.
 */
static void anothers_log_outlives_us(void **state)
{
    const struct rps_database_options options = {0};
    char path[512], log[600], memory[600];
    struct rps_error err;
    sqlite3 *db = NULL;

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(log, sizeof(log), "%s-wal", path);
    snprintf(memory, sizeof(memory), "%s-shm", path);
    fixture_store(path);
    assert_int_equal(rps_database_open_write(path, &options, &db, &err), 0);
    assert_int_equal(rename(path, fixture_path(state, "moved")), 0);
    unlink(log);
    unlink(memory);
    fixture_write_text(log, "another's");
    fixture_write_text(memory, "another's");
    rps_database_close(db);
    still_says(log, "another's");
    still_says(memory, "another's");
}

/* Twenty processes open the same path at the same moment. Each finds a store or creates it. */
static void many_make_one_store(void **state)
{
    const char *path = fixture_path(state, "s");
    pid_t child[20];
    int start[2];

    assert_int_equal(pipe(start), 0);
    for (int i = 0; i < 20; i++) {
        child[i] = fixture_fork();
        if (child[i] == 0) {
            struct rps_error err = {"no error"};
            char byte;

            close(start[1]);
            if (read(start[0], &byte, 1) != 0) /* Wait until the pipe is closed. */
                _exit(2);
            if (fixture_try_write(path, &err) == 0)
                _exit(0);
            fprintf(stderr, "said: %s\n", err.message);
            _exit(1);
        }
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < 20; i++)
        wait_for(child[i]);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Expect that another process sees the shared lock of this process. */
static void is_locked_by_us(const char *path)
{
    pid_t child = fixture_fork();

    if (child == 0) {
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = AT_SHARED, .l_len = SHARED_BYTES};
        int fd = open(path, O_RDWR);

        _exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_RDLCK &&
                      lock.l_pid == getppid()
                  ? 0
                  : 1);
    }
    wait_for(child);
}

/* Linux drops all of a process's locks on a file when the process closes any descriptor of that
 * file. */
static void a_readers_locks_stay(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = NULL;
    struct rps_path_check look;
    struct rps_error err;

    fixture_store(path);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    is_locked_by_us(path);
    assert_int_equal(rps_path_check_read(path, &look, &err), 0);
    is_locked_by_us(path);
    assert_int_equal(fixture_try_read(path, &err), 0);
    is_locked_by_us(path);
    assert_int_equal(fixture_try_write(path, &err), 0);
    is_locked_by_us(path);
    rps_reader_close(reader);
}

static void a_locked_store_is_said(void **state)
{
    char path[512];
    int ready[2], done[2];
    char byte;
    pid_t child;

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    fixture_store(path);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(done), 0);
    child = fixture_fork();
    if (child == 0) {
        sqlite3 *db = NULL;

        close(done[1]);
        if (sqlite3_open(path, &db) != SQLITE_OK ||
            sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL,
                         NULL) != SQLITE_OK ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        _exit(read(done[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    refused_reading(path, "is locked by another program", path);
    close(done[1]);
    wait_for(child);
    close(done[0]);
    close(ready[0]);
    close(ready[1]);
}

/* --- where nothing can be written ------------------------------------------------------------- */

static int says_what_to_copy(const char *path)
{
    struct rps_error err = {"no error"};
    char log[600];

    snprintf(log, sizeof(log), "%s-wal", path);
    if (fixture_try_read(path, &err) < 0 && strstr(err.message, "copy ") &&
        strstr(err.message, log))
        return 1;
    fprintf(stderr, "said: %s\n", err.message);
    return 0;
}

/* Header of a log index, which SQLite's WAL format stores twice. One copy is damaged, as during a
 * write, until a reader has checked the recorder's lock twice. */
static struct {
    int file; /* descriptor with write access */
    unsigned char header[48];
    int looks;
    sqlite3_io_methods methods;
    int (*lock)(sqlite3_file *file, int offset, int n, int flags);
} torn;

static void write_header(unsigned char difference)
{
    unsigned char header[48];

    memcpy(header, torn.header, sizeof(header));
    header[8] ^= difference; /* change counter of the header */
    assert_int_equal(pwrite(torn.file, header, sizeof(header), 0), sizeof(header));
}

static int look_for_recorder(sqlite3_file *file, int offset, int n, int flags)
{
    if (offset == 0 && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_SHARED) && torn.looks++ == 1)
        write_header(0);
    return torn.lock(file, offset, n, flags);
}

static int reads_a_torn_header(const char *path)
{
    struct rps_arena *arena;
    struct rps_reader *reader;
    struct rps_error err;
    sqlite3_file *file = NULL;
    int64_t *run_id = NULL;
    size_t count = 0;
    int result = rps_reader_open(&reader, path, &err);

    if (result < 0)
        return 0;
    sqlite3_file_control(reader->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    torn.methods = *file->pMethods;
    torn.lock = torn.methods.xShmLock;
    torn.methods.xShmLock = look_for_recorder;
    file->pMethods = &torn.methods;
    write_header(1);
    arena = rps_arena_new();
    result = rps_reader_runs(arena, reader, &run_id, &count, &err);
    if (result < 0)
        print_message("# %s\n", err.message);
    write_header(0);
    rps_arena_free(arena);
    rps_reader_close(reader);
    return result == 0 && count == 1 && torn.looks == 2;
}

/* The store is opened after the fork, because a child of a process with an open store shares its
 * memory. */
static void a_header_that_is_being_written(void **state)
{
    sqlite3 *db = NULL;
    char path[512], memory[600], byte = 0;
    int ready[2];
    pid_t child;

    need_root();
    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(memory, sizeof(memory), "%s-shm", path);
    fixture_store(path);
    assert_int_equal(pipe(ready), 0);
    child = fixture_fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (read(ready[0], &byte, 1) != 1 || (torn.file = open(memory, O_RDWR | O_CLOEXEC)) < 0 ||
            pread(torn.file, torn.header, sizeof(torn.header), 0) != sizeof(torn.header) ||
            setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(2);
        _exit(reads_a_torn_header(path) ? 0 : 1);
    }
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE run SET label = 'in the log'", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(write(ready[1], &byte, 1), 1);
    wait_for(child);
    close(ready[0]);
    close(ready[1]);
    sqlite3_close(db);
}

static void a_log_without_shared_memory(void **state)
{
    char path[512], memory[600];

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(memory, sizeof(memory), "%s-shm", path);
    fixture_store(path);
    killed_after(path, "UPDATE run SET label = 'in the log'");
    assert_int_equal(unlink(memory), 0);
    chmod(*state, 0555);
    as_nobody(says_what_to_copy, path);
    chmod(*state, 0755);
}

/* --- tables that are none --------------------------------------------------------------------- */

static void names_of_sqlites_functions(void **state)
{
    static const char *const hiding[] = {
        "CREATE TABLE pragma_table_list (schema, name, type)",
        "CREATE TABLE Pragma_Table_Info (name)",
        "CREATE VIEW json_each AS SELECT 1 AS key, 2 AS value, 3 AS id",
    };
    const char *path;

    for (size_t i = 0; i < sizeof(hiding) / sizeof(hiding[0]); i++) {
        path = fixture_path(state, "s");
        fixture_store(path);
        fixture_exec(path, "DROP TABLE mark; CREATE VIEW mark AS WITH RECURSIVE n (i) AS (SELECT 1"
                           " UNION ALL SELECT i + 1 FROM n) SELECT 1 AS run_id, i AS mark_no,"
                           " i AS time_ns, max(i) AS text FROM n");
        refused_reading(path, "is a view", "mark");
        fixture_exec(path, hiding[i]);
        refused_reading(path, "is not as rpistat made it", path);
        fixture_exec(path, "DROP VIEW mark");
        refused_reading(path, "is a name for something else", path);
        unlink(path);
    }
}

/* The schema claims tables that are not tables. */
static void tables_that_are_none(void **state)
{
    static const struct {
        const char *sql, *says;
    } hostile[] = {
        {"DROP TABLE mark; CREATE VIRTUAL TABLE mark USING fts5 (text)",
         "its table mark is a virtual table"},
        {"DROP TABLE mark; CREATE VIEW mark AS SELECT 1; PRAGMA writable_schema = ON;"
         " UPDATE sqlite_master SET type = 'VIEW' WHERE name = 'mark'",
         "its table mark is a "},
        {"ALTER TABLE mark ADD COLUMN more INTEGER AS (time_ns + 1)",
         "its table mark is a table with computed columns"},
    };
    const struct rps_writer_options options = {.commit_ns = 0};
    struct rps_writer *writer = NULL;
    struct rps_error err;
    const char *path;

    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        path = fixture_path(state, "s");
        fixture_store(path);
        fixture_exec(path, hostile[i].sql);
        refused_reading(path, hostile[i].says, path);
        assert_int_equal(rps_writer_open(&writer, path, &options, &err), RPS_FAILED);
        fixture_says(&err, hostile[i].says, NULL);
        unlink(path);
    }
}

/* --- queries without an end ------------------------------------------------------------------- */

static void a_query_ends(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_reader *reader = NULL;
    sqlite3_stmt *stmt = NULL;
    struct rps_error err;
    int64_t rows = 0;
    int code;

    fixture_store(path);
    assert_int_equal(rps_reader_open(&reader, path, &err), 0);
    reader->limit.calls_max = 4;
    /* The query takes more steps in total than the limit for one row. */
    assert_int_equal(rps_reader_prepare(reader,
                                        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
                                        " FROM n WHERE i < 2000000) SELECT i FROM n"
                                        " WHERE i % 200000 = 0",
                                        0, &stmt, &err),
                     0);
    while ((code = rps_reader_step(reader, stmt)) == SQLITE_ROW)
        rows++;
    assert_int_equal(code, SQLITE_DONE);
    assert_int_equal(rows, 10);
    sqlite3_finalize(stmt);
    assert_int_equal(rps_reader_prepare(reader,
                                        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"
                                        " FROM n) SELECT count(*) FROM n",
                                        0, &stmt, &err),
                     0);
    alarm(PATIENCE_S);
    code = rps_reader_step(reader, stmt);
    alarm(0);
    assert_int_equal(code, SQLITE_INTERRUPT);
    rps_reader_error(reader, code, &err);
    fixture_says(&err, path, "takes too long", "rpistat check", NULL);
    sqlite3_finalize(stmt);
    rps_reader_close(reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_super_journal_deletes_nothing),
        TEST(anothers_unfinished_transaction_is_left),
        TEST(other_kinds_of_file),
        TEST(another_users_file),
        TEST(a_shared_folder),
        TEST(a_reader_locks_no_owner_out),
        TEST(a_reader_makes_nothing),
        TEST(a_reader_changes_nothing),
        TEST(a_reader_is_told_of_changes),
        TEST(root_locks_no_owner_out),
        TEST(root_closes_as_the_owner),
        TEST(a_log_of_a_moved_store_is_kept),
        TEST(anothers_log_outlives_us),
        TEST(many_make_one_store),
        TEST(a_readers_locks_stay),
        TEST(a_locked_store_is_said),
        TEST(a_header_that_is_being_written),
        TEST(a_log_without_shared_memory),
        TEST(names_of_sqlites_functions),
        TEST(tables_that_are_none),
        TEST(a_query_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
