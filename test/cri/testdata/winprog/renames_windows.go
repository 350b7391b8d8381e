package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"
)

// Flags of MoveFileEx and of SetFileInformationByHandle.
const (
	moveReplace     = 1
	fileRenameInfo  = 3
	accessDelete    = 0x10000
	shareAll        = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	shareWithout    = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE
	errAlreadyThere = syscall.Errno(183)
	errSharing      = syscall.Errno(32)
)

var kernel32 = syscall.NewLazyDLL("kernel32.dll")

// renames renames files of a folder as programs do, and says of each way whether it went as on Windows.
func renames(dir string) {
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			fmt.Printf("write %s: %v\n", name, err)
		}
	}
	says := func(name, want string) error {
		data, err := os.ReadFile(at(name))
		if err == nil && string(data) != want {
			err = fmt.Errorf("%s has %q, want %q", name, data, want)
		}
		return err
	}
	gone := func(name string) error {
		if _, err := os.Stat(at(name)); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is still there: %w", name, err)
		}
		return nil
	}
	wants := func(err, want error) error {
		if !errors.Is(err, want) {
			return fmt.Errorf("%v, want %d (%w)", err, want, want)
		}
		return nil
	}
	for _, try := range []struct {
		name string
		do   func() error
	}{
		{"os.Rename over a file", func() error {
			return errors.Join(os.Rename(at("new"), at("old")), says("old", "new"), gone("new"))
		}},
		{"MoveFileEx over a file", func() error {
			return errors.Join(moveFile(at("new"), at("old"), moveReplace), says("old", "new"), gone("new"))
		}},
		{"MoveFileEx over nothing", func() error {
			return errors.Join(moveFile(at("new"), at("other"), 0), says("other", "new"), os.Remove(at("other")))
		}},
		{"MoveFileEx does not replace", func() error {
			return errors.Join(wants(moveFile(at("new"), at("old"), 0), errAlreadyThere), says("old", "old"))
		}},
		{"ReplaceFile", func() error {
			return errors.Join(replaceFile(at("old"), at("new"), ""), says("old", "new"), gone("new"))
		}},
		{"ReplaceFile with a backup", func() error {
			return errors.Join(replaceFile(at("old"), at("new"), at("backup")), says("old", "new"), says("backup", "old"),
				os.Remove(at("backup")))
		}},
		{"an open file", func() error {
			h, err := open(at("new"), syscall.GENERIC_READ|syscall.GENERIC_WRITE, shareAll)
			if err != nil {
				return err
			}
			err = moveFile(at("new"), at("moved"), 0)
			_, writeErr := syscall.Write(h, []byte("NEW"))
			return errors.Join(err, writeErr, syscall.CloseHandle(h), says("moved", "NEW"), gone("new"),
				os.Remove(at("moved")))
		}},
		{"by its own handle", func() error {
			h, err := open(at("new"), syscall.GENERIC_WRITE|accessDelete, shareAll)
			if err != nil {
				return err
			}
			err = renameByHandle(h, at("old"))
			_, writeErr := syscall.Write(h, []byte("NEW"))
			return errors.Join(err, writeErr, syscall.CloseHandle(h), says("old", "NEW"), gone("new"))
		}},
		{"an open file that is not shared", func() error {
			h, err := open(at("new"), syscall.GENERIC_READ, shareWithout)
			if err != nil {
				return err
			}
			time.Sleep(1500 * time.Millisecond) // what the host knows of the file is old
			err = wants(moveFile(at("new"), at("moved"), 0), errSharing)
			_, openErr := open(at("new"), syscall.GENERIC_WRITE, shareWithout&^syscall.FILE_SHARE_READ)
			err = errors.Join(err, wants(openErr, errSharing))
			return errors.Join(err, syscall.CloseHandle(h), says("new", "new"))
		}},
		{"over an open file", func() error {
			h, err := open(at("old"), syscall.GENERIC_READ, shareAll)
			if err != nil {
				return err
			}
			err = wants(moveFile(at("new"), at("old"), moveReplace), syscall.ERROR_ACCESS_DENIED)
			return errors.Join(err, syscall.CloseHandle(h), says("new", "new"), says("old", "old"))
		}},
		{"a folder", func() error {
			return errors.Join(os.Mkdir(at("folder"), 0o777), moveFile(at("new"), at(`folder\new`), 0),
				moveFile(at("folder"), at("moved"), 0), says(`moved\new`, "new"), os.RemoveAll(at("moved")), gone("moved"))
		}},
		{"a folder with an open file", func() error {
			err := errors.Join(os.Mkdir(at("folder"), 0o777), moveFile(at("new"), at(`folder\new`), 0))
			h, openErr := open(at(`folder\new`), syscall.GENERIC_READ, shareAll)
			if err = errors.Join(err, openErr); err != nil {
				return err
			}
			err = wants(moveFile(at("folder"), at("moved"), 0), syscall.ERROR_ACCESS_DENIED)
			return errors.Join(err, syscall.CloseHandle(h), says(`folder\new`, "new"), os.RemoveAll(at("folder")))
		}},
		{"DeleteFile of an open file", func() error {
			h, err := open(at("new"), syscall.GENERIC_READ, shareAll)
			if err != nil {
				return err
			}
			err = os.Remove(at("new"))
			buffer := make([]byte, 3)
			_, readErr := syscall.Read(h, buffer)
			return errors.Join(err, readErr, syscall.CloseHandle(h), gone("new"))
		}},
	} {
		write("old", "old")
		write("new", "new")
		if err := try.do(); err != nil {
			fmt.Printf("%s: %q\n", try.name, err)
		} else {
			fmt.Printf("%s: as on Windows\n", try.name)
		}
		_, _ = os.Remove(at("old")), os.Remove(at("new"))
	}
}

func utf16(text string) *uint16 {
	if text == "" {
		return nil
	}
	p, err := syscall.UTF16PtrFromString(text)
	if err != nil {
		panic(err)
	}
	return p
}

func call(function string, args ...uintptr) error {
	if r, _, err := kernel32.NewProc(function).Call(args...); r == 0 {
		return fmt.Errorf("%s: %w", function, err)
	}
	return nil
}

func moveFile(from, to string, flags uintptr) error {
	return call("MoveFileExW", uintptr(unsafe.Pointer(utf16(from))), uintptr(unsafe.Pointer(utf16(to))), flags)
}

func replaceFile(old, with, backup string) error {
	return call("ReplaceFileW", uintptr(unsafe.Pointer(utf16(old))), uintptr(unsafe.Pointer(utf16(with))),
		uintptr(unsafe.Pointer(utf16(backup))), 0, 0, 0)
}

func open(path string, access, share uint32) (syscall.Handle, error) {
	return syscall.CreateFile(utf16(path), access, share, nil, syscall.OPEN_EXISTING, syscall.FILE_ATTRIBUTE_NORMAL, 0)
}

// renameByHandle renames an open file over another one.
func renameByHandle(h syscall.Handle, to string) error {
	name, err := syscall.UTF16FromString(to)
	if err != nil {
		return err
	}
	info := struct { // FILE_RENAME_INFO
		replace uint32
		root    uintptr
		length  uint32
		name    [512]uint16
	}{replace: 1, length: uint32(2 * (len(name) - 1))}
	copy(info.name[:], name)
	return call("SetFileInformationByHandle", uintptr(h), fileRenameInfo, uintptr(unsafe.Pointer(&info)),
		unsafe.Sizeof(info))
}
