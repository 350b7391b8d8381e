/* Tests of the table of handles (hooks/table.c): which object a handle has, and when objects are destroyed. */
#include "heap.h"
#include "table.h"

#include <stdlib.h>

#include "check.h"

static int destroyed;

struct thing
{
    struct object object;
    int number;
};

static void destroy(struct object *object)
{
    destroyed++;
    heap_free(object);
}

static struct thing *make(enum object_type type, int number)
{
    struct thing *thing = heap_alloc(sizeof(*thing));

    thing->object.type = type;
    thing->object.references = 1;
    thing->object.destroy = destroy;
    thing->number = number;
    return thing;
}

static HANDLE handle(unsigned long number)
{
    return (HANDLE)(number << 2);
}

/*
 * The low two bits of a handle are the program's (learn.microsoft.com/windows/win32/sysinfo/handle-inheritance;
 * winnt.h: "Obj handles are 4-aligned").
 */
static void test_handles(void)
{
    struct thing *thing = make(OBJECT_LINK, 7), *got;

    table_put((HANDLE)0x44, &thing->object);
    got = table_get((HANDLE)0x47, OBJECT_LINK);
    check_number("a handle with its low bits set", "found", got == thing, TRUE);
    if (got)
        table_object_release(&got->object);
    check_number("another type", "found", table_get((HANDLE)0x44, OBJECT_SCAN) != NULL, FALSE);
    check_number("the next handle", "found", table_get((HANDLE)0x48, OBJECT_LINK) != NULL, FALSE);
    check_number("the null handle", "found", table_get(NULL, OBJECT_LINK) != NULL, FALSE);
    check_number("no handle at all", "found", table_take((HANDLE)(INT64)-1) != NULL, FALSE);
    check_number("taken", "the object", table_take((HANDLE)0x46) == &thing->object, TRUE);
    check_number("taken again", "found", table_take((HANDLE)0x44) != NULL, FALSE);
    check_number("taken", "destroyed", destroyed, 0);
    table_object_release(&thing->object);
    check_number("taken and released", "destroyed", destroyed, 1);
}

/* A handle's value is used again: the table drops the old object, which lives until its last user releases it. */
static void test_replaced(void)
{
    struct thing *held;

    destroyed = 0;
    table_put(handle(5), &make(OBJECT_LINK, 1)->object);
    held = table_get(handle(5), OBJECT_LINK);
    table_put(handle(5), &make(OBJECT_SCAN, 2)->object);
    check_number("replaced and held", "destroyed", destroyed, 0);
    check_number("replaced and held", "number", held->number, 1);
    check_number("replaced", "found as what it was", table_get(handle(5), OBJECT_LINK) != NULL, FALSE);
    table_object_release(&held->object);
    check_number("replaced and released", "destroyed", destroyed, 1);
    table_object_release(table_take(handle(5)));
    check_number("all gone", "destroyed", destroyed, 2);
}

static BOOL has_number(struct object *object, const void *number)
{
    return ((struct thing *)object)->number == *(const int *)number;
}

/* More handles than the table has places: four for each place. */
static void test_many(void)
{
    enum
    {
        MANY = 4096
    };
    int number = 4000;
    struct thing *found;

    destroyed = 0;
    for (int i = 1; i <= MANY; i++)
        table_put(handle((unsigned long)i), &make(i % 2 ? OBJECT_LINK : OBJECT_SOCKET, i)->object);
    for (int i = 1; i <= MANY; i++)
    {
        struct thing *thing = table_get(handle((unsigned long)i), i % 2 ? OBJECT_LINK : OBJECT_SOCKET);

        check_number("many", "number", thing ? thing->number : 0, i);
        if (thing)
            table_object_release(&thing->object);
    }
    found = (struct thing *)table_find(OBJECT_SOCKET, has_number, &number);
    check_number("found by what it is", "number", found ? found->number : 0, 4000);
    check_number("found as another type", "found", table_find(OBJECT_LINK, has_number, &number) != NULL, FALSE);
    for (int i = MANY; i >= 1; i -= 3) /* from the front, the middle and the end of a place's chain */
        table_object_release(table_take(handle((unsigned long)i)));
    for (int i = 1; i <= MANY; i++)
    {
        struct object *left = table_take(handle((unsigned long)i));

        check_number("many", "still there", left != NULL, i % 3 != 1);
        if (left)
            table_object_release(left);
    }
    check_number("many", "destroyed", destroyed, MANY - 1);
    table_object_release(&found->object);
    check_number("many, and the one found", "destroyed", destroyed, MANY);
}

int main(void)
{
    test_handles();
    test_replaced();
    test_many();
    heap_free(NULL);
    check_number("the end", "blocks of memory left", heap_left(), 0);
    return checks_end();
}
