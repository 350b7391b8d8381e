/*
 * CertCreateCertificateChainEngine with the structure of Windows 8 and later.
 *
 * Fact (Wine 8.0): it knows the structure up to hExclusiveTrustedPeople, and refuses the one that has dwExclusiveFlags
 * too (wincrypt.h, 88 bytes) with E_INVALIDARG. rustls-platform-verifier makes an engine of its own with it, so workerd
 * and other Rust programs end at their start. The one flag there is lets certificates that are no roots be trusted, of
 * a store that is given with it.
 */
#include <string.h>

#include "winsock.h"

#include "patch.h"

enum
{
    OLD_SIZE = 80,
    NEW_SIZE = 88,
    KNOWN_FLAGS = 1 /* CERT_CHAIN_EXCLUSIVE_ENABLE_CA_FLAG */
};

struct engine_config
{
    DWORD size;
    BYTE fields[OLD_SIZE - sizeof(DWORD)];
    DWORD exclusive_flags;
};

typedef BOOL(WINAPI *create_engine)(const struct engine_config *, void **);

static create_engine original_create;

static BOOL WINAPI hook_CertCreateCertificateChainEngine(const struct engine_config *config, void **engine)
{
    BOOL created = original_create(config, engine);
    struct engine_config old;

    if (created || !config || config->size != NEW_SIZE || (config->exclusive_flags & ~KNOWN_FLAGS) ||
        GetLastError() != (DWORD)E_INVALIDARG)
        return created;
    memcpy(&old, config, OLD_SIZE);
    old.size = OLD_SIZE;
    return original_create(&old, engine);
}

void chainengine_start(HMODULE crypt32)
{
    if (!original_create)
        patch_function(crypt32, "CertCreateCertificateChainEngine", hook_CertCreateCertificateChainEngine,
                       (void **)&original_create);
}
