/* The services that this process has open, and what the hooks of their functions share (svcconfig.c, svcneeds.c). */
#ifndef MULLION_SVCOPENED_H
#define MULLION_SVCOPENED_H

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

/* Finds them. FALSE: this is a newer Wine, or somebody else has patched them. */
BOOL svc_find_functions(HMODULE sechost);

/* Notes the name of a service that has been opened, if it has, and forgets one that is closed. */
void svc_note(SC_HANDLE handle, const WCHAR *name);
void svc_forget(SC_HANDLE handle);

/* The name of an open service, of up to SERVICE_NAME_SIZE characters; FALSE: it is unknown. */
BOOL svc_name(SC_HANDLE handle, WCHAR *name);

/* Sets the last error and returns FALSE. */
BOOL svc_refuse(DWORD error);

/* Puts a text of a length, or NULL, at a place, and its address into *to. Returns its size in bytes. */
DWORD svc_put_text(WCHAR **to, BYTE *at, const WCHAR *text, DWORD length);

#endif
