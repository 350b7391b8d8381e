/*
 * Icmp6CreateFile, Icmp6SendEcho2: echo requests over IPv6
 * (https://learn.microsoft.com/windows/win32/api/icmpapi/nf-icmpapi-icmp6sendecho2).
 *
 * Fact: Wine 8.0's iphlpapi.dll has both as functions that fail with ERROR_CALL_NOT_IMPLEMENTED, and its nsiproxy.sys
 * knows only echo requests of IPv4. Only functions that fail like that are replaced here; a Wine with other functions
 * keeps them.
 *
 * A request goes by a ping socket of Linux (SOCK_DGRAM, IPPROTO_ICMPV6), which a process may open if
 * net.ipv4.ping_group_range allows it, as in pods: the kernel chooses the identifier and delivers only answers to the
 * socket's own requests. Otherwise it goes by a raw socket, which root may open, as on hosts; it gets all ICMPv6
 * packets. The kernel computes the checksum for both.
 */
#include "winsock.h"

#include <ipexport.h>
#include <winternl.h>
#include <ws2tcpip.h>

#include "linux.h"
#include "patch.h"

/* Linux: include/uapi/linux/{in6,icmpv6,errqueue}.h */
/* clang-format off */
enum
{
    LX_AF_INET6 = 10, LX_SOCK_DGRAM = 2, LX_SOCK_RAW = 3, LX_IPPROTO_ICMPV6 = 58, LX_SOL_IPV6 = 41,
    LX_IPV6_UNICAST_HOPS = 16, LX_IPV6_RECVERR = 25,
    LX_POLLIN = 1, LX_POLLERR = 8, LX_MSG_ERRQUEUE = 0x2000, LX_MSG_DONTWAIT = 0x40, LX_ORIGIN_ICMP6 = 3,
    ECHO_REQUEST = 128, ECHO_REPLY = 129, UNREACHABLE = 1, TOO_BIG = 2, TIME_EXCEEDED = 3, PARAMETER_PROBLEM = 4
};
/* clang-format on */

typedef HANDLE(WINAPI *icmp_create_file)(void);

enum
{
    MAX_ECHO = 65535
};

struct lx_address
{
    UINT16 family, port;
    UINT32 flow;
    BYTE address[16];
    UINT32 scope;
};

struct lx_iovec
{
    void *base;
    UINT64 length;
};

struct lx_message
{
    void *name;
    UINT32 name_length, pad;
    struct lx_iovec *parts;
    UINT64 count;
    void *control;
    UINT64 control_length;
    UINT64 flags;
};

struct lx_control
{
    UINT64 length;
    INT32 level, type;
};

struct lx_error
{
    UINT32 number;
    BYTE origin, type, code, pad;
    UINT32 info, data;
    struct lx_address from;
};

struct icmp6_header
{
    BYTE type, code;
    UINT16 checksum, id, sequence;
};

/*
 * ICMPV6_ECHO_REPLY, with the data behind it
 * (https://learn.microsoft.com/windows/win32/api/ipexport/ns-ipexport-icmpv6_echo_reply_lh).
 */
struct echo_reply
{
    BYTE port[2], flow[4], address[16], scope[4]; /* IPV6_ADDRESS_EX: packed, 26 bytes */
    ULONG status;
    unsigned round_trip;
};

_Static_assert(sizeof(struct echo_reply) == 36, "as Windows has it");

/* One request. */
struct echo
{
    HANDLE event, thread;
    void(WINAPI *apc)(void *, IO_STATUS_BLOCK *, ULONG);
    void *context, *data, *reply;
    struct lx_address from, to;
    DWORD size, reply_size, timeout;
    IO_STATUS_BLOCK done;
    BYTE hops;
};

static icmp_create_file create_file;
static LONG sequence;

static struct lx_address linux_address(const struct sockaddr_in6 *a)
{
    struct lx_address out = {.family = LX_AF_INET6, .flow = a->sin6_flowinfo, .scope = a->sin6_scope_id};

    memcpy(out.address, &a->sin6_addr, sizeof(out.address));
    return out;
}

/* The status of an ICMPv6 error (RFC 4443). */
static ULONG status_of(BYTE type, BYTE code)
{
    static const ULONG unreachable[] = {IP_DEST_NO_ROUTE, IP_DEST_PROHIBITED, IP_DEST_SCOPE_MISMATCH,
                                        IP_DEST_ADDR_UNREACHABLE, IP_DEST_PORT_UNREACHABLE};

    switch (type)
    {
    case UNREACHABLE:
        return code < sizeof(unreachable) / sizeof(unreachable[0]) ? unreachable[code] : IP_DEST_UNREACHABLE;
    case TOO_BIG: return IP_PACKET_TOO_BIG;
    case TIME_EXCEEDED: return code ? IP_REASSEMBLY_TIME_EXCEEDED : IP_HOP_LIMIT_EXCEEDED;
    case PARAMETER_PROBLEM: return IP_PARAMETER_PROBLEM;
    default: return IP_GENERAL_FAILURE;
    }
}

static void fill(const struct echo *e, const struct lx_address *from, ULONG status, DWORD started)
{
    struct echo_reply *reply = e->reply;

    memset(reply, 0, sizeof(*reply));
    memcpy(reply->address, from->address, sizeof(reply->address));
    memcpy(reply->scope, &from->scope, sizeof(reply->scope));
    reply->status = status;
    reply->round_trip = GetTickCount() - started;
}

/*
 * Whether the header of a request or an answer has the number of the sent request, and its identifier unless the
 * kernel chose that.
 */
static BOOL is_of(const struct icmp6_header *header, const struct icmp6_header *sent)
{
    return header->sequence == sent->sequence && (!sent->id || header->id == sent->id);
}

/* Reads an error from the socket's error queue; FALSE if there is none about that request. */
static BOOL read_error(int fd, const struct echo *e, const struct icmp6_header *sent, DWORD started)
{
    BYTE control[256] __attribute__((aligned(8)));
    struct icmp6_header packet;
    struct lx_address to;
    struct lx_iovec part = {&packet, sizeof(packet)};
    struct lx_message m = {.name = &to,
                           .name_length = sizeof(to),
                           .parts = &part,
                           .count = 1,
                           .control = control,
                           .control_length = sizeof(control)};
    const struct lx_control *c = (const void *)control;
    struct lx_error error;

    if (lx3(LX_NR_recvmsg, fd, &m, LX_MSG_ERRQUEUE | LX_MSG_DONTWAIT) < (INT64)sizeof(packet) ||
        packet.type != ECHO_REQUEST || !is_of(&packet, sent))
        return FALSE;
    if (m.control_length < sizeof(*c) + sizeof(error) || c->length < sizeof(*c) + sizeof(error) ||
        c->level != LX_SOL_IPV6 || c->type != LX_IPV6_RECVERR)
        return FALSE;
    memcpy(&error, c + 1, sizeof(error));
    if (error.origin == LX_ORIGIN_ICMP6)
        fill(e, &error.from, status_of(error.type, error.code), started);
    else
        fill(e, &e->to, IP_DEST_HOST_UNREACHABLE, started); /* from the kernel: nobody has the address */
    return TRUE;
}

/* Reads the answer to the request; FALSE if the packet is something else. */
static BOOL read_answer(int fd, const struct echo *e, BYTE *packet, const struct icmp6_header *sent, DWORD started)
{
    const struct icmp6_header *header = (const void *)packet;
    struct lx_address from;
    int from_size = sizeof(from);
    INT64 size = lx_call6(LX_NR_recvfrom, fd, (INT64)packet, (INT64)sizeof(*header) + MAX_ECHO, LX_MSG_DONTWAIT,
                          (INT64)&from, (INT64)&from_size);

    if (size < (INT64)sizeof(*header) || header->type != ECHO_REPLY || !is_of(header, sent))
        return FALSE;
    size -= sizeof(*header);
    if ((UINT64)size > e->reply_size - sizeof(struct echo_reply))
        size = e->reply_size - sizeof(struct echo_reply);
    fill(e, &from, IP_SUCCESS, started);
    memcpy((BYTE *)e->reply + sizeof(struct echo_reply), packet + sizeof(*header), size);
    return TRUE;
}

/* Waits for the answer, or an error; returns the error for Windows' GetLastError. */
static DWORD wait_for_answer(int fd, const struct echo *e, BYTE *packet, const struct icmp6_header *sent)
{
    DWORD started = GetTickCount(), passed;

    while ((passed = GetTickCount() - started) <= e->timeout)
    {
        struct
        {
            int fd;
            short events, got;
        } poll = {fd, LX_POLLIN, 0};
        DWORD left = e->timeout - passed;
        INT64 n = lx_poll(&poll, 1, left > 0x7fffffff ? 0x7fffffff : (int)left);

        if (n < 0 && n != -LX_EINTR)
            return IP_GENERAL_FAILURE;
        if (n > 0 && (poll.got & LX_POLLERR) && read_error(fd, e, sent, started))
            return 0;
        if (n > 0 && read_answer(fd, e, packet, sent, started))
            return 0;
        if (n == 0)
            break;
    }
    return IP_REQ_TIMED_OUT;
}

/* Sends the request and waits; returns 0, or the error for GetLastError. */
static DWORD ask(const struct echo *e, int fd, BOOL raw, BYTE *packet)
{
    struct icmp6_header header = {.type = ECHO_REQUEST,
                                  .id = raw ? (UINT16)(lx_gettid() | 1) : 0,
                                  .sequence = (UINT16)InterlockedIncrement(&sequence)};
    static const BYTE none[16];
    int on = 1, hops = e->hops;
    INT64 sent;

    if (hops)
        lx_setsockopt(fd, LX_SOL_IPV6, LX_IPV6_UNICAST_HOPS, &hops, sizeof(hops));
    lx_setsockopt(fd, LX_SOL_IPV6, LX_IPV6_RECVERR, &on, sizeof(on));
    if (memcmp(e->from.address, none, sizeof(none)) && lx_bind(fd, &e->from, sizeof(e->from)) < 0)
        return IP_BAD_DESTINATION;
    memcpy(packet, &header, sizeof(header));
    memcpy(packet + sizeof(header), e->data, e->size);
    sent = lx_call6(LX_NR_sendto, fd, (INT64)packet, (INT64)(sizeof(header) + e->size), 0, (INT64)&e->to,
                    sizeof(e->to));
    if (sent < 0)
        return sent == -101 /* ENETUNREACH */ || sent == -113 /* EHOSTUNREACH */ ? IP_DEST_HOST_UNREACHABLE
                                                                                 : IP_GENERAL_FAILURE;
    return wait_for_answer(fd, e, packet, &header);
}

static DWORD exchange(const struct echo *e)
{
    BYTE *packet = HeapAlloc(GetProcessHeap(), 0, sizeof(struct icmp6_header) + MAX_ECHO);
    int fd = packet ? (int)lx3(LX_NR_socket, LX_AF_INET6, LX_SOCK_DGRAM | LX_SOCK_CLOEXEC, LX_IPPROTO_ICMPV6) : -1;
    BOOL raw = packet && fd < 0;
    DWORD error;

    if (raw)
        fd = (int)lx3(LX_NR_socket, LX_AF_INET6, LX_SOCK_RAW | LX_SOCK_CLOEXEC, LX_IPPROTO_ICMPV6);
    error = fd < 0 ? IP_GENERAL_FAILURE : ask(e, fd, raw, packet);
    if (fd >= 0)
        lx_close(fd);
    if (packet)
        HeapFree(GetProcessHeap(), 0, packet);
    return error;
}

/* A request in the background. */
static void WINAPI run_apc(ULONG_PTR arg)
{
    struct echo *e = (void *)arg;

    e->apc(e->context, &e->done, 0);
    HeapFree(GetProcessHeap(), 0, e);
}

static DWORD WINAPI in_background(void *arg)
{
    struct echo *e = arg;
    DWORD error = exchange(e);
    HANDLE thread = e->thread;

    if (error)
        fill(e, &e->to, error, GetTickCount());
    HeapFree(GetProcessHeap(), 0, e->data);
    if (e->event)
        SetEvent(e->event);
    if (!e->apc || !QueueUserAPC(run_apc, thread, (ULONG_PTR)e))
        HeapFree(GetProcessHeap(), 0, e); /* otherwise run_apc frees it */
    if (thread)
        CloseHandle(thread);
    return 0;
}

/* Starts a request in the background. The caller may change everything but the reply's buffer once this returns. */
static DWORD start(const struct echo *request)
{
    struct echo *e = HeapAlloc(GetProcessHeap(), 0, sizeof(*e));
    HANDLE thread;

    if (!e)
        return ERROR_NOT_ENOUGH_MEMORY;
    *e = *request;
    e->thread = NULL;
    if (!(e->data = HeapAlloc(GetProcessHeap(), 0, e->size + 1)))
        goto failed;
    memcpy(e->data, request->data, e->size);
    if (e->apc && !DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &e->thread, 0, FALSE,
                                   DUPLICATE_SAME_ACCESS))
        goto failed;
    if (!(thread = CreateThread(NULL, 0, in_background, e, 0, NULL)))
        goto failed;
    CloseHandle(thread);
    return ERROR_IO_PENDING;
failed:
    if (e->thread)
        CloseHandle(e->thread);
    if (e->data)
        HeapFree(GetProcessHeap(), 0, e->data);
    HeapFree(GetProcessHeap(), 0, e);
    return ERROR_NOT_ENOUGH_MEMORY;
}

/* IcmpCloseHandle closes it. */
static HANDLE WINAPI hook_Icmp6CreateFile(void)
{
    return create_file();
}

static DWORD WINAPI hook_Icmp6SendEcho2(HANDLE icmp, HANDLE event, void *apc, void *context,
                                        const struct sockaddr_in6 *from, const struct sockaddr_in6 *to, void *data,
                                        WORD size, const IP_OPTION_INFORMATION *options, void *reply, DWORD reply_size,
                                        DWORD timeout)
{
    struct echo e = {.event = event,
                     .apc = apc,
                     .context = context,
                     .data = data,
                     .reply = reply,
                     .size = size,
                     .reply_size = reply_size,
                     .timeout = timeout};
    DWORD error;

    if (!icmp || icmp == INVALID_HANDLE_VALUE || !to || (size && !data))
        error = ERROR_INVALID_PARAMETER;
    else if (!reply || reply_size < sizeof(struct echo_reply))
        error = ERROR_INSUFFICIENT_BUFFER;
    else
    {
        e.to = linux_address(to);
        if (from)
            e.from = linux_address(from);
        if (options)
            e.hops = options->Ttl;
        error = event || apc ? start(&e) : exchange(&e);
    }
    SetLastError(error);
    return !error;
}

void icmp6_start(HMODULE iphlpapi)
{
    icmp_create_file wines = (void *)GetProcAddress(iphlpapi, "Icmp6CreateFile");

    if (create_file || !wines || !(create_file = (void *)GetProcAddress(iphlpapi, "IcmpCreateFile")))
        return;
    SetLastError(0);
    if (wines() != INVALID_HANDLE_VALUE || GetLastError() != ERROR_CALL_NOT_IMPLEMENTED)
        return;
    if (patch_replace(iphlpapi, "Icmp6SendEcho2", hook_Icmp6SendEcho2))
        patch_replace(iphlpapi, "Icmp6CreateFile", hook_Icmp6CreateFile);
}
