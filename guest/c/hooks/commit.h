/* What the programs of a container use together, see commit.c. */
#ifndef MULLION_COMMIT_H
#define MULLION_COMMIT_H

#include <windows.h>

/* Whether the programs of the container may not commit so much more, in bytes; it is looked at now and then. */
BOOL commit_is_too_much(SIZE_T size);

/* For tests: reads what /proc/PID/status says that a process uses, in bytes; FALSE: it does not say. */
BOOL commit_parse(ULONGLONG *bytes, const char *status);

#endif
