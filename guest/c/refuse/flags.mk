CFLAGS  += -Os -ffreestanding -fno-builtin -fno-asynchronous-unwind-tables -mno-stack-arg-probe
LDFLAGS := -s -nostdlib -nostartfiles -Wl,-e,refuse_entry -Wl,--subsystem,console -Wl,--no-insert-timestamp
LIBS    := -lkernel32
