/* What sessions and their consumers share. */
#ifndef MULLION_TDH_SESSION_H
#define MULLION_TDH_SESSION_H

#include <windows.h>

#include <evntrace.h>

/* The id of the session of a name; 0: there is none. */
DWORD tdh_session_of(const WCHAR *name);

/* Copies a text of the system's ANSI code page; FALSE: it is too long for chars. */
BOOL tdh_widen(WCHAR *to, DWORD chars, const char *from);

#endif
