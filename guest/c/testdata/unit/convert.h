/* Conversion between UTF-16 and UTF-8 as by RtlUnicodeToUTF8N and RtlUTF8ToUnicodeN: invalid input becomes U+FFFD. */
#ifndef MULLION_TEST_CONVERT_H
#define MULLION_TEST_CONVERT_H

#include <windows.h>

/*
 * Return FALSE if there is no room for the whole text; the part that is written ends with a whole character. Room
 * and lengths are in units, not in bytes.
 */
BOOL utf8_from(char *to, ULONG room, ULONG *length, const WCHAR *from, ULONG units);
BOOL utf16_from(WCHAR *to, ULONG room, ULONG *length, const char *from, ULONG bytes);

#endif
