/* Sparing new processes the search for the time zone. */
#ifndef MULLION_ZONES_H
#define MULLION_ZONES_H

#include <windows.h>

/*
 * Keeps the new process from looking for Linux' time zone among those of the registry as it begins. Call it before the
 * process runs, of a process that loads the hooks. With a Wine that is not known nothing is changed, and the result is
 * NULL; otherwise it is memory in the process, ZONES_SPARE bytes that may be used.
 */
void *zones_spare(HANDLE process);

#define ZONES_SPARE 2048

/* Has all questions of this process answered from now on. */
void zones_answer(void);

#endif
