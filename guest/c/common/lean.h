/* lean.h: windows.h without what few files need (WIN32_LEAN_AND_MEAN); those include it themselves. */
#ifndef MULLION_LEAN_H
#define MULLION_LEAN_H

#include <windows.h>

#endif
