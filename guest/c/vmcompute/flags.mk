COMMON := hns_client.c copies.c hcs_handle.c hcs_process.c
LIBS   := -lole32 -lws2_32
