/*
 * Who may change the machine's certificate stores in a container: CertOpenStore. For ContainerUser they are open for
 * reading only, so that adding to one is refused with ERROR_ACCESS_DENIED; machinekey.c keeps their keys. On Windows
 * the opening is refused already, unless the program asks for what it may have.
 */
#include "winsock.h"

#include <wincrypt.h>

#include "machinekey.h"
#include "patch.h"

#define LOCATION 0x00FF0000u /* CERT_SYSTEM_STORE_LOCATION_MASK */
#define USERS 0x00010000u    /* CERT_SYSTEM_STORE_CURRENT_USER */
#define USERS_POLICY 0x00070000u

static HCERTSTORE(WINAPI *original_store)(const char *, DWORD, HCRYPTPROV, DWORD, const void *);

static BOOL is_machines(const char *provider, DWORD flags)
{
    static const WORD systems[] = {9, 10, 12,
                                   13}; /* CERT_STORE_PROV_SYSTEM_A, _W, CERT_STORE_PROV_SYSTEM_REGISTRY_A, _W */
    DWORD location = flags & LOCATION;

    for (unsigned i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
        if ((ULONG_PTR)provider == systems[i])
            return location && location != USERS && location != USERS_POLICY;
    return FALSE;
}

static HCERTSTORE WINAPI hook_CertOpenStore(const char *provider, DWORD encoding, HCRYPTPROV key, DWORD flags,
                                            const void *parameter)
{
    DWORD error = GetLastError();
    HCERTSTORE store;

    machinekey_stores_begin();
    SetLastError(error);
    store = original_store(provider, encoding, key,
                           is_machines(provider, flags) ? flags | CERT_STORE_READONLY_FLAG : flags, parameter);
    error = GetLastError();
    machinekey_stores_end();
    SetLastError(error);
    return store;
}

void machinestore_start(HMODULE crypt32)
{
    if (machinekey_restricts() && !original_store)
        patch_function(crypt32, "CertOpenStore", hook_CertOpenStore, (void **)&original_store);
}
