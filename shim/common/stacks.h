/* Sparing new processes the clearing of stacks. */
#ifndef MULLION_STACKS_H
#define MULLION_STACKS_H

#include <windows.h>

/* Keeps the new process from making a megabyte of each thread's stack resident; to be called before it runs. It changes nothing it does not recognise. */
void spare_stacks(HANDLE process);

#endif
