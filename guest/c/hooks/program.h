/* The program that this process runs. */
#ifndef MULLION_PROGRAM_H
#define MULLION_PROGRAM_H

#include "nt.h"

/* Whether this process runs the program whose file has that name. */
BOOL program_is(const WCHAR *name);

#endif
