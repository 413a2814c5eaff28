/* The text of an imported file: its rows, and messages with the line number. */
#include <stdarg.h>

#include "import_parts.h"

int rps_import_refuse(struct rps_import_builder *builder, struct rps_error *err, const char *format,
                      ...)
{
    char sentence[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    if (rps_csv_rows_line(builder->rows) == 0)
        return rps_error_set(err, RPS_FAILED, "%s: %s", builder->path, sentence);
    return rps_error_set(err, RPS_FAILED, "%s, line %llu: %s", builder->path,
                         (unsigned long long)rps_csv_rows_line(builder->rows), sentence);
}

void rps_import_note(const struct rps_import_builder *builder, const char *format, ...)
{
    char sentence[512];
    va_list arguments;

    if (!builder->note || builder->writer)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    builder->note(sentence);
}

int rps_import_rewind(struct rps_import_builder *builder, struct rps_error *err)
{
    if (fseeko(builder->file, builder->part_at, SEEK_SET) != 0)
        clearerr(builder->file);
    return rps_csv_rows_begin(builder->rows, err);
}

int rps_import_decimal(const char *text, char mark, int64_t unit, int64_t *ret)
{
    int64_t whole = 0, part = 0, place = unit;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, *at - '0', &whole))
            return 0;
    }
    if (at == text)
        return 0;
    if (*at == mark) {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            place /= 10;
            part += place * (*at - '0');
        }
    }
    return *at == '\0' && !__builtin_mul_overflow(whole, unit, &whole) &&
           !__builtin_add_overflow(whole, part, ret);
}

int rps_import_cells(struct rps_import_builder *builder, char separator, size_t whole,
                     char *const **ret_cell, size_t *ret_count, struct rps_error *err)
{
    int result = rps_csv_rows_next(builder->rows, separator, ret_cell, ret_count, err);
    int is_kept = result > 0 && *ret_count == whole;

    if (result < 0 || !rps_csv_rows_is_cut(builder->rows))
        return result;
    if (!builder->is_cut++)
        rps_import_note(builder, "%s, line %llu: the last line %s", builder->path,
                        (unsigned long long)rps_csv_rows_line(builder->rows),
                        is_kept ? "has no line end, so its last value may be cut off"
                                : "may be cut off, so it is left out");
    return builder->is_kept = is_kept;
}
