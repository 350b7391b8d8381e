/* The exit code of a program that a control event ends, Ctrl+C for one. */
#ifndef MULLION_CTRLEXIT_H
#define MULLION_CTRLEXIT_H

#include <windows.h>

/*
 * Makes the default handler of a process end it with STATUS_CONTROL_C_EXIT, as on Windows. This process must have no
 * handler of its own yet. Nothing is done where Wine's code is of another form, and where it is done already.
 */
void ctrl_exit_code(HANDLE process);

#endif
