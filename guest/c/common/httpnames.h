/* The first headers of HTTP_HEADER_ID, in its order: those that requests and responses share. */
#pragma once

#define HTTP_COMMON_HEADERS \
    "Cache-Control", "Connection", "Date", "Keep-Alive", "Pragma", "Trailer", "Transfer-Encoding", "Upgrade", "Via", \
        "Warning", "Allow", "Content-Length", "Content-Type", "Content-Encoding", "Content-Language", \
        "Content-Location", "Content-MD5", "Content-Range", "Expires", "Last-Modified"
