/*
 * Host names as Windows completes them: a name with a dot in it is taken as it is, one without gets the one DNS suffix
 * (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows).
 *
 * Wine asks the C library, which tries the suffixes of /etc/resolv.conf with names of both kinds, and has no option against that. What it
 * found by the suffix is known by its canonical name, so a name with a dot that was completed is refused here as not found.
 */
#include "winsock.h"

#include <ws2tcpip.h>

#include "linux.h"
#include "patch.h"

#define RESOLV_CONF "/etc/resolv.conf"

static int(WINAPI *original_getaddrinfo)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
static struct hostent *(WINAPI *original_gethostbyname)(const char *);
static void(WINAPI *free_list)(struct addrinfo *);

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

/* Whether text begins with prefix, without regard to case; returns what follows it, or NULL. */
static const char *after(const char *text, const char *prefix)
{
    for (; *prefix; text++, prefix++)
        if (lower(*text) != lower(*prefix))
            return NULL;
    return text;
}

/* Puts the first suffix of resolv.conf into suffix; an empty string if there is none. */
static void read_suffix(char *suffix, unsigned size)
{
    char text[1024];
    int fd = lx_openat(LX_AT_FDCWD, RESOLV_CONF, LX_O_RDONLY | LX_O_CLOEXEC);
    INT64 length = fd < 0 ? 0 : lx_read(fd, text, sizeof(text) - 1);
    const char *line, *found = NULL;
    unsigned n = 0;

    if (fd >= 0)
        lx_close(fd);
    text[length > 0 ? length : 0] = 0;
    for (line = text; *line && !found; line++)
        if (line == text || line[-1] == '\n')
            found = after(line, "search ");
    for (; found && found[n] > ' ' && n < size - 1; n++)
        suffix[n] = found[n];
    suffix[n] = 0;
}

/* Whether name is to be taken as it is: it has a dot, and none at its end, where the C library takes it so too. */
static BOOL has_dot(const char *name)
{
    const char *dot = NULL, *c;

    for (c = name; *c; c++)
        if (*c == '.' && !dot)
            dot = c;
    return dot && c[-1] != '.';
}

/* Whether full is name with the suffix behind it. */
static BOOL completed(const char *name, const char *full)
{
    char suffix[256];
    const char *rest = after(full, name);

    if (!rest || *rest != '.')
        return FALSE;
    read_suffix(suffix, sizeof(suffix));
    rest = after(rest + 1, suffix);
    return rest && suffix[0] && (!*rest || (*rest == '.' && !rest[1]));
}

static int WINAPI hook_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **info)
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

void resolve_start(HMODULE ws2_32)
{
    if (!(free_list = (void *)GetProcAddress(ws2_32, "freeaddrinfo")))
        return;
    /* GetAddrInfoW and GetAddrInfoExW of Wine call getaddrinfo */
    patch_function(ws2_32, "getaddrinfo", hook_getaddrinfo, (void **)&original_getaddrinfo);
    patch_function(ws2_32, "gethostbyname", hook_gethostbyname, (void **)&original_gethostbyname);
}
