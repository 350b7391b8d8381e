LIBS := -ladvapi32 -lkernel32
