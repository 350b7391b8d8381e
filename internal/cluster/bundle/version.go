package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// versionLimit is how long a program may take to say its version, on a machine that is busy too.
const versionLimit = 30 * time.Second

// askVersion runs a program of Kubernetes to hear its version: "Kubernetes v1.36.3" it prints.
func askVersion(ctx context.Context, program string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()

	cmd := exec.CommandContext(limited, program, "--version")
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	out := &bounded{left: 4096}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = fmt.Errorf("it has said nothing within %s", versionLimit)
	}
	if err != nil {
		return "", fmt.Errorf("run %s --version: %w: %s", program, err, bytes.TrimSpace(out.text.Bytes()))
	}

	return readVersion(out.text.String())
}

var versionForm = lazyregexp.New(`^v1\.\d{1,3}\.\d{1,3}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$`)

// readVersion reads what a program of Kubernetes says of its version.
func readVersion(said string) (string, error) {
	version, ok := strings.CutPrefix(strings.TrimSpace(said), "Kubernetes ")
	if !ok || !versionForm.MatchString(version) {
		return "", fmt.Errorf("read the version %q: it is none of Kubernetes, for example v1.36.3 or v1.37.0-alpha.1+a1b2c3; "+
			"a build of Kubernetes' own make has one", strings.TrimSpace(said))
	}
	return version, nil
}

// bounded keeps what is written, and refuses to take more than is left.
type bounded struct {
	text bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errors.New("it says too much")
	}
	b.left -= len(p)
	return b.text.Write(p)
}

// mentions reports whether a file has a text in it, as each program of Kubernetes has its version. That tells a program
// of another version, also one that does not run here.
func mentions(path, text string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // it was only read

	buffer, kept := make([]byte, 1<<20), 0
	for {
		n, err := f.Read(buffer[kept:])
		part := buffer[:kept+n]
		if bytes.Contains(part, []byte(text)) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}

		if err != nil {
			return false, err
		}
		kept = copy(buffer, part[max(0, len(part)-len(text)):])
	}
}
