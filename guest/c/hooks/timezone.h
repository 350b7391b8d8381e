/* The time zone, see timezone.c. */
#ifndef MULLION_TIMEZONE_H
#define MULLION_TIMEZONE_H

#include <windows.h>

/* Puts the zone of the registry into an answer of NtQuerySystemInformation. */
void timezone_correct(ULONG class, void *information, ULONG size);

/* Undoes what Wine has written there. */
void timezone_start(void);

#endif
