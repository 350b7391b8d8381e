/*
 * The domain that a container is in: NetGetJoinInformation, DsGetDcName.
 *
 * Facts: a container with a credential spec says that it is a member of the spec's domain, whether or not a domain
 * controller can be reached
 * (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/gmsa-troubleshooting). Wine (8.0
 * to 10.0) is in a workgroup, and its DsGetDcName answers ERROR_CALL_NOT_IMPLEMENTED. Layouts:
 * https://learn.microsoft.com/windows/win32/api/dsgetdc/ns-dsgetdc-domain_controller_infow.
 *
 * The runtime writes DOMAIN_FILE (internal/windows/wire/credspec), a line "key=value" for each value, which the
 * container's programs can change: it grants nothing. Without the file Wine's own answer stays.
 */
#include <string.h>

#include "winsock.h"

#include <dsgetdc.h>
#include <lm.h>

#include "linux.h"
#include "patch.h"

#define DOMAIN_FILE "/run/mullion/domain"
#define FILE_SIZE 4096
#define NAME_LENGTH 264 /* with the zero */
#define SITE L"Default-First-Site-Name"

static struct
{
    NET_API_STATUS(WINAPI *NetGetJoinInformation)(const WCHAR *, WCHAR **, NETSETUP_JOIN_STATUS *);
    DWORD(WINAPI *DsGetDcNameW)(const WCHAR *, const WCHAR *, GUID *, const WCHAR *, ULONG, DOMAIN_CONTROLLER_INFOW **);
    DWORD(WINAPI *DsGetDcNameA)(const char *, const char *, GUID *, const char *, ULONG, DOMAIN_CONTROLLER_INFOA **);
    NET_API_STATUS(WINAPI *NetApiBufferAllocate)(DWORD, void **);
    NET_API_STATUS(WINAPI *NetApiBufferFree)(void *);
} wine;

struct domain
{
    WCHAR netbios[NAME_LENGTH], dns[NAME_LENGTH], tree[NAME_LENGTH], dc[NAME_LENGTH], address[NAME_LENGTH],
        guid[NAME_LENGTH];
};

static void value_of(const char *text, const char *key, WCHAR value[NAME_LENGTH])
{
    SIZE_T length = strlen(key);
    const char *end;
    int chars = 0;

    value[0] = 0;
    for (; *text; text = *end ? end + 1 : end)
    {
        for (end = text; *end && *end != '\n'; end++)
            ;
        if ((SIZE_T)(end - text) <= length || strncmp(text, key, length) || text[length] != '=')
            continue;
        text += length + 1;
        if (end > text)
            chars = MultiByteToWideChar(CP_UTF8, 0, text, (int)(end - text), value, NAME_LENGTH - 1);
        value[chars > 0 ? chars : 0] = 0;
        return;
    }
}

/* FALSE: this is no container with a credential spec. */
static BOOL read_domain(struct domain *d)
{
    char text[FILE_SIZE];
    INT64 size;
    int fd = lx_openat(LX_AT_FDCWD, DOMAIN_FILE, LX_O_RDONLY | LX_O_NOFOLLOW | LX_O_NONBLOCK | LX_O_CLOEXEC);

    if (fd < 0)
        return FALSE;
    size = lx_read(fd, text, sizeof(text) - 1);
    lx_close(fd);
    text[size > 0 ? size : 0] = 0;
    value_of(text, "netbios", d->netbios);
    value_of(text, "dns", d->dns);
    value_of(text, "tree", d->tree);
    value_of(text, "dc", d->dc);
    value_of(text, "address", d->address);
    value_of(text, "guid", d->guid);
    return d->netbios[0] && d->dns[0];
}

static NET_API_STATUS WINAPI hook_NetGetJoinInformation(const WCHAR *server, WCHAR **name, NETSETUP_JOIN_STATUS *type)
{
    struct domain d;
    DWORD size;

    if ((server && *server) || !name || !type || !read_domain(&d))
        return wine.NetGetJoinInformation(server, name, type);
    size = (DWORD)(lstrlenW(d.netbios) + 1) * sizeof(WCHAR);
    if (wine.NetApiBufferAllocate(size, (void **)name))
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(*name, d.netbios, size);
    *type = NetSetupDomainName;
    return NERR_Success;
}

static BOOL same(const WCHAR *a, const WCHAR *b)
{
    return CompareStringOrdinal(a, -1, b, -1, TRUE) == CSTR_EQUAL;
}

static unsigned digit(WCHAR c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* The form of a GUID, without braces; zeros for anything else. */
static GUID parse_guid(const WCHAR *text)
{
    static const BYTE order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    GUID guid = {0};
    BYTE bytes[16] = {0};
    unsigned n = 0;

    for (; *text && n < 32; text++)
    {
        if (*text == '-')
            continue;
        if (!((*text >= '0' && *text <= '9') || ((*text | 0x20) >= 'a' && (*text | 0x20) <= 'f')))
            return guid;
        bytes[order[n / 2]] |= (BYTE)(digit(*text) << (n % 2 ? 0 : 4));
        n++;
    }
    if (n == 32)
        memcpy(&guid, bytes, sizeof(guid));
    return guid;
}

/* What is put behind a structure: texts with a head before each. */
static WCHAR *put(WCHAR **at, const WCHAR *head, const WCHAR *text)
{
    WCHAR *start = *at;

    for (; *head; head++)
        *(*at)++ = *head;
    for (; *text; text++)
        *(*at)++ = *text;
    *(*at)++ = 0;
    return start;
}

static DWORD controller(const struct domain *d, ULONG flags, DOMAIN_CONTROLLER_INFOW **info)
{
    DOMAIN_CONTROLLER_INFOW *i;
    WCHAR *at;

    if (wine.NetApiBufferAllocate(sizeof(*i) + 8 * NAME_LENGTH * sizeof(WCHAR), (void **)&i))
        return ERROR_NOT_ENOUGH_MEMORY;
    memset(i, 0, sizeof(*i));
    at = (WCHAR *)(i + 1);
    i->DomainControllerName = put(&at, L"\\\\", d->dc);
    i->DomainControllerAddress = put(&at, L"\\\\", d->address[0] ? d->address : d->dc);
    i->DomainControllerAddressType = d->address[0] ? DS_INET_ADDRESS : DS_NETBIOS_ADDRESS;
    i->DomainGuid = parse_guid(d->guid);
    i->DomainName = put(&at, L"", flags & DS_RETURN_FLAT_NAME ? d->netbios : d->dns);
    i->DnsForestName = put(&at, L"", d->tree[0] ? d->tree : d->dns);
    i->Flags = DS_KDC_FLAG | DS_DNS_CONTROLLER_FLAG | DS_DNS_FOREST_FLAG |
               (flags & DS_RETURN_FLAT_NAME ? 0 : DS_DNS_DOMAIN_FLAG);
    i->DcSiteName = put(&at, L"", SITE);
    i->ClientSiteName = put(&at, L"", SITE);
    *info = i;
    return ERROR_SUCCESS;
}

static DWORD WINAPI hook_DsGetDcNameW(const WCHAR *computer, const WCHAR *name, GUID *guid, const WCHAR *site,
                                      ULONG flags, DOMAIN_CONTROLLER_INFOW **info)
{
    struct domain d;

    if ((computer && *computer) || !info || !read_domain(&d))
        return wine.DsGetDcNameW(computer, name, guid, site, flags, info);
    if (!d.dc[0] || (name && *name && !same(name, d.dns) && !same(name, d.netbios)))
        return ERROR_NO_SUCH_DOMAIN;
    return controller(&d, flags, info);
}

static char *narrow(char **at, char *end, const WCHAR *text)
{
    char *start = *at;
    int size = WideCharToMultiByte(CP_ACP, 0, text, -1, start, (int)(end - start), NULL, NULL);

    if (size <= 0)
        return NULL;
    *at += size;
    return start;
}

static DWORD WINAPI hook_DsGetDcNameA(const char *computer, const char *name, GUID *guid, const char *site, ULONG flags,
                                      DOMAIN_CONTROLLER_INFOA **info)
{
    const SIZE_T room = 8 * NAME_LENGTH * 2;
    WCHAR wide[NAME_LENGTH] = {0};
    DOMAIN_CONTROLLER_INFOW *i;
    DOMAIN_CONTROLLER_INFOA *o;
    struct domain d;
    DWORD error;
    char *at;

    if ((computer && *computer) || !info || !read_domain(&d))
        return wine.DsGetDcNameA(computer, name, guid, site, flags, info);
    if (name && !MultiByteToWideChar(CP_ACP, 0, name, -1, wide, NAME_LENGTH))
        return ERROR_INVALID_DOMAINNAME;
    if ((error = hook_DsGetDcNameW(NULL, wide, guid, NULL, flags, &i)))
        return error;
    if (wine.NetApiBufferAllocate(sizeof(*o) + room, (void **)&o))
    {
        wine.NetApiBufferFree(i);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    at = (char *)(o + 1);
    o->DomainControllerName = narrow(&at, (char *)(o + 1) + room, i->DomainControllerName);
    o->DomainControllerAddress = narrow(&at, (char *)(o + 1) + room, i->DomainControllerAddress);
    o->DomainControllerAddressType = i->DomainControllerAddressType;
    o->DomainGuid = i->DomainGuid;
    o->DomainName = narrow(&at, (char *)(o + 1) + room, i->DomainName);
    o->DnsForestName = narrow(&at, (char *)(o + 1) + room, i->DnsForestName);
    o->Flags = i->Flags;
    o->DcSiteName = narrow(&at, (char *)(o + 1) + room, i->DcSiteName);
    o->ClientSiteName = narrow(&at, (char *)(o + 1) + room, i->ClientSiteName);
    wine.NetApiBufferFree(i);
    *info = o;
    return ERROR_SUCCESS;
}

void domain_start(HMODULE netapi32)
{
    if (wine.NetApiBufferAllocate)
        return;
    wine.NetApiBufferFree = (void *)GetProcAddress(netapi32, "NetApiBufferFree");
    wine.NetApiBufferAllocate = (void *)GetProcAddress(netapi32, "NetApiBufferAllocate");
    if (!wine.NetApiBufferAllocate || !wine.NetApiBufferFree)
        return;
#define PATCH_NETAPI(name) patch_function(netapi32, #name, hook_##name, (void **)&wine.name)
    PATCH_NETAPI(NetGetJoinInformation);
    PATCH_NETAPI(DsGetDcNameW);
    PATCH_NETAPI(DsGetDcNameA);
#undef PATCH_NETAPI
}
