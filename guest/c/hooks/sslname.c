#include "sslname.h"

#include <string.h>

#include "ipaddress.h"

enum
{
    DNS_NAME = DER_CONTEXT | 2,
    IP_ADDRESS = DER_CONTEXT | 7,
    LONGEST_ADDRESS = 45 /* ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255 */
};

static char small(BYTE c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : (char)c;
}

static struct bytes without_dot(struct bytes name)
{
    if (name.size && name.data[name.size - 1] == '.')
        name.size--;
    return name;
}

/* Takes the first label from the front of a name. */
static struct bytes next_label(struct bytes *name)
{
    struct bytes label = {name->data, 0};

    while (label.size < name->size && name->data[label.size] != '.')
        label.size++;
    name->data += label.size;
    name->size -= label.size;
    return label;
}

static BOOL is_star(struct bytes label)
{
    return der_bytes_equal(label, "*", 1);
}

static BOOL label_valid(struct bytes label)
{
    for (SIZE_T i = 0; i < label.size; i++)
    {
        char c = small(label.data[i]);

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && (c != '-' || !i))
            return FALSE;
    }
    return label.size > 0;
}

/* Whether a name is one of DNS; a pattern may have a star for its first label, and has more than that. */
static BOOL name_valid(struct bytes name, BOOL pattern)
{
    BOOL star = FALSE;

    for (unsigned i = 0;; i++)
    {
        struct bytes label = next_label(&name);

        star = pattern && !i && is_star(label);
        if (!star && !label_valid(label))
            return FALSE;
        if (!name.size)
            return !star;
        name.data++;
        name.size--;
    }
}

static BOOL same(struct bytes a, struct bytes b)
{
    for (SIZE_T i = 0; i < a.size && i < b.size; i++)
        if (small(a.data[i]) != small(b.data[i]))
            return FALSE;
    return a.size == b.size;
}

/* A star stands for one label. What is no name of DNS, as some hosts of old certificates, is compared as it is. */
static BOOL name_matches(struct bytes pattern, struct bytes host)
{
    struct bytes bare = without_dot(host), rest = bare, below = pattern;

    if (!name_valid(bare, FALSE) || !name_valid(pattern, TRUE))
        return host.size && !der_bytes_equal(host, ".", 1) && same(pattern, host);
    if (!is_star(next_label(&below)))
        return same(pattern, bare);
    next_label(&rest);
    return same(below, rest);
}

/* Reads a host that is an address; one of IPv6 may have brackets. */
static BOOL host_address(const char *host, SIZE_T size, struct address *address)
{
    char text[LONGEST_ADDRESS + 3] = "[";

    if (size > LONGEST_ADDRESS + 2)
        return FALSE;
    if (ipaddress_read(address, host, (uint32_t)size))
        return TRUE;
    if (size > LONGEST_ADDRESS)
        return FALSE;
    memcpy(text + 1, host, size);
    text[size + 1] = ']';
    return ipaddress_read(address, text, (uint32_t)size + 2);
}

static BOOL address_matches(struct bytes value, const struct address *address)
{
    static const BYTE mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    if (value.size == 4)
        return !memcmp(address->bytes, mapped, sizeof(mapped)) &&
               !memcmp(address->bytes + sizeof(mapped), value.data, 4);
    return value.size == sizeof(address->bytes) && !memcmp(address->bytes, value.data, sizeof(address->bytes));
}

BOOL ssl_name_matches(struct bytes names, const char *host, SIZE_T size)
{
    struct bytes list, value, wanted = {(const BYTE *)host, size};
    struct address address;
    BOOL by_address = host_address(host, size, &address);
    BYTE tag;

    if (!der_take(&names, DER_SEQUENCE, &list))
        return FALSE;
    while (der_next(&list, &tag, &value))
    {
        if (tag == IP_ADDRESS && by_address && address_matches(value, &address))
            return TRUE;
        if (tag == DNS_NAME && !by_address && name_matches(value, wanted))
            return TRUE;
    }
    return FALSE;
}
