/*
 * Host names as Windows completes them: a name with a dot in it is taken as it is, one without gets the one DNS suffix
 * (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows).
 *
 * Wine asks the C library, which tries the suffixes of /etc/resolv.conf with names of both kinds, and has no option
 * against that. The canonical name shows whether it completed a name, so a completed name with a dot is refused here as
 * not found. A resolv.conf with the option ndots asks for Linux' rule: everything that the C library finds is accepted.
 *
 * Wine's DnsQuery asks for a name as it is; Windows' completes a name without a dot there too
 * (https://learn.microsoft.com/windows/win32/dns/dns-constants: DNS_QUERY_TREAT_AS_FQDN is the option against it).
 */
#include "winsock.h"

#include <windns.h>
#include <ws2tcpip.h>

#include "linux.h"
#include "patch.h"

#define RESOLV_CONF "/etc/resolv.conf"

static int(WINAPI *original_getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
static struct hostent *(WINAPI *original_gethostbyname)(const char *);
static void(WINAPI *free_list)(struct addrinfo *);
static DNS_STATUS(WINAPI *original_query)(const char *, WORD, DWORD, void *, DNS_RECORDA **, void **);

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* Whether text begins with prefix, without regard to case; returns what follows it, or NULL. */
static const char *after(const char *text, const char *prefix)
{
    for (; *prefix; text++, prefix++)
        if (lower(*text) != lower(*prefix))
            return NULL;
    return text;
}

/* The part of resolv.conf that matters here. */
struct names
{
    char search[1024]; /* the suffixes, with a space behind each */
    BOOL as_linux;
};

static void read_names(struct names *names)
{
    char text[4096];
    int fd = lx_openat(LX_AT_FDCWD, RESOLV_CONF, LX_O_RDONLY | LX_O_CLOEXEC);
    INT64 length = fd < 0 ? 0 : lx_read(fd, text, sizeof(text) - 1);
    const char *line, *found;
    unsigned n = 0;

    if (fd >= 0)
        lx_close(fd);
    text[length > 0 ? length : 0] = 0;
    names->as_linux = FALSE;
    for (line = text; *line; line++)
    {
        if (line != text && line[-1] != '\n')
            continue;
        if (!n && (found = after(line, "search ")))
            for (; found[n] >= ' ' && n < sizeof(names->search) - 2; n++)
                names->search[n] = found[n];
        if ((found = after(line, "options ")))
            for (; *found >= ' '; found++)
                if (found[-1] == ' ' && after(found, "ndots:"))
                    names->as_linux = TRUE;
    }
    if (n)
        names->search[n++] = ' ';
    names->search[n] = 0;
}

/* Puts the suffix that search begins with into suffix; returns what follows it, or NULL at the end. */
static const char *next_suffix(const char *search, char *suffix, unsigned size)
{
    unsigned n = 0;

    while (*search == ' ')
        search++;
    for (; *search > ' '; search++)
        if (n < size - 1)
            suffix[n++] = *search;
    suffix[n] = 0;
    return n ? search : NULL;
}

/*
 * Whether the rule for names with a dot applies: name has a dot, but not at its end, because the C library does not
 * complete such a name anyway.
 */
static BOOL has_dot(const char *name)
{
    const char *dot = NULL, *c;

    for (c = name; *c; c++)
        if (*c == '.' && !dot)
            dot = c;
    return dot && c[-1] != '.';
}

/* Whether full is name with the suffix appended, against Windows' rule. */
static BOOL completed(const char *name, const char *full)
{
    struct names names;
    char suffix[256];
    const char *rest = after(full, name);

    if (!rest || *rest != '.')
        return FALSE;
    read_names(&names);
    if (names.as_linux || !next_suffix(names.search, suffix, sizeof(suffix)))
        return FALSE;
    rest = after(rest + 1, suffix);
    return rest && (!*rest || (*rest == '.' && !rest[1]));
}

static int WINAPI hook_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                                   struct addrinfo **info)
{
    static const struct addrinfo none;
    struct addrinfo with = hints ? *hints : none;
    int result;

    if (!node || !has_dot(node) || (with.ai_flags & AI_NUMERICHOST))
        return original_getaddrinfo(node, service, hints, info);
    with.ai_flags |= AI_CANONNAME;
    if ((result = original_getaddrinfo(node, service, &with, info)) || !*info || !(*info)->ai_canonname)
        return result;
    if (completed(node, (*info)->ai_canonname))
    {
        free_list(*info);
        *info = NULL;
        winsock.WSASetLastError(WSAHOST_NOT_FOUND);
        return WSAHOST_NOT_FOUND;
    }
    if (!hints || !(hints->ai_flags & AI_CANONNAME))
        (*info)->ai_canonname = NULL; /* a part of the list's one allocation */
    return 0;
}

static struct hostent *WINAPI hook_gethostbyname(const char *name)
{
    struct hostent *host = original_gethostbyname(name);

    if (!host || !name || !has_dot(name) || !host->h_name || !completed(name, host->h_name))
        return host;
    winsock.WSASetLastError(WSAHOST_NOT_FOUND);
    return NULL;
}

/* Joins name, a dot and suffix; FALSE if the result is no valid name. */
static BOOL join(char *full, unsigned size, const char *name, const char *suffix)
{
    unsigned n = 0;

    if (lstrlenA(name) + 1 + lstrlenA(suffix) >= (int)size || suffix[0] == '.')
        return FALSE;
    for (; *name; name++)
        full[n++] = *name;
    full[n++] = '.';
    for (; *suffix; suffix++)
        full[n++] = *suffix;
    full[n] = 0;
    return TRUE;
}

static DNS_STATUS WINAPI hook_DnsQuery_UTF8(const char *name, WORD type, DWORD options, void *servers,
                                            DNS_RECORDA **records, void **reserved)
{
    struct names names;
    char suffix[256], full[256];
    const char *search, *c;

    for (c = name; c && *c && *c != '.'; c++)
        ;
    if (!name || !*name || *c || (options & DNS_QUERY_TREAT_AS_FQDN))
        return original_query(name, type, options, servers, records, reserved);
    read_names(&names);
    for (search = names.search; (search = next_suffix(search, suffix, sizeof(suffix)));)
        if (join(full, sizeof(full), name, suffix) && !original_query(full, type, options, servers, records, reserved))
            return 0;
    return original_query(name, type, options, servers, records, reserved);
}

void resolve_queries_start(HMODULE dnsapi)
{
    /* DnsQuery_A and DnsQuery_W of Wine call DnsQuery_UTF8 */
    if (!original_query)
        patch_function(dnsapi, "DnsQuery_UTF8", hook_DnsQuery_UTF8, (void **)&original_query);
}

void resolve_start(HMODULE ws2_32)
{
    if (!(free_list = (void *)GetProcAddress(ws2_32, "freeaddrinfo")))
        return;
    /* GetAddrInfoW and GetAddrInfoExW of Wine call getaddrinfo */
    patch_function(ws2_32, "getaddrinfo", hook_getaddrinfo, (void **)&original_getaddrinfo);
    patch_function(ws2_32, "gethostbyname", hook_gethostbyname, (void **)&original_gethostbyname);
}
