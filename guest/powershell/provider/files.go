package provider

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// Because returns the cause of an error about a path, without the path, which the message already has.
func Because(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &object.Exception{
			Class:    object.NotFoundException,
			ID:       "PathNotFound",
			Category: object.ObjectNotFound,
			Target:   path,
			Message:  "Cannot find path '" + path + "' because it does not exist.",
		}
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// WriteFile writes a file; force overwrites a read-only one.
func WriteFile(path, content string, how int, force bool) error {
	restore, err := Writable(path, force)
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

// Writable refuses a read-only file; with force it makes the file writable until restore is called.
func Writable(path string, force bool) (restore func() error, err error) {
	nothing := func() error { return nil }
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir() || info.Mode().Perm()&0o200 != 0:
		return nothing, nil //nolint:nilerr // a new file, or one whose error shows when it is opened
	case !force:
		return nil, ErrReadOnly
	}
	return func() error { return os.Chmod(path, info.Mode().Perm()) }, os.Chmod(path, info.Mode().Perm()|0o200)
}

// ErrReadOnly is the error for a read-only file without -Force.
var ErrReadOnly = words.Errorf("Access to the path is denied, it is read-only.")

// Item returns a file as an object.
func Item(path string, info fs.FileInfo) *object.Object {
	o := object.New("file").Set("Name", info.Name()).Set("FullName", path).Set("DirectoryName", filepath.Dir(path)).
		Set("Mode", mode(info)).Set("LastWriteTime", object.DateTime{At: info.ModTime()}).
		Set("PSIsContainer", IsFolder(info))
	o.Class = ItemClass
	var length object.Value
	if info.Mode().IsRegular() {
		length = info.Size()
	}
	o.Set("Length", length)

	extension := filepath.Ext(info.Name())
	o.Props["extension"], o.Props["basename"] = extension, strings.TrimSuffix(info.Name(), extension)
	if IsFolder(info) {
		o.Props["basename"] = info.Name()
	}

	o.Props["exists"], o.Props["isreadonly"] = true, info.Mode().Perm()&0o200 == 0
	o.Props["lastwritetimeutc"], o.Props["creationtime"] = object.DateTime{At: info.ModTime().UTC()}, object.DateTime{At: info.ModTime()}
	o.Props["attributes"] = object.Enum{Of: object.EnumOf("IO.FileAttributes"), N: Attributes(info)}
	for name, up := range map[string]string{"directory": filepath.Dir(path), "parent": filepath.Dir(path)} {
		if IsFolder(info) != (name == "parent") {
			continue
		}

		o.Props[name] = &object.Computed{Kind: "Property", Get: func(object.Value) (object.Value, error) {
			above, err := os.Lstat(up)
			if err != nil || up == path {
				return nil, nil //nolint:nilerr // a root has none
			}
			return Item(up, above), nil
		}}
	}

	o.Props["linktype"], o.Props["target"] = nil, []object.Value{}
	o.Names = append(o.Names, "LinkType", "Target")
	if target, err := os.Readlink(path); err == nil {
		kind := "SymbolicLink"
		if info.Mode()&fs.ModeSymlink == 0 { // Go calls a junction irregular
			kind = "Junction"
		}
		o.Props["linktype"], o.Props["target"] = kind, []object.Value{linkTarget(target)}
	}

	return o
}

// Attributes returns a file's attributes, as the bits of [IO.FileAttributes].
func Attributes(info fs.FileInfo) int64 {
	n := int64(32)
	if IsFolder(info) {
		n = 16
	}
	if info.Mode().Perm()&0o200 == 0 {
		n |= 1
	}
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		n |= 1024
	}
	return n | hiddenBits(info)
}

// linkTarget returns where a link leads, as PowerShell has it: of a share it says UNC in place of the first backslash.
func linkTarget(target string) string {
	if rest, device := strings.CutPrefix(target, `\\?\`); device {
		return rest
	}
	if strings.HasPrefix(target, `\\`) {
		return "UNC" + target[1:]
	}
	return target
}

// ItemClass returns a file or folder, as Get-Item returns it.
func ItemClass() *object.Class {
	return &object.Class{
		Name: "System.IO.FileSystemInfo",
		Methods: []object.Method{{
			Name: "Delete",
			Most: 1,
			Do: func(c *object.Call) (object.Value, error) {
				o, _ := c.On.(*object.Object)
				path := object.Text(o.Props["fullname"])
				info, err := os.Lstat(path)
				folder := object.Truth(o.Props["psiscontainer"])
				switch {
				case len(c.Args) > 0 && !folder:
					return nil, object.Thrown("The method Delete of a file with an argument is not part of Mullion's PowerShell.")
				case errors.Is(err, fs.ErrNotExist) && !folder: // as .NET
					return nil, nil
				case errors.Is(err, fs.ErrNotExist):
					return nil, object.Raise("System.IO.DirectoryNotFoundException",
						"Could not find a part of the path '"+path+"'.")

				case err == nil && info.IsDir() && object.Truth(c.Arg(0)):
					err = os.RemoveAll(path)
				case err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o200 == 0:
					err = fs.ErrPermission
				case err == nil:
					err = os.Remove(path)
				}
				if errors.Is(err, fs.ErrExist) {
					return nil, object.Raise("System.IO.IOException", "The directory is not empty.\n")
				}

				return nil, FileError(path, err)
			},
		}},
	}
}

// IsFolder reports whether an item is a folder, or a link that is one to a folder.
func IsFolder(info fs.FileInfo) bool { return info.IsDir() || linksToFolder(info) }

// mode returns a file's attributes as PowerShell shows them.
func mode(info fs.FileInfo) string {
	m := []byte("------")
	if IsFolder(info) {
		m[0] = 'd'
	} else {
		m[1] = 'a'
	}
	if info.Mode().Perm()&0o200 == 0 {
		m[2] = 'r'
	}

	if hiddenBits(info)&2 != 0 {
		m[3] = 'h'
	}
	if hiddenBits(info)&4 != 0 {
		m[4] = 's'
	}

	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		m[5] = 'l'
	}
	return string(m)
}

// Location returns a folder as Get-Location and $PWD have it.
func Location(dir string) *object.Object { return object.New("location").Set("Path", dir) }

// FileError returns the exception for an error of a file, nil without one.
func FileError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return object.Raise("System.IO.FileNotFoundException", "Could not find file '"+path+"'.")
	case errors.Is(err, fs.ErrPermission):
		return object.Raise("System.UnauthorizedAccessException", "Access to the path '"+path+"' is denied.")
	}
	return object.Raise("System.IO.IOException", Because(path, err).Error())
}

// CopyFile copies a file; force overwrites a read-only one.
func CopyFile(from, to string, mode fs.FileMode, force bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if same, err := os.Stat(to); err == nil {
		if info, err := in.Stat(); err == nil && os.SameFile(info, same) {
			return errors.New("an item is not copied to itself")
		}
	}

	restore, err := Writable(to, force)
	if err != nil {
		return err
	}

	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o200)
	if err != nil {
		// Not wrapped: a missing folder of the destination must not look like a missing source.
		err = fmt.Errorf("the destination %s: %v", to, errors.Unwrap(err)) //nolint:errorlint // see above
		return errors.Join(err, restore())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), restore())
}
