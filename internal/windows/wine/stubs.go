package wine

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
)

// refusal is the shim that takes the place of Wine's empty programs.
const refusal = "refuse.exe"

// emptyPrograms returns the console programs whose main function in Wine 8.0 has nothing but a FIXME in it
// (programs/<name>/main.c): they print nothing and end with 0. Others of the kind are in guest/tools.
func emptyPrograms() []string {
	return []string{
		"arp.exe", "cacls.exe", "dism.exe", "ngen.exe", "regasm.exe", "regini.exe", "regsvcs.exe", "sdbinst.exe",
		"servicemodelreg.exe", "subst.exe",
	}
}

// isEmpty reports whether the installed Wine's program is still an empty one: the text of the FIXME is in it, and it is
// small. A newer Wine that has the real program keeps it.
func (i Install) isEmpty(name string) bool {
	const small = 256 << 10
	path := filepath.Join(i.WindowsDir(), name)
	info, err := os.Stat(path)
	if err != nil || info.Size() > small {
		return false
	}
	program, err := os.ReadFile(path)
	return err == nil && bytes.Contains(program, []byte("stub"))
}

// refuseEmpty replaces Wine's empty programs by the refusal and returns their names.
func (o Options) refuseEmpty(shim, system32 string) ([]string, error) {
	var names []string
	for _, name := range emptyPrograms() {
		if !o.Install.isEmpty(name) {
			continue
		}
		if err := copyFile(shim, filepath.Join(system32, name), 0o755); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
