/* Who may do what with services, see svcaccess.c. */
#ifndef MULLION_SVCACCESS_H
#define MULLION_SVCACCESS_H

#include <windows.h>

/* sechost.dll: opening the service control manager. */
void svcaccess_start(HMODULE sechost);

/*
 * Narrows the rights with which a service is to be opened to those that the program's user has. FALSE: more is asked
 * for than that.
 */
BOOL svcaccess_may(const WCHAR *name, DWORD *access);

#endif
