/* Instances: elements by name, and the memory that they need. */
#include "mi.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct element
{
    const WCHAR *name;
    int type;
    DWORD flags;
    union mi_value value;
};

/* A piece of memory that is freed with the instance. */
struct piece
{
    struct piece *next;
    LONGLONG data[];
};

/* Programs see the first part; the layout is that of MI_Instance. */
struct mi_instance
{
    const void *functions;
    struct mi_class_decl *class_decl;
    const WCHAR *server, *space;
    ptrdiff_t reserved[4];

    struct mi_class_decl decl;
    struct element *elements;
    const struct mi_property_decl **properties;
    DWORD count, room;
    struct piece *pieces;
};

void *mi_instance_memory(struct mi_instance *instance, size_t size)
{
    struct piece *piece = calloc(1, sizeof(*piece) + size);

    if (!piece)
        return NULL;
    piece->next = instance->pieces;
    instance->pieces = piece;
    return piece->data;
}

WCHAR *mi_instance_text(struct mi_instance *instance, const WCHAR *text)
{
    size_t size = (wcslen(text) + 1) * sizeof(WCHAR);
    WCHAR *copy = mi_instance_memory(instance, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

void mi_free_instance(struct mi_instance *instance)
{
    if (!instance)
        return;
    for (struct piece *piece = instance->pieces, *next; piece; piece = next)
    {
        next = piece->next;
        free(piece);
    }
    free(instance->elements);
    free((void *)instance->properties);
    free(instance);
}

static BOOL grow(struct mi_instance *instance)
{
    DWORD room = instance->room ? instance->room * 2 : 16;
    struct element *elements;
    const struct mi_property_decl **properties;

    if (instance->count < instance->room)
        return TRUE;
    if ((elements = realloc(instance->elements, room * sizeof(*elements))))
        instance->elements = elements;
    if ((properties = realloc((void *)instance->properties, room * sizeof(*properties))))
        instance->properties = properties;
    if (!elements || !properties)
        return FALSE;
    instance->room = room;
    instance->decl.properties = properties;
    return TRUE;
}

/* value is NULL for an element without one. */
BOOL mi_add_element(struct mi_instance *instance, const WCHAR *name, int type, const union mi_value *value)
{
    struct mi_property_decl *decl = mi_instance_memory(instance, sizeof(*decl));
    const WCHAR *copy = mi_instance_text(instance, name);
    struct element *element;

    if (!decl || !copy || !grow(instance))
        return FALSE;
    element = &instance->elements[instance->count];
    memset(element, 0, sizeof(*element));
    element->name = copy;
    element->type = type;
    element->flags = MI_FLAG_PROPERTY | (value ? 0 : MI_FLAG_NULL);
    if (value)
        element->value = *value;
    decl->flags = MI_FLAG_PROPERTY;
    decl->name = copy;
    decl->type = (DWORD)type;
    instance->properties[instance->count++] = decl;
    instance->decl.property_count = instance->count;
    return TRUE;
}

static MI_Result WINAPI instance_delete(struct mi_instance *instance)
{
    /* Those that an operation hands out are its own, as on Windows, where deleting them is an error too. */
    (void)instance;
    return MI_RESULT_INVALID_PARAMETER;
}

static MI_Result WINAPI instance_get_class_name(const struct mi_instance *instance, const WCHAR **name)
{
    if (!instance || !name)
        return MI_RESULT_INVALID_PARAMETER;
    *name = instance->decl.name;
    return MI_RESULT_OK;
}

static MI_Result WINAPI instance_get_space(const struct mi_instance *instance, const WCHAR **space)
{
    if (!instance || !space)
        return MI_RESULT_INVALID_PARAMETER;
    *space = instance->space;
    return MI_RESULT_OK;
}

static MI_Result WINAPI instance_get_server(const struct mi_instance *instance, const WCHAR **server)
{
    if (!instance || !server)
        return MI_RESULT_INVALID_PARAMETER;
    *server = instance->server;
    return MI_RESULT_OK;
}

static MI_Result WINAPI instance_get_count(const struct mi_instance *instance, DWORD *count)
{
    if (!instance || !count)
        return MI_RESULT_INVALID_PARAMETER;
    *count = instance->count;
    return MI_RESULT_OK;
}

/* Writes no more of the value than its type has: programs pass variables that are as long as that. */
static MI_Result get_element(const struct element *element, const WCHAR **name, void *value, DWORD *type, DWORD *flags)
{
    if (name)
        *name = element->name;
    if (value)
        memcpy(value, &element->value, mi_size_of(element->type));
    if (type)
        *type = (DWORD)element->type;
    if (flags)
        *flags = element->flags;
    return MI_RESULT_OK;
}

static MI_Result WINAPI instance_get_element(const struct mi_instance *instance, const WCHAR *name, void *value,
                                             DWORD *type, DWORD *flags, DWORD *index)
{
    if (!instance || !name)
        return MI_RESULT_INVALID_PARAMETER;
    for (DWORD i = 0; i < instance->count; i++)
    {
        if (_wcsicmp(instance->elements[i].name, name))
            continue;
        if (index)
            *index = i;
        return get_element(&instance->elements[i], NULL, value, type, flags);
    }
    return MI_RESULT_NO_SUCH_PROPERTY;
}

static MI_Result WINAPI instance_get_element_at(const struct mi_instance *instance, DWORD index, const WCHAR **name,
                                                void *value, DWORD *type, DWORD *flags)
{
    if (!instance)
        return MI_RESULT_INVALID_PARAMETER;
    if (index >= instance->count)
        return MI_RESULT_NOT_FOUND;
    return get_element(&instance->elements[index], name, value, type, flags);
}

static MI_Result WINAPI instance_is_a(const struct mi_instance *instance, const struct mi_class_decl *class,
                                      MI_Boolean *flag)
{
    if (!instance || !class || !flag)
        return MI_RESULT_INVALID_PARAMETER;
    *flag = _wcsicmp(instance->decl.name, class->name) == 0;
    return MI_RESULT_OK;
}

/* MI_InstanceFT; instances cannot be changed, copied or asked for their class. */
static const void *const instance_functions[] = {
    mi_not_supported,                                                /* Clone */
    instance_delete,                                                 /* Destruct */
    instance_delete,                                                 /* Delete */
    instance_is_a,        instance_get_class_name, mi_not_supported, /* SetNameSpace */
    instance_get_space,   instance_get_count,      mi_not_supported, /* AddElement */
    mi_not_supported,                                                /* SetElement */
    mi_not_supported,                                                /* SetElementAt */
    instance_get_element, instance_get_element_at, mi_not_supported, /* ClearElement */
    mi_not_supported,                                                /* ClearElementAt */
    instance_get_server,  mi_not_supported,                          /* SetServerName */
    mi_not_supported,                                                /* GetClass */
};

struct mi_instance *mi_new_instance(const WCHAR *class, const WCHAR *space)
{
    struct mi_instance *instance = calloc(1, sizeof(*instance));

    if (!instance)
        return NULL;
    instance->functions = instance_functions;
    instance->class_decl = &instance->decl;
    instance->decl.flags = MI_FLAG_CLASS;
    instance->decl.name = mi_instance_text(instance, class);
    instance->space = mi_instance_text(instance, space);
    if (!instance->decl.name || !instance->space)
    {
        mi_free_instance(instance);
        return NULL;
    }
    return instance;
}
