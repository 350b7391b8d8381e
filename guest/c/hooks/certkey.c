/*
 * Private keys of certificates, for who wants them as keys of CNG: CryptAcquireCertificatePrivateKey,
 * PFXImportCertStore, CERT_NCRYPT_KEY_HANDLE_PROP_ID.
 *
 * Facts are in guest/c/ncrypt/certs.c, which does the work; it is part of our ncrypt.dll, which is loaded when one of
 * these functions is first called.
 */
#include "winsock.h"

#include <wincrypt.h>

#include "patch.h"

typedef HCERTSTORE(WINAPI *import_store)(CRYPT_DATA_BLOB *, const WCHAR *, DWORD);

static struct
{
    BOOL(WINAPI *CryptAcquireCertificatePrivateKey)(const CERT_CONTEXT *, DWORD, void *, ULONG_PTR *, DWORD *, BOOL *);
    BOOL(WINAPI *CertGetCertificateContextProperty)(const CERT_CONTEXT *, DWORD, void *, DWORD *);
    BOOL(WINAPI *CertSetCertificateContextProperty)(const CERT_CONTEXT *, DWORD, DWORD, const void *);
    import_store PFXImportCertStore;
} wine;

static struct ours
{
    BOOL(WINAPI *key)(const CERT_CONTEXT *, DWORD, ULONG_PTR *, DWORD *, BOOL *, BOOL *);
    BOOL(WINAPI *give)(const CERT_CONTEXT *, ULONG_PTR);
    ULONG_PTR(WINAPI *given)(const CERT_CONTEXT *);
    HCERTSTORE(WINAPI *import)(CRYPT_DATA_BLOB *, const WCHAR *, DWORD, import_store);
} functions;

static LONG loaded;

/* NULL: ncrypt.dll is Wine's. */
static const struct ours *ours(void)
{
    DWORD error = GetLastError();
    struct ours found;
    HMODULE ncrypt;

    if (!__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) && (ncrypt = LoadLibraryW(L"ncrypt.dll")))
    {
        found.key = (void *)GetProcAddress(ncrypt, "MullionCertificateKey");
        found.give = (void *)GetProcAddress(ncrypt, "MullionGiveKey");
        found.given = (void *)GetProcAddress(ncrypt, "MullionGivenKey");
        found.import = (void *)GetProcAddress(ncrypt, "MullionImportStore");
        if (found.key && found.give && found.given && found.import)
        {
            functions = found; /* two threads at once write the same */
            __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
        }
    }
    SetLastError(error);
    return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE) ? &functions : NULL;
}

static BOOL WINAPI hook_CryptAcquireCertificatePrivateKey(const CERT_CONTEXT *certificate, DWORD flags,
                                                          void *parameters, ULONG_PTR *key, DWORD *spec, BOOL *free)
{
    BOOL final;

    if (certificate && key && ours())
    {
        if (ours()->key(certificate, flags, key, spec, free, &final))
            return TRUE;
        if (final)
            return FALSE;
    }
    return wine.CryptAcquireCertificatePrivateKey(certificate, flags, parameters, key, spec, free);
}

static BOOL WINAPI hook_CertGetCertificateContextProperty(const CERT_CONTEXT *certificate, DWORD property, void *data,
                                                          DWORD *size)
{
    ULONG_PTR key;

    if (property != CERT_NCRYPT_KEY_HANDLE_PROP_ID || !certificate || !size || !ours() ||
        !(key = ours()->given(certificate)))
        return wine.CertGetCertificateContextProperty(certificate, property, data, size);
    if (data && *size < sizeof(key))
    {
        *size = sizeof(key);
        SetLastError(ERROR_MORE_DATA);
        return FALSE;
    }
    if (data)
        *(ULONG_PTR *)data = key;
    *size = sizeof(key);
    return TRUE;
}

static BOOL WINAPI hook_CertSetCertificateContextProperty(const CERT_CONTEXT *certificate, DWORD property, DWORD flags,
                                                          const void *data)
{
    if (property == CERT_NCRYPT_KEY_HANDLE_PROP_ID && certificate && ours())
        return ours()->give(certificate, (ULONG_PTR)data);
    return wine.CertSetCertificateContextProperty(certificate, property, flags, data);
}

static HCERTSTORE WINAPI hook_PFXImportCertStore(CRYPT_DATA_BLOB *file, const WCHAR *password, DWORD flags)
{
    return ours() ? ours()->import(file, password, flags, wine.PFXImportCertStore)
                  : wine.PFXImportCertStore(file, password, flags);
}

void certkey_start(HMODULE crypt32)
{
    if (wine.CryptAcquireCertificatePrivateKey)
        return;
#define PATCH_CRYPT32(name) patch_function(crypt32, #name, hook_##name, (void **)&wine.name)
    PATCH_CRYPT32(CryptAcquireCertificatePrivateKey);
    PATCH_CRYPT32(CertGetCertificateContextProperty);
    PATCH_CRYPT32(CertSetCertificateContextProperty);
    PATCH_CRYPT32(PFXImportCertStore);
#undef PATCH_CRYPT32
}
