/* interchange: matrix multiplication with the two inner loops interchanged. The inner loop walks
 * along rows of b and of the product, so it uses every element of each fetched cache line. The
 * checksum equals the checksum of naive. */
#include <string.h>

#include "matrix.h"

static void multiply(float *product, const float *a, const float *b, size_t size)
{
    memset(product, 0, size * size * sizeof(*product));
    for (size_t i = 0; i < size; i++) {
        for (size_t k = 0; k < size; k++) {
            const float factor = a[i * size + k];

            for (size_t j = 0; j < size; j++)
                product[i * size + j] += factor * b[k * size + j];
        }
    }
}

int main(int argc, char *argv[])
{
    return matrix_main(argc, argv, "Matrix multiplication with the inner loops interchanged.",
                       multiply);
}
