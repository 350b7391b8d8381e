package run

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"mullion.dev/mullion/internal/cli/engine"
)

// checkPlatform refuses a platform that containers do not have.
func checkPlatform(platform string) error {
	switch system, processor, _ := strings.Cut(strings.ToLower(platform), "/"); {
	case system == "linux":
		return engine.Failed(fmt.Errorf("--platform %s: containers here are of Windows", platform), "`docker run` runs those of Linux")
	case platform != "" && (system != "windows" || (processor != "" && processor != "amd64")):
		return engine.Failed(fmt.Errorf("--platform %q: it is windows/amd64 alone", platform), "leave it out")
	}
	return nil
}

// checkCPUs refuses more processors than there are, as Docker does.
func checkCPUs(cpus float64) error {
	if most := runtime.NumCPU(); cpus > float64(most) {
		return engine.Failed(fmt.Errorf("--cpus %g: this machine has %d", cpus, most), "leave it out, or name fewer")
	}
	return nil
}

// idFile is the file of --cidfile; nil: none was asked for.
type idFile struct {
	file    *os.File
	written bool
	err     error
}

// openIDFile makes the file, which must not be there: it may be another container's.
func (o *options) openIDFile() (*idFile, error) {
	if o.idFile == "" || o.explain {
		return nil, nil //nolint:nilnil // none is asked for
	}

	file, err := os.OpenFile(o.idFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, engine.Failed(fmt.Errorf("--cidfile %q: the file is there already", o.idFile),
			"if its container has ended, remove the file")
	}
	if err != nil {
		return nil, engine.Failed(fmt.Errorf("--cidfile: %w", err), "")
	}
	return &idFile{file: file}, nil
}

// write writes the id of a container that runs.
func (f *idFile) write(id string) {
	if f == nil || f.written {
		return
	}
	f.written = true
	_, f.err = f.file.WriteString(id)
}

// close closes the file, and removes that of a container that did not run.
func (f *idFile) close() error {
	if f == nil {
		return nil
	}
	err := errors.Join(f.err, f.file.Close())
	if !f.written {
		err = errors.Join(err, os.Remove(f.file.Name()))
	}
	if err != nil {
		return engine.Failed(fmt.Errorf("--cidfile: %w", err), "")
	}
	return nil
}
