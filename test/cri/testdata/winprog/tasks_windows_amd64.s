#include "textflag.h"

// func spawn() int
// clone(CLONE_VM|SIGCHLD): the child has this process's memory and touches none of it, so that thousands cost little.
// It pauses until it is killed.
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

// func inotify() int
TEXT ·inotify(SB), NOSPLIT, $0-8
	MOVQ	$253, AX // SYS_inotify_init of asm/unistd_64.h
	SYSCALL
	MOVQ	AX, ret+0(FP)
	RET

// func bomb() int
// clone(SIGCHLD), which is fork: the child forks without end, and so do its children.
TEXT ·bomb(SB), NOSPLIT, $0-8
	XORQ	R12, R12
again:
	MOVQ	$56, AX
	MOVQ	$0x11, DI
	XORQ	SI, SI
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	SYSCALL
	TESTQ	AX, AX
	JNZ	parent
	MOVQ	$1, R12
	JMP	again
parent:
	TESTQ	R12, R12
	JNZ	again
	MOVQ	AX, ret+0(FP)
	RET
