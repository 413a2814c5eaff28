/* Order statistics and bounds for noise; see detect_math.h. */
#include "detect_math.h"

#include <math.h>

static void swap(double *a, double *b)
{
    double third = *a;

    *a = *b;
    *b = third;
}

/* Uses Hoare's selection. The pivot is the median of three values. */
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

double rps_select_median(double *value, size_t count)
{
    return (rps_select_rank(value, count, (count - 1) / 2) +
            rps_select_rank(value, count, count / 2)) /
           2;
}

double rps_select_middle(double *value, size_t count)
{
    double middle = rps_select_rank(value, count, count / 2);

    for (size_t k = 0; k < count; k++)
        value[k] = fabs(value[k] - middle);
    return middle;
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

double rps_noise_bound(double dof, double level)
{
    return dof + 2 * sqrt(dof * level) + 2 * level;
}

/* Return the share of the gamma distribution above x > 0. Uses a series for small x and Legendre's
 * continued fraction for large x (Abramowitz and Stegun 1964, 6.5.29 and 6.5.31). */
static double gamma_above(double shape, double x)
{
    double density = exp(shape * log(x) - x - lgamma(shape)), term = 1 / shape, sum = term;
    double fraction = 0;

    if (x < shape + 1) {
        for (double k = 1; term > 1e-16 * sum; k++)
            sum += term *= x / (shape + k);
        return 1 - sum * density;
    }
    for (double k = floor(60 + 4 * sqrt(shape)); k > 0; k--)
        fraction = (k - shape) / (1 + k / (x + fraction));
    return density / (x + fraction);
}

double rps_chi_square(double dof, double level)
{
    double low = 0, high = rps_noise_bound(dof, level), share = exp(-level);

    for (int k = 0; k < 50; k++) {
        double middle = (low + high) / 2;

        if (gamma_above(dof / 2, middle / 2) > share)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double rps_noise_floor(const double *value, size_t count)
{
    double largest = 0, seen = 0, mean = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        largest = isfinite(value[i]) ? fmax(largest, fabs(value[i])) : largest;
    for (size_t i = 0; i < count; i++) {
        double off = value[i] / largest - mean;

        if (!isfinite(off))
            continue;
        mean += off / ++seen;
        squares += off * (value[i] / largest - mean);
    }
    return seen > 0 ? 0.1 * largest * sqrt(squares / seen) : 0;
}
