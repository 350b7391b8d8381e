/* Signing, verifying, encrypting and decrypting. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

enum
{
    LARGEST_COORDINATE = 66
};

/* A key with a reference, its lock, and a key of bcrypt.dll; let go of with end_use. */
static SECURITY_STATUS begin_use(NCRYPT_KEY_HANDLE handle, struct key **key)
{
    if (!(*key = ncrypt_object_get(handle, KIND_KEY)))
        return NTE_INVALID_HANDLE;
    AcquireSRWLockExclusive(&(*key)->lock);
    if ((*key)->handle)
        return ERROR_SUCCESS;
    ReleaseSRWLockExclusive(&(*key)->lock);
    ncrypt_object_release(*key);
    return NTE_BAD_KEY_STATE;
}

static void end_use(struct key *key)
{
    ReleaseSRWLockExclusive(&key->lock);
    ncrypt_object_release(key);
}

/*
 * bcrypt.dll keeps what PSS changes in a key and then refuses PKCS #1 with it, so each call with PSS has a key of its
 * own. NULL: it cannot be had.
 */
static BCRYPT_KEY_HANDLE key_for_pss(const struct key *key)
{
    BCRYPT_KEY_HANDLE copy = NULL;
    struct blob blob;
    BYTE *data;
    ULONG size;

    if (ncrypt_native_export(key->handle, key->algorithm, key->private_part, &data, &size))
        return NULL;
    if (!ncrypt_blob_read(data, size, &blob) || ncrypt_native_import(&blob, &copy))
        copy = NULL;
    ncrypt_secure_free(data, size);
    return copy;
}

/*
 * ECDSA signs the leftmost bits of a hash, as many as the curve has (FIPS 186-5, 6.4.1), and a shorter one as a number.
 * bcrypt.dll takes only hashes of some lengths, so it gets one of the curve's.
 */
static DWORD fit_hash(const struct key *key, const BYTE *hash, DWORD size, BYTE *fitted)
{
    DWORD length = key->bits == 256 ? 32 : key->bits == 384 ? 48 : 64;

    memset(fitted, 0, length);
    if (size >= length)
        memcpy(fitted, hash, length);
    else
        memcpy(fitted + length - size, hash, size);
    return length;
}

/*
 * Whether a hash may be signed with this padding: its length is that of the algorithm that the padding names. Fact
 * (Wine 8.0 with GnuTLS 3.7.9): PSS is of SHA-256 and longer hashes only, and its salt is as long as the hash, whatever
 * bcrypt.dll is asked for.
 */
static SECURITY_STATUS check_padding(DWORD flags, const void *padding, DWORD size)
{
    const WCHAR *algorithm;

    if (flags != BCRYPT_PAD_PKCS1 && flags != BCRYPT_PAD_PSS)
        return NTE_BAD_FLAGS;
    if (!padding)
        return NTE_INVALID_PARAMETER;
    algorithm = flags == BCRYPT_PAD_PSS ? ((const BCRYPT_PSS_PADDING_INFO *)padding)->pszAlgId
                                        : ((const BCRYPT_PKCS1_PADDING_INFO *)padding)->pszAlgId;
    if (!algorithm)
        return NTE_NOT_SUPPORTED; /* a hash without a name, as TLS 1.1 signs it */
    if (!ncrypt_hash_size(algorithm))
        return NTE_NOT_SUPPORTED;
    if (flags == BCRYPT_PAD_PSS && (ncrypt_hash_size(algorithm) < 32 ||
                                    ((const BCRYPT_PSS_PADDING_INFO *)padding)->cbSalt != ncrypt_hash_size(algorithm)))
        return NTE_NOT_SUPPORTED;
    return ncrypt_hash_size(algorithm) == size ? ERROR_SUCCESS : NTE_INVALID_PARAMETER;
}

static SECURITY_STATUS sign(struct key *key, void *padding, const BYTE *hash, DWORD size, BYTE *signature, DWORD room,
                            DWORD *result, DWORD flags)
{
    BYTE fitted[LARGEST_COORDINATE];
    SECURITY_STATUS status;
    BCRYPT_KEY_HANDLE pss;
    ULONG length;

    if (!key->private_part || key->family == FAMILY_ECDH)
        return key->private_part ? NTE_NOT_SUPPORTED : NTE_BAD_KEY_STATE;
    if (key->family != FAMILY_RSA)
    {
        if (flags)
            return NTE_BAD_FLAGS;
        *result = 2 * key->algorithm->bytes;
        if (!signature)
            return ERROR_SUCCESS;
        if (room < *result)
            return NTE_BUFFER_TOO_SMALL;
        size = fit_hash(key, hash, size, fitted);
        return ncrypt_map_status(BCryptSignHash(key->handle, NULL, fitted, size, signature, room, &length, 0));
    }
    if ((status = check_padding(flags, padding, size)))
        return status;
    *result = (key->bits + 7) / 8;
    if (!signature)
        return ERROR_SUCCESS;
    if (room < *result)
        return NTE_BUFFER_TOO_SMALL;
    if (flags != BCRYPT_PAD_PSS)
        return ncrypt_map_status(
            BCryptSignHash(key->handle, padding, (BYTE *)hash, size, signature, room, &length, flags));
    if (!(pss = key_for_pss(key)))
        return NTE_NO_MEMORY;
    status = ncrypt_map_status(BCryptSignHash(pss, padding, (BYTE *)hash, size, signature, room, &length, flags));
    BCryptDestroyKey(pss);
    return status;
}

SECURITY_STATUS WINAPI NCryptSignHash(NCRYPT_KEY_HANDLE handle, VOID *padding, PBYTE hash, DWORD size, PBYTE signature,
                                      DWORD room, DWORD *result, DWORD flags)
{
    SECURITY_STATUS status;
    struct key *key;

    if (!hash || !size || !result)
        return NTE_INVALID_PARAMETER;
    if ((status = begin_use(handle, &key)))
        return status;
    status = sign(key, padding, hash, size, signature, room, result, flags & ~(DWORD)NCRYPT_SILENT_FLAG);
    end_use(key);
    return status;
}

static SECURITY_STATUS verify(struct key *key, void *padding, const BYTE *hash, DWORD size, BYTE *signature,
                              DWORD length, DWORD flags)
{
    BYTE fitted[LARGEST_COORDINATE];
    SECURITY_STATUS status;
    BCRYPT_KEY_HANDLE pss;

    if (key->family == FAMILY_ECDH)
        return NTE_NOT_SUPPORTED;
    if (key->family != FAMILY_RSA)
    {
        if (flags)
            return NTE_BAD_FLAGS;
        if (length != 2 * key->algorithm->bytes)
            return NTE_BAD_SIGNATURE;
        size = fit_hash(key, hash, size, fitted);
        return ncrypt_map_status(BCryptVerifySignature(key->handle, NULL, fitted, size, signature, length, 0));
    }
    if ((status = check_padding(flags, padding, size)))
        return status;
    if (length != (key->bits + 7) / 8)
        return NTE_BAD_SIGNATURE;
    if (flags != BCRYPT_PAD_PSS)
        return ncrypt_map_status(
            BCryptVerifySignature(key->handle, padding, (BYTE *)hash, size, signature, length, flags));
    if (!(pss = key_for_pss(key)))
        return NTE_NO_MEMORY;
    status = ncrypt_map_status(BCryptVerifySignature(pss, padding, (BYTE *)hash, size, signature, length, flags));
    BCryptDestroyKey(pss);
    return status;
}

SECURITY_STATUS WINAPI NCryptVerifySignature(NCRYPT_KEY_HANDLE handle, VOID *padding, PBYTE hash, DWORD size,
                                             PBYTE signature, DWORD length, DWORD flags)
{
    SECURITY_STATUS status;
    struct key *key;

    if (!hash || !size || !signature || !length)
        return NTE_INVALID_PARAMETER;
    if ((status = begin_use(handle, &key)))
        return status;
    status = verify(key, padding, hash, size, signature, length, flags & ~(DWORD)NCRYPT_SILENT_FLAG);
    end_use(key);
    return status;
}

/* The key's blob, for oaep.c. */
static SECURITY_STATUS with_oaep(struct key *key, BOOL encrypt, const BCRYPT_OAEP_PADDING_INFO *padding, const BYTE *in,
                                 DWORD in_size, BYTE *out, DWORD *out_size)
{
    SECURITY_STATUS status;
    struct blob blob;
    ULONG size;
    BYTE *data;

    if ((status = ncrypt_map_status(ncrypt_native_export(key->handle, key->algorithm, !encrypt, &data, &size))))
        return status;
    if (!ncrypt_blob_read(data, size, &blob))
        status = NTE_INTERNAL_ERROR;
    else
        status = ncrypt_oaep(&blob, encrypt, padding, in, in_size, out, out_size);
    ncrypt_secure_free(data, size);
    return status;
}

static SECURITY_STATUS encrypt(struct key *key, const BYTE *in, DWORD in_size, const void *padding, BYTE *out,
                               DWORD room, DWORD *result, DWORD flags)
{
    DWORD bytes = (key->bits + 7) / 8;
    ULONG length;

    if (key->family != FAMILY_RSA)
        return NTE_NOT_SUPPORTED;
    if (flags != BCRYPT_PAD_PKCS1 && flags != BCRYPT_PAD_OAEP)
        return flags == BCRYPT_PAD_NONE ? NTE_NOT_SUPPORTED : NTE_BAD_FLAGS;
    *result = bytes;
    if (!out)
        return ERROR_SUCCESS;
    if (room < bytes)
        return NTE_BUFFER_TOO_SMALL;
    if (flags == BCRYPT_PAD_OAEP)
        return with_oaep(key, TRUE, padding, in, in_size, out, &bytes);
    if (in_size + 11 > bytes) /* RFC 8017, 7.2.1 */
        return NTE_INVALID_PARAMETER;
    return ncrypt_map_status(
        BCryptEncrypt(key->handle, (BYTE *)in, in_size, NULL, NULL, 0, out, bytes, &length, flags));
}

SECURITY_STATUS WINAPI NCryptEncrypt(NCRYPT_KEY_HANDLE handle, PBYTE in, DWORD in_size, VOID *padding, PBYTE out,
                                     DWORD room, DWORD *result, DWORD flags)
{
    static const BYTE nothing;
    SECURITY_STATUS status;
    struct key *key;

    if ((!in && in_size) || !result || in_size > RSA_MAX_BITS / 8)
        return NTE_INVALID_PARAMETER;
    if ((status = begin_use(handle, &key)))
        return status;
    status = encrypt(key, in ? in : &nothing, in_size, padding, out, room, result, flags & ~(DWORD)NCRYPT_SILENT_FLAG);
    end_use(key);
    return status;
}

static SECURITY_STATUS decrypt(struct key *key, const BYTE *in, DWORD in_size, const void *padding, BYTE *out,
                               DWORD room, DWORD *result, DWORD flags)
{
    DWORD bytes = (key->bits + 7) / 8, size = bytes;
    SECURITY_STATUS status;
    BYTE *clear;

    if (key->family != FAMILY_RSA)
        return NTE_NOT_SUPPORTED;
    if (!key->private_part)
        return NTE_BAD_KEY_STATE;
    if (flags != BCRYPT_PAD_PKCS1 && flags != BCRYPT_PAD_OAEP)
        return flags == BCRYPT_PAD_NONE ? NTE_NOT_SUPPORTED : NTE_BAD_FLAGS;
    if (in_size != bytes)
        return NTE_INVALID_PARAMETER;
    if (!out)
    {
        *result = bytes; /* no more than this */
        return ERROR_SUCCESS;
    }
    if (!(clear = malloc(bytes)))
        return NTE_NO_MEMORY;
    if (flags == BCRYPT_PAD_OAEP)
        status = with_oaep(key, FALSE, padding, in, in_size, clear, &size);
    else if ((status = ncrypt_map_status(BCryptDecrypt(key->handle, (BYTE *)in, in_size, NULL, NULL, 0, clear, bytes,
                                                       &size, flags))) == NTE_INTERNAL_ERROR)
        status = NTE_INVALID_PARAMETER; /* as Windows says of what does not decrypt */
    if (!status)
    {
        *result = size;
        if (room < size)
            status = NTE_BUFFER_TOO_SMALL;
        else
            memcpy(out, clear, size);
    }
    ncrypt_secure_free(clear, bytes);
    return status;
}

SECURITY_STATUS WINAPI NCryptDecrypt(NCRYPT_KEY_HANDLE handle, PBYTE in, DWORD in_size, VOID *padding, PBYTE out,
                                     DWORD room, DWORD *result, DWORD flags)
{
    SECURITY_STATUS status;
    struct key *key;

    if (!in || !result)
        return NTE_INVALID_PARAMETER;
    if ((status = begin_use(handle, &key)))
        return status;
    status = decrypt(key, in, in_size, padding, out, room, result, flags & ~(DWORD)NCRYPT_SILENT_FLAG);
    end_use(key);
    return status;
}
