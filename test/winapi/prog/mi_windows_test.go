package prog

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Results of mi.dll (https://learn.microsoft.com/previous-versions/windows/desktop/wmi_v2/mi-result).
const (
	miOK               = 0
	miInvalidNamespace = 3
	miInvalidClass     = 5
	miNotSupported     = 7
	miNoSuchProperty   = 12
	miWrongLanguage    = 14
)

// miHandle is MI_Application, MI_Session, MI_Operation and the options: they have one layout.
type miHandle struct {
	reserved  uint64
	object    uintptr
	functions *[16]uintptr
}

// miInstance is the beginning of MI_Instance.
type miInstance struct {
	functions *[18]uintptr
}

// miCallbacks is MI_OperationCallbacks.
type miCallbacks struct {
	context                                              uintptr
	prompt, writeError, writeMessage, writeProgress      uintptr
	instanceResult, indicationResult, classResult, param uintptr
}

// Places in the function tables of mi.h.
const (
	appClose, appNewSession, appNewHostedProvider, appNewDestinationOptions, appNewOperationOptions = 0, 1, 2, 4, 5
	sessionClose, sessionInvoke, sessionQuery, sessionTest                                          = 0, 6, 8, 14
	operationClose, operationGetInstance                                                            = 0, 3
	optionsSetString                                                                                = 1
	instanceClassName, instanceCount, instanceGet                                                   = 4, 7, 11
)

func invoke(function uintptr, args ...uintptr) uint32 {
	r, _, _ := syscall.SyscallN(function, args...)
	return uint32(r)
}

func (h *miHandle) pointer() uintptr { return uintptr(unsafe.Pointer(h)) }

func (h *miHandle) invoke(function int, args ...uintptr) uint32 {
	return invoke(h.functions[function], append([]uintptr{h.pointer()}, args...)...)
}

func (i *miInstance) invoke(function int, args ...uintptr) uint32 {
	return invoke(i.functions[function], append([]uintptr{uintptr(unsafe.Pointer(i))}, args...)...)
}

func miSession(t *testing.T) *miHandle {
	t.Helper()
	app, session, options := &miHandle{}, &miHandle{}, &miHandle{}
	initialize := windows.NewLazySystemDLL("mi.dll").NewProc("MI_Application_InitializeV1")
	r, _, err := initialize.Call(0, keptText("test"), 0, uintptr(unsafe.Pointer(app)))
	if r != miOK || !errors.Is(err, windows.NOERROR) { // windows_exporter too looks at the last error
		t.Fatalf("MI_Application_InitializeV1: %d, %v", r, err)
	}

	if r := app.invoke(appNewHostedProvider, 0, 0, 0, 0, 0); r != miNotSupported {
		t.Errorf("NewHostedProvider: %d", r)
	}
	if r := app.invoke(appNewDestinationOptions, options.pointer()); r != miOK {
		t.Fatalf("NewDestinationOptions: %d", r)
	}
	if r := options.invoke(optionsSetString, keptText("__MI_DESTINATIONOPTIONS_UI_LOCALE"), keptText("en-us"), 0); r != miOK {
		t.Errorf("SetUILocale: %d", r)
	}

	if r := app.invoke(appNewSession, 0, 0, options.pointer(), 0, 0, session.pointer()); r != miOK {
		t.Fatalf("NewSession: %d", r)
	}

	t.Cleanup(func() {
		if r := session.invoke(sessionClose, 0, 0); r != miOK {
			t.Errorf("close the session: %d", r)
		}
		if r := app.invoke(appClose); r != miOK {
			t.Errorf("close the application: %d", r)
		}
	})

	return session
}

// element reads a text or a number; the room behind the value shows whether more is written than there is.
func (i *miInstance) element(t *testing.T, name string) (string, uint64) {
	t.Helper()
	value := [2]uint64{0, 0x5555555555555555}
	var kind, flags, index uint32
	r := i.invoke(instanceGet, keptText(name), uintptr(unsafe.Pointer(&value[0])),
		uintptr(unsafe.Pointer(&kind)), uintptr(unsafe.Pointer(&flags)), uintptr(unsafe.Pointer(&index)))
	if r != miOK {
		t.Fatalf("element %s: %d", name, r)
	}

	if value[1] != 0x5555555555555555 {
		t.Errorf("element %s: writes behind a value of 8 bytes", name)
	}
	if kind == 13 && value[0] != 0 {
		return windows.UTF16PtrToString(*(**uint16)(unsafe.Pointer(&value[0]))), 0
	}
	return "", value[0]
}

// get waits for the next result of an operation.
func (h *miHandle) get(t *testing.T) (instance *miInstance, more bool, result uint32) {
	t.Helper()
	var moreByte byte
	var message *uint16
	var details *miInstance
	r := h.invoke(operationGetInstance, uintptr(unsafe.Pointer(&instance)), uintptr(unsafe.Pointer(&moreByte)),
		uintptr(unsafe.Pointer(&result)), uintptr(unsafe.Pointer(&message)), uintptr(unsafe.Pointer(&details)))
	if r != miOK {
		t.Fatalf("GetInstance: %d", r)
	}
	return instance, moreByte != 0, result
}

func (h *miHandle) query(space, language, wql string, callbacks *miCallbacks) *miHandle {
	operation := &miHandle{}
	h.invoke(sessionQuery, 0, 0, keptText(space), keptText(language), keptText(wql),
		uintptr(unsafe.Pointer(callbacks)), operation.pointer())
	return operation
}

func TestMIQuery(t *testing.T) {
	session := miSession(t)
	operation := session.query("root/CIMv2", "WQL", "SELECT * FROM Win32_OperatingSystem", nil)
	defer operation.invoke(operationClose)
	instance, more, result := operation.get(t)
	if instance == nil || !more || result != miOK {
		t.Fatalf("first result: %v, %t, %d", instance, more, result)
	}

	if caption, _ := instance.element(t, "Caption"); !strings.Contains(caption, "Windows") {
		t.Errorf("Caption %q", caption)
	}
	var class *uint16
	if r := instance.invoke(instanceClassName, uintptr(unsafe.Pointer(&class))); r != miOK ||
		!strings.EqualFold(windows.UTF16PtrToString(class), "Win32_OperatingSystem") {
		t.Errorf("class %q, %d", windows.UTF16PtrToString(class), r)
	}

	var count uint32
	if r := instance.invoke(instanceCount, uintptr(unsafe.Pointer(&count))); r != miOK || count < 10 {
		t.Errorf("%d elements, %d", count, r)
	}
	var none uint64
	if r := instance.invoke(instanceGet, keptText("NoSuch"), uintptr(unsafe.Pointer(&none)), 0, 0, 0); r != miNoSuchProperty {
		t.Errorf("an element that is not there: %d", r)
	}

	_, total := instance.element(t, "TotalVisibleMemorySize")
	if instance, more, result = operation.get(t); instance != nil || more || result != miOK {
		t.Errorf("last result: %v, %t, %d", instance, more, result)
	}
	memory := line(t, proc(t, "meminfo"), "MemTotal")[0]
	between(t, "memory", int64(total), memory-16, memory) // whole pages
}

// TestMICallbacks runs queries whose results come by callbacks, which close their operation, as windows_exporter's do.
func TestMICallbacks(t *testing.T) {
	session := miSession(t)
	type outcome struct {
		ids    []uint64
		result uint32
	}

	ended := make(chan outcome, 1)
	var seen outcome
	callbacks := &miCallbacks{}
	callbacks.instanceResult = windows.NewCallback(func(operation *miHandle, context uintptr, instance *miInstance,
		more byte, result uint32, _ *uint16, _ *miInstance, _ uintptr,
	) uintptr {
		if context != 42 {
			result = 1000
		}
		if instance != nil {
			_, id := instance.element(t, "ProcessId")
			seen.ids = append(seen.ids, id)
		}

		if more == 0 {
			seen.result = result
			operation.invoke(operationClose)
			ended <- seen
			seen = outcome{}
		}

		return 0
	})

	callbacks.context = 42
	for range 3 {
		session.query("root/CIMv2", "WQL", "SELECT ProcessId FROM Win32_Process", callbacks)
		select {
		case got := <-ended:
			if got.result != miOK || !slices.Contains(got.ids, uint64(os.Getpid())) {
				t.Errorf("processes %v without the own one, %d, or result %d", got.ids, os.Getpid(), got.result)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no last result")
		}
	}
}

func TestMIRefuses(t *testing.T) {
	session := miSession(t)
	for name, want := range map[string]struct {
		space    string
		language string
		text     string
		result   uint32
	}{
		"nothing":   {"root/CIMv2", "WQL", "SELECT * FROM Win32_Process WHERE ProcessId = 3", miOK},
		"namespace": {"root/nosuch", "WQL", "SELECT * FROM A", miInvalidNamespace},
		"class":     {"root/CIMv2", "WQL", "SELECT * FROM NoSuchClass", miInvalidClass},
		"language":  {"root/CIMv2", "CQL", "SELECT * FROM Win32_Process", miWrongLanguage},
	} {
		operation := session.query(want.space, want.language, want.text, nil)
		if instance, more, result := operation.get(t); instance != nil || more || result != want.result {
			t.Errorf("%s: %v, %t, %d, want %d", name, instance, more, result, want.result)
		}
		if r := operation.invoke(operationClose); r != miOK {
			t.Errorf("%s: close: %d", name, r)
		}
	}

	operation := &miHandle{}
	session.invoke(sessionInvoke, 0, 0, keptText("root/CIMv2"), keptText("Win32_Process"), keptText("Create"), 0, 0, 0, operation.pointer())
	if instance, _, result := operation.get(t); instance != nil || result != miNotSupported {
		t.Errorf("Invoke: %v, %d", instance, result)
	}

	operation.invoke(operationClose)
	session.invoke(sessionTest, 0, 0, operation.pointer())
	if _, more, result := operation.get(t); more || result != miOK {
		t.Errorf("TestConnection: %t, %d", more, result)
	}
	operation.invoke(operationClose)
}
