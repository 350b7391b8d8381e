/* The time zone, see timezone.c. */
#ifndef MULLION_TIMEZONE_H
#define MULLION_TIMEZONE_H

#include <windows.h>

/* Answers NtQuerySystemInformation for the zone, with that of the registry. FALSE: it was asked for something else. */
BOOL timezone_answer(ULONG class, void *information, ULONG size, ULONG *returned);

/* Puts the zone of the registry into its other answers. */
void timezone_correct(ULONG class, void *information, ULONG size);

/* Undoes what Wine has written there. */
void timezone_start(void);

#endif
