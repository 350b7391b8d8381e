/* The settings of services that Wine does not keep (svcconfig.c), and what their dependencies are for (svcneeds.c). */
#ifndef MULLION_SVCCONFIG_H
#define MULLION_SVCCONFIG_H

#include <windows.h>

/* sechost.dll: opening, configuring, starting and stopping services. */
void svcconfig_start(HMODULE sechost);

/* svcneeds.c: its part of that. */
void svcneeds_start(HMODULE sechost);

#endif
