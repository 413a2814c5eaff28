/* Functions that the fuzzers share. */
#include "fuzz.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    fuzz_expect(text != NULL, "out of memory");
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

void fuzz_expect(int condition, const char *sentence)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz: %s\n", sentence);
    abort();
}

void fuzz_expect_sentence(const struct rps_error *err)
{
    size_t length = strnlen(err->message, sizeof(err->message));

    fuzz_expect(length > 10 && length < sizeof(err->message), "it was refused without a sentence");
}

/* Return the length of the UTF-8 sequence at text, or 0 if it is invalid. */
static size_t sequence(const unsigned char *text)
{
    size_t length = *text < 0x80 ? 1 : *text >= 0xf0 ? 4 : *text >= 0xe0 ? 3 : 2;

    if (*text >= 0x80 && (*text < 0xc2 || *text > 0xf4))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

int fuzz_is_printable(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = sequence(at);

        if (length == 0 || (*at < ' ' && *at != '\n') || *at == 0x7f ||
            (*at == 0xc2 && at[1] < 0xa0))
            return 0;
        at += length;
    }
    return 1;
}

void fuzz_expect_printable(const char *text)
{
    fuzz_expect(fuzz_is_printable(text), "a text for people would be obeyed by a terminal");
}

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(fuzz_path(entry->d_name));
    if (dir)
        closedir(dir);
    rmdir(folder);
}

const char *fuzz_path(const char *name)
{
    static char path[4][600];
    static unsigned turn;
    const char *parent = getenv("TMPDIR");
    char *ret = path[turn++ % 4];

    if (!folder[0]) {
        snprintf(folder, sizeof(folder), "%s/rpistat-fuzz-XXXXXX", parent ? parent : "/tmp");
        fuzz_expect(mkdtemp(folder) != NULL, "a temporary folder cannot be made");
        atexit(remove_folder);
    }
    snprintf(ret, sizeof(path[0]), "%s/%s", folder, name);
    return ret;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
    const char *path = fuzz_path(name);
    FILE *file = fopen(path, "w");

    fuzz_expect(file && (size == 0 || fwrite(data, 1, size, file) == size) && fclose(file) == 0,
                "a temporary file cannot be written");
    return path;
}

FILE *fuzz_sink(void)
{
    static FILE *sink;

    if (!sink)
        sink = fopen("/dev/null", "w");
    fuzz_expect(sink != NULL, "/dev/null cannot be opened");
    return sink;
}

uint64_t fuzz_take(struct fuzz_bytes *bytes, unsigned count)
{
    uint64_t value = 0;

    while (count-- > 0 && bytes->left > 0) {
        value = value << 8 | *bytes->at++;
        bytes->left--;
    }
    return value;
}
