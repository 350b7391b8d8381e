/* The container's own job object, see job.c. */
#ifndef MULLION_JOB_H
#define MULLION_JOB_H

#include <windows.h>

/* How much the programs of the container may commit together, in bytes; 0: as much as they like, or this is no
 * container. */
ULONGLONG job_memory_limit(void);

#endif
