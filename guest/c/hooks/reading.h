/* Reads of a console that a program leaves behind as it ends: reading.c. */
#ifndef MULLION_READING_H
#define MULLION_READING_H

#include <windows.h>

#define CODE_READ_CONSOLE 0x504028 /* IOCTL_CONDRV_READ_CONSOLE, IOCTL_CONDRV_READ_INPUT */
#define CODE_READ_INPUT 0x504030

/* Before and after a thread waits for what is typed at a console, or for what its standard input has. */
void reading_begins(HANDLE console);
void reading_ends(void);

/* Before the program ends: ends the reads that other threads still wait for. */
void reading_leaves(void);

#endif
