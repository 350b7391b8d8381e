/* Child processes without the hooks. */
#ifndef MULLION_CHILDREN_H
#define MULLION_CHILDREN_H

#include <windows.h>

/* Starts a program without the hooks; command is written to. */
BOOL children_start_unhooked(const WCHAR *path, WCHAR *command, DWORD flags, const WCHAR *folder, STARTUPINFOW *startup,
                             PROCESS_INFORMATION *process);

#endif
