/* PFX files, which programs take from anywhere. What decrypts here copies, so that what is inside is within reach. */
#include "pkcs12.h"

#include <stdlib.h>

#include "fuzz.h"

BOOL ncrypt_pbe_decrypt(struct bytes algorithm, struct bytes sealed, const WCHAR *password, struct bytes *clear)
{
    (void)password;
    if (!algorithm.size || !sealed.size)
        return FALSE;
    *clear = (struct bytes){fuzz_copy(sealed.data, sealed.size), sealed.size};
    return TRUE;
}

void ncrypt_pbe_free(struct bytes clear)
{
    free((void *)clear.data);
}

BOOL ncrypt_pbe_check_mac(struct bytes mac_data, struct bytes content, const WCHAR *password)
{
    (void)password;
    return mac_data.size && content.size;
}

/* Reads all of it: the sanitizer sees where it lies. */
static void touch(struct bytes bytes)
{
    static volatile BYTE last;

    for (SIZE_T i = 0; i < bytes.size; i++)
        last = bytes.data[i];
    (void)last;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct pfx pfx;

    if (ncrypt_pfx_read((struct bytes){data, size}, L"p", &pfx))
    {
        if (pfx.count > PFX_CERTIFICATES || pfx.decrypted_count > PFX_CONTENTS)
            fuzz_fail("certificates", pfx.count, PFX_CERTIFICATES);
        for (unsigned i = 0; i < pfx.count; i++)
            touch(pfx.certificates[i]);
        touch(pfx.key);
    }
    ncrypt_pfx_free(&pfx);
}
