/* Tests of opening a store: the refused files, the messages, and that a refused file stays
 * unchanged. */
#include "fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database.h"
#include "store/identity.h"

#define NOBODY 65534

static char *read_whole(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    *ret_size = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

/* Expect that opening for reading and for writing fail with this message and change nothing. */
static void refused(const char *path, const char *says)
{
    struct rps_error err;
    size_t before_size, after_size;
    char *before = read_whole(path, &before_size), *after, side[600];

    assert_int_equal(fixture_try_write(path, &err), RPS_FAILED);
    fixture_says(&err, path, says, NULL);
    assert_int_equal(fixture_try_read(path, &err), RPS_FAILED);
    fixture_says(&err, path, says, NULL);
    after = read_whole(path, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    snprintf(side, sizeof(side), "%s-wal", path);
    assert_int_not_equal(access(side, F_OK), 0);
    snprintf(side, sizeof(side), "%s-journal", path);
    assert_int_not_equal(access(side, F_OK), 0);
    free(before);
    free(after);
}

static void a_new_store_has_its_marks(void **state)
{
    const char *path = fixture_path(state, "s");
    char side[600];

    fixture_store(path);
    assert_int_equal(fixture_number(path, "PRAGMA application_id"), 0x72706973);
    assert_int_equal(fixture_number(path, "PRAGMA user_version"), RPS_STORE_VERSION);
    assert_string_equal(fixture_text(path, "PRAGMA journal_mode"), "wal");
    assert_string_equal(fixture_text(path, "PRAGMA integrity_check"), "ok");
    assert_string_equal(
        fixture_text(path, "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema"
                           " WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name)"),
        "cgroup code_count detection event event_set frame gap heartbeat location mark metric "
        "metric_step module outlier period phase program reading reading_rollup rollup run "
        "sampling "
        "signal stack task thinned "
        "blocked_time code_number estimate finest frame_name function_count rate "
        "reading_group reading_machine reading_package reading_tree run_summary sample "
        "shown_phase signal_value stack_count stack_frame task_count");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM pragma_table_list WHERE"
                                          " type = 'table' AND schema = 'main' AND NOT strict AND"
                                          " name NOT LIKE 'sqlite_%'"),
                     0);
    assert_string_equal(
        fixture_text(path, "SELECT group_concat(name, ' ') FROM pragma_table_info('period')"),
        "run_id cpu cycle period rotation set_no start_ns length_ns cycles clock_running_ns"
        " idle_ns enabled_ns running_ns switch_ns missed c0 c1 c2 c3 c4 c5 c6 c7");
    /* After a clean close there is only one file. */
    snprintf(side, sizeof(side), "%s-wal", path);
    assert_int_not_equal(access(side, F_OK), 0);
}

/* If another file already has the name, it is kept, even a dangling link, and no other file is
 * created. */
static void what_has_the_name_stays(void **state)
{
    char *path = strdup(fixture_path(state, "s"));
    struct rps_error err;
    struct stat status;

    for (int i = 0; i < 2; i++) {
        if (i == 0)
            fixture_write_text(path, "mine");
        else
            assert_int_equal(symlink("nothing", path), 0);
        assert_int_equal(rps_database_make(path, 0644, rps_database_fill_store, path, &err), 1);
        assert_int_equal(lstat(path, &status), 0);
        assert_int_equal(status.st_size, i == 0 ? 4 : 7);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(*state), 0);
        assert_int_equal(mkdir(*state, 0755), 0);
    }
    free(path);
}

/* An empty file becomes the same store as a new file, which is a copy of a store made at build
 * time. */
static void an_empty_file_is_a_fresh_store(void **state)
{
    static const char *const same[] = {"PRAGMA application_id", "PRAGMA user_version",
                                       "PRAGMA page_size",      "PRAGMA encoding",
                                       "PRAGMA auto_vacuum",    "PRAGMA journal_mode"};
    const char *path = fixture_path(state, "s"), *new_path = fixture_path(state, "new");
    struct rps_error err;
    char sql[1024];

    fixture_write_text(path, "");
    assert_int_equal(fixture_try_read(path, &err), RPS_FAILED);
    fixture_says(&err, path, "is empty", NULL);
    fixture_store(path);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
    fixture_store(new_path);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        char text[64];

        snprintf(text, sizeof(text), "%s", fixture_text(path, same[i]));
        assert_string_equal(fixture_text(new_path, same[i]), text);
    }
    snprintf(sql, sizeof(sql),
             "ATTACH '%s' AS new; CREATE TEMP TABLE differing (count CHECK (count = 0));"
             "INSERT INTO differing SELECT count(*) FROM (SELECT type, name, sql FROM"
             " main.sqlite_schema EXCEPT SELECT type, name, sql FROM new.sqlite_schema);"
             "INSERT INTO differing SELECT count(*) FROM (SELECT type, name, sql FROM"
             " new.sqlite_schema EXCEPT SELECT type, name, sql FROM main.sqlite_schema)",
             new_path);
    fixture_exec(path, sql);
}

/* A database without tables, left by a recorder killed before its first commit, is a fresh store.
 */
static void a_database_without_tables_is_a_fresh_store(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_error err;
    struct stat status;
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size > 0);
    assert_int_equal(fixture_try_read(path, &err), RPS_FAILED);
    fixture_says(&err, path, "is empty", NULL);
    fixture_store(path);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM run"), 1);
}

static void a_name_is_only_a_name(void **state)
{
    char folder[256];

    assert_non_null(getcwd(folder, sizeof(folder)));
    assert_int_equal(chdir(*state), 0);
    fixture_store(":memory:");
    fixture_store("file:x?mode=ro");
    assert_int_equal(access(":memory:", F_OK), 0);
    assert_int_equal(access("file:x?mode=ro", F_OK), 0);
    assert_int_equal(chdir(folder), 0);
}

static void other_kinds_of_file(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_error err;

    fixture_write_text(path, "hello\n");
    refused(path, "is not an rpistat store");
    fixture_write_text(path, "a much longer text, which has more than sixteen bytes and no magic");
    refused(path, "is not an rpistat store");
    assert_int_equal(fixture_try_write(*state, &err), RPS_FAILED);
    fixture_says(&err, *state, "is a directory", NULL);
    assert_int_equal(fixture_try_read(*state, &err), RPS_FAILED);
    fixture_says(&err, *state, "is a directory", NULL);
    assert_int_equal(fixture_try_write("/dev/null", &err), RPS_FAILED);
    fixture_says(&err, "/dev/null", "regular file", NULL);
    assert_int_equal(fixture_try_read("", &err), RPS_FAILED);
    fixture_says(&err, "empty", NULL);
}

static sqlite3 *make_foreign(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void another_programs_database(void **state)
{
    const char *path = fixture_path(state, "s");

    sqlite3_close(make_foreign(path, "CREATE TABLE a (b)"));
    refused(path, "belongs to another program that uses SQLite");
    unlink(path);
    sqlite3_close(make_foreign(path, "PRAGMA application_id = 5; PRAGMA user_version = 1000"));
    refused(path, "belongs to another program that uses SQLite");
}

/* When SQLite closes the last connection, it would move the log of another program into its
 * database file. */
static void another_programs_log_is_left_alone(void **state)
{
    char path[512], log[600];
    size_t before_size, after_size, log_before, log_after;
    char *before, *after;
    struct rps_error err;
    int status;
    pid_t child;

    snprintf(path, sizeof(path), "%s", fixture_path(state, "s"));
    snprintf(log, sizeof(log), "%s-wal", path);
    child = fixture_fork();
    if (child == 0) { /* The child dies without moving its log. */
        make_foreign(path,
                     "PRAGMA journal_mode = WAL; CREATE TABLE a (b); INSERT INTO a VALUES(1)");
        _exit(0);
    }
    waitpid(child, &status, 0);
    before = read_whole(path, &before_size);
    free(read_whole(log, &log_before));
    assert_true(log_before > 0);
    assert_int_equal(fixture_try_write(path, &err), RPS_FAILED);
    fixture_says(&err, "another program that uses SQLite", NULL);
    after = read_whole(path, &after_size);
    free(read_whole(log, &log_after));
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    assert_int_equal(log_before, log_after);
    free(before);
    free(after);
}

static void newer_formats(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_error err;

    fixture_store(path);
    fixture_exec(path, "PRAGMA user_version = 1008");
    assert_int_equal(fixture_try_read(path, &err), 0);
    assert_int_equal(fixture_try_write(path, &err), 0);
    assert_int_equal(fixture_number(path, "PRAGMA user_version"), 1008);
    fixture_exec(path, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 2003");
    refused(path, "format 2.3");
}

/* Missing parts of an older store are added when it is opened for writing. The rows of its run stay
 * unchanged. */
static void older_formats(void **state)
{
    const char *path = fixture_path(state, "s");
    struct rps_error err;
    int64_t unknown = 0;
    sqlite3 *db = NULL;

    fixture_store(path);
    fixture_exec(path, "DROP VIEW sample; DROP VIEW rate; DROP VIEW run_summary; DROP VIEW finest;"
                       "DROP VIEW stack_count; DROP VIEW task_count; DROP VIEW function_count;"
                       "DROP VIEW blocked_time; DROP VIEW code_number; DROP VIEW stack_frame; DROP "
                       "VIEW frame_name;"
                       "ALTER TABLE period DROP COLUMN missed; DROP TABLE code_count;"
                       "ALTER TABLE run DROP COLUMN recorder_after_ns; CREATE TABLE recorder_after"
                       " (run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,"
                       " cpu_ns INTEGER NOT NULL) STRICT; INSERT INTO recorder_after VALUES (1, 5);"
                       "PRAGMA user_version = 1000");
    assert_int_equal(fixture_try_read(path, &err), 0);
    assert_int_equal(fixture_number(path, "PRAGMA user_version"), 1000);
    assert_int_equal(rps_database_open_read(path, &db, &err), 0);
    assert_int_equal(
        rps_database_ask(db, &unknown, "SELECT count(*) FROM finest WHERE missed IS NULL", ""),
        SQLITE_OK);
    assert_int_equal(unknown, fixture_number(path, "SELECT count(*) FROM period"));
    assert_int_not_equal(rps_database_exec(db, "CREATE TEMP TABLE t (a)"), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(fixture_try_write(path, &err), 0);
    assert_int_equal(fixture_number(path, "PRAGMA user_version"), RPS_STORE_VERSION);
    assert_int_equal(fixture_number(path, "SELECT recorder_after_ns FROM run"), 5);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM finest WHERE missed IS NULL"),
                     fixture_number(path, "SELECT count(*) FROM period"));
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM code_count"), 0);
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM sqlite_schema WHERE name ="
                                          " 'recorder_after'"),
                     0);
}

static void a_damaged_store(void **state)
{
    const char *path = fixture_path(state, "s");
    int fd;

    fixture_store(path);
    fixture_exec(path, "PRAGMA journal_mode = DELETE");
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "garbage", 7, 100), 7); /* the root page of the schema */
    close(fd);
    refused(path, "is damaged");
}

static void places_that_do_not_exist(void **state)
{
    char path[600];
    struct rps_error err;

    snprintf(path, sizeof(path), "%s/none/s", (char *)*state);
    assert_int_equal(fixture_try_write(path, &err), RPS_FAILED);
    fixture_says(&err, path, "does not exist", "create it", NULL);
    assert_int_equal(fixture_try_read(path, &err), RPS_FAILED);
    fixture_says(&err, "there is no store", path, NULL);
    fixture_write_text(fixture_path(state, "file"), "x");
    snprintf(path, sizeof(path), "%s/file/s", (char *)*state);
    assert_int_equal(fixture_try_write(path, &err), RPS_FAILED);
    fixture_says(&err, path, "is not a directory", NULL);
}

/* Call `check` in a child process, as a user without root rights. Fail the test if `check` returns
 * 0. */
static void as_nobody(int (*check)(const char *path, struct rps_error *err), const char *path)
{
    int status = -1;
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct rps_error err = {"no error"};

        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(2);
        if (check(path, &err))
            _exit(0);
        fprintf(stderr, "said: %s\n", err.message);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int says_read_only(const char *path, struct rps_error *err)
{
    return fixture_try_write(path, err) < 0 && strstr(err->message, "is read-only") &&
           strstr(err->message, path);
}

static int says_folder(const char *path, struct rps_error *err)
{
    return fixture_try_write(path, err) < 0 && strstr(err->message, "is not writable") &&
           strstr(err->message, "choose another store");
}

static int says_cannot_read(const char *path, struct rps_error *err)
{
    return fixture_try_read(path, err) < 0 && strstr(err->message, "cannot read the store") &&
           strstr(err->message, "Permission denied");
}

/* Read a store in WAL mode whose side files are missing and cannot be created. */
static int can_read(const char *path, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    struct rps_run run;

    if (rps_reader_open(&reader, path, err) < 0 ||
        rps_reader_run(fixture_arena, reader, 1, &run, err) < 0)
        return 0;
    rps_reader_close(reader);
    return 1;
}

static void permissions(void **state)
{
    const char *path = fixture_path(state, "a %?#b");

    fixture_store(path);
    chmod(path, 0444);
    chmod(*state, 0777);
    as_nobody(says_read_only, path);
    chmod(path, 0666);
    chmod(*state, 0555);
    as_nobody(says_folder, path);
    as_nobody(says_folder, fixture_path(state, "new"));
    as_nobody(can_read, path);
    chmod(path, 0000);
    as_nobody(says_cannot_read, path);
    chmod(*state, 0755);
    chmod(path, 0644);
}

/* --- a full disk ------------------------------------------------------------------------------ */

/* Fill a file system to the last byte. */
static void fill_disk(const char *path)
{
    char block[512] = {1};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    while (write(fd, block, sizeof(block)) > 0)
        ;
    close(fd);
}

/* Return 0 if the check passed, 1 if it failed, 2 if no file system could be made. */
static int full_disk_child(const char *folder)
{
    char path[600], filler[600];
    struct rps_error err = {"no error"};

    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=500k") != 0)
        return 2;
    snprintf(path, sizeof(path), "%s/s", folder);
    snprintf(filler, sizeof(filler), "%s/filler", folder);
    fill_disk(filler);
    if (fixture_try_write(path, &err) == 0 || !strstr(err.message, "disk is full") ||
        access(path, F_OK) == 0) {
        fprintf(stderr, "fresh store: %s\n", err.message);
        return 1;
    }
    unlink(filler);
    fixture_store(path);
    fill_disk(filler);
    if (fixture_try_write(path, &err) == 0 || !strstr(err.message, "disk is full") ||
        fixture_try_read(path, &err) < 0) {
        fprintf(stderr, "existing store: %s\n", err.message);
        return 1;
    }
    unlink(filler);
    return fixture_try_write(path, &err) == 0 &&
                   fixture_number(path, "SELECT count(*) FROM period") == 3
               ? 0
               : 1;
}

static void a_full_disk(void **state)
{
    int status = -1;
    pid_t child = fixture_fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(full_disk_child(*state));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        print_message("# skipped: making a small file system takes the right to mount\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- where there is no shared memory ---------------------------------------------------------- */

static void count_notice(void *context, const char *sentence)
{
    if (strstr(sentence, "file system without shared memory"))
        ++*(int *)context;
}

/* With SQLite's dot-file locking there is no shared memory, as on network file systems. */
static void without_shared_memory(void **state)
{
    const char *path = fixture_path(state, "s");
    sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    int notices = 0;
    struct rps_writer_options options = {.notice = count_notice, .notice_context = &notices};
    struct rps_run run;
    struct rps_writer *writer;

    sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
    writer = fixture_writer(path, &options, &run);
    for (unsigned int n = 0; n < 5; n++) {
        struct rps_period period = fixture_period(n, 2);

        rps_writer_period(writer, &period);
    }
    fixture_end(writer, &run);
    sqlite3_vfs_register(usual, 1);
    assert_int_equal(notices, 1);
    assert_string_equal(fixture_text(path, "PRAGMA journal_mode"), "wal");
    assert_int_equal(fixture_number(path, "SELECT count(*) FROM period"), 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_folder, fixture_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_has_its_marks),
        TEST(what_has_the_name_stays),
        TEST(an_empty_file_is_a_fresh_store),
        TEST(a_database_without_tables_is_a_fresh_store),
        TEST(a_name_is_only_a_name),
        TEST(other_kinds_of_file),
        TEST(another_programs_database),
        TEST(another_programs_log_is_left_alone),
        TEST(newer_formats),
        TEST(older_formats),
        TEST(a_damaged_store),
        TEST(places_that_do_not_exist),
        TEST(permissions),
        TEST(a_full_disk),
        TEST(without_shared_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
