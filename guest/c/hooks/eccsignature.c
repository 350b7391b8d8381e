/*
 * Signatures of certificates by elliptic curves (ECDSA).
 *
 * Fact (Wine 8.0): its verifier puts the two numbers of a signature one after the other as long as they are, where CNG
 * wants each as long as the curve's order. So the one certificate in 128 with a number that begins with a zero byte is
 * of an unknown authority. Wine decodes the signature by CryptDecodeObjectEx, which fills the numbers up here if it is
 * crypt32.dll that asks.
 */
#include "winsock.h"

#include <wincrypt.h>

#include "patch.h"

typedef BOOL(WINAPI *decode)(DWORD, const char *, const BYTE *, DWORD, DWORD, CRYPT_DECODE_PARA *, void *, DWORD *);

static struct
{
    decode original;
    const BYTE *begin, *end; /* of crypt32.dll */
} wine;

/* The length of the numbers of a curve of NIST whose order has no fewer bytes; 0: there is none. */
static DWORD order_bytes(DWORD least)
{
    return least <= 32 ? 32 : least <= 48 ? 48 : least <= 66 ? 66 : 0;
}

/*
 * A copy with both numbers filled up, which are little-endian; NULL: the signature is good as it is. The caller frees
 * the copy with LocalFree.
 */
static CERT_ECC_SIGNATURE *filled_up(const CERT_ECC_SIGNATURE *signature)
{
    DWORD longer = signature->r.cbData > signature->s.cbData ? signature->r.cbData : signature->s.cbData,
          bytes = order_bytes(longer);
    CERT_ECC_SIGNATURE *copy;

    if (!bytes || (signature->r.cbData == bytes && signature->s.cbData == bytes) ||
        !(copy = LocalAlloc(LPTR, sizeof(*copy) + 2 * bytes)))
        return NULL;
    copy->r.cbData = copy->s.cbData = bytes;
    copy->r.pbData = (BYTE *)(copy + 1);
    copy->s.pbData = copy->r.pbData + bytes;
    memcpy(copy->r.pbData, signature->r.pbData, signature->r.cbData);
    memcpy(copy->s.pbData, signature->s.pbData, signature->s.cbData);
    return copy;
}

static BOOL WINAPI hook_CryptDecodeObjectEx(DWORD encoding, const char *type, const BYTE *encoded, DWORD size,
                                            DWORD flags, CRYPT_DECODE_PARA *parameters, void *info, DWORD *info_size)
{
    const BYTE *caller = __builtin_return_address(0);
    CERT_ECC_SIGNATURE *copy;

    if (!wine.original(encoding, type, encoded, size, flags, parameters, info, info_size))
        return FALSE;
    if (type == X509_ECC_SIGNATURE && (flags & CRYPT_DECODE_ALLOC_FLAG) && !parameters && caller >= wine.begin &&
        caller < wine.end && (copy = filled_up(*(CERT_ECC_SIGNATURE **)info)))
    {
        LocalFree(*(HLOCAL *)info);
        *(CERT_ECC_SIGNATURE **)info = copy;
    }
    return TRUE;
}

void eccsignature_start(HMODULE crypt32)
{
    wine.begin = (const BYTE *)crypt32;
    wine.end = wine.begin +
               ((IMAGE_NT_HEADERS *)(wine.begin + ((IMAGE_DOS_HEADER *)crypt32)->e_lfanew))->OptionalHeader.SizeOfImage;
    if (!wine.original)
        patch_function(crypt32, "CryptDecodeObjectEx", hook_CryptDecodeObjectEx, (void **)&wine.original);
}
