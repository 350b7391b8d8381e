/* Key derivation functions. Each writes size bytes; algorithm is the name of a hash. */
#ifndef MULLION_DERIVE_H
#define MULLION_DERIVE_H

#include "keys.h"

#ifndef KDF_HKDF_SALT
#define KDF_HKDF_SALT 0x13 /* bcrypt.h of newer SDKs */
#define KDF_HKDF_INFO 0x14
#endif

#define DERIVE_INVALID ((NTSTATUS)0xc000000dL) /* STATUS_INVALID_PARAMETER */

/* RFC 5869 */
NTSTATUS ncrypt_derive_hkdf(const WCHAR *algorithm, struct bytes secret, struct bytes salt, struct bytes info,
                            BYTE *out, SIZE_T size);

/* NIST SP 800-108, counter mode with HMAC; counter and length of 32 bits */
NTSTATUS ncrypt_derive_counter(const WCHAR *algorithm, struct bytes secret, struct bytes label, struct bytes context,
                               BYTE *out, SIZE_T size);

/* NIST SP 800-56A, the one-step derivation with a hash */
NTSTATUS ncrypt_derive_concat(const WCHAR *algorithm, struct bytes secret, const struct bytes *info, unsigned count,
                              BYTE *out, SIZE_T size);

/* The PRF of TLS 1.2 (RFC 5246) with a hash, of TLS 1.0 and 1.1 (RFC 2246) with algorithm NULL. */
NTSTATUS ncrypt_derive_tls_prf(const WCHAR *algorithm, struct bytes secret, struct bytes label, struct bytes seed,
                               BYTE *out, SIZE_T size);

#endif
