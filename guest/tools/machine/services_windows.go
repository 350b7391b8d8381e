package machine

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Services implements System. The manager says how large the list is when it is asked without room for it
// (https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumservicesstatusexw).
func (local) Services() (map[uint32][]string, error) {
	m, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	if err != nil {
		return nil, fmt.Errorf("open the manager of services: %w", err)
	}
	defer windows.CloseServiceHandle(m) //nolint:errcheck // it goes with the process at the latest

	var data []byte
	var n uint32
	for size := uint32(4 << 10); ; {
		data = make([]byte, size)
		var more uint32
		err := windows.EnumServicesStatusEx(m, windows.SC_ENUM_PROCESS_INFO, windows.SERVICE_WIN32,
			windows.SERVICE_ACTIVE, &data[0], size, &more, &n, nil, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, windows.ERROR_MORE_DATA) {
			return nil, fmt.Errorf("list the services: %w", err)
		}
		size += more
	}

	found := map[uint32][]string{}
	if n == 0 {
		return found, nil
	}
	for _, s := range unsafe.Slice((*windows.ENUM_SERVICE_STATUS_PROCESS)(unsafe.Pointer(&data[0])), n) {
		pid := s.ServiceStatusProcess.ProcessId
		found[pid] = append(found[pid], windows.UTF16PtrToString(s.ServiceName))
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found, nil
}
