/* Providers, and what a program asks of them. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

static const WCHAR provider_name[] = L"Microsoft Software Key Storage Provider"; /* ncrypt.h MS_KEY_STORAGE_PROVIDER */

static void provider_destroy(struct object *object)
{
    free(object);
}

NCRYPT_PROV_HANDLE ncrypt_provider_new(void)
{
    struct object *provider = calloc(1, sizeof(*provider));

    return provider ? ncrypt_object_add(provider, KIND_PROVIDER, provider_destroy) : 0;
}

static BOOL is_provider(NCRYPT_HANDLE handle)
{
    struct object *provider = ncrypt_object_get(handle, KIND_PROVIDER);

    ncrypt_object_release(provider);
    return provider != NULL;
}

SECURITY_STATUS WINAPI NCryptOpenStorageProvider(NCRYPT_PROV_HANDLE *provider, LPCWSTR name, DWORD flags)
{
    (void)flags;
    if (!provider)
        return NTE_INVALID_PARAMETER;
    if (name && _wcsicmp(name, provider_name))
        return NTE_KEYSET_NOT_DEF; /* the providers of smart cards and TPMs */
    *provider = ncrypt_provider_new();
    return *provider ? ERROR_SUCCESS : NTE_NO_MEMORY;
}

SECURITY_STATUS WINAPI NCryptEnumStorageProviders(DWORD *count, NCryptProviderName **list, DWORD flags)
{
    NCryptProviderName *names;

    (void)flags;
    if (!count || !list)
        return NTE_INVALID_PARAMETER;
    if (!(names = calloc(1, sizeof(*names) + sizeof(provider_name) + sizeof(WCHAR))))
        return NTE_NO_MEMORY;
    names->pszName = memcpy(names + 1, provider_name, sizeof(provider_name));
    names->pszComment = (WCHAR *)((BYTE *)(names + 1) + sizeof(provider_name));
    *count = 1;
    *list = names;
    return ERROR_SUCCESS;
}

/* The operations of bcrypt.h that keys of a family are for. */
static DWORD operations(enum family family)
{
    if (family == FAMILY_RSA)
        return NCRYPT_ASYMMETRIC_ENCRYPTION_OPERATION | NCRYPT_SIGNATURE_OPERATION;
    return family == FAMILY_ECDSA ? NCRYPT_SIGNATURE_OPERATION : NCRYPT_SECRET_AGREEMENT_OPERATION;
}

static DWORD interface_of(enum family family)
{
    if (family == FAMILY_RSA)
        return BCRYPT_ASYMMETRIC_ENCRYPTION_INTERFACE;
    return family == FAMILY_ECDSA ? BCRYPT_SIGNATURE_INTERFACE : BCRYPT_SECRET_AGREEMENT_INTERFACE;
}

SECURITY_STATUS WINAPI NCryptEnumAlgorithms(NCRYPT_PROV_HANDLE provider, DWORD wanted, DWORD *count,
                                            NCryptAlgorithmName **list, DWORD flags)
{
    const struct algorithm *algorithm;
    NCryptAlgorithmName *names;
    DWORD found = 0;

    (void)flags;
    if (!count || !list)
        return NTE_INVALID_PARAMETER;
    if (!is_provider(provider))
        return NTE_INVALID_HANDLE;
    for (unsigned i = 0; ncrypt_algorithm_at(i); i++)
        found++;
    if (!(names = calloc(found, sizeof(*names))))
        return NTE_NO_MEMORY;
    found = 0;
    for (unsigned i = 0; (algorithm = ncrypt_algorithm_at(i)); i++)
    {
        if ((wanted && !(wanted & operations(algorithm->family))) || !ncrypt_native_has(algorithm->name))
            continue;
        names[found].pszName = (WCHAR *)algorithm->name;
        names[found].dwClass = interface_of(algorithm->family);
        names[found++].dwAlgOperations = operations(algorithm->family);
    }
    *count = found;
    *list = names;
    return ERROR_SUCCESS;
}

SECURITY_STATUS WINAPI NCryptIsAlgSupported(NCRYPT_PROV_HANDLE provider, LPCWSTR name, DWORD flags)
{
    const struct algorithm *algorithm;

    if (!name)
        return NTE_INVALID_PARAMETER;
    if (flags & ~(DWORD)NCRYPT_SILENT_FLAG)
        return NTE_BAD_FLAGS;
    if (!is_provider(provider))
        return NTE_INVALID_HANDLE;
    if (!_wcsicmp(name, L"ECDSA") || !_wcsicmp(name, L"ECDH"))
        return ERROR_SUCCESS;
    return (algorithm = ncrypt_algorithm_by_name(name)) && ncrypt_native_has(algorithm->name) ? ERROR_SUCCESS
                                                                                              : NTE_NOT_SUPPORTED;
}

/* There are no keys with names. */
SECURITY_STATUS WINAPI NCryptOpenKey(NCRYPT_PROV_HANDLE provider, NCRYPT_KEY_HANDLE *key, LPCWSTR name, DWORD spec,
                                     DWORD flags)
{
    (void)spec;
    (void)flags;
    if (!key || !name)
        return NTE_INVALID_PARAMETER;
    return is_provider(provider) ? NTE_BAD_KEYSET : NTE_INVALID_HANDLE;
}

SECURITY_STATUS WINAPI NCryptEnumKeys(NCRYPT_PROV_HANDLE provider, LPCWSTR scope, NCryptKeyName **name, PVOID *state,
                                      DWORD flags)
{
    (void)scope;
    (void)flags;
    if (!name || !state)
        return NTE_INVALID_PARAMETER;
    return is_provider(provider) ? NTE_NO_MORE_ITEMS : NTE_INVALID_HANDLE;
}

SECURITY_STATUS WINAPI NCryptDeleteKey(NCRYPT_KEY_HANDLE handle, DWORD flags)
{
    (void)flags;
    return ncrypt_object_close(handle, KIND_KEY) ? ERROR_SUCCESS : NTE_INVALID_HANDLE;
}

SECURITY_STATUS WINAPI NCryptFreeObject(NCRYPT_HANDLE handle)
{
    return ncrypt_object_close(handle, 0) ? ERROR_SUCCESS : NTE_INVALID_HANDLE;
}

SECURITY_STATUS WINAPI NCryptFreeBuffer(PVOID buffer)
{
    free(buffer);
    return ERROR_SUCCESS;
}

WINBOOL WINAPI NCryptIsKeyHandle(NCRYPT_KEY_HANDLE handle)
{
    struct key *key = ncrypt_object_get(handle, KIND_KEY);

    ncrypt_object_release(key);
    return key != NULL;
}

/* What the provider answers; NULL: it has no property of this name. */
static const void *provider_property(const WCHAR *name, DWORD *size)
{
    static const DWORD software = NCRYPT_IMPL_SOFTWARE_FLAG, longest_name = MAX_PATH, version = 0x10000, none = 0;

    *size = sizeof(DWORD);
    if (!_wcsicmp(name, NCRYPT_NAME_PROPERTY))
    {
        *size = sizeof(provider_name);
        return provider_name;
    }
    if (!_wcsicmp(name, NCRYPT_IMPL_TYPE_PROPERTY))
        return &software;
    if (!_wcsicmp(name, NCRYPT_MAX_NAME_LENGTH_PROPERTY))
        return &longest_name;
    if (!_wcsicmp(name, NCRYPT_VERSION_PROPERTY))
        return &version;
    return !_wcsicmp(name, NCRYPT_SECURITY_DESCR_SUPPORT_PROPERTY) ? &none : NULL;
}

static SECURITY_STATUS give(const void *value, DWORD size, BYTE *output, DWORD room, DWORD *result)
{
    *result = size;
    if (!output)
        return ERROR_SUCCESS;
    if (room < size)
        return NTE_BUFFER_TOO_SMALL;
    memcpy(output, value, size);
    return ERROR_SUCCESS;
}

static SECURITY_STATUS give_text(const WCHAR *text, BYTE *output, DWORD room, DWORD *result)
{
    return give(text, (lstrlenW(text) + 1) * sizeof(WCHAR), output, room, result);
}

static SECURITY_STATUS give_number(DWORD number, BYTE *output, DWORD room, DWORD *result)
{
    return give(&number, sizeof(number), output, room, result);
}

/* A handle of its own for whoever asks, who frees it. */
static SECURITY_STATUS give_provider(BYTE *output, DWORD room, DWORD *result)
{
    NCRYPT_PROV_HANDLE provider = 0;

    if (output && room >= sizeof(provider) && !(provider = ncrypt_provider_new()))
        return NTE_NO_MEMORY;
    return give(&provider, sizeof(provider), output, room, result);
}

static DWORD bytes_of(const struct key *key)
{
    return (key->bits + 7) / 8;
}

static SECURITY_STATUS give_lengths(const struct key *key, BYTE *output, DWORD room, DWORD *result)
{
    NCRYPT_SUPPORTED_LENGTHS lengths = {key->bits, key->bits, 0, key->bits};

    if (key->family == FAMILY_RSA)
        lengths = (NCRYPT_SUPPORTED_LENGTHS){RSA_MIN_BITS, RSA_MAX_BITS, 64, 2048};
    return give(&lengths, sizeof(lengths), output, room, result);
}

/* Called with the key's lock. */
static SECURITY_STATUS key_property(struct key *key, const WCHAR *name, BYTE *output, DWORD room, DWORD *result)
{
    static const WCHAR *const groups[] = {L"RSA", L"ECDSA", L"ECDH"};

    if (!_wcsicmp(name, NCRYPT_ALGORITHM_PROPERTY))
        return give_text(key->algorithm ? key->algorithm->name : groups[key->family], output, room, result);
    if (!_wcsicmp(name, NCRYPT_ALGORITHM_GROUP_PROPERTY))
        return give_text(groups[key->family], output, room, result);
    if (!_wcsicmp(name, L"ECCCurveName") && key->algorithm && key->algorithm->curve)
        return give_text(key->algorithm->curve, output, room, result);
    if (!_wcsicmp(name, NCRYPT_LENGTH_PROPERTY) || !_wcsicmp(name, L"PublicKeyLength"))
        return give_number(key->bits, output, room, result);
    if (!_wcsicmp(name, NCRYPT_LENGTHS_PROPERTY))
        return give_lengths(key, output, room, result);
    if (!_wcsicmp(name, NCRYPT_BLOCK_LENGTH_PROPERTY))
        return give_number(bytes_of(key), output, room, result);
    if (!_wcsicmp(name, BCRYPT_SIGNATURE_LENGTH) && key->family != FAMILY_ECDH)
        return give_number(key->family == FAMILY_RSA ? bytes_of(key) : 2 * bytes_of(key), output, room, result);
    if (!_wcsicmp(name, NCRYPT_EXPORT_POLICY_PROPERTY))
        return give_number(key->policy, output, room, result);
    if (!_wcsicmp(name, NCRYPT_KEY_USAGE_PROPERTY))
        return give_number(key->usage, output, room, result);
    if (!_wcsicmp(name, NCRYPT_IMPL_TYPE_PROPERTY))
        return give_number(NCRYPT_IMPL_SOFTWARE_FLAG, output, room, result);
    if (!_wcsicmp(name, NCRYPT_KEY_TYPE_PROPERTY))
        return give_number(0, output, room, result); /* a user's */
    if (!_wcsicmp(name, NCRYPT_PROVIDER_HANDLE_PROPERTY))
        return give_provider(output, room, result);
    for (const struct property *p = key->properties; p; p = p->next)
        if (!_wcsicmp(p->name, name))
            return give(p->value, p->size, output, room, result);
    return NTE_NOT_FOUND;
}

SECURITY_STATUS WINAPI NCryptGetProperty(NCRYPT_HANDLE handle, LPCWSTR name, PBYTE output, DWORD room, DWORD *result,
                                         DWORD flags)
{
    SECURITY_STATUS status = NTE_NOT_FOUND;
    struct object *object;
    const void *value;
    DWORD size;

    (void)flags;
    if (!name || !result)
        return NTE_INVALID_PARAMETER;
    if (!(object = ncrypt_object_get(handle, 0)) || object->kind == KIND_SECRET)
    {
        ncrypt_object_release(object);
        return NTE_INVALID_HANDLE;
    }
    if (object->kind == KIND_KEY)
    {
        AcquireSRWLockShared(&((struct key *)object)->lock);
        status = key_property((struct key *)object, name, output, room, result);
        ReleaseSRWLockShared(&((struct key *)object)->lock);
    }
    else if ((value = provider_property(name, &size)))
    {
        status = give(value, size, output, room, result);
    }
    ncrypt_object_release(object);
    return status;
}

static SECURITY_STATUS keep_property(struct key *key, const WCHAR *name, const BYTE *value, DWORD size)
{
    struct property **link = &key->properties, *old, *property;

    if (lstrlenW(name) > NCRYPT_MAX_PROPERTY_NAME || size > NCRYPT_MAX_PROPERTY_DATA)
        return NTE_INVALID_PARAMETER;
    if (!(property = malloc(sizeof(*property) + size)))
        return NTE_NO_MEMORY;
    lstrcpyW(property->name, name);
    property->size = size;
    memcpy(property->value, value, size);
    while (*link && _wcsicmp((*link)->name, name))
        link = &(*link)->next;
    old = *link;
    property->next = old ? old->next : NULL;
    *link = property;
    free(old);
    return ERROR_SUCCESS;
}

static SECURITY_STATUS set_length(struct key *key, DWORD bits)
{
    if (key->handle)
        return NTE_INVALID_HANDLE; /* as Windows: the key is made already */
    if (key->family != FAMILY_RSA)
        return bits == key->bits ? ERROR_SUCCESS : NTE_BAD_LEN;
    if (bits < RSA_MIN_BITS || bits > RSA_MAX_BITS || bits % 8)
        return NTE_BAD_LEN;
    key->bits = bits;
    return ERROR_SUCCESS;
}

static SECURITY_STATUS set_curve(struct key *key, const BYTE *value, DWORD size)
{
    BCryptBuffer text = {size, 0, (void *)value};
    const struct algorithm *algorithm;
    const WCHAR *curve = ncrypt_parameter_text(&text);

    if (!curve || key->handle || key->family == FAMILY_RSA)
        return NTE_INVALID_PARAMETER;
    if (!(algorithm = ncrypt_algorithm_on_curve(key->family, curve)) || !ncrypt_native_has(algorithm->name))
        return NTE_NOT_SUPPORTED;
    if (key->algorithm && key->algorithm != algorithm)
        return NTE_INVALID_PARAMETER;
    key->algorithm = algorithm;
    key->bits = algorithm->bits;
    return ERROR_SUCCESS;
}

SECURITY_STATUS WINAPI NCryptSetProperty(NCRYPT_HANDLE handle, LPCWSTR name, PBYTE value, DWORD size, DWORD flags)
{
    struct key *key = ncrypt_object_get(handle, KIND_KEY);
    SECURITY_STATUS status = ERROR_SUCCESS;
    DWORD number = 0;

    (void)flags;
    if (!key)
        return is_provider(handle) ? NTE_NOT_SUPPORTED : NTE_INVALID_HANDLE;
    if (name && value && size >= sizeof(number))
        memcpy(&number, value, sizeof(number));
    AcquireSRWLockExclusive(&key->lock);
    if (!name || (!value && size))
        status = NTE_INVALID_PARAMETER;
    else if (!_wcsicmp(name, L"ECCCurveName"))
        status = set_curve(key, value, size);
    else if (_wcsicmp(name, NCRYPT_LENGTH_PROPERTY) && _wcsicmp(name, NCRYPT_EXPORT_POLICY_PROPERTY) &&
             _wcsicmp(name, NCRYPT_KEY_USAGE_PROPERTY))
        status = keep_property(key, name, value, size);
    else if (size != sizeof(number))
        status = NTE_BAD_DATA;
    else if (!_wcsicmp(name, NCRYPT_LENGTH_PROPERTY))
        status = set_length(key, number);
    else if (!_wcsicmp(name, NCRYPT_EXPORT_POLICY_PROPERTY))
        key->policy = number;
    else
        key->usage = number;
    ReleaseSRWLockExclusive(&key->lock);
    ncrypt_object_release(key);
    return status;
}
