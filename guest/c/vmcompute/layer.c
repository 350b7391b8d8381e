/* The functions of layers, as calls of Mullion's server: each is about a folder of this host's C:. */
#include "hns_client.h"

#include <objbase.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* What the id of a layer is relative to. */
struct driver
{
    int flavour;
    const WCHAR *home;
};

/* WC_LAYER_DESCRIPTOR */
struct descriptor
{
    GUID id;
    ULONG flags;
    const WCHAR *path;
};

/* The folder of a layer, to be freed. */
static WCHAR *folder_of(const struct driver *driver, const WCHAR *id)
{
    const WCHAR *home = driver && driver->home ? driver->home : L"";
    size_t length = wcslen(home);
    WCHAR *path = malloc((length + wcslen(id) + 2) * sizeof(WCHAR));

    if (!path)
        return NULL;
    wcscpy(path, home);
    if (length && home[length - 1] != '\\')
        path[length++] = '\\';
    wcscpy(path + length, id);
    return path;
}

/* The paths of layers, a line each, to be freed. */
static WCHAR *lines_of(const struct descriptor *layers, ULONG_PTR count)
{
    size_t size = 1;
    WCHAR *lines, *at;

    for (ULONG_PTR i = 0; i < count; i++)
        size += wcslen(layers[i].path) + 1;
    if (!(lines = at = malloc(size * sizeof(WCHAR))))
        return NULL;
    for (ULONG_PTR i = 0; i < count; i++)
    {
        wcscpy(at, layers[i].path);
        at += wcslen(at);
        *at++ = '\n';
    }
    *at = 0;
    return lines;
}

/* A call about a layer. The answer goes to *answer, unless that is NULL. */
static HRESULT ask(const char *function, const struct driver *driver, const WCHAR *id, const WCHAR *text,
                   const WCHAR *more, WCHAR **answer)
{
    struct hns_call call = {.function = function, .texts = more ? 3 : text ? 2 : 1, .text = {NULL, text, more}};
    HRESULT result = E_OUTOFMEMORY;
    WCHAR *path;

    if (!id)
        return E_POINTER;
    if ((path = folder_of(driver, id)))
    {
        call.text[0] = path;
        result = hns_call(&call);
    }
    free(path);
    CoTaskMemFree(call.record);
    if (answer)
        *answer = call.answer;
    else
        CoTaskMemFree(call.answer);
    return result;
}

/* A call about a layer and those below it. */
static HRESULT ask_above(const char *function, const struct driver *driver, const WCHAR *id, const WCHAR *text,
                         const struct descriptor *layers, ULONG_PTR count)
{
    WCHAR *lines = lines_of(layers, count);
    HRESULT result = lines ? ask(function, driver, id, text ? text : lines, text ? lines : NULL, NULL) : E_OUTOFMEMORY;

    free(lines);
    return result;
}

HRESULT WINAPI ActivateLayer(const struct driver *driver, const WCHAR *id)
{
    return ask("ActivateLayer", driver, id, NULL, NULL, NULL);
}

HRESULT WINAPI DeactivateLayer(const struct driver *driver, const WCHAR *id)
{
    return ask("DeactivateLayer", driver, id, NULL, NULL, NULL);
}

HRESULT WINAPI PrepareLayer(const struct driver *driver, const WCHAR *id, const struct descriptor *layers,
                            ULONG_PTR count)
{
    return ask_above("PrepareLayer", driver, id, NULL, layers, count);
}

HRESULT WINAPI UnprepareLayer(const struct driver *driver, const WCHAR *id)
{
    return ask("UnprepareLayer", driver, id, NULL, NULL, NULL);
}

HRESULT WINAPI CreateLayer(const struct driver *driver, const WCHAR *id, const WCHAR *parent)
{
    (void)parent; /* which the writer of the layer's files names again */
    return ask("CreateLayer", driver, id, NULL, NULL, NULL);
}

HRESULT WINAPI CreateSandboxLayer(const struct driver *driver, const WCHAR *id, void *parent,
                                  const struct descriptor *layers, ULONG_PTR count)
{
    (void)parent;
    (void)layers; /* which PrepareLayer names */
    (void)count;
    return ask("CreateSandboxLayer", driver, id, NULL, NULL, NULL);
}

HRESULT WINAPI ExpandSandboxSize(const struct driver *driver, const WCHAR *id, ULONGLONG size)
{
    WCHAR number[24];

    _ui64tow(size, number, 10);
    return ask("ExpandSandboxSize", driver, id, number, NULL, NULL);
}

HRESULT WINAPI DestroyLayer(const struct driver *driver, const WCHAR *id)
{
    return ask("DestroyLayer", driver, id, NULL, NULL, NULL);
}

HRESULT WINAPI ImportLayer(const struct driver *driver, const WCHAR *id, const WCHAR *path,
                           const struct descriptor *layers, ULONG_PTR count)
{
    return path ? ask_above("ImportLayer", driver, id, path, layers, count) : E_POINTER;
}

HRESULT WINAPI ExportLayer(const struct driver *driver, const WCHAR *id, const WCHAR *path,
                           const struct descriptor *layers, ULONG_PTR count)
{
    return path ? ask_above("ExportLayer", driver, id, path, layers, count) : E_POINTER;
}

HRESULT WINAPI ProcessBaseImage(const WCHAR *path)
{
    return ask("ProcessBaseImage", NULL, path, NULL, NULL, NULL);
}

HRESULT WINAPI LayerExists(const struct driver *driver, const WCHAR *id, ULONG *exists)
{
    WCHAR *answer = NULL;
    HRESULT result;

    if (!exists)
        return E_POINTER;
    result = ask("LayerExists", driver, id, NULL, NULL, &answer);
    *exists = answer && *answer == '1';
    CoTaskMemFree(answer);
    return result;
}

/* Without a buffer only the length is told, with the NUL. */
HRESULT WINAPI GetLayerMountPath(const struct driver *driver, const WCHAR *id, ULONG_PTR *length, WCHAR *buffer)
{
    WCHAR *answer = NULL;
    ULONG_PTR needed;
    HRESULT result;

    if (!length)
        return E_POINTER;
    result = ask("GetLayerMountPath", driver, id, NULL, NULL, &answer);
    needed = answer ? wcslen(answer) + 1 : 0;
    if (SUCCEEDED(result) && buffer && *length < needed)
        result = HRESULT_FROM_WIN32(ERROR_INSUFFICIENT_BUFFER);
    else if (SUCCEEDED(result) && buffer)
        wcscpy(buffer, answer ? answer : L"");
    *length = needed;
    CoTaskMemFree(answer);
    return result;
}

HRESULT WINAPI NameToGuid(const WCHAR *name, GUID *guid)
{
    struct hns_call call = {.function = "NameToGuid", .texts = 1, .text = {name}};
    HRESULT result;

    if (!name || !guid)
        return E_POINTER;
    result = hns_call(&call);
    *guid = call.id;
    CoTaskMemFree(call.answer);
    CoTaskMemFree(call.record);
    return result;
}
