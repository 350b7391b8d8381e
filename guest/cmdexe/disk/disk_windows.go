package disk

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

func (d Disk) host(path string) string { return path }

// device returns the name by which a file or a device is opened.
func (d Disk) device(path string, how How) string {
	switch name := Device(path); {
	case name == "CON" && how == Read:
		return "CONIN$"
	case name == "CON":
		return "CONOUT$"
	case name != "":
		return name
	}
	return path
}

// Begins reports whether a folder has any name that begins with the last part of a path. To know that a folder lacks a
// name, Wine reads all of it: one question for many names is the cheaper one.
func (d Disk) Begins(path string) bool {
	pattern, err := windows.UTF16PtrFromString(path + "*")
	if err != nil {
		return false
	}
	var found windows.Win32finddata
	handle, err := windows.FindFirstFile(pattern, &found)
	if err != nil {
		return false
	}
	_ = windows.FindClose(handle) // it was only looked at
	return true
}

func info(i fs.FileInfo) Info {
	out := Info{
		Name:     i.Name(),
		Size:     i.Size(),
		Modified: i.ModTime(),
	}

	if data, ok := i.Sys().(*syscall.Win32FileAttributeData); ok {
		out.Attributes = data.FileAttributes
	} else if i.IsDir() {
		out.Attributes = Directory
	}
	if i.Mode()&fs.ModeSymlink != 0 {
		out.Attributes |= Link
	}
	out.Junction = out.Attributes&Link != 0 && i.Mode()&fs.ModeIrregular != 0 // so Go calls one

	return out
}

// SetAttributes sets and clears attributes of a file.
func (d Disk) SetAttributes(path string, set, clearing uint32) error {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return BadName
	}
	old, err := syscall.GetFileAttributes(name)
	if err != nil {
		return d.code(err, path)
	}
	return d.code(syscall.SetFileAttributes(name, old&^clearing|set), path)
}

func (d Disk) symlink(target, name string, folder bool) error {
	to, err := windows.UTF16PtrFromString(target)
	if err != nil {
		return BadName
	}
	from, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return BadName
	}

	flags := uint32(unprivileged)
	if folder {
		flags |= windows.SYMBOLIC_LINK_FLAG_DIRECTORY
	}

	return windows.CreateSymbolicLink(from, to, flags)
}

func systemCode(err error) winerr.Code {
	if number, ok := errors.AsType[syscall.Errno](err); ok && number < 1<<29 {
		return winerr.Code(number)
	}
	return 0
}

// unprivileged is SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE.
const unprivileged = 2
