/*
 * The providers of this process.
 *
 * Facts: learn.microsoft.com/windows/win32/etw/writing-manifest-based-events; the callback runs on a thread of the
 * system, or within EventRegister if a session listens already; a level of 0 lets all levels through, and so do
 * keywords of 0.
 */
#include "provider.h"

#include <string.h>

enum
{
    MOST_PROVIDERS = 1024, /* of a process, as on Windows */
    STACK_BYTES = 256 << 10,
    TRAITS_LEAST = 3,
    TRAIT_GROUP = 1
};

static struct provider *providers[MOST_PROVIDERS];
static struct channel channels[MOST_SESSIONS];
static SRWLOCK lock = SRWLOCK_INIT; /* of all of it */
static volatile LONG known = -1;    /* the generation of the table that the providers have */
static HANDLE teller;
static SRWLOCK starting = SRWLOCK_INIT;

static BOOL same(const GUID *a, const GUID *b)
{
    return !memcmp(a, b, sizeof(*a));
}

BOOL tdh_listens(const struct listener *l, UCHAR level, ULONGLONG keyword)
{
    return level <= l->level && (!keyword || ((keyword & l->any) && (keyword & l->all) == l->all));
}

/* Finds out who listens to a provider. The lock and the table's are held. */
static void look(struct provider *p, struct table *table)
{
    struct listener now[MOST_PER_PROVIDER];
    unsigned count = 0;
    ULONG captures = 0;

    memset(now, 0, sizeof(now));
    for (DWORD s = 0; s < MOST_SESSIONS; s++)
    {
        if (!table->sessions[s].id)
            continue;
        for (unsigned i = 0; i < MOST_ENABLED && count < MOST_PER_PROVIDER; i++)
        {
            const struct enabled *e = &table->sessions[s].enabled[i];

            if (!e->used || (!same(&e->provider, &p->id) && !(p->has_group && same(&e->provider, &p->group))))
                continue;
            now[count].session = s;
            now[count].id = table->sessions[s].id;
            now[count].level = e->level;
            now[count].property = e->property;
            now[count].any = e->any;
            now[count].all = e->all;
            p->source = e->source;
            captures += e->captures;
            count++;
            break;
        }
    }
    if (count != p->count || memcmp(now, p->listener, sizeof(now)))
        p->changed = TRUE;
    else if (captures != p->captures)
        p->capture = TRUE;
    memcpy(p->listener, now, sizeof(now));
    p->count = count;
    p->captures = captures;
}

/* Looks at the table if it has changed. */
static void look_all(void)
{
    struct table *table = tdh_table_open();
    LONG generation;

    if (!table || __atomic_load_n(&table->generation, __ATOMIC_ACQUIRE) == known)
        return;
    AcquireSRWLockExclusive(&lock);
    generation = __atomic_load_n(&table->generation, __ATOMIC_ACQUIRE);
    if (generation != known && tdh_table_lock())
    {
        for (unsigned i = 0; i < MOST_SESSIONS; i++)
        {
            if (channels[i].id && channels[i].id != table->sessions[i].id)
                tdh_channel_close(&channels[i]);
        }
        for (unsigned i = 0; i < MOST_PROVIDERS && providers[i]; i++)
        {
            if (providers[i]->taken)
                look(providers[i], table);
        }
        tdh_table_unlock();
        known = generation;
    }
    ReleaseSRWLockExclusive(&lock);
}

/* Tells a provider what has changed. */
static void tell(struct provider *p)
{
    EnterCriticalSection(&p->telling);
    for (;;)
    {
        PENABLECALLBACK callback = NULL;
        ULONGLONG any = 0, all = ~0ULL;
        ULONG code = 0;
        UCHAR level = 0;
        void *context;
        GUID source;

        AcquireSRWLockExclusive(&lock);
        if (p->taken && (p->changed || p->capture))
        {
            callback = p->callback;
            code = p->changed ? p->count > 0 : EVENT_CONTROL_CODE_CAPTURE_STATE;
            for (unsigned i = 0; i < p->count; i++)
            {
                level = max(level, p->listener[i].level);
                any |= p->listener[i].any;
                all &= p->listener[i].all;
            }
            if (p->changed)
                p->changed = FALSE;
            else
                p->capture = FALSE;
        }
        context = p->context;
        source = p->source;
        ReleaseSRWLockExclusive(&lock);
        if (!callback)
            break;
        callback(&source, code, level, any, any ? all : 0, NULL, context);
    }
    LeaveCriticalSection(&p->telling);
}

static DWORD WINAPI tell_all(void *event)
{
    for (;;)
    {
        LONG now;

        look_all();
        now = known;
        for (unsigned i = 0; i < MOST_PROVIDERS && providers[i]; i++)
        {
            if (providers[i]->changed || providers[i]->capture)
                tell(providers[i]);
        }
        tdh_table_seen(now);
        if (WaitForSingleObject(event, INFINITE) != WAIT_OBJECT_0)
            return 0;
    }
}

/* Starts the thread that tells the providers of changes. */
static void start_telling(void)
{
    HANDLE event;

    AcquireSRWLockExclusive(&starting);
    if (!teller && (event = tdh_table_listen()))
        teller = CreateThread(NULL, STACK_BYTES, tell_all, event, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    ReleaseSRWLockExclusive(&starting);
}

static REGHANDLE handle_of(unsigned at)
{
    return (REGHANDLE)providers[at]->use << 32 | (at + 1);
}

static struct provider *find(REGHANDLE handle)
{
    DWORD at = (DWORD)handle - 1;

    if (at >= MOST_PROVIDERS || !providers[at] || !providers[at]->taken || providers[at]->use != (DWORD)(handle >> 32))
        return NULL;
    return providers[at];
}

struct provider *tdh_provider_hold(REGHANDLE handle)
{
    struct provider *p;

    look_all();
    AcquireSRWLockShared(&lock);
    if (!(p = find(handle)))
        ReleaseSRWLockShared(&lock);
    return p;
}

void tdh_provider_let(void)
{
    ReleaseSRWLockShared(&lock);
}

struct channel *tdh_provider_channel(const struct listener *listener)
{
    static SRWLOCK opening = SRWLOCK_INIT;
    struct channel *channel = &channels[listener->session], opened;

    if (__atomic_load_n(&channel->id, __ATOMIC_ACQUIRE) == listener->id)
        return channel;
    AcquireSRWLockExclusive(&opening);
    if (channel->id != listener->id && tdh_channel_open(&opened, listener->id))
    {
        channel->ring = opened.ring;
        channel->section = opened.section;
        channel->event = opened.event;
        __atomic_store_n(&channel->id, opened.id, __ATOMIC_RELEASE);
    }
    ReleaseSRWLockExclusive(&opening);
    return channel->id == listener->id ? channel : NULL;
}

/* A place that is free; MOST_PROVIDERS: there is none. */
static unsigned free_place(void)
{
    for (unsigned i = 0; i < MOST_PROVIDERS; i++)
    {
        struct provider *p = providers[i];

        if (p && p->taken)
            continue;
        if (!p)
        {
            if (!(p = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof(*p))))
                break;
            InitializeCriticalSection(&p->telling);
            p->use = 1;
            __atomic_store_n(&providers[i], p, __ATOMIC_RELEASE);
        }
        return i;
    }
    return MOST_PROVIDERS;
}

ULONG WINAPI MullionEventRegister(const GUID *id, PENABLECALLBACK callback, void *context, REGHANDLE *handle)
{
    struct table *table = tdh_table_open();
    struct provider *p = NULL;
    unsigned at;

    if (!id || !handle)
        return ERROR_INVALID_PARAMETER;
    if (callback && table)
        start_telling();
    look_all();
    AcquireSRWLockExclusive(&lock);
    if ((at = free_place()) < MOST_PROVIDERS)
    {
        p = providers[at];
        p->taken = TRUE;
        p->typed = p->has_group = p->changed = p->capture = FALSE;
        p->count = p->captures = 0;
        memset(p->listener, 0, sizeof(p->listener));
        p->id = *id;
        p->callback = callback;
        p->context = context;
        *handle = handle_of(at);
        if (table && tdh_table_lock())
        {
            look(p, table);
            tdh_table_unlock();
        }
        p->capture = FALSE;
    }
    ReleaseSRWLockExclusive(&lock);
    if (!p)
        return ERROR_NOT_ENOUGH_MEMORY;
    tell(p);
    return ERROR_SUCCESS;
}

ULONG WINAPI MullionEventUnregister(REGHANDLE handle)
{
    struct provider *p;

    AcquireSRWLockShared(&lock);
    p = find(handle);
    ReleaseSRWLockShared(&lock);
    if (!p)
        return ERROR_INVALID_HANDLE;
    EnterCriticalSection(&p->telling); /* no callback runs from now on */
    AcquireSRWLockExclusive(&lock);
    if (find(handle) == p)
    {
        p->taken = FALSE;
        p->use++;
        HeapFree(GetProcessHeap(), 0, p->traits);
        p->traits = NULL;
        p->traits_size = 0;
    }
    ReleaseSRWLockExclusive(&lock);
    LeaveCriticalSection(&p->telling);
    return ERROR_SUCCESS;
}

/*
 * The traits of a provider (learn.microsoft.com/windows/win32/etw/provider-traits): their size, a name that ends with a
 * zero, and parts of a size, a type and bytes. The part of type 1 is the provider's group.
 */
static BOOL read_group(const BYTE *traits, WORD size, GUID *group)
{
    DWORD at = sizeof(WORD), part;

    while (at < size && traits[at])
        at++;
    for (at++; at + TRAITS_LEAST <= size; at += part)
    {
        part = traits[at] | traits[at + 1] << 8;
        if (part < TRAITS_LEAST || part > size - at)
            return FALSE;
        if (traits[at + 2] == TRAIT_GROUP && part == TRAITS_LEAST + sizeof(*group))
        {
            memcpy(group, traits + at + TRAITS_LEAST, sizeof(*group));
            return TRUE;
        }
    }
    return FALSE;
}

static ULONG set_traits(struct provider *p, const BYTE *traits, ULONG size)
{
    struct table *table = tdh_table_open();

    if (!traits || size < TRAITS_LEAST || size > 0xffff || (traits[0] | traits[1] << 8) != (int)size)
        return ERROR_INVALID_PARAMETER;
    if (p->traits)
        return ERROR_INVALID_PARAMETER; /* they are set once */
    if (!(p->traits = HeapAlloc(GetProcessHeap(), 0, size)))
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(p->traits, traits, size);
    p->traits_size = (WORD)size;
    p->has_group = read_group(p->traits, p->traits_size, &p->group);
    if (p->has_group && table && tdh_table_lock())
    {
        look(p, table);
        tdh_table_unlock();
    }
    return ERROR_SUCCESS;
}

ULONG WINAPI MullionEventSetInformation(REGHANDLE handle, ULONG class, const void *information, ULONG size)
{
    enum
    {
        BINARY_TRACK,
        TRAITS = 2,
        USE_DESCRIPTOR_TYPE
    };
    ULONG error = ERROR_SUCCESS;
    BOOL telling = FALSE;
    struct provider *p;

    look_all();
    AcquireSRWLockExclusive(&lock);
    if (!(p = find(handle)))
        error = ERROR_INVALID_HANDLE;
    else if (class == TRAITS)
    {
        error = set_traits(p, information, size);
        telling = p->changed;
    }
    else if (class == USE_DESCRIPTOR_TYPE && size == sizeof(BYTE) && information)
        p->typed = *(const BYTE *)information != 0;
    else if (class != BINARY_TRACK)
        error = ERROR_INVALID_PARAMETER;
    ReleaseSRWLockExclusive(&lock);
    if (telling)
        tell(p);
    return error;
}
