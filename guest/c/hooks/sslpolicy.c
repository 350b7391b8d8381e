/*
 * CertVerifyCertificateChainPolicy for a server of TLS: whether the certificate is for the server's name.
 *
 * Fact (Wine 8.0 and 10.0): it compares the name with names of DNS alone, also where the name is an address, and with
 * the subject's common name if the certificate has no other. So a server that is reached by its address, a proxy or a
 * registry with a company's certificate, is refused by Go and Rust. Here all but the name is left to Wine, and
 * sslname.c judges that. A name with other letters than ASCII is that of its Punycode.
 */
#include "winsock.h"

#include <wincrypt.h>

#include "patch.h"
#include "sslname.h"

enum
{
    LONGEST_NAME = 255, /* of DNS (RFC 1035, 2.3.4) */
    ANY_NAME = 0x1000   /* SECURITY_FLAG_IGNORE_CERT_CN_INVALID */
};

typedef BOOL(WINAPI *verify)(const char *, const CERT_CHAIN_CONTEXT *, CERT_CHAIN_POLICY_PARA *,
                             CERT_CHAIN_POLICY_STATUS *);
typedef int(WINAPI *to_ascii)(DWORD, const WCHAR *, int, WCHAR *, int);

static verify original_verify;

/* The name in ASCII; 0: it has none. */
static SIZE_T ascii_name(const WCHAR *name, char ascii[LONGEST_NAME])
{
    WCHAR converted[LONGEST_NAME];
    int length = lstrlenW(name);
    BOOL foreign = FALSE;

    for (int i = 0; i < length; i++)
        foreign |= name[i] >= 0x80;
    if (foreign)
    {
        to_ascii convert = (to_ascii)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "IdnToAscii");

        length = convert ? convert(0, name, length, converted, LONGEST_NAME) : 0;
        name = converted;
    }
    if (length <= 0 || length > LONGEST_NAME)
        return 0;
    for (int i = 0; i < length; i++)
        ascii[i] = (char)name[i];
    return (SIZE_T)length;
}

/* Whether the first certificate of a chain is for the server. */
static BOOL is_for(const CERT_CHAIN_CONTEXT *chain, const WCHAR *server)
{
    char name[LONGEST_NAME];
    SIZE_T size = ascii_name(server, name);
    const CERT_INFO *info;

    if (!size || !chain->cChain || !chain->rgpChain[0]->cElement)
        return FALSE;
    info = chain->rgpChain[0]->rgpElement[0]->pCertContext->pCertInfo;
    for (DWORD i = 0; i < info->cExtension; i++)
    {
        const CERT_EXTENSION *extension = info->rgExtension + i;
        struct bytes names = {extension->Value.pbData, extension->Value.cbData};

        if (!strcmp(extension->pszObjId, szOID_SUBJECT_ALT_NAME2))
            return ssl_name_matches(names, name, size);
    }
    return FALSE;
}

static BOOL WINAPI hook_CertVerifyCertificateChainPolicy(const char *policy, const CERT_CHAIN_CONTEXT *chain,
                                                         CERT_CHAIN_POLICY_PARA *parameters,
                                                         CERT_CHAIN_POLICY_STATUS *status)
{
    const SSL_EXTRA_CERT_CHAIN_POLICY_PARA *ssl = policy == CERT_CHAIN_POLICY_SSL && parameters
                                                      ? parameters->pvExtraPolicyPara
                                                      : NULL;
    SSL_EXTRA_CERT_CHAIN_POLICY_PARA nameless;
    CERT_CHAIN_POLICY_PARA others;

    if (!ssl || ssl->cbSize < sizeof(*ssl) || ssl->dwAuthType != AUTHTYPE_SERVER || !ssl->pwszServerName)
        return original_verify(policy, chain, parameters, status);
    nameless = *ssl;
    nameless.pwszServerName = NULL;
    others = *parameters;
    others.pvExtraPolicyPara = &nameless;
    if (!original_verify(policy, chain, &others, status))
        return FALSE;
    if (!status->dwError && !(ssl->fdwChecks & ANY_NAME) && !is_for(chain, ssl->pwszServerName))
    {
        status->dwError = (DWORD)CERT_E_CN_NO_MATCH;
        status->lChainIndex = status->lElementIndex = 0;
    }
    return TRUE;
}

void sslpolicy_start(HMODULE crypt32)
{
    if (!original_verify)
        patch_function(crypt32, "CertVerifyCertificateChainPolicy", hook_CertVerifyCertificateChainPolicy,
                       (void **)&original_verify);
}
