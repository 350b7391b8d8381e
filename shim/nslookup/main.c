/*
 * nslookup.exe: nslookup [-OPTION...] [NAME | -] [SERVER], or without a name a prompt. Of the options and commands of
 * Windows' program it has [set] type=, querytype=, q= and [no]search, and the commands server NAME and exit; others are
 * refused by name. https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/nslookup
 *
 * Like Windows' program, and unlike every other program on Windows, it tries the DNS suffix with names that have a dot too
 * (https://learn.microsoft.com/en-us/windows-server/administration/windows-commands/nslookup-set-search).
 */
#include "nslookup.h"

#include <iphlpapi.h>
#include <stdio.h>
#include <string.h>
#include <ws2tcpip.h>

static struct server server;
static char server_name[NAME_SIZE], suffix[NAME_SIZE];
static unsigned type; /* 0: a host's addresses */
static BOOL search = TRUE;
static struct reply replies[2];

static BOOL set_address(const struct sockaddr *address, int length)
{
    if (length > (int)sizeof(server.address))
        return FALSE;
    memcpy(&server.address, address, (size_t)length);
    server.length = length;
    return !getnameinfo(address, length, server.text, sizeof(server.text), NULL, 0, NI_NUMERICHOST);
}

static void set_port(void)
{
    if (server.address.ss_family == AF_INET)
        ((struct sockaddr_in *)&server.address)->sin_port = htons(53);
    else
        ((struct sockaddr_in6 *)&server.address)->sin6_port = htons(53);
}

/* The first DNS server of the machine's adapters, and the DNS suffix. */
static BOOL find_server(void)
{
    static union
    {
        IP_ADAPTER_ADDRESSES first;
        char room[64 * 1024];
    } adapters;
    ULONG size = sizeof(adapters);
    BOOL found = FALSE;

    if (GetAdaptersAddresses(AF_UNSPEC, GAA_FLAG_SKIP_UNICAST, NULL, &adapters.first, &size))
        return FALSE;
    for (IP_ADAPTER_ADDRESSES *a = &adapters.first; a; a = a->Next)
    {
        if (a->DnsSuffix && !suffix[0])
            WideCharToMultiByte(CP_ACP, 0, a->DnsSuffix, -1, suffix, sizeof(suffix) - 1, NULL, NULL);
        if (a->FirstDnsServerAddress && !found)
            found = set_address(a->FirstDnsServerAddress->Address.lpSockaddr, a->FirstDnsServerAddress->Address.iSockaddrLength);
    }
    if (found)
        set_port();
    return found;
}

/* Sets the server by its name or address. */
static BOOL take_server(const char *name)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list;
    BOOL ok;

    if (getaddrinfo(name, "53", &hints, &list))
    {
        fprintf(stderr, "*** Can't find address for server %s: Non-existent domain\n", name);
        return FALSE;
    }
    ok = set_address(list->ai_addr, (int)list->ai_addrlen);
    freeaddrinfo(list);
    return ok;
}

/* The name for the reverse look-up of an address; FALSE if text is no address. */
static BOOL reverse_name(const char *text, char name[NAME_SIZE])
{
    unsigned char a[16];
    int out = 0;

    if (inet_pton(AF_INET, text, a) == 1)
    {
        snprintf(name, NAME_SIZE, "%u.%u.%u.%u.in-addr.arpa", a[3], a[2], a[1], a[0]);
        return TRUE;
    }
    if (inet_pton(AF_INET6, text, a) != 1)
        return FALSE;
    for (int i = 15; i >= 0; i--)
        out += snprintf(name + out, (size_t)(NAME_SIZE - out), "%x.%x.", a[i] & 15, a[i] >> 4);
    snprintf(name + out, (size_t)(NAME_SIZE - out), "ip6.arpa");
    return TRUE;
}

/* The first PTR record's name; FALSE if there is none. */
static BOOL pointer_of(const struct reply *r, char name[NAME_SIZE])
{
    int at = r->records;
    struct record record;

    for (unsigned i = 0; i < r->answers && next_record(r, &at, &record); i++)
        if (record.type == TYPE_PTR)
            return read_name(r, record.data, name) >= 0;
    return FALSE;
}

static void print_server(const char *title)
{
    static char reverse[NAME_SIZE];

    if (!reverse_name(server.text, reverse) || ask(&server, reverse, TYPE_PTR, &replies[0]) || !pointer_of(&replies[0], server_name))
        strcpy(server_name, "UnKnown");
    printf("%s:  %s\nAddress:  %s\n\n", title, server_name, server.text);
}

/* Looks one fully qualified name up and prints what is found; returns the result of ask. */
static int look_up_exactly(const char *name, BOOL *found)
{
    int v4, v6;

    if (type)
    {
        int code = ask(&server, name, type, &replies[0]);

        if (!code)
            *found = type == TYPE_A || type == TYPE_AAAA ? print_host(&replies[0], NULL, name) : print_records(&replies[0]);
        return code;
    }
    v4 = ask(&server, name, TYPE_A, &replies[0]);
    if (v4 >= TIMED_OUT)
        return v4;
    v6 = ask(&server, name, TYPE_AAAA, &replies[1]);
    if (!v4 || !v6)
        *found = print_host(v4 ? NULL : &replies[0], v6 ? NULL : &replies[1], name);
    return v4 && v6 ? v4 : RCODE_OK;
}

static BOOL look_up_address(const char *reverse, const char *text)
{
    static char name[NAME_SIZE];
    int code = ask(&server, reverse, TYPE_PTR, &replies[0]);

    if (!code && pointer_of(&replies[0], name))
    {
        printf("Name:    %s\nAddress:  %s\n\n", name, text);
        return TRUE;
    }
    fprintf(stderr, "*** %s can't find %s: %s\n", server_name, text, describe(code ? code : RCODE_NXDOMAIN));
    return FALSE;
}

static BOOL look_up(const char *name)
{
    static char full[NAME_SIZE * 2];
    size_t length = strlen(name);
    BOOL found = FALSE, exists = FALSE;
    int code = RCODE_NXDOMAIN;

    if (length >= NAME_SIZE)
    {
        name = "";
        length = 0;
    }
    if (!type && reverse_name(name, full))
        return look_up_address(full, name);
    if (search && suffix[0] && length && name[length - 1] != '.')
    {
        snprintf(full, sizeof(full), "%s.%s", name, suffix);
        code = look_up_exactly(full, &found);
        exists = !code;
    }
    if (!found && code < TIMED_OUT)
    {
        int plain = look_up_exactly(name, &found);

        exists = exists || !plain;
        code = plain;
    }
    if (found)
        return TRUE;
    if (exists)
        fprintf(stderr, "*** No %s records available for %s\n", type ? "such" : "address", name);
    else
        fprintf(stderr, "*** %s can't find %s: %s\n", server_name, name, describe(code));
    return FALSE;
}

/* An option, without a dash or "set"; FALSE if there is none of that name. */
static BOOL set_option(const char *text)
{
    static const struct
    {
        const char *name;
        unsigned type;
    } types[] = {
        {"A", TYPE_A},   {"AAAA", TYPE_AAAA}, {"A+AAAA", 0},     {"ANY", TYPE_ANY}, {"CNAME", TYPE_CNAME}, {"MX", TYPE_MX},
        {"NS", TYPE_NS}, {"PTR", TYPE_PTR},   {"SOA", TYPE_SOA}, {"SRV", TYPE_SRV}, {"TXT", TYPE_TXT},
    };
    const char *value = strchr(text, '=');

    if (!_stricmp(text, "search") || !_stricmp(text, "nosearch"))
    {
        search = text[0] != 'n' && text[0] != 'N';
        return TRUE;
    }
    if (!value || (_strnicmp(text, "type=", 5) && _strnicmp(text, "querytype=", 10) && _strnicmp(text, "q=", 2)))
    {
        fprintf(stderr, "*** Option %s is not known to this nslookup\n", text);
        return FALSE;
    }
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!_stricmp(value + 1, types[i].name))
        {
            type = types[i].type;
            return TRUE;
        }
    fprintf(stderr, "unknown query type: %s\n", value + 1);
    return FALSE;
}

/* The prompt: one command a line. */
static BOOL converse(void)
{
    char line[512], word[512], rest[512];
    BOOL ok = TRUE;

    print_server("Default Server");
    for (;;)
    {
        int words;

        printf("> ");
        fflush(stdout);
        if (!fgets(line, sizeof(line), stdin))
            return ok;
        rest[0] = 0;
        if ((words = sscanf(line, "%511s %511s", word, rest)) < 1)
            continue;
        if (!_stricmp(word, "exit"))
            return ok;
        if (!_stricmp(word, "set") && words == 2)
        {
            ok = set_option(rest);
        }
        else if (!_stricmp(word, "server") && words == 2)
        {
            if ((ok = take_server(rest)))
                print_server("Default Server");
        }
        else
        {
            print_server("Server");
            ok = look_up(word);
        }
    }
}

int wmain(int argc, WCHAR **argv)
{
    static char name[NAME_SIZE], other[NAME_SIZE];
    char option[256];
    WSADATA data;
    BOOL known;

    if (WSAStartup(MAKEWORD(2, 2), &data))
        return 1;
    for (; argc > 1 && (argv[1][0] == L'-' || argv[1][0] == L'/') && argv[1][1]; argc--, argv++)
        if (!WideCharToMultiByte(CP_ACP, 0, argv[1] + 1, -1, option, sizeof(option), NULL, NULL) || !set_option(option))
            return 1;
    known = find_server();
    if (argc > 2 && (!WideCharToMultiByte(CP_ACP, 0, argv[2], -1, other, sizeof(other), NULL, NULL) || !take_server(other)))
        return 1;
    if (!known && argc < 3)
    {
        fprintf(stderr, "*** Default servers are not available\n");
        return 1;
    }
    if (argc < 2 || !lstrcmpW(argv[1], L"-"))
        return converse() ? 0 : 1;
    if (!WideCharToMultiByte(CP_ACP, 0, argv[1], -1, name, sizeof(name), NULL, NULL))
        return 1;
    print_server("Server");
    return look_up(name) ? 0 : 1;
}
