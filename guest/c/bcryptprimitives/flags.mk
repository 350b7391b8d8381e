LDFLAGS += -nostdlib -Wl,-e,DllMain
LIBS    += -lkernel32
