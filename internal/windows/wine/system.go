package wine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/windows/winver"
)

// System is a prepared system layer, over which Windows hosts and Windows containers are laid.
type System struct {
	// Dir is the layer's folder, <wine folder>/<key>.
	Dir string
	// Install is the Wine from which the layer was made, and which it still needs.
	Install Install
}

// Mount is a folder of the machine that a container must see.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

const systemFile = "system.json"

// Open reads the system layer that Prepare made in dir, the <key> folder, for another process.
func Open(dir string) (*System, error) {
	data, err := os.ReadFile(filepath.Join(dir, systemFile))
	if err != nil {
		return nil, fmt.Errorf("open wine system layer: %w", err)
	}
	s := &System{Dir: dir}
	if err := json.Unmarshal(data, &s.Install); err != nil {
		return nil, fmt.Errorf("open wine system layer %q: %w", dir, err)
	}
	return s, nil
}

// Base returns the folder of the layer that all builds share.
func (s *System) Base() string { return filepath.Join(s.Dir, "base") }

// Layers returns the lower folders of an overlay that is Windows of one build, the top one first.
func (s *System) Layers(b winver.Build) ([]string, error) {
	dir := s.buildDir(b)
	if _, err := os.Stat(dir); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("find wine layer of windows %s: prepared without that build: %w", b.Name, err)
		}
		return nil, fmt.Errorf("find wine layer of windows %s: %w", b.Name, err)
	}
	return []string{dir, s.Base()}, nil
}

func (s *System) buildDir(b winver.Build) string {
	return filepath.Join(s.Dir, fmt.Sprintf("build-%d", b.Version.Build))
}

// Mounts returns the folders that a container must bind over its layers: Wine's own libraries. The targets exist in the
// base layer.
func (s *System) Mounts() []Mount {
	return []Mount{{Source: s.Install.LibDir, Target: s.Install.LibDir, ReadOnly: true}}
}

// LoaderArgv returns the beginning of the command line that runs a Windows program, followed by its Windows path.
// Wine's preloader begins, as when a Windows program starts another: the loader would load Wine's libraries, find that
// it began without it, and begin anew by it (dlls/ntdll/unix/loader.c, __wine_main).
func (s *System) LoaderArgv() []string {
	if !s.preloads() {
		return []string{s.Install.Loader}
	}
	return []string{s.Install.Preloader, s.Install.Loader}
}

// preloads reports whether this Wine's loader would begin anew by its preloader, and by the same loader then: that of a
// Wine whose preloader lies elsewhere is another one.
func (s *System) preloads() bool { return s.Install.Preloader == s.Install.Loader+"-preloader" }

// ServerPath returns the wineserver program, for waiting for (-w) and ending (-k) all programs of a prefix.
func (s *System) ServerPath() string { return s.Install.Server }

// environment returns what Wine needs wherever it runs: its own server rather than a script, quiet diagnostics (they
// would be mixed into a program's standard error), UTF-8 file names (the base layer has the locale).
func (s *System) environment(prefix string) []string {
	env := []string{
		"WINEPREFIX=" + prefix,
		"WINELOADER=" + s.Install.Loader,
		"WINESERVER=" + s.Install.Server,
		"WINEDEBUG=-all",
		"LANG=C.UTF-8",
	}
	if s.preloads() {
		env = append(env, secondTime)
	}
	return env
}

// secondTime tells Wine's loader that the preloader has begun. Wine takes it out of what programs see.
const secondTime = "WINELOADERNOEXEC=1"

// noDesktop keeps Wine from making menus and a desktop, and from offering to download Mono and Gecko.
const noDesktop = "winemenubuilder.exe,explorer.exe,mscoree,mshtml=d"

// ContainerEnv returns the environment of the loader in a container, whose root is the prefix. Every program of a
// container is started through mullion-run.exe, which does the necessary part of wineboot's work in its own process. So
// wineboot, and the services that it would start, stay off. mullion-run.exe also sets a container's own variables. TZ
// is for Wine's server, which computes local time each second for as long as it runs, and would look for /etc/localtime
// each time (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/fd.c, set_user_shared_data_time); programs do
// not have it.
func (s *System) ContainerEnv() []string {
	return append(s.environment("/"), "WINEDLLOVERRIDES=wineboot.exe,"+noDesktop, "HOME=/", serverZone,
		"PATH="+filepath.Dir(s.Install.Loader)+":/usr/bin")
}

const (
	serverZone = "TZ=UTC0"
	// laterZone is the first zone in Wine's registry, Afghanistan Standard Time.
	laterZone = "TZ=<+0430>-4:30"
)

// LaterEnv returns the environment of the loader for a program that is started in a container whose Wine server runs,
// made of that of ContainerEnv. Wine compares Linux' zone with those of the registry, one by one, when a program begins
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/dlls/ntdll/unix/system.c, find_reg_tz_info): with the first of
// them it has found it at once, 480 requests to its server earlier than with UTC. Programs see neither: what they ask
// is answered by the hooks (guest/c/hooks/timezone.c).
func LaterEnv(env []string) []string {
	later := slices.Clone(env)
	if i := slices.Index(later, serverZone); i >= 0 {
		later[i] = laterZone
	}
	return later
}

// HostEnv returns the environment of the loader on a Windows host, whose prefix is mounted at prefix. It has no TMPDIR:
// with one, and without a runtime folder, Debian's Wine 10.0 aborts ("free(): invalid pointer").
func (s *System) HostEnv(prefix string) []string {
	return append(s.environment(prefix), "WINEDLLOVERRIDES="+noDesktop, "HOME="+prefix,
		"PATH="+filepath.Dir(s.Install.Loader)+":/usr/sbin:/usr/bin:/sbin:/bin")
}

// Drive returns the folder that is C: of the prefix at prefix.
func Drive(prefix string) string { return filepath.Join(prefix, "Files") }

// EditHive applies changes to the hive file (system.reg, user.reg) of a prefix in which no program runs. The file is
// replaced whole.
func EditHive(path string, keys []Key) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("edit registry: %w", err)
	}
	edited, err := EditRegistry(string(text), keys)
	if err != nil {
		return fmt.Errorf("edit registry %q: %w", path, err)
	}
	return atomicfile.Write(path, []byte(edited), 0o644)
}

// hasBuiltin reports whether Wine has a DLL or driver of this file name itself.
func (i Install) hasBuiltin(file string) bool {
	_, err := os.Stat(filepath.Join(i.WindowsDir(), strings.ToLower(file)))
	return err == nil
}

// RunProgram is the Windows path of mullion-run.exe, which starts every program of a container.
const RunProgram = `C:\Windows\System32\mullion-run.exe`

// PipeProgram is the Windows path of mullion-pipe.exe, which carries bytes between named pipes and Unix sockets.
const PipeProgram = `C:\Windows\System32\mullion-pipe.exe`

// ServiceProgram is the Windows path of mullion-service.exe, which keeps a host's program as a service.
const ServiceProgram = `C:\Windows\System32\mullion-service.exe`

// UnixName returns the name by which Windows programs reach a file of Linux, whatever drives there are.
func UnixName(path string) string { return `\\?\unix` + strings.ReplaceAll(path, "/", `\`) }
