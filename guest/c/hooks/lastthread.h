/* Whether this is a process's last thread of Linux. */
#ifndef MULLION_LASTTHREAD_H
#define MULLION_LASTTHREAD_H

#include <windows.h>

/*
 * Waits until no thread is left but this one and the first, which Linux keeps until the process ends. FALSE: others
 * stay, half a second long.
 */
BOOL last_thread_wait(void);

#endif
