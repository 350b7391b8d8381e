/* The program that this process runs. */
#ifndef MULLION_PROGRAM_H
#define MULLION_PROGRAM_H

#include "nt.h"

/* Whether this process runs the program whose file has that name. */
BOOL program_is(const WCHAR *name);

/* Whether Go's linker has made it: its code begins with its build id (cmd/link/internal/ld/data.go, textbuildid). */
BOOL program_is_go(void);

#endif
