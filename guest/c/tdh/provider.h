/* The providers of this process: who is registered, which sessions listen to whom, and what they are told. */
#ifndef MULLION_TDH_PROVIDER_H
#define MULLION_TDH_PROVIDER_H

#include <windows.h>

#include <evntprov.h>
#include <evntrace.h>

#include "table.h"

/* A session that listens to a provider. */
struct listener
{
    DWORD session, id;
    BYTE level;
    ULONG property;
    ULONGLONG any, all;
};

struct provider
{
    BOOL taken, typed; /* typed: the data of events have types */
    DWORD use;         /* grows with each use of the place, so that an old handle finds nothing */
    GUID id, group, source;
    BOOL has_group;
    PENABLECALLBACK callback;
    void *context;
    BYTE *traits;
    WORD traits_size;
    unsigned count;
    struct listener listener[MOST_PER_PROVIDER];
    ULONG captures;
    BOOL changed, capture;    /* to be told */
    CRITICAL_SECTION telling; /* held while the callback runs */
};

/* Finds the provider of a handle, and holds it until tdh_provider_let; NULL: there is none, and nothing is held. */
struct provider *tdh_provider_hold(REGHANDLE handle);
void tdh_provider_let(void);

/* The ring of a session to which a held provider's listener belongs; NULL: it cannot be opened. */
struct channel *tdh_provider_channel(const struct listener *listener);

BOOL tdh_listens(const struct listener *listener, UCHAR level, ULONGLONG keyword);

#endif
