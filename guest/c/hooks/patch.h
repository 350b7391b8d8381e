/* Overwriting a function with a jump, keeping a working original. */
#ifndef MULLION_PATCH_H
#define MULLION_PATCH_H

#include <windows.h>

/*
 * Makes module!name jump to hook and stores a callable original in *original first. Leaves the function alone and
 * returns FALSE when its code is not of a known form: that is a newer Wine, or somebody else's hook.
 */
BOOL patch_function(HMODULE module, const char *name, void *hook, void **original);

/*
 * Makes module!name jump to hook, whatever its code is, without an original: for functions that the caller knows to
 * do nothing.
 */
BOOL patch_replace(HMODULE module, const char *name, void *hook);

#endif
