/* Security descriptors, which lie beside files that containers write. */
#include "acl.h"

#include <stdlib.h>

#include "fuzz.h"
#include "heap.h"

#define USERS ((const SID *)&acl_users)

/* Lists are made of the parsed one, and read whole. */
static void use(const struct descriptor *parsed)
{
    const SID *const who[] = {USERS};
    ACL *made[] = {acl_copy(parsed->list), acl_set(parsed->list, TRUE, TRUE), acl_set(parsed->list, FALSE, FALSE),
                   acl_inherit(parsed->list, parsed->list, TRUE, USERS, USERS),
                   acl_inherit(NULL, parsed->list, FALSE, parsed->owner, parsed->group)};

    acl_rights(parsed->list, who, 1);
    for (unsigned i = 0; i < sizeof(made) / sizeof(made[0]); i++)
    {
        if (made[i])
            acl_rights(made[i], who, 1);
        heap_free(made[i]);
    }
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct descriptor parsed, again;
    ULONG length;
    BYTE *bytes;

    if (!acl_descriptor_parse(data, (ULONG)size, &parsed))
        return;
    if (parsed.list)
        use(&parsed);
    length = acl_descriptor_write(&parsed, NULL);
    bytes = malloc(length);
    if (acl_descriptor_write(&parsed, bytes) != length)
        fuzz_fail("the bytes of a descriptor", 0, length);
    if (!acl_descriptor_parse(bytes, length, &again) || !again.list != !parsed.list || !again.owner != !parsed.owner)
        fuzz_fail("a descriptor that was written is read", 0, 1);
    free(bytes);
}
