/*
 * The names of a container's accounts: LookupAccountSidW, LookupAccountNameW, GetUserNameExW.
 *
 * Fact (Wine 8.0 to 10.0): the domain of its user is the computer's name. In Windows' containers ContainerAdministrator
 * and ContainerUser are accounts of the User Manager service, and their domain is called so, as in USERDOMAIN
 * (run/env.c)
 * (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security#user-accounts).
 * Accounts of a host, and those that an image adds, are the computer's. The functions of other character sets call
 * these.
 */
#include <string.h>

#include "winsock.h"

#include "patch.h"
#include "path.h"

#define DOMAIN L"User Manager"
#define SAM_COMPATIBLE 2 /* NameSamCompatible */

enum
{
    DOMAIN_CHARS = sizeof(DOMAIN) / sizeof(WCHAR) /* with the zero */
};

static BOOL(WINAPI *original_sid)(const WCHAR *, SID *, WCHAR *, DWORD *, WCHAR *, DWORD *, SID_NAME_USE *);
static BOOL(WINAPI *original_name)(const WCHAR *, const WCHAR *, SID *, DWORD *, WCHAR *, DWORD *, SID_NAME_USE *);
static BOOLEAN(WINAPI *original_user)(int, WCHAR *, ULONG *);

static BOOL is_containers(const WCHAR *name)
{
    return !lstrcmpiW(name, L"ContainerAdministrator") || !lstrcmpiW(name, L"ContainerUser");
}

/*
 * Writes the domain in the place of the one that was found; room is the buffer's. Wine's own callers have no buffer and
 * only say how large it is.
 */
static BOOL put_domain(WCHAR *domain, DWORD *size, DWORD room)
{
    if (room < DOMAIN_CHARS)
    {
        *size = DOMAIN_CHARS;
        SetLastError(ERROR_INSUFFICIENT_BUFFER);
        return FALSE;
    }
    if (domain)
        memcpy(domain, DOMAIN, sizeof(DOMAIN));
    *size = DOMAIN_CHARS - 1;
    return TRUE;
}

/* What was too small for another domain's name is too small for this one's. */
static BOOL too_small(DWORD *size)
{
    if (GetLastError() == ERROR_INSUFFICIENT_BUFFER && *size < DOMAIN_CHARS)
        *size = DOMAIN_CHARS;
    return FALSE;
}

static BOOL WINAPI hook_LookupAccountSidW(const WCHAR *system, SID *sid, WCHAR *name, DWORD *name_size, WCHAR *domain,
                                          DWORD *size, SID_NAME_USE *use)
{
    DWORD room = size ? *size : 0;

    if (!original_sid(system, sid, name, name_size, domain, size, use))
        return size ? too_small(size) : FALSE;
    return name && size && is_containers(name) ? put_domain(domain, size, room) : TRUE;
}

static BOOL WINAPI hook_LookupAccountNameW(const WCHAR *system, const WCHAR *account, SID *sid, DWORD *sid_size,
                                           WCHAR *domain, DWORD *size, SID_NAME_USE *use)
{
    DWORD room = size ? *size : 0;
    const WCHAR *name = account;

    if (account && path_same_name(account, DOMAIN L"\\", DOMAIN_CHARS) && is_containers(account + DOMAIN_CHARS))
        name = account + DOMAIN_CHARS;
    if (!original_name(system, name, sid, sid_size, domain, size, use))
        return size ? too_small(size) : FALSE;
    return name && size && is_containers(name) ? put_domain(domain, size, room) : TRUE;
}

static BOOLEAN WINAPI hook_GetUserNameExW(int format, WCHAR *name, ULONG *size)
{
    ULONG room = size ? *size : 0, length;
    WCHAR *user;

    if (!original_user(format, name, size))
    {
        if (format == SAM_COMPATIBLE && size && GetLastError() == ERROR_MORE_DATA)
            *size += DOMAIN_CHARS;
        return FALSE;
    }
    for (user = name; format == SAM_COMPATIBLE && *user && *user != '\\'; user++)
        ;
    if (format != SAM_COMPATIBLE || !*user || !is_containers(user + 1))
        return TRUE;
    length = (ULONG)lstrlenW(user);
    *size = DOMAIN_CHARS - 1 + length;
    if (room <= *size)
    {
        ++*size;
        SetLastError(ERROR_MORE_DATA);
        return FALSE;
    }
    memmove(name + DOMAIN_CHARS - 1, user, (length + 1) * sizeof(WCHAR));
    memcpy(name, DOMAIN, sizeof(DOMAIN) - sizeof(WCHAR));
    return TRUE;
}

void account_start(HMODULE advapi32)
{
    if (original_sid)
        return;
    patch_function(advapi32, "LookupAccountSidW", hook_LookupAccountSidW, (void **)&original_sid);
    patch_function(advapi32, "LookupAccountNameW", hook_LookupAccountNameW, (void **)&original_name);
}

void account_user_start(HMODULE secur32)
{
    if (!original_user)
        patch_function(secur32, "GetUserNameExW", hook_GetUserNameExW, (void **)&original_user);
}
