# virtdisk.h declares the functions as those of another library.
CFLAGS += -Wno-attributes
COMMON := hns_client.c copies.c
LIBS   := -lole32 -lws2_32
