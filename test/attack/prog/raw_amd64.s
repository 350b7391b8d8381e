#include "textflag.h"

// func raw(call *[7]uintptr) int
TEXT ·raw(SB), NOSPLIT, $0-16
	MOVQ	call+0(FP), BX
	MOVQ	0(BX), AX
	MOVQ	8(BX), DI
	MOVQ	16(BX), SI
	MOVQ	24(BX), DX
	MOVQ	32(BX), R10
	MOVQ	40(BX), R8
	MOVQ	48(BX), R9
	SYSCALL
	MOVQ	AX, ret+8(FP)
	RET
