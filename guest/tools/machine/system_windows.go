package machine

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winproc"
)

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Tasks implements System.
func (local) Tasks() ([]Task, error) {
	all, err := winproc.List()
	if err != nil {
		return nil, err
	}

	var found []Task
	for _, p := range all {
		t := Task{
			PID:    p.ID,
			Image:  p.Image,
			Memory: workingSet(p.ID),
		}
		_ = windows.ProcessIdToSessionId(t.PID, &t.Session) // a process that has just ended has no session
		found = append(found, t)
	}

	return found, nil
}

// memoryCounters is PROCESS_MEMORY_COUNTERS
// (https://learn.microsoft.com/windows/win32/api/psapi/ns-psapi-process_memory_counters).
type memoryCounters struct {
	size, faults                    uint32
	peakWorkingSet, workingSet      uintptr
	_, _, _, _, pageFile, peakPages uintptr
}

// workingSet returns the size of a process's working set in bytes, 0 if the process cannot be opened.
func workingSet(pid uint32) uint64 {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.PROCESS_VM_READ, false, pid)
	if err != nil {
		return 0
	}
	defer windows.CloseHandle(process) //nolint:errcheck // it was only asked
	counters := memoryCounters{}
	counters.size = uint32(unsafe.Sizeof(counters))
	ok, _, _ := kernel32("K32GetProcessMemoryInfo").Call(uintptr(process), uintptr(unsafe.Pointer(&counters)),
		uintptr(counters.size))
	if ok == 0 {
		return 0
	}
	return uint64(counters.workingSet)
}

func kernel32(name string) *windows.LazyProc {
	return windows.NewLazySystemDLL("kernel32.dll").NewProc(name)
}

// memoryStatus is MEMORYSTATUSEX
// (https://learn.microsoft.com/windows/win32/api/sysinfoapi/ns-sysinfoapi-memorystatusex).
type memoryStatus struct {
	length, load                                                        uint32
	total, free, commit, commitFree, virtual, virtualFree, extendedFree uint64
}

const currentVersion = `HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion`

// Describe implements System.
func (l local) Describe() (Machine, error) {
	value := func(name string) string {
		text, err := l.Value(currentVersion, name)
		if err != nil {
			return "N/A" // as systeminfo prints for values that it does not find
		}
		return text
	}

	system, err := windows.GetSystemDirectory()
	if err != nil {
		return Machine{}, err
	}
	dir, err := windows.GetWindowsDirectory()
	if err != nil {
		return Machine{}, err
	}

	status := memoryStatus{}
	status.length = uint32(unsafe.Sizeof(status))
	if ok, _, err := kernel32("GlobalMemoryStatusEx").Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return Machine{}, err
	}
	v := windows.RtlGetVersion()
	cards, _ := program.Adapters() // none if they cannot be listed
	return Machine{
		Host:       strings.ToUpper(program.ComputerName()),
		Product:    "Microsoft " + value("ProductName"),
		Owner:      value("RegisteredOwner"),
		ProductID:  value("ProductId"),
		Version:    fmt.Sprintf("%d.%d.%d N/A Build %d", v.MajorVersion, v.MinorVersion, v.BuildNumber, v.BuildNumber),
		WindowsDir: dir,
		SystemDir:  system,
		Domain:     "WORKGROUP",
		Boot:       time.Now().Add(-windows.DurationSinceBoot()),
		Processors: processors(),
		Memory:     status.total,
		MemoryFree: status.free,
		Commit:     status.commit,
		CommitFree: status.commitFree,
		Adapters:   cards,
	}, nil
}

// processors returns the processors' descriptions. The registry has one for each that runs threads; systeminfo shows
// those that are put into sockets.
func processors() []string {
	const path = `HARDWARE\DESCRIPTION\System\CentralProcessor`
	root, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return nil
	}
	defer root.Close()

	names, _ := root.ReadSubKeyNames(-1) // the names that were read
	var found []string
	for _, name := range names {
		text, err := local{}.Value(`HKLM\`+path+`\`+name, "Identifier")
		if err != nil {
			continue
		}
		vendor, _ := local{}.Value(`HKLM\`+path+`\`+name, "VendorIdentifier") // some processors do not have it
		found = append(found, strings.TrimSpace(text+" "+vendor))
	}

	if n := program.Count(program.Packages); n > 0 {
		found = found[:min(n, len(found))]
	}
	return found
}

// Value implements System.
func (local) Value(path, name string) (string, error) {
	root, rest, _ := strings.Cut(path, `\`)
	var from registry.Key
	switch strings.ToUpper(root) {
	case "HKLM", "HKEY_LOCAL_MACHINE":
		from = registry.LOCAL_MACHINE
	case "HKCU", "HKEY_CURRENT_USER":
		from = registry.CURRENT_USER
	default:
		return "", fmt.Errorf("read registry: %q is no root", root)
	}

	key, err := registry.OpenKey(from, rest, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer key.Close()
	text, kind, err := key.GetStringValue(name)
	if errors.Is(err, registry.ErrUnexpectedType) && kind == registry.DWORD {
		number, _, err := key.GetIntegerValue(name)
		return fmt.Sprint(number), err
	}

	return text, err
}

// SetVariable implements System.
func (local) SetVariable(machine bool, name, value string) error {
	root, path := registry.CURRENT_USER, `Environment`
	if machine {
		root, path = registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	}
	key, _, err := registry.CreateKey(root, path, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	if strings.Contains(value, "%") {
		return key.SetExpandStringValue(name, value)
	}
	return key.SetStringValue(name, value)
}
