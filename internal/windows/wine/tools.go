package wine

import (
	"os"
	"path/filepath"
	"slices"

	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

// tools is the shim that contains several of Windows' programs (guest/tools).
const tools = "wintools.exe"

// netOfWine is the new name of Wine's net.exe. Mullion's net.exe calls it for everything that it does not do itself.
// Windows has a program of that name for the same purpose.
const netOfWine = "net1.exe"

// wbem is the folder of system32 that has wmic.exe, wmicOfWine the new name of Wine's own there: Mullion's calls it.
const (
	wbem       = "wbem"
	wmicOfWine = "wmic1.exe"
)

// serviceMonitor is the second name of servicemonitor.exe: in C:\, where images of Windows have it. An image that has
// it has its own.
const serviceMonitor = "ServiceMonitor.exe"

// ourOwn reports whether a program of guest/tools takes the place of a real one of Wine's too: it does more.
// Wine's schtasks.exe has /create, /change and /delete alone, and prints nothing.
func ourOwn(name string) bool {
	return slices.Contains([]string{
		"chcp", "choice", "find", "hostname", "ipconfig", "net", "netstat", "nslookup", "robocopy", "sc", "schtasks", "whoami",
		"wmic", "xcopy",
	}, name)
}

// installTools puts the programs of shim into system32 and returns the names of Wine's own that they replace. Another
// real program of Wine's stays. Wine's net becomes net1, its wmic wmic1.
func (o Options) installTools(shim, system32 string) ([]string, error) {
	var names []string
	first := ""
	for _, name := range ourprograms.Names() {
		file := ourprograms.File(name)
		builtin := o.Install.hasBuiltin(file)
		if builtin && !ourOwn(name) && !o.Install.isEmpty(file) {
			continue
		}

		folder := system32
		if name == "wmic" {
			folder = filepath.Join(system32, wbem)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return nil, err
			}
		}

		if kept := map[string]string{"net": netOfWine, "wmic": wmicOfWine}[name]; builtin && kept != "" {
			if err := copyFile(filepath.Join(o.Install.WindowsDir(), file), filepath.Join(folder, kept),
				0o755); err != nil {
				return nil, err
			}
		}
		if err := linkOrCopy(shim, &first, filepath.Join(folder, file)); err != nil {
			return nil, err
		}

		if builtin {
			names = append(names, file)
		}
	}

	return names, linkOrCopy(shim, &first, filepath.Join(system32, "../..", serviceMonitor))
}

// linkOrCopy copies from to to the first time, and after that makes further names of the copy.
func linkOrCopy(from string, copied *string, to string) error {
	if *copied == "" {
		*copied = to
		return copyProgram(from, to)
	}
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Link(*copied, to)
}
