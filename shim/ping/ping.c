/*
 * ping.exe: Wine 8.0's (programs/ping/ping_main.c) has no -t, and `cmd /c ping -t localhost` is what many Windows containers stay alive by, those of critest among them
 * (https://github.com/kubernetes-sigs/cri-tools/blob/v1.36.0/pkg/framework/util.go). IPv4 only.
 * https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/ping
 */
#include <winsock2.h>

#include <windows.h>

#include <iphlpapi.h>

#include <icmpapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <ws2tcpip.h>

enum { MAX_DATA = 65500, INTERVAL = 1000 };

struct options {
    BOOL forever;
    unsigned count, size, timeout;
    IP_OPTION_INFORMATION ip;
    const WCHAR *target;
};

struct totals {
    unsigned sent, received, least, most;
    unsigned long long sum;
};

static void usage(void)
{
    wprintf(L"\nUsage: ping [-t] [-n count] [-l size] [-f] [-i TTL] [-w timeout] [-4] target_name\n\n"
            L"Options:\n"
            L"    -t             Ping the specified host until stopped.\n"
            L"    -n count       Number of echo requests to send.\n"
            L"    -l size        Send buffer size.\n"
            L"    -f             Set Don't Fragment flag in packet.\n"
            L"    -i TTL         Time To Live.\n"
            L"    -w timeout     Timeout in milliseconds to wait for each reply.\n"
            L"    -4             Force using IPv4.\n");
}

/* number reads the value of an option; FALSE says what is wrong with it. */
static BOOL number(const WCHAR *name, const WCHAR *text, unsigned least, unsigned most, unsigned *value)
{
    WCHAR *end;
    unsigned long n;

    if (!text) {
        wprintf(L"Value must be supplied for option %ls.\n", name);
        return FALSE;
    }
    n = wcstoul(text, &end, 10);
    if (*end || end == text || n < least || n > most) {
        wprintf(L"Bad value for option %ls, valid range is from %u to %u.\n", name, least, most);
        return FALSE;
    }
    *value = (unsigned)n;
    return TRUE;
}

static BOOL parse(int argc, WCHAR **argv, struct options *o)
{
    unsigned ttl = o->ip.Ttl;

    for (int i = 1; i < argc; i++) {
        const WCHAR *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (name[0] != '-' && name[0] != '/') {
            if (o->target) {
                wprintf(L"Bad parameter %ls.\n", name);
                return FALSE;
            }
            o->target = name;
            continue;
        }
        switch (name[1] && !name[2] ? name[1] : 0) {
        case 't': o->forever = TRUE; break;
        case 'f': o->ip.Flags |= IP_FLAG_DF; break;
        case '4': break;
        case 'n': if (!number(name, value, 1, 0xffffffff, &o->count)) return FALSE; i++; break;
        case 'l': if (!number(name, value, 0, MAX_DATA, &o->size)) return FALSE; i++; break;
        case 'w': if (!number(name, value, 0, 0xffffffff, &o->timeout)) return FALSE; i++; break;
        case 'i': if (!number(name, value, 1, 255, &ttl)) return FALSE; i++; break;
        default:
            if (name[1] != '?') wprintf(L"Bad option %ls.\n", name);
            usage();
            return FALSE;
        }
    }
    o->ip.Ttl = (UCHAR)ttl;
    if (!o->target) usage();
    return o->target != NULL;
}

/* resolve gives the IPv4 address of a name. */
static BOOL resolve(const WCHAR *name, struct in_addr *address, WCHAR text[64])
{
    ADDRINFOW hints = {.ai_family = AF_INET}, *found;

    if (GetAddrInfoW(name, NULL, &hints, &found)) return FALSE;
    *address = ((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr;
    FreeAddrInfoW(found);
    return InetNtopW(AF_INET, address, text, 64) != NULL;
}

/* once sends a request and prints what came of it. */
static void once(HANDLE icmp, struct in_addr address, const struct options *o, char *data, char *reply, DWORD reply_size, struct totals *t)
{
    ICMP_ECHO_REPLY *echo = (ICMP_ECHO_REPLY *)(void *)reply;
    IP_OPTION_INFORMATION ip = o->ip;
    struct in_addr from;
    WCHAR text[64];

    t->sent++;
    if (!IcmpSendEcho(icmp, address.s_addr, data, (WORD)o->size, &ip, reply, reply_size, o->timeout)) {
        wprintf(GetLastError() == IP_REQ_TIMED_OUT ? L"Request timed out.\n" : L"PING: transmit failed. General failure. \n");
        return;
    }
    from.s_addr = echo->Address;
    InetNtopW(AF_INET, &from, text, 64);
    switch (echo->Status) {
    case IP_SUCCESS: break;
    case IP_REQ_TIMED_OUT: wprintf(L"Request timed out.\n"); return;
    case IP_DEST_NET_UNREACHABLE: wprintf(L"Reply from %ls: Destination net unreachable.\n", text); return;
    case IP_DEST_HOST_UNREACHABLE: wprintf(L"Reply from %ls: Destination host unreachable.\n", text); return;
    case IP_PACKET_TOO_BIG: wprintf(L"Packet needs to be fragmented but DF set.\n"); return;
    case IP_TTL_EXPIRED_TRANSIT: wprintf(L"Reply from %ls: TTL expired in transit.\n", text); return;
    default: wprintf(L"General failure.\n"); return;
    }
    if (!t->received || echo->RoundTripTime < t->least) t->least = echo->RoundTripTime;
    if (echo->RoundTripTime > t->most) t->most = echo->RoundTripTime;
    t->sum += echo->RoundTripTime;
    t->received++;
    wprintf(L"Reply from %ls: bytes=%u ", text, (unsigned)echo->DataSize);
    if (echo->RoundTripTime) wprintf(L"time=%lums TTL=%u\n", echo->RoundTripTime, echo->Options.Ttl);
    else wprintf(L"time<1ms TTL=%u\n", echo->Options.Ttl);
}

static void statistics(const WCHAR *text, const struct totals *t)
{
    wprintf(L"\nPing statistics for %ls:\n    Packets: Sent = %u, Received = %u, Lost = %u (%u%% loss),\n", text, t->sent, t->received, t->sent - t->received,
            t->sent ? (t->sent - t->received) * 100 / t->sent : 0);
    if (t->received)
        wprintf(L"Approximate round trip times in milli-seconds:\n    Minimum = %ums, Maximum = %ums, Average = %ums\n", t->least, t->most, (unsigned)(t->sum / t->received));
}

int wmain(int argc, WCHAR **argv)
{
    struct options o = {.count = 4, .size = 32, .timeout = 4000, .ip = {.Ttl = 128}};
    struct totals t = {0};
    struct in_addr address;
    DWORD reply_size;
    char *data, *reply;
    WCHAR text[64];
    HANDLE icmp;
    WSADATA wsa;

    if (!parse(argc, argv, &o)) return 1;
    if (WSAStartup(MAKEWORD(2, 2), &wsa)) return 1;
    if (!resolve(o.target, &address, text)) {
        wprintf(L"Ping request could not find host %ls. Please check the name and try again.\n", o.target);
        return 1;
    }
    reply_size = sizeof(ICMP_ECHO_REPLY) + o.size + 8 + 64; /* an ICMP error, and the options of a reply */
    data = malloc(o.size + 1);
    reply = malloc(reply_size);
    icmp = IcmpCreateFile();
    if (!data || !reply || icmp == INVALID_HANDLE_VALUE) {
        wprintf(L"PING: transmit failed. General failure. \n");
        return 1;
    }
    for (unsigned i = 0; i < o.size; i++) data[i] = (char)('a' + i % 23);
    if (lstrcmpW(o.target, text)) wprintf(L"\nPinging %ls [%ls] with %u bytes of data:\n", o.target, text, o.size);
    else wprintf(L"\nPinging %ls with %u bytes of data:\n", text, o.size);
    for (unsigned i = 0; o.forever || i < o.count; i++) {
        if (i) Sleep(INTERVAL);
        once(icmp, address, &o, data, reply, reply_size, &t);
        fflush(stdout);
    }
    statistics(text, &t);
    return t.received ? 0 : 1;
}
