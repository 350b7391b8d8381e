//go:build wine

package cri

import (
	"encoding/binary"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// filterOf returns the seccomp filter of a process, as the kernel has it.
func filterOf(t *testing.T, pid int) []bpf.Instruction {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceAttach(pid); err != nil {
		t.Fatal(err)
	}

	defer func() {
		if err := unix.PtraceDetach(pid); err != nil {
			t.Error(err)
		}
	}()
	if _, err := unix.Wait4(pid, nil, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}

	program := make([]unix.SockFilter, 4096) // BPF_MAXINSNS
	n, _, number := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SECCOMP_GET_FILTER, uintptr(pid), 0,
		uintptr(unsafe.Pointer(unsafe.SliceData(program))), 0, 0)
	if number != 0 {
		t.Fatalf("read the filter: %v", number)
	}

	raw := make([]bpf.RawInstruction, n)
	for i, f := range program[:n] {
		raw[i] = bpf.RawInstruction{
			Op: f.Code,
			Jt: f.Jt,
			Jf: f.Jf,
			K:  f.K,
		}
	}

	all, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter is no program")
	}
	return all
}

// verdict returns what a filter says of a call without arguments. The words of struct seccomp_data are the processor's
// for the kernel, and big-endian for the package.
func verdict(t *testing.T, vm *bpf.VM, architecture, number uint32) uint32 {
	t.Helper()
	data := binary.BigEndian.AppendUint32(nil, number)
	data = binary.BigEndian.AppendUint32(data, architecture)
	v, err := vm.Run(append(data, make([]byte, 64-len(data))...))
	if err != nil {
		t.Fatal(err)
	}
	return uint32(v)
}

// TestOtherCalls: the filter that a container's programs have in the kernel refuses every call by the numbers of x32
// and of 32-bit programs, also those that it allows by the numbers of x86-64, whether the machine's kernel has them or
// not.
func TestOtherCalls(t *testing.T) {
	const allow, x32 = 0x7fff0000, 0x40000000 // SECCOMP_RET_ALLOW
	n := newNode(t)
	pod, config := n.pod(t, "filtered")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.waitLog(t, id, "sleeping")
	vm, err := bpf.NewVM(filterOf(t, processesOf(t, id)[0]))
	if err != nil {
		t.Fatal(err)
	}

	allowed := 0
	for number := range uint32(1024) {
		if verdict(t, vm, unix.AUDIT_ARCH_X86_64, number) == allow {
			allowed++
		}
		if got := verdict(t, vm, unix.AUDIT_ARCH_X86_64, x32|number); got == allow {
			t.Errorf("call %d of x32 is allowed", number)
		}
		if got := verdict(t, vm, unix.AUDIT_ARCH_I386, number); got == allow {
			t.Errorf("call %d of 32-bit programs is allowed", number)
		}
	}

	if allowed < 200 {
		t.Errorf("control: %d calls of x86-64 are allowed", allowed)
	}
	t.Logf("%d calls of x86-64 are allowed, none of x32", allowed)
}
