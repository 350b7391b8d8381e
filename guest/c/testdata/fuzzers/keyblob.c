/* Keys: the blobs in which programs give them, PKCS#8, and DER as such. */
#include "blob.h"

#include <stdlib.h>

#include "fuzz.h"

/* A key that is good as a blob is the same after PKCS#8 and back. */
static void check_round(const struct blob *key, enum family family)
{
    struct der_out out = {NULL, 0, 0};
    SIZE_T length, size;
    BYTE *der, *back;

    if (key->algorithm->family == FAMILY_RSA && !key->exponent0.data)
        return; /* a public key, or one without all its parts */
    if (key->algorithm->family != FAMILY_RSA && !key->private_part)
        return;
    ncrypt_pkcs8_write(&out, key);
    length = out.size;
    der = malloc(length);
    out = (struct der_out){der + length, length, 0};
    ncrypt_pkcs8_write(&out, key);
    if (out.size != length)
        fuzz_fail("the size of PKCS#8", (long long)out.size, (long long)length);
    size = ncrypt_pkcs8_to_blob((struct bytes){der, length}, family, NULL, 0);
    back = malloc(size);
    if (size && ncrypt_pkcs8_to_blob((struct bytes){der, length}, family, back, size) != size)
        fuzz_fail("the size of a key", 0, (long long)size);
    free(back);
    free(der);
}

static void walk(struct bytes from, unsigned depth)
{
    struct bytes content, number;
    DWORD small;
    BYTE tag;

    while (der_next(&from, &tag, &content))
    {
        if (content.size > from.size + content.size || content.data + content.size != from.data)
            fuzz_fail("an element ends where the next one begins", 0, 1);
        if (tag & 0x20 && depth < 20)
            walk(content, depth + 1);
    }
    der_take_small(&from, &small);
    der_take_number(&from, &number);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    uint8_t kind = fuzz_byte(&data, &size);
    enum family family = kind % 2 ? FAMILY_ECDSA : FAMILY_ECDH;
    uint8_t *copy = fuzz_copy(data, size);
    struct blob blob;
    SIZE_T length;
    BYTE *out;

    if (ncrypt_blob_read(copy, size, &blob))
    {
        if (blob.data.data != copy || blob.data.size > size)
            fuzz_fail("the size of a blob", (long long)blob.data.size, (long long)size);
        check_round(&blob, family);
    }
    length = ncrypt_pkcs8_to_blob((struct bytes){copy, size}, family, NULL, 0);
    out = malloc(length);
    if (length && ncrypt_pkcs8_to_blob((struct bytes){copy, size}, family, out, length) != length)
        fuzz_fail("the size of a key", 0, (long long)length);
    if (length)
        ncrypt_blob_read(out, length, &blob);
    walk((struct bytes){copy, size}, 0);
    free(out);
    free(copy);
}
