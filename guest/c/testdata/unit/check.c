#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "convert.h"

static int failed;

static void fail(const char *item, const char *what, const char *got, const char *want)
{
    printf("%.80s: %s: got %s, want %s\n", item, what, got, want);
    fflush(stdout); /* a finding of the sanitizers ends the program at once */
    failed = 1;
}

void check_number(const char *item, const char *what, long long got, long long want)
{
    char a[32], b[32];

    snprintf(a, sizeof(a), "%lld (0x%llx)", got, (unsigned long long)got);
    snprintf(b, sizeof(b), "%lld (0x%llx)", want, (unsigned long long)want);
    if (got != want)
        fail(item, what, a, b);
}

void check_status(const char *item, const char *what, NTSTATUS got, NTSTATUS want)
{
    char a[16], b[16];

    snprintf(a, sizeof(a), "0x%08x", (unsigned)got);
    snprintf(b, sizeof(b), "0x%08x", (unsigned)want);
    if (got != want)
        fail(item, what, a, b);
}

void check_text(const char *item, const char *what, const char *got, const char *want)
{
    if (!got != !want || (got && strcmp(got, want)))
        fail(item, what, got ? got : "nothing", want ? want : "nothing");
}

void check_wide(const char *item, const char *what, const WCHAR *got, const char *want)
{
    ULONG length = got ? (ULONG)wide_length(got) : 0, bytes = 0;
    char *text = malloc(3 * length + 1);

    utf8_from(text, 3 * length, &bytes, got, length);
    text[bytes] = 0;
    check_text(item, what, got ? text : NULL, want);
    free(text);
}

WCHAR *wide(const char *text)
{
    ULONG length = (ULONG)strlen(text), chars = 0;
    WCHAR *made = malloc((length + 1) * sizeof(WCHAR));

    utf16_from(made, length, &chars, text, length);
    made[chars] = 0;
    return made;
}

int checks_end(void)
{
    return failed;
}
