/* The settings of services that Wine does not keep (svcconfig.c), and what their dependencies are for (svcneeds.c). */
#ifndef MULLION_SVCCONFIG_H
#define MULLION_SVCCONFIG_H

#include <windows.h>

/* Functions of sechost.dll, patched or not. */
extern struct service_functions
{
    SC_HANDLE(WINAPI *OpenSCManagerW)(const WCHAR *, const WCHAR *, DWORD);
    SC_HANDLE(WINAPI *OpenServiceW)(SC_HANDLE, const WCHAR *, DWORD);
    BOOL(WINAPI *CloseServiceHandle)(SC_HANDLE);
    BOOL(WINAPI *QueryServiceStatus)(SC_HANDLE, SERVICE_STATUS *);
    BOOL(WINAPI *EnumServicesStatusExW)
    (SC_HANDLE, SC_ENUM_TYPE, DWORD, DWORD, BYTE *, DWORD, DWORD *, DWORD *, DWORD *, const WCHAR *);
} svc_api;

/* sechost.dll: opening, configuring, starting and stopping services. */
void svcconfig_start(HMODULE sechost);

/* svcneeds.c: its part of that. */
void svcneeds_start(HMODULE sechost);

/* The name of an open service, of up to SERVICE_NAME_SIZE characters; FALSE: it is unknown. */
BOOL svc_name(SC_HANDLE handle, WCHAR *name);

/* Sets the last error and returns FALSE. */
BOOL svc_refuse(DWORD error);

/* Puts a text of a length, or NULL, at a place, and its address into *to. Returns its size in bytes. */
DWORD svc_put_text(WCHAR **to, BYTE *at, const WCHAR *text, DWORD length);

#endif
