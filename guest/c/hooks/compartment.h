/* Network compartments of threads, see compartment.c. */
#ifndef MULLION_COMPARTMENT_H
#define MULLION_COMPARTMENT_H

#include <windows.h>

/* The address of a function that Wine lacks and compartment.c has; NULL for all others. */
void *compartment_address(HMODULE module, const char *name, unsigned length);

#endif
