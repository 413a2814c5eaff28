/* Write JSON to a stream. Each object of an array is on a separate line. */
#include "rpistat/json.h"

#include <inttypes.h>
#include <math.h>

#include "rpistat/text.h"

/* Depth to which values are on separate lines; deeper values are on the enclosing value's line. */
#define LINE_DEPTH 2

int rps_json_open(struct rps_json *json, int one_line)
{
    *json = (struct rps_json){.one_line = one_line};
    json->out = open_memstream(&json->text, &json->size);
    return json->out ? 0 : -1;
}

char *rps_json_close(struct rps_json *json)
{
    return rps_text_close(json->out, &json->text);
}

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        uint32_t code = 0;
        int length = rps_text_decode(text, &code);

        if (length == 0)
            fputs(RPS_TEXT_REPLACEMENT, out);
        else if (code == '"' || code == '\\')
            fprintf(out, "\\%c", *text);
        else if (!rps_text_is_harmless(code))
            fprintf(out, "\\u%04" PRIx32, code);
        else
            fwrite(text, 1, (size_t)length, out);
        text += length > 0 ? length : 1;
    }
    fputc('"', out);
}

/* Write the comma and line break before a value. Numbers in an array are on the array's line. */
static void separate(struct rps_json *json, int breaks)
{
    if (json->filled[json->depth])
        fputc(',', json->out);
    if (json->depth > 0 && json->depth <= LINE_DEPTH && breaks && !json->one_line) {
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
        json->broken[json->depth] = 1;
    } else if (json->filled[json->depth]) {
        fputc(' ', json->out);
    }
    json->filled[json->depth] = 1;
}

/* Write the text before a value: comma, line break and name. */
static void begin(struct rps_json *json, const char *name, int breaks)
{
    separate(json, breaks || name);
    if (name) {
        print_quoted(json->out, name);
        fputs(": ", json->out);
    }
}

static void open_value(struct rps_json *json, const char *name, char opening, char closing)
{
    begin(json, name, 1);
    fputc(opening, json->out);
    json->depth++;
    json->filled[json->depth] = json->broken[json->depth] = 0;
    json->closing[json->depth] = closing;
}

void rps_json_object(struct rps_json *json, const char *name)
{
    open_value(json, name, '{', '}');
}

void rps_json_array(struct rps_json *json, const char *name)
{
    open_value(json, name, '[', ']');
}

void rps_json_end(struct rps_json *json)
{
    char closing = json->closing[json->depth];

    if (json->broken[json->depth--])
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(closing, json->out);
    if (json->depth == 0 && !json->one_line)
        fputc('\n', json->out);
}

void rps_json_text(struct rps_json *json, const char *name, const char *text)
{
    if (!text) {
        rps_json_null(json, name);
        return;
    }
    begin(json, name, 0);
    print_quoted(json->out, text);
}

void rps_json_texts(struct rps_json *json, const char *name, const char *const *text, size_t count)
{
    rps_json_array(json, name);
    for (size_t i = 0; i < count; i++)
        rps_json_text(json, NULL, text[i]);
    rps_json_end(json);
}

void rps_json_int64(struct rps_json *json, const char *name, int64_t value)
{
    begin(json, name, 0);
    fprintf(json->out, "%" PRId64, value);
}

void rps_json_uint64(struct rps_json *json, const char *name, uint64_t value)
{
    begin(json, name, 0);
    fprintf(json->out, "%" PRIu64, value);
}

void rps_json_double(struct rps_json *json, const char *name, double value)
{
    begin(json, name, 0);
    if (isfinite(value))
        fprintf(json->out, "%.9g", value);
    else
        fputs("null", json->out);
}

void rps_json_decimal(struct rps_json *json, const char *name, int64_t value, int decimals)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, one = 1, rest;

    for (int i = 0; i < decimals; i++)
        one *= 10;
    rest = size % one;
    for (decimals = rest > 0 ? decimals : 0; rest > 0 && rest % 10 == 0; rest /= 10)
        decimals--;
    begin(json, name, 0);
    fprintf(json->out, "%s%" PRIu64, value < 0 ? "-" : "", size / one);
    if (decimals > 0)
        fprintf(json->out, ".%0*" PRIu64, decimals, rest);
}

void rps_json_seconds(struct rps_json *json, const char *name, int64_t ns)
{
    rps_json_decimal(json, name, ns, 9);
}

void rps_json_bool(struct rps_json *json, const char *name, int value)
{
    rps_json_raw(json, name, value ? "true" : "false");
}

void rps_json_null(struct rps_json *json, const char *name)
{
    rps_json_raw(json, name, "null");
}

void rps_json_raw(struct rps_json *json, const char *name, const char *text)
{
    begin(json, name, 0);
    fputs(text, json->out);
}
