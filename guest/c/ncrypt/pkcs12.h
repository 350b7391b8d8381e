/*
 * PFX files: PKCS #12 (RFC 7292), as OpenSSL, .NET, Java and Windows write them: DER, integrity and privacy by a
 * password. It knows no Windows, and is tested on Linux; what is computed is in pbe.c.
 */
#ifndef MULLION_PKCS12_H
#define MULLION_PKCS12_H

#include "dercode.h"

enum
{
    PFX_CERTIFICATES = 64, /* more are left out */
    PFX_CONTENTS = 16
};

struct pfx
{
    struct bytes certificates[PFX_CERTIFICATES];
    unsigned count;
    struct bytes key; /* PKCS#8, nothing if there is none; of several the first */
    struct bytes decrypted[PFX_CONTENTS];
    unsigned decrypted_count;
    BOOL wrong_password; /* the MAC says so */
};

/*
 * password NULL: none, which is another than an empty one. FALSE: it is not of this form, or encrypted otherwise, or
 * the password is wrong. In both cases the caller calls ncrypt_pfx_free.
 */
BOOL ncrypt_pfx_read(struct bytes file, const WCHAR *password, struct pfx *pfx);
void ncrypt_pfx_free(struct pfx *pfx);

/*
 * pbe.c: decrypts with an AlgorithmIdentifier's content; the caller frees *clear with ncrypt_pbe_free. FALSE: the
 * algorithm is not known, or the password is wrong.
 */
BOOL ncrypt_pbe_decrypt(struct bytes algorithm, struct bytes sealed, const WCHAR *password, struct bytes *clear);
void ncrypt_pbe_free(struct bytes clear);

/* pbe.c: whether the MAC is that of content, by the content of MacData. */
BOOL ncrypt_pbe_check_mac(struct bytes mac_data, struct bytes content, const WCHAR *password);

#endif
