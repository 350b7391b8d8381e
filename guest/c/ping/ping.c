/*
 * ping.exe: Wine 8.0's (programs/ping/ping_main.c) has no -t, although many Windows containers, among them those of
 * critest, run `cmd /c ping -t localhost` to stay alive
 * (https://github.com/kubernetes-sigs/cri-tools/blob/v1.36.0/pkg/framework/util.go), and knows only IPv4.
 * https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/ping
 */
#include <winsock2.h>

#include <ws2tcpip.h>

#include <windows.h>

#include <iphlpapi.h>

#include <icmpapi.h>
#include <stdio.h>
#include <stdlib.h>

enum
{
    MAX_DATA = 65500,
    INTERVAL = 1000
};

struct options
{
    BOOL forever;
    unsigned count, size, timeout;
    int family; /* AF_UNSPEC: whichever the target has, IPv4 first */
    IP_OPTION_INFORMATION ip;
    const WCHAR *target;
};

/* Where requests go, and in which family they are sent. */
struct target
{
    SOCKADDR_STORAGE address;
    HANDLE icmp;
    WCHAR text[64];
};

/*
 * ICMPV6_ECHO_REPLY: https://learn.microsoft.com/windows/win32/api/ipexport/ns-ipexport-icmpv6_echo_reply_lh; its
 * address is packed.
 */
struct echo_reply6
{
    BYTE port[2], flow[4], address[16], scope[4];
    ULONG status;
    unsigned round_trip;
};

/* The result of a request of either family. */
struct answer
{
    ULONG status;
    unsigned round_trip, bytes, ttl;
    WCHAR from[64];
};

struct totals
{
    unsigned sent, received, least, most;
    unsigned long long sum;
};

static void usage(void)
{
    wprintf(L"\nUsage: ping [-t] [-n count] [-l size] [-f] [-i TTL] [-w timeout] [-4] [-6] target_name\n\n"
            L"Options:\n"
            L"    -t             Ping the specified host until stopped.\n"
            L"    -n count       Number of echo requests to send.\n"
            L"    -l size        Send buffer size.\n"
            L"    -f             Set Don't Fragment flag in packet.\n"
            L"    -i TTL         Time To Live.\n"
            L"    -w timeout     Timeout in milliseconds to wait for each reply.\n"
            L"    -4             Force using IPv4.\n"
            L"    -6             Force using IPv6.\n");
}

/* number reads the value of an option. If it is wrong, it prints why and returns FALSE. */
static BOOL number(const WCHAR *name, const WCHAR *text, unsigned least, unsigned most, unsigned *value)
{
    WCHAR *end;
    unsigned long n;

    if (!text)
    {
        wprintf(L"Value must be supplied for option %ls.\n", name);
        return FALSE;
    }
    n = wcstoul(text, &end, 10);
    if (*end || end == text || n < least || n > most)
    {
        wprintf(L"Bad value for option %ls, valid range is from %u to %u.\n", name, least, most);
        return FALSE;
    }
    *value = (unsigned)n;
    return TRUE;
}

static BOOL parse(int argc, WCHAR **argv, struct options *o)
{
    unsigned ttl = o->ip.Ttl;

    for (int i = 1; i < argc; i++)
    {
        const WCHAR *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (name[0] != '-' && name[0] != '/')
        {
            if (o->target)
            {
                wprintf(L"Bad parameter %ls.\n", name);
                return FALSE;
            }
            o->target = name;
            continue;
        }
        switch (name[1] && !name[2] ? name[1] : 0)
        {
        case 't': o->forever = TRUE; break;
        case 'f': o->ip.Flags |= IP_FLAG_DF; break;
        case '4': o->family = AF_INET; break;
        case '6': o->family = AF_INET6; break;
        case 'n':
            if (!number(name, value, 1, 0xffffffff, &o->count))
                return FALSE;
            i++;
            break;
        case 'l':
            if (!number(name, value, 0, MAX_DATA, &o->size))
                return FALSE;
            i++;
            break;
        case 'w':
            if (!number(name, value, 0, 0xffffffff, &o->timeout))
                return FALSE;
            i++;
            break;
        case 'i':
            if (!number(name, value, 1, 255, &ttl))
                return FALSE;
            i++;
            break;
        default:
            if (name[1] != '?')
                wprintf(L"Bad option %ls.\n", name);
            usage();
            return FALSE;
        }
    }
    o->ip.Ttl = (UCHAR)ttl;
    if (!o->target)
        usage();
    return o->target != NULL;
}

/* resolve finds the target's address; without -4 or -6, an IPv6 address only if there is no IPv4 address. */
static BOOL resolve(const struct options *o, struct target *t)
{
    static const int families[] = {AF_INET, AF_INET6};

    for (unsigned i = 0; i < 2; i++)
    {
        ADDRINFOW hints = {.ai_family = families[i]}, *found;
        DWORD size = sizeof(t->text) / sizeof(t->text[0]);
        BOOL named;

        if ((o->family && o->family != families[i]) || GetAddrInfoW(o->target, NULL, &hints, &found))
            continue;
        memcpy(&t->address, found->ai_addr, found->ai_addrlen);
        named = !WSAAddressToStringW((struct sockaddr *)&t->address, (DWORD)found->ai_addrlen, NULL, t->text, &size);
        FreeAddrInfoW(found);
        return named;
    }
    return FALSE;
}

static BOOL ask4(const struct target *to, const struct options *o, char *data, char *reply, DWORD reply_size,
                 struct answer *a)
{
    const ICMP_ECHO_REPLY *echo = (void *)reply;
    IP_OPTION_INFORMATION ip = o->ip;
    struct in_addr from;

    if (!IcmpSendEcho(to->icmp, ((const struct sockaddr_in *)&to->address)->sin_addr.s_addr, data, (WORD)o->size, &ip,
                      reply, reply_size, o->timeout))
        return FALSE;
    from.s_addr = echo->Address;
    InetNtopW(AF_INET, &from, a->from, sizeof(a->from) / sizeof(a->from[0]));
    a->status = echo->Status;
    a->round_trip = echo->RoundTripTime;
    a->bytes = echo->DataSize;
    a->ttl = echo->Options.Ttl;
    return TRUE;
}

/* Windows prints neither bytes nor time to live for an answer over IPv6. */
static BOOL ask6(const struct target *to, const struct options *o, char *data, char *reply, DWORD reply_size,
                 struct answer *a)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6}, address = *(const struct sockaddr_in6 *)&to->address;
    const struct echo_reply6 *echo = (void *)reply;
    IP_OPTION_INFORMATION ip = o->ip;

    if (!Icmp6SendEcho2(to->icmp, NULL, NULL, NULL, &any, &address, data, (WORD)o->size, &ip, reply, reply_size,
                        o->timeout))
        return FALSE;
    InetNtopW(AF_INET6, echo->address, a->from, sizeof(a->from) / sizeof(a->from[0]));
    a->status = echo->status;
    a->round_trip = echo->round_trip;
    return TRUE;
}

/* once sends a request and prints its result. */
static void once(const struct target *to, const struct options *o, char *data, char *reply, DWORD reply_size,
                 struct totals *t)
{
    BOOL six = to->address.ss_family == AF_INET6;
    struct answer a = {0};

    t->sent++;
    if (!(six ? ask6 : ask4)(to, o, data, reply, reply_size, &a))
    {
        switch (GetLastError())
        {
        case IP_REQ_TIMED_OUT: wprintf(L"Request timed out.\n"); return;
        case IP_DEST_HOST_UNREACHABLE:
            if (six)
            {
                wprintf(L"Destination host unreachable.\n");
                return;
            } /* fall through */
        default: wprintf(L"PING: transmit failed. General failure. \n"); return;
        }
    }
    switch (a.status)
    {
    case IP_SUCCESS: break;
    case IP_REQ_TIMED_OUT: wprintf(L"Request timed out.\n"); return;
    case IP_DEST_NET_UNREACHABLE: /* IP_DEST_NO_ROUTE of IPv6 */
        wprintf(L"Reply from %ls: Destination net unreachable.\n", a.from);
        return;
    case IP_DEST_HOST_UNREACHABLE: /* IP_DEST_ADDR_UNREACHABLE */
        wprintf(L"Reply from %ls: Destination host unreachable.\n", a.from);
        return;
    case IP_PACKET_TOO_BIG: wprintf(L"Packet needs to be fragmented but DF set.\n"); return;
    case IP_TTL_EXPIRED_TRANSIT: wprintf(L"Reply from %ls: TTL expired in transit.\n", a.from); return;
    default: wprintf(L"General failure.\n"); return;
    }
    if (!t->received || a.round_trip < t->least)
        t->least = a.round_trip;
    if (a.round_trip > t->most)
        t->most = a.round_trip;
    t->sum += a.round_trip;
    t->received++;
    wprintf(L"Reply from %ls: ", a.from);
    if (!six)
        wprintf(L"bytes=%u ", a.bytes);
    if (a.round_trip)
        wprintf(L"time=%ums", a.round_trip);
    else
        wprintf(L"time<1ms");
    if (!six)
        wprintf(L" TTL=%u", a.ttl);
    wprintf(L"\n");
}

static void statistics(const WCHAR *text, const struct totals *t)
{
    wprintf(L"\nPing statistics for %ls:\n    Packets: Sent = %u, Received = %u, Lost = %u (%u%% loss),\n", text,
            t->sent, t->received, t->sent - t->received, t->sent ? (t->sent - t->received) * 100 / t->sent : 0);
    if (t->received)
        wprintf(L"Approximate round trip times in milli-seconds:\n    Minimum = %ums, Maximum = %ums, Average = %ums\n",
                t->least, t->most, (unsigned)(t->sum / t->received));
}

int wmain(int argc, WCHAR **argv)
{
    struct options o = {.count = 4, .size = 32, .timeout = 4000, .ip = {.Ttl = 128}};
    struct totals t = {0};
    struct target to = {0};
    DWORD reply_size;
    char *data, *reply;
    WSADATA wsa;

    if (!parse(argc, argv, &o))
        return 1;
    if (WSAStartup(MAKEWORD(2, 2), &wsa))
        return 1;
    if (!resolve(&o, &to))
    {
        wprintf(L"Ping request could not find host %ls. Please check the name and try again.\n", o.target);
        return 1;
    }
    reply_size = sizeof(ICMP_ECHO_REPLY) + o.size + 8 + 64; /* an ICMP error, and the options of a reply */
    data = malloc(o.size + 1);
    reply = malloc(reply_size);
    to.icmp = to.address.ss_family == AF_INET6 ? Icmp6CreateFile() : IcmpCreateFile();
    if (!data || !reply || to.icmp == INVALID_HANDLE_VALUE)
    {
        wprintf(L"PING: transmit failed. General failure. \n");
        return 1;
    }
    for (unsigned i = 0; i < o.size; i++)
        data[i] = (char)('a' + i % 23);
    if (lstrcmpW(o.target, to.text))
        wprintf(L"\nPinging %ls [%ls] with %u bytes of data:\n", o.target, to.text, o.size);
    else
        wprintf(L"\nPinging %ls with %u bytes of data:\n", to.text, o.size);
    for (unsigned i = 0; o.forever || i < o.count; i++)
    {
        if (i)
            Sleep(INTERVAL);
        once(&to, &o, data, reply, reply_size, &t);
        fflush(stdout);
    }
    statistics(to.text, &t);
    return t.received ? 0 : 1;
}
