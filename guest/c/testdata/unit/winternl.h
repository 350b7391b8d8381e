/* Everything is in the windows.h beside this file. */
#include <windows.h>
