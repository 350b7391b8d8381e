/* Checks: one that fails is a line on the standard output. */
#ifndef MULLION_TEST_CHECK_H
#define MULLION_TEST_CHECK_H

#include <windows.h>

/* item says which case of a table it is, what which answer of the part. */
void check_number(const char *item, const char *what, long long got, long long want);
void check_status(const char *item, const char *what, NTSTATUS got, NTSTATUS want);
void check_text(const char *item, const char *what, const char *got, const char *want);

/* want is UTF-8. NULL is a text of its own. */
void check_wide(const char *item, const char *what, const WCHAR *got, const char *want);

/* A new wide string of UTF-8, to be freed. */
WCHAR *wide(const char *text);

/* The end of a test: 1 if a check failed. */
int checks_end(void);

#endif
