/* Finds plans by name. A plan comes from an embedded set file, or from a set file of the user. */
#include "set_file_section.h"
#include "names.h"

#include "rpistat/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a set file. Real set files are smaller. The limit stops the reading of an
 * endless file such as /dev/zero. */
#define DOCUMENT_MAX_BYTES (1024 * 1024)

const char *const *rps_plan_names(void)
{
    return rps_embedded_sets_names;
}

/* Read a whole file of at most DOCUMENT_MAX_BYTES. The caller frees *ret with free(). */
static int read_document(const char *name, char **ret, size_t *ret_size, struct rps_error *err)
{
    FILE *file = fopen(name, "re");
    char *text = NULL;
    size_t size = 0;
    int result = RPS_USAGE;

    if (!file)
        return rps_error_set(err, RPS_USAGE,
                             "cannot open the event sets %s: %s; see `rpistat events` for those "
                             "that come with rpistat",
                             name, strerror(errno));
    text = malloc(DOCUMENT_MAX_BYTES + 1);
    if (!text) {
        result = rps_error_memory(err);
        goto close;
    }
    size = fread(text, 1, DOCUMENT_MAX_BYTES + 1, file);
    if (ferror(file)) {
        rps_error_set(err, result, "cannot read the event sets %s: %s", name, strerror(errno));
        goto close;
    }
    if (size > DOCUMENT_MAX_BYTES) {
        rps_error_set(err, result,
                      "the event sets %s are larger than 1 MiB; check the name of the file", name);
        goto close;
    }
    *ret = text;
    *ret_size = size;
    text = NULL;
    result = 0;
close:
    free(text);
    fclose(file);
    return result;
}

int rps_plan_load(const char *name, struct rps_plan **ret, struct rps_error *err)
{
    size_t length = strlen(name), size = 0;
    bool is_file = strchr(name, '/') || (length >= 4 && strcmp(name + length - 4, ".ini") == 0);
    const struct rps_embedded *embedded;
    char *text = NULL;
    int result;

    if (is_file) {
        result = read_document(name, &text, &size, err);
        if (result == 0)
            result = rps_plan_parse(name, text, size, ret, err);
        free(text);
        return result;
    }
    embedded = rps_set_file_find(rps_embedded_sets, name);
    if (!embedded) {
        char printable[RPS_NAME_SIZE], known[512];

        return rps_error_set(
            err, RPS_USAGE,
            "no event sets are named \"%s\"; choose from %s (write a file as ./NAME or NAME.ini)",
            rps_text_printable(printable, sizeof(printable), name),
            rps_names_join(rps_plan_names(), known, sizeof(known)));
    }
    return rps_plan_parse(embedded->name, embedded->text, embedded->size, ret, err);
}
