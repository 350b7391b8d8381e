package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// userID is the user and the group of the processes; nothing else uses it.
const userID = 65531

// DeviceFD is the descriptor by which the kernel asks for the file system, if it is the first of the Files.
const DeviceFD = 3

// Process is a process that keeps a file system.
type Process struct {
	// Program is a program that does what Command says, its first argument. Name is the second, and says to whom the
	// process belongs.
	Program, Command, Name string
	// Files are its descriptors from 3 on.
	Files []*os.File
	// Netns is the path of its network namespace; "" is this process's.
	Netns string
	// Disk says that file systems of the kernel lie on what the process serves: the kernel does not have it write other
	// memory to them while it asks for some of its own, which would wait for itself. Where root has not the right to
	// say so (CAP_SYS_RESOURCE), as in many containers, a machine that is short of memory may stand still.
	Disk bool
}

// mostMemory bounds the memory of a process, in bytes: a server can answer without end. A container has at most 4096
// threads, and what all of them ask for at once must have room, or one would end the file system for others: mostRead
// is the most that a request reads, MostWritten what requests to write may have in all.
const (
	mostMemory  = 1 << 30
	mostRead    = 128 << 10
	MostWritten = 128 << 20
)

// Settle bounds the memory of this process, which is a keeper, and hides it from other keepers, which are the same
// user.
func Settle() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the memory: %w", err)
	}
	debug.SetMemoryLimit(mostMemory / 4 * 3) // what is let go of is collected before the bound is met
	limit := unix.Rlimit{Cur: mostMemory, Max: mostMemory}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return fmt.Errorf("bound the memory: %w", err)
	}
	return nil
}

// Start starts the process, with its input and output. It is a user of its own without any rights: it speaks with a
// server that anybody may have named. So it could not open the program by its path.
func (k Process) Start(ctx context.Context) (kept *os.Process, input, output *os.File, err error) {
	program, err := os.Open(k.Program)
	if err != nil {
		return nil, nil, nil, err
	}
	defer program.Close()
	in, input, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}

	defer in.Close()
	output, out, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, input.Close())
	}
	defer out.Close()

	// It outlives this process.
	path := "/proc/self/fd/" + strconv.Itoa(3+len(k.Files))
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, k.Command, k.Name)
	cmd.Args[0] = k.Program
	cmd.ExtraFiles = append(append([]*os.File{}, k.Files...), program)
	cmd.Stdin = in
	cmd.Stdout = out
	cmd.Stderr = os.Stderr //nolint:forbidigo // the child says there what this process would
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Credential: &syscall.Credential{Uid: userID, Gid: userID},
		Cloneflags: unix.CLONE_NEWPID, // so that it can signal no other, though they are the same user
	}

	err = netns.OnThread(func() error { // which serves the child alone
		if k.Netns != "" {
			if err := netns.Enter(k.Netns); err != nil {
				return err
			}
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}

		if k.Disk {
			err := unix.Prctl(unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0)
			if err != nil && !errors.Is(err, unix.EPERM) {
				return err
			}
		}

		return cmd.Start()
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, input.Close(), output.Close())
	}

	go func() { _ = cmd.Wait() }() // its answer says what there is to say
	return cmd.Process, input, output, nil
}
