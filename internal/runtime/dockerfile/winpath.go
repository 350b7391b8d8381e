package dockerfile

import (
	"fmt"
	"path"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// onDrive returns a path of a Dockerfile as a name on C:, with slashes and without a leading one; "" is C:\ itself. A
// relative path is below dir, which is such a name. Names that Windows does not have are errors.
func onDrive(dir, name string) (string, error) {
	p, err := withoutDrive(name)
	if err != nil {
		return "", err
	}
	if !path.IsAbs(p) {
		p = path.Join("/", dir, p)
	}

	p = strings.TrimPrefix(path.Clean(p), "/")
	for part := range strings.SplitSeq(p, "/") {
		if p == "" {
			break
		}
		if err := imagebuild.CheckName(part); err != nil {
			return "", fmt.Errorf("path %q: %w", name, err)
		}
	}

	return p, nil
}

// withoutDrive gives a path slashes, and takes the drive from it, which has to be C:.
func withoutDrive(name string) (string, error) {
	p := strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(p, "//") {
		return "", refuse(errdefs.ErrInvalidArgument, "path %q is on another machine", name)
	}
	if len(p) < 2 || p[1] != ':' {
		return p, nil
	}
	if !strings.EqualFold(p[:1], "c") {
		return "", refuse(errdefs.ErrInvalidArgument, "path %q is not on C:, the only drive of an image", name)
	}
	return p[2:], nil
}

// isFolder reports whether a path of a Dockerfile can only be a folder's: it ends with a slash, or names the folder
// that it is relative to.
func (s *stage) isFolder(name string) bool {
	p := name
	if !s.linux {
		p = strings.ReplaceAll(name, `\`, "/")
	}
	return strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || p == "." || p == ""
}

// windowsPath returns a name on C: as Windows writes it.
func windowsPath(name string) string {
	return `C:\` + strings.ReplaceAll(name, "/", `\`)
}
