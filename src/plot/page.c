/* The interactive page: the template page.html with styles, scripts and the run's data inserted.
 *
 * SAFETY: the data is JSON in a script element of a type that browsers do not run. The scripts are
 * constant files. The page's policy allows only these scripts, by their hashes (hashes.py). Text
 * from the store is shown only as text (page.js makes text nodes of it). In the JSON every '<' is
 * written \u003c, so that no text can end the element. The character occurs in strings only, where
 * '<' and \u003c mean the same.
 *
 * A page contains bins instead of periods. A screen shows some thousand points per line, and a band
 * shows the range of the values between the points. The page is at most 2 MB, even for a month, and
 * 3 MB with samples. */
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/page_parts.h"
#include "rpistat/plan.h"

#define PAGE_PATH     4096
#define PAGE_MARK     "@@" /* mark before and after the name of an insertion in the template */
#define PAGE_LINE_MAX 4096

static FILE *open_part(const struct rps_page *page, const char *name, struct rps_error *err)
{
    char path[PAGE_PATH];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", page->folder, name);
    file = fopen(path, "re");
    if (!file)
        rps_error_set(err, RPS_FAILED,
                      "cannot read %s, a part of the page: %s; install rpistat again", path,
                      strerror(errno));
    return file;
}

static int insert_file(const struct rps_page *page, const char *name, struct rps_error *err)
{
    FILE *file = open_part(page, name, err);
    char buffer[8192];
    size_t got;

    if (!file)
        return RPS_FAILED;
    while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0)
        fwrite(buffer, 1, got, page->out);
    fclose(file);
    return 0;
}

static int insert_script(const struct rps_page *page, const char *name, struct rps_error *err)
{
    fputs("<script>", page->out);
    if (insert_file(page, name, err) < 0)
        return RPS_FAILED;
    fputs("</script>", page->out);
    return 0;
}

static int insert_data(const struct rps_page *page, struct rps_error *err)
{
    struct rps_json json;
    char *text;
    int result;

    if (rps_json_open(&json, 0) < 0)
        return rps_error_memory(err);
    result = page->put(&json, page->context, err);
    text = rps_json_close(&json);
    if (!text)
        return rps_error_memory(err);
    for (const char *at = text; *at && result == 0; at++) {
        if (*at == '<')
            fputs("\\u003c", page->out);
        else
            fputc(*at, page->out);
    }
    free(text);
    return result;
}

static int insert(const struct rps_page *page, const char *name, struct rps_error *err)
{
    static const char *const themes[] = {"auto", "light", "dark"};

    if (strcmp(name, "data") == 0)
        return insert_data(page, err);
    if (strcmp(name, "title") == 0)
        /* Insert the title, as text between tags. */
        for (const char *c = page->title; *c; c++) {
            if (*c == '<' || *c == '>' || *c == '&')
                fprintf(page->out, "&#%d;", *c);
            else
                fputc(*c, page->out);
        }
    else if (strcmp(name, "theme") == 0)
        fputs(themes[page->theme], page->out);
    else if (strcmp(name, "hashes") == 0)
        fputs(rps_page_hashes, page->out);
    else if (strcmp(name, "connect") == 0)
        fputs(page->live ? " connect-src 'self';" : "", page->out);
    else if (strcmp(name, "live") == 0)
        return page->live ? insert_script(page, "live.js", err) : 0;
    else
        return insert_file(page, name, err);
    return 0;
}

/* Write a line of the template. The line may contain one @@NAME@@, which is replaced. */
static int write_line(const struct rps_page *page, char *line, struct rps_error *err)
{
    char *name = strstr(line, PAGE_MARK), *rest = name ? strstr(name + 2, PAGE_MARK) : NULL;
    int result;

    if (!rest) {
        fputs(line, page->out);
        return 0;
    }
    *name = *rest = '\0';
    fputs(line, page->out);
    result = insert(page, name + 2, err);
    fputs(rest + 2, page->out);
    return result;
}

int rps_page_fill(const struct rps_page *page, struct rps_error *err)
{
    FILE *file = open_part(page, page->template, err);
    char line[PAGE_LINE_MAX];
    int result = file ? 0 : RPS_FAILED;

    while (result == 0 && fgets(line, sizeof(line), file))
        result = write_line(page, line, err);
    if (file)
        fclose(file);
    if (result == 0 && (fflush(page->out) != 0 || ferror(page->out)))
        result = rps_error_set(err, RPS_FAILED, "cannot write %s: %s; choose another file with -o",
                               page->output, strerror(errno));
    return result;
}

/* --- of a run --------------------------------------------------------------------------------- */

#define PAGE_BINS   2000
#define PAGE_MIN    300   /* minimum number of bins of a line */
#define PAGE_POINTS 30000 /* maximum number of bins of all lines together: 1.2 MB */

size_t rps_page_bins(size_t lines)
{
    size_t bins = PAGE_POINTS / (lines + 1);

    return bins < PAGE_MIN ? PAGE_MIN : bins > PAGE_BINS ? PAGE_BINS : bins;
}

size_t rps_page_choose_bins(const struct rps_picture *picture)
{
    size_t lines = 0;

    for (int m = 0; m < picture->plan->metric_count; m++)
        lines += picture->chosen[m];
    return rps_page_bins(lines * (picture->apart ? (size_t)picture->cpu_series.count : 1));
}

static int put_run(struct rps_json *json, const void *context, struct rps_error *err)
{
    const struct rps_page_run *run = context;
    int result;

    rps_json_object(json, NULL);
    result = rps_page_put_data(json, run->picture, &run->profile, run->has_code, err);
    rps_json_end(json);
    return result;
}

int rps_page_run_read(struct rps_page_run *run, struct rps_picture *picture,
                      struct rps_reader *reader, const struct rps_plot_options *options,
                      struct rps_error *err)
{
    int result = rps_picture_bin(picture, rps_page_choose_bins(picture), err);

    *run =
        (struct rps_page_run){.picture = picture, .has_code = options->code != RPS_PLOT_CODE_NONE};
    if (result == 0)
        result = rps_picture_read_code(picture, options, err);
    if (result == 0)
        result = rps_picture_read_system(picture, options, err);
    if (result == 0)
        result = rps_picture_profile(picture, reader, options, &run->profile, err);
    picture->panel_count += picture->panel_count == 0; /* the axis */
    picture->height = picture->panel_count * 200;
    return result;
}

int rps_page_write(FILE *out, struct rps_picture *picture, struct rps_reader *reader,
                   const struct rps_plot_options *options, struct rps_error *err)
{
    struct rps_page_run run;
    char title[RPS_PICTURE_TEXT_SIZE];
    const struct rps_page page = {.out = out,
                                  .output = options->output,
                                  .template = "page.html",
                                  .folder = options->script_folder,
                                  .title = rps_run_title(title, sizeof(title), &picture->run),
                                  .theme = options->theme,
                                  .put = put_run,
                                  .context = &run};
    int result = rps_page_run_read(&run, picture, reader, options, err);

    return result == 0 ? rps_page_fill(&page, err) : result;
}
