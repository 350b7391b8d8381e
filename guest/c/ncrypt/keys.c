/* Making, importing and exporting keys. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

SECURITY_STATUS ncrypt_map_status(NTSTATUS status)
{
    /* ntstatus.h, which does not go together with windows.h */
    switch ((ULONG)status)
    {
    case 0: return ERROR_SUCCESS;
    case 0xc0000008: return NTE_INVALID_HANDLE;    /* STATUS_INVALID_HANDLE */
    case 0xc000000d: return NTE_INVALID_PARAMETER; /* STATUS_INVALID_PARAMETER */
    case 0xc0000017: return NTE_NO_MEMORY;         /* STATUS_NO_MEMORY */
    case 0xc0000023: return NTE_BUFFER_TOO_SMALL;  /* STATUS_BUFFER_TOO_SMALL */
    case 0xc0000002:                               /* STATUS_NOT_IMPLEMENTED */
    case 0xc00000bb: return NTE_NOT_SUPPORTED;     /* STATUS_NOT_SUPPORTED */
    case 0xc000a000: return NTE_BAD_SIGNATURE;     /* STATUS_INVALID_SIGNATURE */
    default: return ((ULONG)status & 0xffff0000) == 0x80090000 ? status : NTE_INTERNAL_ERROR;
    }
}

struct key *ncrypt_key_new(const struct algorithm *algorithm, enum family family)
{
    struct key *key = calloc(1, sizeof(*key));

    if (!key)
        return NULL;
    InitializeSRWLock(&key->lock);
    key->algorithm = algorithm;
    key->family = family;
    key->bits = family == FAMILY_RSA ? 2048 : algorithm ? algorithm->bits : 0;
    key->usage = NCRYPT_ALLOW_ALL_USAGES;
    return key;
}

void ncrypt_key_destroy(struct object *object)
{
    struct key *key = (struct key *)object;
    struct property *next;

    if (key->handle)
        BCryptDestroyKey(key->handle);
    for (; key->properties; key->properties = next)
    {
        next = key->properties->next;
        free(key->properties);
    }
    free(key);
}

SECURITY_STATUS ncrypt_key_of_blob(const BYTE *data, SIZE_T size, struct key **key)
{
    struct blob blob;
    NTSTATUS status;

    if (!ncrypt_blob_read(data, size, &blob))
        return NTE_BAD_DATA;
    if (!(*key = ncrypt_key_new(blob.algorithm, blob.algorithm->family)))
        return NTE_NO_MEMORY;
    (*key)->bits = blob.bits;
    (*key)->private_part = blob.private_part;
    if (!(status = ncrypt_native_import(&blob, &(*key)->handle)))
        return ERROR_SUCCESS;
    (*key)->handle = NULL;
    ncrypt_key_destroy(&(*key)->object);
    /* what it says of numbers that are no key */
    if ((ULONG)status == 0xc00000e5 ||
        (ULONG)status == 0xc000000d) /* STATUS_INTERNAL_ERROR, STATUS_INVALID_PARAMETER */
        return NTE_BAD_DATA;
    return ncrypt_map_status(status);
}

SECURITY_STATUS ncrypt_key_of_pkcs8(struct bytes der, struct key **key)
{
    SIZE_T size = ncrypt_pkcs8_to_blob(der, FAMILY_ECDSA, NULL, 0);
    SECURITY_STATUS status;
    BYTE *blob;

    if (!size)
        return NTE_BAD_DATA;
    if (!(blob = malloc(size)))
        return NTE_NO_MEMORY;
    ncrypt_pkcs8_to_blob(der, FAMILY_ECDSA, blob, size);
    status = ncrypt_key_of_blob(blob, size, key);
    ncrypt_secure_free(blob, size);
    return status;
}

SECURITY_STATUS WINAPI NCryptCreatePersistedKey(NCRYPT_PROV_HANDLE provider, NCRYPT_KEY_HANDLE *handle, LPCWSTR name,
                                                LPCWSTR key_name, DWORD spec, DWORD flags)
{
    const struct algorithm *algorithm;
    struct object *owner;
    enum family family;
    struct key *key;

    (void)spec;
    if (!handle || !name)
        return NTE_INVALID_PARAMETER;
    if (flags & ~(DWORD)(NCRYPT_MACHINE_KEY_FLAG | NCRYPT_OVERWRITE_KEY_FLAG | NCRYPT_SILENT_FLAG))
        return NTE_BAD_FLAGS;
    if (!(owner = ncrypt_object_get(provider, KIND_PROVIDER)))
        return NTE_INVALID_HANDLE;
    ncrypt_object_release(owner);
    if (key_name)
        return NTE_NOT_SUPPORTED; /* nothing keeps keys */
    if ((algorithm = ncrypt_algorithm_by_name(name)))
    {
        if (!ncrypt_native_has(algorithm->name))
            return NTE_NOT_SUPPORTED;
        family = algorithm->family;
    }
    else if (!_wcsicmp(name, L"ECDSA"))
    {
        family = FAMILY_ECDSA;
    }
    else if (!_wcsicmp(name, L"ECDH"))
    {
        family = FAMILY_ECDH;
    }
    else
    {
        return NTE_NOT_SUPPORTED;
    }
    if (!(key = ncrypt_key_new(algorithm, family)))
        return NTE_NO_MEMORY;
    key->private_part = TRUE;
    *handle = ncrypt_object_add(&key->object, KIND_KEY, ncrypt_key_destroy);
    return ERROR_SUCCESS;
}

SECURITY_STATUS WINAPI NCryptFinalizeKey(NCRYPT_KEY_HANDLE handle, DWORD flags)
{
    struct key *key = ncrypt_object_get(handle, KIND_KEY);
    SECURITY_STATUS status = NTE_INVALID_HANDLE;

    (void)flags;
    if (!key)
        return NTE_INVALID_HANDLE;
    AcquireSRWLockExclusive(&key->lock);
    if (!key->handle && !key->algorithm)
        status = NTE_INVALID_PARAMETER; /* no curve */
    else if (!key->handle &&
             (status = ncrypt_map_status(ncrypt_native_generate(key->algorithm, key->bits, &key->handle))))
        key->handle = NULL;
    ReleaseSRWLockExclusive(&key->lock);
    ncrypt_object_release(key);
    return status;
}

/* The curve that a program names beside a blob must be the blob's own. */
static SECURITY_STATUS check_curve(const NCryptBufferDesc *parameters, const struct algorithm *algorithm)
{
    const BCryptBuffer *parameter;
    const WCHAR *curve;

    if (!ncrypt_find_parameter(parameters, 60, &parameter)) /* NCRYPTBUFFER_ECC_CURVE_NAME, ncrypt.h */
        return NTE_INVALID_PARAMETER;
    if (!parameter)
        return ERROR_SUCCESS;
    if (!(curve = ncrypt_parameter_text(parameter)))
        return NTE_INVALID_PARAMETER;
    return algorithm->curve && ncrypt_algorithm_on_curve(algorithm->family, curve) == algorithm ? ERROR_SUCCESS
                                                                                                : NTE_INVALID_PARAMETER;
}

/* Whether a blob of this magic may have this type. */
static BOOL is_type(const WCHAR *type, const struct key *key)
{
    BOOL rsa = key->family == FAMILY_RSA;

    if (!_wcsicmp(type, key->private_part ? BCRYPT_PRIVATE_KEY_BLOB : BCRYPT_PUBLIC_KEY_BLOB))
        return TRUE;
    if (!key->private_part)
        return !_wcsicmp(type, rsa ? BCRYPT_RSAPUBLIC_BLOB : BCRYPT_ECCPUBLIC_BLOB);
    return rsa ? !_wcsicmp(type, BCRYPT_RSAPRIVATE_BLOB) || !_wcsicmp(type, BCRYPT_RSAFULLPRIVATE_BLOB)
               : !_wcsicmp(type, BCRYPT_ECCPRIVATE_BLOB);
}

/*
 * The generic magics say nothing of the curve, which a parameter names: a copy of the blob with the curve's own. 0: it
 * is none of these.
 */
static SIZE_T name_curve(const NCryptBufferDesc *parameters, const BYTE *data, SIZE_T size, BYTE **copy)
{
    const struct algorithm *algorithm;
    const BCryptBuffer *parameter;
    enum family family;
    const WCHAR *curve;
    BOOL private_part;
    DWORD magic;

    if (size < ECC_HEADER)
        return 0;
    memcpy(&magic, data, sizeof(magic));
    if (magic != 0x50444345 && magic != 0x56444345 && magic != 0x504b4345 &&
        magic != 0x564b4345) /* bcrypt.h BCRYPT_ECD…_GENERIC_MAGIC */
        return 0;
    family = (magic >> 16 & 0xff) == 'D' ? FAMILY_ECDSA : FAMILY_ECDH;
    private_part = magic >> 24 == 'V';
    if (!ncrypt_find_parameter(parameters, 60, &parameter) || !parameter ||
        !(curve = ncrypt_parameter_text(parameter)) || !(algorithm = ncrypt_algorithm_on_curve(family, curve)) ||
        !(*copy = malloc(size)))
        return 0;
    memcpy(*copy, data, size);
    memcpy(*copy, private_part ? &algorithm->private_magic : &algorithm->public_magic, sizeof(magic));
    return size;
}

SECURITY_STATUS WINAPI NCryptImportKey(NCRYPT_PROV_HANDLE provider, NCRYPT_KEY_HANDLE import_key, LPCWSTR type,
                                       NCryptBufferDesc *parameters, NCRYPT_KEY_HANDLE *handle, PBYTE data, DWORD size,
                                       DWORD flags)
{
    struct object *owner = ncrypt_object_get(provider, KIND_PROVIDER);
    struct bytes der = {data, size};
    const BCryptBuffer *parameter;
    SECURITY_STATUS status;
    BYTE *copy = NULL;
    struct key *key;

    ncrypt_object_release(owner);
    if (!owner)
        return NTE_INVALID_HANDLE;
    if (!type || !handle || !data)
        return NTE_INVALID_PARAMETER;
    if (flags & ~(DWORD)(NCRYPT_SILENT_FLAG | NCRYPT_MACHINE_KEY_FLAG | NCRYPT_OVERWRITE_KEY_FLAG |
                         NCRYPT_DO_NOT_FINALIZE_FLAG | BCRYPT_NO_KEY_VALIDATION))
        return NTE_BAD_FLAGS;
    /* encrypted with a key or a password, or to be kept under a name */
    if (import_key || (ncrypt_find_parameter(parameters, NCRYPTBUFFER_PKCS_SECRET, &parameter) && parameter) ||
        (ncrypt_find_parameter(parameters, NCRYPTBUFFER_PKCS_KEY_NAME, &parameter) && parameter))
        return NTE_NOT_SUPPORTED;
    if (!_wcsicmp(type, NCRYPT_PKCS8_PRIVATE_KEY_BLOB))
    {
        if ((status = ncrypt_key_of_pkcs8(der, &key)))
            return status;
    }
    else
    {
        SIZE_T copied = name_curve(parameters, data, size, &copy);

        status = ncrypt_key_of_blob(copied ? copy : data, copied ? copied : size, &key);
        ncrypt_secure_free(copy, copied);
        if (status)
            return status;
        if (!is_type(type, key) || (status = check_curve(parameters, key->algorithm)))
        {
            ncrypt_key_destroy(&key->object);
            return status ? status : NTE_NOT_SUPPORTED;
        }
    }
    *handle = ncrypt_object_add(&key->object, KIND_KEY, ncrypt_key_destroy);
    return ERROR_SUCCESS;
}

/* Gives size bytes of data to a program, or only their number. */
static SECURITY_STATUS give(const BYTE *data, SIZE_T size, BYTE *output, DWORD room, DWORD *result)
{
    *result = (DWORD)size;
    if (!output)
        return ERROR_SUCCESS;
    if (room < size)
        return NTE_BUFFER_TOO_SMALL;
    memcpy(output, data, size);
    return ERROR_SUCCESS;
}

static SECURITY_STATUS export_pkcs8(const BYTE *data, SIZE_T size, BYTE *output, DWORD room, DWORD *result)
{
    struct der_out out = {NULL, 0, 0};
    SECURITY_STATUS status;
    struct blob blob;
    BYTE *der;

    if (!ncrypt_blob_read(data, size, &blob))
        return NTE_INTERNAL_ERROR;
    ncrypt_pkcs8_write(&out, &blob);
    if (!output)
        return give(NULL, out.size, NULL, 0, result);
    if (!(der = malloc(out.size)))
        return NTE_NO_MEMORY;
    out = (struct der_out){der + out.size, out.size, 0};
    ncrypt_pkcs8_write(&out, &blob);
    status = give(der, out.size, output, room, result);
    ncrypt_secure_free(der, out.size);
    return status;
}

/* Exports what type says; called with the key's lock. */
static SECURITY_STATUS export_key(struct key *key, const WCHAR *type, BYTE *output, DWORD room, DWORD *result)
{
    BOOL rsa = key->family == FAMILY_RSA, pkcs8 = !_wcsicmp(type, NCRYPT_PKCS8_PRIVATE_KEY_BLOB), private_part = TRUE,
         shorter = FALSE;
    SECURITY_STATUS status;
    struct blob blob;
    DWORD magic;
    BYTE *data;
    ULONG size;

    if (!_wcsicmp(type, BCRYPT_PUBLIC_KEY_BLOB) || !_wcsicmp(type, rsa ? BCRYPT_RSAPUBLIC_BLOB : BCRYPT_ECCPUBLIC_BLOB))
        private_part = FALSE;
    else if (rsa && (!_wcsicmp(type, BCRYPT_RSAPRIVATE_BLOB) || !_wcsicmp(type, BCRYPT_PRIVATE_KEY_BLOB)))
        shorter = TRUE;
    else if (!pkcs8 && _wcsicmp(type, rsa ? BCRYPT_RSAFULLPRIVATE_BLOB : BCRYPT_ECCPRIVATE_BLOB) &&
             (rsa || _wcsicmp(type, BCRYPT_PRIVATE_KEY_BLOB)))
        return NTE_NOT_SUPPORTED;
    if (private_part && !key->private_part)
        return NTE_BAD_KEY_STATE;
    if (private_part && !(key->policy & NCRYPT_ALLOW_PLAINTEXT_EXPORT_FLAG))
        return NTE_NOT_SUPPORTED;
    if ((status = ncrypt_map_status(ncrypt_native_export(key->handle, key->algorithm, private_part, &data, &size))))
        return status;
    if (!ncrypt_blob_read(data, size, &blob))
    {
        status = NTE_INTERNAL_ERROR;
    }
    else if (pkcs8)
    {
        status = export_pkcs8(data, size, output, room, result);
    }
    else
    {
        SIZE_T length = blob.data.size;

        if (shorter)
        {
            magic = RSA_PRIVATE_MAGIC;
            memcpy(data, &magic, sizeof(magic));
            length = RSA_HEADER + blob.exponent.size + blob.modulus.size + blob.prime1.size + blob.prime2.size;
        }
        status = give(data, length, output, room, result);
    }
    ncrypt_secure_free(data, size);
    return status;
}

SECURITY_STATUS WINAPI NCryptExportKey(NCRYPT_KEY_HANDLE handle, NCRYPT_KEY_HANDLE export_handle, LPCWSTR type,
                                       NCryptBufferDesc *parameters, PBYTE output, DWORD room, DWORD *result,
                                       DWORD flags)
{
    const BCryptBuffer *parameter;
    SECURITY_STATUS status;
    struct key *key;

    if (!type || !result)
        return NTE_INVALID_PARAMETER;
    if (flags & ~(DWORD)NCRYPT_SILENT_FLAG)
        return NTE_BAD_FLAGS;
    if (!ncrypt_find_parameter(parameters, NCRYPTBUFFER_PKCS_SECRET, &parameter))
        return NTE_INVALID_PARAMETER;
    if (export_handle || parameter)
        return NTE_NOT_SUPPORTED; /* encrypted */
    if (!(key = ncrypt_object_get(handle, KIND_KEY)))
        return NTE_INVALID_HANDLE;
    AcquireSRWLockExclusive(&key->lock);
    status = key->handle ? export_key(key, type, output, room, result) : NTE_BAD_KEY_STATE;
    ReleaseSRWLockExclusive(&key->lock);
    ncrypt_object_release(key);
    return status;
}
