/*
 * Private keys of certificates.
 *
 * Facts (Wine 8.0 and 10.0): PFXImportCertStore of crypt32.dll takes PFX files with a key of RSA only, knows no flag
 * for keys of CNG, leaves out certificates that are not in the key's chain, and says of every other that the key is its
 * own. CryptAcquireCertificatePrivateKey gives a handle of CAPI also to those who want one of CNG, and a certificate
 * keeps no key of CNG (CERT_NCRYPT_KEY_HANDLE_PROP_ID).
 *
 * So the key of a PFX is kept with its certificate, as a property: it goes where the certificate's copies go, and away
 * with the last of them. Wine's crypt32.dll keeps properties that it knows; the one that is used here, the name of a
 * file with the private key, is what nobody sets any more. The hooks (guest/c/hooks/certkey.c) lead here.
 */
#include "keys.h"
#include "pkcs12.h"

#include <wincrypt.h>

#include <stdlib.h>
#include <string.h>

#define KEPT_MAGIC 0x314b4d43 /* what is kept begins with it */

enum
{
    KEPT_HEADER = 8,
    WINES_FLAGS = CRYPT_EXPORTABLE | CRYPT_USER_KEYSET | CRYPT_MACHINE_KEYSET | PKCS12_NO_PERSIST_KEY
};

typedef HCERTSTORE(WINAPI *import_store)(CRYPT_DATA_BLOB *, LPCWSTR, DWORD);

/* The public part of a certificate's key, as a number that a blob has too: the modulus, or both coordinates. */
static BOOL is_key_of(const CERT_CONTEXT *certificate, const struct blob *key)
{
    const CERT_PUBLIC_KEY_INFO *info = &certificate->pCertInfo->SubjectPublicKeyInfo;
    struct bytes public_key = {info->PublicKey.pbData, info->PublicKey.cbData}, sequence, modulus;

    if (!strcmp(info->Algorithm.pszObjId, szOID_RSA_RSA) || key->algorithm->family == FAMILY_RSA)
        return key->algorithm->family == FAMILY_RSA && der_take(&public_key, DER_SEQUENCE, &sequence) &&
               der_take_number(&sequence, &modulus) && der_bytes_equal(modulus, key->modulus.data, key->modulus.size);
    return public_key.size == 1 + key->x.size + key->y.size && public_key.data[0] == 4 &&
           !memcmp(public_key.data + 1, key->x.data, key->x.size) &&
           !memcmp(public_key.data + 1 + key->x.size, key->y.data, key->y.size);
}

/* Keeps the key with a certificate; policy: whether it may be exported. */
static BOOL keep(const CERT_CONTEXT *certificate, struct bytes pkcs8, DWORD policy)
{
    CRYPT_DATA_BLOB kept = {(DWORD)pkcs8.size + KEPT_HEADER, malloc(pkcs8.size + KEPT_HEADER)};
    DWORD magic = KEPT_MAGIC;
    BOOL done;

    if (!kept.pbData)
        return FALSE;
    memcpy(kept.pbData, &magic, sizeof(magic));
    memcpy(kept.pbData + sizeof(magic), &policy, sizeof(policy));
    memcpy(kept.pbData + KEPT_HEADER, pkcs8.data, pkcs8.size);
    done = CertSetCertificateContextProperty(certificate, CERT_PVK_FILE_PROP_ID, 0, &kept);
    ncrypt_secure_free(kept.pbData, kept.cbData);
    return done;
}

/*
 * What a program looks at to learn whether a certificate has a private key. The name leads nowhere: the key is with the
 * certificate.
 */
static BOOL announce(const CERT_CONTEXT *certificate)
{
    WCHAR provider[] = L"Microsoft Software Key Storage Provider", name[48];
    CRYPT_KEY_PROV_INFO info = {.pwszContainerName = name, .pwszProvName = provider};
    BYTE hash[20];
    DWORD size = sizeof(hash);

    if (!CertGetCertificateContextProperty(certificate, CERT_SHA1_HASH_PROP_ID, hash, &size))
        return FALSE;
    for (DWORD i = 0; i < size; i++)
    {
        name[2 * i] = L"0123456789abcdef"[hash[i] >> 4];
        name[2 * i + 1] = L"0123456789abcdef"[hash[i] & 15];
    }
    name[2 * size] = 0;
    return CertSetCertificateContextProperty(certificate, CERT_KEY_PROV_INFO_PROP_ID, 0, &info);
}

/*
 * What Wine says of the key in CAPI, for who wants it there (its TLS is one): the property of the key's certificate in
 * Wine's store.
 */
static BOOL copy_property(const CERT_CONTEXT *from, const CERT_CONTEXT *to, DWORD property)
{
    DWORD size = 0;
    BOOL done = FALSE;
    void *value;

    if (!CertGetCertificateContextProperty(from, property, NULL, &size) || !(value = malloc(size)))
        return FALSE;
    if (CertGetCertificateContextProperty(from, property, value, &size))
        done = CertSetCertificateContextProperty(to, property, 0, value);
    free(value);
    return done;
}

/* Wine puts a key of RSA into CAPI; it takes no other. FALSE: it has not. */
static BOOL announce_capi(HCERTSTORE wine, const CERT_CONTEXT *certificate, const struct blob *key)
{
    const CERT_CONTEXT *found = NULL;
    BOOL done = FALSE;

    while (wine && !done && (found = CertEnumCertificatesInStore(wine, found)))
        if (is_key_of(found, key))
            done = copy_property(found, certificate, CERT_KEY_PROV_INFO_PROP_ID) ||
                   copy_property(found, certificate, CERT_KEY_CONTEXT_PROP_ID);
    if (found && done)
        CertFreeCertificateContext(found);
    return done;
}

/* A store of all certificates, of which those of the key have it. */
static HCERTSTORE make_store(const struct pfx *pfx, const struct blob *key, DWORD policy, HCERTSTORE wine)
{
    HCERTSTORE store = CertOpenStore(CERT_STORE_PROV_MEMORY, 0, 0, 0, NULL);
    const CERT_CONTEXT *added;
    BOOL good = store != NULL;

    for (unsigned i = 0; i < pfx->count && good; i++)
    {
        const struct bytes *certificate = &pfx->certificates[i];

        good = CertAddEncodedCertificateToStore(store, X509_ASN_ENCODING, certificate->data, (DWORD)certificate->size,
                                                CERT_STORE_ADD_ALWAYS, &added);
        if (!good)
            break;
        if (key && is_key_of(added, key))
            good = keep(added, pfx->key, policy) && (announce_capi(wine, added, key) || announce(added));
        CertFreeCertificateContext(added);
    }
    if (good)
        return store;
    if (store)
        CertCloseStore(store, 0);
    return NULL;
}

static HCERTSTORE import_read(const struct pfx *pfx, CRYPT_DATA_BLOB *file, const WCHAR *password, DWORD flags,
                              import_store wines)
{
    DWORD policy = flags & CRYPT_EXPORTABLE ? NCRYPT_ALLOW_EXPORT_FLAG | NCRYPT_ALLOW_PLAINTEXT_EXPORT_FLAG : 0;
    SIZE_T size = ncrypt_pkcs8_to_blob(pfx->key, FAMILY_ECDSA, NULL, 0);
    HCERTSTORE store, wine = NULL;
    struct blob key;
    BYTE *blob = NULL;

    /* with a key of another kind the certificates come without it */
    if (size && (blob = malloc(size)))
    {
        ncrypt_pkcs8_to_blob(pfx->key, FAMILY_ECDSA, blob, size);
        if (!ncrypt_blob_read(blob, size, &key))
        {
            ncrypt_secure_free(blob, size);
            blob = NULL;
        }
    }
    if (blob && key.algorithm->family == FAMILY_RSA)
        wine = wines(file, password, flags & WINES_FLAGS);
    store = make_store(pfx, blob ? &key : NULL, policy, wine);
    if (wine)
        CertCloseStore(wine, 0);
    ncrypt_secure_free(blob, blob ? size : 0);
    return store;
}

/* PFXImportCertStore; wines is Wine's own. */
HCERTSTORE WINAPI MullionImportStore(CRYPT_DATA_BLOB *file, LPCWSTR password, DWORD flags, import_store wines)
{
    struct bytes data = {NULL, 0};
    HCERTSTORE store = NULL;
    struct pfx pfx;
    BOOL read, wrong;

    if (file && file->pbData)
        data = (struct bytes){file->pbData, file->cbData};
    read = ncrypt_pfx_read(data, password, &pfx);
    if (!read && (!password || !*password))
    {
        /* some write an empty password as none, and others none as an empty one */
        ncrypt_pfx_free(&pfx);
        read = ncrypt_pfx_read(data, password ? NULL : L"", &pfx);
    }
    wrong = pfx.wrong_password;
    if (read)
        store = import_read(&pfx, file, password, flags, wines);
    ncrypt_pfx_free(&pfx);
    if (!store && !(store = wines(file, password, flags)))
        SetLastError(wrong ? ERROR_INVALID_PASSWORD : ERROR_INVALID_DATA); /* Wine's says nothing */
    return store;
}

/* The key of CNG that a certificate has been given by CERT_NCRYPT_KEY_HANDLE_PROP_ID; 0: none. */
NCRYPT_KEY_HANDLE WINAPI MullionGivenKey(const CERT_CONTEXT *certificate)
{
    CERT_KEY_CONTEXT context;
    DWORD size = sizeof(context);

    if (!CertGetCertificateContextProperty(certificate, CERT_KEY_CONTEXT_PROP_ID, &context, &size) ||
        size != sizeof(context))
        return 0;
    return context.dwKeySpec == CERT_NCRYPT_KEY_SPEC && NCryptIsKeyHandle(context.hNCryptKey) ? context.hNCryptKey : 0;
}

/* Gives a certificate a key, which is its own from now on; 0 takes it away. */
BOOL WINAPI MullionGiveKey(const CERT_CONTEXT *certificate, NCRYPT_KEY_HANDLE key)
{
    CERT_KEY_CONTEXT context = {.cbSize = sizeof(context), .dwKeySpec = CERT_NCRYPT_KEY_SPEC};

    if (!key)
        return !MullionGivenKey(certificate) ||
               CertSetCertificateContextProperty(certificate, CERT_KEY_CONTEXT_PROP_ID, 0, NULL);
    if (!NCryptIsKeyHandle(key))
    {
        SetLastError((DWORD)E_INVALIDARG);
        return FALSE;
    }
    context.hNCryptKey = key;
    return CertSetCertificateContextProperty(certificate, CERT_KEY_CONTEXT_PROP_ID, 0, &context);
}

/* A new key object of what is kept with a certificate; 0: nothing is. */
static NCRYPT_KEY_HANDLE kept_key(const CERT_CONTEXT *certificate)
{
    struct key *key = NULL;
    DWORD size = 0, magic, policy;
    BYTE *kept;

    if (!CertGetCertificateContextProperty(certificate, CERT_PVK_FILE_PROP_ID, NULL, &size) || size <= KEPT_HEADER ||
        !(kept = malloc(size)))
        return 0;
    if (CertGetCertificateContextProperty(certificate, CERT_PVK_FILE_PROP_ID, kept, &size) && size > KEPT_HEADER)
    {
        memcpy(&magic, kept, sizeof(magic));
        memcpy(&policy, kept + sizeof(magic), sizeof(policy));
        if (magic != KEPT_MAGIC || ncrypt_key_of_pkcs8((struct bytes){kept + KEPT_HEADER, size - KEPT_HEADER}, &key))
            key = NULL;
        else
            key->policy = policy;
    }
    ncrypt_secure_free(kept, size);
    return key ? ncrypt_object_add(&key->object, KIND_KEY, ncrypt_key_destroy) : 0;
}

/*
 * CryptAcquireCertificatePrivateKey for who takes a key of CNG. FALSE, with *final: there is none, and a key of CAPI is
 * not wanted; without *final it is left to Wine.
 */
BOOL WINAPI MullionCertificateKey(const CERT_CONTEXT *certificate, DWORD flags, NCRYPT_KEY_HANDLE *key, DWORD *spec,
                                  BOOL *caller_frees, BOOL *final)
{
    NCRYPT_KEY_HANDLE found = MullionGivenKey(certificate);
    BOOL given = found != 0;

    *final = (flags & CRYPT_ACQUIRE_ONLY_NCRYPT_KEY_FLAG) != 0;
    if (flags & (CRYPT_ACQUIRE_ONLY_NCRYPT_KEY_FLAG | CRYPT_ACQUIRE_PREFER_NCRYPT_KEY_FLAG |
                 CRYPT_ACQUIRE_ALLOW_NCRYPT_KEY_FLAG))
    {
        if (!found)
            found = kept_key(certificate);
    }
    else if (found)
    {
        *final = TRUE; /* Wine would take it for one of CAPI */
        found = 0;
    }
    if (!found)
    {
        if (*final)
            SetLastError((DWORD)CRYPT_E_NO_KEY_PROPERTY);
        return FALSE;
    }
    *key = found;
    if (spec)
        *spec = CERT_NCRYPT_KEY_SPEC;
    if (caller_frees)
        *caller_frees = !given;
    return TRUE;
}
