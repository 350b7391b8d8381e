/* The originals behind the hooks of ws2_32.dll. */
#include "winsock.h"

struct socket_originals winsock;
