LIBS := -lkernel32
