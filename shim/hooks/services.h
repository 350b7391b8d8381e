/* Wine's services on demand. */
#ifndef MULLION_SERVICES_H
#define MULLION_SERVICES_H

#include "open.h"

/*
 * Whether an open that ended with status is worth repeating: it names something that Wine's services provide, and they have been started. attempt counts
 * from 0; some attempt is the last. May take as long as the services take to start.
 */
BOOL services_try_again(NTSTATUS status, const OBJECT_ATTRIBUTES *attributes, unsigned attempt);

/* Whether this process runs the program whose file has that name. */
BOOL is_program(const WCHAR *name);

/* children.c: starts a program without the hooks; command is written to. */
BOOL start_without_hooks(const WCHAR *path, WCHAR *command, DWORD flags, const WCHAR *folder, STARTUPINFOW *startup, PROCESS_INFORMATION *process);

#endif
