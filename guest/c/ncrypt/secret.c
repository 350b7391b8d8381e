/*
 * Secret agreement, and deriving keys of what was agreed on: NCryptSecretAgreement, NCryptDeriveKey.
 *
 * Facts: Wine 8.0's bcrypt.dll agrees on nothing (BCryptDeriveKey answers STATUS_INTERNAL_ERROR). Wine 10.0's does with
 * GnuTLS 3.8.2 and newer, and derives the secret itself (TRUNCATE) and a hash without anything before or after it. So
 * the secret is taken from it, and derived from here.
 */
#include "derive.h"

#include <stdlib.h>
#include <string.h>

struct secret
{
    struct object object;
    DWORD size;
    BYTE data[66]; /* big-endian */
};

static void secret_destroy(struct object *object)
{
    ncrypt_secure_free(object, sizeof(struct secret));
}

/* A key of ECDH for a key of either family: in Windows, keys of ECDSA agree too. */
static NTSTATUS agreeing_key(struct key *key, BOOL private_part, BCRYPT_KEY_HANDLE *agreeing)
{
    const struct algorithm *ecdh = ncrypt_algorithm_of_family(key->algorithm, FAMILY_ECDH);
    struct blob blob;
    NTSTATUS status;
    ULONG size;
    BYTE *data;

    AcquireSRWLockExclusive(&key->lock);
    status = ncrypt_native_export(key->handle, key->algorithm, private_part, &data, &size);
    ReleaseSRWLockExclusive(&key->lock);
    if (status)
        return status;
    memcpy(data, private_part ? &ecdh->private_magic : &ecdh->public_magic, sizeof(DWORD));
    status = ncrypt_blob_read(data, size, &blob) ? ncrypt_native_import(&blob, agreeing) : DERIVE_INVALID;
    ncrypt_secure_free(data, size);
    return status;
}

/* The x coordinate of the agreed point, big-endian. */
static NTSTATUS agree(BCRYPT_KEY_HANDLE private_key, BCRYPT_KEY_HANDLE public_key, struct secret *secret)
{
    BCRYPT_SECRET_HANDLE agreed;
    ULONG size = 0;
    NTSTATUS status = BCryptSecretAgreement(private_key, public_key, &agreed, 0);

    if (status)
        return status;
    /* little-endian */
    status = BCryptDeriveKey(agreed, BCRYPT_KDF_RAW_SECRET, NULL, secret->data, secret->size, &size, 0);
    BCryptDestroySecret(agreed);
    if (status)
        return STATUS_REFUSED;
    if (size > secret->size)
        return DERIVE_INVALID;
    memset(secret->data + size, 0, secret->size - size);
    for (DWORD i = 0; i < secret->size / 2; i++)
    {
        BYTE low = secret->data[i];

        secret->data[i] = secret->data[secret->size - 1 - i];
        secret->data[secret->size - 1 - i] = low;
    }
    return STATUS_OK;
}

static SECURITY_STATUS agree_keys(struct key *private_key, struct key *public_key, NCRYPT_SECRET_HANDLE *handle)
{
    BCRYPT_KEY_HANDLE own = NULL, other = NULL;
    struct secret *secret;
    NTSTATUS status;

    if (private_key->family == FAMILY_RSA || public_key->family == FAMILY_RSA)
        return NTE_NOT_SUPPORTED;
    if (!private_key->handle || !public_key->handle || !private_key->private_part)
        return NTE_BAD_KEY_STATE;
    if (private_key->bits != public_key->bits)
        return NTE_INVALID_PARAMETER;
    if (!(secret = calloc(1, sizeof(*secret))))
        return NTE_NO_MEMORY;
    secret->size = private_key->algorithm->bytes;
    if (!(status = agreeing_key(private_key, TRUE, &own)) && !(status = agreeing_key(public_key, FALSE, &other)))
        status = agree(own, other, secret);
    if (own)
        BCryptDestroyKey(own);
    if (other)
        BCryptDestroyKey(other);
    if (status)
    {
        secret_destroy(&secret->object);
        return ncrypt_map_status(status);
    }
    *handle = ncrypt_object_add(&secret->object, KIND_SECRET, secret_destroy);
    return ERROR_SUCCESS;
}

SECURITY_STATUS WINAPI NCryptSecretAgreement(NCRYPT_KEY_HANDLE private_handle, NCRYPT_KEY_HANDLE public_handle,
                                             NCRYPT_SECRET_HANDLE *secret, DWORD flags)
{
    struct key *private_key = ncrypt_object_get(private_handle, KIND_KEY),
               *public_key = ncrypt_object_get(public_handle, KIND_KEY);
    SECURITY_STATUS status = NTE_INVALID_HANDLE;

    if (!secret)
        status = NTE_INVALID_PARAMETER;
    else if (flags & ~(DWORD)NCRYPT_SILENT_FLAG)
        status = NTE_BAD_FLAGS;
    else if (private_key && public_key)
        status = agree_keys(private_key, public_key, secret);
    ncrypt_object_release(private_key);
    ncrypt_object_release(public_key);
    return status;
}

/* The bytes of a parameter, none if it is missing. */
static BOOL bytes_parameter(const BCryptBufferDesc *list, ULONG type, struct bytes *bytes)
{
    const BCryptBuffer *found;

    *bytes = (struct bytes){NULL, 0};
    if (!ncrypt_find_parameter(list, type, &found))
        return FALSE;
    if (found)
        *bytes = (struct bytes){found->pvBuffer, found->cbBuffer};
    return TRUE;
}

/* The hash that the parameters name; missing if they name none. NULL: one that is not known. */
static const WCHAR *hash_parameter(const BCryptBufferDesc *list, const WCHAR *missing)
{
    const BCryptBuffer *found;
    const WCHAR *name;

    if (!ncrypt_find_parameter(list, KDF_HASH_ALGORITHM, &found))
        return NULL;
    if (!found)
        return missing;
    return (name = ncrypt_parameter_text(found)) && ncrypt_hash_size(name) ? name : NULL;
}

/* All parameters of a type, one after another, between the others. */
static NTSTATUS derive_hash(const struct secret *secret, BOOL hmac, const BCryptBufferDesc *list, ULONG flags,
                            BYTE *out, ULONG *size)
{
    struct bytes parts[16], key = {NULL, 0};
    const WCHAR *algorithm = hash_parameter(list, BCRYPT_SHA1_ALGORITHM);
    unsigned count = 0;

    if (!algorithm || !bytes_parameter(list, KDF_HMAC_KEY, &key))
        return DERIVE_INVALID;
    for (ULONG type = KDF_SECRET_PREPEND; type <= KDF_SECRET_APPEND; type++)
    {
        for (ULONG i = 0; list && i < list->cBuffers; i++)
        {
            if (list->pBuffers[i].BufferType != type)
                continue;
            if (count == 15 || (list->pBuffers[i].cbBuffer && !list->pBuffers[i].pvBuffer))
                return DERIVE_INVALID;
            parts[count++] = (struct bytes){list->pBuffers[i].pvBuffer, list->pBuffers[i].cbBuffer};
        }
        if (type == KDF_SECRET_PREPEND)
            parts[count++] = (struct bytes){secret->data, secret->size};
    }
    if (flags & KDF_USE_SECRET_AS_HMAC_KEY_FLAG)
        key = (struct bytes){secret->data, secret->size};
    *size = ncrypt_hash_size(algorithm);
    return ncrypt_hash_parts(algorithm, hmac ? &key : NULL, parts, count, out, *size);
}

static NTSTATUS derive_tls(const struct secret *secret, const BCryptBufferDesc *list, BYTE *out, ULONG *size)
{
    struct bytes label, seed, protocol;
    const WCHAR *algorithm = hash_parameter(list, BCRYPT_SHA256_ALGORITHM);
    DWORD version = 0;

    if (!algorithm || !bytes_parameter(list, KDF_TLS_PRF_LABEL, &label) ||
        !bytes_parameter(list, KDF_TLS_PRF_SEED, &seed) || !bytes_parameter(list, KDF_TLS_PRF_PROTOCOL, &protocol) ||
        !label.size || seed.size != 64)
        return DERIVE_INVALID;
    if (protocol.size == sizeof(version))
        memcpy(&version, protocol.data, sizeof(version));
    if (version < 0x0303) /* TLS1_2_PROTOCOL_VERSION */
        algorithm = NULL;
    *size = 48;
    return ncrypt_derive_tls_prf(algorithm, (struct bytes){secret->data, secret->size}, label, seed, out, *size);
}

static NTSTATUS derive_concatenated(const struct secret *secret, const BCryptBufferDesc *list, BYTE *out, ULONG size)
{
    const WCHAR *algorithm = hash_parameter(list, BCRYPT_SHA1_ALGORITHM);
    struct bytes info[5];

    if (!algorithm)
        return DERIVE_INVALID;
    for (unsigned i = 0; i < 5; i++)
        if (!bytes_parameter(list, KDF_ALGORITHMID + i, &info[i]))
            return DERIVE_INVALID;
    return ncrypt_derive_concat(algorithm, (struct bytes){secret->data, secret->size}, info, 5, out, size);
}

static NTSTATUS derive_with_hkdf(const struct secret *secret, const BCryptBufferDesc *list, BYTE *out, ULONG size)
{
    const WCHAR *algorithm = hash_parameter(list, NULL);
    struct bytes salt, info;

    if (!algorithm || !bytes_parameter(list, KDF_HKDF_SALT, &salt) || !bytes_parameter(list, KDF_HKDF_INFO, &info))
        return DERIVE_INVALID;
    return ncrypt_derive_hkdf(algorithm, (struct bytes){secret->data, secret->size}, salt, info, out, size);
}

static void reverse(const struct secret *secret, BYTE *out)
{
    for (DWORD i = 0; i < secret->size; i++)
        out[i] = secret->data[secret->size - 1 - i];
}

static SECURITY_STATUS derive(const struct secret *secret, const WCHAR *kdf, const BCryptBufferDesc *list, BYTE *output,
                              DWORD room, DWORD *result, ULONG flags)
{
    BYTE value[66];
    ULONG size = 0;
    NTSTATUS status;

    if (list && list->cBuffers && !list->pBuffers)
        return NTE_INVALID_PARAMETER;
    if (!wcscmp(kdf, BCRYPT_KDF_SP80056A_CONCAT) || !wcscmp(kdf, L"HKDF"))
    {
        *result = room;
        if (!output || !room)
            return NTE_INVALID_PARAMETER;
        return ncrypt_map_status(kdf[0] == 'S' ? derive_concatenated(secret, list, output, room)
                                               : derive_with_hkdf(secret, list, output, room));
    }
    if (!wcscmp(kdf, BCRYPT_KDF_HASH) || !wcscmp(kdf, BCRYPT_KDF_HMAC))
    {
        status = derive_hash(secret, kdf[1] == 'M', list, flags, value, &size);
    }
    else if (!wcscmp(kdf, BCRYPT_KDF_TLS_PRF))
    {
        status = derive_tls(secret, list, value, &size);
    }
    else if (!wcscmp(kdf, BCRYPT_KDF_RAW_SECRET))
    {
        reverse(secret, value);
        size = secret->size;
        status = STATUS_OK;
    }
    else
    {
        return NTE_NOT_SUPPORTED;
    }
    if (!status)
    {
        /* of a longer value a program gets as much as it has room for */
        *result = output && room < size ? room : size;
        if (output)
            memcpy(output, value, *result);
    }
    SecureZeroMemory(value, sizeof(value));
    return ncrypt_map_status(status);
}

SECURITY_STATUS WINAPI NCryptDeriveKey(NCRYPT_SECRET_HANDLE handle, LPCWSTR kdf, NCryptBufferDesc *parameters,
                                       PBYTE output, DWORD room, DWORD *result, ULONG flags)
{
    struct secret *secret;
    SECURITY_STATUS status;

    if (!kdf || !result)
        return NTE_INVALID_PARAMETER;
    if (!(secret = ncrypt_object_get(handle, KIND_SECRET)))
        return NTE_INVALID_HANDLE;
    status = derive(secret, kdf, parameters, output, room, result, flags);
    ncrypt_object_release(secret);
    return status;
}
