NAME    := mullionhook
CFLAGS  += -fno-tree-loop-distribute-patterns
LDFLAGS += -nostdlib -Wl,-e,DllMain
LIBS    += -lkernel32 -lntdll -lgcc
COMMON  := ipaddress.c crt.c ctrlexit.c dercode.c nodememory.c stacks.c zones.c
HEADER  := hooks/nt.h
