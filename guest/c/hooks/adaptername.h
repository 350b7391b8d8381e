/* The names that Windows has for the network's adapters. */
#ifndef MULLION_ADAPTERNAME_H
#define MULLION_ADAPTERNAME_H

#include <windows.h>

#define ADAPTER_NAME_ROOM 64

/* What Windows calls the virtual adapter of a host on a network of the Host Networking Service. */
#define VIRTUAL_ADAPTER L"Hyper-V Virtual Ethernet Adapter"

/*
 * Writes the name of the adapter of this number, and a NUL, to name, which has ADAPTER_NAME_ROOM; FALSE: it has Linux'
 * name.
 */
BOOL adapter_name(UINT32 index, WCHAR *name);

/* Whether an adapter of this name is a host's virtual one. */
BOOL adapter_is_virtual(const WCHAR *name);

#endif
