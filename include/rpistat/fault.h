/*
 * Survive faults in the memory that SQLite shares between the processes that use a store. It is the
 * file STORE-shm: if another program empties the file, the next access to it raises SIGBUS.
 */
#ifndef RPISTAT_FAULT_H
#define RPISTAT_FAULT_H

/*
 * Take SIGBUS from now on, unless it is ignored. A fault in a mapped file *-shm leaves the
 * innermost rps_fault_guard of its thread. Without one, the main thread ends the program
 * (rpistat/arena.h). Every other SIGBUS ends the process as before.
 */
void rps_fault_begin(void);

/* Call work(context). Return 0, or RPS_FAILED if a fault left `work` at some point: no connection
 * to that store may be used or closed afterwards. */
int rps_fault_guard(void (*work)(void *context), void *context);

#endif
