# Programs of .NET load it when they start: no C run-time library.
CFLAGS  += -fno-tree-loop-distribute-patterns
LDFLAGS += -nostdlib -Wl,-e,DllMain
LIBS    += -lkernel32 -lgcc
COMMON  := crt.c
