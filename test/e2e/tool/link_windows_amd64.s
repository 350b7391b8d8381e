#include "textflag.h"

// func linuxSymlink(text, name *byte) int
TEXT ·linuxSymlink(SB), NOSPLIT, $0-24
	MOVQ $88, AX // SYS_symlink of asm/unistd_64.h
	MOVQ text+0(FP), DI
	MOVQ name+8(FP), SI
	SYSCALL
	MOVQ AX, ret+16(FP)
	RET
