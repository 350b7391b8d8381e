/* Reading texts of the kernel, word by word. */
#ifndef MULLION_PDH_SCAN_H
#define MULLION_PDH_SCAN_H

#include "counters.h"

const char *pdh_next_line(const char *line);
const char *pdh_skip_blanks(const char *at);
const char *pdh_after(const char *line, const char *word);
BOOL pdh_take_number(const char **at, LONGLONG *number);

#endif
