/*
 * Encryption and MACs by a password, of PKCS #12 (RFC 7292, appendix B) and PKCS #5 (RFC 8018).
 *
 * Ciphers are bcrypt.dll's, but for RC2 with 40 bits, in which Windows and OpenSSL before 3.0 encrypt certificates:
 * bcrypt.dll has none, Wine's rsaenh.dll does.
 */
#include "derive.h"
#include "pkcs12.h"

#include <wincrypt.h>

#include <stdlib.h>
#include <string.h>

enum
{
    MOST_ITERATIONS = 10000000,
    LARGEST_BLOCK = 128, /* of SHA-512 */
    LARGEST_HASH = 64,
    LONGEST_PASSWORD = 1024
};

/* What the key derivation of PKCS #12 derives. */
enum purpose
{
    PURPOSE_KEY = 1,
    PURPOSE_IV = 2,
    PURPOSE_MAC = 3
};

struct oid
{
    BYTE size, bytes[11];
};

static const struct digest
{
    const WCHAR *name;
    ULONG size, block;
    struct oid oid; /* of the hash */
    BYTE prf;       /* the last number of its HMAC: 1.2.840.113549.2.x */
} digests[] = {
    {L"SHA1", 20, 64, {5, {0x2b, 0x0e, 0x03, 0x02, 0x1a}}, 7},
    {L"SHA256", 32, 64, {9, {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01}}, 9},
    {L"SHA384", 48, 128, {9, {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02}}, 10},
    {L"SHA512", 64, 128, {9, {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03}}, 11},
};

static const struct cipher
{
    const WCHAR *name; /* NULL: RC2 */
    ULONG key, block;
    struct oid oid;
} ciphers[] = {
    {L"AES", 16, 16, {9, {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x02}}},
    {L"AES", 24, 16, {9, {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x16}}},
    {L"AES", 32, 16, {9, {0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2a}}},
    {L"3DES", 24, 8, {8, {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x03, 0x07}}},
    /* of PKCS #12 itself, with its own derivation: pbeWithSHAAnd3-KeyTripleDES-CBC, pbeWithSHAAnd40BitRC2-CBC */
    {L"3DES", 24, 8, {10, {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x03}}},
    {NULL, 5, 8, {10, {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x06}}},
};

static const BYTE oid_pbes2[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d};
static const BYTE oid_pbkdf2[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c};
static const BYTE oid_hmac[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02}; /* and one more number */

static const struct cipher *find_cipher(struct bytes oid)
{
    for (unsigned i = 0; i < sizeof(ciphers) / sizeof(ciphers[0]); i++)
        if (der_bytes_equal(oid, ciphers[i].oid.bytes, ciphers[i].oid.size))
            return &ciphers[i];
    return NULL;
}

/*
 * A password as PKCS #12 has it: big-endian, with the zero at its end; of none there is nothing. FALSE: it is too long.
 */
static BOOL big_endian(const WCHAR *password, BYTE *out, struct bytes *secret)
{
    SIZE_T length = password ? wcslen(password) + 1 : 0;

    if (length > LONGEST_PASSWORD)
        return FALSE;
    *secret = (struct bytes){out, 2 * length};
    for (SIZE_T i = 0; i < length; i++)
    {
        out[2 * i] = (BYTE)(password[i] >> 8);
        out[2 * i + 1] = (BYTE)password[i];
    }
    return TRUE;
}

/* Fills size bytes, a multiple of block, with repetitions of data; returns how many. */
static SIZE_T repeat(BYTE *out, struct bytes data, ULONG block)
{
    SIZE_T size = (data.size + block - 1) / block * block;

    for (SIZE_T i = 0; i < size; i++)
        out[i] = data.data[i % data.size];
    return size;
}

/* RFC 7292, B.2 */
static BOOL derive_pkcs12(const struct digest *digest, enum purpose purpose, struct bytes password, struct bytes salt,
                          DWORD iterations, BYTE *out, SIZE_T size)
{
    BYTE diversifier[LARGEST_BLOCK], a[LARGEST_HASH], next[LARGEST_HASH];
    SIZE_T room = password.size + salt.size + 2 * (SIZE_T)digest->block, length;
    struct bytes parts[2] = {{diversifier, digest->block}, {a, digest->size}};
    BOOL good = iterations && iterations <= MOST_ITERATIONS && salt.size <= 4096;
    BYTE *input;

    if (!good || !(input = malloc(room)))
        return FALSE;
    memset(diversifier, (BYTE)purpose, sizeof(diversifier));
    length = salt.size ? repeat(input, salt, digest->block) : 0;
    if (password.size)
        length += repeat(input + length, password, digest->block);
    for (SIZE_T done = 0; done < size && good; done += digest->size)
    {
        parts[1] = (struct bytes){input, length};
        good = !ncrypt_hash_parts(digest->name, NULL, parts, 2, a, digest->size);
        for (DWORD i = 1; i < iterations && good; i++)
        {
            parts[1] = (struct bytes){a, digest->size};
            good = !ncrypt_hash_parts(digest->name, NULL, parts + 1, 1, next, digest->size);
            memcpy(a, next, digest->size);
        }
        memcpy(out + done, a, size - done < digest->size ? size - done : digest->size);
        /* each block of the input grows by the hash and 1 */
        for (SIZE_T block = 0; block < length; block += digest->block)
        {
            unsigned carry = 1;

            for (ULONG i = digest->block; i > 0; i--)
            {
                carry += input[block + i - 1] + a[(i - 1) % digest->size];
                input[block + i - 1] = (BYTE)carry;
                carry >>= 8;
            }
        }
    }
    SecureZeroMemory(a, sizeof(a));
    ncrypt_secure_free(input, room);
    return good;
}

/* RC2 with 40 bits in CBC, by CAPI. */
static BOOL decrypt_rc2(const BYTE *key, const BYTE *iv, struct bytes sealed, BYTE *out, ULONG *size)
{
    struct
    {
        BLOBHEADER header;
        DWORD size;
        BYTE key[5];
    } blob = {{PLAINTEXTKEYBLOB, CUR_BLOB_VERSION, 0, CALG_RC2}, 5, {0}};
    CRYPT_INTEGER_BLOB no_salt = {0, NULL}; /* which CAPI adds to keys of 40 bits */
    DWORD bits = 40, length = (DWORD)sealed.size;
    HCRYPTPROV provider;
    HCRYPTKEY imported;
    BOOL good = FALSE;

    if (!CryptAcquireContextW(&provider, NULL, NULL, PROV_RSA_AES, CRYPT_VERIFYCONTEXT))
        return FALSE;
    memcpy(blob.key, key, sizeof(blob.key));
    memcpy(out, sealed.data, sealed.size);
    if (CryptImportKey(provider, (BYTE *)&blob, sizeof(blob), 0, 0, &imported))
    {
        no_salt.pbData = blob.key;
        good = CryptSetKeyParam(imported, KP_SALT_EX, (BYTE *)&no_salt, 0) &&
               CryptSetKeyParam(imported, KP_EFFECTIVE_KEYLEN, (BYTE *)&bits, 0) &&
               CryptSetKeyParam(imported, KP_IV, iv, 0) && CryptDecrypt(imported, 0, TRUE, 0, out, &length);
        CryptDestroyKey(imported);
    }
    CryptReleaseContext(provider, 0);
    SecureZeroMemory(&blob, sizeof(blob));
    *size = length;
    return good;
}

static BOOL decrypt_native(const struct cipher *cipher, const BYTE *key, BYTE *iv, struct bytes sealed, BYTE *out,
                           ULONG *size)
{
    BCRYPT_ALG_HANDLE provider;
    BCRYPT_KEY_HANDLE handle;
    BOOL good = FALSE;

    if (BCryptOpenAlgorithmProvider(&provider, cipher->name, NULL, 0))
        return FALSE;
    if (!BCryptSetProperty(provider, BCRYPT_CHAINING_MODE, (BYTE *)BCRYPT_CHAIN_MODE_CBC, sizeof(BCRYPT_CHAIN_MODE_CBC),
                           0) &&
        !BCryptGenerateSymmetricKey(provider, &handle, NULL, 0, (BYTE *)key, cipher->key, 0))
    {
        good = !BCryptDecrypt(handle, (BYTE *)sealed.data, (ULONG)sealed.size, NULL, iv, cipher->block, out,
                              (ULONG)sealed.size, size, 0);
        BCryptDestroyKey(handle);
    }
    BCryptCloseAlgorithmProvider(provider, 0);
    return good;
}

/* Takes off the padding of PKCS #5: Wine's does not look at all of it. */
static BOOL unpad(const BYTE *data, ULONG block, ULONG *size)
{
    BYTE count = *size ? data[*size - 1] : 0;

    if (!count || count > block || count > *size)
        return FALSE;
    for (ULONG i = 1; i <= count; i++)
        if (data[*size - i] != count)
            return FALSE;
    *size -= count;
    return TRUE;
}

static BOOL decrypt(const struct cipher *cipher, const BYTE *key, BYTE *iv, struct bytes sealed, struct bytes *clear)
{
    BYTE *out;
    ULONG size;
    BOOL good;

    if (!sealed.size || sealed.size % cipher->block || sealed.size > 0x1000000 || !(out = malloc(sealed.size)))
        return FALSE;
    if (cipher->name)
        good = decrypt_native(cipher, key, iv, sealed, out, &size) && unpad(out, cipher->block, &size);
    else
        good = decrypt_rc2(key, iv, sealed, out, &size);
    if (!good || !size || size > sealed.size)
    {
        ncrypt_secure_free(out, sealed.size);
        return FALSE;
    }
    *clear = (struct bytes){out, size};
    return TRUE;
}

/* PBES2 with PBKDF2: RFC 8018, 6.2 */
static BOOL decrypt_pbes2(struct bytes parameters, struct bytes sealed, const WCHAR *password, struct bytes *clear)
{
    struct bytes sequence, derivation, scheme, oid, inner, salt, iv, prf;
    const struct digest *digest = &digests[0];
    BYTE utf8[3 * LONGEST_PASSWORD], key[32], vector[16];
    const struct cipher *cipher;
    BCRYPT_ALG_HANDLE provider;
    DWORD iterations, number;
    int length;
    BOOL good;

    if (!der_take(&parameters, DER_SEQUENCE, &sequence) || !der_take(&sequence, DER_SEQUENCE, &derivation) ||
        !der_take(&sequence, DER_SEQUENCE, &scheme) || !der_take(&derivation, DER_OID, &oid) ||
        !der_bytes_equal(oid, oid_pbkdf2, sizeof(oid_pbkdf2)) || !der_take(&derivation, DER_SEQUENCE, &inner) ||
        !der_take(&inner, DER_OCTET_STRING, &salt) || !der_take_small(&inner, &iterations) || !iterations ||
        iterations > MOST_ITERATIONS)
        return FALSE;
    der_take_small(&inner, &number); /* the length of the key, which the cipher says too */
    if (der_take(&inner, DER_SEQUENCE, &prf))
    {
        digest = NULL;
        if (!der_take(&prf, DER_OID, &oid) || oid.size != sizeof(oid_hmac) + 1 ||
            memcmp(oid.data, oid_hmac, sizeof(oid_hmac)))
            return FALSE;
        for (unsigned i = 0; i < sizeof(digests) / sizeof(digests[0]); i++)
            if (digests[i].prf == oid.data[sizeof(oid_hmac)])
                digest = &digests[i];
    }
    if (!digest || !der_take(&scheme, DER_OID, &oid) || !(cipher = find_cipher(oid)) || cipher->oid.size == 10 ||
        !der_take(&scheme, DER_OCTET_STRING, &iv) || iv.size != cipher->block)
        return FALSE;
    memcpy(vector, iv.data, iv.size);
    length = *password ? WideCharToMultiByte(CP_UTF8, 0, password, -1, (char *)utf8, sizeof(utf8), NULL, NULL) : 1;
    if (length < 1 || BCryptOpenAlgorithmProvider(&provider, digest->name, NULL, BCRYPT_ALG_HANDLE_HMAC_FLAG))
        return FALSE;
    good = !BCryptDeriveKeyPBKDF2(provider, utf8, (ULONG)length - 1, (BYTE *)salt.data, (ULONG)salt.size, iterations,
                                  key, cipher->key, 0) &&
           decrypt(cipher, key, vector, sealed, clear);
    BCryptCloseAlgorithmProvider(provider, 0);
    SecureZeroMemory(utf8, sizeof(utf8));
    SecureZeroMemory(key, sizeof(key));
    return good;
}

BOOL ncrypt_pbe_decrypt(struct bytes algorithm, struct bytes sealed, const WCHAR *password, struct bytes *clear)
{
    BYTE text[2 * LONGEST_PASSWORD], key[24], iv[8];
    struct bytes oid, parameters, salt, secret;
    const struct cipher *cipher;
    DWORD iterations;
    BOOL good;

    if (!der_take(&algorithm, DER_OID, &oid))
        return FALSE;
    if (der_bytes_equal(oid, oid_pbes2, sizeof(oid_pbes2)))
        return decrypt_pbes2(algorithm, sealed, password ? password : L"", clear);
    if (!(cipher = find_cipher(oid)) || cipher->oid.size != 10 || !der_take(&algorithm, DER_SEQUENCE, &parameters) ||
        !der_take(&parameters, DER_OCTET_STRING, &salt) || !der_take_small(&parameters, &iterations) ||
        !big_endian(password, text, &secret))
        return FALSE;
    good = derive_pkcs12(&digests[0], PURPOSE_KEY, secret, salt, iterations, key, cipher->key) &&
           derive_pkcs12(&digests[0], PURPOSE_IV, secret, salt, iterations, iv, cipher->block) &&
           decrypt(cipher, key, iv, sealed, clear);
    SecureZeroMemory(text, sizeof(text));
    SecureZeroMemory(key, sizeof(key));
    return good;
}

void ncrypt_pbe_free(struct bytes clear)
{
    ncrypt_secure_free((void *)clear.data, clear.size);
}

BOOL ncrypt_pbe_check_mac(struct bytes mac_data, struct bytes content, const WCHAR *password)
{
    BYTE text[2 * LONGEST_PASSWORD], key[LARGEST_HASH], computed[LARGEST_HASH], difference = 0;
    struct bytes info, algorithm, oid, expected, salt, secret, mac_key = {key, 0};
    const struct digest *digest = NULL;
    DWORD iterations = 1;
    BOOL good;

    if (!der_take(&mac_data, DER_SEQUENCE, &info) || !der_take(&info, DER_SEQUENCE, &algorithm) ||
        !der_take(&algorithm, DER_OID, &oid) || !der_take(&info, DER_OCTET_STRING, &expected) ||
        !der_take(&mac_data, DER_OCTET_STRING, &salt))
        return FALSE;
    der_take_small(&mac_data, &iterations);
    for (unsigned i = 0; i < sizeof(digests) / sizeof(digests[0]); i++)
        if (der_bytes_equal(oid, digests[i].oid.bytes, digests[i].oid.size))
            digest = &digests[i];
    if (!digest || expected.size != digest->size || !big_endian(password, text, &secret))
        return FALSE;
    mac_key.size = digest->size;
    good = derive_pkcs12(digest, PURPOSE_MAC, secret, salt, iterations, key, digest->size) &&
           !ncrypt_hash_parts(digest->name, &mac_key, &content, 1, computed, digest->size);
    for (ULONG i = 0; good && i < digest->size; i++)
        difference |= computed[i] ^ expected.data[i];
    SecureZeroMemory(text, sizeof(text));
    SecureZeroMemory(key, sizeof(key));
    return good && !difference;
}
