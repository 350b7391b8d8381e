package powershell

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// itsWords returns an error in PowerShell's own words, which are a sentence with a capital letter and a full stop.
func itsWords(format string, args ...any) error { return fmt.Errorf(format, args...) }

// because returns the cause of an error about a path, without the path, which the message already has.
func because(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return raise(notFoundException, "Cannot find path '"+path+"' because it does not exist.")
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// missed reports patterns that match nothing, for cmdlets that need a file.
func (c *call) missed(patterns []string) error {
	for _, p := range patterns {
		if err := c.fail(itsWords("An object at the specified path %s does not exist.", p)); err != nil {
			return err
		}
	}
	return nil
}

// forEach calls do for each of the cmdlet's targets. An error with one target does not stop the others.
func (c *call) forEach(do func(t target) error) error {
	targets, _, err := c.targets()
	if err != nil {
		return err
	}
	for _, t := range targets {
		err := do(t)
		var left *leaving
		if err != nil && !errors.As(err, &left) {
			err = c.fail(because(t.name, err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reportMissed reports the patterns of paths that match nothing.
func (c *call) reportMissed() error {
	_, missed, err := c.targets()
	if err != nil {
		return err
	}
	return c.missed(missed)
}

// show passes an object to the next command, whose errors do not count as this command's.
func (c *call) show(v value) error {
	if err := c.out.put(v); err != nil {
		if _, left := errors.AsType[*leaving](err); left {
			return err
		}
		return thrown("%s : %v", c.name, err)
	}
	return nil
}

func getContent(c *call) error {
	if err := c.reportMissed(); err != nil {
		return err
	}
	first, last, err := c.lineCounts()
	if err != nil {
		return err
	}
	return c.forEach(func(t target) error {
		data, err := os.ReadFile(t.full)
		if err != nil {
			return err
		}
		content := c.decoded(data)
		if c.flags["raw"] {
			return c.show(content)
		}
		lines := slices.Collect(strings.Lines(content))
		lines = lines[:min(int64(len(lines)), first)]
		lines = lines[max(int64(len(lines))-last, 0):]
		for _, line := range lines {
			if err := c.show(strings.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
		return nil
	})
}

// lineCounts are how many lines Get-Content outputs at most, from the beginning and from the end.
func (c *call) lineCounts() (first, last int64, err error) {
	first, last = math.MaxInt64, math.MaxInt64
	_, both := c.values["tail"]
	_, other := c.values["totalcount"]
	for _, of := range []struct {
		name string
		n    *int64
	}{{"totalcount", &first}, {"tail", &last}} {
		v, given := c.values[of.name]
		if !given {
			continue
		}
		if *of.n, err = integer(v); err != nil {
			return 0, 0, err
		}
		if *of.n < 0 || c.flags["raw"] || both && other {
			return 0, 0, thrown("%s : -%s of less than 0, or beside another such parameter, is not part of Mullion's "+
				"PowerShell.", c.name, of.name)
		}
	}
	return first, last, nil
}

// decoded is what a file holds as text: in the encoding of its mark, or of -Encoding, or UTF-8.
func (c *call) decoded(data []byte) string {
	for mark, name := range map[string]string{"\xff\xfe": "utf-16", "\xfe\xff": "utf-16be", "\xef\xbb\xbf": "utf-8"} {
		if rest, marked := bytes.CutPrefix(data, []byte(mark)); marked {
			return encodingNamed(name).decode(rest)
		}
	}
	if e := contentEncoding(c.text("encoding")); e != nil {
		return e.decode(data)
	}
	return string(data)
}

// contentEncodings are the values of -Encoding of the cmdlets for content. utf8 writes no mark.
func contentEncodings() []string {
	return []string{"utf8", "utf8nobom", "ascii", "unicode", "bigendianunicode", "default"}
}

// contentEncoding is the encoding of a value of -Encoding, nil for UTF-8.
func contentEncoding(name string) *encoding {
	switch lower(name) {
	case "default":
		return western()
	case "utf8nobom", "":
		return nil
	}
	return encodingNamed(name)
}

// encoded is a text in the encoding of -Encoding; a new file of UTF-16 begins with its mark.
func (c *call) encoded(content string, begins bool) string {
	name := lower(c.text("encoding"))
	e := contentEncoding(name)
	if e == nil {
		return content
	}
	if begins && strings.HasSuffix(name, "unicode") {
		content = "\uFEFF" + content
	}
	return string(e.encode(content))
}

func setContent(c *call) error { return c.write(os.O_TRUNC) }
func addContent(c *call) error { return c.write(os.O_APPEND) }

func (c *call) write(how int) error {
	items := c.items("value")
	var b strings.Builder
	for _, item := range items {
		b.WriteString(text(item))
		if !c.flags["nonewline"] {
			b.WriteString(c.f.in.session.Newline)
		}
	}
	c.input = nil // the input was the content
	if err := c.reportMissed(); err != nil {
		return err
	}
	return c.forEach(func(t target) error {
		begins := how == os.O_TRUNC
		if info, err := os.Stat(t.full); err != nil || info.Size() == 0 {
			begins = true
		}
		return writeFile(t.full, c.encoded(b.String(), begins), how, c.flags["force"])
	})
}

func writeFile(path, content string, how int, force bool) error {
	restore, err := writable(path, force)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return errors.Join(err, restore())
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close(), restore())
}

// writable refuses a read-only file; with force it makes the file writable until restore is called.
func writable(path string, force bool) (restore func() error, err error) {
	nothing := func() error { return nil }
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir() || info.Mode().Perm()&0o200 != 0:
		return nothing, nil //nolint:nilerr // a new file, or one whose error shows when it is opened
	case !force:
		return nil, errReadOnly
	}
	return func() error { return os.Chmod(path, info.Mode().Perm()) }, os.Chmod(path, info.Mode().Perm()|0o200)
}

// errReadOnly is the error for a read-only file without -Force.
var errReadOnly = itsWords("Access to the path is denied, it is read-only.")

// item returns a file as an object.
func item(path string, info fs.FileInfo) *object {
	o := newObject("file").set("Name", info.Name()).set("FullName", path).set("DirectoryName", filepath.Dir(path)).
		set("Mode", mode(info)).set("LastWriteTime", moment{info.ModTime()}).set("PSIsContainer", isFolder(info))
	o.set("Length", nil)
	if info.Mode().IsRegular() {
		o.set("Length", info.Size())
	}
	extension := filepath.Ext(info.Name())
	o.props["extension"], o.props["basename"] = extension, strings.TrimSuffix(info.Name(), extension)
	if isFolder(info) {
		o.props["basename"] = info.Name()
	}
	o.props["linktype"], o.props["target"] = nil, []value{}
	o.names = append(o.names, "LinkType", "Target")
	if target, err := os.Readlink(path); err == nil {
		kind := "SymbolicLink"
		if info.Mode()&fs.ModeSymlink == 0 { // Go calls a junction irregular
			kind = "Junction"
		}
		o.props["linktype"], o.props["target"] = kind, []value{linkTarget(target)}
	}
	return o
}

// linkTarget is where a link leads, as PowerShell has it: of a share it says UNC in place of the first backslash.
func linkTarget(target string) string {
	if rest, device := strings.CutPrefix(target, `\\?\`); device {
		return rest
	}
	if strings.HasPrefix(target, `\\`) {
		return "UNC" + target[1:]
	}
	return target
}

// itemClass is a file or folder, as Get-Item returns it.
func itemClass() *class {
	return &class{
		name: "System.IO.FileSystemInfo",
		methods: []routine{{name: "Delete", most: 1, do: func(c *dotCall) (value, error) {
			o, _ := c.on.(*object)
			path := text(o.props["fullname"])
			info, err := os.Lstat(path)
			folder := truth(o.props["psiscontainer"])
			switch {
			case len(c.args) > 0 && !folder:
				return nil, thrown("The method Delete of a file with an argument is not part of Mullion's PowerShell.")
			case errors.Is(err, fs.ErrNotExist) && !folder: // as .NET
				return nil, nil
			case errors.Is(err, fs.ErrNotExist):
				return nil, raise("System.IO.DirectoryNotFoundException",
					"Could not find a part of the path '"+path+"'.")
			case err == nil && info.IsDir() && truth(c.arg(0)):
				err = os.RemoveAll(path)
			case err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o200 == 0:
				err = fs.ErrPermission
			case err == nil:
				err = os.Remove(path)
			}
			if errors.Is(err, fs.ErrExist) {
				return nil, raise("System.IO.IOException", "The directory is not empty.\n")
			}
			return nil, fileError(path, err)
		}}},
	}
}

// isFolder reports whether an item is a folder, or a link that is one to a folder.
func isFolder(info fs.FileInfo) bool { return info.IsDir() || linksToFolder(info) }

// mode is a file's attributes as PowerShell shows them, without those that Go does not report.
func mode(info fs.FileInfo) string {
	m := []byte("------")
	if isFolder(info) {
		m[0] = 'd'
	} else {
		m[1] = 'a'
	}
	if info.Mode().Perm()&0o200 == 0 {
		m[2] = 'r'
	}
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		m[5] = 'l'
	}
	return string(m)
}

func getItem(c *call) error {
	return c.forEach(func(t target) error {
		if name, ok := environmentItem(t.name); ok {
			return c.variables(name)
		}
		if k, ok := t.key(); ok {
			return c.showKey(k)
		}
		info, err := os.Lstat(t.full)
		if err != nil {
			return err
		}
		return c.show(item(t.full, info))
	})
}

func testPath(c *call) error {
	_, missed, err := c.targets()
	if err != nil {
		return err
	}
	for range missed {
		if err := c.show(false); err != nil {
			return err
		}
	}
	return c.forEach(func(t target) error {
		if k, ok := t.key(); ok {
			return c.testKey(k)
		}
		name, variable := environmentItem(t.name)
		_, there := c.f.in.env[name]
		if !variable {
			info, err := os.Stat(t.full)
			if link, is := os.Lstat(t.full); err != nil && is == nil { // a link is there, wherever it leads
				info, err = link, nil
			}
			kind := lower(c.text("pathtype"))
			there = err == nil && (kind != "leaf" || !isFolder(info)) && (kind != "container" || isFolder(info))
		}
		return c.show(there)
	})
}

func newItem(c *call) error {
	value := c.values["value"]
	if c.piped && c.takes == "value" {
		value, c.input = one(c.input), nil
	}
	kind := lower(c.text("itemtype") + c.text("type"))
	if err := c.joinName(); err != nil {
		return err
	}
	return c.forEach(func(t target) error {
		if k, ok := t.key(); ok {
			return c.newKey(k, value)
		}
		_, err := os.Stat(t.full)
		there := err == nil
		switch {
		case there && !c.flags["force"]:
			return itsWords("An item with the specified name %s already exists.", t.full)
		case kind == symbolicLink:
			err = c.newLink(t.full, text(value))
		case kind == "directory": // with -Force an existing folder is no error
			err = os.MkdirAll(t.full, 0o755)
		default:
			if err = nil; c.flags["force"] {
				err = os.MkdirAll(filepath.Dir(t.full), 0o755)
			}
			if err == nil {
				err = writeFile(t.full, text(value), os.O_TRUNC, c.flags["force"])
			}
		}
		if err != nil {
			return err
		}
		info, err := os.Lstat(t.full)
		if err != nil {
			return err
		}
		return c.show(item(t.full, info))
	})
}

func removeItem(c *call) error {
	return c.forEach(func(t target) error {
		if k, ok := t.key(); ok {
			return c.dropKey(k)
		}
		if name, ok := environmentItem(t.name); ok {
			if _, there := c.f.in.env[name]; !there {
				return fs.ErrNotExist
			}
			delete(c.f.in.env, name)
			return nil
		}
		if _, err := os.Lstat(t.full); err != nil {
			return err
		}
		if !c.flags["force"] {
			if err := anyReadOnly(t.full); err != nil {
				return err
			}
		}
		if c.flags["recurse"] {
			return os.RemoveAll(t.full)
		}
		return os.Remove(t.full)
	})
}

// anyReadOnly returns an error if path is a read-only file, or a folder that contains one.
func anyReadOnly(path string) error {
	return filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o200 == 0 {
			return errReadOnly
		}
		return nil
	})
}

// location is a folder as Get-Location and $PWD have it.
func location(dir string) *object { return newObject("location").set("Path", dir) }

func getLocation(c *call) error { return c.show(location(c.f.in.dir)) }

func setLocation(c *call) error {
	return c.forEach(func(t target) error {
		if info, err := os.Stat(t.full); err != nil || !info.IsDir() {
			return fs.ErrNotExist
		}
		c.f.in.dir = t.full
		return nil
	})
}
