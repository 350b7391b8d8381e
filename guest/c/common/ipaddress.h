/* Addresses as text (RFC 3986, 3.2.2). They know no Windows and no Wine. */
#ifndef MULLION_IPADDRESS_H
#define MULLION_IPADDRESS_H

#include <stdint.h>

/* An address, as IPv6 has it or IPv4 mapped to it. */
struct address
{
    uint8_t bytes[16];
};

/* Reads an address, with brackets if it is one of IPv6, and writes it. */
int ipaddress_read(struct address *address, const char *text, uint32_t length);
uint32_t ipaddress_write(const struct address *address, char text[64]);

#endif
