/* Tests of the keys' blobs (ncrypt/blob.c, ncrypt/der.c): what is a key, PKCS#8 and back, and what is none. */
#include "blob.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum
{
    MOST = 8192
};

/*
 * Fills size bytes with what looks like numbers, the same in each run; odd at the end, and neither 0 nor negative at
 * the beginning.
 */
static void fill(BYTE *at, SIZE_T size, unsigned seed)
{
    for (SIZE_T i = 0; i < size; i++)
    {
        seed = seed * 1103515245 + 12345;
        at[i] = (BYTE)(seed >> 16);
    }
    at[0] |= 0x80;
    at[size - 1] |= 1;
}

static SIZE_T make_rsa(DWORD magic, DWORD bits, BYTE *at)
{
    struct rsa_header header = {magic, bits, 3, (bits + 7) / 8, 0, 0};
    SIZE_T half = header.modulus / 2, size = RSA_HEADER + 3 + header.modulus;

    memcpy(at + RSA_HEADER, "\1\0\1", 3);
    fill(at + RSA_HEADER + 3, header.modulus, 1);
    at[RSA_HEADER + 3] = (BYTE)(0x80 >> (header.modulus * 8 - bits));
    if (magic != RSA_PUBLIC_MAGIC)
    {
        header.prime1 = header.prime2 = (DWORD)half;
        for (unsigned i = 0; i < (magic == RSA_FULL_MAGIC ? 5u : 2u); i++, size += half)
            fill(at + size, half, i + 2);
        if (magic == RSA_FULL_MAGIC)
        {
            fill(at + size, header.modulus, 7);
            size += header.modulus;
        }
    }
    memcpy(at, &header, sizeof(header));
    return size;
}

static SIZE_T make_ecc(const struct algorithm *algorithm, BOOL private_part, BYTE *at)
{
    struct ecc_header header = {private_part ? algorithm->private_magic : algorithm->public_magic, algorithm->bytes};
    SIZE_T size = (private_part ? 3 : 2) * (SIZE_T)algorithm->bytes;

    memcpy(at, &header, sizeof(header));
    fill(at + ECC_HEADER, size, 3);
    return ECC_HEADER + size;
}

/* Reads a copy that is no longer than it is: the sanitizer sees what is read behind it. */
static BOOL read_copy(const BYTE *data, SIZE_T size, struct blob *blob)
{
    BYTE *copy = malloc(size ? size : 1);
    BOOL good;

    memcpy(copy, data, size);
    good = ncrypt_blob_read(copy, size, blob);
    if (good)
    {
        volatile BYTE last = copy[blob->data.size - 1]; /* within the copy */

        (void)last;
    }
    free(copy);
    return good;
}

static SIZE_T to_blob(const BYTE *data, SIZE_T size, enum family family, BYTE *out, SIZE_T room)
{
    BYTE *copy = malloc(size ? size : 1);
    SIZE_T result;

    memcpy(copy, data, size);
    result = ncrypt_pkcs8_to_blob((struct bytes){copy, size}, family, out, room);
    free(copy);
    return result;
}

/* A key as PKCS#8 and back is the same key; nothing shorter is one, and no change of a byte leads out of bounds. */
static void check_round(const char *item, const BYTE *key, SIZE_T size, enum family family)
{
    BYTE der[MOST], back[MOST];
    struct der_out out = {NULL, 0, 0};
    struct blob blob;
    SIZE_T length;

    if (!ncrypt_blob_read(key, size, &blob))
    {
        check_number(item, "is a key", FALSE, TRUE);
        return;
    }
    ncrypt_pkcs8_write(&out, &blob);
    length = out.size;
    out = (struct der_out){der + length, length, 0};
    ncrypt_pkcs8_write(&out, &blob);
    check_number(item, "size as it was measured", (long long)out.size, (long long)length);
    memset(back, 0xaa, sizeof(back));
    check_number(item, "size", (long long)to_blob(der, length, family, back, sizeof(back)), (long long)size);
    check_number(item, "the same", memcmp(back, key, size), 0);
    check_number(item, "written beyond it", back[size], 0xaa);
    memset(back, 0xaa, sizeof(back));
    check_number(item, "size without room", (long long)to_blob(der, length, family, back, size - 1), (long long)size);
    check_number(item, "written without room", back[0], 0xaa);
    for (SIZE_T i = 0; i < length; i++)
    {
        BYTE kept = der[i];

        check_number(item, "a part of it", (long long)to_blob(der, i, family, back, sizeof(back)), 0);
        for (unsigned value = 0; value < 256; value += i < 64 ? 5 : 51)
        {
            der[i] = (BYTE)value;
            to_blob(der, length, family, back, sizeof(back));
        }
        der[i] = kept;
    }
}

static void check_parts(const char *item, BYTE *key, SIZE_T size)
{
    struct blob blob;

    check_number(item, "is a key", read_copy(key, size, &blob), TRUE);
    check_number(item, "its size", (long long)blob.data.size, (long long)size);
    for (SIZE_T i = 0; i < size; i++)
    {
        BYTE kept = key[i];

        check_number(item, "a part of it", read_copy(key, i, &blob), FALSE);
        for (unsigned value = 0; value < 256 && i < 40; value += 3)
        {
            key[i] = (BYTE)value;
            read_copy(key, size, &blob);
        }
        key[i] = kept;
    }
}

static void test_keys(void)
{
    static const DWORD magics[] = {RSA_PUBLIC_MAGIC, RSA_PRIVATE_MAGIC, RSA_FULL_MAGIC};
    static const DWORD lengths[] = {512, 1032, 2047};
    BYTE key[MOST];
    char item[64];
    SIZE_T size;

    for (unsigned i = 0; i < 3; i++)
    {
        for (unsigned j = 0; j < 3; j++)
        {
            size = make_rsa(magics[j], lengths[i], key);
            snprintf(item, sizeof(item), "RSA%u of %u bits", j + 1, lengths[i]);
            check_parts(item, key, size);
        }
        snprintf(item, sizeof(item), "PKCS#8 of RSA of %u bits", lengths[i]);
        check_round(item, key, size, FAMILY_ECDSA);
    }
    for (unsigned i = 1; ncrypt_algorithm_at(i); i++)
    {
        size = make_ecc(ncrypt_algorithm_at(i), FALSE, key);
        snprintf(item, sizeof(item), "public key of %u bits", ncrypt_algorithm_at(i)->bits);
        check_parts(item, key, size);
        size = make_ecc(ncrypt_algorithm_at(i), TRUE, key);
        snprintf(item, sizeof(item), "key %u of %u bits", i, ncrypt_algorithm_at(i)->bits);
        check_parts(item, key, size);
        check_round(item, key, size, ncrypt_algorithm_at(i)->family);
    }
}

/* Numbers that the arithmetic behind bcrypt.dll does not survive. */
static void test_unsound(void)
{
    BYTE key[MOST];
    SIZE_T size = make_rsa(RSA_FULL_MAGIC, 1024, key);
    struct rsa_header header;
    struct blob blob;
    BYTE kept;

    for (SIZE_T end = RSA_HEADER + 3; end <= RSA_HEADER + 3 + 128 + 64 + 64; end += end == RSA_HEADER + 3 ? 128 : 64)
    {
        kept = key[end - 1];
        key[end - 1] &= 0xfe;
        check_number("an even number", "is a key", read_copy(key, size, &blob), FALSE);
        key[end - 1] = kept;
    }
    memset(key + RSA_HEADER + 3 + 128, 0, 64);
    check_number("a prime of 0", "is a key", read_copy(key, size, &blob), FALSE);
    key[RSA_HEADER + 3 + 128 + 63] = 1;
    check_number("a prime of 1", "is a key", read_copy(key, size, &blob), FALSE);
    size = make_rsa(RSA_PRIVATE_MAGIC, 1024, key);
    memcpy(&header, key, sizeof(header));
    for (unsigned i = 0; i < 5; i++)
    {
        static const DWORD lies[] = {0, 1, 511, 16385, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8};

        for (unsigned j = 0; j < sizeof(lies) / sizeof(lies[0]); j++)
        {
            struct rsa_header lie = header;

            memcpy((DWORD *)&lie + 1 + i, &lies[j], sizeof(lies[j]));
            memcpy(key, &lie, sizeof(lie));
            /* one byte may be a number */
            check_number("sizes that lie", "is a key", read_copy(key, size, &blob) && lies[j] != 1, FALSE);
        }
    }
}

static void test_names(void)
{
    check_number("names", "in another case", ncrypt_algorithm_by_name(L"ecdsa_p256") == ncrypt_algorithm_at(1), TRUE);
    check_number("names", "longer", ncrypt_algorithm_by_name(L"ECDSA_P2567") != NULL, FALSE);
    check_number("names", "shorter", ncrypt_algorithm_by_name(L"ECDSA_P25") != NULL, FALSE);
    check_number("names", "none", ncrypt_algorithm_by_name(L"") != NULL, FALSE);
    check_number("curves", "by name",
                 ncrypt_algorithm_on_curve(FAMILY_ECDH, L"nistP384") == ncrypt_algorithm_by_name(L"ECDH_P384"), TRUE);
    check_number("curves", "of the other family",
                 ncrypt_algorithm_of_family(ncrypt_algorithm_by_name(L"ECDSA_P521"), FAMILY_ECDH) ==
                     ncrypt_algorithm_by_name(L"ECDH_P521"),
                 TRUE);
    check_number("curves", "of RSA", ncrypt_algorithm_of_family(ncrypt_algorithm_at(0), FAMILY_ECDH) != NULL, FALSE);
}

/* INTEGERs. */
static void test_small_numbers(void)
{
    static const BYTE numbers[] = {0x02, 0x01, 0x00, 0x02, 0x02, 0x00, 0x80, 0x02, 0x04,
                                   0x7f, 0xff, 0xff, 0xff, 0x02, 0x01, 0xff, 0x02, 0x00};
    struct bytes rest = {numbers, sizeof(numbers)};
    DWORD number = 9;

    check_number("0", "read", der_take_small(&rest, &number), TRUE);
    check_number("0", "number", number, 0);
    check_number("128", "read", der_take_small(&rest, &number), TRUE);
    check_number("128", "number", number, 128);
    check_number("2147483647", "read", der_take_small(&rest, &number), TRUE);
    check_number("2147483647", "number", number, 0x7fffffff);
    check_number("-1", "read", der_take_small(&rest, &number), FALSE);
    rest = (struct bytes){numbers + sizeof(numbers) - 2, 2};
    check_number("no number", "read", der_take_small(&rest, &number), FALSE);
    check_number("no number", "left", (long long)rest.size, 2);
}

int main(void)
{
    test_keys();
    test_unsound();
    test_names();
    test_small_numbers();
    return checks_end();
}
