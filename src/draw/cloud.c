/* Clouds of points: thinned by what a picture can show. */
#include "cloud.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLOUD_CELL_PX   3.0   /* points that near one another are one dot, where there are many */
#define CLOUD_FEW       3000  /* points that are drawn one by one */
#define CLOUD_SAMPLE    20000 /* points that an axis is chosen by */
#define CLOUD_FAR       0.005 /* share of the points that may be far away */
#define CLOUD_FAR_TIMES 1.5   /* times the range of the others that is far */
#define CLOUD_SKEWED    20 /* times the middle value that the largest are: logarithms are better */
#define CLOUD_DECADES   6
#define CLOUD_FAINT     150 /* transparency of a single point among many, of 255 */

int rps_cloud_add(struct rps_cloud *cloud, double x, double y, int label, struct rps_error *err)
{
    if (!isfinite(x) || !isfinite(y))
        return 0;
    if (cloud->count == cloud->room) {
        size_t room = cloud->room > 0 ? cloud->room + cloud->room / 2 : 1024;
        float *grown_x = realloc(cloud->x, room * sizeof(*grown_x)), *grown_y;
        uint16_t *grown_label;

        cloud->x = grown_x ? grown_x : cloud->x;
        grown_y = realloc(cloud->y, room * sizeof(*grown_y));
        cloud->y = grown_y ? grown_y : cloud->y;
        grown_label = realloc(cloud->label, room * sizeof(*grown_label));
        cloud->label = grown_label ? grown_label : cloud->label;
        if (!grown_x || !grown_y || !grown_label)
            return rps_error_memory(err);
        cloud->room = room;
    }
    cloud->x[cloud->count] = (float)x;
    cloud->y[cloud->count] = (float)y;
    cloud->label[cloud->count++] = (uint16_t)label;
    return 0;
}

void rps_cloud_free(struct rps_cloud *cloud)
{
    free(cloud->x);
    free(cloud->y);
    free(cloud->label);
    memset(cloud, 0, sizeof(*cloud));
}

static int compare_floats(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

struct rps_picture_axis rps_cloud_axis(const float *values, size_t count, int tics)
{
    size_t step = count / CLOUD_SAMPLE + 1, sampled = 0, far;
    float *sample = calloc(count / step + 1, sizeof(*sample));
    double least = INFINITY, most = -INFINITY, low, high, room;

    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i];

        /* not fmin() and fmax(), at which gcc 12 for arm64 ends with an internal error (-O3) */
        least = value < least ? value : least;
        most = value > most ? value : most;
        if (sample && i % step == 0)
            sample[sampled++] = values[i];
    }
    if (sampled > 0) {
        qsort(sample, sampled, sizeof(*sample), compare_floats);
        far = (size_t)(CLOUD_FAR * (double)sampled);
        low = sample[far];
        high = sample[sampled - 1 - far];
        room = CLOUD_FAR_TIMES * (high - low);
        if (least < low - room)
            least = low;
        if (most > high + room)
            most = high;
    }
    free(sample);
    if (least > 0 && least < 0.4 * most)
        least = 0;
    return rps_picture_axis(least, most, tics);
}

int rps_cloud_take_log(float *values, size_t count)
{
    size_t step = count / CLOUD_SAMPLE + 1, sampled = 0;
    float *sample = calloc(count / step + 1, sizeof(*sample));
    int skewed = 0;

    for (size_t i = 0; sample && i < count; i += step)
        sample[sampled++] = values[i];
    if (sampled > 0) {
        double middle, high;

        qsort(sample, sampled, sizeof(*sample), compare_floats);
        middle = (double)sample[sampled / 2];
        high = (double)sample[sampled - 1 - (size_t)(CLOUD_FAR * (double)sampled)];
        skewed = sample[0] >= 0 && high > 0 && middle < high / CLOUD_SKEWED;
        for (size_t i = 0; skewed && i < count; i++)
            values[i] = (float)fmax(log10((double)values[i]), ceil(log10(high)) - CLOUD_DECADES);
    }
    free(sample);
    return skewed;
}

/* --- thinning --------------------------------------------------------------------------------- */

/* Where points of one label lie, within a cell. */
struct dot {
    uint32_t cell;
    uint16_t label;
    float x, y;
};

static int compare_dots(const void *a, const void *b)
{
    const struct dot *p = a, *q = b;

    if (p->label != q->label)
        return p->label < q->label ? -1 : 1;
    if (p->cell != q->cell)
        return p->cell < q->cell ? -1 : 1;
    if (p->x < q->x || p->x > q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* The points inside the axes, by label and cell. */
static struct dot *make_dots(const struct rps_cloud *cloud, const struct rps_picture_axis *x,
                             const struct rps_picture_axis *y, double across, double up,
                             size_t *ret_count)
{
    double columns = fmax(1, across / CLOUD_CELL_PX), rows = fmax(1, up / CLOUD_CELL_PX);
    struct dot *dot = calloc(cloud->count + 1, sizeof(*dot));
    size_t count = 0;

    for (size_t i = 0; dot && i < cloud->count; i++) {
        double column = ((double)cloud->x[i] - x->from) / (x->to - x->from);
        double row = ((double)cloud->y[i] - y->from) / (y->to - y->from);

        if (column < -1e-6 || column > 1 + 1e-6 || row < -1e-6 || row > 1 + 1e-6)
            continue;
        dot[count++] = (struct dot){
            .cell = (uint32_t)(fmax(0, row) * rows) * (uint32_t)(columns + 1) +
                    (uint32_t)(fmax(0, column) * columns),
            .label = cloud->label[i],
            .x = cloud->x[i],
            .y = cloud->y[i],
        };
    }
    if (dot)
        qsort(dot, count, sizeof(*dot), compare_dots);
    *ret_count = count;
    return dot;
}

/* Dots of one label in one cell, as one point; of few in all, each as it is. */
static void write_cell(const struct rps_picture *picture, const struct dot *dot, size_t count,
                       int few, FILE *file)
{
    const char *ink = picture->palette->ink[dot->label % RPS_PALETTE_LABELS];
    double x = 0, y = 0, faint = few ? 64 : fmax(0, CLOUD_FAINT - 50 * log10((double)count));

    for (size_t i = 0; i < count; i++) {
        x += (double)dot[i].x / (double)count;
        y += (double)dot[i].y / (double)count;
        if (few)
            fprintf(file, "%.7g %.7g 0x%02X%s\n", (double)dot[i].x, (double)dot[i].y, (int)faint,
                    ink);
    }
    if (!few)
        fprintf(file, "%.7g %.7g 0x%02X%s\n", x, y, (int)faint, ink);
}

/* The middle of a label's points, by the median of each coordinate: in the thick of them. */
static void write_middle(struct dot *dot, size_t count, FILE *file)
{
    char text[RPS_PHASE_LABEL_SIZE];
    float *sorted = calloc(count, sizeof(*sorted));
    double middle[2] = {0, 0};

    for (int axis = 0; sorted && axis < 2; axis++) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = axis ? dot[i].y : dot[i].x;
        qsort(sorted, count, sizeof(*sorted), compare_floats);
        middle[axis] = (double)sorted[count / 2];
    }
    if (sorted)
        fprintf(file, "%.7g %.7g %s\n", middle[0], middle[1], rps_phase_label(dot->label, text));
    free(sorted);
}

static void write_dots(const struct rps_picture *picture, struct dot *dot, size_t count,
                       FILE *points, FILE *middles, const char *name, FILE *numbers)
{
    int blocks = 0, few = count <= CLOUD_FEW;

    fprintf(numbers, "array %s_label[%d]\n", name,
            picture->has_phases ? picture->phases.label_count : 1);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && dot[end].label == dot[begin].label;)
            end++;
        if (blocks > 0)
            fputs("\n\n", points);
        for (size_t from = begin, to; from < end; from = to) {
            for (to = from + 1; to < end && dot[to].cell == dot[from].cell;)
                to++;
            write_cell(picture, &dot[from], to - from, few, points);
        }
        fprintf(numbers, "%s_label[%d] = %d\n", name, ++blocks, dot[begin].label);
        write_middle(&dot[begin], end - begin, middles);
    }
    fprintf(numbers, "%s_blocks = %d\n%s_few = %d\n", name, blocks, name, few);
}

int rps_cloud_write(const struct rps_cloud *cloud, const struct rps_picture *picture,
                    const char *name, const struct rps_picture_axis *x,
                    const struct rps_picture_axis *y, double across, double up, int folder_fd,
                    FILE *numbers, struct rps_error *err)
{
    char file_name[64], middle_name[64];
    FILE *points = NULL, *middles = NULL;
    size_t count = 0;
    struct dot *dot = make_dots(cloud, x, y, across, up, &count);
    int result = dot ? 0 : rps_error_memory(err);

    snprintf(file_name, sizeof(file_name), "%s.dat", name);
    snprintf(middle_name, sizeof(middle_name), "%s-middle.dat", name);
    if (result == 0) {
        points = rps_picture_file(folder_fd, file_name, err);
        middles = points ? rps_picture_file(folder_fd, middle_name, err) : NULL;
        result = middles ? 0 : RPS_FAILED;
    }
    if (result == 0) {
        write_dots(picture, dot, count, points, middles, name, numbers);
        fprintf(numbers, "%s_outside = %zu\n", name, cloud->count - count);
    }
    if (points && rps_picture_file_close(points, file_name, err) < 0)
        result = RPS_FAILED;
    if (middles && rps_picture_file_close(middles, middle_name, err) < 0)
        result = RPS_FAILED;
    free(dot);
    return result;
}
