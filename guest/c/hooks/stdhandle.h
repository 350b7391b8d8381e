/*
 * What Wine refuses to say of handles that stand for a Linux pipe or a Linux file without a Windows name (stdhandle.c).
 */
#ifndef MULLION_STDHANDLE_H
#define MULLION_STDHANDLE_H

#include "nt.h"

/*
 * The answers after Wine's own. Each takes the status of Wine's answer, and returns it unless Wine has refused and the
 * handle is of that kind.
 */
NTSTATUS stdhandle_query(NTSTATUS status, HANDLE handle, IO_STATUS_BLOCK *io, void *buffer, ULONG length, ULONG class);
NTSTATUS stdhandle_set(NTSTATUS status, HANDLE handle, IO_STATUS_BLOCK *io, const void *buffer, ULONG length,
                       ULONG class);
NTSTATUS stdhandle_control(NTSTATUS status, HANDLE handle, HANDLE event, IO_STATUS_BLOCK *io, ULONG code, void *out,
                           ULONG out_size);

#endif
