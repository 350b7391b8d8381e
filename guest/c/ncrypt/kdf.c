/*
 * Keys of bcrypt.dll that other keys are derived from: PBKDF2, HKDF, and the counter mode of SP 800-108.
 *
 * Facts (Wine 8.0 and 10.0): bcrypt.dll has no such algorithms and no BCryptKeyDerivation; it has
 * BCryptDeriveKeyPBKDF2. Windows 8 and later have all of them, and .NET derives with them. The hooks
 * (guest/c/hooks/kdf.c) ask bcrypt.dll first, and then here.
 *
 * An algorithm's handle is one of the numbers that bcrypt.h of Windows 10 has for it, also where it is opened by name.
 */
#include "derive.h"

#include <stdlib.h>
#include <string.h>

enum
{
    LONGEST_HASH_NAME = 15
};

static const struct deriving_algorithm
{
    const WCHAR *name;
    ULONG_PTR handle;
} deriving_algorithms[] = {
    {L"PBKDF2", 0x331},             /* BCRYPT_PBKDF2_ALG_HANDLE */
    {L"SP800_108_CTR_HMAC", 0x341}, /* BCRYPT_SP800108_CTR_HMAC_ALG_HANDLE */
    {L"HKDF", 0x391},               /* BCRYPT_HKDF_ALG_HANDLE */
};

struct deriving_key
{
    struct object object;
    ULONG_PTR algorithm;
    WCHAR hash[LONGEST_HASH_NAME + 1]; /* HKDF's */
    BYTE *salt;
    ULONG salt_size, secret_size;
    BYTE secret[];
};

static void deriving_destroy(struct object *object)
{
    struct deriving_key *key = (struct deriving_key *)object;

    ncrypt_secure_free(key->salt, key->salt_size);
    ncrypt_secure_free(key, sizeof(*key) + key->secret_size);
}

/* BCryptOpenAlgorithmProvider */
NTSTATUS WINAPI MullionOpenDeriving(BCRYPT_ALG_HANDLE *handle, LPCWSTR name)
{
    for (unsigned i = 0; handle && name && i < sizeof(deriving_algorithms) / sizeof(deriving_algorithms[0]); i++)
    {
        if (wcscmp(name, deriving_algorithms[i].name))
            continue;
        *handle = (BCRYPT_ALG_HANDLE)deriving_algorithms[i].handle;
        return STATUS_OK;
    }
    return STATUS_REFUSED;
}

static BOOL is_deriving(BCRYPT_ALG_HANDLE algorithm)
{
    for (unsigned i = 0; i < sizeof(deriving_algorithms) / sizeof(deriving_algorithms[0]); i++)
        if ((ULONG_PTR)algorithm == deriving_algorithms[i].handle)
            return TRUE;
    return FALSE;
}

/* BCryptCloseAlgorithmProvider */
NTSTATUS WINAPI MullionCloseDeriving(BCRYPT_ALG_HANDLE algorithm)
{
    return is_deriving(algorithm) ? STATUS_OK : STATUS_REFUSED;
}

/* BCryptGenerateSymmetricKey */
NTSTATUS WINAPI MullionMakeDeriving(BCRYPT_ALG_HANDLE algorithm, BCRYPT_KEY_HANDLE *handle, const BYTE *secret,
                                    ULONG size)
{
    struct deriving_key *key;

    if (!is_deriving(algorithm))
        return STATUS_REFUSED;
    if (!handle || (size && !secret))
        return DERIVE_INVALID;
    if (!(key = calloc(1, sizeof(*key) + size)))
        return (NTSTATUS)0xc0000017; /* STATUS_NO_MEMORY */
    key->algorithm = (ULONG_PTR)algorithm;
    key->secret_size = size;
    memcpy(key->secret, secret, size);
    *handle = (BCRYPT_KEY_HANDLE)ncrypt_object_add(&key->object, KIND_DERIVING, deriving_destroy);
    return STATUS_OK;
}

/* BCryptDestroyKey */
NTSTATUS WINAPI MullionDestroyDeriving(BCRYPT_KEY_HANDLE handle)
{
    return ncrypt_object_close((NCRYPT_HANDLE)handle, KIND_DERIVING) ? STATUS_OK : STATUS_REFUSED;
}

/* BCryptSetProperty: what HKDF wants before it derives. */
NTSTATUS WINAPI MullionSetDeriving(BCRYPT_KEY_HANDLE handle, LPCWSTR name, const BYTE *value, ULONG size)
{
    struct deriving_key *key = ncrypt_object_get((NCRYPT_HANDLE)handle, KIND_DERIVING);
    BCryptBuffer text = {size, 0, (void *)value};
    NTSTATUS status = DERIVE_INVALID;
    const WCHAR *hash;

    if (!key)
        return STATUS_REFUSED;
    if (key->algorithm != 0x391 || !name || (size && !value))
    {
        status = name ? STATUS_REFUSED : DERIVE_INVALID;
    }
    else if (!wcscmp(name, L"HkdfHashAlgorithm"))
    {
        if (!key->hash[0] && value && (hash = ncrypt_parameter_text(&text)) && ncrypt_hash_size(hash))
        {
            lstrcpyW(key->hash, hash);
            status = STATUS_OK;
        }
    }
    else if (!wcscmp(name, L"HkdfSaltAndFinalize"))
    {
        /* once: other threads may be reading it */
        if (!key->salt && (key->salt = malloc(size + 1)))
        {
            memcpy(key->salt, value, size);
            key->salt_size = size;
            status = STATUS_OK;
        }
    }
    ncrypt_object_release(key);
    return status;
}

static BOOL bytes_of(const BCryptBufferDesc *list, ULONG type, struct bytes *bytes)
{
    const BCryptBuffer *found;

    *bytes = (struct bytes){NULL, 0};
    if (!ncrypt_find_parameter(list, type, &found))
        return FALSE;
    if (found)
        *bytes = (struct bytes){found->pvBuffer, found->cbBuffer};
    return TRUE;
}

static NTSTATUS derive_pbkdf2(const WCHAR *hash, const struct deriving_key *key, struct bytes salt, struct bytes count,
                              BYTE *out, ULONG size)
{
    ULONGLONG iterations = 10000; /* what Windows takes where none are named */
    BCRYPT_ALG_HANDLE provider;
    DWORD small;
    NTSTATUS status;

    if (count.size == sizeof(iterations))
    {
        memcpy(&iterations, count.data, sizeof(iterations));
    }
    else if (count.size == sizeof(small))
    {
        memcpy(&small, count.data, sizeof(small));
        iterations = small;
    }
    else if (count.data)
    {
        return DERIVE_INVALID;
    }
    if (!iterations)
        return DERIVE_INVALID;
    if ((status = BCryptOpenAlgorithmProvider(&provider, hash, NULL, BCRYPT_ALG_HANDLE_HMAC_FLAG)))
        return status;
    status = BCryptDeriveKeyPBKDF2(provider, (BYTE *)key->secret, key->secret_size, (BYTE *)salt.data, (ULONG)salt.size,
                                   iterations, out, size, 0);
    BCryptCloseAlgorithmProvider(provider, 0);
    return status;
}

static NTSTATUS derive(const struct deriving_key *key, const BCryptBufferDesc *list, BYTE *out, ULONG size)
{
    struct bytes secret = {key->secret, key->secret_size}, salt, count, label, context, info;
    const BCryptBuffer *named;
    const WCHAR *hash;

    if (!ncrypt_find_parameter(list, KDF_HASH_ALGORITHM, &named) || !bytes_of(list, KDF_SALT, &salt) ||
        !bytes_of(list, KDF_ITERATION_COUNT, &count) || !bytes_of(list, KDF_LABEL, &label) ||
        !bytes_of(list, KDF_CONTEXT, &context) || !bytes_of(list, KDF_HKDF_INFO, &info))
        return DERIVE_INVALID;
    if (key->algorithm == 0x391)
    {
        salt = (struct bytes){key->salt, key->salt_size};
        return key->hash[0] && key->salt ? ncrypt_derive_hkdf(key->hash, secret, salt, info, out, size)
                                         : DERIVE_INVALID;
    }
    if (!named || !(hash = ncrypt_parameter_text(named)) || !ncrypt_hash_size(hash))
        return DERIVE_INVALID;
    return key->algorithm == 0x331 ? derive_pbkdf2(hash, key, salt, count, out, size)
                                   : ncrypt_derive_counter(hash, secret, label, context, out, size);
}

NTSTATUS WINAPI BCryptKeyDerivation(BCRYPT_KEY_HANDLE handle, BCryptBufferDesc *parameters, PUCHAR output, ULONG room,
                                    ULONG *result, ULONG flags)
{
    struct deriving_key *key;
    NTSTATUS status;

    if (!output || !room || !result || flags)
        return DERIVE_INVALID;
    if (!(key = ncrypt_object_get((NCRYPT_HANDLE)handle, KIND_DERIVING)))
        return (NTSTATUS)0xc0000008; /* STATUS_INVALID_HANDLE */
    if (!(status = derive(key, parameters, output, room)))
        *result = room;
    ncrypt_object_release(key);
    return status;
}

/* BCryptEncrypt and BCryptDecrypt of RSA with OAEP. */
NTSTATUS WINAPI MullionOaep(BCRYPT_KEY_HANDLE handle, BOOL encrypt, const BYTE *in, ULONG in_size,
                            const BCRYPT_OAEP_PADDING_INFO *padding, BYTE *out, ULONG room, ULONG *result)
{
    SECURITY_STATUS status = NTE_NOT_SUPPORTED;
    DWORD length = 0;
    struct blob blob;
    ULONG size;
    BYTE *data, *buffer;

    if (!result || (in_size && !in))
        return DERIVE_INVALID;
    if (ncrypt_native_export(handle, ncrypt_algorithm_at(0), !encrypt, &data, &size))
        return STATUS_REFUSED;
    if (ncrypt_blob_read(data, size, &blob) && blob.algorithm->family == FAMILY_RSA)
    {
        length = (DWORD)blob.modulus.size;
        *result = length;
        buffer = out ? malloc(length) : NULL;
        status = out && !buffer ? NTE_NO_MEMORY : ERROR_SUCCESS;
        if (buffer && encrypt && room < length)
        {
            status = NTE_BUFFER_TOO_SMALL;
        }
        else if (buffer)
        {
            DWORD got = length;

            if (!(status = ncrypt_oaep(&blob, encrypt, padding, in, in_size, buffer, &got)))
            {
                *result = got;
                if (room < got)
                    status = NTE_BUFFER_TOO_SMALL;
                else
                    memcpy(out, buffer, got);
            }
        }
        ncrypt_secure_free(buffer, length);
    }
    ncrypt_secure_free(data, size);
    if (status == NTE_INVALID_PARAMETER)
        return DERIVE_INVALID;
    if (status == NTE_BUFFER_TOO_SMALL)
        return (NTSTATUS)0xc0000023; /* STATUS_BUFFER_TOO_SMALL */
    return status ? STATUS_REFUSED : STATUS_OK;
}
