CFLAGS += -I hooks
LIBS := -lkernel32 -lntdll
COMMON := nodememory.c
