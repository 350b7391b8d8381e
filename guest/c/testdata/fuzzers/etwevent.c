/* Events of ETW, from memory into which every program of a container can write. */
#include "event.h"

#include <stdlib.h>

#include "fuzz.h"

/* What a consumer is shown lies within the record. */
static void check_within(const uint8_t *copy, size_t size, const void *at, size_t length)
{
    size_t from = (size_t)((const uint8_t *)at - copy);

    if (length && (from > size || length > size - from))
        fuzz_fail("a part of an event ends", (long long)(from + length), (long long)size);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    struct event_view view;

    if (tdh_event_view(&view, copy, (DWORD)size))
    {
        if (view.record.ExtendedDataCount > MOST_EXTENDED)
            fuzz_fail("items", view.record.ExtendedDataCount, MOST_EXTENDED);
        check_within(copy, size, view.record.UserData, view.record.UserDataLength);
        for (WORD i = 0; i < view.record.ExtendedDataCount; i++)
            check_within(copy, size, (void *)(uintptr_t)view.items[i].DataPtr, view.items[i].DataSize);
    }
    free(copy);
}
