/* NUMA nodes, see numa.c. */
#ifndef MULLION_NUMA_H
#define MULLION_NUMA_H

#include <windows.h>

/* The address of a function that Wine lacks and numa.c has; NULL for all others. */
void *numa_address(HMODULE module, const char *name, unsigned length);

#endif
