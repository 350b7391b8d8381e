/* The names of a server's certificate, which whoever answers has made, and the name that was asked for. */
#include "sslname.h"

#include <stdlib.h>

#include "fuzz.h"

void fuzz_one(const uint8_t *data, size_t size)
{
    size_t host = fuzz_byte(&data, &size) % 64;
    char *name;
    BYTE *names;

    if (host > size)
        host = size;
    name = fuzz_copy(data, host);
    names = fuzz_copy(data + host, size - host);
    ssl_name_matches((struct bytes){names, size - host}, name, host);
    free(names);
    free(name);
}
