/* Checks: each failed one prints a line to standard output. */
#ifndef MULLION_TEST_CHECK_H
#define MULLION_TEST_CHECK_H

#include <windows.h>

/* item names the case of a table, what the result that is checked. */
void check_number(const char *item, const char *what, long long got, long long want);
void check_status(const char *item, const char *what, NTSTATUS got, NTSTATUS want);
void check_text(const char *item, const char *what, const char *got, const char *want);

/* want is UTF-8. NULL equals only NULL. */
void check_wide(const char *item, const char *what, const WCHAR *got, const char *want);

/* Makes a wide string from UTF-8; the caller frees it. */
WCHAR *wide(const char *text);

/* Returns the exit code of a test: 1 if a check failed. */
int checks_end(void);

#endif
