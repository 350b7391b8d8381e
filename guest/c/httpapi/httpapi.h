/*
 * httpapi.dll, the HTTP Server API (https://learn.microsoft.com/windows/win32/http/http-api-start-page). It puts calls
 * into the form of httpioctl.h; the work is the driver's (../http). A request queue's handle is one of the driver's
 * files, so waiting, completion ports and cancelling are the system's.
 */
#ifndef MULLION_HTTPAPI_H
#define MULLION_HTTPAPI_H

#define HTTPAPI_LINKAGE
#include <winsock2.h>
#include <windows.h>
#include <http.h>
#include <stdint.h>

#include "httpioctl.h"

/* Opens the driver's device, after loading the driver if need be. */
ULONG httpapi_device_open(HANDLE *file);
/*
 * Asks the driver. With an overlapped it returns ERROR_IO_PENDING, and its end is told as the overlapped wants; without
 * it waits. done may be NULL.
 */
ULONG httpapi_device_ask(HANDLE file, uint32_t code, const void *in, ULONG in_size, void *out, ULONG out_size,
                         ULONG *done, OVERLAPPED *overlapped);
void httpapi_device_thread_ends(void);
BOOL httpapi_device_start(void);

/* The version of the API that the process asked for, 1 or 2: what form its structures have. */
extern unsigned httpapi_version;

void *httpapi_take(size_t size); /* memory that is clear, or NULL */
void httpapi_put_back(void *p);

#endif
