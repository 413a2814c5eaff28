/* Names from text tables: the kernel's symbols, and the maps that just-in-time compilers write for
 * perf. A table is read once, and only entries for frames are kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "rpistat/text.h"
#include "symbolize_parts.h"

#define JIT_MAP_BYTES_MAX ((off_t)64 << 20)

/* Between the names of functions that had the same address, and in place of a third name. */
#define OR     " or "
#define OTHERS "others"

/* A table's entry for a frame. */
struct entry {
    uint64_t start;
    char *name; /* Owned; NULL if there is no name. */
};

static void set_entry(struct entry *entry, uint64_t start, const char *name)
{
    free(entry->name);
    *entry = (struct entry){start, strndup(name, RPS_SYMBOLIZE_TEXT_MAX)};
    if (!entry->name)
        rps_arena_exhausted();
}

/* Put the name of each frame that has an entry with a name. For all other frames, put the reason
 * why there is no name. Releases the entries. */
static void put_entries(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                        struct entry *entry, enum rps_location_how how, const char *reason)
{
    struct rps_location location = {.file = "", .how = how};

    for (size_t i = 0; i < group->count; i++) {
        location.function = entry[i].name;
        if (entry[i].name)
            rps_symbolize_put(symbolizer, group->frame[i], &location, 1);
        free(entry[i].name);
    }
    free(entry);
    rps_symbolize_put_reason(symbolizer, group, reason);
}

/* Parse "ffffffff81000000 T _text", with "\t[module]" after the name of a module's symbol. Return 1
 * if the line has this format. `name` is cut out of the line; it is "" for data. */
static int parse_kallsyms(char *line, uint64_t *ret_address, char **ret_name)
{
    char *end, *tab;

    *ret_address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
        return 0;
    *ret_name = end + 3;
    (*ret_name)[strcspn(*ret_name, "\n")] = '\0';
    tab = strchr(*ret_name, '\t');
    if (tab)
        *tab = ' ';
    if (!strchr("tTwW", end[1]))
        **ret_name = '\0';
    return 1;
}

/* Note a symbol at the first frame that it covers. A symbol covers all frames up to the next
 * symbol. */
static void note_symbol(const struct rps_symbolize_group *group, struct entry *entry,
                        uint64_t address, const char *name)
{
    size_t i = rps_symbolize_lower_bound(group->address, group->count, address);

    if (i == group->count || (entry[i].name && entry[i].start > address))
        return;
    if (entry[i].name && entry[i].start == address && entry[i].name[0] &&
        (!name[0] || name[0] == '_' || entry[i].name[0] != '_'))
        return; /* If an address has several names, prefer a name without underscores. */
    set_entry(&entry[i], address, name);
}

/* Extend each symbol to the following frames without a symbol. Then drop symbols of data. */
static void spread_symbols(struct entry *entry, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!entry[i].name && entry[i - 1].name)
            set_entry(&entry[i], entry[i - 1].start, entry[i - 1].name);
    }
    for (size_t i = 0; i < count; i++) {
        if (entry[i].name && !entry[i].name[0]) {
            free(entry[i].name);
            entry[i].name = NULL;
        }
    }
}

/* Reading ends after the highest address of a frame, because the kernel needs 0.3 us to print a
 * symbol. The kernel's own symbols are printed first, in ascending order. Symbols of kernel modules
 * follow in any order. */
void rps_symbolize_kallsyms(struct rps_symbolizer *symbolizer,
                            const struct rps_symbolize_group *group, FILE *file)
{
    struct entry *entry = rps_arena_loose(group->count, sizeof(*entry));
    const char *reason = "the kernel's symbols may not be read: kernel.kptr_restrict, "
                         "kernel.perf_event_paranoid";
    char *line = NULL, *name;
    size_t room = 0;
    uint64_t address;
    int has_begun = 0;

    while (getline(&line, &room, file) > 0) {
        int is_own = strchr(line, '[') == NULL;

        if (!parse_kallsyms(line, &address, &name) || address == 0)
            continue;
        if (has_begun && is_own && address > group->address[group->count - 1])
            break;
        has_begun |= name[0] && address <= group->address[0];
        reason = "no symbol of the kernel is there";
        note_symbol(group, entry, address, name);
    }
    free(line);
    spread_symbols(entry, group->count);
    put_entries(symbolizer, group, entry, RPS_LOCATION_SYMBOL, reason);
}

/* Shorten a name of Node: "JS:*parse /src/app.js:12:3" becomes "parse app.js:12:3", and that of a
 * function without a name "app.js:12:3". The mark after "JS:" is one of "~^+*", and tells which
 * compiler made the code. A function has one name, whichever compiler that was. Other names, such
 * as that of the regular expression "RegExp:^a", stay. */
static void shorten_name(char *name)
{
    static const char *const kind[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    const char *function = NULL, *place;
    size_t length;

    for (size_t i = 0; i < RPS_COUNT(kind) && !function; i++) {
        if (strncmp(name, kind[i], strlen(kind[i])) == 0)
            function = name + strlen(kind[i]);
    }
    if (!function || !*function || !strchr("~^+*", *function))
        return;
    length = strcspn(++function, " ");
    place = function[length] ? rps_text_file_name(function + length + 1) : "";
    memmove(name, function, length);
    if (length > 0 && *place)
        name[length++] = ' ';
    memmove(name + length, place, strlen(place) + 1);
}

/* Return 1 if `name` is one of the names that add_name joined. */
static int is_joined(const char *names, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = names; at; at = strstr(at, OR) ? strstr(at, OR) + strlen(OR) : NULL) {
        if (strncmp(at, name, length) == 0 &&
            (!at[length] || strncmp(at + length, OR, strlen(OR)) == 0))
            return 1;
    }
    return 0;
}

/* Add the name of an entry. New code may replace old code at the same address, and a map has no
 * times, so it is unknown which function ran. Of three functions or more, two are named. */
static void add_name(struct entry *entry, uint64_t start, const char *name)
{
    char *joined = NULL;

    if (entry->name && (is_joined(entry->name, name) || is_joined(entry->name, OTHERS)))
        return;
    if (entry->name && strstr(entry->name, OR))
        name = OTHERS;
    if (entry->name && asprintf(&joined, "%s" OR "%s", entry->name, name) < 0)
        rps_arena_exhausted();
    set_entry(entry, start, joined ? joined : name);
    free(joined);
}

/* Parse "START SIZE NAME", in hexadecimal; the name may contain blanks. */
static void note_jit(const struct rps_symbolize_group *group, struct entry *entry, char *line)
{
    char *at, *end;
    uint64_t start = strtoull(line, &at, 16), bytes = strtoull(at, &end, 16);
    char *name = end + strspn(end, " ");

    end[strcspn(end, "\n")] = '\0';
    shorten_name(name);
    if (at == line || *at != ' ' || end == at || *end != ' ' || !*name)
        return;
    for (size_t i = rps_symbolize_lower_bound(group->address, group->count, start);
         i < group->count && group->address[i] - start < bytes; i++)
        add_name(&entry[i], start, name);
}

static const char *find_reason(int failure)
{
    switch (failure) {
    case -ENOENT:
        return RPS_LOCATION_NO_MAP;
    case -EOPNOTSUPP:
        return "its map is not a file";
    case -EPERM:
        return "its map belongs to another user, or is a link";
    default:
        return "its map cannot be read";
    }
}

void rps_symbolize_jit(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                       int fd)
{
    const char *reason = fd < 0 ? find_reason(fd) : "its map does not have it";
    struct stat status = {.st_size = 0};
    int is_small = fd >= 0 && fstat(fd, &status) == 0 && status.st_size <= JIT_MAP_BYTES_MAX;
    FILE *file = is_small ? fdopen(fd, "r") : NULL;
    struct entry *entry = rps_arena_loose(group->count, sizeof(*entry));
    off_t left = JIT_MAP_BYTES_MAX; /* Limits the size: the process may still be writing the map. */
    char *line = NULL;
    size_t room = 0;
    ssize_t got;

    if (fd >= 0 && !is_small)
        reason = "its map is larger than 64 MiB";
    while (file && left > 0 && (got = getline(&line, &room, file)) > 0) {
        left -= got;
        note_jit(group, entry, line);
    }
    free(line);
    if (file)
        fclose(file);
    put_entries(symbolizer, group, entry, RPS_LOCATION_MAP, reason);
}
