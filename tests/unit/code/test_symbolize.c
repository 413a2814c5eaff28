/* Tests of symbolization of programs that the test compiles. Arguments: the source directory and
 * the compiler. */
#include "rpistat/code_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifdef RPS_HAS_ELFUTILS
#include <gelf.h>
#endif

#include "code/symbolize_parts.h"

static char folder[] = "/tmp/rpistat-naming-XXXXXX";
static char sources[512], compiler[512];
static struct rps_arena *arena; /* memory of all named code */

/* --- the code that is named ------------------------------------------------------------------- */

static const char *absolute(const char *path)
{
    return path[0] == '/' || path[0] == '[' || path[0] == '\0'
               ? path
               : rps_arena_print(arena, "%s/%s", folder, path);
}

/* Make code with one module, mapped from the file as it is now, and one frame per address. The
 * caller frees nothing. */
static void make_code(struct rps_code *ret, enum rps_module_kind kind, const char *path,
                      const char *build_id, const uint64_t *address, size_t count)
{
    struct stat file;

    *ret = (struct rps_code){.module_count = 1, .frame_count = count, .task_count = 1};
    ret->module = rps_arena_get(arena, 1, sizeof(*ret->module));
    ret->frame = rps_arena_get(arena, count, sizeof(*ret->frame));
    ret->task = rps_arena_get(arena, 1, sizeof(*ret->task));
    ret->module[0] = (struct rps_module){.kind = kind, .path = absolute(path)};
    ret->origin = rps_arena_get(arena, 1, sizeof(*ret->origin));
    if (stat(ret->module[0].path, &file) == 0)
        ret->origin[0] = (struct rps_module_origin){
            .major = major(file.st_dev), .minor = minor(file.st_dev), .inode = file.st_ino};
    snprintf(ret->module[0].build_id, sizeof(ret->module[0].build_id), "%s", build_id);
    for (size_t i = 0; i < count; i++)
        ret->frame[i] = (struct rps_frame){(int64_t)i, 0, address[i], 0};
    ret->task[0] = (struct rps_task){.name = "worker"};
}

static void name_code(struct rps_code *code, const struct rps_symbolize_options *options)
{
    static const struct rps_symbolize_options opens = {.opens_paths = 1};
    struct rps_error err = {""};

    if (rps_symbolize(arena, code, options ? options : &opens, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(code->task[0].name, "worker");
}

/* Return the location of the frame at the given depth of inlining. */
static const struct rps_location *location_of(const struct rps_code *code, size_t frame, int depth)
{
    for (size_t i = 0; i < code->location_count; i++) {
        if (code->location[i].frame == (int64_t)frame && code->location[i].depth == depth)
            return &code->location[i];
    }
    fail_msg("frame %zu has no depth %d", frame, depth);
    return NULL;
}

static size_t depths_of(const struct rps_code *code, size_t frame)
{
    size_t count = 0;

    for (size_t i = 0; i < code->location_count; i++)
        count += code->location[i].frame == (int64_t)frame;
    return count;
}

static void expect(const struct rps_code *code, size_t frame, enum rps_location_how how,
                   const char *function)
{
    assert_string_equal(location_of(code, frame, 0)->function, function);
    assert_int_equal(location_of(code, frame, 0)->how, how);
    if (how != RPS_LOCATION_DEBUG) {
        assert_int_equal(depths_of(code, frame), 1);
        assert_string_equal(location_of(code, frame, 0)->file, "");
        assert_int_equal(location_of(code, frame, 0)->line, 0);
    }
}

/* --- programs --------------------------------------------------------------------------------- */

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* Run a command in the test's directory. %s stands for the compiler and for the source directory.
 */
#define RUN(...)                                                                                   \
    do {                                                                                           \
        char command_[4096];                                                                       \
        snprintf(command_, sizeof(command_), __VA_ARGS__);                                         \
        run(command_);                                                                             \
    } while (0)

#define CC_PROGRAM "%s %s -o %s %s/fixture_code.c %s/fixture_main.c"

static const char *const spots[] = {"inner", "middle", "outer",  "hidden", "bar",
                                    "rust",  "legacy", "nested", "entry"};
enum { INNER, MIDDLE, OUTER, HIDDEN, BAR, RUST, LEGACY, NESTED, ENTRY, SPOTS };

struct program {
    const char *path;
    char build_id[41];
    uint64_t address[SPOTS];
    int line[SPOTS];
};

static FILE *open_command(const char *command)
{
    FILE *pipe = popen(command, "r");

    assert_non_null(pipe);
    return pipe;
}

/* Get the program's report of its spots, and its build-id by readelf. `path` is the file of the
 * code. */
static void look_at(struct program *ret, const char *program, const char *path)
{
    char command[256], name[32], line[256];
    FILE *pipe;

    *ret = (struct program){.path = path};
    snprintf(command, sizeof(command), "./%s", program);
    pipe = open_command(command);
    for (int i = 0; i < SPOTS; i++) {
        assert_int_equal(fscanf(pipe, "%31s %" SCNx64 " %d", name, &ret->address[i], &ret->line[i]),
                         3);
        assert_string_equal(name, spots[i]);
    }
    pclose(pipe);
    snprintf(command, sizeof(command), "readelf -n %s 2>/dev/null", path);
    pipe = open_command(command);
    while (fgets(line, sizeof(line), pipe))
        sscanf(line, " Build ID: %40[0-9a-f]", ret->build_id);
    pclose(pipe);
}

static void compile(struct program *ret, const char *name, const char *options)
{
    RUN(CC_PROGRAM, compiler, options, name, sources, sources);
    look_at(ret, name, name);
}

static void name_program(struct rps_code *ret, const struct program *program,
                         const struct rps_symbolize_options *options)
{
    make_code(ret, RPS_MODULE_FILE, program->path, program->build_id, program->address, SPOTS);
    name_code(ret, options);
}

static void expect_all(const struct program *program, const char *reason)
{
    struct rps_code code;

    name_program(&code, program, NULL);
    for (size_t i = 0; i < SPOTS; i++)
        expect(&code, i, RPS_LOCATION_NONE, reason);
}

static void skip_without_elfutils(void)
{
#ifndef RPS_HAS_ELFUTILS
    print_message("rpistat was built without elfutils\n");
    skip();
#endif
}

/* Check the names from symbols. `hidden` is the name of the local function. */
static void expect_symbols(const struct rps_code *code, const char *hidden)
{
    expect(code, INNER, RPS_LOCATION_SYMBOL, "outer");
    expect(code, OUTER, RPS_LOCATION_SYMBOL, "outer");
    expect(code, HIDDEN, strcmp(hidden, "hidden") == 0 ? RPS_LOCATION_SYMBOL : RPS_LOCATION_NONE,
           hidden);
    expect(code, BAR, RPS_LOCATION_SYMBOL, "foo::bar(int)");
    expect(code, RUST, RPS_LOCATION_SYMBOL, "mycrate::run");
    expect(code, LEGACY, RPS_LOCATION_SYMBOL, "mycrate::walk");
}

static void expect_line(const struct rps_code *code, size_t frame, int depth, const char *function,
                        int line)
{
    const struct rps_location *found = location_of(code, frame, depth);
    const char *slash = strrchr(found->file, '/');

    assert_string_equal(found->function, function);
    assert_string_equal(slash ? slash : found->file, "/fixture_code.c");
    assert_int_equal(found->line, line);
    assert_int_equal(found->how, RPS_LOCATION_DEBUG);
}

static void expect_debug(const struct program *program, const struct rps_symbolize_options *options)
{
    const int *line = program->line;
    struct rps_code code;

    name_program(&code, program, options);
    expect_line(&code, INNER, 0, "inner", line[INNER]);
    expect_line(&code, INNER, 1, "middle", line[MIDDLE] + 1);
    expect_line(&code, INNER, 2, "outer", line[OUTER] + 1);
    assert_int_equal(depths_of(&code, INNER), 3);
    expect_line(&code, MIDDLE, 0, "middle", line[MIDDLE]);
    expect_line(&code, MIDDLE, 1, "outer", line[OUTER] + 1);
    assert_int_equal(depths_of(&code, MIDDLE), 2);
    expect_line(&code, OUTER, 0, "outer", line[OUTER]);
    assert_int_equal(depths_of(&code, OUTER), 1);
    expect_line(&code, HIDDEN, 0, "hidden", line[HIDDEN]);
    expect_line(&code, BAR, 0, "foo::bar(int)", line[BAR]);
    expect_line(&code, RUST, 0, "mycrate::run", line[RUST]);
    expect_line(&code, LEGACY, 0, "mycrate::walk", line[LEGACY]);
    expect_line(&code, NESTED, 0, "nested", line[NESTED]);
    expect_line(&code, ENTRY, 0, "outer", line[ENTRY]);
    assert_int_equal(depths_of(&code, ENTRY), 1);
}

/* --- files ------------------------------------------------------------------------------------ */

static void test_debug(void **state)
{
    struct program program;

    (void)state;
    skip_without_elfutils();
    compile(&program, "pie", "-g -O2 -fPIE -pie");
    expect_debug(&program, NULL);
    compile(&program, "sections", "-gdwarf-4 -O2 -ffunction-sections -no-pie");
    expect_debug(&program, NULL);
    RUN("objcopy --remove-section .debug_aranges pie bare"); /* clang writes no such section */
    look_at(&program, "bare", "bare");
    expect_debug(&program, NULL);
}

static void test_symbols(void **state)
{
    struct program program;
    struct rps_code code;

    (void)state;
    skip_without_elfutils();
    compile(&program, "plain", "-O2");
    name_program(&code, &program, NULL);
    expect_symbols(&code, "hidden");
    compile(&program, "static", "-O2 -static");
    name_program(&code, &program, NULL);
    expect_symbols(&code, "hidden");
    RUN("strip plain -o stripped");
    look_at(&program, "stripped", "stripped");
    expect_all(&program, "stripped");
}

/* A library without other symbols has the names of its exported functions. */
static void test_library(void **state)
{
    struct program program;
    struct rps_code code;

    (void)state;
    skip_without_elfutils();
    RUN("%s -O2 -g -fPIC -shared -Wl,-soname,libcode.so -o libcode.so %s/fixture_code.c && "
        "%s -o user %s/fixture_main.c ./libcode.so -Wl,-rpath,.",
        compiler, sources, compiler, sources);
    look_at(&program, "user", "libcode.so");
    expect_debug(&program, NULL);
    RUN("strip libcode.so");
    look_at(&program, "user", "libcode.so");
    name_program(&code, &program, NULL);
    expect_symbols(&code, "stripped");
}

/* Calls of a library go through a table that has no symbols. */
static void test_linkage(void **state)
{
#if defined(RPS_HAS_ELFUTILS) && defined(__x86_64__)
    struct rps_code code;
    uint64_t at, entry;
    char line[512];
    FILE *pipe;
    int is_found = 0;

    (void)state;
    RUN("%s -O2 -Wl,-z,lazy -fcf-protection=none -o lazy %s/fixture_code.c %s/fixture_main.c",
        compiler, sources, sources);
    pipe = open_command("objdump -d -j .plt lazy");
    while (fgets(line, sizeof(line), pipe))
        is_found |= strstr(line, "<fopen@plt>:") && sscanf(line, "%" SCNx64, &at) == 1;
    pclose(pipe);
    assert_true(is_found);
    entry = at + 6; /* an address within the entry; offsets in a PIE are addresses */
    make_code(&code, RPS_MODULE_FILE, "lazy", "", &entry, 1);
    name_code(&code, NULL);
    expect(&code, 0, RPS_LOCATION_SYMBOL, "fopen@plt");
#else
    (void)state;
    print_message("only tested on x86-64 with elfutils\n");
    skip();
#endif
}

static void test_debug_file(void **state)
{
    struct program program;

    (void)state;
    skip_without_elfutils();
    compile(&program, "split", "-g -O2");
    RUN("objcopy --only-keep-debug split split.debug && strip split && "
        "objcopy --add-gnu-debuglink=split.debug split");
    look_at(&program, "split", "split");
    expect_debug(&program, NULL);
    RUN("mkdir .debug && mv split.debug .debug/");
    expect_debug(&program, NULL);
    RUN("printf x >>.debug/split.debug"); /* the checksum changes, but the build-id does not */
    expect_debug(&program, NULL);
    RUN("rm .debug/split.debug");
    expect_all(&program, "stripped");
    RUN("mkfifo split.debug"); /* a pipe without a writer must not block */
    expect_all(&program, "stripped");
    RUN("mv split.debug .debug/");
    expect_all(&program, "stripped");
    RUN("rm .debug/split.debug");
}

/* The debug link of dwz may be a path, but is not followed to other directories. */
static void test_links(void **state)
{
    struct program program, victim = {.path = "victim"};
    struct rps_symbolize_options options = {.opens_paths = 1};
    struct inotify_event event;
    int fd = -1;
    struct rps_code code;

    (void)state;
    skip_without_elfutils();
    for (int i = 0; i < 2; i++) {
        compile(&program, "linked", "-g -O2");
        RUN("cp linked victim && printf '%s%s/victim\\0%%020d' 0 >link && "
            "objcopy --add-section .gnu_debugaltlink=link linked",
            i == 0 ? "" : "/usr/lib/debug/../../..", folder);
        close(fd);
        fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        assert_true(fd >= 0 && inotify_add_watch(fd, victim.path, IN_OPEN) >= 0);
        expect_debug(&program, &options);
        assert_true(read(fd, &event, sizeof(event)) < 0);
    }
    victim.build_id[0] = '\0';
    name_program(&code, &victim, &options);
    assert_true(read(fd, &event, sizeof(event)) > 0);
    close(fd);
}

static void test_changed(void **state)
{
    struct program program;

    (void)state;
    skip_without_elfutils();
    compile(&program, "changing", "-O2");
    assert_int_equal(strlen(program.build_id), 40);
    RUN(CC_PROGRAM, compiler, "-O1", "changing", sources, sources);
    expect_all(&program, "another build now");
    RUN("echo >changing"); /* same device and inode as the mapped file, but other content */
    expect_all(&program, "its file is not an ELF file");
    RUN("%s -c -o changing %s/fixture_main.c", compiler, sources);
    expect_all(&program, "its file is not an ELF file");
    RUN("rm changing");
    expect_all(&program, "not there any more");
}

static void test_hostile_paths(void **state)
{
    static const char *const paths[] = {"fifo", "/dev/zero", "/dev/tty",       ".",
                                        "loop", "",          "gone (deleted)", "/proc/self/mem/x"};
    struct program program = {.address = {1, UINT64_MAX, 0}};

    (void)state;
    skip_without_elfutils();
    RUN("mkfifo fifo && ln -s loop loop");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        program.path = paths[i];
        expect_all(&program, "not there any more");
    }
    program.path = "/proc/kmsg";
    expect_all(&program, "not there any more");
}

static void test_no_code_there(void **state)
{
    uint64_t addresses[] = {0, 64, UINT64_C(1) << 40, UINT64_MAX};
    struct program program;
    struct rps_code code;

    (void)state;
    skip_without_elfutils();
    compile(&program, "small", "-O2");
    make_code(&code, RPS_MODULE_FILE, "small", "", addresses, 4);
    name_code(&code, NULL);
    for (size_t i = 0; i < 4; i++)
        expect(&code, i, RPS_LOCATION_NONE, "no code is there in its file");
}

/* --- a store from elsewhere ------------------------------------------------------------------- */

/* Return how often the file is opened while its code is named with these options. */
static int count_opens(const struct program *program, const struct rps_symbolize_options *options)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), count = 0;
    struct inotify_event event;
    struct rps_code code;

    assert_true(fd >= 0 && inotify_add_watch(fd, program->path, IN_OPEN | IN_ACCESS) >= 0);
    name_program(&code, program, options);
    while (read(fd, &event, sizeof(event)) > 0)
        count++;
    close(fd);
    return count;
}

static void test_opens_no_path(void **state)
{
    struct rps_symbolize_options options = {.opens_paths = 1};
    struct program program;
    struct rps_code code;
    char path[512];

    (void)state;
    skip_without_elfutils();
    compile(&program, "named", "-O2");
    snprintf(path, sizeof(path), "%s/named", folder);
    program.path = path;
    assert_true(count_opens(&program, &options) > 0);
    options.opens_paths = 0;
    assert_int_equal(count_opens(&program, &options), 0);
    strcpy(program.build_id, "../../../../../../tmp/a");
    assert_int_equal(count_opens(&program, &options), 0);
    name_program(&code, &program, &options);
    expect(&code, OUTER, RPS_LOCATION_NONE, "its file is not here");
}

/* Check the function's name for a module of `path` on another machine, symbolized with `binary`. */
static void expect_binary(const struct program *program, const char *path, const char *binary,
                          const char *function)
{
    struct rps_symbolize_options options = {.binary = &binary, .binary_count = 1};
    struct program moved = *program;
    struct rps_code code;

    moved.path = path;
    name_program(&code, &moved, &options);
    assert_string_equal(location_of(&code, OUTER, 0)->function, function);
}

static void test_binaries(void **state)
{
    static const char none[] = "its file is not here", other[] = "another build now";
    struct program program;

    (void)state;
    skip_without_elfutils();
    compile(&program, "mine", "-O2");
    RUN("mkdir -p root/opt/bin && cp mine root/opt/bin/ && mkdir flat && cp mine flat/");
    expect_binary(&program, "/opt/bin/mine", "mine", "outer");
    /* the file is found by its build-id */
    expect_binary(&program, "/opt/bin/renamed", "mine", "outer");
    expect_binary(&program, "/opt/bin/mine", "root", "outer");
    expect_binary(&program, "/opt/bin/mine", "flat", "outer");
    expect_binary(&program, "/opt/bin/mine", "nowhere", none);
    /* the path must stay in the directory */
    expect_binary(&program, "/opt/../../mine", "root", none);
    expect_binary(&program, "/../mine", "flat", "outer"); /* the file is found by its name */
    expect_binary(&program, "..", "flat", none);
    RUN(CC_PROGRAM, compiler, "-O1", "flat/mine", sources, sources);
    expect_binary(&program, "/opt/bin/mine", "flat", other);
    program.build_id[0] = '\0';
    expect_binary(&program, "/opt/bin/renamed", "mine", none);
    expect_binary(&program, "/opt/bin/mine", "mine", "outer");
}

/* Existing names of frames are kept if the file is elsewhere. */
static void test_keeps_names(void **state)
{
    struct rps_symbolize_options options = {.opens_paths = 0};
    uint64_t addresses[] = {1, 2, 3};
    struct rps_code code;

    (void)state;
    make_code(&code, RPS_MODULE_KERNEL, "[kernel]", "", addresses, 3);
    code.location_count = 4;
    code.location = rps_arena_get(arena, 4, sizeof(*code.location));
    code.location[0] = (struct rps_location){0, 0, "inlined", "a.c", 3, RPS_LOCATION_DEBUG};
    code.location[1] = (struct rps_location){0, 1, "known", "b.c", 4, RPS_LOCATION_DEBUG};
    code.location[2] = (struct rps_location){2, 0, "stripped", "", 0, RPS_LOCATION_NONE};
    code.location[3] = (struct rps_location){99, 0, "nonsense", "", 0, RPS_LOCATION_SYMBOL};
    name_code(&code, &options);
    assert_int_equal(code.location_count, 4);
    assert_string_equal(location_of(&code, 0, 0)->function, "inlined");
    assert_string_equal(location_of(&code, 0, 1)->file, "b.c");
    assert_int_equal(location_of(&code, 0, 1)->line, 4);
    expect(&code, 1, RPS_LOCATION_NONE, "only the recorder itself could name it");
    expect(&code, 2, RPS_LOCATION_NONE, "only the recorder itself could name it");
    name_code(&code, &options); /* the frames are named twice */
    assert_string_equal(location_of(&code, 0, 1)->function, "known");
}

/* --- other kinds ------------------------------------------------------------------------------ */

static void test_without_file(void **state)
{
    uint64_t addresses[] = {1, 2, 3};
    struct rps_code code;

    (void)state;
    make_code(&code, RPS_MODULE_MEMORY, "", "", addresses, 3);
    code.frame[1].module = -1;
    code.frame[2].module = 7;
    name_code(&code, NULL);
    expect(&code, 0, RPS_LOCATION_NONE, "no file is mapped there");
    expect(&code, 1, RPS_LOCATION_NONE, "its module is not known");
    expect(&code, 2, RPS_LOCATION_NONE, "its module is not known");
    make_code(&code, RPS_MODULE_SIMULATED, "simulated", "", addresses, 2);
    code.location_count = 1;
    code.location = rps_arena_get(arena, 1, sizeof(*code.location));
    code.location[0] = (struct rps_location){0, 0, "solve", "three.c", 12, RPS_LOCATION_MAP};
    name_code(&code, NULL);
    assert_string_equal(location_of(&code, 0, 0)->function, "solve");
    assert_int_equal(location_of(&code, 0, 0)->line, 12);
    expect(&code, 1, RPS_LOCATION_NONE, "the simulation has no function there");
}

static void test_nothing(void **state)
{
    struct rps_code code;

    (void)state;
    make_code(&code, RPS_MODULE_FILE, "/bin/sh", "", NULL, 0);
    name_code(&code, NULL);
    assert_int_equal(code.location_count, 0);
    assert_string_equal(code.module[0].path, "/bin/sh");
}

/* Name the kernel's frames with a given text of kallsyms. */
static void name_by(const char *kallsyms, const uint64_t *address, size_t count,
                    struct rps_symbolizer *ret)
{
    size_t frames[8];
    struct rps_symbolize_group group = {.frame = frames, .address = address, .count = count};
    FILE *file = fmemopen((void *)(uintptr_t)kallsyms, strlen(kallsyms), "r");

    for (size_t i = 0; i < count; i++)
        frames[i] = i;
    *ret = (struct rps_symbolizer){.arena = arena,
                                   .frame = rps_arena_get(arena, count, sizeof(*ret->frame))};
    assert_non_null(file);
    rps_symbolize_kallsyms(ret, &group, file);
    fclose(file);
}

static void expect_name(const struct rps_symbolizer *symbolizer, size_t frame, const char *function)
{
    assert_string_equal(symbolizer->frame[frame].location->function, function);
}

static void test_kallsyms(void **state)
{
    static const uint64_t addresses[] = {0xfff, 0x1000, 0x10ff, 0x2004, 0x2008, 0x3000, 0x4001};
    struct rps_symbolizer symbolizer;

    (void)state;
    name_by("0000000000000000 A percpu\n"
            "0000000000002000 t inside\t[ext4]\n"
            "nonsense\n"
            "0000000000001000 T __alias\n"
            "0000000000001000 T start\n"
            "0000000000001000 T _other\n"
            "0000000000003000 D data\n"
            "0000000000004000 W last\n",
            addresses, 7, &symbolizer);
    expect_name(&symbolizer, 0, "no symbol of the kernel is there");
    expect_name(&symbolizer, 1, "start");
    expect_name(&symbolizer, 2, "start");
    expect_name(&symbolizer, 3, "inside [ext4]");
    expect_name(&symbolizer, 4, "inside [ext4]");
    expect_name(&symbolizer, 5, "no symbol of the kernel is there");
    expect_name(&symbolizer, 6, "last");
    /* the text after the last address is read only if modules may follow */
    name_by("0000000000001000 T start\n0000000000005000 T behind\n0000000000004000 T unread\n",
            addresses + 1, 6, &symbolizer);
    expect_name(&symbolizer, 5, "start");
    name_by("0000000000001000 T start\n0000000000005000 t behind\t[b]\n"
            "0000000000004000 t inside\t[a]\n",
            addresses + 1, 6, &symbolizer);
    expect_name(&symbolizer, 5, "inside [a]");
    name_by("0000000000000100 D percpu\n0000000000005000 T kernel\n"
            "0000000000000f00 t below\t[a]\n",
            addresses, 1, &symbolizer);
    expect_name(&symbolizer, 0, "below [a]");
    name_by("0000000000000000 T start\n0000000000000000 T other\n", addresses, 1, &symbolizer);
    expect_name(&symbolizer, 0,
                "the kernel's symbols may not be read: kernel.kptr_restrict, "
                "kernel.perf_event_paranoid");
}

static void test_kernel(void **state)
{
    FILE *file = fopen("/proc/kallsyms", "r");
    uint64_t address = 0, found = 0;
    struct rps_code code;
    char line[512];

    (void)state;
    while (file && fgets(line, sizeof(line), file)) {
        if (strstr(line, " T vfs_read\n"))
            found = strtoull(line, NULL, 16);
    }
    if (file)
        fclose(file);
    if (found == 0) {
        print_message("the kernel's symbols may not be read here\n");
        skip();
    }
    address = found + 4;
    make_code(&code, RPS_MODULE_KERNEL, "[kernel]", "", &address, 1);
    name_code(&code, NULL);
    expect(&code, 0, RPS_LOCATION_SYMBOL, "vfs_read");
}

static void test_vdso(void **state)
{
#if defined(RPS_HAS_ELFUTILS) && UINTPTR_MAX > UINT32_MAX
    char *image = (char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
    const Elf64_Ehdr *start = (const void *)image;
    size_t size = start ? start->e_shoff + start->e_shnum * sizeof(Elf64_Shdr) : 0;
    Elf *elf = image && elf_version(EV_CURRENT) ? elf_memory(image, size) : NULL;
    Elf_Scn *section = NULL;
    uint64_t address = 0;
    char *expected = NULL;
    struct rps_code code;

    (void)state;
    while (elf && !address && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        GElf_Sym sym;

        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
            continue;
        for (int i = 1; i < (int)(header.sh_size / header.sh_entsize) && !address; i++) {
            if (gelf_getsym(elf_getdata(section, NULL), i, &sym) && sym.st_size > 4 &&
                GELF_ST_BIND(sym.st_info) == STB_GLOBAL) {
                address = sym.st_value + 2;
                expected = strdup(elf_strptr(elf, header.sh_link, sym.st_name));
            }
        }
    }
    elf_end(elf);
    if (!address) {
        print_message("this machine has no vdso\n");
        skip();
    }
    make_code(&code, RPS_MODULE_VDSO, "[vdso]", "", &address, 1);
    name_code(&code, NULL);
    expect(&code, 0, RPS_LOCATION_SYMBOL, expected);
    free(expected);
#else
    (void)state;
    print_message("only tested on 64 bits with elfutils\n");
    skip();
#endif
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_jit(const char *path, const char *reason)
{
    uint64_t address = 5;
    struct rps_code code;

    make_code(&code, RPS_MODULE_JIT, path, "", &address, 1);
    name_code(&code, NULL);
    expect(&code, 0, RPS_LOCATION_NONE, reason);
}

static void test_jit(void **state)
{
    uint64_t addresses[] = {0x1000, 0x1010, 0x101f, 0x1020, 0x1030, 0x1031,    0x1032,
                            0x1033, 0x1034, 0x1036, 0x1037, 0x2005, UINT64_MAX};
    struct rps_code code;

    (void)state;
    write_file("perf-1.map", "1000 20 old\n"
                             "1010 10 LazyCompile:~walk /a b/b.js:3\n"
                             "1030 1 JS:^walk /a b/b.js:3\n"
                             "1030 1 JS:*walk /a b/b.js:3\n"
                             "1031 1 JS:* file:///a/b.js:7:9\n"
                             "1032 1 JS:^sum\n"
                             "1033 1 A::~A\n"
                             "1036 1 JS:~a /b.js:1:1\n"
                             "1036 1 JS:*b /b.js:2:1\n"
                             "1036 1 JS:*c /b.js:3:1\n"
                             "1036 1 JS:*d /b.js:4:1\n"
                             "1036 1 JS:*a /b.js:1:1\n"
                             "1037 1 RegExp:^a b/c\n"
                             "0x2000 0x10 py::run:/a.py\n"
                             "3000\n"
                             "zz 20 bad\n"
                             "\n"
                             "ffffffffffffffff ffffffffffffffff end");
    make_code(&code, RPS_MODULE_JIT, "perf-1.map", "", addresses, 13);
    name_code(&code, NULL);
    expect(&code, 0, RPS_LOCATION_MAP, "old");
    expect(&code, 1, RPS_LOCATION_MAP, "old or walk b.js:3");
    expect(&code, 2, RPS_LOCATION_MAP, "old or walk b.js:3");
    expect(&code, 3, RPS_LOCATION_NONE, "its map does not have it");
    expect(&code, 4, RPS_LOCATION_MAP, "walk b.js:3");
    expect(&code, 5, RPS_LOCATION_MAP, "b.js:7:9");
    expect(&code, 6, RPS_LOCATION_MAP, "sum");
    expect(&code, 7, RPS_LOCATION_MAP, "A::~A");
    expect(&code, 8, RPS_LOCATION_NONE, "its map does not have it");
    expect(&code, 9, RPS_LOCATION_MAP, "a b.js:1:1 or b b.js:2:1 or others");
    expect(&code, 10, RPS_LOCATION_MAP, "RegExp:^a b/c");
    expect(&code, 11, RPS_LOCATION_MAP, "py::run:/a.py");
    expect(&code, 12, RPS_LOCATION_MAP, "end");
    RUN("mkfifo perf-2.map && ln -s perf-1.map perf-3.map && mkdir perf-4.map");
    expect_jit("perf-0.map", "its compiler wrote no map");
    expect_jit("perf-2.map", "its map is not a file");
    expect_jit("perf-3.map", "its map is not a file");
    expect_jit("perf-4.map", "its map is not a file");
    RUN("ln perf-1.map perf-6.map");
    expect_jit("perf-6.map", "its map belongs to another user, or is a link");
    RUN("rm perf-6.map");
    RUN("truncate -s 65M perf-5.map");
    expect_jit("perf-5.map", "its map is larger than 64 MiB");
    if (geteuid() == 0) {
        assert_int_equal(chown("perf-1.map", 1, 1), 0);
        expect_jit("perf-1.map", "its map belongs to another user, or is a link");
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Frames of several modules are named in any order. */
static void test_order(void **state)
{
    struct rps_symbolize_options options = {.opens_paths = 1};
    uint64_t addresses[] = {9, 8, 7, 6};
    struct rps_code code;

    (void)state;
    make_code(&code, RPS_MODULE_MEMORY, "", "", addresses, 4);
    code.frame[1].module = code.frame[3].module = -1;
    name_code(&code, &options);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(code.location[i].frame, i);
}

static void test_no_processes(void **state)
{
    struct rps_symbolize_options options = {.opens_paths = 1};
    struct rlimit old, none = {0, 0};
    struct rps_error err = {""};
    uint64_t address = 1;
    struct rps_code code;
    int rc;

    (void)state;
    skip_without_elfutils();
    make_code(&code, RPS_MODULE_FILE, "/bin/sh", "", &address, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = rps_symbolize(arena, &code, &options, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(rc, RPS_FAILED);
    assert_non_null(strstr(err.message, "cannot start the process"));
    assert_null(code.location);
}

static int make_folder(void **state)
{
    (void)state;
    arena = rps_arena_new();
    assert_non_null(mkdtemp(folder));
    unsetenv("DEBUGINFOD_URLS");
    return chdir(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    RUN("rm -rf %s", folder);
    rps_arena_free(arena);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_debug),         cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_library),       cmocka_unit_test(test_linkage),
        cmocka_unit_test(test_debug_file),    cmocka_unit_test(test_links),
        cmocka_unit_test(test_changed),       cmocka_unit_test(test_hostile_paths),
        cmocka_unit_test(test_no_code_there), cmocka_unit_test(test_opens_no_path),
        cmocka_unit_test(test_binaries),      cmocka_unit_test(test_keeps_names),
        cmocka_unit_test(test_without_file),  cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_kallsyms),      cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_vdso),          cmocka_unit_test(test_jit),
        cmocka_unit_test(test_order),         cmocka_unit_test(test_no_processes),
    };
    size_t used = 0;

    if (argc < 3)
        return 2;
    snprintf(sources, sizeof(sources), "%s", argv[1]);
    for (int i = 2; i < argc && used < sizeof(compiler); i++)
        used += (size_t)snprintf(compiler + used, sizeof(compiler) - used, "%s ", argv[i]);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
