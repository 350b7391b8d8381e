/*
 * The blobs in which bcrypt.dll takes and gives keys: bcrypt.h of the Windows SDK, BCRYPT_RSAKEY_BLOB and
 * BCRYPT_ECCKEY_BLOB, and PKCS#8 (RFC 5958, with RFC 8017 for RSA and RFC 5915 for elliptic curves). It knows no Wine,
 * and is tested on Linux.
 */
#ifndef MULLION_BLOB_H
#define MULLION_BLOB_H

#include "dercode.h"

enum family
{
    FAMILY_RSA,
    FAMILY_ECDSA,
    FAMILY_ECDH
};

/* The algorithms of keys, each a name that bcrypt.dll may know. */
struct algorithm
{
    const WCHAR *name, *group, *curve;
    enum family family;
    DWORD bits, bytes; /* of a coordinate; 0 with RSA */
    DWORD public_magic, private_magic;
};

/* The first is RSA. NULL after the last. */
const struct algorithm *ncrypt_algorithm_at(unsigned index);
const struct algorithm *ncrypt_algorithm_by_name(const WCHAR *name);

/* The one of this family on this curve (a name of Windows: nistP256). */
const struct algorithm *ncrypt_algorithm_on_curve(enum family family, const WCHAR *curve);

/* The other family's on the same curve. */
const struct algorithm *ncrypt_algorithm_of_family(const struct algorithm *algorithm, enum family family);

#define RSA_PUBLIC_MAGIC 0x31415352u /* RSA1 */
#define RSA_PRIVATE_MAGIC 0x32415352u
#define RSA_FULL_MAGIC 0x33415352u

enum
{
    RSA_MIN_BITS = 512,
    RSA_MAX_BITS = 16384,
    RSA_HEADER = 24,
    ECC_HEADER = 8
};

struct rsa_header
{
    DWORD magic, bits, exponent, modulus, prime1, prime2;
};

struct ecc_header
{
    DWORD magic, bytes;
};

/* A blob whose sizes have been checked against each other and against its length. */
struct blob
{
    const struct algorithm *algorithm;
    DWORD bits;
    BOOL private_part;
    struct bytes data; /* without what follows the key */
    struct bytes exponent, modulus, prime1, prime2, exponent1, exponent2, coefficient,
        exponent0;        /* RSA; the last is the private exponent */
    struct bytes x, y, d; /* elliptic curves */
};

/* FALSE: not a key, or not a whole one. */
BOOL ncrypt_blob_read(const BYTE *data, SIZE_T size, struct blob *blob);

/* Writes key as PKCS#8, or measures it if out has no end. RSA keys must have all their parts. */
void ncrypt_pkcs8_write(struct der_out *out, const struct blob *key);

/*
 * Reads PKCS#8 into a blob of bcrypt.dll: an RSAFULLPRIVATEBLOB, or an ECCPRIVATEBLOB of the family. Returns its size,
 * 0 if der is not a key of a kind that is known here; writes nothing if room is less. Keys of elliptic curves must have
 * their public part.
 */
SIZE_T ncrypt_pkcs8_to_blob(struct bytes der, enum family family, BYTE *blob, SIZE_T room);

#endif
