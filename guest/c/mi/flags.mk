LIBS := -lole32 -loleaut32 -lkernel32
