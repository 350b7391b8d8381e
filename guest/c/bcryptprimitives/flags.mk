LDFLAGS += -nostdlib -Wl,-e,DllMain
LIBS    += -ladvapi32 -lkernel32
