/* Sparing new processes the clearing of stacks. */
#ifndef MULLION_STACKS_H
#define MULLION_STACKS_H

#include <windows.h>

/*
 * Keeps the new process from making a megabyte of each thread's stack resident. Call it before the process runs.
 * Code that it does not recognise stays unchanged.
 */
void stacks_spare(HANDLE process);

#endif
