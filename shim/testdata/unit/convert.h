/* Between UTF-16 and UTF-8, as RtlUnicodeToUTF8N and RtlUTF8ToUnicodeN do it: what is no character becomes U+FFFD. */
#ifndef MULLION_TEST_CONVERT_H
#define MULLION_TEST_CONVERT_H

#include <windows.h>

/* FALSE: there was no room for all of it; what is written ends with a whole character. Room and lengths are in units, not in bytes. */
BOOL utf8_from(char *to, ULONG room, ULONG *length, const WCHAR *from, ULONG units);
BOOL utf16_from(WCHAR *to, ULONG room, ULONG *length, const char *from, ULONG bytes);

#endif
