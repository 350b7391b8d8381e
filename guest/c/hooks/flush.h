/* Flushing files, see flush.c. */
#ifndef MULLION_FLUSH_H
#define MULLION_FLUSH_H

#include <windows.h>

/* The address of a function that Wine lacks and flush.c has; NULL for all others. */
void *flush_address(HMODULE module, const char *name, unsigned length);

#endif
