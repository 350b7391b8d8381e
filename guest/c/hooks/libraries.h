/* The hooks of libraries that not every program loads. */
#ifndef MULLION_LIBRARIES_H
#define MULLION_LIBRARIES_H

#include "winsock.h"

/* Patches each library when it is loaded, or at once if it is loaded already; with_unix: AF_UNIX too. */
void libraries_start(BOOL with_unix);

#endif
