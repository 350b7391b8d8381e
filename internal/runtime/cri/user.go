package cri

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/sam"
)

// The users that every Windows container has, with their ids in the system layer's etc/passwd
// (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security#user-accounts).
const (
	userAdministrator = "ContainerAdministrator"
	userUser          = "ContainerUser"

	uidAdministrator = 0
	uidUser          = 1000
)

// Users maps SIDs to Linux user ids in a container. The SIDs of users are those of ContainerAdministrator,
// ContainerUser (https://github.com/moby/moby/blob/v27.5.1/pkg/idtools/idtools_windows.go) and SYSTEM, which is
// ContainerAdministrator here. The SIDs of groups map to the ids of their members: Administrators; Users, Authenticated
// Users, SERVICE and Everyone
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers).
func Users() map[string][]uint32 {
	administrator, everybody := []uint32{uidAdministrator}, []uint32{uidAdministrator, uidUser}
	return map[string][]uint32{
		"S-1-5-93-2-1": administrator, "S-1-5-93-2-2": {uidUser}, "S-1-5-18": administrator,
		"S-1-5-32-544": administrator, "S-1-5-32-545": everybody, "S-1-5-11": everybody, "S-1-5-6": everybody,
		"S-1-1-0": everybody,
	}
}

// userName returns the user that a container's program runs as: what the container or its pod asks for, else what the
// image says, else ContainerAdministrator, the default of Windows images other than nanoserver's.
func userName(sb store.Sandbox, config *runtimeapi.ContainerConfig, imageUser string) string {
	return cmp.Or(askedUser(sb, config, imageUser), userAdministrator)
}

// askedUser returns the user that the container, its pod or the image asks for, "" if none does.
func askedUser(sb store.Sandbox, config *runtimeapi.ContainerConfig, imageUser string) string {
	for _, name := range []string{
		config.GetWindows().GetSecurityContext().GetRunAsUsername(),
		sb.Config.GetWindows().GetSecurityContext().GetRunAsUsername(),
		imageUser,
	} {
		if name != "" {
			return name
		}
	}
	return ""
}

// writePasswd writes the /etc/passwd of a container, from which Wine takes the name of its user.
func (s *Server) writePasswd(c store.Container, name string, uid uint32) (engine.BindMount, error) {
	passwd := engine.BindMount{Source: filepath.Join(s.containerDir(c.ID), "passwd"), Target: "/etc/passwd"}
	if err := os.MkdirAll(filepath.Dir(passwd.Source), 0o700); err != nil {
		return passwd, fmt.Errorf("make files of container: %w", err)
	}
	line := fmt.Sprintf("%s:x:%d:%[2]d::/:/\n", name, uid)
	if err := os.WriteFile(passwd.Source, []byte(line), 0o644); err != nil {
		return passwd, fmt.Errorf("write account of container: %w", err)
	}
	return passwd, nil
}

// imageAccount finds the account of a container's image that its user is; nil if the user is one of every container, or
// unknown, which is the start's error.
func (s *Server) imageAccount(ctx context.Context, id, chainID, name string) (*sam.Account, error) {
	if _, err := lookupUser(name); err == nil {
		return nil, nil
	}
	a, ok, err := s.cfg.Engine.Account(ctx, id, chainID, strings.TrimPrefix(name, `.\`))
	if err != nil || !ok {
		return nil, err
	}
	return &a, nil
}

// uidOf returns the Linux user of a container's programs, in the container. One that does not exist is the start's
// error, as on Windows.
func (s *Server) uidOf(c store.Container) uint32 {
	uid, _ := s.kindOf(c.SandboxID).user(c)
	return uid
}

// accountUID returns the id of an account of an image: all programs of a container have one user, with the rights of
// ContainerAdministrator or those of ContainerUser.
func accountUID(a sam.Account) uint32 {
	if a.Administrator {
		return uidAdministrator
	}
	return uidUser
}

// lookupUser returns the id of a user by name, with or without a domain, without regard to case. The error is Windows'
// ERROR_LOGON_FAILURE, 0x52e, as HCS words it
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--1300-1699-).
func lookupUser(name string) (uint32, error) {
	domain, user := "", name
	if i := strings.LastIndexByte(name, '\\'); i >= 0 {
		domain, user = name[:i], name[i+1:]
	}
	if domain == "" || domain == "." || strings.EqualFold(domain, "User Manager") {
		switch {
		case strings.EqualFold(user, userAdministrator):
			return uidAdministrator, nil
		case strings.EqualFold(user, userUser):
			return uidUser, nil
		}
	}

	if strings.EqualFold(domain, "NT AUTHORITY") && strings.EqualFold(user, "SYSTEM") {
		return uidAdministrator, nil
	}
	return 0, fmt.Errorf(
		"hcs::System::CreateProcess: The user name or password is incorrect. (0x52e): user %q is not in the container",
		name)
}
