/*
 * Tests of PFX files (ncrypt/pkcs12.c): what is found in them, and that nothing is looked for beyond their end. What
 * encrypts here is an exclusive or.
 */
#include "pkcs12.h"

#include <stdlib.h>

#include "check.h"

enum
{
    MOST = 4096,
    MASK = 0x5a
};

static int allocated;

BOOL ncrypt_pbe_decrypt(struct bytes algorithm, struct bytes sealed, const WCHAR *password, struct bytes *clear)
{
    BYTE *copy;

    if (!algorithm.size || !password || password[0] != 'p' || !sealed.size)
        return FALSE;
    copy = malloc(sealed.size);
    for (SIZE_T i = 0; i < sealed.size; i++)
        copy[i] = sealed.data[i] ^ MASK;
    *clear = (struct bytes){copy, sealed.size};
    allocated++;
    return TRUE;
}

void ncrypt_pbe_free(struct bytes clear)
{
    free((void *)clear.data);
    allocated--;
}

BOOL ncrypt_pbe_check_mac(struct bytes mac_data, struct bytes content, const WCHAR *password)
{
    return mac_data.size && content.size && password && password[0] == 'p';
}

static const BYTE data[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01};
static const BYTE encrypted[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06};
static const BYTE x509[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01};

static void put_oid(struct der_out *out, const BYTE *oid, SIZE_T size)
{
    SIZE_T since = out->size;

    der_put(out, oid, size);
    der_wrap(out, DER_OID, since);
}

static void put_number(struct der_out *out, BYTE number)
{
    der_put_number(out, &number, 1);
}

/* A bag of this kind around what has been written since. */
static void wrap_bag(struct der_out *out, BYTE kind, SIZE_T since)
{
    BYTE oid[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, kind};

    der_wrap(out, DER_CONTEXT_CONSTRUCTED, since);
    put_oid(out, oid, sizeof(oid));
    der_wrap(out, DER_SEQUENCE, since);
}

static void put_certificate(struct der_out *out, const char *text)
{
    SIZE_T since = out->size;

    der_put(out, text, strlen(text));
    der_wrap(out, DER_OCTET_STRING, since);
    der_wrap(out, DER_CONTEXT_CONSTRUCTED, since);
    put_oid(out, x509, sizeof(x509));
    der_wrap(out, DER_SEQUENCE, since);
    wrap_bag(out, 3, since);
}

/* Seals what has been written since, which ends at end. */
static void seal(struct der_out *out, SIZE_T since)
{
    for (SIZE_T i = since; out->end && i < out->size; i++)
        out->end[-(long)i - 1] ^= MASK;
}

static void put_shrouded(struct der_out *out, const char *text)
{
    SIZE_T since = out->size, inner;

    der_put(out, text, strlen(text));
    seal(out, since);
    der_wrap(out, DER_OCTET_STRING, since);
    inner = out->size;
    put_oid(out, data, sizeof(data));
    der_wrap(out, DER_SEQUENCE, inner);
    der_wrap(out, DER_SEQUENCE, since);
    wrap_bag(out, 2, since);
}

static void wrap_content(struct der_out *out, const BYTE *type, SIZE_T since)
{
    der_wrap(out, DER_CONTEXT_CONSTRUCTED, since);
    put_oid(out, type, sizeof(data));
    der_wrap(out, DER_SEQUENCE, since);
}

/* Two certificates, encrypted, and two keys, of which the first counts; a bag of another kind before them. */
static SIZE_T make(BYTE *at, BYTE version, BOOL with_mac)
{
    struct der_out out = {at + MOST, MOST, 0};
    SIZE_T since, inner;

    if (with_mac)
    {
        put_number(&out, 1);
        der_wrap(&out, DER_SEQUENCE, 0);
    }
    since = out.size;
    put_shrouded(&out, "second key");
    put_shrouded(&out, "first key");
    inner = out.size;
    put_number(&out, 7);
    wrap_bag(&out, 9, inner);
    der_wrap(&out, DER_SEQUENCE, since);
    der_wrap(&out, DER_OCTET_STRING, since);
    wrap_content(&out, data, since);
    inner = out.size;
    put_certificate(&out, "second certificate");
    put_certificate(&out, "first certificate");
    der_wrap(&out, DER_SEQUENCE, inner);
    seal(&out, inner);
    der_wrap(&out, DER_CONTEXT, inner);
    {
        SIZE_T algorithm = out.size;

        put_oid(&out, data, sizeof(data));
        der_wrap(&out, DER_SEQUENCE, algorithm);
    }
    put_oid(&out, data, sizeof(data));
    der_wrap(&out, DER_SEQUENCE, inner);
    put_number(&out, 0);
    der_wrap(&out, DER_SEQUENCE, inner);
    wrap_content(&out, encrypted, inner);
    der_wrap(&out, DER_SEQUENCE, since);
    der_wrap(&out, DER_OCTET_STRING, since);
    wrap_content(&out, data, since);
    put_number(&out, version);
    der_wrap(&out, DER_SEQUENCE, 0);
    memmove(at, at + MOST - out.size, out.size);
    return out.size;
}

/* Reads a copy that is no longer than it is. */
static BOOL read_copy(const BYTE *file, SIZE_T size, const WCHAR *password, struct pfx *pfx, BYTE **copy)
{
    *copy = malloc(size ? size : 1);
    memcpy(*copy, file, size);
    return ncrypt_pfx_read((struct bytes){*copy, size}, password, pfx);
}

static BOOL is_file(const BYTE *file, SIZE_T size, const WCHAR *password)
{
    struct pfx pfx;
    BYTE *copy;
    BOOL good = read_copy(file, size, password, &pfx, &copy);

    ncrypt_pfx_free(&pfx);
    free(copy);
    return good;
}

static void test_whole(void)
{
    BYTE file[MOST], *copy;
    SIZE_T size = make(file, 3, TRUE);
    struct pfx pfx;

    check_number("a file", "read", read_copy(file, size, L"p", &pfx, &copy), TRUE);
    check_number("a file", "certificates", pfx.count, 2);
    check_number("a file", "the first", der_bytes_equal(pfx.certificates[0], "first certificate", 17), TRUE);
    check_number("a file", "the second", der_bytes_equal(pfx.certificates[1], "second certificate", 18), TRUE);
    check_number("a file", "the key", der_bytes_equal(pfx.key, "first key", 9), TRUE);
    ncrypt_pfx_free(&pfx);
    free(copy);
    check_number("a file", "with something behind it", is_file(file, size + 3, L"p"), TRUE);
    check_number("a file", "without a password", is_file(file, size, NULL), FALSE);
    check_number("a file", "with another password", is_file(file, size, L"q"), FALSE);
    size = make(file, 4, TRUE);
    check_number("a file", "of another version", is_file(file, size, L"p"), FALSE);
    size = make(file, 3, FALSE);
    check_number("a file", "without a MAC", is_file(file, size, L"p"), TRUE);
}

static void test_parts(void)
{
    BYTE file[MOST];
    SIZE_T size = make(file, 3, TRUE);

    for (SIZE_T i = 0; i < size; i++)
    {
        BYTE kept = file[i];

        check_number("a part of a file", "read", is_file(file, i, L"p"), FALSE);
        for (unsigned value = 0; value < 256; value++)
        {
            file[i] = (BYTE)value;
            is_file(file, size, L"p");
        }
        file[i] = kept;
    }
    check_number("all files", "blocks that are left", allocated, 0);
}

int main(void)
{
    test_whole();
    test_parts();
    return checks_end();
}
