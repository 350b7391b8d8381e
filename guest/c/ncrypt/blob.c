#include "blob.h"

#include <string.h>

#define CURVE(family, number, size, public_magic, private_magic) \
    { \
        L## #family L"_P" L## #number, L## #family, L"nistP" L## #number, FAMILY_##family, number, size, public_magic, \
            private_magic \
    }

/* Magics: bcrypt.h. */
static const struct algorithm algorithms[] = {
    {L"RSA", L"RSA", NULL, FAMILY_RSA, 0, 0, RSA_PUBLIC_MAGIC, RSA_FULL_MAGIC},
    CURVE(ECDSA, 256, 32, 0x31534345, 0x32534345),
    CURVE(ECDSA, 384, 48, 0x33534345, 0x34534345),
    CURVE(ECDSA, 521, 66, 0x35534345, 0x36534345),
    CURVE(ECDH, 256, 32, 0x314b4345, 0x324b4345),
    CURVE(ECDH, 384, 48, 0x334b4345, 0x344b4345),
    CURVE(ECDH, 521, 66, 0x354b4345, 0x364b4345),
};

enum
{
    ALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0])
};

static const BYTE oid_rsa[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01}; /* 1.2.840.113549.1.1.1 */
static const BYTE oid_ec[] = {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01};              /* 1.2.840.10045.2.1 */

static const struct curve_oid
{
    DWORD bits, size;
    BYTE oid[8];
} curve_oids[] = {
    {256, 8, {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}}, /* 1.2.840.10045.3.1.7 */
    {384, 5, {0x2b, 0x81, 0x04, 0x00, 0x22}},                   /* 1.3.132.0.34 */
    {521, 5, {0x2b, 0x81, 0x04, 0x00, 0x23}},                   /* 1.3.132.0.35 */
};

/* ASCII in any case, as Windows compares the names of algorithms and curves. */
static BOOL same_text(const WCHAR *a, const WCHAR *b)
{
    for (;; a++, b++)
    {
        WCHAR x = *a >= 'a' && *a <= 'z' ? *a - 32 : *a, y = *b >= 'a' && *b <= 'z' ? *b - 32 : *b;

        if (x != y)
            return FALSE;
        if (!x)
            return TRUE;
    }
}

const struct algorithm *ncrypt_algorithm_at(unsigned index)
{
    return index < ALGORITHMS ? &algorithms[index] : NULL;
}

const struct algorithm *ncrypt_algorithm_by_name(const WCHAR *name)
{
    for (unsigned i = 0; i < ALGORITHMS; i++)
        if (same_text(algorithms[i].name, name))
            return &algorithms[i];
    return NULL;
}

const struct algorithm *ncrypt_algorithm_on_curve(enum family family, const WCHAR *curve)
{
    for (unsigned i = 1; i < ALGORITHMS; i++)
    {
        const struct algorithm *algorithm = &algorithms[i];

        /* Windows takes the curve's name and the algorithm's */
        if (algorithm->family == family && (same_text(algorithm->curve, curve) || same_text(algorithm->name, curve)))
            return algorithm;
    }
    return NULL;
}

const struct algorithm *ncrypt_algorithm_of_family(const struct algorithm *algorithm, enum family family)
{
    return algorithm->curve ? ncrypt_algorithm_on_curve(family, algorithm->curve) : NULL;
}

/* Takes size bytes from the front. */
static BOOL take(struct bytes *from, SIZE_T size, struct bytes *part)
{
    if (size > from->size)
        return FALSE;
    part->data = from->data;
    part->size = size;
    from->data += size;
    from->size -= size;
    return TRUE;
}

/* Odd, and more than 1: of other numbers the arithmetic behind bcrypt.dll divides by zero, or ends the process. */
static BOOL sound(struct bytes number)
{
    if (!number.size || !(number.data[number.size - 1] & 1))
        return FALSE;
    while (number.size > 1 && !number.data[0])
    {
        number.data++;
        number.size--;
    }
    return number.size > 1 || number.data[0] > 1;
}

static BOOL read_rsa(struct bytes rest, struct blob *blob)
{
    struct rsa_header header;
    SIZE_T bytes;

    if (rest.size < RSA_HEADER)
        return FALSE;
    memcpy(&header, rest.data, sizeof(header));
    rest.data += RSA_HEADER;
    rest.size -= RSA_HEADER;
    if (header.bits < RSA_MIN_BITS || header.bits > RSA_MAX_BITS)
        return FALSE;
    bytes = (header.bits + 7) / 8;
    blob->algorithm = &algorithms[0];
    blob->bits = header.bits;
    blob->private_part = header.magic != RSA_PUBLIC_MAGIC;
    if (header.modulus != bytes || !header.exponent || header.exponent > bytes)
        return FALSE;
    if (blob->private_part && (!header.prime1 || header.prime1 > bytes || !header.prime2 || header.prime2 > bytes))
        return FALSE;
    if (!take(&rest, header.exponent, &blob->exponent) || !take(&rest, header.modulus, &blob->modulus))
        return FALSE;
    if (blob->private_part &&
        (!take(&rest, header.prime1, &blob->prime1) || !take(&rest, header.prime2, &blob->prime2)))
        return FALSE;
    if (!sound(blob->exponent) || !sound(blob->modulus) ||
        (blob->private_part && (!sound(blob->prime1) || !sound(blob->prime2))))
        return FALSE;
    if (header.magic == RSA_FULL_MAGIC)
    {
        if (!take(&rest, header.prime1, &blob->exponent1) || !take(&rest, header.prime2, &blob->exponent2) ||
            !take(&rest, header.prime1, &blob->coefficient) || !take(&rest, header.modulus, &blob->exponent0))
            return FALSE;
    }
    blob->data.size = (SIZE_T)(rest.data - blob->data.data);
    return TRUE;
}

static BOOL read_ecc(struct bytes rest, const struct algorithm *algorithm, BOOL private_part, struct blob *blob)
{
    struct ecc_header header;

    memcpy(&header, rest.data, sizeof(header));
    rest.data += ECC_HEADER;
    rest.size -= ECC_HEADER;
    blob->algorithm = algorithm;
    blob->bits = algorithm->bits;
    blob->private_part = private_part;
    if (header.bytes != algorithm->bytes || !take(&rest, header.bytes, &blob->x) ||
        !take(&rest, header.bytes, &blob->y) || (private_part && !take(&rest, header.bytes, &blob->d)))
        return FALSE;
    blob->data.size = (SIZE_T)(rest.data - blob->data.data);
    return TRUE;
}

BOOL ncrypt_blob_read(const BYTE *data, SIZE_T size, struct blob *blob)
{
    struct bytes rest = {data, size};
    DWORD magic;

    memset(blob, 0, sizeof(*blob));
    blob->data = rest;
    if (size < ECC_HEADER)
        return FALSE;
    memcpy(&magic, data, sizeof(magic));
    if (magic == RSA_PUBLIC_MAGIC || magic == RSA_PRIVATE_MAGIC || magic == RSA_FULL_MAGIC)
        return read_rsa(rest, blob);
    for (unsigned i = 1; i < ALGORITHMS; i++)
        if (magic == algorithms[i].public_magic || magic == algorithms[i].private_magic)
            return read_ecc(rest, &algorithms[i], magic == algorithms[i].private_magic, blob);
    return FALSE;
}

static void put_oid(struct der_out *out, const BYTE *oid, SIZE_T size)
{
    SIZE_T since = out->size;

    der_put(out, oid, size);
    der_wrap(out, DER_OID, since);
}

static void put_small(struct der_out *out, BYTE number)
{
    der_put_number(out, &number, 1);
}

static void write_rsa(struct der_out *out, const struct blob *key)
{
    const struct bytes numbers[] = {key->modulus, key->exponent,  key->exponent0, key->prime1,
                                    key->prime2,  key->exponent1, key->exponent2, key->coefficient};
    SIZE_T since = out->size, inner;

    for (unsigned i = sizeof(numbers) / sizeof(numbers[0]); i > 0; i--)
        der_put_number(out, numbers[i - 1].data, numbers[i - 1].size);
    put_small(out, 0);
    der_wrap(out, DER_SEQUENCE, since);
    der_wrap(out, DER_OCTET_STRING, since);
    inner = out->size;
    der_wrap(out, DER_NULL, inner);
    put_oid(out, oid_rsa, sizeof(oid_rsa));
    der_wrap(out, DER_SEQUENCE, inner);
}

static void write_ecc(struct der_out *out, const struct blob *key)
{
    static const BYTE uncompressed[] = {0, 4}; /* no unused bits; a point with both coordinates */
    SIZE_T since = out->size, inner;

    der_put(out, key->y.data, key->y.size);
    der_put(out, key->x.data, key->x.size);
    der_put(out, uncompressed, sizeof(uncompressed));
    der_wrap(out, DER_BIT_STRING, since);
    der_wrap(out, DER_CONTEXT_CONSTRUCTED | 1, since);
    inner = out->size;
    der_put(out, key->d.data, key->d.size);
    der_wrap(out, DER_OCTET_STRING, inner);
    put_small(out, 1);
    der_wrap(out, DER_SEQUENCE, since);
    der_wrap(out, DER_OCTET_STRING, since);
    inner = out->size;
    for (unsigned i = 0; i < sizeof(curve_oids) / sizeof(curve_oids[0]); i++)
        if (curve_oids[i].bits == key->bits)
            put_oid(out, curve_oids[i].oid, curve_oids[i].size);
    put_oid(out, oid_ec, sizeof(oid_ec));
    der_wrap(out, DER_SEQUENCE, inner);
}

void ncrypt_pkcs8_write(struct der_out *out, const struct blob *key)
{
    SIZE_T since = out->size;

    if (key->algorithm->family == FAMILY_RSA)
        write_rsa(out, key);
    else
        write_ecc(out, key);
    put_small(out, 0);
    der_wrap(out, DER_SEQUENCE, since);
}

/* Puts number at the end of a field of size bytes. */
static BYTE *put_field(BYTE *at, struct bytes number, SIZE_T size)
{
    memset(at, 0, size - number.size);
    memcpy(at + size - number.size, number.data, number.size);
    return at + size;
}

static SIZE_T rsa_to_blob(struct bytes der, BYTE *blob, SIZE_T room)
{
    struct bytes sequence, number[8]; /* modulus, exponents, primes, exponents of the primes, coefficient */
    struct rsa_header header = {.magic = RSA_FULL_MAGIC};
    SIZE_T size, bytes, prime1, prime2;
    DWORD version;

    if (!der_take(&der, DER_SEQUENCE, &sequence) || !der_take_small(&sequence, &version) || version)
        return 0;
    for (unsigned i = 0; i < 8; i++)
        if (!der_take_number(&sequence, &number[i]) || !number[i].size)
            return 0;
    bytes = number[0].size;
    prime1 = number[3].size;
    prime2 = number[4].size;
    if (bytes < RSA_MIN_BITS / 8 || bytes > RSA_MAX_BITS / 8 || number[1].size > bytes || number[2].size > bytes ||
        prime1 > bytes || prime2 > bytes || number[5].size > prime1 || number[6].size > prime2 ||
        number[7].size > prime1)
        return 0;
    size = RSA_HEADER + number[1].size + 2 * bytes + 3 * prime1 + 2 * prime2;
    if (size > room)
        return size;
    header.bits = (DWORD)bytes * 8;
    for (BYTE top = number[0].data[0]; !(top & 0x80); top <<= 1)
        header.bits--;
    header.exponent = (DWORD)number[1].size;
    header.modulus = (DWORD)bytes;
    header.prime1 = (DWORD)prime1;
    header.prime2 = (DWORD)prime2;
    memcpy(blob, &header, sizeof(header));
    blob = put_field(blob + RSA_HEADER, number[1], number[1].size);
    blob = put_field(blob, number[0], bytes);
    blob = put_field(blob, number[3], prime1);
    blob = put_field(blob, number[4], prime2);
    blob = put_field(blob, number[5], prime1);
    blob = put_field(blob, number[6], prime2);
    blob = put_field(blob, number[7], prime1);
    put_field(blob, number[2], bytes);
    return size;
}

static SIZE_T ecc_to_blob(struct bytes der, const struct algorithm *algorithm, BYTE *blob, SIZE_T room)
{
    struct ecc_header header = {algorithm->private_magic, algorithm->bytes};
    struct bytes sequence, d, part, point = {NULL, 0};
    SIZE_T size = ECC_HEADER + 3 * (SIZE_T)algorithm->bytes;
    DWORD version;
    BYTE tag;

    if (!der_take(&der, DER_SEQUENCE, &sequence) || !der_take_small(&sequence, &version) || version != 1 ||
        !der_take(&sequence, DER_OCTET_STRING, &d))
        return 0;
    while (der_next(&sequence, &tag, &part))
        if (tag == (DER_CONTEXT_CONSTRUCTED | 1) && !der_take(&part, DER_BIT_STRING, &point))
            return 0;
    while (d.size > algorithm->bytes && !d.data[0])
    {
        d.data++;
        d.size--;
    }
    if (!d.size || d.size > algorithm->bytes || point.size != 2 + 2 * (SIZE_T)algorithm->bytes || point.data[0] ||
        point.data[1] != 4)
        return 0;
    if (size > room)
        return size;
    memcpy(blob, &header, sizeof(header));
    memcpy(blob + ECC_HEADER, point.data + 2, point.size - 2);
    put_field(blob + ECC_HEADER + point.size - 2, d, algorithm->bytes);
    return size;
}

SIZE_T ncrypt_pkcs8_to_blob(struct bytes der, enum family family, BYTE *blob, SIZE_T room)
{
    struct bytes sequence, identifier, oid, curve, key;
    DWORD version;

    /* version 1 may have a public key of its own and attributes after the key, which nothing here needs */
    if (!der_take(&der, DER_SEQUENCE, &sequence) || !der_take_small(&sequence, &version) || version > 1 ||
        !der_take(&sequence, DER_SEQUENCE, &identifier) || !der_take(&identifier, DER_OID, &oid) ||
        !der_take(&sequence, DER_OCTET_STRING, &key))
        return 0;
    if (der_bytes_equal(oid, oid_rsa, sizeof(oid_rsa)))
        return rsa_to_blob(key, blob, room);
    if (!der_bytes_equal(oid, oid_ec, sizeof(oid_ec)) || !der_take(&identifier, DER_OID, &curve))
        return 0;
    for (unsigned i = 0; i < sizeof(curve_oids) / sizeof(curve_oids[0]); i++)
    {
        if (!der_bytes_equal(curve, curve_oids[i].oid, curve_oids[i].size))
            continue;
        for (unsigned j = 1; j < ALGORITHMS; j++)
            if (algorithms[j].family == family && algorithms[j].bits == curve_oids[i].bits)
                return ecc_to_blob(key, &algorithms[j], blob, room);
    }
    return 0;
}
