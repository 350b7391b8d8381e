/* A directory entry that Windows programs see as a reparse point: a link, a junction, a socket file. */
#ifndef MULLION_ENTRY_H
#define MULLION_ENTRY_H

#include "path.h"
#include "table.h"

struct entry
{
    struct lx_stat st;
    ULONG attributes, tag;
    BOOL dangling; /* or a socket: Wine's own listing leaves the entry out */
};

/* Reads the entry at name below dir (or an absolute path); FALSE if there is none or it is not a reparse point. */
BOOL entry_read(int dir, const char *name, struct entry *entry);

/* A handle that stands for such an entry; the handle itself is one of its folder. */
struct link
{
    struct object object;
    struct place place;
    CRITICAL_SECTION lock; /* guards the fields below and place */
    BOOL delete_on_close;
};

/* Makes handle, open on the folder of place, stand for the entry; takes over place. FALSE: no memory. */
BOOL entry_link_put(HANDLE handle, struct place *place);
struct link *entry_link_get(HANDLE handle);
void entry_link_release(struct link *link);

void entry_fill_basic(const struct lx_stat *st, ULONG attributes, struct nt_basic_info *info);
LONGLONG entry_time(struct lx_timespec time);

#endif
