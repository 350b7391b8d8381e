/* A fuzz target is a program of fuzz.c and one file that has fuzz_one (guest/c/fuzz_test.go). */
#ifndef MULLION_FUZZ_H
#define MULLION_FUZZ_H

#include <windows.h>

/* Tries one input, which lies in a block of its own size, so that the sanitizer finds a look beyond its end. */
void fuzz_one(const uint8_t *data, size_t size);

/* Ends the program: something does not hold that has to. */
void fuzz_fail(const char *what, long long got, long long want);

/* Takes a byte off the front; 0 at the end. */
uint8_t fuzz_byte(const uint8_t **data, size_t *size);

/* Takes a text off the front, UTF-8, up to end or the whole of it; the caller frees it. */
WCHAR *fuzz_text(const uint8_t **data, size_t *size, char end);

/* A copy in a block of its own size, which the caller frees. */
void *fuzz_copy(const void *data, size_t size);

#endif
