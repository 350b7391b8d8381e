# mullion-run.exe starts before everything else in a container and stays: no C run-time library, nothing but kernel32
# and ntdll.
NAME    := mullion-run
CFLAGS  += -Os -ffreestanding -fno-builtin -fno-stack-protector -fno-asynchronous-unwind-tables -mno-stack-arg-probe \
           -ffunction-sections
LDFLAGS := -s -nostdlib -nostartfiles -Wl,--gc-sections -Wl,-e,run_entry -Wl,--subsystem,console \
           -Wl,--no-insert-timestamp -Wl,--stack,0x100000
LIBS    := -lkernel32 -lntdll
COMMON  := ctrlexit.c stacks.c zones.c
