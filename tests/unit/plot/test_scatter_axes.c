/* The axes of a scatter plot are chosen for points made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plot/cloud.h"
#include "rpistat/random.h"

#define POINTS  300
#define METRICS 5

static float value[POINTS * METRICS];
static uint16_t label[POINTS];

static float *at(size_t point, size_t metric)
{
    return &value[point * METRICS + metric];
}

/* Make points of three labels. Labels 0 and 1 differ in metric 1, and label 2 differs in metric 3.
 * Metrics 0 and 2 are noise. Metric 4 is 0 except at every fourth point of label 2. */
static struct rps_scatter_points make(void)
{
    uint64_t dice = 1;

    for (size_t i = 0; i < POINTS; i++) {
        label[i] = (uint16_t)(i % 3);
        for (size_t m = 0; m < METRICS; m++)
            *at(i, m) = (float)rps_random_unit(&dice);
        *at(i, 1) += label[i] == 1 ? 10 : 0;
        *at(i, 3) += label[i] == 2 ? 10 : 0;
        *at(i, 4) = i % 12 == 2 ? 1e6F : 0;
    }
    return (struct rps_scatter_points){POINTS, METRICS, value, label};
}

static void metrics_that_tell_labels_apart(void **state)
{
    struct rps_scatter_points points = make();
    int axis[2];

    (void)state;
    rps_scatter_choose_axes(&points, axis);
    assert_true((axis[0] == 1 && axis[1] == 3) || (axis[0] == 3 && axis[1] == 1));
    for (size_t i = 0; i < POINTS; i++) /* Metrics are compared by rank, so one outlier changes
                                           nothing. */
        *at(i, 3) = i == 5 ? 1e9F : *at(i, 3);
    rps_scatter_choose_axes(&points, axis);
    assert_true((axis[0] == 1 && axis[1] == 3) || (axis[0] == 3 && axis[1] == 1));
}

/* A copy of the first metric separates the labels less than a metric that orders the labels
 * differently. */
static void copies_add_little(void **state)
{
    struct rps_scatter_points points = make();
    int axis[2];

    (void)state;
    for (size_t i = 0; i < POINTS; i++) {
        *at(i, 0) = label[i]; /* Metric 0 equals the label. */
        *at(i, 2) = label[i] + .3F * *at(i, 2);
        *at(i, 1) = (label[i] == 1 ? .8F : 0) + *at(i, 1) - (label[i] == 1 ? 10 : 0);
        *at(i, 3) = 1;
    }
    rps_scatter_choose_axes(&points, axis);
    assert_int_equal(axis[0], 0);
    assert_int_equal(axis[1], 1);
}

static void no_axes(void **state)
{
    struct rps_scatter_points points = make();
    int axis[2];

    (void)state;
    for (size_t i = 0; i < POINTS; i++) { /* Most points have equal values or no value. */
        *at(i, 1) = i % 3 && i % 2 ? label[i] : 7;
        *at(i, 3) = NAN;
        *at(i, 0) = *at(i, 2) = 1;
    }
    rps_scatter_choose_axes(&points, axis);
    assert_int_equal(axis[0], -1);
    assert_int_equal(axis[1], -1);
    points.count = 0;
    rps_scatter_choose_axes(&points, axis);
    assert_int_equal(axis[0], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_that_tell_labels_apart),
        cmocka_unit_test(copies_add_little),
        cmocka_unit_test(no_axes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
