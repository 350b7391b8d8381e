package smb

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// userID is the user and the group of the processes that keep shares; nothing else uses it.
const userID = 65531

// keeper is a process that keeps shares.
type keeper struct {
	// program is a program that does what command says, its first argument. name is the second, and says to whom the
	// process belongs.
	program, command, name string
	// files are its descriptors from 3 on.
	files []*os.File
	// netns is the path of its network namespace; "" is this process's.
	netns string
}

// start starts the process, with its input and output. It is a user of its own without any rights: it speaks with a
// server that anybody may have named. So it could not open the program by its path.
func (k keeper) start(ctx context.Context) (kept *os.Process, input, output *os.File, err error) {
	program, err := os.Open(k.program)
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
	path := "/proc/self/fd/" + strconv.Itoa(3+len(k.files))
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, k.command, k.name)
	cmd.Args[0] = k.program
	cmd.ExtraFiles = append(append([]*os.File{}, k.files...), program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr //nolint:forbidigo // the child says there what this process would
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: userID, Gid: userID}}
	err = netns.OnThread(func() error { // which serves the child alone
		if k.netns != "" {
			if err := netns.Enter(k.netns); err != nil {
				return err
			}
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		return cmd.Start()
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, input.Close(), output.Close())
	}
	go func() { _ = cmd.Wait() }() // its answer says what there is to say
	return cmd.Process, input, output, nil
}
