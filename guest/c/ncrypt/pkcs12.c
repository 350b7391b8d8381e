#include "pkcs12.h"

#include <string.h>

static const BYTE oid_data[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01};      /* 1.2.840.113549.1.7.1 */
static const BYTE oid_encrypted[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06}; /* 1.2.840.113549.1.7.6 */
static const BYTE oid_bag[] = {0x2a, 0x86, 0x48, 0x86, 0xf7,
                               0x0d, 0x01, 0x0c, 0x0a, 0x01}; /* 1.2.840.113549.1.12.10.1, and one more number */
static const BYTE oid_x509[] = {0x2a, 0x86, 0x48, 0x86, 0xf7,
                                0x0d, 0x01, 0x09, 0x16, 0x01}; /* 1.2.840.113549.1.9.22.1 */

enum
{
    KEY_BAG = 1,
    SHROUDED_KEY_BAG = 2,
    CERTIFICATE_BAG = 3
};

/* Keeps what has been decrypted until ncrypt_pfx_free. */
static BOOL decrypt(struct pfx *pfx, struct bytes algorithm, struct bytes sealed, const WCHAR *password,
                    struct bytes *clear)
{
    if (pfx->decrypted_count == PFX_CONTENTS || !ncrypt_pbe_decrypt(algorithm, sealed, password, clear))
        return FALSE;
    pfx->decrypted[pfx->decrypted_count++] = *clear;
    return TRUE;
}

static BOOL read_certificate(struct pfx *pfx, struct bytes value)
{
    struct bytes bag, oid, explicit, certificate;

    if (!der_take(&value, DER_SEQUENCE, &bag) || !der_take(&bag, DER_OID, &oid))
        return FALSE;
    if (!der_bytes_equal(oid, oid_x509, sizeof(oid_x509)))
        return TRUE; /* another kind of certificate */
    if (!der_take(&bag, DER_CONTEXT_CONSTRUCTED, &explicit) || !der_take(&explicit, DER_OCTET_STRING, &certificate))
        return FALSE;
    if (pfx->count < PFX_CERTIFICATES)
        pfx->certificates[pfx->count++] = certificate;
    return TRUE;
}

static BOOL read_shrouded(struct pfx *pfx, struct bytes value, const WCHAR *password)
{
    struct bytes key, algorithm, sealed, clear;

    if (!der_take(&value, DER_SEQUENCE, &key) || !der_take(&key, DER_SEQUENCE, &algorithm) ||
        !der_take(&key, DER_OCTET_STRING, &sealed))
        return FALSE;
    if (pfx->key.size)
        return TRUE;
    if (!decrypt(pfx, algorithm, sealed, password, &clear))
        return FALSE;
    pfx->key = clear;
    return TRUE;
}

/* SafeContents */
static BOOL read_bags(struct pfx *pfx, struct bytes contents, const WCHAR *password)
{
    struct bytes sequence, bag, oid, value;
    BOOL good = TRUE;

    if (!der_take(&contents, DER_SEQUENCE, &sequence))
        return FALSE;
    while (good && sequence.size)
    {
        if (!der_take(&sequence, DER_SEQUENCE, &bag) || !der_take(&bag, DER_OID, &oid) ||
            !der_take(&bag, DER_CONTEXT_CONSTRUCTED, &value))
            return FALSE;
        if (oid.size != sizeof(oid_bag) + 1 || memcmp(oid.data, oid_bag, sizeof(oid_bag)))
            continue;
        switch (oid.data[sizeof(oid_bag)])
        {
        case KEY_BAG:
            if (!pfx->key.size)
                pfx->key = value;
            break;
        case SHROUDED_KEY_BAG: good = read_shrouded(pfx, value, password); break;
        case CERTIFICATE_BAG: good = read_certificate(pfx, value); break;
        }
    }
    return good;
}

/* EncryptedData, RFC 5652, 8 */
static BOOL read_encrypted(struct pfx *pfx, struct bytes content, const WCHAR *password)
{
    struct bytes data, info, type, algorithm, sealed, clear;
    DWORD version;

    return der_take(&content, DER_SEQUENCE, &data) && der_take_small(&data, &version) &&
           der_take(&data, DER_SEQUENCE, &info) && der_take(&info, DER_OID, &type) &&
           der_take(&info, DER_SEQUENCE, &algorithm) && der_take(&info, DER_CONTEXT, &sealed) &&
           decrypt(pfx, algorithm, sealed, password, &clear) && read_bags(pfx, clear, password);
}

/* ContentInfo: its type, and what is in its [0]. */
static BOOL take_content(struct bytes *from, struct bytes *type, struct bytes *content)
{
    struct bytes info;

    return der_take(from, DER_SEQUENCE, &info) && der_take(&info, DER_OID, type) &&
           der_take(&info, DER_CONTEXT_CONSTRUCTED, content);
}

BOOL ncrypt_pfx_read(struct bytes file, const WCHAR *password, struct pfx *pfx)
{
    struct bytes sequence, type, content, safe, list, mac;
    DWORD version;

    memset(pfx, 0, sizeof(*pfx));
    if (!der_take(&file, DER_SEQUENCE, &sequence) || !der_take_small(&sequence, &version) || version != 3 ||
        !take_content(&sequence, &type, &content) || !der_bytes_equal(type, oid_data, sizeof(oid_data)) ||
        !der_take(&content, DER_OCTET_STRING, &safe))
        return FALSE;
    if (der_take(&sequence, DER_SEQUENCE, &mac) && !ncrypt_pbe_check_mac(mac, safe, password))
    {
        pfx->wrong_password = TRUE;
        return FALSE;
    }
    if (!der_take(&safe, DER_SEQUENCE, &list))
        return FALSE;
    while (list.size)
    {
        if (!take_content(&list, &type, &content))
            return FALSE;
        if (der_bytes_equal(type, oid_encrypted, sizeof(oid_encrypted)))
        {
            if (!read_encrypted(pfx, content, password))
                return FALSE;
        }
        else if (!der_bytes_equal(type, oid_data, sizeof(oid_data)) || !der_take(&content, DER_OCTET_STRING, &safe) ||
                 !read_bags(pfx, safe, password))
        {
            return FALSE;
        }
    }
    return TRUE;
}

void ncrypt_pfx_free(struct pfx *pfx)
{
    for (unsigned i = 0; i < pfx->decrypted_count; i++)
        ncrypt_pbe_free(pfx->decrypted[i]);
    memset(pfx, 0, sizeof(*pfx));
}
