/*
 * The names of the network's adapters.
 *
 * Facts: Wine calls an adapter by the name of Linux' interface, eth0. On Windows a host's adapter is called Ethernet.
 * When the Host Networking Service has made a network on it, the host's addresses are on a virtual one, "vEthernet
 * (Ethernet)", by which the documents tell people to look for it
 * (https://kubernetes.io/docs/tasks/debug/debug-cluster/windows/). The data plane gives that name to a host's
 * interface, as Linux' alias of it (IFLA_IFALIAS, include/uapi/linux/if_link.h). Aliases of other forms belong to
 * others, and those interfaces keep their names.
 */
#include "adaptername.h"

#include "hooks.h"
#include "linux.h"

enum
{
    AF_NETLINK_ = 16,
    SOCK_RAW_ = 3,
    RTM_NEWLINK_ = 16,
    RTM_GETLINK_ = 18,
    NLM_F_REQUEST_ = 1,
    IFLA_IFALIAS_ = 20
};

struct link_message
{
    UINT32 length;
    UINT16 type, flags;
    UINT32 sequence, port;
    BYTE family, pad;
    UINT16 kind;
    INT32 index;
    UINT32 link_flags, change;
};

/* ask_link asks the kernel what it knows of an interface; returns the size of the answer, or 0. */
static SIZE_T ask_link(UINT32 index, BYTE *answer, SIZE_T room)
{
    struct link_message ask = {
        .length = sizeof(ask), .type = RTM_GETLINK_, .flags = NLM_F_REQUEST_, .index = (INT32)index};
    const struct link_message *got = (const void *)answer;
    int fd = lx_socket(AF_NETLINK_, SOCK_RAW_);
    INT64 size;

    if (fd < 0)
        return 0;
    size = lx_send(fd, &ask, sizeof(ask));
    if (size >= 0)
        size = lx_read(fd, answer, room);
    lx_close(fd);
    if (size < (INT64)sizeof(*got) || got->type != RTM_NEWLINK_ || got->length > size)
        return 0;
    return got->length;
}

/* take copies an alias that is one of ours. */
static BOOL take(const BYTE *alias, SIZE_T length, WCHAR *name)
{
    static const char plain[] = "Ethernet", virtual[] = "vEthernet (";
    const SIZE_T plain_length = sizeof(plain) - 1, virtual_length = sizeof(virtual) - 1;
    SIZE_T i;

    while (length && !alias[length - 1])
        length--;
    if (length >= ADAPTER_NAME_ROOM)
        return FALSE;
    if ((length < plain_length || memcmp(alias, plain, plain_length)) &&
        (length < virtual_length || memcmp(alias, virtual, virtual_length)))
        return FALSE;
    for (i = 0; i < length; i++)
    {
        if (alias[i] < ' ' || alias[i] > '~')
            return FALSE;
        name[i] = alias[i];
    }
    name[i] = 0;
    return TRUE;
}

BOOL adapter_name(UINT32 index, WCHAR *name)
{
    BYTE answer[8192];
    SIZE_T size = index ? ask_link(index, answer, sizeof(answer)) : 0, at = sizeof(struct link_message);

    while (at + 4 <= size)
    {
        UINT16 length, type;

        memcpy(&length, answer + at, sizeof(length));
        memcpy(&type, answer + at + 2, sizeof(type));
        if (length < 4 || at + length > size)
            return FALSE;
        if (type == IFLA_IFALIAS_)
            return take(answer + at + 4, length - 4u, name);
        at += (length + 3u) & ~3u;
    }
    return FALSE;
}

BOOL adapter_is_virtual(const WCHAR *name)
{
    return name[0] == 'v';
}
