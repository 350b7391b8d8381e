/*
 * Files so far below their drive that no path leads to them: Linux' paths end at 4095 bytes. Wine's server deletes a
 * file by its path, so the place of a file that is opened for that by its folder's handle is kept.
 */
#ifndef MULLION_DEEP_H
#define MULLION_DEEP_H

#include "nt.h"
#include "path.h"

/* After an open: keeps the place, if the name is a bare one below a handle and the whole path is too long. */
void deep_opened(HANDLE handle, ACCESS_MASK access, const OBJECT_ATTRIBUTES *attributes);

/* The place that is kept for a handle, to be closed by the caller. FALSE: there is none. */
BOOL deep_place(HANDLE handle, struct place *place);

#endif
