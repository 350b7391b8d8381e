package imagebuild

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
)

// linuxNames accepts every name but those that begin with .wh., which mean a deletion in a layer.
type linuxNames struct{}

func (linuxNames) check(rel string) error {
	if strings.HasPrefix(path.Base(rel), Whiteout) {
		return fmt.Errorf("it means a deletion in an image layer: %w", errdefs.ErrInvalidArgument)
	}
	return nil
}

// linuxTarget returns where the files go, relative to the root.
func linuxTarget(target string) (string, error) {
	if target == "" {
		return "", nil
	}
	if !path.IsAbs(target) {
		return "", fmt.Errorf("target: %q: want a folder such as /app: %w", target, errdefs.ErrInvalidArgument)
	}

	for part := range strings.SplitSeq(target, "/") {
		if part == ".." || strings.HasPrefix(part, Whiteout) || strings.ContainsRune(part, 0) {
			return "", fmt.Errorf("target: %q: want a folder such as /app: %w", target, errdefs.ErrInvalidArgument)
		}
	}

	return strings.Trim(path.Clean(target), "/"), nil
}

// linuxLayer makes the layer of a Linux image's files.
func linuxLayer(ctx context.Context, o Options, target string) (*Layer, error) {
	files, err := scanLinux(ctx, o.Dir, target)
	if err != nil {
		return nil, err
	}

	own, err := makeLayer(func(w io.Writer) error { return WriteLinuxLayer(ctx, w, files, o.Created) })
	if err != nil {
		return nil, err
	}
	return &Layer{
		linux: true,
		layer: own,
		by:    "mullion image build: files to /" + target,
	}, nil
}

// scanLinux lists a folder, or a single program.
func scanLinux(ctx context.Context, dir, target string) ([]File, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	if info.IsDir() {
		return scan(ctx, dir, target, linuxNames{}, skipSpec)
	}

	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, fmt.Errorf("read program %q: it is neither a folder nor a program: %w", dir,
			errdefs.ErrInvalidArgument)
	}

	var files []File
	at := ""
	for part := range strings.SplitSeq(target, "/") {
		if at = path.Join(at, part); at != "" {
			files = append(files, File{
				Name: at,
				Kind: fs.ModeDir,
				Mode: 0o755,
			})
		}
	}

	return append(files, File{
		Name:   path.Join(target, filepath.Base(dir)),
		Source: dir,
		Size:   info.Size(),
		Mode:   Permissions(info),
	}), nil
}

// ScanLinux is Scan for a Linux image, whose names may be all but those that mean a deletion in a layer.
func ScanLinux(ctx context.Context, dir, target string, skip func(rel string) (bool, error)) ([]File, error) {
	return scan(ctx, dir, target, linuxNames{}, skip)
}

// Permissions returns a file's own, but everyone may read it: the builder's umask must not keep the program's user out.
func Permissions(info fs.FileInfo) int64 {
	mode := info.Mode().Perm() | 0o444
	if info.IsDir() || mode&0o111 != 0 {
		mode |= 0o111
	}
	return int64(mode &^ 0o022)
}

// WriteLinuxLayer writes a layer as https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md has it, a folder
// before what is in it. All have one time.
func WriteLinuxLayer(ctx context.Context, w io.Writer, files []File, at time.Time) error {
	tw := tar.NewWriter(w)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeLinuxFile(tw, f, at); err != nil {
			return fmt.Errorf("write %q: %w", f.Name, err)
		}
	}

	if err := tw.Close(); err != nil {
		return fmt.Errorf("end layer: %w", err)
	}

	return nil
}

func writeLinuxFile(tw *tar.Writer, f File, at time.Time) error {
	h := &tar.Header{
		Format:  tar.FormatPAX,
		Name:    f.Name,
		ModTime: at,
		Mode:    f.Mode,
		Uid:     f.UID,
		Gid:     f.GID,
	}

	switch f.Kind {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, f.Name+"/"
	case fs.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		h.Linkname = f.Link
		h.Mode = 0o777
	default:
		h.Typeflag, h.Size = tar.TypeReg, f.Size
	}

	if err := tw.WriteHeader(h); err != nil || f.Kind != 0 {
		return err
	}

	return f.copy(tw)
}
