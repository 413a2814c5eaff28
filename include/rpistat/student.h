/* Student's t distribution, for degrees of freedom that need not be whole. */
#ifndef RPISTAT_STUDENT_H
#define RPISTAT_STUDENT_H

/* How probable |t| or more is by chance; freedom > 0, INFINITY for the normal distribution. NaN for
 * what is NaN. */
double rps_student_p(double t, double freedom);

/* What |t| stays below with a probability of .95; freedom >= 1. */
double rps_student_95(double freedom);

#endif
