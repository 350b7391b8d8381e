package confined

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/process/proc"
)

// Start starts the command as the program's user, with its capabilities and no way to more. It is a Starter of
// proc.Spec. The program is opened here and executed through its file descriptor, because its user may not be able to
// enter the program's folder. A link leads to the descriptor, so that the process gets the link's name.
func (p Program) Start(_ context.Context, cmd *exec.Cmd) error {
	program, err := os.Open(cmd.Path)
	if err != nil {
		return proc.NoRestart(fmt.Errorf("open program: %w", err))
	}
	defer program.Close()
	// This affects the calling thread, which serves only this child; see proc.Spec.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}

	cmd.Args[0] = p.Name
	cmd.ExtraFiles = []*os.File{program}
	if p.Data != "" {
		data, err := os.Open(p.Data)
		if err != nil {
			return proc.NoRestart(fmt.Errorf("open folder of %s: %w", p.Name, err))
		}
		defer data.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, data)
	}

	cmd.Path = p.link()
	user := uint32(p.UserID) //nolint:gosec // the number of a user of ours
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
	cmd.SysProcAttr.AmbientCaps = p.Capabilities

	return cmd.Start()
}

// MakeFolder makes the folder. Files made in it get its group, so that the program may read them but not write. It also
// makes Data, if there is one, in a folder that only root can write.
func (p Program) MakeFolder() error {
	err := os.MkdirAll(p.Dir, 0o750)
	if err == nil {
		err = errors.Join(os.Chown(p.Dir, 0, p.UserID), os.Chmod(p.Dir, 0o750|os.ModeSetgid))
	}
	if err == nil {
		const firstExtra = "3" // what exec.Cmd.ExtraFiles begins with in the child
		err = os.Symlink("/proc/self/fd/"+firstExtra, p.link())
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make folder of %s: %w", p.Name, err)
	}
	if p.Data == "" {
		return nil
	}

	err = os.MkdirAll(p.Data, 0o700)
	if err == nil {
		err = os.Chown(p.Data, p.UserID, p.UserID)
	}
	if err != nil {
		return fmt.Errorf("make folder of %s: %w", p.Name, err)
	}
	return nil
}

// RemoveFolder removes the folder and what is in it.
func (p Program) RemoveFolder() error { return os.RemoveAll(p.Dir) }
