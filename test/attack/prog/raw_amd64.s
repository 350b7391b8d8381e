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

// func spawn() int
// clone(CLONE_VM|SIGCHLD): the child touches none of the memory. It pauses until it is killed.
TEXT ·spawn(SB), NOSPLIT, $0-8
	MOVQ	$56, AX
	MOVQ	$0x111, DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, ret+0(FP)
	RET

child:
	MOVQ	$34, AX
	SYSCALL
	JMP	child

// func apart(call *[7]uintptr) int
// clone(CLONE_VM|CLONE_VFORK|SIGCHLD): the child makes the call and exits with its error number, while this thread
// waits. It touches no stack.
TEXT ·apart(SB), NOSPLIT, $0-16
	MOVQ	call+0(FP), BX
	MOVQ	$56, AX
	MOVQ	$0x4111, DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, ret+8(FP)
	RET

child:
	MOVQ	0(BX), AX
	MOVQ	8(BX), DI
	MOVQ	16(BX), SI
	MOVQ	24(BX), DX
	MOVQ	32(BX), R10
	MOVQ	40(BX), R8
	MOVQ	48(BX), R9
	SYSCALL
	NEGQ	AX
	MOVQ	AX, DI
	MOVQ	$60, AX
	SYSCALL

// func apart32(call *[7]uintptr) int
// Like apart, by the gate of 32-bit programs.
TEXT ·apart32(SB), NOSPLIT, $0-16
	MOVQ	call+0(FP), BX
	MOVQ	$56, AX
	MOVQ	$0x4111, DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, ret+8(FP)
	RET

child:
	MOVQ	0(BX), AX
	MOVQ	16(BX), CX
	MOVQ	24(BX), DX
	MOVQ	32(BX), SI
	MOVQ	40(BX), DI
	MOVQ	8(BX), BX
	INT	$0x80
	MOVLQSX	AX, DI
	NEGQ	DI
	MOVQ	$60, AX
	SYSCALL
