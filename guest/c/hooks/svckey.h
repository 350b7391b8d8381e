/* What the registry knows of a service beside what Wine's services.exe reads and writes there. */
#ifndef MULLION_SVCKEY_H
#define MULLION_SVCKEY_H

#include <windows.h>

#include "failure.h"

#define SERVICE_NAME_SIZE 257 /* with the zero at the end */

/* The key of a service, or NULL. */
HKEY svc_key(const WCHAR *name, REGSAM access);
void svc_key_close(HKEY key);

/* A number, or fallback. */
DWORD svc_number(HKEY key, const WCHAR *value, DWORD fallback);

/* The bytes of a value of a type, from the heap and with two zero characters behind them; NULL: there is none. */
void *svc_value(HKEY key, const WCHAR *value, DWORD type, DWORD *size);

/* Writes a value, or deletes it if there is no data. Returns a system error. */
DWORD svc_write(HKEY key, const WCHAR *value, DWORD type, const void *data, DWORD size);

/* Makes the key of the source of the service control manager's events, which belong into the System log. */
void svc_event_source(void);

/* How long services have at a shutdown, in ms: WaitToKillServiceTimeout. */
DWORD svc_kill_timeout(void);

/*
 * Marks, until the handle is closed, that a service is being told to stop: if its process ends then, it has not failed.
 */
HANDLE svc_stop_ask(const WCHAR *name);
BOOL svc_stop_asked(const WCHAR *name);

BOOL svc_plan(HKEY key, struct failure_plan *plan);

#endif
