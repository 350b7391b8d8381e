#include "copies.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>

#define GENERATION_FILE L"C:\\ProgramData\\Mullion\\hns.generation"

/*
 * The objects of one answer. slots is a hash table of their offsets in block, 0 for an empty slot; its size is a
 * power of two.
 */
struct copies
{
    UINT64 generation;
    unsigned char *block;
    DWORD *slots, mask, count;
};

static SRWLOCK lock = SRWLOCK_INIT;
static struct copies copies[COPIES_KINDS];
static const volatile UINT64 *generation;

BOOL copies_kept(void)
{
    HANDLE file, mapping = NULL;

    AcquireSRWLockExclusive(&lock);
    if (!generation)
    {
        file = CreateFileW(GENERATION_FILE, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                           OPEN_EXISTING, 0, NULL);
        if (file != INVALID_HANDLE_VALUE)
        {
            if (GetFileSize(file, NULL) >= sizeof(*generation) &&
                (mapping = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL)))
                generation = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, sizeof(*generation));
            if (mapping)
                CloseHandle(mapping);
            CloseHandle(file);
        }
    }
    ReleaseSRWLockExclusive(&lock);
    return generation != NULL;
}

static DWORD hash(const GUID *id)
{
    DWORD part[4];

    memcpy(part, id, sizeof(part));
    return (part[0] ^ part[1] * 31 ^ part[2] * 17 ^ part[3]) * 2654435761u >> 7;
}

/* The slot of an object, or the empty slot where it belongs. A field is its length, the GUID and the text. */
static DWORD *slot(const struct copies *c, const GUID *id)
{
    DWORD i = hash(id) & c->mask;

    while (c->slots[i] && memcmp(c->block + c->slots[i] + 4, id, sizeof(*id)))
        i = (i + 1) & c->mask;
    return &c->slots[i];
}

static DWORD length_at(const unsigned char *at)
{
    DWORD length;

    memcpy(&length, at, 4);
    return length;
}

/* Counts the fields; 0 if they are malformed. */
static DWORD count_fields(const unsigned char *at, size_t left)
{
    DWORD count = 0, length;

    for (; left; at += 4 + (size_t)length, left -= 4 + (size_t)length, count++)
        if (left < 4 || (length = length_at(at)) < sizeof(GUID) || length > left - 4)
            return 0;
    return count;
}

static BOOL fill(struct copies *c, const unsigned char *at, size_t left)
{
    DWORD size = 16, n;

    if (left < 12 || length_at(at) != sizeof(c->generation))
        return FALSE;
    memcpy(&c->generation, at + 4, sizeof(c->generation));
    at += 12;
    if (!(c->count = count_fields(at, left - 12)))
        return FALSE;
    while (size < 2 * c->count)
        size *= 2;
    if (!(c->slots = calloc(size, sizeof(*c->slots))))
        return FALSE;
    c->mask = size - 1;
    for (n = 0; n < c->count; n++, at += 4 + (size_t)length_at(at))
        *slot(c, (const GUID *)(const void *)(at + 4)) = (DWORD)(at - c->block);
    return TRUE;
}

static void drop(struct copies *c)
{
    free(c->block);
    free(c->slots);
    memset(c, 0, sizeof(*c));
}

BOOL copies_take(enum copies_kind kind, unsigned char *block, const unsigned char *at, size_t left)
{
    struct copies fresh = {.block = block}, *c = &copies[kind];
    BOOL taken = FALSE;

    if (kind == COPIES_NONE || !generation || !fill(&fresh, at, left))
        return FALSE;
    AcquireSRWLockExclusive(&lock);
    /* A list of many objects is not replaced by a copy of one of them. */
    if (!c->block || c->generation != fresh.generation || c->count < fresh.count)
    {
        drop(c);
        *c = fresh;
        taken = TRUE;
    }
    ReleaseSRWLockExclusive(&lock);
    if (!taken)
        free(fresh.slots);
    return taken;
}

static WCHAR *widen(const char *text, int length)
{
    WCHAR *wide = CoTaskMemAlloc(((size_t)length + 1) * sizeof(WCHAR));

    if (wide)
        wide[MultiByteToWideChar(CP_UTF8, 0, text, length, wide, length)] = 0;
    return wide;
}

BOOL copies_find(enum copies_kind kind, const GUID *id, WCHAR **text)
{
    struct copies *c = &copies[kind];
    const unsigned char *at;
    BOOL found = FALSE;
    DWORD offset;

    AcquireSRWLockExclusive(&lock);
    if (c->block && c->generation != *generation)
        drop(c);
    if (c->block && (offset = *slot(c, id)))
    {
        at = c->block + offset;
        found = !text || (*text = widen((const char *)at + 4 + sizeof(GUID), (int)(length_at(at) - sizeof(GUID))));
    }
    ReleaseSRWLockExclusive(&lock);
    return found;
}
