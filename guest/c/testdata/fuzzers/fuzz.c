/*
 * Reads one input after the other from standard input, each as its length (four bytes, the lowest first) and its bytes,
 * and tries it. The answer is a bitmap of the places in the program that were come by, so that whoever mutates inputs
 * knows which ones lead to something new. A finding ends the program.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "convert.h"

enum
{
    PLACES = 1024, /* as many as fuzz_test.go has */
    MOST_INPUT = 1 << 20
};

static uint8_t seen[PLACES / 8];

/* Called by what the compiler has put at the beginning of each basic block (gcc: -fsanitize-coverage=trace-pc). */
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    uint32_t place = (uint32_t)((uintptr_t)__builtin_return_address(0) - (uintptr_t)__sanitizer_cov_trace_pc);

    place = place * 2654435761u >> 22; /* Knuth's multiplicative hash, to ten bits */
    seen[place / 8] |= (uint8_t)(1 << place % 8);
}

/* The address sanitizer's: bytes that were allocated and not freed. */
size_t __sanitizer_get_current_allocated_bytes(void);

void fuzz_fail(const char *what, long long got, long long want)
{
    fprintf(stderr, "%s: got %lld, want %lld\n", what, got, want);
    abort();
}

uint8_t fuzz_byte(const uint8_t **data, size_t *size)
{
    if (!*size)
        return 0;
    --*size;
    return *(*data)++;
}

void *fuzz_copy(const void *data, size_t size)
{
    void *copy = malloc(size);

    if (size)
        memcpy(copy, data, size);
    return copy;
}

WCHAR *fuzz_text(const uint8_t **data, size_t *size, char end)
{
    const uint8_t *at = *size ? memchr(*data, end, *size) : NULL;
    size_t length = at ? (size_t)(at - *data) : *size;
    WCHAR *text = malloc((length + 1) * sizeof(WCHAR)), *exact;
    ULONG chars = 0;

    utf16_from(text, (ULONG)length, &chars, (const char *)*data, (ULONG)length);
    text[chars] = 0;
    *data += length + (at != NULL);
    *size -= length + (at != NULL);
    exact = fuzz_copy(text, (wcslen(text) + 1) * sizeof(WCHAR));
    free(text);
    return exact;
}

/* FALSE at the end of the inputs. */
static int read_all(void *to, size_t size)
{
    return !size || fread(to, size, 1, stdin) == 1;
}

int main(void)
{
    static char in[MOST_INPUT], out[PLACES];
    uint8_t length[4];

    setvbuf(stdin, in, _IOFBF, sizeof(in));
    setvbuf(stdout, out, _IOFBF, sizeof(out));
    while (read_all(length, sizeof(length)))
    {
        size_t size = length[0] | length[1] << 8 | length[2] << 16 | (size_t)length[3] << 24;
        size_t before = __sanitizer_get_current_allocated_bytes();
        uint8_t *data;

        if (size > MOST_INPUT)
            fuzz_fail("the length of an input", (long long)size, MOST_INPUT);
        data = malloc(size);
        if (!read_all(data, size))
            fuzz_fail("the bytes of an input", 0, (long long)size);
        memset(seen, 0, sizeof(seen));
        fuzz_one(data, size);
        free(data);
        if (__sanitizer_get_current_allocated_bytes() != before)
            fuzz_fail("bytes that are allocated", (long long)__sanitizer_get_current_allocated_bytes(),
                      (long long)before);
        fwrite(seen, sizeof(seen), 1, stdout);
        fflush(stdout);
    }
    return 0;
}
