package piperelay

import (
	"context"
	"fmt"
	"net"
	"unsafe"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

func listenPipe(name, security string) (net.Listener, error) {
	return winio.ListenPipe(name, &winio.PipeConfig{SecurityDescriptor: security})
}

func dialPipe(ctx context.Context, name string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, name)
}

// dialPipeFor connects if the pipe's access list lets a container's user.
func dialPipeFor(ctx context.Context, user User, name string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dialPipe(ctx, name)
	if err != nil {
		return nil, err
	}

	if user == Administrator {
		return conn, nil // has what this program has
	}
	if err := admits(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open %s: %w", name, err)
	}

	return conn, nil
}

// admits returns an error if the access list of a pipe does not let somebody read and write who is neither an
// administrator nor the user of this program.
func admits(conn net.Conn) error {
	pipe, ok := conn.(interface{ Fd() uintptr })
	if !ok {
		return fmt.Errorf("%T has no handle", conn)
	}

	const parts = windows.OWNER_SECURITY_INFORMATION | windows.GROUP_SECURITY_INFORMATION |
		windows.DACL_SECURITY_INFORMATION
	sd, err := windows.GetSecurityInfo(windows.Handle(pipe.Fd()), windows.SE_KERNEL_OBJECT, parts)
	if err != nil {
		return fmt.Errorf("read the security descriptor: %w", err)
	}

	token, err := unprivileged()
	if err != nil {
		return err
	}
	defer token.Close()

	return accessCheck(sd, token, windows.FILE_GENERIC_READ|windows.FILE_GENERIC_WRITE)
}

// unprivileged returns a token to check with: this program's, with what it has beyond any user's taken away.
func unprivileged() (windows.Token, error) {
	var own windows.Token
	if err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_ALL_ACCESS, &own); err != nil {
		return 0, fmt.Errorf("open the access token: %w", err)
	}
	defer own.Close()

	user, err := own.GetTokenUser()
	if err != nil {
		return 0, fmt.Errorf("read the user of the access token: %w", err)
	}
	administrators, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return 0, err
	}

	const disableMaxPrivilege = 1
	disabled := []windows.SIDAndAttributes{{Sid: administrators}, {Sid: user.User.Sid}}
	var less, token windows.Token
	r, _, err := windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken").Call(uintptr(own),
		disableMaxPrivilege, uintptr(len(disabled)), uintptr(unsafe.Pointer(&disabled[0])), 0, 0, 0, 0,
		uintptr(unsafe.Pointer(&less)))
	if r == 0 {
		return 0, fmt.Errorf("make a token of a user: %w", err)
	}

	defer less.Close()

	if err := windows.DuplicateTokenEx(less, windows.TOKEN_ALL_ACCESS, nil, windows.SecurityIdentification,
		windows.TokenImpersonation, &token); err != nil {
		return 0, fmt.Errorf("make a token of a user: %w", err)
	}

	return token, nil
}

// accessCheck returns ERROR_ACCESS_DENIED if a security descriptor does not grant all of the access
// (https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-accesscheck).
func accessCheck(sd *windows.SECURITY_DESCRIPTOR, token windows.Token, access uint32) error {
	const fileAllAccess = 0x1f01ff // FILE_ALL_ACCESS of winnt.h
	mapping := [4]uint32{
		windows.FILE_GENERIC_READ, windows.FILE_GENERIC_WRITE, windows.FILE_GENERIC_EXECUTE, fileAllAccess,
	}

	var privileges [1024]byte
	size := uint32(len(privileges))
	var granted, allowed uint32
	r, _, err := windows.NewLazySystemDLL("advapi32.dll").NewProc("AccessCheck").Call(uintptr(unsafe.Pointer(sd)),
		uintptr(token), uintptr(access), uintptr(unsafe.Pointer(&mapping)), uintptr(unsafe.Pointer(&privileges)),
		uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&granted)), uintptr(unsafe.Pointer(&allowed)))
	if r == 0 {
		return fmt.Errorf("check access: %w", err)
	}

	if allowed == 0 {
		return windows.ERROR_ACCESS_DENIED
	}

	return nil
}

// setEvent sets an event that somebody else has made.
func setEvent(name string) error {
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	event, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, text)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(event) }() // it has been set
	return windows.SetEvent(event)
}
