package wine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Oldest Wine that the shims are made for and tested with.
const (
	minMajor = 8
	minMinor = 0
)

// The errors that a person can cure by installing Wine; their messages say how.
var (
	ErrNotFound = errors.New(
		"wine for 64-bit programs is not installed: install it with `apt-get install --no-install-recommends wine64 wine64-preloader` (Debian, Ubuntu) or your distribution's package manager")
	ErrNotInFolder = errors.New("no Wine for 64-bit programs")
	ErrHidden      = errors.New(
		"containers would not see this Wine, because they have files of their own there: move it, for example below /opt")
	ErrTooOld = errors.New(
		"wine is too old: version 8.0 or newer is needed; Debian 12 and Ubuntu 23.10 have it, https://www.winehq.org has packages for others")
)

// Install is a Wine installation on this machine. All paths are absolute and without symbolic links.
type Install struct {
	// Version as Wine tells it, for example "8.0".
	Version string `json:"version"`
	// Loader is the program that runs 64-bit Windows programs, and Server its wineserver (the ELF program, not a
	// wrapper).
	Loader string `json:"loader"`
	Server string `json:"server"`
	// Preloader is the program that keeps addresses free for Windows before the loader runs, "" if this Wine has none.
	// The loader looks for it by this name. Without it Linux 6.9 and newer puts the heap of one program in some
	// thousands at 0x7ffe0000, where Windows has the data that all processes share, and that program ends at once
	// (https://github.com/torvalds/linux/blob/v6.12/arch/x86/kernel/process.c, arch_randomize_brk).
	Preloader string `json:"preloader,omitempty"`
	// LibDir holds x86_64-unix and x86_64-windows.
	LibDir string `json:"libDir"`
	// DataDir holds nls and wine.inf.
	DataDir string `json:"dataDir"`
}

// UnixDir returns the folder of Wine's ELF libraries.
func (i Install) UnixDir() string { return filepath.Join(i.LibDir, "x86_64-unix") }

// WindowsDir returns the folder of Wine's builtin DLLs and programs.
func (i Install) WindowsDir() string { return filepath.Join(i.LibDir, "x86_64-windows") }

// Elsewhere returns the folders outside of /usr that hold this Wine: those of WineHQ's packages are below /opt.
func (i Install) Elsewhere() []string {
	var dirs []string
	for _, dir := range []string{filepath.Dir(i.Loader), filepath.Dir(i.Server), i.LibDir, i.DataDir} {
		if filepath.IsAbs(dir) && !strings.HasPrefix(dir, "/usr/") {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Find looks for Wine in dir; if that is "", where Debian, Ubuntu, Fedora, Arch and WineHQ's packages put it. dir is
// what a build of Wine was installed to (its --prefix), or a folder in which such packages were unpacked. The error
// wraps ErrNotFound, ErrNotInFolder, ErrHidden or ErrTooOld.
func Find(dir string) (Install, error) {
	if dir == "" {
		return find("/", places(), askVersion)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Install{}, fmt.Errorf("find wine: %w", err)
	}

	for _, own := range []string{"/tmp", "/run", "/dev", "/proc", "/sys"} {
		if real == own || strings.HasPrefix(real, own+"/") {
			return Install{}, fmt.Errorf("%w: %q is below %q", ErrHidden, dir, own)
		}
	}

	inst, err := find(dir, append([]string{"lib/wine/wine64", "bin/wine64", "bin/wine"}, places()...), askVersion)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w in %q: it needs bin/wine64, bin/wine or usr/lib/wine/wine64, with wineserver, the libraries and share/wine of the same build",
			ErrNotInFolder, dir)
	}

	return inst, err
}

// places returns where packages have the loader.
func places() []string {
	return []string{
		"usr/lib/wine/wine64", "usr/bin/wine64", "usr/local/bin/wine64", "opt/wine-stable/bin/wine64",
		"opt/wine-staging/bin/wine64",
		"opt/wine-devel/bin/wine64", "usr/bin/wine", "opt/wine-stable/bin/wine", "opt/wine-devel/bin/wine",
	}
}

// find looks for one of the loaders below root; version asks a loader for its version.
func find(root string, loaders []string, version func(loader string) (string, error)) (Install, error) {
	var tooOld error
	for _, loader := range loaders {
		inst, err := inspect(root, filepath.Join(root, loader))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Install{}, fmt.Errorf("find wine: %w", err)
		}

		if inst.Version, err = version(inst.Loader); err != nil {
			return Install{}, fmt.Errorf("find wine: %w", err)
		}
		if err := checkVersion(inst.Version); err != nil {
			tooOld = fmt.Errorf("use %q: %w", inst.Loader, err)
			continue
		}
		return inst, nil
	}
	if tooOld != nil {
		return Install{}, tooOld
	}

	return Install{}, ErrNotFound
}

// inspect fills in the folders that belong to a loader; fs.ErrNotExist if one is missing.
func inspect(root, loader string) (Install, error) {
	real, err := filepath.EvalSymlinks(loader)
	if err != nil {
		return Install{}, err
	}

	elf, err := isELF(real)
	if err != nil {
		return Install{}, err
	}
	if !elf { // a script that chooses a loader: the loader is on the list too
		return Install{}, fs.ErrNotExist
	}

	dir := filepath.Dir(real)
	inst := Install{Loader: real}
	if inst.LibDir, err = firstWith("x86_64-unix/ntdll.so",
		filepath.Join(dir, "../x86_64-linux-gnu/wine"), filepath.Join(dir, "../lib/wine"),
		filepath.Join(dir, "../lib64/wine"),
		filepath.Join(dir, "../lib/x86_64-linux-gnu/wine"), dir); err != nil {
		return Install{}, err
	}

	for _, path := range []string{
		real + "-preloader", filepath.Join(dir, "wine64-preloader"), filepath.Join(inst.UnixDir(), "wine-preloader"),
	} {
		if inst.Preloader == "" && isProgram(path) {
			inst.Preloader = path
		}
	}

	if inst.DataDir, err = firstWith("nls/l_intl.nls",
		filepath.Join(dir, "../share/wine"), filepath.Join(dir, "../../share/wine"),
		filepath.Join(root, "usr/share/wine")); err != nil {
		return Install{}, err
	}

	for _, server := range []string{"wineserver64", "wineserver"} {
		path := filepath.Join(dir, server)
		if isProgram(path) {
			inst.Server = path
			return inst, nil
		}
	}

	return Install{}, fmt.Errorf("wineserver beside %q: %w", real, fs.ErrNotExist)
}

// firstWith returns the first folder, without links, in which file exists.
func firstWith(file string, dirs ...string) (string, error) {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return filepath.EvalSymlinks(dir)
		}
	}
	return "", fmt.Errorf("%s: %w", file, fs.ErrNotExist)
}

// isProgram reports whether path is an ELF program.
func isProgram(path string) bool {
	ok, err := isELF(path)
	return err == nil && ok
}

func isELF(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := f.Read(magic); err != nil {
		return false, nil // an empty file is no program
	}
	return string(magic) == "\x7fELF", nil
}

// askVersion runs wine64 --version, which answers "wine-8.0 (Debian 8.0~repack-4)".
func askVersion(loader string) (string, error) {
	cmd := exec.Command(loader, "--version") // answers at once: the loader only prints
	// Without HOME Wine looks its user up, and falls over a user that the machine has no name for.
	cmd.Env = []string{"WINEDEBUG=-all", "PATH=/usr/bin:/bin", "HOME=/"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %q for its version: %w: %s", loader, err, strings.TrimSpace(string(out)))
	}
	m := regexp.MustCompile(`wine-(\d+\.\d+\S*)`).FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("ask %q for its version: answer %.80q is not understood", loader, out)
	}
	return string(m[1]), nil
}

func checkVersion(version string) error {
	m := regexp.MustCompile(`^(\d+)\.(\d+)`).FindStringSubmatch(version)
	if m == nil {
		return fmt.Errorf("version %q is not understood", version)
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return err
	}

	minor, err := strconv.Atoi(m[2])
	if err != nil {
		return err
	}
	if major < minMajor || (major == minMajor && minor < minMinor) {
		return fmt.Errorf("version %s: %w", version, ErrTooOld)
	}

	return nil
}
