/* Services at the end of a container (svcstop.c). */
#ifndef MULLION_SVCSTOP_H
#define MULLION_SVCSTOP_H

#include <windows.h>

/* The event that is set when the container's services are to end; a handle of the caller's, or NULL. */
HANDLE svc_shutdown_event(void);

/* sechost.dll: services that register a handler. */
void svcstop_start(HMODULE sechost);

#endif
