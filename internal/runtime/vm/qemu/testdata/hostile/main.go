// Command hostile is the first process of a guest that has been taken over: as the guest's root it does to the shared
// folder what it may not, and prints what succeeded, a line each.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const share = "/share"

func main() {
	if err := attack(); err != nil {
		fmt.Println("hostile: error:", err)
	}
	fmt.Println("hostile: done")
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func attack() error {
	if err := errors.Join(os.MkdirAll(share, 0o755), unix.Mount("mullion", share, "virtiofs", 0, "")); err != nil {
		return err
	}
	// A control: the folder of the container is the guest's.
	if err := os.WriteFile(share+"/own/control", []byte("control"), 0o600); err != nil {
		return err
	}
	for _, a := range []struct {
		what string
		do   func() error
	}{
		{"write the machine's file", func() error { return os.WriteFile(share+"/config.json", []byte("x"), 0) }},
		{"replace the machine's file", func() error { return os.Rename(share+"/own/control", share+"/config.json") }},
		{"make a file beside it", func() error { return os.WriteFile(share+"/made", nil, 0o600) }},
		{"remove the machine's folder", func() error { return os.Remove(share + "/own") }},
		{"change the mode of the machine's file", func() error { return os.Chmod(share+"/config.json", 0o666) }},
		{"take the machine's file", func() error { return os.Chown(share+"/config.json", 0, 0) }},
		{"write what is read-only", func() error { return os.WriteFile(share+"/readonly/file", []byte("x"), 0o600) }},
		{"write what is read-only, mounted anew", func() error {
			_ = unix.Mount("", share, "", unix.MS_REMOUNT, "")
			return os.WriteFile(share+"/readonly/file", []byte("x"), 0o600)
		}},
		{"make a device", func() error { return unix.Mknod(share+"/own/dev", unix.S_IFBLK|0o666, int(unix.Mkdev(254, 0))) }},
		{"give a file to another user", func() error { return give("other", 1000) }},
		{"give a file to the user behind", func() error { return give("behind", 0x7001_0000) }},
		{"set a trusted attribute", func() error {
			return unix.Setxattr(share+"/own/control", "trusted.overlay.redirect", []byte("/etc"), 0)
		}},
		{"see what is not shared", func() error { return beyond() }},
	} {
		if a.do() == nil {
			fmt.Println("hostile: could", a.what)
		}
	}
	return os.WriteFile(share+"/own/finished", nil, 0o600)
}

func give(name string, user int) error {
	path := share + "/own/" + name
	return errors.Join(os.WriteFile(path, nil, 0o755), os.Chown(path, user, user))
}

// beyond looks for the secret that lies beside the shared folder, by links and by .. from a mount within it.
func beyond() error {
	for i, text := range []string{"../../secret", "/secret", "/proc/1/root"} {
		link := filepath.Join(share, "own", fmt.Sprint("link", i))
		if err := os.Symlink(text, link); err != nil {
			continue
		}
		if _, err := os.ReadFile(link); err == nil {
			return nil
		}
	}
	return errors.New("nothing is seen")
}
