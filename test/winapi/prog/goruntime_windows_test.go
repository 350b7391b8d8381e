package prog

import (
	"testing"

	"golang.org/x/sys/windows"
)

// power is the library that Go's runtime asks for as a program begins (runtime/os_windows.go, monitorSuspendResume).
const power = "powrprof.dll"

// powerAtStart is whether it was there before any test.
var powerAtStart = loaded(power)

// TestGoRuntimeLoadsLittle: Go's runtime does not find the library, and a program that asks for it does.
func TestGoRuntimeLoadsLittle(t *testing.T) {
	if powerAtStart {
		t.Errorf("%s was loaded as the program began", power)
	}
	module, err := windows.LoadLibraryEx(power, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := windows.GetProcAddress(module, "CallNtPowerInformation"); err != nil {
		t.Error(err)
	}
}

// loaded reports whether the process has a library.
func loaded(library string) bool {
	name, err := windows.UTF16PtrFromString(library)
	if err != nil {
		panic(err)
	}
	var module windows.Handle
	return windows.GetModuleHandleEx(windows.GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, name, &module) == nil
}
