package wine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
)

const (
	// longestVariable is the most bytes of a line of a hive that MachineVariables reads as a variable: Windows' longest
	// has 32,767 characters (https://learn.microsoft.com/windows/win32/procthread/environment-variables), each of which
	// is at most six bytes here.
	longestVariable = 6*32767 + 1024
	// longestHive bounds what is read of a hive, in bytes: programs write as much into it as they like.
	longestHive = 64 << 20
)

// MachineVariables returns those variables of a Windows machine that have one of the names, in upper case, by these:
// what .NET's EnvironmentVariableTarget.Machine and `setx /M` set. path is the machine's hive (MachineHive), as Wine's
// server writes it: what a program sets is there within half a minute
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/registry.c, save_period).
// Variables within others' values are not replaced. What a program has put in the hive's place is beneath.ErrUnfit.
func MachineVariables(path string, names ...string) (map[string]string, error) {
	folder, err := os.OpenRoot(filepath.Dir(path)) // a link leads to nothing of the machine's
	if err != nil {
		return nil, fmt.Errorf("read the machine's variables: %w", err)
	}
	defer folder.Close()
	f, info, err := beneath.Open(folder, filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("read the machine's variables: %w", err)
	}
	defer f.Close()
	if info.Size() > longestHive {
		return nil, fmt.Errorf("read the machine's variables: %q is larger than %d bytes", path, longestHive)
	}

	found, err := machineVariables(io.LimitReader(f, longestHive), names)
	if err != nil {
		return nil, fmt.Errorf("read the machine's variables in %q: %w", path, err)
	}

	return found, nil
}

// machineVariables reads a hive line by line: it has some ten thousand keys, of which one is wanted.
func machineVariables(hive io.Reader, names []string) (map[string]string, error) {
	found := map[string]string{}
	lines := bufio.NewReaderSize(hive, longestVariable)
	within := false
	for {
		line, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !long && !errors.Is(err, io.EOF) {
			return nil, err
		}

		switch text := string(line); {
		case strings.HasPrefix(text, "["):
			within = isEnvironment(text)
		case within && !long:
			name, value, ok := variable(strings.TrimRight(text, "\r\n"))
			if name = strings.ToUpper(name); ok && slices.Contains(names, name) {
				found[name] = value
			}
		}

		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			_, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// isEnvironment reports whether a line begins the key of the machine's variables. Some releases of Wine have the
// control set itself, of which CurrentControlSet is then a link.
func isEnvironment(line string) bool {
	end := strings.LastIndexByte(line, ']')
	if end < 1 {
		return false
	}
	path := unescape(line[1:end])
	return strings.EqualFold(controlSet.ReplaceAllString(path, `System\CurrentControlSet`), environmentKey)
}

// variable reads a line of a value that is a text.
func variable(line string) (name, text string, ok bool) {
	name, data, ok := splitValue(line)
	if !ok {
		return "", "", false
	}
	v, ok := parseValue(name, data)
	if !ok || (v.Type != regSZ && v.Type != regExpandSZ) {
		return "", "", false
	}
	text, ok = wholeText(v.Data)
	return name, text, ok && name != ""
}
