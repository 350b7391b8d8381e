/* Hashes, HMAC and what is derived with them. */
#include "keys.h"

#include "derive.h"

#include <stdlib.h>
#include <string.h>

enum
{
    LARGEST_HASH = 64
};

static const struct hash
{
    const WCHAR *name;
    ULONG size;
} hashes[] = {
    {L"MD5", 16}, {L"SHA1", 20}, {L"SHA256", 32}, {L"SHA384", 48}, {L"SHA512", 64},
};

ULONG ncrypt_hash_size(const WCHAR *algorithm)
{
    for (unsigned i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++)
        if (!_wcsicmp(hashes[i].name, algorithm))
            return hashes[i].size;
    return 0;
}

NTSTATUS ncrypt_hash_parts(const WCHAR *algorithm, const struct bytes *secret, const struct bytes *parts,
                           unsigned count, BYTE *out, ULONG size)
{
    BCRYPT_ALG_HANDLE provider;
    BCRYPT_HASH_HANDLE hash;
    NTSTATUS status = BCryptOpenAlgorithmProvider(&provider, algorithm, NULL, secret ? BCRYPT_ALG_HANDLE_HMAC_FLAG : 0);

    if (status)
        return status;
    status = BCryptCreateHash(provider, &hash, NULL, 0, secret ? (BYTE *)secret->data : NULL,
                              secret ? (ULONG)secret->size : 0, 0);
    if (!status)
    {
        for (unsigned i = 0; i < count && !status; i++)
            if (parts[i].size)
                status = BCryptHashData(hash, (BYTE *)parts[i].data, (ULONG)parts[i].size, 0);
        if (!status)
            status = BCryptFinishHash(hash, out, size, 0);
        BCryptDestroyHash(hash);
    }
    BCryptCloseAlgorithmProvider(provider, 0);
    return status;
}

BOOL ncrypt_find_parameter(const BCryptBufferDesc *list, ULONG type, const BCryptBuffer **found)
{
    *found = NULL;
    if (!list)
        return TRUE;
    if (list->cBuffers && !list->pBuffers)
        return FALSE;
    for (ULONG i = 0; i < list->cBuffers; i++)
    {
        if (list->pBuffers[i].BufferType != type)
            continue;
        if (*found || (list->pBuffers[i].cbBuffer && !list->pBuffers[i].pvBuffer))
            return FALSE;
        *found = &list->pBuffers[i];
    }
    return TRUE;
}

const WCHAR *ncrypt_parameter_text(const BCryptBuffer *parameter)
{
    const WCHAR *text = parameter->pvBuffer;

    /* some count the terminator and some do not; it is there in both */
    for (ULONG i = 0; i < parameter->cbBuffer / sizeof(WCHAR); i++)
        if (!text[i])
            return text;
    return NULL;
}

static NTSTATUS hkdf_expand(const WCHAR *algorithm, const BYTE *prk, ULONG prk_size, struct bytes info, BYTE *out,
                            SIZE_T size)
{
    struct bytes secret = {prk, prk_size}, parts[3] = {{NULL, 0}, info, {NULL, 1}};
    BYTE block[LARGEST_HASH], counter = 0;
    NTSTATUS status = STATUS_OK;

    for (SIZE_T done = 0; done < size && !status; done += parts[0].size)
    {
        counter++;
        parts[2].data = &counter;
        if ((status = ncrypt_hash_parts(algorithm, &secret, parts, 3, block, prk_size)))
            break;
        parts[0] = (struct bytes){block, prk_size};
        memcpy(out + done, block, size - done < prk_size ? size - done : prk_size);
    }
    SecureZeroMemory(block, sizeof(block));
    return status;
}

NTSTATUS ncrypt_derive_hkdf(const WCHAR *algorithm, struct bytes secret, struct bytes salt, struct bytes info,
                            BYTE *out, SIZE_T size)
{
    static const BYTE zeros[LARGEST_HASH];
    BYTE prk[LARGEST_HASH];
    ULONG length = ncrypt_hash_size(algorithm);
    NTSTATUS status;

    if (!length || size > 255 * (SIZE_T)length)
        return DERIVE_INVALID;
    if (!salt.size)
        salt = (struct bytes){zeros, length};
    if (!(status = ncrypt_hash_parts(algorithm, &salt, &secret, 1, prk, length)))
        status = hkdf_expand(algorithm, prk, length, info, out, size);
    SecureZeroMemory(prk, sizeof(prk));
    return status;
}

static void put_32(BYTE *at, DWORD number)
{
    at[0] = (BYTE)(number >> 24);
    at[1] = (BYTE)(number >> 16);
    at[2] = (BYTE)(number >> 8);
    at[3] = (BYTE)number;
}

NTSTATUS ncrypt_derive_counter(const WCHAR *algorithm, struct bytes secret, struct bytes label, struct bytes context,
                               BYTE *out, SIZE_T size)
{
    static const BYTE zero;
    BYTE counter[4], bits[4], block[LARGEST_HASH];
    struct bytes parts[] = {{counter, 4}, label, {&zero, 1}, context, {bits, 4}};
    ULONG length = ncrypt_hash_size(algorithm);
    NTSTATUS status = STATUS_OK;
    DWORD number = 1;

    if (!length || size > 0x1fffffff)
        return DERIVE_INVALID;
    put_32(bits, (DWORD)size * 8);
    for (SIZE_T done = 0; done < size && !status; done += length, number++)
    {
        put_32(counter, number);
        if (!(status = ncrypt_hash_parts(algorithm, &secret, parts, 5, block, length)))
            memcpy(out + done, block, size - done < length ? size - done : length);
    }
    SecureZeroMemory(block, sizeof(block));
    return status;
}

NTSTATUS ncrypt_derive_concat(const WCHAR *algorithm, struct bytes secret, const struct bytes *info, unsigned count,
                              BYTE *out, SIZE_T size)
{
    struct bytes parts[8] = {{NULL, 4}, secret};
    ULONG length = ncrypt_hash_size(algorithm);
    BYTE counter[4], block[LARGEST_HASH];
    NTSTATUS status = STATUS_OK;
    DWORD number = 1;

    if (!length || count > 6)
        return DERIVE_INVALID;
    parts[0].data = counter;
    memcpy(parts + 2, info, count * sizeof(*info));
    for (SIZE_T done = 0; done < size && !status; done += length, number++)
    {
        put_32(counter, number);
        if (!(status = ncrypt_hash_parts(algorithm, NULL, parts, 2 + count, block, length)))
            memcpy(out + done, block, size - done < length ? size - done : length);
    }
    SecureZeroMemory(block, sizeof(block));
    return status;
}

/* P_hash of RFC 5246, 5: exclusive-ored into out. */
static NTSTATUS add_p_hash(const WCHAR *algorithm, struct bytes secret, const struct bytes *seed, BYTE *out,
                           SIZE_T size)
{
    ULONG length = ncrypt_hash_size(algorithm);
    BYTE a[LARGEST_HASH], block[LARGEST_HASH];
    struct bytes parts[3] = {{a, length}, seed[0], seed[1]};
    NTSTATUS status = ncrypt_hash_parts(algorithm, &secret, seed, 2, a, length);

    for (SIZE_T done = 0; done < size && !status; done += length)
    {
        if ((status = ncrypt_hash_parts(algorithm, &secret, parts, 3, block, length)))
            break;
        for (SIZE_T i = 0; i < length && done + i < size; i++)
            out[done + i] ^= block[i];
        status = ncrypt_hash_parts(algorithm, &secret, parts, 1, block, length);
        memcpy(a, block, length);
    }
    SecureZeroMemory(a, sizeof(a));
    SecureZeroMemory(block, sizeof(block));
    return status;
}

NTSTATUS ncrypt_derive_tls_prf(const WCHAR *algorithm, struct bytes secret, struct bytes label, struct bytes seed,
                               BYTE *out, SIZE_T size)
{
    struct bytes parts[2] = {label, seed}, half = {secret.data, (secret.size + 1) / 2};
    NTSTATUS status;

    memset(out, 0, size);
    if (algorithm)
        return ncrypt_hash_size(algorithm) ? add_p_hash(algorithm, secret, parts, out, size) : DERIVE_INVALID;
    if ((status = add_p_hash(L"MD5", half, parts, out, size)))
        return status;
    half.data = secret.data + secret.size - half.size;
    return add_p_hash(L"SHA1", half, parts, out, size);
}
