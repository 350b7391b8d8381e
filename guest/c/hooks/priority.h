/* Priority classes of processes. */
#ifndef MULLION_PRIORITY_H
#define MULLION_PRIORITY_H

#include <windows.h>

/*
 * Gives a program that was made and does not run yet the class that the flags of CreateProcess name, which Wine 8.0
 * leaves out. Without one it has its parent's if that is IDLE or BELOW_NORMAL, as on Windows.
 */
void priority_child(HANDLE process, DWORD flags);

#endif
