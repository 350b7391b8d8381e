package cri

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

// HostProcess says where HostProcess containers run: in the Windows host itself, in its network, with its registry and
// its C:. Their Windows side follows hcsshim
// (https://github.com/microsoft/hcsshim/tree/v0.15.0-rc.4/internal/jobcontainers; Kubernetes' side:
// https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/).
type HostProcess struct {
	// Name is the host's name.
	Name string
	// NetNS is the path of the host's network namespace.
	NetNS string
	// BindFilter says that the host's Windows can show files to one container alone (bindfltapi.dll). If so, every
	// container sees its image at C:\hpc and its volumes at the paths that it asks for; if not, at C:\hpc\<container's
	// id> and below it.
	BindFilter bool
	// LocalGroups reads the host's local groups; nil: those that every host has.
	LocalGroups func() (localgroup.Groups, error)
	// Files are the host's own files in /etc by their paths there, as paths of the machine.
	Files map[string]string
}

// Views is the part of an engine that knows where HostProcess containers see the host.
type Views interface {
	// View is a container's Wine prefix on the machine: the host's, with the image and the volumes in it.
	View(id string) string
}

// mountPointVariable is the environment variable that holds the path of a container's image.
const mountPointVariable = "CONTAINER_SANDBOX_MOUNT_POINT"

// isHostProcess reports whether a pod runs in the Windows host.
func isHostProcess(sb store.Sandbox) bool {
	return sb.Config.GetWindows().GetSecurityContext().GetHostProcess()
}

// mountPoint is where a HostProcess container sees its image, with a back slash at the end, as in hcsshim.
func (h *HostProcess) mountPoint(id string) string {
	if h.BindFilter {
		return `C:\hpc\`
	}
	return `C:\hpc\` + id + `\`
}

// expand puts the mount point in the place of its variable, in either spelling that hcsshim knows.
func expand(text, mountPoint string) string {
	point := strings.TrimSuffix(mountPoint, `\`)
	return strings.NewReplacer("%"+mountPointVariable+"%", point, "$env:"+mountPointVariable, point).Replace(text)
}

// adapt turns a container's program into that of a HostProcess container.
func (h *HostProcess) adapt(c *store.Container, img image.Info) {
	point := h.mountPoint(c.ID)
	c.Program = h.arguments(c.ID, c.Program)
	c.Dir = h.workingDir(c.Config.ContainerConfig, img, point)
	c.Env = h.environment(c, point)
}

// arguments are those of a program of a container, its first one or one that is run in it later.
func (h *HostProcess) arguments(id string, args []string) []string {
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = expand(arg, h.mountPoint(id))
	}
	return expanded
}

func (h *HostProcess) workingDir(config *runtimeapi.ContainerConfig, img image.Info, point string) string {
	dir := `C:\hpc` // containerd's default
	for _, asked := range []string{img.Config.WorkingDir, config.GetWorkingDir()} {
		if asked != "" {
			dir = asked
		}
	}
	if expanded := expand(dir, point); expanded != dir || h.BindFilter {
		return expanded
	}
	if len(dir) >= 2 && dir[1] == ':' {
		dir = dir[2:]
	}
	return point + strings.TrimLeft(dir, `\/`)
}

// extraPath is what hcsshim adds to PATH after the mount point.
const extraPath = `;C:\WINDOWS\System32\WindowsPowerShell\v1.0\;C:\WINDOWS\System32\Wbem`

// environment is the program's environment: what Windows gives the account, then the image's and the container's
// variables.
func (h *HostProcess) environment(c *store.Container, point string) []string {
	base := []*runtimeapi.KeyValue{}
	set := func(name, value string) {
		base = append(base, &runtimeapi.KeyValue{Key: name, Value: []byte(expand(value, point))})
	}
	a, err := h.account(c.User, c.ID)
	if err == nil { // otherwise the start fails, see checkUser
		for _, v := range a.variables() {
			set(v[0], v[1])
		}
	}
	set("PATH", `C:\Windows\system32;C:\Windows;`+wine.ContainerdDir)
	for _, e := range c.Env {
		name, value, _ := strings.Cut(e, "=")
		set(name, value)
	}
	set(mountPointVariable, point)
	env := mergeEnv(nil, base)
	for i, e := range env {
		if name, value, _ := strings.Cut(e, "="); strings.EqualFold(name, "PATH") {
			env[i] = name + "=" + strings.TrimSuffix(value, ";") + ";" + point + extraPath
		}
	}
	return env
}

// account is a Windows account that HostProcess containers run as.
type account struct {
	// name is what GetUserName returns; user and domain are %USERNAME% and %USERDOMAIN%. For accounts that act as the
	// computer on the network, user and domain name the computer.
	name, user, domain string
	profile, temp      string
}

func (a account) variables() [][2]string {
	return [][2]string{
		{"USERNAME", a.user},
		{"USERDOMAIN", a.domain},
		{"USERPROFILE", a.profile},
		{"HOMEDRIVE", "C:"},
		{"HOMEPATH", strings.TrimPrefix(a.profile, "C:")},
		{"APPDATA", a.profile + `\AppData\Roaming`},
		{"LOCALAPPDATA", a.profile + `\AppData\Local`},
		{"TEMP", a.temp},
		{"TMP", a.temp},
	}
}

// account finds the account for the user name that a pod asks for. As in hcsshim, the name of a local group stands for
// a new account in that group, named after the container. The error is hcsshim's with Windows' ERROR_LOGON_FAILURE.
func (h *HostProcess) account(asked, id string) (account, error) {
	const prefix = "failed to create user process token: "
	if asked == "" {
		return account{}, errors.New(prefix + "empty username or group name passed")
	}
	groups := localgroup.BuiltIn()
	if h.LocalGroups != nil {
		read, err := h.LocalGroups()
		if err != nil {
			return account{}, errors.New(prefix + err.Error())
		}
		groups = read
	}
	if _, found := groups.Find(asked); found {
		name := id[:20] // the longest name of a local account
		profile := `C:\Users\` + name
		return account{
			name:    name,
			user:    name,
			domain:  strings.ToUpper(h.Name),
			profile: profile,
			temp:    profile + `\AppData\Local\Temp`,
		}, nil
	}
	computer := strings.ToUpper(h.Name) + "$"
	domain, user, _ := strings.Cut(asked, `\`)
	if strings.EqualFold(domain, "NT AUTHORITY") {
		switch strings.ToLower(strings.ReplaceAll(user, " ", "")) {
		case "system":
			return account{
				"SYSTEM", computer, "WORKGROUP", `C:\Windows\system32\config\systemprofile`,
				`C:\Windows\TEMP`,
			}, nil
		case "localservice":
			const profile = `C:\Windows\ServiceProfiles\LocalService`
			return account{"LOCAL SERVICE", "LOCAL SERVICE", "NT AUTHORITY", profile, profile + `\AppData\Local\Temp`},
				nil
		case "networkservice":
			const profile = `C:\Windows\ServiceProfiles\NetworkService`
			return account{"NETWORK SERVICE", computer, "WORKGROUP", profile, profile + `\AppData\Local\Temp`}, nil
		}
	}
	return account{}, errors.New(
		prefix + "failed to logon user: The user name or password is incorrect. (0x52e): the host has no account " + asked)
}

// checkUser returns an error if a container's user does not exist: in the container, or for HostProcess in the host.
func (s *Server) checkUser(c store.Container) error {
	var err error
	if c.HostProcess {
		_, err = s.cfg.HostProcess.account(c.User, c.ID)
	} else if c.Account == nil {
		_, err = lookupUser(c.User)
	}
	return err
}

// uidOf is the Linux user of a container's programs, in the container. All programs of the host have the same Linux
// user, whatever their account: a prefix belongs to one user.
func uidOf(c store.Container) uint32 {
	if c.HostProcess {
		return uidAdministrator
	}
	if c.Account != nil {
		return accountUID(*c.Account)
	}
	uid, _ := lookupUser(c.User) // an unknown one is the start's error, as on Windows
	return uid
}

// hostFiles are the files that a HostProcess container has in its /etc: the host's own, with its account in place of
// the host's user.
func (s *Server) hostFiles(c store.Container) ([]engine.BindMount, error) {
	var files []engine.BindMount
	for target, source := range s.cfg.HostProcess.Files {
		if target != "/etc/passwd" {
			files = append(files, engine.BindMount{Source: source, Target: target})
		}
	}
	slices.SortFunc(files, func(a, b engine.BindMount) int { return strings.Compare(a.Target, b.Target) })
	name := userAdministrator
	if a, err := s.cfg.HostProcess.account(c.User, c.ID); err == nil {
		name = a.name
	}
	passwd, err := s.writePasswd(c, name, uidAdministrator)
	return append(files, passwd), err
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

// inHost turns the specification of an ordinary container into that of a HostProcess container.
func (s *Server) inHost(c store.Container, spec engine.Container) (engine.Container, error) {
	files, err := s.hostFiles(c)
	if err != nil {
		return spec, err
	}
	h := s.cfg.HostProcess
	spec.SystemFiles, spec.Hostname, spec.NetNS = files, "", h.NetNS
	spec.HostProcess = &engine.HostProcess{
		MountPoint: h.mountPoint(c.ID),
		AtTargets:  h.BindFilter,
		Dirs:       []string{c.Dir},
	}
	if a, err := h.account(c.User, c.ID); err == nil {
		spec.HostProcess.Dirs = append(spec.HostProcess.Dirs, a.temp, a.profile+`\AppData\Roaming`,
			a.profile+`\AppData\Local`)
	}
	return spec, nil
}
