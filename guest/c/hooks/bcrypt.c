/*
 * Algorithms of bcrypt.dll that Wine lacks: PBKDF2, HKDF and SP800_108_CTR_HMAC as keys to derive from,
 * BCryptKeyDerivation, and RSA with OAEP.
 *
 * Facts (Wine 8.0 and 10.0): it knows neither these algorithms nor the numbers that stand for them (bcrypt.h,
 * BCRYPT_PBKDF2_ALG_HANDLE and others), and exports no BCryptKeyDerivation, so .NET 6 and later have no PBKDF2 in one
 * call. Wine 8.0 refuses OAEP; Wine 10.0 refuses it without a label, as .NET calls it, and with a GnuTLS before 3.8.4
 * encrypts otherwise than it was asked.
 *
 * What is missing is in our ncrypt.dll (guest/c/ncrypt/kdf.c, oaep.c), which is loaded when a program first wants it.
 * Who imports BCryptKeyDerivation gets nothing; who looks for it with GetProcAddress, as .NET does, finds it.
 */
#include <string.h>

#include "winsock.h"

#include "nt.h"
#include "patch.h"

#define PAD_OAEP 4u /* bcrypt.h BCRYPT_PAD_OAEP */

static struct
{
    NTSTATUS(WINAPI *BCryptOpenAlgorithmProvider)(void **, const WCHAR *, const WCHAR *, ULONG);
    NTSTATUS(WINAPI *BCryptCloseAlgorithmProvider)(void *, ULONG);
    NTSTATUS(WINAPI *BCryptGenerateSymmetricKey)(void *, void **, BYTE *, ULONG, BYTE *, ULONG, ULONG);
    NTSTATUS(WINAPI *BCryptDestroyKey)(void *);
    NTSTATUS(WINAPI *BCryptSetProperty)(void *, const WCHAR *, BYTE *, ULONG, ULONG);
    NTSTATUS(WINAPI *BCryptEncrypt)(void *, BYTE *, ULONG, void *, BYTE *, ULONG, BYTE *, ULONG, ULONG *, ULONG);
    NTSTATUS(WINAPI *BCryptDecrypt)(void *, BYTE *, ULONG, void *, BYTE *, ULONG, BYTE *, ULONG, ULONG *, ULONG);
} wine;

/* guest/c/ncrypt/kdf.c; STATUS_NOT_SUPPORTED: not one of ours. */
struct ours
{
    NTSTATUS(WINAPI *open)(void **, const WCHAR *);
    NTSTATUS(WINAPI *close)(void *);
    NTSTATUS(WINAPI *make)(void *, void **, const BYTE *, ULONG);
    NTSTATUS(WINAPI *destroy)(void *);
    NTSTATUS(WINAPI *set)(void *, const WCHAR *, const BYTE *, ULONG);
    NTSTATUS(WINAPI *oaep)(void *, BOOL, const BYTE *, ULONG, const void *, BYTE *, ULONG, ULONG *);
};

static HMODULE wine_bcrypt;
static struct ours functions;
static LONG loaded;

/* Our functions; NULL if ncrypt.dll is Wine's, or has not been wanted yet and load is FALSE. */
static const struct ours *ours(BOOL load)
{
    void(WINAPI * native)(void *, void *);
    DWORD error = GetLastError();
    struct ours found;
    HMODULE ncrypt;

    if (!__atomic_load_n(&loaded, __ATOMIC_ACQUIRE) && load && (ncrypt = LoadLibraryW(L"ncrypt.dll")))
    {
        found.open = (void *)GetProcAddress(ncrypt, "MullionOpenDeriving");
        found.close = (void *)GetProcAddress(ncrypt, "MullionCloseDeriving");
        found.make = (void *)GetProcAddress(ncrypt, "MullionMakeDeriving");
        found.destroy = (void *)GetProcAddress(ncrypt, "MullionDestroyDeriving");
        found.set = (void *)GetProcAddress(ncrypt, "MullionSetDeriving");
        found.oaep = (void *)GetProcAddress(ncrypt, "MullionOaep");
        native = (void *)GetProcAddress(ncrypt, "MullionNative");
        if (found.open && found.close && found.make && found.destroy && found.set && found.oaep && native)
        {
            native(wine.BCryptEncrypt, wine.BCryptDecrypt);
            functions = found; /* two threads at once write the same */
            __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
        }
    }
    SetLastError(error);
    return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE) ? &functions : NULL;
}

static NTSTATUS WINAPI hook_BCryptOpenAlgorithmProvider(void **handle, const WCHAR *name, const WCHAR *implementation,
                                                        ULONG flags)
{
    NTSTATUS status = wine.BCryptOpenAlgorithmProvider(handle, name, implementation, flags);

    if (status != STATUS_NOT_IMPLEMENTED || !name || (*name != 'P' && *name != 'H' && *name != 'S') || !ours(TRUE))
        return status;
    return ours(FALSE)->open(handle, name) ? status : STATUS_SUCCESS;
}

static NTSTATUS WINAPI hook_BCryptCloseAlgorithmProvider(void *handle, ULONG flags)
{
    NTSTATUS status = wine.BCryptCloseAlgorithmProvider(handle, flags);

    return status == STATUS_INVALID_HANDLE && ours(FALSE) && !ours(FALSE)->close(handle) ? STATUS_SUCCESS : status;
}

static NTSTATUS WINAPI hook_BCryptGenerateSymmetricKey(void *algorithm, void **key, BYTE *object, ULONG object_size,
                                                       BYTE *secret, ULONG size, ULONG flags)
{
    NTSTATUS status = wine.BCryptGenerateSymmetricKey(algorithm, key, object, object_size, secret, size, flags), made;

    /* a number in place of a handle */
    if (!status || (ULONG_PTR)algorithm > 0xfff || !ours(TRUE))
        return status;
    made = ours(FALSE)->make(algorithm, key, secret, size);
    return made == STATUS_NOT_SUPPORTED ? status : made;
}

static NTSTATUS WINAPI hook_BCryptDestroyKey(void *key)
{
    NTSTATUS status = wine.BCryptDestroyKey(key);

    return status == STATUS_INVALID_HANDLE && ours(FALSE) && !ours(FALSE)->destroy(key) ? STATUS_SUCCESS : status;
}

static NTSTATUS WINAPI hook_BCryptSetProperty(void *handle, const WCHAR *name, BYTE *value, ULONG size, ULONG flags)
{
    NTSTATUS status = wine.BCryptSetProperty(handle, name, value, size, flags), set;

    if (status != STATUS_INVALID_HANDLE || !ours(FALSE))
        return status;
    set = ours(FALSE)->set(handle, name, value, size);
    return set == STATUS_NOT_SUPPORTED ? status : set;
}

static NTSTATUS WINAPI hook_BCryptEncrypt(void *key, BYTE *in, ULONG in_size, void *padding, BYTE *iv, ULONG iv_size,
                                          BYTE *out, ULONG out_size, ULONG *result, ULONG flags)
{
    if (flags == PAD_OAEP && padding && ours(TRUE))
        return ours(FALSE)->oaep(key, TRUE, in, in_size, padding, out, out_size, result);
    return wine.BCryptEncrypt(key, in, in_size, padding, iv, iv_size, out, out_size, result, flags);
}

static NTSTATUS WINAPI hook_BCryptDecrypt(void *key, BYTE *in, ULONG in_size, void *padding, BYTE *iv, ULONG iv_size,
                                          BYTE *out, ULONG out_size, ULONG *result, ULONG flags)
{
    if (flags == PAD_OAEP && padding && ours(TRUE))
        return ours(FALSE)->oaep(key, FALSE, in, in_size, padding, out, out_size, result);
    return wine.BCryptDecrypt(key, in, in_size, padding, iv, iv_size, out, out_size, result, flags);
}

void *bcrypt_derivation_address(HMODULE module, const char *name, unsigned length)
{
    static const char wanted[] = "BCryptKeyDerivation";

    if (!module || module != wine_bcrypt || length != sizeof(wanted) - 1 || memcmp(name, wanted, length) || !ours(TRUE))
        return NULL;
    return (void *)GetProcAddress(GetModuleHandleW(L"ncrypt.dll"), wanted);
}

void bcrypt_start(HMODULE bcrypt)
{
    if (wine_bcrypt)
        return;
    wine_bcrypt = bcrypt;
#define PATCH_BCRYPT(name) patch_function(bcrypt, #name, hook_##name, (void **)&wine.name)
    /* keys that can be made must be destroyed, too */
    if (!PATCH_BCRYPT(BCryptDestroyKey) || !PATCH_BCRYPT(BCryptCloseAlgorithmProvider))
        return;
    PATCH_BCRYPT(BCryptOpenAlgorithmProvider);
    PATCH_BCRYPT(BCryptGenerateSymmetricKey);
    PATCH_BCRYPT(BCryptSetProperty);
    PATCH_BCRYPT(BCryptEncrypt);
    PATCH_BCRYPT(BCryptDecrypt);
#undef PATCH_BCRYPT
}
