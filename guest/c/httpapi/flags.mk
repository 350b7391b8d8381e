LIBS := -ladvapi32 -lkernel32 -lntdll
