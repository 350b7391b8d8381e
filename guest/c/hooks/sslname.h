/*
 * Whether a server's certificate is for a name or an address, by RFC 6125 and as Go's verifier has it: names of DNS
 * with at most a star for their first label, addresses by the certificate's addresses alone, and no common name. It
 * knows no Windows and no Wine.
 */
#ifndef MULLION_SSLNAME_H
#define MULLION_SSLNAME_H

#include "dercode.h"

/* names is the extension subjectAltName (RFC 5280, 4.2.1.6), host of the size of its letters, which are ASCII. */
BOOL ssl_name_matches(struct bytes names, const char *host, SIZE_T size);

#endif
