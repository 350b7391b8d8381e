/* The descriptors of new files. */
#ifndef MULLION_SECURITY_H
#define MULLION_SECURITY_H

#include <windows.h>

/* Gives a file that has just been made the descriptor that its maker asked for. */
void security_of_new(HANDLE handle, SECURITY_DESCRIPTOR *descriptor);

#endif
