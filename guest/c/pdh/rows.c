/* The rows of a table, and their fields. */
#include "counters.h"

#include <stdlib.h>

struct row *pdh_add_row(struct table *table, const WCHAR *name)
{
    struct row *row;

    if (table->count == table->room)
    {
        int room = table->room ? table->room * 2 : 16;
        struct row *more = realloc(table->rows, (size_t)room * sizeof(*more));

        if (!more)
            return NULL;
        table->rows = more;
        table->room = room;
    }
    row = &table->rows[table->count++];
    row->have = 0;
    for (int i = 0; i < FIELDS_MAX; i++)
        row->value[i] = 0;
    pdh_copy_name(row->name, name, NAME_MAX_CHARS);
    return row;
}

void pdh_set_field(struct row *row, int field, LONGLONG value)
{
    if (!row)
        return; /* no memory: the instance is left out */
    row->have |= 1u << field;
    row->value[field] = value;
}

void pdh_add_to(struct row *row, int field, LONGLONG value)
{
    if (row)
        pdh_set_field(row, field, row->value[field] + value);
}
