/* Who may change HKEY_LOCAL_MACHINE, see machinekey.c. */
#ifndef MULLION_MACHINEKEY_H
#define MULLION_MACHINEKEY_H

#include <windows.h>

/* Whether the program runs as a user who may not change the machine's keys. */
BOOL machinekey_restricts(void);

/*
 * Wine's crypt32 fills the machine's stores from Linux' certificates while a program opens one: between the two, this
 * thread may write the keys of stores.
 */
void machinekey_stores_begin(void);
void machinekey_stores_end(void);

#endif
