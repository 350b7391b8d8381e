LIBS := -lws2_32 -liphlpapi
