COMMON := dercode.c
LIBS   := -lbcrypt -lcrypt32 -ladvapi32 -lkernel32
