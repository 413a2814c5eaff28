/* Student's t distribution, for degrees of freedom that need not be whole. */
#ifndef RPISTAT_STUDENT_H
#define RPISTAT_STUDENT_H

/* Return the probability of |t| or more by chance; freedom > 0, INFINITY for the normal
 * distribution. NaN if an argument is NaN. */
double rps_student_p(double t, double freedom);

/* Return the limit that |t| is below with a probability of .95; freedom >= 1. */
double rps_student_95(double freedom);

#endif
