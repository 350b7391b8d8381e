/* What the older and the newer functions share. */
#ifndef MULLION_EVENT_CLASSIC_H
#define MULLION_EVENT_CLASSIC_H

#include <windows.h>

/* Makes UTF-16 of the system's ANSI text; the caller frees it. */
WCHAR *evt_wide_of(const char *text);

/* The name of the log of an object of kind CLASSIC_LOG. */
const WCHAR *evt_classic_log_name(const void *object);

#endif
