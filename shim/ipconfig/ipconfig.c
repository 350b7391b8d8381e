/*
 * ipconfig.exe: the adapters with their addresses, as Windows' program prints them. Wine 8.0's
 * (programs/ipconfig/ipconfig.c) prints neither the DNS servers nor the subnet masks, and shows the loopback, which is
 * no adapter on Windows. https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/ipconfig
 * There are no leases to release or renew; flushdns has nothing to do, as nothing is cached.
 */
#include <winsock2.h>

#include <windows.h>

#include <iphlpapi.h>
#include <stdio.h>
#include <string.h>
#include <ws2tcpip.h>

enum
{
    LABEL = 34
};

/* Prints "   label . . . : value"; further values of a list have an empty label. */
static void line(const WCHAR *label, const WCHAR *value)
{
    WCHAR dotted[LABEL + 1];
    int n = lstrlenW(label);

    if (!n)
    {
        wprintf(L"%39ls%ls\n", L"", value);
        return;
    }
    lstrcpynW(dotted, label, LABEL);
    for (int i = n; i < LABEL; i++)
        dotted[i] = i % 2 ? L' ' : L'.';
    dotted[LABEL] = 0;
    wprintf(L"   %ls: %ls\n", dotted, value);
}

static void text_of(const SOCKET_ADDRESS *address, WCHAR text[64])
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address->lpSockaddr;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address->lpSockaddr;
    BOOL is_v6 = address->lpSockaddr->sa_family == AF_INET6;

    text[0] = 0;
    InetNtopW(address->lpSockaddr->sa_family, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, text, 64);
    if (is_v6 && v6->sin6_scope_id)
        swprintf(text + wcslen(text), 12, L"%%%lu", v6->sin6_scope_id);
}

static void print_unicast(const IP_ADAPTER_UNICAST_ADDRESS *u, BOOL all)
{
    WCHAR text[96];
    BOOL v4 = u->Address.lpSockaddr->sa_family == AF_INET;
    ULONG mask = u->OnLinkPrefixLength ? htonl(0xffffffffu << (32 - min(u->OnLinkPrefixLength, 32))) : 0;
    const unsigned char *m = (const unsigned char *)&mask;

    text_of(&u->Address, text);
    if (all)
        wcscat(text, L"(Preferred)");
    if (v4)
    {
        line(L"IPv4 Address", text);
        swprintf(text, 64, L"%u.%u.%u.%u", m[0], m[1], m[2], m[3]);
        line(L"Subnet Mask", text);
    }
    else
    {
        const struct in6_addr *a = &((const struct sockaddr_in6 *)u->Address.lpSockaddr)->sin6_addr;

        line(IN6_IS_ADDR_LINKLOCAL(a) ? L"Link-local IPv6 Address" : L"IPv6 Address", text);
    }
}

static void print_hardware(const IP_ADAPTER_ADDRESSES *a)
{
    WCHAR text[3 * MAX_ADAPTER_ADDRESS_LENGTH + 1] = L"";

    for (ULONG i = 0; i < a->PhysicalAddressLength; i++)
        swprintf(text + wcslen(text), 4, i ? L"-%02X" : L"%02X", a->PhysicalAddress[i]);
    line(L"Description", a->Description ? a->Description : L"");
    line(L"Physical Address", text);
    line(L"DHCP Enabled", a->Flags & IP_ADAPTER_DHCP_ENABLED ? L"Yes" : L"No");
    line(L"Autoconfiguration Enabled", L"Yes");
}

static void print_adapter(const IP_ADAPTER_ADDRESSES *a, BOOL all)
{
    WCHAR text[64];
    const WCHAR *label = L"Default Gateway";

    wprintf(L"\nEthernet adapter %ls:\n\n", a->FriendlyName ? a->FriendlyName : L"");
    if (a->OperStatus != IfOperStatusUp)
        line(L"Media State", L"Media disconnected");
    line(L"Connection-specific DNS Suffix ", a->DnsSuffix ? a->DnsSuffix : L"");
    if (all)
        print_hardware(a);
    for (const IP_ADAPTER_UNICAST_ADDRESS *u = a->FirstUnicastAddress; u; u = u->Next)
        print_unicast(u, all);
    for (const IP_ADAPTER_GATEWAY_ADDRESS *g = a->FirstGatewayAddress; g; g = g->Next, label = L"")
    {
        text_of(&g->Address, text);
        line(label, text);
    }
    if (*label)
        line(label, L"");
    label = L"DNS Servers";
    for (const IP_ADAPTER_DNS_SERVER_ADDRESS *d = a->FirstDnsServerAddress; d && all; d = d->Next, label = L"")
    {
        text_of(&d->Address, text);
        line(label, text);
    }
}

static void print_host(const IP_ADAPTER_ADDRESSES *first)
{
    WCHAR name[256];
    DWORD size = 256;

    line(L"Host Name", GetComputerNameExW(ComputerNameDnsHostname, name, &size) ? name : L"");
    line(L"Primary Dns Suffix ", L"");
    line(L"Node Type", L"Hybrid");
    line(L"IP Routing Enabled", L"No");
    line(L"WINS Proxy Enabled", L"No");
    for (const IP_ADAPTER_ADDRESSES *a = first; a; a = a->Next)
        if (a->DnsSuffix && *a->DnsSuffix)
        {
            line(L"DNS Suffix Search List", a->DnsSuffix);
            return;
        }
}

static int print_all(BOOL all)
{
    static union
    {
        IP_ADAPTER_ADDRESSES first;
        char room[64 * 1024];
    } adapters;
    ULONG size = sizeof(adapters), error = GetAdaptersAddresses(AF_UNSPEC, GAA_FLAG_INCLUDE_GATEWAYS, NULL, &adapters.first, &size);

    wprintf(L"\nWindows IP Configuration\n\n");
    if (error)
    {
        fwprintf(stderr, L"An internal error occurred: the adapters cannot be listed (error %lu).\n", error);
        return 1;
    }
    if (all)
        print_host(&adapters.first);
    for (const IP_ADAPTER_ADDRESSES *a = &adapters.first; a; a = a->Next)
        if (a->IfType != IF_TYPE_SOFTWARE_LOOPBACK)
            print_adapter(a, all);
    return 0;
}

int wmain(int argc, WCHAR **argv)
{
    const WCHAR *option = argc > 1 ? argv[1] : L"";
    WSADATA data;

    if (WSAStartup(MAKEWORD(2, 2), &data))
        return 1;
    if (*option == L'/' || *option == L'-')
        option++;
    if (argc == 1 || (argc == 2 && !_wcsicmp(option, L"all")))
        return print_all(argc == 2);
    if (argc == 2 && !_wcsicmp(option, L"flushdns"))
    {
        wprintf(L"\nWindows IP Configuration\n\nSuccessfully flushed the DNS Resolver Cache.\n");
        return 0;
    }
    fwprintf(stderr, L"\nError: %ls is not known to this ipconfig, which has /all and /flushdns.\n", argv[1]);
    return 1;
}
