package native

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// call calls a function of a library by the first of its names that the library has, and returns what it returns and
// the error code that it leaves.
func call(library string, entries []string, args []uintptr) (result uintptr, last uint32, err error) {
	handle, err := windows.LoadLibraryEx(library, 0, 0)
	if err != nil {
		return 0, 0, object.Raise("System.DllNotFoundException", fmt.Sprintf(
			"Unable to load DLL '%s': The specified module could not be found. (Exception from HRESULT: 0x8007007E)", library))
	}

	for _, entry := range entries {
		proc, err := windows.GetProcAddress(handle, entry)
		if err != nil {
			continue
		}
		runtime.LockOSThread() // what a function leaves for the next one is of its thread
		defer runtime.UnlockOSThread()
		result, _, code := syscall.SyscallN(proc, args...)
		return result, uint32(code), nil
	}

	return 0, 0, object.Raise("System.EntryPointNotFoundException", fmt.Sprintf(
		"Unable to find an entry point named '%s' in DLL '%s'.", entries[0], library))
}

// share gives the process the variables of the session, which functions of libraries may ask for.
func share(s *session.State) error {
	var errs []error
	kept := map[string]bool{}
	for _, one := range s.Environ() {
		name, v, _ := strings.Cut(one, "=")
		kept[strings.ToUpper(name)] = true
		if before, is := os.LookupEnv(name); name != "" && (!is || before != v) {
			errs = append(errs, os.Setenv(name, v))
		}
	}

	for _, one := range os.Environ() {
		if name, _, _ := strings.Cut(one, "="); name != "" && !kept[strings.ToUpper(name)] {
			errs = append(errs, os.Unsetenv(name))
		}
	}
	return errors.Join(errs...)
}

// ansiPage is CP_ACP, the ANSI code page of the system.
const ansiPage = 0

// toANSI returns a text in the ANSI code page.
func toANSI(s string) []byte {
	units, err := windows.UTF16FromString(s)
	if err != nil || len(units) <= 1 {
		return []byte(s)
	}
	out := make([]byte, 4*len(units))
	n, _, _ := convert("WideCharToMultiByte").Call(ansiPage, 0, uintptr(unsafe.Pointer(&units[0])),
		uintptr(len(units)-1), uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)), 0, 0)
	return out[:n]
}

// fromANSI returns what a text in the ANSI code page says.
func fromANSI(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	units := make([]uint16, 2*len(b))
	n, err := windows.MultiByteToWideChar(ansiPage, 0, &b[0], int32(len(b)), &units[0], int32(len(units)))
	if err != nil {
		return string(b)
	}
	return windows.UTF16ToString(units[:n])
}

func convert(name string) *windows.LazyProc {
	return windows.NewLazySystemDLL("kernel32.dll").NewProc(name)
}

// give frees memory that a function of a library has allocated.
func give(at uintptr) error {
	if _, err := windows.LocalFree(windows.Handle(at)); err != nil && !errors.Is(err, windows.ERROR_SUCCESS) {
		return fmt.Errorf("free memory: %w", err)
	}
	return nil
}
