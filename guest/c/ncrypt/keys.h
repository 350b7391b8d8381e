/* What the parts of ncrypt.dll share: handles, keys, and what bcrypt.dll does for them. */
#ifndef MULLION_KEYS_H
#define MULLION_KEYS_H

#include <windows.h>

#include <bcrypt.h>
#include <ncrypt.h>

#include "blob.h"

#define STATUS_OK ((NTSTATUS)0)
#define STATUS_REFUSED ((NTSTATUS)0xc00000bbL) /* ntstatus.h STATUS_NOT_SUPPORTED */

enum kind
{
    KIND_PROVIDER = 1,
    KIND_KEY = 2,
    KIND_SECRET = 3,
    KIND_DERIVING = 4 /* kdf.c */
};

/*
 * What a handle stands for. A handle is the address of an object that is in the table (objects.c); any other number,
 * such as a handle of CAPI, is told from it without a look at what it points to.
 */
struct object
{
    enum kind kind; /* first, where an object of bcrypt.dll has a number that is none of these */
    LONG references;
    struct object *next;
    void (*destroy)(struct object *);
};

/* Puts object, whose other fields are filled in, into the table; the table has the reference. */
NCRYPT_HANDLE ncrypt_object_add(struct object *object, enum kind kind, void (*destroy)(struct object *));

/* The object of this kind (0: of any) with a reference to it, NULL if there is none. */
void *ncrypt_object_get(NCRYPT_HANDLE handle, enum kind kind);
void ncrypt_object_release(void *object);

/* Takes the handle out of the table; FALSE if it is not there. */
BOOL ncrypt_object_close(NCRYPT_HANDLE handle, enum kind kind);

/* What a program has set and nothing here reads. */
struct property
{
    struct property *next;
    WCHAR name[NCRYPT_MAX_PROPERTY_NAME + 1];
    DWORD size;
    BYTE value[];
};

struct key
{
    struct object object;
    SRWLOCK lock; /* bcrypt.dll's keys of RSA keep the padding of the last call, so one call at a time uses them; guards
                     the fields below too */
    const struct algorithm *algorithm; /* NULL: a curve is still to be set */
    enum family family;
    DWORD bits, policy, usage;
    BOOL private_part;
    BCRYPT_KEY_HANDLE handle; /* NULL: not made yet */
    struct property *properties;
};

/* A key object without a key of bcrypt.dll yet; NULL: no memory. */
struct key *ncrypt_key_new(const struct algorithm *algorithm, enum family family);
void ncrypt_key_destroy(struct object *object);

/* Makes a key object of a blob of bcrypt.dll. */
SECURITY_STATUS ncrypt_key_of_blob(const BYTE *data, SIZE_T size, struct key **key);
SECURITY_STATUS ncrypt_key_of_pkcs8(struct bytes der, struct key **key);

/* A provider object; 0: no memory. */
NCRYPT_PROV_HANDLE ncrypt_provider_new(void);

/* native.c: bcrypt.dll's part, with mends for what Wine 8 refuses. */
NTSTATUS ncrypt_native_generate(const struct algorithm *algorithm, DWORD bits, BCRYPT_KEY_HANDLE *key);
NTSTATUS ncrypt_native_import(const struct blob *blob, BCRYPT_KEY_HANDLE *key);

/* Exports with the private part or without; the caller frees *data with ncrypt_secure_free. */
NTSTATUS ncrypt_native_export(BCRYPT_KEY_HANDLE key, const struct algorithm *algorithm, BOOL private_part, BYTE **data,
                              ULONG *size);
BOOL ncrypt_native_has(const WCHAR *algorithm);
void ncrypt_secure_free(void *data, SIZE_T size);

/*
 * oaep.c: RSA with OAEP. The blob is that of the key, for decrypting with its private part; *out_size is the room, at
 * least as many bytes as the modulus has, and becomes the size.
 */
SECURITY_STATUS ncrypt_oaep(const struct blob *key, BOOL encrypt, const BCRYPT_OAEP_PADDING_INFO *padding,
                            const BYTE *in, DWORD in_size, BYTE *out, DWORD *out_size);

/* derive.c: values computed with bcrypt.dll's hashes. */
ULONG ncrypt_hash_size(const WCHAR *algorithm);

/* secret NULL: a plain hash, else HMAC. The parts are hashed one after another. */
NTSTATUS ncrypt_hash_parts(const WCHAR *algorithm, const struct bytes *secret, const struct bytes *parts,
                           unsigned count, BYTE *out, ULONG size);

SECURITY_STATUS ncrypt_map_status(NTSTATUS status);

/* The parameter of this type; NULL if there is none. FALSE: the list is not valid. */
BOOL ncrypt_find_parameter(const BCryptBufferDesc *list, ULONG type, const BCryptBuffer **found);

/* A parameter that is text: NULL if it is not terminated. */
const WCHAR *ncrypt_parameter_text(const BCryptBuffer *parameter);

#endif
