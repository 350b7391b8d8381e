package powershell

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// wildcard is a pattern of PowerShell: *, ?, [a-z], and ` before a literal character
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_wildcards).
func wildcard(pattern string) (*regexp.Regexp, error) { return wildcardAs(pattern, false) }

// wildcardAs is a pattern for which the case of letters matters, or not.
func wildcardAs(pattern string, exact bool) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(map[bool]string{false: `(?is)\A`, true: `(?s)\A`}[exact])
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteByte('.')
		case r == '`' && i+1 < len(runes):
			i++
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		case r == '[':
			end := slices.Index(runes[i:], ']')
			if end < 2 || slices.Contains(runes[i:i+end], '`') {
				return nil, thrown("The wild cards %q are not valid, or not part of Mullion's PowerShell.", pattern)
			}
			escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`, "&", `\&`, "~", `\~`)
			b.WriteString("[" + escape.Replace(string(runes[i+1:i+end])) + "]")
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	re, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return nil, thrown("The wild cards %q are not valid.", pattern)
	}
	return re, nil
}

func hasWildcard(path string) bool { return strings.ContainsAny(path, "*?[") }

// drive matches the beginning of a path that is neither a file's nor the environment's.
var drive = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_]+:|[A-Za-z.\\]*::|~($|[/\\]))`)

// badPath returns an error for a path with something that is not implemented: a drive that is no disk, a provider's
// name, ~ for the user's folder.
func badPath(path string) error {
	if _, environment := environmentItem(path); environment {
		return nil
	}
	if name := drive.FindString(path); name != "" {
		return errors.New("a path that begins with " + name + " is not part of Mullion's PowerShell")
	}
	return nil
}

// target is an item that a cmdlet works on: its name as given or found, and its full path.
type target struct {
	name, full string
	matched    bool // found by wild cards
}

// targets returns the items that a cmdlet works on, from its parameters or the pipeline. Wild cards in -Path are
// replaced by the items that match; missed are the patterns that match nothing.
func (c *call) targets() (found []target, missed []string, err error) {
	for _, p := range []string{"path", "literalpath"} {
		v, given := c.values[p]
		if !given {
			continue
		}
		items := slices.Collect(each(v))
		if len(items) == 0 {
			return nil, nil, thrown("%s : Cannot bind argument to parameter '%s' because it is null.", c.name, p)
		}
		for _, item := range items {
			if err := c.add(item, p == "path", &found, &missed); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, v := range c.input {
		_, whole := v.(*object) // an object is that file, even if its name looks like a pattern
		if err := c.add(itemPath(v), !whole, &found, &missed); err != nil {
			return nil, nil, err
		}
	}
	return found, missed, nil
}

func (c *call) add(item value, wild bool, found *[]target, missed *[]string) error {
	path := text(item)
	if path == "" {
		return thrown("%s : Cannot bind argument to parameter 'Path' because it is an empty string.", c.name)
	}
	if err := cmp.Or(c.knownPath(path), c.knownKey(path, wild)); err != nil {
		return err
	}
	if wild && strings.Contains(path, "`") {
		return thrown("%s : a ` in a path is not part of Mullion's PowerShell; -LiteralPath takes it as it is.", c.name)
	}
	if _, environment := environmentItem(path); !wild || environment || !hasWildcard(path) {
		*found = append(*found, target{name: path, full: c.f.in.path(path)})
		return nil
	}
	if !slices.Contains(wildCards(), c.name) {
		return thrown("%s : wild cards in %s are not part of Mullion's PowerShell.", c.name, path)
	}
	matched, err := expand(c.f.in.path(path))
	if err != nil {
		return err
	}
	for _, full := range matched {
		*found = append(*found, target{full, full, true})
	}
	if len(matched) == 0 {
		*missed = append(*missed, path)
	}
	return nil
}

// wildCards are the cmdlets that carry out wild cards in -Path.
func wildCards() []string {
	return []string{
		"Add-Content", "Compress-Archive", "Copy-Item", "Get-ChildItem", "Get-Content", "Get-Item", "Import-Csv",
		"Move-Item", "Remove-Item", "Resolve-Path", "Select-String", "Set-Content", "Test-Path",
	}
}

// knownPath refuses a path that is not a file's, and a path of the environment or the registry if the cmdlet does not
// know it.
func (c *call) knownPath(path string) error {
	if err := c.refusesPath(path, true); err != nil {
		return thrown("%s : %v.", c.name, err)
	}
	return nil
}

// environment refuses a path on the drive env: if the cmdlet knows only files.
func (c cmdlet) environment(path string) error {
	_, ok := environmentItem(path)
	listed := c.name == "Test-Path" || c.name == "Get-ChildItem" || c.name == "Get-Item"
	if !ok || listed || c.name == "Remove-Item" && !hasWildcard(path) {
		return nil
	}
	return errors.New("the drive env: is not part of Mullion's PowerShell for " + c.name)
}

// expand returns the paths that match a path with wild cards in any of its parts.
func expand(path string) ([]string, error) {
	volume := filepath.VolumeName(path)
	separator := string(filepath.Separator)
	found := []string{volume + separator}
	for part := range strings.SplitSeq(strings.Trim(path[len(volume):], separator), separator) {
		var deeper []string
		for _, dir := range found {
			names, err := matching(dir, part)
			if err != nil {
				return nil, err
			}
			deeper = append(deeper, names...)
		}
		found = deeper
	}
	return found, nil
}

// matching returns the names in a folder that match one part of a path.
func matching(dir, part string) ([]string, error) {
	if !hasWildcard(part) {
		path := filepath.Join(dir, part)
		if _, err := os.Lstat(path); err != nil {
			return nil, nil //nolint:nilerr // what cannot be seen does not match
		}
		return []string{path}, nil
	}
	re, err := wildcard(part)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // so it is with what is in it
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(lower(a.Name()), lower(b.Name())) })
	var found []string
	for _, e := range entries {
		if re.MatchString(e.Name()) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}
