package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/single"
)

func (a *app) containerCopy() *cobra.Command {
	return &cobra.Command{
		Use:   "cp CONTAINER:SOURCE TARGET | SOURCE CONTAINER:TARGET",
		Short: "Copy a file or a folder from or to a container that runs",
		Long: `Copies a file, or a folder with all in it, from a container that runs to this machine or the other way. Into a folder
that is there it is copied under its own name, else it gets the name of TARGET. Files and folders are copied; links are
left out, and said. The container's tar.exe reads and writes there, as its user; what is new here is this user's.`,
		Example: `  mullion container cp web:C:\app\server.log .
  mullion container cp ./conf web:C:\app`,
		Args:              exactArgs("SOURCE", "TARGET"),
		ValidArgsFunction: a.completePlaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			fromName, fromPath, from := containerPlace(args[0])
			toName, toPath, to := containerPlace(args[1])
			if from == to {
				return usage(errors.New("one of SOURCE and TARGET is in a container, and the other one is not"),
					`for example: mullion container cp web:C:\app\server.log .`)
			}
			client, err := a.containers(cmd)
			if err != nil {
				return err
			}
			c := containerTar{client: client, name: fromName + toName, said: a.Env.Err}
			if from {
				return refusedContainer(c.copyOut(cmd.Context(), fromPath, args[1]))
			}
			return refusedContainer(c.copyIn(cmd.Context(), args[0], toPath))
		},
	}
}

// completePlaces completes the containers of cp, and files of this machine for what begins as one.
func (a *app) completePlaces(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	paths, err := a.singlePaths(cmd)
	if err != nil || len(args) > 1 || strings.HasPrefix(prefix, ".") || strings.HasPrefix(prefix, "/") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := (&single.Client{Paths: paths}).Names(single.Running)
	for i := range names {
		names[i] += ":"
	}
	return names, cobra.ShellCompDirectiveNoSpace
}

// containerPlace reads CONTAINER:PATH; false: it is a path of this machine.
func containerPlace(arg string) (name, winPath string, ok bool) {
	name, winPath, ok = strings.Cut(arg, ":")
	if !ok || name == "" || winPath == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) {
		return "", "", false
	}
	return name, winPath, true
}

// splitWindows returns the folder and the name of a Windows path; "." is the name of a drive's root.
func splitWindows(winPath string) (dir, name string) {
	clean := strings.TrimRight(winPath, `\/`)
	if len(clean) == 2 && clean[1] == ':' {
		return clean + `\`, "."
	}
	cut := strings.LastIndexAny(clean, `\/`) + 1
	switch dir, name = clean[:cut], clean[cut:]; {
	case clean == "":
		return `C:\`, "."
	case dir == "":
		return `.\`, name
	}
	return dir, name
}

// containerTar copies by the tar.exe of a container: root here opens nothing that the container has written.
type containerTar struct {
	client *single.Client
	name   string
	said   io.Writer // what is left out
}

// tarProgram is Windows' own.
const tarProgram = `C:\Windows\System32\tar.exe`

// run runs tar, and returns what it says is wrong.
func (c containerTar) run(ctx context.Context, in io.Reader, out io.Writer, args ...string) (wrong string, err error) {
	words := &firstWords{}
	ask := single.Exec{Container: c.name, Args: append([]string{tarProgram}, args...), Stdin: in != nil}
	end, err := c.client.Exec(ctx, ask, single.Streams{In: in, Out: out, Err: words})
	if err != nil || end == (single.End{}) {
		return "", err
	}
	text := plaintext.Printable(strings.TrimSpace(strings.ReplaceAll(words.String(), "\r", "")))
	if text == "" {
		text = fmt.Sprintf("tar.exe ended with %d", end.Code)
	}
	return text, nil
}

// firstWords keeps the beginning of what is written.
type firstWords struct{ bytes.Buffer }

// mostOfWords is how much is kept, in bytes.
const mostOfWords = 2000

// Write takes all of p.
func (w *firstWords) Write(p []byte) (int, error) {
	_, _ = w.Buffer.Write(p[:min(len(p), max(0, mostOfWords-w.Len()))]) // a buffer takes all
	return len(p), nil
}

// copyOut copies from the container to this machine.
func (c containerTar) copyOut(ctx context.Context, winPath, target string) error {
	dir, name := splitWindows(winPath)
	into, as := filepath.Dir(target), filepath.Base(target)
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		into, as = target, name
	} else if strings.HasSuffix(target, "/") {
		return usage(fmt.Errorf("copy to %s: no such directory", target), "make it first")
	}
	root, err := os.OpenRoot(into)
	if err != nil {
		return usage(fmt.Errorf("copy to %s: %w", target, err), "name a folder that is there")
	}
	defer root.Close()

	archive, written := io.Pipe()
	tidy := &unpacking{root: root, from: name, as: as, said: c.said}
	unpacked := make(chan error, 1)
	go func() {
		err := tidy.unpack(archive)
		archive.CloseWithError(err) // who still writes hears of it
		unpacked <- err
	}()
	wrong, err := c.run(ctx, nil, written, "-cf", "-", "-C", dir, "./"+name)
	_ = written.Close() // a pipe
	unpackErr := <-unpacked
	switch {
	case err != nil:
		return err
	case unpackErr != nil:
		return fmt.Errorf("copy from %s:%s: %w", c.name, winPath, unpackErr)
	case wrong != "" && tidy.count == 0:
		return &single.Refusal{
			Code:    ExitInternal,
			Message: fmt.Sprintf("Could not find the file %s in container %s", winPath, c.name),
			Remedy:  "its tar.exe says: " + wrong,
		}
	case wrong != "":
		return fmt.Errorf("copy from %s:%s: %s", c.name, winPath, wrong)
	}
	return nil
}

// unpacking writes what a container's tar says beneath a folder. What it says may be anything.
type unpacking struct {
	root     *os.Root
	from, as string // what is copied is called so there, and here
	said     io.Writer
	count    int
}

// unpack reads the archive to its end.
func (u *unpacking) unpack(archive io.Reader) error {
	files := tar.NewReader(archive)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, archive) // tar pads it
			return err
		}
		if err != nil {
			return fmt.Errorf("read what its tar.exe says: %w", err)
		}
		if err := u.entry(head, files); err != nil {
			return err
		}
		u.count++
	}
}

// entry writes one file or folder.
func (u *unpacking) entry(head *tar.Header, content io.Reader) error {
	below := path.Clean(head.Name)
	if u.from != "." {
		rest, ok := strings.CutPrefix(below, u.from)
		if !ok || (rest != "" && rest[0] != '/') {
			return fmt.Errorf("its tar.exe has %q, which is not in what was asked for", below)
		}
		below = "." + rest
	}
	name := filepath.Join(u.as, below)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("its tar.exe has %q, which leads out", below)
	}
	switch head.Typeflag {
	case tar.TypeDir:
		return u.root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		fmt.Fprintf(u.said, "mullion: %s is left out: it is neither a file nor a folder\n", plaintext.Printable(head.Name))
		return nil
	}
	if err := u.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := beneath.Create(u.root, name, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// copyIn copies from this machine to the container.
func (c containerTar) copyIn(ctx context.Context, source, winPath string) error {
	dir, as := winPath, filepath.Base(source)
	found, err := filepath.EvalSymlinks(source)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return usage(fmt.Errorf("copy %s: %w", source, err), "name a file or a folder that is there")
	}
	var empty bytes.Buffer
	if err := tar.NewWriter(&empty).Close(); err != nil {
		return err
	}
	wrong, err := c.run(ctx, &empty, io.Discard, "-xf", "-", "-C", dir) // is it a folder?
	if err != nil {
		return err
	}
	if wrong != "" {
		dir, as = splitWindows(winPath)
	} else if as == ".." {
		as = filepath.Base(found)
	}

	archive, written := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := c.pack(written, found, as)
		written.CloseWithError(err)
		packed <- err
	}()
	wrong, err = c.run(ctx, archive, io.Discard, "-xf", "-", "-C", dir)
	_ = archive.Close() // a pipe
	packErr := <-packed
	switch {
	case err != nil:
		return err
	case packErr != nil && !errors.Is(packErr, io.ErrClosedPipe):
		return fmt.Errorf("copy %s: %w", source, packErr)
	case wrong != "":
		return fmt.Errorf("copy to %s:%s: %s", c.name, winPath, wrong)
	}
	return nil
}

// pack writes an archive of a file or a folder, which is called as in it.
func (c containerTar) pack(to io.Writer, source, as string) error {
	w := tar.NewWriter(to)
	root, err := os.OpenRoot(filepath.Dir(source))
	if err != nil {
		return err
	}
	defer root.Close()
	first := filepath.Base(source)
	err = fs.WalkDir(root.FS(), first, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(first, name)
		if err != nil {
			return err
		}
		called := path.Join(as, filepath.ToSlash(rel))
		switch {
		case entry.IsDir():
			return w.WriteHeader(&tar.Header{Name: called + "/", Typeflag: tar.TypeDir, Mode: 0o755})
		case !entry.Type().IsRegular() && name != first:
			fmt.Fprintf(c.said, "mullion: %s is left out: it is neither a file nor a folder\n", plaintext.Printable(name))
			return nil
		}
		return packFile(w, root, name, called)
	})
	return errors.Join(err, w.Close())
}

// packFile adds a file.
func packFile(w *tar.Writer, root *os.Root, name, called string) error {
	file, info, err := beneath.Open(root, name)
	if err != nil {
		return err
	}
	defer file.Close()
	head := &tar.Header{Name: called, Typeflag: tar.TypeReg, Mode: 0o644, Size: info.Size(), ModTime: info.ModTime()}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.CopyN(w, file, info.Size()) // what is added meanwhile is not in it
	return err
}
