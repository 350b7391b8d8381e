package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/cluster/layout"
)

// secrets are what is cut out of texts: bootstrap tokens, whose form is fixed
// (https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#token-format), and JSON Web Tokens, which
// service accounts have.
var secrets = lazyregexp.New(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}`)

// inURL are a user and a password in a URL, such as a proxy's.
var inURL = lazyregexp.New(`(\b[a-z][a-z0-9+.-]*://)[^\s/"'@]*:[^\s/"'@]*@`)

const removed = "<token removed>"

// dumped are the fields of a container as Go prints it, by which the kubelet names one that did not start
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/kuberuntime/kuberuntime_manager.go, startContainer;
// the order is that of k8s.io/api/core/v1/generated.pb.go, String).
var dumped = lazyregexp.New(`(Command:\[).*?(\],WorkingDir:)` +
	`|(ExecAction\{Command:\[).*?(\],\})` +
	`|((?:EnvVar|HTTPHeader)\{Name:[^,]*,Value:).*?(,ValueFrom:|,\})` +
	`|(HTTPGetAction\{Path:[^,?]*\?).*?(,Port:)` +
	`|(GMSACredentialSpec:\*).*?(,RunAsUserName:)`)

// clean returns a text without secrets.
func clean(text []byte) []byte {
	if bytes.Contains(text, []byte("&Container{")) || bytes.Contains(text, []byte("ExecAction{")) {
		text = dumped.ReplaceAll(text, []byte("$1$3$5$7$9<removed>$2$4$6$8$10"))
	}
	return inURL.ReplaceAll(secrets.ReplaceAll(text, []byte(removed)), []byte("${1}<user removed>@"))
}

// mostOfLine is how much of a line waits for its end, in bytes.
const mostOfLine = 64 << 10

// Cleaner passes on the lines that are written to it, without secrets.
type Cleaner struct {
	to   io.Writer
	line []byte // what has no end yet
}

// NewCleaner passes lines on to a writer.
func NewCleaner(to io.Writer) *Cleaner { return &Cleaner{to: to} }

// Write passes on the lines that have their ends.
func (c *Cleaner) Write(b []byte) (int, error) {
	c.line = append(c.line, b...)
	end := bytes.LastIndexByte(c.line, '\n') + 1
	if end == 0 && len(c.line) > mostOfLine {
		end = len(c.line)
	}
	if end == 0 {
		return len(b), nil
	}
	if _, err := c.to.Write(clean(c.line[:end])); err != nil {
		return 0, err
	}
	c.line = append(c.line[:0], c.line[end:]...)
	return len(b), nil
}

// Flush passes on what has no end.
func (c *Cleaner) Flush() error {
	if len(c.line) == 0 {
		return nil
	}
	_, err := c.to.Write(clean(c.line))
	c.line = c.line[:0]
	return err
}

// copyText copies the end of a file, without secrets.
func copyText(to *os.Root, name string, from *os.Root, file string) error {
	in, err := from.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}

	if !info.Mode().IsRegular() { // it was one when the folder was listed
		return nil
	}
	if err := to.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}

	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = in.Seek(max(info.Size()-mostOfFile, 0), io.SeekStart)
	if err == nil {
		err = cleanLines(out, io.LimitReader(in, mostOfFile))
	}

	return errors.Join(err, out.Close())
}

// cleanLines copies lines without secrets. Lines longer than a buffer are cleaned in pieces.
func cleanLines(w io.Writer, r io.Reader) error {
	lines := bufio.NewReaderSize(r, 256<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if _, wrong := w.Write(clean(line)); wrong != nil {
			return wrong
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// machine says what the machine is: its kernel, distribution, memory, cgroups and what is mounted where Mullion keeps
// its files.
func machine(paths layout.Paths) []byte {
	var text bytes.Buffer
	for _, file := range []string{
		"/proc/version", "/etc/os-release", "/proc/loadavg", "/proc/meminfo", "/proc/pressure/memory",
		"/proc/pressure/cpu", "/proc/pressure/io", "/sys/fs/cgroup/cgroup.controllers", "/proc/self/cgroup",
		"/proc/cmdline", "/sys/kernel/security/lsm", "/proc/sys/kernel/unprivileged_userns_clone",
		"/proc/sys/fs/inotify/max_user_instances",
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fmt.Fprintf(&text, "== %s\n%s\n", file, bytes.TrimSpace(content))
	}

	for _, dir := range []string{paths.Data, paths.Run(), paths.Bin} {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err == nil {
			fmt.Fprintf(&text, "== %s\nfile system %#x, %d of %d MiB free, flags %#x\n", dir, s.Type,
				s.Bavail*uint64(s.Bsize)>>20, s.Blocks*uint64(s.Bsize)>>20, s.Flags)
		}
	}

	return text.Bytes()
}
