package cri

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
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

// hostProcess is the kind of pod that runs in the Windows host.
type hostProcess struct{ process }

// hostProcessOf returns the kind of a pod that asks to run in the host, else nil.
func hostProcessOf(s *Server, sb store.Sandbox) kind {
	if sb.Config.GetWindows().GetSecurityContext().GetHostProcess() {
		return hostProcess{process{s}}
	}
	return nil
}

// checkAlike refuses a container that asks to run in the host when its pod does not, and the other way round. The words
// are containerd's (internal/cri/server/container_create.go).
func checkAlike(sb store.Sandbox, config *runtimeapi.ContainerConfig) error {
	if config.GetWindows().GetSecurityContext().GetHostProcess() ==
		sb.Config.GetWindows().GetSecurityContext().GetHostProcess() {
		return nil
	}
	return fmt.Errorf("pod spec and all containers inside must have the HostProcess field set to be valid: %w",
		errdefs.ErrInvalidArgument)
}

func (h hostProcess) check(context.Context, store.Sandbox) error {
	if h.s.cfg.HostProcess == nil {
		return fmt.Errorf("the host's Windows has no HostProcess containers: %w", errdefs.ErrNotImplemented)
	}
	return nil
}

func (h hostProcess) network() Network { return hostNetwork{h.s.cfg.Network, h.s} }

// hostNetwork is the host's own network, to which a HostProcess pod neither is connected nor adds anything.
type hostNetwork struct {
	Network
	s *Server
}

// Setup returns no addresses, as in containerd: the kubelet knows the host's.
func (n hostNetwork) Setup(context.Context, Pod) (PodNetwork, error) {
	return PodNetwork{NetNS: n.s.cfg.HostProcess.NetNS}, nil
}

func (hostNetwork) Teardown(context.Context, Pod, PodNetwork) error { return nil }

func (hostNetwork) Share(context.Context, Pod, string, bool) error { return nil }

func (hostNetwork) Stats(context.Context, Pod) (NetworkStats, error) {
	return NetworkStats{}, errNoEndpoint
}

// sockets has none: those of the host's network are the host's, too.
func (hostProcess) sockets(store.Sandbox) string { return "" }

// systems has none: on Windows a HostProcess container is a job of the host.
func (hostProcess) systems(store.Sandbox, []store.Container) (pod, containers []ComputeSystem) {
	return nil, nil
}

func (hostProcess) admit(_ store.Sandbox, config *runtimeapi.ContainerConfig) error {
	for _, m := range pipesOf(config) {
		// hcsshim's words (internal/jobcontainers/mounts.go, v0.15.0-rc.4).
		return fmt.Errorf("mount named pipe %q: named pipe mounts not supported for job containers"+
			" - interact with the pipe directly: %w", m.Host, errdefs.ErrInvalidArgument)
	}
	return nil
}

// record has the program of a HostProcess container. It brings no Windows of its own, so its image may be of any build;
// its user is one of the host's, and without a name hcsshim asks for one.
func (h hostProcess) record(_ context.Context, sb store.Sandbox, config *runtimeapi.ContainerConfig, img image.Info,
) (store.Container, error) {
	c, err := newContainer(sb, config, img)
	if err != nil {
		return store.Container{}, err
	}
	c.HostProcess = true
	h.s.cfg.HostProcess.adapt(&c, img)
	return c, nil
}

// complete makes a working folder that the host sees, too: a mount of the container's own it would not.
func (h hostProcess) complete(_ store.Sandbox, c *store.Container, spec *engine.Container) error {
	if err := os.MkdirAll(spec.WorkDir, 0o755); err != nil {
		return fmt.Errorf("make working folder: %w", err)
	}
	if err := os.Chown(spec.WorkDir, int(spec.UID), int(spec.UID)); err != nil {
		return fmt.Errorf("give working folder to the container's user: %w", err)
	}

	files, err := h.s.hostFiles(*c)
	if err != nil {
		return err
	}

	host := h.s.cfg.HostProcess
	spec.SystemFiles = files
	spec.Hostname = ""
	spec.NetNS = host.NetNS
	dirs := []string{c.Dir}
	if a, err := host.account(c.User, c.ID); err == nil {
		dirs = append(dirs, a.temp, a.profile+`\AppData\Roaming`,
			a.profile+`\AppData\Local`)
	}

	spec.Kind = &engine.HostProcess{
		MountPoint: host.mountPoint(c.ID),
		AtTargets:  host.BindFilter,
		Dirs:       dirs,
	}

	return nil
}

// tellLimits tells nothing: the container's programs are the host's, beside others, and have no job of their own.
func (hostProcess) tellLimits(context.Context, store.Container, *runtimeapi.WindowsContainerResources) error {
	return nil
}

// folder has the same path on the machine, in the host and in the container, because the container's root file system
// is read-only except for the run folder.
func (h hostProcess) folder(c store.Container) (machine, inside string) {
	dir := filepath.Join(h.s.cfg.HostProcessWork, c.ID)
	return dir, dir
}

// prefix returns the view that the container has of the host's prefix.
func (h hostProcess) prefix(c store.Container) string { return h.s.cfg.Engine.View(c.ID) }

// explanation is not kept: the host's wineserver is not the container's.
func (hostProcess) explanation(string, string) string { return "" }

// user is the same Linux user for all accounts of the host: a prefix belongs to one user.
func (h hostProcess) user(c store.Container) (uint32, error) {
	host := h.s.cfg.HostProcess
	if host == nil { // its Windows is another now
		return uidAdministrator, errors.New("the host's Windows has no HostProcess containers any more")
	}
	_, err := host.account(c.User, c.ID)
	return uidAdministrator, err
}

// credential refuses a credential spec: a job container has its host's identity. Windows starts such a container, with
// another identity than the one that was asked for.
func (hostProcess) credential(c store.Container) (string, error) {
	if askedCredential(c) == "" {
		return "", nil
	}
	return "", errors.New(noCredential +
		"The request is not supported. (0x80070032): a HostProcess container has its host's identity")
}

// firstProcess returns the program itself. In the host it is not PID 1, and has nobody to signal but its own program;
// the registry is the host's and is left alone.
func (h hostProcess) firstProcess(_ store.Sandbox, _ store.Container, program runSpec) []string {
	return h.s.cfg.Launch.programArgs(program)
}

func (h hostProcess) arguments(c store.Container, args []string) []string {
	return h.s.cfg.HostProcess.arguments(c.ID, args)
}

// mountPoint returns where a HostProcess container sees its image, with a back slash at the end, as in hcsshim.
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

// arguments returns the arguments of a program of a container, its first one or one that is run in it later.
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

// environment returns the program's environment: what Windows gives the account, then the image's and the container's
// variables.
func (h *HostProcess) environment(c *store.Container, point string) []string {
	base := []*runtimeapi.KeyValue{}
	set := func(name, value string) {
		base = append(base, &runtimeapi.KeyValue{Key: name, Value: []byte(expand(value, point))})
	}

	a, err := h.account(c.User, c.ID)
	if err == nil { // otherwise the start fails, see user
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

// hostFiles returns the files that a HostProcess container has in its /etc: the host's own, with its account in place
// of the host's user.
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
