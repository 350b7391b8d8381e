CFLAGS += -I hooks
LIBS := -lkernel32 -lntdll
