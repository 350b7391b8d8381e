package shim

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed */*.def
var definitions embed.FS

// Exports lists what the libraries of this folder export, by the library's name: pdh.dll. They take the place of
// Wine's.
func Exports() (map[string][]string, error) {
	files, err := fs.Glob(definitions, "*/*.def")
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, file := range files {
		text, err := definitions.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, names := "", []string{}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, ";") // a comment
			line, _, _ = strings.Cut(line, "=") // the name within the library
			switch words := strings.Fields(line); {
			case len(words) == 2 && words[0] == "LIBRARY":
				name = words[1]
			case len(words) == 1 && words[0] != "EXPORTS":
				names = append(names, words[0])
			case len(words) > 1:
				return nil, fmt.Errorf("read shim/%s: the line %q is not understood", file, line)
			}
		}
		if name == "" || len(names) == 0 {
			return nil, fmt.Errorf("read shim/%s: it names no library or no function", path.Base(file))
		}
		out[name] = names
	}
	return out, nil
}
