package prog

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processNamed returns the id of a process.
func processNamed(t *testing.T, name string) uint32 {
	t.Helper()
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(snapshot)

	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		if strings.EqualFold(windows.UTF16ToString(entry.ExeFile[:]), name) {
			return entry.ProcessID
		}
	}

	t.Fatalf("no process %s: %v", name, err)
	return 0
}

// tokenOf opens the token of a process.
func tokenOf(t *testing.T, pid uint32) windows.Token {
	t.Helper()
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(process)
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_DUPLICATE|windows.TOKEN_QUERY, &token); err != nil {
		t.Fatal(err)
	}
	return token
}

// userOf returns the SID of a token's user.
func userOf(t *testing.T, token windows.Token) string {
	t.Helper()
	user, err := token.GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	return user.User.Sid.String()
}

// TestSystemToken impersonates SYSTEM by the token of the service control manager, as Kubernetes' node tests do
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/e2e_node_windows/util_system_windows.go).
func TestSystemToken(t *testing.T) {
	const system = "S-1-5-18"
	// The first call to the service control manager starts it, in a prefix without services.
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseServiceHandle(manager)
	token := tokenOf(t, processNamed(t, "services.exe"))
	if got := userOf(t, token); got != system {
		t.Errorf("user of the token of services.exe: %s", got)
	}

	var length uint32
	err = windows.GetTokenInformation(token, windows.TokenUser, nil, 0, &length)
	if err != windows.ERROR_INSUFFICIENT_BUFFER {
		t.Errorf("without room: %v", err)
	} else if want := uint32(unsafe.Sizeof(windows.Tokenuser{})) + 12; length != want {
		t.Errorf("room wanted: %d bytes, want %d", length, want)
	}

	var copied windows.Token
	const rights = windows.TOKEN_QUERY | windows.TOKEN_IMPERSONATE | windows.TOKEN_DUPLICATE
	if err := windows.DuplicateTokenEx(token, rights, nil,
		windows.SecurityImpersonation, windows.TokenImpersonation, &copied); err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if got := userOf(t, copied); got != system {
		t.Errorf("user of the copy: %s", got)
	}

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := windows.SetThreadToken(nil, copied); err != nil {
		t.Errorf("impersonate: %v", err)
	}
	if err := windows.RevertToSelf(); err != nil {
		t.Error(err)
	}

	// A handle's number is another's after it was closed, and other programs' tokens are the user's.
	own := userOf(t, windows.GetCurrentProcessToken())
	if own == system {
		t.Errorf("the program's own user is %s", own)
	}
	if err := token.Close(); err != nil {
		t.Fatal(err)
	}

	for range 8 {
		other := tokenOf(t, windows.GetCurrentProcessId())
		defer other.Close()
		if got := userOf(t, other); got != own {
			t.Errorf("user of the program's own token: %s, want %s", got, own)
		}
	}
}
