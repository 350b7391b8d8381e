/* Paths of performance counters and patterns of instances, which programs give. */
#include "counters.h"

#include <pdhmsg.h>
#include <stdlib.h>

#include "fuzz.h"

void fuzz_one(const uint8_t *data, size_t size)
{
    WCHAR *path = fuzz_text(&data, &size, '\n'), *name = fuzz_text(&data, &size, '\n');
    WCHAR *parts = calloc(3 * PATH_PART_CHARS, sizeof(WCHAR));
    WCHAR *object = parts, *instance = parts + PATH_PART_CHARS, *counter = instance + PATH_PART_CHARS;
    LONG status = pdh_parse_path(path, object, instance, counter), found;

    if (!status)
    {
        if (!object[0] || !counter[0])
            fuzz_fail("a part is there", 0, 1);
        pdh_find_object(object);
        if (!pdh_find_counter(object, counter, &found) && !found)
            fuzz_fail("why there is no counter", found, (LONG)PDH_CSTATUS_NO_COUNTER);
        pdh_matches(instance, name);
    }
    if (!pdh_matches(L"*", name))
        fuzz_fail("a star fits", 0, 1);
    pdh_matches(path, name);
    free(parts);
    free(name);
    free(path);
}
