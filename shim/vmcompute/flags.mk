COMMON := hns_client.c
LIBS   := -lole32 -lws2_32
