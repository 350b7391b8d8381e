package management

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/stream"
	"mullion.dev/mullion/guest/powershell/words"
)

func getContent(c *cmdlet.Call) error {
	done, err := c.ForSession(func(d cmdlet.Drive, name string, there bool) error {
		v, _ := d.Content(name)
		if !there {
			return c.Fail(cmdlet.NoSessionItem(name))
		}
		return c.Output(v)
	})
	if done || err != nil {
		return err
	}

	if err := c.ReportMissed(); err != nil {
		return err
	}
	first, last, err := lineCounts(c)
	if err != nil {
		return err
	}

	lines, err := linesTo(c)
	if err != nil {
		return err
	}

	return c.ForEach(func(t cmdlet.Target) error {
		if c.Flags["wait"] {
			return follow(c, t.Full, first, last, lines)
		}
		data, err := os.ReadFile(t.Full)
		if err != nil {
			return err
		}

		content := decoded(c, data)
		if c.Flags["raw"] {
			return c.Output(content)
		}

		all := slices.Collect(strings.Lines(content))
		all = all[:min(int64(len(all)), first)]
		all = all[max(int64(len(all))-last, 0):]
		for _, line := range all {
			if err := lines.put(strings.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}

		return lines.flush()
	})
}

// lines passes lines on, as many at once as -ReadCount says.
type lines struct {
	c       *cmdlet.Call
	most    int64 // 1: each as it is, 0: all as one list
	waiting []object.Value
}

// linesTo returns where a call's lines go.
func linesTo(c *cmdlet.Call) (*lines, error) {
	l := &lines{c: c, most: 1}
	v, given := c.Values["readcount"]
	if !given {
		return l, nil
	}

	var err error
	if l.most, err = object.Integer(v); err == nil && l.most < 0 {
		err = object.Misfit("ParameterArgumentValidationError", "Cannot validate argument on parameter 'ReadCount'. "+
			"The %d argument is less than the minimum allowed range of 0.", l.most)
	}
	return l, err
}

func (l *lines) put(line string) error {
	if l.most == 1 {
		return l.c.Output(line)
	}
	if l.waiting = append(l.waiting, line); int64(len(l.waiting)) == l.most {
		return l.flush()
	}
	return nil
}

// flush passes on the lines that are too few for a list of their own.
func (l *lines) flush() error {
	if len(l.waiting) == 0 {
		return nil
	}
	list := l.waiting
	l.waiting = nil
	return l.c.Output(list)
}

// lineCounts returns how many lines Get-Content outputs at most, from the beginning and from the end.
func lineCounts(c *cmdlet.Call) (first, last int64, err error) {
	first, last = math.MaxInt64, math.MaxInt64
	_, both := c.Values["tail"]
	_, other := c.Values["totalcount"]
	for _, of := range []struct {
		name string
		n    *int64
	}{{"totalcount", &first}, {"tail", &last}} {
		v, given := c.Values[of.name]
		if !given {
			continue
		}
		if *of.n, err = object.Integer(v); err != nil {
			return 0, 0, err
		}

		if *of.n < 0 || c.Flags["raw"] || (both && other) {
			return 0, 0, object.Thrown("%s : -%s of less than 0, or beside another such parameter, is not part of Mullion's "+
				"PowerShell.", c.Name, of.name)
		}
	}

	return first, last, nil
}

// decoded returns what a file holds as text: in the encoding of its mark, or of -Encoding, or UTF-8.
func decoded(c *cmdlet.Call, data []byte) string {
	if text, marked := provider.MarkedText(data); marked {
		return text
	}
	if e := contentEncoding(c.Text("encoding")); e != nil {
		return e.Decode(data)
	}
	return string(data)
}

// contentEncodings returns the values of -Encoding of the cmdlets for content. utf8 writes a mark, as Windows
// PowerShell.
func contentEncodings() []string {
	return []string{"utf8", "utf8nobom", "ascii", "unicode", "bigendianunicode", "default"}
}

// contentEncoding returns the encoding of a value of -Encoding, nil for UTF-8.
func contentEncoding(name string) *stream.Encoding {
	switch strings.ToLower(name) {
	case "default":
		return stream.Western()
	case "utf8nobom", "":
		return nil
	}
	return stream.EncodingNamed(name)
}

// encoded returns a text in the encoding of -Encoding; a new file of UTF-16 or UTF-8 begins with its mark.
func encoded(c *cmdlet.Call, content string, begins bool) string {
	name := c.Text("encoding")
	if name == "" {
		name = "utf8nobom"
	}
	return provider.Encoded(c.State, content, name, begins)
}

// clearContent empties files, which must be there.
func clearContent(c *cmdlet.Call) error {
	if err := c.ReportMissed(); err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		if _, err := os.Stat(t.Full); err != nil {
			return err
		}
		return provider.WriteFile(t.Full, "", os.O_TRUNC, c.Flags["force"])
	})
}

// setItem carries out Set-Item: a variable of the environment, or an item of a drive of the session.
func setItem(c *cmdlet.Call) error {
	value := c.Values["value"]
	if c.Piped {
		value, c.Input = object.One(c.Input), nil
	}
	done, err := c.ForSession(func(d cmdlet.Drive, name string, _ bool) error { return d.Set(name, value) })
	if done || err != nil {
		return err
	}

	return c.ForEach(func(t cmdlet.Target) error {
		name, ok := provider.EnvironmentItem(t.Name)
		if !ok {
			return words.Errorf("Set-Item for %s, which is no variable, alias or function, is %s", t.Name, words.NotHere)
		}
		c.State.SetEnvironment(name, object.Text(value))
		return nil
	})
}

func setContent(c *cmdlet.Call) error { return write(c, os.O_TRUNC) }

func addContent(c *cmdlet.Call) error { return write(c, os.O_APPEND) }

func write(c *cmdlet.Call, how int) error {
	items := c.Items("value")
	var b strings.Builder
	for _, item := range items {
		b.WriteString(object.Text(item))
		if !c.Flags["nonewline"] {
			b.WriteString(c.State.Newline)
		}
	}

	c.Input = nil // the input was the content
	if err := c.ReportMissed(); err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		begins := how == os.O_TRUNC
		if info, err := os.Stat(t.Full); err != nil || info.Size() == 0 {
			begins = true
		}
		return provider.WriteFile(t.Full, encoded(c, b.String(), begins), how, c.Flags["force"])
	})
}

func getItem(c *cmdlet.Call) error {
	if done, err := ofCertificates(c, putNode(c)); done || err != nil {
		return err
	}
	if done, err := c.ForSession(putItem(c)); done || err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		if name, ok := provider.EnvironmentItem(t.Name); ok {
			return variables(c, name)
		}
		if k, ok := t.Key(); ok {
			return showKey(c, k)
		}

		info, err := os.Lstat(t.Full)
		if err != nil {
			return err
		}
		return c.Output(provider.Item(t.Full, info))
	})
}

// putItem outputs an item of a drive of the session.
func putItem(c *cmdlet.Call) func(d cmdlet.Drive, name string, there bool) error {
	return func(d cmdlet.Drive, name string, _ bool) error {
		item, there := d.Item(name)
		if !there {
			return c.Fail(cmdlet.NoSessionItem(name))
		}
		return c.Output(item)
	}
}

func testPath(c *cmdlet.Call) error {
	if done, err := testNodes(c); done || err != nil {
		return err
	}
	done, err := c.ForSession(func(_ cmdlet.Drive, _ string, there bool) error { return c.Output(there) })
	if done || err != nil {
		return err
	}
	_, missed, err := c.Targets()
	if e, ok := errors.AsType[*object.Exception](err); ok && e.Class == provider.DriveException {
		return c.Output(false)
	}
	if err != nil {
		return err
	}

	for range missed {
		if err := c.Output(false); err != nil {
			return err
		}
	}

	return c.ForEach(func(t cmdlet.Target) error {
		if k, ok := t.Key(); ok {
			return testKey(c, k)
		}

		name, variable := provider.EnvironmentItem(t.Name)
		_, there := c.State.Env[name]
		if !variable {
			there = isThere(t.Full, strings.ToLower(c.Text("pathtype")))
		}
		return c.Output(there)
	})
}

// isThere reports whether a file of a kind is there: a leaf, a container, or any.
func isThere(path, kind string) bool {
	info, err := os.Stat(path)
	if link, is := os.Lstat(path); err != nil && is == nil { // a link is there, wherever it leads
		info, err = link, nil
	}

	switch {
	case err != nil:
		return false
	case kind == "leaf":
		return !provider.IsFolder(info)
	case kind == "container":
		return provider.IsFolder(info)
	}
	return true
}

func newItem(c *cmdlet.Call) error {
	value := c.Values["value"]
	if c.Piped && c.Takes == "value" {
		value, c.Input = object.One(c.Input), nil
	}
	kind := strings.ToLower(c.Text("itemtype") + c.Text("type"))
	if err := joinName(c); err != nil {
		return err
	}

	return c.ForEach(func(t cmdlet.Target) error {
		if k, ok := t.Key(); ok {
			return newKey(c, k, value)
		}

		_, err := os.Stat(t.Full)
		there := err == nil
		switch {
		case kind == symbolicLink, kind == junctionLink, kind == hardLink:
			err = newLink(c, kind, t.Full, object.Text(value))
		case there && !c.Flags["force"]:
			err = itemThere(kind, t.Full)
		case kind == "directory": // with -Force an existing folder is no error
			err = os.MkdirAll(t.Full, 0o755)
		default:
			if err = nil; c.Flags["force"] {
				err = os.MkdirAll(filepath.Dir(t.Full), 0o755)
			}
			if err == nil {
				err = provider.WriteFile(t.Full, object.Text(value), os.O_TRUNC, c.Flags["force"])
			}
		}
		if e, ok := errors.AsType[*object.Exception](err); ok {
			return c.Fail(e)
		}
		if err != nil {
			return err
		}

		info, err := os.Lstat(t.Full)
		if err != nil {
			return err
		}
		return c.Output(provider.Item(t.Full, info))
	})
}

func removeItem(c *cmdlet.Call) error {
	if done, err := ofCertificates(c, removeNode(c)); done || err != nil {
		return err
	}
	done, err := c.ForSession(func(d cmdlet.Drive, name string, there bool) error {
		if !there {
			return c.Fail(cmdlet.NoSessionItem(name))
		}
		return d.Remove(name)
	})
	if done || err != nil {
		return err
	}

	return c.ForEach(func(t cmdlet.Target) error {
		if k, ok := t.Key(); ok {
			return dropKey(c, k)
		}

		if name, ok := provider.EnvironmentItem(t.Name); ok {
			if _, there := c.State.Env[name]; !there {
				return fs.ErrNotExist
			}
			delete(c.State.Env, name)
			return nil
		}

		if _, err := os.Lstat(t.Full); err != nil {
			return err
		}
		if !c.Flags["force"] {
			if err := anyReadOnly(t.Full); err != nil {
				return err
			}
		}

		if c.Flags["recurse"] {
			return os.RemoveAll(t.Full)
		}
		return os.Remove(t.Full)
	})
}

// anyReadOnly returns an error if path is a read-only file, or a folder that contains one.
func anyReadOnly(path string) error {
	return filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o200 == 0 {
			return provider.ErrReadOnly
		}
		return nil
	})
}
