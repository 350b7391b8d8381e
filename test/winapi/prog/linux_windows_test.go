package prog

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// linuxPeer skips a test that needs the Linux side of package winapi at the other end of a socket.
func linuxPeer(t *testing.T) {
	t.Helper()
	if os.Getenv("WINAPI_LINUX_PEER") == "" {
		t.Skip("no Linux program at the other end")
	}
}

func TestDialsLinuxSocket(t *testing.T) {
	linuxPeer(t)
	if err := roundTrip(`C:\linux.sock`, "from windows"); err != nil {
		t.Fatal(err)
	}
}

func TestServesLinuxDialer(t *testing.T) {
	linuxPeer(t)
	l, err := net.Listen("unix", `C:\windows.sock`)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	timer := time.AfterFunc(30*time.Second, func() { _ = l.Close() })
	defer timer.Stop()

	c, err := l.Accept()
	if err != nil {
		t.Fatalf("the Linux program did not dial: %v", err)
	}
	defer c.Close()
	if _, err := io.Copy(c, c); err != nil {
		t.Error(err)
	}
}

// TestSeesLinuxLinks looks at absolute links that a Linux program has made, one into the drive and one out of all
// drives. Both are links; the target of the second is not there for a Windows program.
func TestSeesLinuxLinks(t *testing.T) {
	linuxPeer(t)
	target, err := os.Readlink(`C:\inward`)
	if err != nil {
		t.Fatal(err)
	}
	if want := `C:\windows\win.ini`; !strings.EqualFold(target, want) {
		t.Errorf("target of the inward link: got %q, want %q", target, want)
	}

	if _, err := os.ReadFile(`C:\inward`); err != nil {
		t.Error(err)
	}
	if got := lmode(t, `C:\outward-file`); got != os.ModeSymlink {
		t.Errorf("the outward link: got %v, want a link", got)
	}
	if got, err := os.ReadFile(`C:\outward-file`); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the outward link is read: got %q, %v", got, err)
	}

	entries, err := os.ReadDir(`C:\`)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]os.FileMode{}
	for _, e := range entries {
		types[e.Name()] = e.Type()
	}

	if types["inward"] != os.ModeSymlink || types["outward-file"] != os.ModeSymlink {
		t.Errorf("listed as: inward %v, outward %v", types["inward"], types["outward-file"])
	}
}
