/*
 * Keys of bcrypt.dll.
 *
 * Facts (Wine 8.0, dlls/bcrypt/bcrypt_main.c): it has RSA, ECDSA and ECDH on P-256 and P-384; it imports private keys
 * of ECDSA on P-256 only. It checks the sizes within a blob of a private RSA key against nothing, so callers come with
 * a blob that ncrypt_blob_read has accepted.
 */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

BOOL ncrypt_native_has(const WCHAR *algorithm)
{
    BCRYPT_ALG_HANDLE provider;

    if (BCryptOpenAlgorithmProvider(&provider, algorithm, NULL, 0))
        return FALSE;
    BCryptCloseAlgorithmProvider(provider, 0);
    return TRUE;
}

NTSTATUS ncrypt_native_generate(const struct algorithm *algorithm, DWORD bits, BCRYPT_KEY_HANDLE *key)
{
    BCRYPT_ALG_HANDLE provider;
    NTSTATUS status = BCryptOpenAlgorithmProvider(&provider, algorithm->name, NULL, 0);

    if (status)
        return status;
    if (!(status = BCryptGenerateKeyPair(provider, key, bits, 0)) && (status = BCryptFinalizeKeyPair(*key, 0)))
        BCryptDestroyKey(*key);
    BCryptCloseAlgorithmProvider(provider, 0);
    return status;
}

static NTSTATUS import(const WCHAR *algorithm, const WCHAR *type, const BYTE *data, SIZE_T size, BCRYPT_KEY_HANDLE *key)
{
    BCRYPT_ALG_HANDLE provider;
    NTSTATUS status = BCryptOpenAlgorithmProvider(&provider, algorithm, NULL, 0);

    if (status)
        return status;
    status = BCryptImportKeyPair(provider, NULL, type, key, (BYTE *)data, (ULONG)size, 0);
    BCryptCloseAlgorithmProvider(provider, 0);
    return status;
}

/*
 * Imports a private key of ECDSA as one of ECDH, and changes what bcrypt.dll calls it. A key of Wine's begins with two
 * numbers, the first the same in all keys, the second that of the algorithm (bcrypt_internal.h, struct key); both are
 * read from keys of the two algorithms, and if they are not of that form, nothing is changed.
 */
static NTSTATUS import_as_ecdh(const struct blob *blob, BCRYPT_KEY_HANDLE *key)
{
    const struct algorithm *ecdh = ncrypt_algorithm_of_family(blob->algorithm, FAMILY_ECDH);
    struct ecc_header header = {ecdh->private_magic, ecdh->bytes};
    BCRYPT_ALG_HANDLE provider;
    BCRYPT_KEY_HANDLE sample;
    const DWORD *numbers;
    DWORD *imported;
    NTSTATUS status;
    BYTE *copy;

    if (BCryptOpenAlgorithmProvider(&provider, blob->algorithm->name, NULL, 0))
        return STATUS_REFUSED;
    status = BCryptGenerateKeyPair(provider, &sample, blob->bits, 0);
    BCryptCloseAlgorithmProvider(provider, 0);
    if (status)
        return STATUS_REFUSED;
    if (!(copy = malloc(blob->data.size)))
    {
        BCryptDestroyKey(sample);
        return (NTSTATUS)0xc0000017; /* STATUS_NO_MEMORY */
    }
    memcpy(copy, blob->data.data, blob->data.size);
    memcpy(copy, &header, sizeof(header));
    if (!(status = import(ecdh->name, BCRYPT_ECCPRIVATE_BLOB, copy, blob->data.size, key)))
    {
        numbers = sample;
        imported = *key;
        if (numbers[0] == 0x4b455930 && imported[0] == numbers[0] && imported[1] != numbers[1] && numbers[1] < 64 &&
            imported[1] < 64)
        {
            imported[1] = numbers[1];
        }
        else
        {
            BCryptDestroyKey(*key);
            status = STATUS_REFUSED;
        }
    }
    ncrypt_secure_free(copy, blob->data.size);
    BCryptDestroyKey(sample);
    return status;
}

/* Whether the public part of a private key is its own: bcrypt.dll takes any two numbers for it. */
static BOOL fits(const struct blob *blob, BCRYPT_KEY_HANDLE key)
{
    struct ecc_header header = {blob->algorithm->public_magic, blob->algorithm->bytes};
    BYTE hash[66] = {1}, signature[2 * 66], data[ECC_HEADER + 2 * 66];
    ULONG size = blob->bits == 256 ? 32 : 48;
    BCRYPT_KEY_HANDLE public_key;
    BOOL fit;

    memcpy(data, &header, sizeof(header));
    memcpy(data + ECC_HEADER, blob->x.data, blob->x.size);
    memcpy(data + ECC_HEADER + blob->x.size, blob->y.data, blob->y.size);
    if (import(blob->algorithm->name, BCRYPT_ECCPUBLIC_BLOB, data, ECC_HEADER + 2 * blob->x.size, &public_key))
        return FALSE;
    fit = !BCryptSignHash(key, NULL, hash, size, signature, sizeof(signature), &size, 0) && size == 2 * blob->x.size &&
          !BCryptVerifySignature(public_key, NULL, hash, blob->bits == 256 ? 32 : 48, signature, size, 0);
    BCryptDestroyKey(public_key);
    return fit;
}

NTSTATUS ncrypt_native_import(const struct blob *blob, BCRYPT_KEY_HANDLE *key)
{
    BOOL rsa = blob->algorithm->family == FAMILY_RSA;
    const WCHAR *type = rsa ? BCRYPT_RSAPUBLIC_BLOB : BCRYPT_ECCPUBLIC_BLOB;
    NTSTATUS status;

    if (!ncrypt_native_has(blob->algorithm->name))
        return STATUS_REFUSED;
    if (blob->private_part)
        type = !rsa                   ? BCRYPT_ECCPRIVATE_BLOB
               : blob->exponent0.size ? BCRYPT_RSAFULLPRIVATE_BLOB
                                      : BCRYPT_RSAPRIVATE_BLOB;
    status = import(blob->algorithm->name, type, blob->data.data, blob->data.size, key);
    if (status == STATUS_REFUSED && blob->private_part && blob->algorithm->family == FAMILY_ECDSA)
        status = import_as_ecdh(blob, key);
    if (!status && blob->private_part && blob->algorithm->family == FAMILY_ECDSA && !fits(blob, *key))
    {
        BCryptDestroyKey(*key);
        return NTE_BAD_DATA;
    }
    return status;
}

NTSTATUS ncrypt_native_export(BCRYPT_KEY_HANDLE key, const struct algorithm *algorithm, BOOL private_part, BYTE **data,
                              ULONG *size)
{
    BOOL rsa = algorithm->family == FAMILY_RSA;
    const WCHAR *type = rsa ? BCRYPT_RSAPUBLIC_BLOB : BCRYPT_ECCPUBLIC_BLOB;
    ULONG room;
    NTSTATUS status;

    if (private_part)
        type = rsa ? BCRYPT_RSAFULLPRIVATE_BLOB : BCRYPT_ECCPRIVATE_BLOB;
    if ((status = BCryptExportKey(key, NULL, type, NULL, 0, &room, 0)))
        return status;
    if (!(*data = malloc(room)))
        return (NTSTATUS)0xc0000017; /* STATUS_NO_MEMORY */
    if (!(status = BCryptExportKey(key, NULL, type, *data, room, size, 0)) && *size > room)
        status = STATUS_REFUSED;
    if (status)
        ncrypt_secure_free(*data, room);
    return status;
}

void ncrypt_secure_free(void *data, SIZE_T size)
{
    if (data)
        SecureZeroMemory(data, size);
    free(data);
}
