# A driver, which Wine loads into winedevice.exe: a program without a C run-time library of its own, whose entry point
# is DriverEntry. Wine takes a file that imports kernel32.dll for a misnamed library and calls its entry point when it
# is loaded; so functions of Win32 come from the API sets.
NAME    := mullionhttp
CFLAGS  += -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns
LDFLAGS := -s -nostartfiles -Wl,-e,DriverEntry -Wl,--subsystem,native -Wl,--dynamicbase -Wl,--no-insert-timestamp
LIBS    := -lntoskrnl -lmswsock -lws2_32 -lmincore
HEADER  :=
COMMON  := ipaddress.c
