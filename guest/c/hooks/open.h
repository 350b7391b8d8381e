/* What open.c knows of kernelbase.dll. */
#ifndef MULLION_OPEN_H
#define MULLION_OPEN_H

#include "nt.h"

/* Whether code of kernelbase.dll lies at an address; from open_start on. */
BOOL open_in_kernelbase(const void *address);

#endif
