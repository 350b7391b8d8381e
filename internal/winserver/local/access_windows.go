package local

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/winserver"
)

func protect(path string, access winserver.Access) error {
	sd, err := windows.SecurityDescriptorFromString(list(access))
	if err != nil {
		return err
	}
	entries, _, err := sd.DACL()
	if err != nil {
		return err
	}

	owner, _, err := sd.Owner()
	if err != nil {
		return err
	}

	// The list first: it gives administrators the right to change the owner.
	err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, entries, nil)
	if err == nil {
		err = windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION, owner, nil,
			nil, nil)
	}
	if err != nil {
		return fmt.Errorf("keep others from %s: %w", path, err)
	}

	return nil
}

// installer is the service that owns what Windows itself brings, TrustedInstaller.
const installer = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

func trusted(path string) error {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("ask who owns %s: %w", path, err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return fmt.Errorf("ask who owns %s: %w", path, err)
	}

	if owner == nil {
		return fmt.Errorf("%w: it has none", winserver.ErrUntrusted)
	}
	if owner.IsWellKnown(windows.WinLocalSystemSid) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) ||
		owner.String() == installer {
		return nil
	}

	// What an administrator makes may be his own.
	me, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	if owner.Equals(me.User.Sid) {
		return nil
	}

	return fmt.Errorf("%w: %s", winserver.ErrUntrusted, owner)
}

// versionTimeout bounds how long a program may take to say its version. The antivirus program reads it then.
const versionTimeout = time.Minute

func programVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	return strings.TrimSpace(string(out)), err
}
