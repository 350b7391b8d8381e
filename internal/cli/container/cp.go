package container

import (
	"archive/tar"
	"bytes"
	"cmp"
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
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
)

func (a *commands) copy() *cobra.Command {
	return &cobra.Command{
		Use:   "cp CONTAINER:SOURCE TARGET | SOURCE CONTAINER:TARGET",
		Short: "Copy a file or a folder from or to a container that runs",
		Long: `Copies a file, or a folder with all in it, from a container that runs to this machine or the other way. Into a folder
that is there it is copied under its own name, else it gets the name of TARGET. Files and folders are copied; links are
left out, and said. The container's tar.exe reads and writes there, as its user; what is new here is this user's.`,
		Example: `  mullion container cp web:C:\app\server.log .
  mullion container cp ./conf web:C:\app`,
		Args:              cmdline.Exactly("SOURCE", "TARGET"),
		ValidArgsFunction: a.completePlaces,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" || args[1] == "-" {
				return exit.Misuse(errors.New("- stands for an archive with Docker, and not here"),
					`the container's tar does it: mullion container exec CONTAINER tar -cf - -C C:\app . >app.tar, and exec -i … tar -xf -`)
			}
			fromName, fromPath, from := place(args[0])
			toName, toPath, to := place(args[1])
			if from == to {
				return exit.Misuse(errors.New("one of SOURCE and TARGET is in a container, and the other one is not"),
					`for example: mullion container cp web:C:\app\server.log .`)
			}

			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			c := tarIn{
				client: client,
				name:   fromName + toName,
				left:   &leftOut{to: a.Env.Err},
			}

			defer c.left.more()
			if from {
				return engine.Refused(c.copyOut(cmd.Context(), fromPath, args[1]))
			}
			return engine.Refused(c.copyIn(cmd.Context(), args[0], toPath))
		},
	}
}

// completePlaces completes the containers of cp, and files of this machine for what begins as one.
func (a *commands) completePlaces(
	cmd *cobra.Command, args []string, prefix string,
) ([]string, cobra.ShellCompDirective) {
	paths, err := engine.Paths(a.Call, cmd)
	if err != nil || len(args) > 1 || strings.HasPrefix(prefix, ".") || strings.HasPrefix(prefix, "/") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := (&single.Client{Paths: paths}).Names(single.Running)
	for i := range names {
		names[i] += ":"
	}
	return names, cobra.ShellCompDirectiveNoSpace
}

// place reads CONTAINER:PATH; false: it is a path of this machine.
func place(arg string) (name, winPath string, ok bool) {
	name, winPath, ok = strings.Cut(arg, ":")
	if !ok || name == "" || winPath == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) {
		return "", "", false
	}
	return name, winPath, true
}

// splitWindows returns the folder and the name of a Windows path; "." is the name of a drive's root. As with Docker a
// path begins at the root, also one that does not say so.
func splitWindows(winPath string) (dir, name string) {
	rest := strings.TrimRight(winPath, `\/`)
	drive := ""
	if len(rest) > 1 && rest[1] == ':' {
		drive, rest = rest[:2], rest[2:]
	}
	if rest == "" {
		return cmp.Or(drive, "C:") + `\`, "."
	}
	if !strings.ContainsAny(rest[:1], `\/`) {
		drive, rest = cmp.Or(drive, "C:"), `\`+rest
	}

	cut := strings.LastIndexAny(rest, `\/`) + 1
	return drive + rest[:cut], rest[cut:]
}

// tarIn copies by the tar.exe of a container: root here opens nothing that the container has written.
type tarIn struct {
	client execer
	name   string
	left   *leftOut
}

// execer runs programs in containers, as a single.Client does.
type execer interface {
	Exec(ctx context.Context, ask single.Exec, streams single.Streams) (single.End, error)
}

// leftOut says what is not copied.
type leftOut struct {
	to    io.Writer
	count int
}

// mostLeftOut is how many names are said: a container may have any number of them.
const mostLeftOut = 20

// name says a name.
func (l *leftOut) name(name string) {
	if l.count++; l.count <= mostLeftOut {
		fmt.Fprintf(l.to, "mullion: %s is left out: it is neither a file nor a folder\n", shownName(name))
	}
}

// more says how many there are whose names were not said.
func (l *leftOut) more() {
	if more := l.count - mostLeftOut; more > 0 {
		fmt.Fprintf(l.to, "mullion: %d more are left out\n", more)
	}
}

// shownName returns a name that others gave, to be shown within a line: of a long one the beginning.
func shownName(name string) string { return plaintext.OneLine(plaintext.Shortened(name, mostOfName)) }

// mostOfName is the most that a file system takes as a name, in bytes.
const mostOfName = 255

// tarProgram is Windows' own.
const tarProgram = `C:\Windows\System32\tar.exe`

// run runs tar, and returns what it says is wrong.
func (c tarIn) run(ctx context.Context, in io.Reader, out io.Writer, args ...string) (wrong string, err error) {
	words := &firstWords{}
	ask := single.Exec{
		Container: c.name,
		Args:      append([]string{tarProgram}, args...),
		Stdin:     in != nil,
	}

	end, err := c.client.Exec(ctx, ask, single.Streams{
		In:  in,
		Out: out,
		Err: words,
	})
	if err != nil || end == (single.End{}) {
		return "", err
	}

	text := plaintext.Printable(strings.TrimSpace(strings.ReplaceAll(words.text.String(), "\r", "")))
	if text == "" {
		text = fmt.Sprintf("tar.exe ended with %d", end.Code)
	}
	return text, nil
}

// firstWords keeps the beginning of what is written. The buffer is a field with a name: io.Copy would fill an embedded
// one past the bound, by its ReadFrom.
type firstWords struct{ text bytes.Buffer }

// mostOfWords is how much is kept, in bytes.
const mostOfWords = 2000

// Write takes all of p.
func (w *firstWords) Write(p []byte) (int, error) {
	_, _ = w.text.Write(p[:min(len(p), max(0, mostOfWords-w.text.Len()))]) // a buffer takes all
	return len(p), nil
}

// copyOut copies from the container to this machine.
func (c tarIn) copyOut(ctx context.Context, winPath, target string) error {
	dir, name := splitWindows(winPath)
	into, as := filepath.Dir(target), filepath.Base(target)
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		into, as = target, name
	} else if strings.HasSuffix(target, "/") {
		return exit.Misuse(fmt.Errorf("copy to %s: no such directory", target), "make it first")
	}

	root, err := os.OpenRoot(into)
	if err != nil {
		return exit.Misuse(fmt.Errorf("copy to %s: %w", target, err), "name a folder that is there")
	}
	defer root.Close()

	// A tar.exe that nobody reads would wait for ever, so it ends with ctx.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	archive, written := io.Pipe()
	tidy := &unpacking{
		root: root,
		from: name,
		as:   as,
		left: c.left,
	}

	unpacked := make(chan error, 1)
	go func() {
		err := tidy.unpack(archive)
		archive.CloseWithError(err) // who still writes hears of it
		if err != nil {
			cancel()
		}
		unpacked <- err
	}()

	wrong, err := c.run(ctx, nil, written, "-cf", "-", "-C", dir, "./"+name)
	written.CloseWithError(err)
	unpackErr := <-unpacked
	switch {
	case unpackErr != nil && (err == nil || !errors.Is(unpackErr, err)): // err only follows from it
		return fmt.Errorf("copy from %s:%s: %w", c.name, winPath, unpackErr)
	case err != nil:
		return err
	case wrong != "" && tidy.count == 0:
		return &single.Refusal{
			Code:    exit.Internal,
			Message: fmt.Sprintf("Could not find the file %s in container %s", winPath, c.name),
			Remedy:  "its tar.exe says: " + plaintext.OneLine(wrong),
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
	left     *leftOut
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
			return fmt.Errorf("its tar.exe has %s, which is not in what was asked for", shownName(below))
		}
		below = "." + rest
	}

	name := filepath.Join(u.as, below)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("its tar.exe has %s, which leads out", shownName(below))
	}
	if sparse(head) {
		return fmt.Errorf("its tar.exe has %s with holes, and those are not made: a few bytes would fill any disk",
			shownName(below))
	}

	switch head.Typeflag {
	case tar.TypeDir:
		return u.root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		u.left.name(head.Name)
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

// sparse reports whether a file has holes, which archive/tar reads as zeros
// (https://www.gnu.org/software/tar/manual/html_section/Sparse-Formats.html).
func sparse(head *tar.Header) bool {
	if head.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range head.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// copyIn copies from this machine to the container.
func (c tarIn) copyIn(ctx context.Context, source, winPath string) error {
	dir, as := winPath, filepath.Base(source)
	found, err := filepath.EvalSymlinks(source)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return exit.Misuse(fmt.Errorf("copy %s: %w", source, err), "name a file or a folder that is there")
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
func (c tarIn) pack(to io.Writer, source, as string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	if info.IsDir() {
		err = c.packFolder(w, source, as)
	} else {
		err = packPath(w, source, as)
	}
	return errors.Join(err, w.Close())
}

// packPath adds the file that a person has named.
func packPath(w *tar.Writer, source, as string) error {
	file, info, err := beneath.OpenPath(source)
	if err != nil {
		return err
	}
	defer file.Close()
	return packFile(w, file, info, as)
}

// packFolder adds a folder with all in it. Whoever may write there may swap a file for a link at any moment: nothing
// beside the folder is read then.
func (c tarIn) packFolder(w *tar.Writer, source, as string) error {
	root, err := os.OpenRoot(source + "/.") // nothing but a folder
	if err != nil {
		return err
	}
	defer root.Close()

	return fs.WalkDir(folders{root}, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		called := path.Join(as, name)
		if entry.IsDir() {
			return w.WriteHeader(&tar.Header{
				Name:     called + "/",
				Typeflag: tar.TypeDir,
				Mode:     0o755,
			})
		}

		found, err := root.Lstat(name)
		if err != nil {
			return err
		}
		if !found.Mode().IsRegular() {
			c.left.name(path.Join(filepath.Base(source), name))
			return nil
		}

		return packFound(w, root, name, called, found)
	})
}

// folders are the folders of a root. What has taken the place of one, as a pipe, holds nobody up.
type folders struct{ root *os.Root }

// Open opens a folder.
func (f folders) Open(name string) (fs.File, error) {
	return f.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// packFound adds a file that was found in a folder, and nothing that has taken its place.
func packFound(w *tar.Writer, root *os.Root, name, called string, found fs.FileInfo) error {
	file, info, err := beneath.Open(root, name)
	if err != nil {
		return err
	}
	defer file.Close()
	if !os.SameFile(found, info) {
		return fmt.Errorf("%s has become another file meanwhile", shownName(name))
	}
	return packFile(w, file, info, called)
}

// packFile adds a file that is open.
func packFile(w *tar.Writer, file io.Reader, info fs.FileInfo, called string) error {
	head := &tar.Header{
		Name:     called,
		Typeflag: tar.TypeReg,
		Mode:     0o644,
		Size:     info.Size(),
		ModTime:  info.ModTime(),
	}
	if err := w.WriteHeader(head); err != nil {
		return err
	}
	_, err := io.CopyN(w, file, info.Size()) // what is added meanwhile is not in it
	return err
}
