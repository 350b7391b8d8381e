COMMON := hns_client.c copies.c
LIBS   := -lole32 -lws2_32
