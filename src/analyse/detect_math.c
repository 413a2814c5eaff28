/* Order statistics and a bound; see detect_math.h. */
#include "detect_math.h"

#include <math.h>

static void swap(double *a, double *b)
{
    double third = *a;

    *a = *b;
    *b = third;
}

/* Hoare's selection with the median of three as pivot. */
double rps_select_rank(double *value, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2, i = low, j = high;
        double pivot;

        if (value[middle] < value[low])
            swap(&value[middle], &value[low]);
        if (value[high] < value[low])
            swap(&value[high], &value[low]);
        if (value[high] < value[middle])
            swap(&value[high], &value[middle]);
        pivot = value[middle];
        for (;;) {
            while (value[i] < pivot)
                i++;
            while (value[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(&value[i++], &value[j--]);
        }
        if (rank <= j)
            high = j;
        else
            low = j + 1;
    }
    return value[low];
}

double rps_robust_deviation(double *value, size_t count)
{
    double sum = 0, median;

    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        value[i] = fabs(value[i]);
        sum += value[i];
    }
    median = rps_select_rank(value, count, count / 2);
    return median > 0 ? 1.4826 * median : 1.2533 * sum / (double)count;
}

double rps_noise_bound(double freedom, double level)
{
    return freedom + 2 * sqrt(freedom * level) + 2 * level;
}
