/* naive: textbook matrix multiplication, with one inner product per element. The inner loop walks
 * down a column of b. So every step reads another cache line and, in large matrices, another page.
 */
#include "matrix.h"

static void multiply(float *product, const float *a, const float *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < size; j++) {
            float sum = 0;

            for (size_t k = 0; k < size; k++)
                sum += a[i * size + k] * b[k * size + j];
            product[i * size + j] = sum;
        }
    }
}

int main(int argc, char *argv[])
{
    return matrix_main(argc, argv, "Matrix multiplication with the textbook's order of loops.",
                       multiply);
}
