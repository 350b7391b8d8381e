package dotnet

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/stream"
)

// Values of FileShare: what others may do with a file while it is open.
const (
	shareNone = "None"
	shareRead = "Read"
)

// orUsual returns what is asked for, or what is usual if nothing is.
func orUsual(asked object.Value, usual string) object.Value {
	if asked == nil {
		return usual
	}
	return asked
}

// openFile opens a file as a stream: of a path, a FileMode, a FileAccess and a FileShare.
func openFile(c *object.Call, path string, mode, access, share object.Value) (object.Value, error) {
	m, ok := object.EnumOf("IO.FileMode").Parsed(object.Plain(mode))
	if !ok {
		return nil, object.CannotConvert(mode, "System.IO.FileMode")
	}

	a := int64(3)
	switch given, known := object.EnumOf("IO.FileAccess").Parsed(object.Plain(access)); {
	case known && access != nil:
		a = given.N
	case m.N == 6:
		a = 2
	}

	shared, ok := object.EnumOf("IO.FileShare").Parsed(object.Plain(share))
	if !ok {
		return nil, object.CannotConvert(share, "System.IO.FileShare")
	}

	f, err := openShared(path, m.N, a, shared.N)
	if err != nil {
		return nil, provider.FileError(path, err)
	}

	c.State.Closers = append(c.State.Closers, func() { _ = f.Close() }) // twice is no harm
	s := &stream.Stream{Close: f.Close}
	if a&1 != 0 {
		s.R = f
	}

	if a&2 != 0 {
		s.Write = func(data []byte) error { _, err := f.Write(data); return err }
	}

	return &object.Instance{Of: fileStreamClass(), V: s}, nil
}

// fileStreamClass returns the class System.IO.FileStream.
func fileStreamClass() *object.Class {
	c := stream.Class()
	c.Name = "System.IO.FileStream"
	c.Make = &object.Method{Least: 2, Most: 6, Do: func(c *object.Call) (object.Value, error) {
		return openFile(c, c.State.Path(c.Text(0)), c.Arg(1), c.Arg(2), orUsual(c.Arg(3), shareRead))
	}}

	c.Methods = append(c.Methods, object.Method{
		Name:  "CopyTo",
		Least: 1,
		Most:  2,
		Do:    copyStream,
	})

	return c
}

// copyStream carries out CopyTo: what is left of a stream goes into another.
func copyStream(c *object.Call) (object.Value, error) {
	from, to := object.Own[*stream.Stream](c.On), object.Own[*stream.Stream](c.Arg(0))
	if from == nil || from.R == nil || to == nil || to.Write == nil {
		return nil, object.Raise("System.NotSupportedException", "Stream does not support reading or writing.")
	}
	_, err := io.Copy(writerFunc(to.Write), from.R)
	return nil, err
}

// writerFunc writes by a function.
type writerFunc func(data []byte) error

func (w writerFunc) Write(data []byte) (int, error) { return len(data), w(data) }

// gzipClass returns the class System.IO.Compression.GZipStream.
func gzipClass() *object.Class {
	c := stream.Class()
	c.Name = "System.IO.Compression.GZipStream"
	c.Make = &object.Method{Least: 2, Most: 3, Do: func(c *object.Call) (object.Value, error) {
		on := object.Own[*stream.Stream](c.Arg(0))
		mode, ok := object.EnumOf("IO.Compression.CompressionMode").Parsed(object.Plain(c.Arg(1)))
		if on == nil || !ok {
			return nil, object.CannotConvert(c.Arg(0), "System.IO.Stream")
		}

		decompress := mode.N == 0
		if (decompress && on.R == nil) || (!decompress && on.Write == nil) {
			what := map[bool]string{true: "reading", false: "writing"}[decompress]
			said := "Stream does not support " + what + ".\nParameter name: stream"
			return nil, object.Raise(object.ArgumentException, said)
		}

		s := &stream.Stream{}
		if decompress {
			r, err := gzip.NewReader(on.R)
			if err != nil {
				return nil, object.Raise("System.IO.InvalidDataException", "The magic number in GZip header is not correct. Make sure "+
					"you are passing in a GZip stream.")
			}
			s.R, s.Close = r, r.Close
		} else {
			w := gzip.NewWriter(writerFunc(on.Write))
			s.Write, s.Close = func(data []byte) error { _, err := w.Write(data); return err }, w.Close
		}

		return &object.Instance{Of: gzipClass(), V: s}, nil
	}}

	c.Methods = append(c.Methods, object.Method{
		Name:  "CopyTo",
		Least: 1,
		Most:  2,
		Do:    copyStream,
	})

	return c
}

// listed carries out Directory.GetFiles or GetDirectories: with a pattern, and in all folders below.
func listed(c *object.Call, path string, dirs, files bool) (object.Value, error) {
	called := "*"
	if len(c.Args) > 1 && c.Text(1) != "*.*" {
		called = strings.ReplaceAll(c.Text(1), "[", "`[")
	}

	re, err := pattern.Wildcard(called)
	if err != nil {
		return nil, err
	}

	deep := strings.EqualFold(object.Text(c.Arg(2)), "AllDirectories") || object.Text(c.Arg(2)) == "1"
	out := []object.Value{}
	var within func(full, shown string) error
	within = func(full, shown string) error {
		entries, err := os.ReadDir(full)
		for _, e := range entries {
			name := strings.TrimRight(shown, `/\`) + c.State.Separator() + e.Name()
			wanted := files
			if e.IsDir() {
				wanted = dirs
			}
			if wanted && re.MatchString(e.Name()) {
				out = append(out, name)
			}

			if deep && e.IsDir() {
				if err := within(filepath.Join(full, e.Name()), name); err != nil {
					return err
				}
			}
		}

		return err
	}

	return out, within(path, c.Text(0))
}

// itemOf makes a FileInfo or DirectoryInfo of a path, whether or not something is there.
func itemOf(name string) *object.Class {
	return &object.Class{Name: "System.IO." + name, Make: &object.Method{Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
		path := c.State.Path(c.Text(0))
		info, err := os.Lstat(path)
		if err == nil {
			return provider.Item(path, info), nil
		}
		extension := filepath.Ext(path)
		return object.New(object.Custom).Set("Name", filepath.Base(path)).Set("FullName", path).
			Set("DirectoryName", filepath.Dir(path)).Set("Extension", extension).
			Set("BaseName", strings.TrimSuffix(filepath.Base(path), extension)).Set("Exists", false), nil
	}}}
}
