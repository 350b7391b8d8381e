/*
 * RSA with OAEP.
 *
 * Facts: Wine 8.0's bcrypt.dll refuses OAEP. Wine 10.0's has it with GnuTLS 3.8.4 and newer; with an older one it
 * encrypts as PKCS #1 says and tells nobody (dlls/bcrypt/gnutls.c, pubkey_set_rsa_oaep_params), so it is tried out
 * first. Wine's rsaenh.dll, behind CryptEncrypt and CryptDecrypt, has OAEP in both, with SHA-1 and without a label
 * (CRYPT_OAEP, wincrypt.h; dlls/rsaenh/rsaenh.c).
 *
 * CAPI's keys are blobs of little-endian numbers (PUBLICKEYBLOB, PRIVATEKEYBLOB), and its ciphertexts are little-endian
 * too.
 */
#include "keys.h"

#include <wincrypt.h>

#include <stdlib.h>
#include <string.h>

#define CAPI_PUBLIC_MAGIC 0x31415352 /* RSA1 */
#define CAPI_PRIVATE_MAGIC 0x32415352

struct capi_key
{
    BLOBHEADER header;
    RSAPUBKEY rsa;
};

/* Appends number to a blob as size little-endian bytes. */
static BYTE *put_reversed(BYTE *at, struct bytes number, SIZE_T size)
{
    memset(at, 0, size);
    for (SIZE_T i = 0; i < number.size && i < size; i++)
        at[i] = number.data[number.size - 1 - i];
    return at + size;
}

/* CAPI's blob; NULL: the key has not the form that CAPI has, or no memory. */
static BYTE *capi_blob(const struct blob *key, SIZE_T *size)
{
    SIZE_T bytes = key->modulus.size, half = bytes / 2;
    struct capi_key head = {{PUBLICKEYBLOB, CUR_BLOB_VERSION, 0, CALG_RSA_KEYX},
                            {CAPI_PUBLIC_MAGIC, (DWORD)bytes * 8, 0}};
    BYTE *blob, *at;

    if (key->exponent.size > sizeof(head.rsa.pubexp) || key->bits % 16)
        return NULL;
    for (SIZE_T i = 0; i < key->exponent.size; i++)
        head.rsa.pubexp = head.rsa.pubexp << 8 | key->exponent.data[i];
    *size = sizeof(head) + bytes;
    if (key->private_part)
    {
        if (!key->exponent0.size || key->prime1.size != half || key->prime2.size != half)
            return NULL;
        head.header.bType = PRIVATEKEYBLOB;
        head.rsa.magic = CAPI_PRIVATE_MAGIC;
        *size += 5 * half + bytes;
    }
    if (!(blob = malloc(*size)))
        return NULL;
    memcpy(blob, &head, sizeof(head));
    at = put_reversed(blob + sizeof(head), key->modulus, bytes);
    if (key->private_part)
    {
        at = put_reversed(at, key->prime1, half);
        at = put_reversed(at, key->prime2, half);
        at = put_reversed(at, key->exponent1, half);
        at = put_reversed(at, key->exponent2, half);
        at = put_reversed(at, key->coefficient, half);
        put_reversed(at, key->exponent0, bytes);
    }
    return blob;
}

/* A key of CAPI in a provider of its own, which keeps nothing. */
static SECURITY_STATUS capi_import(const struct blob *key, HCRYPTPROV *provider, HCRYPTKEY *imported)
{
    SIZE_T size;
    BYTE *blob;
    BOOL done;

    if (!CryptAcquireContextW(provider, NULL, NULL, PROV_RSA_AES, CRYPT_VERIFYCONTEXT))
        return NTE_NOT_SUPPORTED;
    if (!(blob = capi_blob(key, &size)))
    {
        CryptReleaseContext(*provider, 0);
        return NTE_NOT_SUPPORTED;
    }
    done = CryptImportKey(*provider, blob, (DWORD)size, 0, 0, imported);
    ncrypt_secure_free(blob, size);
    if (done)
        return ERROR_SUCCESS;
    CryptReleaseContext(*provider, 0);
    return NTE_NOT_SUPPORTED;
}

static SECURITY_STATUS capi_encrypt(const struct blob *key, const BYTE *in, DWORD in_size, BYTE *out, DWORD out_size)
{
    SECURITY_STATUS status;
    HCRYPTPROV provider;
    HCRYPTKEY imported;
    DWORD size = in_size;
    BYTE *buffer;

    if (!(buffer = malloc(out_size)))
        return NTE_NO_MEMORY;
    memcpy(buffer, in, in_size);
    if (!(status = capi_import(key, &provider, &imported)))
    {
        if (!CryptEncrypt(imported, 0, TRUE, CRYPT_OAEP, buffer, &size, out_size) || size != out_size)
            status = NTE_INTERNAL_ERROR;
        else
            put_reversed(out, (struct bytes){buffer, size}, size);
        CryptDestroyKey(imported);
        CryptReleaseContext(provider, 0);
    }
    ncrypt_secure_free(buffer, out_size);
    return status;
}

static SECURITY_STATUS capi_decrypt(const struct blob *key, const BYTE *in, DWORD in_size, BYTE *out, DWORD *out_size)
{
    SECURITY_STATUS status;
    HCRYPTPROV provider;
    HCRYPTKEY imported;
    DWORD size = in_size;
    BYTE *buffer;

    if (!(buffer = malloc(in_size)))
        return NTE_NO_MEMORY;
    put_reversed(buffer, (struct bytes){in, in_size}, in_size);
    if (!(status = capi_import(key, &provider, &imported)))
    {
        if (!CryptDecrypt(imported, 0, TRUE, CRYPT_OAEP, buffer, &size) || size > in_size)
        {
            status = NTE_INVALID_PARAMETER; /* one answer for all that does not decrypt, as Windows has */
        }
        else
        {
            memcpy(out, buffer, size);
            *out_size = size;
        }
        CryptDestroyKey(imported);
        CryptReleaseContext(provider, 0);
    }
    ncrypt_secure_free(buffer, in_size);
    return status;
}

typedef NTSTATUS(WINAPI *crypt_function)(BCRYPT_KEY_HANDLE, BYTE *, ULONG, void *, BYTE *, ULONG, BYTE *, ULONG,
                                         ULONG *, ULONG);

/* Behind the hooks, where there are some: those of OAEP lead here. */
static crypt_function native_encrypt = (crypt_function)BCryptEncrypt, native_decrypt = (crypt_function)BCryptDecrypt;

void WINAPI MullionNative(crypt_function encrypt, crypt_function decrypt)
{
    if (encrypt)
        native_encrypt = encrypt;
    if (decrypt)
        native_decrypt = decrypt;
}

/* One call of bcrypt.dll with a key of its own, because the padding stays with the key. */
static NTSTATUS native_oaep(const struct blob *key, BOOL encrypt, BCRYPT_OAEP_PADDING_INFO *padding, ULONG flags,
                            const BYTE *in, DWORD in_size, BYTE *out, DWORD *out_size)
{
    BCRYPT_KEY_HANDLE handle;
    NTSTATUS status = ncrypt_native_import(key, &handle);

    if (status)
        return status;
    if (encrypt)
        status = native_encrypt(handle, (BYTE *)in, in_size, padding, NULL, 0, out, *out_size, out_size, flags);
    else
        status = native_decrypt(handle, (BYTE *)in, in_size, padding, NULL, 0, out, *out_size, out_size, flags);
    BCryptDestroyKey(handle);
    return status;
}

/* Whether what bcrypt.dll encrypts with OAEP is that: it decrypts so, and not as PKCS #1. */
static BOOL try_native(void)
{
    static BYTE label;
    BCRYPT_OAEP_PADDING_INFO padding = {BCRYPT_SHA256_ALGORITHM, &label, 0};
    BYTE sealed[128], clear[128];
    DWORD size = sizeof(sealed), clear_size = sizeof(clear), other = sizeof(clear);
    BCRYPT_KEY_HANDLE handle;
    struct blob key;
    BOOL works = FALSE;
    BYTE *data;
    ULONG length;

    if (ncrypt_native_generate(ncrypt_algorithm_at(0), 1024, &handle))
        return FALSE;
    if (!ncrypt_native_export(handle, ncrypt_algorithm_at(0), TRUE, &data, &length))
    {
        works = ncrypt_blob_read(data, length, &key) &&
                !native_oaep(&key, TRUE, &padding, BCRYPT_PAD_OAEP, (const BYTE *)"oaep", 4, sealed, &size) &&
                !native_oaep(&key, FALSE, &padding, BCRYPT_PAD_OAEP, sealed, size, clear, &clear_size) &&
                clear_size == 4 && !memcmp(clear, "oaep", 4) &&
                native_oaep(&key, FALSE, NULL, BCRYPT_PAD_PKCS1, sealed, size, clear, &other);
        ncrypt_secure_free(data, length);
    }
    BCryptDestroyKey(handle);
    return works;
}

static BOOL native_works(void)
{
    static LONG known; /* 0: not tried, 1: it works, 2: it does not */

    if (!known)
        InterlockedExchange(&known, try_native() ? 1 : 2);
    return known == 1;
}

SECURITY_STATUS ncrypt_oaep(const struct blob *key, BOOL encrypt, const BCRYPT_OAEP_PADDING_INFO *padding,
                            const BYTE *in, DWORD in_size, BYTE *out, DWORD *out_size)
{
    static BYTE label;
    BCRYPT_OAEP_PADDING_INFO copy;
    DWORD hash;

    if (!padding || !padding->pszAlgId || (padding->cbLabel && !padding->pbLabel))
        return NTE_INVALID_PARAMETER;
    if (!(hash = ncrypt_hash_size(padding->pszAlgId)))
        return NTE_NOT_SUPPORTED;
    if (*out_size < key->modulus.size)
        return NTE_BUFFER_TOO_SMALL;
    *out_size = (DWORD)key->modulus.size;
    if (encrypt ? in_size + 2 * hash + 2 > key->modulus.size : in_size != key->modulus.size) /* RFC 8017, 7.1.1 */
        return NTE_INVALID_PARAMETER;
    if (!_wcsicmp(padding->pszAlgId, BCRYPT_SHA1_ALGORITHM) && !padding->cbLabel)
        return encrypt ? capi_encrypt(key, in, in_size, out, *out_size) : capi_decrypt(key, in, in_size, out, out_size);
    if (!native_works())
        return NTE_NOT_SUPPORTED;
    copy = *padding;
    if (!copy.pbLabel)
        copy.pbLabel = &label; /* without one it refuses */
    return native_oaep(key, encrypt, &copy, BCRYPT_PAD_OAEP, in, in_size, out, out_size) ? NTE_INVALID_PARAMETER
                                                                                         : ERROR_SUCCESS;
}
