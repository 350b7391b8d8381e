// Package host owns what cmd.exe needs of Windows itself: starting programs, the console, and facts about the system
// and its volumes.
package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/guest/cmdexe/shell"
	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Host is this Windows.
type Host struct {
	// Interrupts returns whether Ctrl+C was pressed since it was asked last; nil: never.
	Interrupts func() bool
}

// Start starts a program with its command line as it is.
func (Host) Start(_ context.Context, p shell.Program) (func() (uint32, error), error) {
	attr := &os.ProcAttr{
		Dir: p.Dir, Env: p.Environ, Files: p.Files[:],
		Sys: &syscall.SysProcAttr{CmdLine: p.Line},
	}
	if p.Apart {
		attr.Sys.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP
	}

	process, err := os.StartProcess(p.File, nil, attr)
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		if number == windows.ERROR_BAD_EXE_FORMAT {
			return nil, fmt.Errorf("%s is not a valid Win32 application.", p.File) //nolint:staticcheck,revive // Windows' words
		}
		return nil, winerr.Code(number)
	}

	if err != nil {
		return nil, err
	}

	return func() (uint32, error) {
		state, err := process.Wait()
		if err != nil {
			return 0, err
		}
		return uint32(state.ExitCode()), nil //nolint:gosec // it has 32 bits
	}, nil
}

// Graphical reads the subsystem out of a program's header.
func (Host) Graphical(file string) bool {
	const (
		dos       = 0x40
		place     = 0x3C // where the PE header is named
		subsystem = 0x5C // in it
		windowed  = 2
	)

	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var header [dos]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return false
	}

	var kind [2]byte
	if _, err := f.ReadAt(kind[:], int64(binary.LittleEndian.Uint32(header[place:]))+subsystem); err != nil {
		return false
	}
	return binary.LittleEndian.Uint16(kind[:]) == windowed
}

// Console does something with the console that out, or for "key" the input, belongs to.
func (h Host) Console(what, text string, out *os.File) error {
	switch what {
	case "title":
		name, err := windows.UTF16PtrFromString(text)
		if err != nil {
			return err
		}
		return call("SetConsoleTitleW", uintptr(unsafe.Pointer(name)))

	case "cls":
		return clearScreen(out)
	case "key":
		return h.key(out)
	}

	return errors.ErrUnsupported
}

// ReadLine reads a line at a console.
func (h Host) ReadLine(e *lineedit.Editor, prompt string, in, out *os.File) (string, error) {
	console, ok := lineedit.Open(in, out)
	if !ok || !console.Typed() {
		return "", errors.ErrUnsupported
	}
	return console.ReadLine(e, prompt, h.Interrupts)
}

// call calls a function of kernel32.dll that returns whether it succeeded.
func call(name string, args ...uintptr) error {
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc(name).Call(args...)
	if ok == 0 {
		return err
	}
	return nil
}

// clearScreen empties the screen. What is no console gets a form feed, as from Windows' cls.
func clearScreen(out *os.File) error {
	if out == nil {
		return nil
	}
	handle := windows.Handle(out.Fd())
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(handle, &info) != nil {
		_, err := out.WriteString("\f")
		return err
	}

	return lineedit.ClearScreen(handle)
}

// System is what this Windows tells about itself.
type System struct{}

const currentVersion = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`

// Version returns the version with its revision.
func (System) Version() string {
	v := windows.RtlGetVersion()
	revision := uint64(0)
	if k, err := registry.OpenKey(registry.LOCAL_MACHINE, currentVersion, registry.QUERY_VALUE); err == nil {
		revision, _, _ = k.GetIntegerValue("UBR") // 0 without one
		_ = k.Close()                             // it was only read
	}
	return fmt.Sprintf("%d.%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber, revision)
}

// Volume returns the label and the serial number of a volume.
func (System) Volume(path string) (string, uint32, error) {
	root, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", 0, err
	}
	var label [windows.MAX_PATH + 1]uint16
	var serial uint32
	err = windows.GetVolumeInformation(root, &label[0], uint32(len(label)), &serial, nil, nil, nil, 0)
	return windows.UTF16ToString(label[:]), serial, err
}

// Free returns how many bytes are free.
func (System) Free(path string) uint64 {
	root, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(root, &free, nil, nil) != nil {
		return 0
	}
	return free
}

// Association reads HKEY_CLASSES_ROOT.
func (System) Association(name string, command bool) (string, bool) {
	if strings.ContainsAny(name, `\`) {
		return "", false
	}
	if command {
		name += `\shell\open\command`
	}

	k, err := registry.OpenKey(registry.CLASSES_ROOT, name, registry.QUERY_VALUE)
	if err != nil {
		return "", false
	}
	defer k.Close()
	value, _, err := k.GetStringValue("")
	return value, err == nil && value != ""
}

// Terminal reports whether a file is a console.
func (System) Terminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// CommandLine returns the command line of this process as it was given.
func CommandLine() string { return windows.UTF16PtrToString(windows.GetCommandLine()) }
