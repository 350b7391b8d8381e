/* Wine's services on demand. */
#ifndef MULLION_SERVICES_H
#define MULLION_SERVICES_H

#include "nt.h"

/*
 * Whether an open that ended with status is worth repeating: it names something that Wine's services provide, and they have been started. attempt counts
 * from 0; some attempt is the last. May take as long as the services take to start.
 */
BOOL services_try_again(NTSTATUS status, const OBJECT_ATTRIBUTES *attributes, unsigned attempt);

/* Whether this process runs the program whose file has that name. */
BOOL is_program(const WCHAR *name);

#endif
