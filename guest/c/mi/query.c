/* Queries WMI through COM, and makes instances of what it answers. */
#define COBJMACROS
#include "mi.h"

#include <wbemidl.h>
#include <string.h>
#include <wchar.h>

enum
{
    SPACE_CHARS = 512,
};

/* {4590F811-1D3A-11D0-891F-00AA004B2E24} and {DC12A687-737F-11CF-884D-00AA004B2E24}: wbemidl.idl */
static const GUID locator_class = {0x4590f811, 0x1d3a, 0x11d0, {0x89, 0x1f, 0x00, 0xaa, 0x00, 0x4b, 0x2e, 0x24}};
static const GUID locator_interface = {0xdc12a687, 0x737f, 0x11cf, {0x88, 0x4d, 0x00, 0xaa, 0x00, 0x4b, 0x2e, 0x24}};

static HRESULT open_namespace(const WCHAR *space, IWbemServices **services)
{
    WCHAR path[SPACE_CHARS];
    IWbemLocator *locator;
    BSTR name;
    HRESULT error;

    if (!mi_namespace_path(path, SPACE_CHARS, space))
        return (HRESULT)WBEM_E_INVALID_NAMESPACE;
    error = CoCreateInstance(&locator_class, NULL, CLSCTX_INPROC_SERVER, &locator_interface, (void **)&locator);
    if (FAILED(error))
        return error;
    name = SysAllocString(path);
    error = name ? IWbemLocator_ConnectServer(locator, name, NULL, NULL, NULL, 0, NULL, NULL, services) : E_OUTOFMEMORY;
    SysFreeString(name);
    IWbemLocator_Release(locator);
    return error;
}

/* A number that COM carries as a text (64 bits) or in some integer type. */
static LONGLONG number_of(const VARIANT *from)
{
    switch (V_VT(from))
    {
    case VT_BOOL: return V_BOOL(from) != VARIANT_FALSE;
    case VT_I1: return V_I1(from);
    case VT_UI1: return V_UI1(from);
    case VT_I2: return V_I2(from);
    case VT_UI2: return V_UI2(from);
    case VT_I4: return V_I4(from);
    case VT_UI4: return V_UI4(from);
    case VT_I8: return V_I8(from);
    case VT_UI8: return (LONGLONG)V_UI8(from);
    case VT_BSTR:
        return V_BSTR(from)[0] == '-' ? wcstoll(V_BSTR(from), NULL, 10) : (LONGLONG)wcstoull(V_BSTR(from), NULL, 10);
    default: return 0;
    }
}

static double real_of(const VARIANT *from)
{
    return V_VT(from) == VT_R4 ? (double)V_R4(from) : V_VT(from) == VT_R8 ? V_R8(from) : (double)number_of(from);
}

/*
 * A value of a type that is no array. FALSE if there is none: nothing, a text that is no date, a reference to another
 * instance.
 */
static BOOL single_value(struct mi_instance *instance, int type, const VARIANT *from, union mi_value *out)
{
    memset(out, 0, sizeof(*out));
    if (V_VT(from) == VT_NULL || V_VT(from) == VT_EMPTY)
        return FALSE;
    switch (type)
    {
    case MI_STRING: return V_VT(from) == VT_BSTR && (out->string = mi_instance_text(instance, V_BSTR(from)));
    case MI_DATETIME: return V_VT(from) == VT_BSTR && mi_parse_datetime(V_BSTR(from), &out->datetime);
    case MI_REAL32: out->real32 = (float)real_of(from); return TRUE;
    case MI_REAL64: out->real64 = real_of(from); return TRUE;
    case MI_BOOLEAN: out->boolean = number_of(from) != 0; return TRUE;
    case MI_REFERENCE:
    case MI_INSTANCE: return FALSE;
    default: out->number = number_of(from); return TRUE;
    }
}

/* The element of an array as a variant, which the caller does not clear: a text stays the array's. */
static BOOL array_item(const VARIANT *array, LONG index, VARIANT *item)
{
    VARTYPE type = V_VT(array) & VT_TYPEMASK;
    const char *data;
    ULONG size = SafeArrayGetElemsize(V_ARRAY(array));

    memset(item, 0, sizeof(*item));
    if (type == VT_VARIANT || type == VT_DISPATCH || type == VT_UNKNOWN || size > 8 ||
        FAILED(SafeArrayAccessData(V_ARRAY(array), (void **)&data)))
        return FALSE;
    V_VT(item) = type;
    memcpy(&V_I8(item), data + (size_t)index * size, size);
    SafeArrayUnaccessData(V_ARRAY(array));
    return type != VT_BSTR || V_BSTR(item);
}

static BOOL array_value(struct mi_instance *instance, int type, const VARIANT *from, union mi_value *out)
{
    size_t size = mi_size_of(type & ~MI_ARRAY);
    LONG low, high;
    char *data;

    memset(out, 0, sizeof(*out));
    if (!(V_VT(from) & VT_ARRAY) || SafeArrayGetDim(V_ARRAY(from)) != 1 ||
        FAILED(SafeArrayGetLBound(V_ARRAY(from), 1, &low)) || FAILED(SafeArrayGetUBound(V_ARRAY(from), 1, &high)) ||
        !(data = mi_instance_memory(instance, size * (size_t)(high - low + 1))))
        return FALSE;
    for (LONG i = 0; i <= high - low; i++)
    {
        union mi_value value;
        VARIANT item;

        if (array_item(from, i, &item) && single_value(instance, type & ~MI_ARRAY, &item, &value))
            memcpy(data + (size_t)i * size, &value, size);
    }
    out->array.data = data;
    out->array.size = (DWORD)(high - low + 1);
    return TRUE;
}

static BOOL add_property(struct mi_instance *instance, const WCHAR *name, CIMTYPE cim_type, const VARIANT *from)
{
    int type = mi_type_of(cim_type);
    union mi_value value;
    BOOL has;

    if (type < 0)
        return TRUE;
    has = type & MI_ARRAY ? array_value(instance, type, from, &value) : single_value(instance, type, from, &value);
    return mi_add_element(instance, name, type, has ? &value : NULL);
}

static struct mi_instance *make_instance(IWbemClassObject *object, const WCHAR *space)
{
    struct mi_instance *instance = NULL;
    BOOL ok = TRUE;
    VARIANT value;
    CIMTYPE type;
    BSTR name;

    VariantInit(&value);
    if (SUCCEEDED(IWbemClassObject_Get(object, L"__CLASS", 0, &value, NULL, NULL)) && V_VT(&value) == VT_BSTR)
        instance = mi_new_instance(V_BSTR(&value), space);
    VariantClear(&value);
    if (!instance || FAILED(IWbemClassObject_BeginEnumeration(object, WBEM_FLAG_NONSYSTEM_ONLY)))
        return instance;
    while (ok && IWbemClassObject_Next(object, 0, &name, &value, &type, NULL) == WBEM_S_NO_ERROR)
    {
        ok = add_property(instance, name, type, &value);
        SysFreeString(name);
        VariantClear(&value);
    }
    IWbemClassObject_EndEnumeration(object);
    if (ok)
        return instance;
    mi_free_instance(instance);
    return NULL;
}

/* Hands out what an enumeration has, until there is no more or nobody wants more, and counts it. */
static HRESULT deliver_all(IEnumWbemClassObject *objects, const struct mi_query *query, int *count)
{
    BOOL wanted = TRUE;

    for (*count = 0; wanted; (*count)++)
    {
        IWbemClassObject *object = NULL;
        struct mi_instance *instance;
        ULONG got = 0;
        HRESULT error = IEnumWbemClassObject_Next(objects, WBEM_INFINITE, 1, &object, &got);

        if (FAILED(error) || !got)
            return FAILED(error) ? error : S_OK;
        instance = make_instance(object, query->space);
        IWbemClassObject_Release(object);
        if (!instance)
            return E_OUTOFMEMORY;
        wanted = query->deliver(query->operation, instance);
    }
    return S_OK;
}

/* Wine's WMI finds nothing in a class that it does not have, where Windows says that there is no such class. */
static HRESULT check_class(IWbemServices *services, const WCHAR *query)
{
    IWbemClassObject *object = NULL;
    WCHAR class[SPACE_CHARS];
    HRESULT error;
    BSTR name;

    if (!mi_class_of_query(class, SPACE_CHARS, query))
        return S_OK;
    if (!(name = SysAllocString(class)))
        return E_OUTOFMEMORY;
    error = IWbemServices_GetObject(services, name, 0, NULL, &object, NULL);
    SysFreeString(name);
    if (object)
        IWbemClassObject_Release(object);
    return FAILED(error) ? (HRESULT)WBEM_E_INVALID_CLASS : S_OK;
}

HRESULT mi_run_query(const struct mi_query *query)
{
    HRESULT apartment = CoInitializeEx(NULL, COINIT_MULTITHREADED), error;
    BSTR language = SysAllocString(L"WQL"), text = SysAllocString(query->text);
    IEnumWbemClassObject *objects = NULL;
    IWbemServices *services = NULL;
    int count = 0;

    error = language && text ? open_namespace(query->space, &services) : E_OUTOFMEMORY;
    if (SUCCEEDED(error))
        error = IWbemServices_ExecQuery(services, language, text, WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY,
                                        NULL, &objects);
    if (SUCCEEDED(error))
        error = deliver_all(objects, query, &count);
    if (SUCCEEDED(error) && !count)
        error = check_class(services, query->text);
    if (objects)
        IEnumWbemClassObject_Release(objects);
    if (services)
        IWbemServices_Release(services);
    SysFreeString(language);
    SysFreeString(text);
    if (SUCCEEDED(apartment))
        CoUninitialize();
    return error;
}
