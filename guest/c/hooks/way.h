/*
 * The way to an entry whose name Wine cannot say: a component of it has characters that stand for others (names.h).
 *
 * Wine refuses some of those characters, and makes others of what is no UTF-8. So the entry is found here, and Wine is
 * given the name of a descriptor of it, below /proc, which its server opens as any other file.
 */
#ifndef MULLION_WAY_H
#define MULLION_WAY_H

#include "nt.h"
#include "path.h"

/* Whether a name is such a one. */
BOOL way_has(const OBJECT_ATTRIBUTES *attributes);

/*
 * Finds the entry, without regard to case. STATUS_SUCCESS: it exists; STATUS_NO_SUCH_FILE: its folder does, on a
 * drive; anything else: place is not open. Links on the way are followed, the last component is not.
 */
NTSTATUS way_of(const OBJECT_ATTRIBUTES *attributes, struct place *place);

/* A name that Wine can say, of a descriptor that stays open as long as it is used. */
struct stand_in
{
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING name;
    WCHAR text[48];
    int fd;
};

/* Opens the stand-in for an entry, after all links if they are to be followed. It is closed by way_stand_in_close. */
NTSTATUS way_stand_in_open(struct stand_in *stand, const struct place *place, BOOL follow,
                           const OBJECT_ATTRIBUTES *like);
void way_stand_in_close(struct stand_in *stand);

/* The stand-in for a descriptor that is the caller's. */
void way_stand_in_for(struct stand_in *stand, int fd, const OBJECT_ATTRIBUTES *like);

/* Whether a name of NT is a stand-in's, or begins with one. */
BOOL way_stand_in_named(const WCHAR *name, ULONG length);

#endif
