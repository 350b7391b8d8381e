/*
 * Routes that programs make and remove.
 *
 * Fact: Wine's CreateIpForwardEntry, SetIpForwardEntry and DeleteIpForwardEntry do nothing and say that they did (8.0
 * and 10.0: "stub" in dlls/iphlpapi/iphlpapi_main.c). Here they ask the kernel of the network namespace by rtnetlink
 * (man 7 rtnetlink). Who may not change routes there, as a container, gets ERROR_ACCESS_DENIED.
 */
#include "winsock.h"

#include <iphlpapi.h>

#include "linux.h"
#include "patch.h"

enum
{
    AF_NETLINK_ = 16,
    SOCK_RAW_ = 3,
    NLMSG_ERROR_ = 2,
    RTM_NEWROUTE_ = 24,
    RTM_DELROUTE_ = 25,
    NLM_F_REQUEST_ = 1,
    NLM_F_ACK_ = 4,
    NLM_F_EXCL_ = 0x200,
    NLM_F_REPLACE_ = 0x100,
    NLM_F_CREATE_ = 0x400,
    RT_TABLE_MAIN_ = 254,
    RTPROT_STATIC_ = 4,
    RT_SCOPE_LINK_ = 253,
    RT_SCOPE_NOWHERE_ = 255,
    RTN_UNICAST_ = 1,
    RTA_DST_ = 1,
    RTA_OIF_ = 4,
    RTA_GATEWAY_ = 5,
    RTA_PRIORITY_ = 6
};

struct attribute
{
    UINT16 length, type;
    UINT32 value;
};

struct request
{
    UINT32 length;
    UINT16 type, flags;
    UINT32 sequence, port;
    BYTE family, dst_len, src_len, tos, table, protocol, scope, kind;
    UINT32 route_flags;
    struct attribute attributes[4];
};

struct answer
{
    UINT32 length;
    UINT16 type, flags;
    UINT32 sequence, port;
    INT32 error;
    BYTE rest[1024];
};

static void add(struct request *r, UINT16 type, UINT32 value)
{
    struct attribute *a = &r->attributes[(r->length - offsetof(struct request, attributes)) / sizeof(*a)];

    a->length = sizeof(*a);
    a->type = type;
    a->value = value;
    r->length += sizeof(*a);
}

/* ask sends a request and returns the kernel's answer: 0, or a negative error number. */
static int ask(struct request *r)
{
    struct answer answer;
    INT64 size;
    int fd = lx_socket(AF_NETLINK_, SOCK_RAW_);

    if (fd < 0)
        return fd;
    size = lx_send(fd, r, r->length);
    if (size >= 0)
        size = lx_read(fd, &answer, sizeof(answer));
    lx_close(fd);
    if (size < 0)
        return (int)size;
    if (size < (INT64)offsetof(struct answer, rest) || answer.type != NLMSG_ERROR_)
        return -LX_EINVAL;
    return answer.error;
}

static DWORD windows_error(int error)
{
    switch (-error)
    {
    case 0: return NO_ERROR;
    case 3: /* ESRCH: there is no such route */ return ERROR_NOT_FOUND;
    case LX_EPERM:
    case LX_EACCES: return ERROR_ACCESS_DENIED;
    case LX_EEXIST: return ERROR_OBJECT_ALREADY_EXISTS;
    case 19: /* ENODEV: there is no such interface */ return ERROR_FILE_NOT_FOUND;
    case 101: /* ENETUNREACH: the next hop cannot be reached by the interface */ return ERROR_BAD_NET_NAME;
    }
    return ERROR_INVALID_PARAMETER;
}

/* prefix_of returns the bits of a mask, or -1 if they are not all at its beginning. */
static int prefix_of(UINT32 mask)
{
    UINT32 bits = __builtin_bswap32(mask);
    int n = 0;

    for (; bits & 0x80000000u; bits <<= 1)
        n++;
    return bits ? -1 : n;
}

static DWORD change(const MIB_IPFORWARDROW *row, UINT16 type, UINT16 flags)
{
    struct request r = {.length = offsetof(struct request, attributes),
                        .type = type,
                        .flags = (UINT16)(NLM_F_REQUEST_ | NLM_F_ACK_ | flags)};
    int bits;

    if (!row || (bits = prefix_of(row->dwForwardMask)) < 0 || (row->dwForwardDest & ~row->dwForwardMask))
        return ERROR_INVALID_PARAMETER;
    r.family = LX_AF_INET;
    r.dst_len = (BYTE)bits;
    r.table = RT_TABLE_MAIN_;
    r.scope = RT_SCOPE_NOWHERE_; /* any, of a route that is removed */
    if (type == RTM_NEWROUTE_)
    {
        r.protocol = RTPROT_STATIC_;
        r.kind = RTN_UNICAST_;
        r.scope = row->dwForwardNextHop ? 0 : RT_SCOPE_LINK_;
    }
    add(&r, RTA_DST_, row->dwForwardDest);
    add(&r, RTA_OIF_, row->dwForwardIfIndex);
    if (row->dwForwardNextHop)
        add(&r, RTA_GATEWAY_, row->dwForwardNextHop);
    if (type == RTM_NEWROUTE_ && row->dwForwardMetric1 && row->dwForwardMetric1 != ~0u)
        add(&r, RTA_PRIORITY_, row->dwForwardMetric1);
    return windows_error(ask(&r));
}

static DWORD WINAPI hook_CreateIpForwardEntry(MIB_IPFORWARDROW *row)
{
    return change(row, RTM_NEWROUTE_, NLM_F_CREATE_ | NLM_F_EXCL_);
}

static DWORD WINAPI hook_SetIpForwardEntry(MIB_IPFORWARDROW *row)
{
    return change(row, RTM_NEWROUTE_, NLM_F_CREATE_ | NLM_F_REPLACE_);
}

static DWORD WINAPI hook_DeleteIpForwardEntry(MIB_IPFORWARDROW *row)
{
    return change(row, RTM_DELROUTE_, 0);
}

void routes_start(HMODULE iphlpapi)
{
    patch_replace(iphlpapi, "CreateIpForwardEntry", hook_CreateIpForwardEntry);
    patch_replace(iphlpapi, "SetIpForwardEntry", hook_SetIpForwardEntry);
    patch_replace(iphlpapi, "DeleteIpForwardEntry", hook_DeleteIpForwardEntry);
}
