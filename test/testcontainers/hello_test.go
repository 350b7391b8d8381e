// Package testcontainers is the judge of `mullion docker up` that testcontainers-go is: its own calls, as its users make
// them, to an engine for Windows containers. TestFieldDockerUp runs it.
package testcontainers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	tc "github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/exec"
	"github.com/testcontainers/testcontainers-go/wait"
)

// windows is the engine of DOCKER_HOST, whose network is called nat: testcontainers-go asks every other one for bridge.
type windows struct{}

// Initialize returns what is not the default.
func (windows) Initialize(context.Context) (tc.RuntimeConfig, error) {
	return tc.RuntimeConfig{DefaultBridgeNetwork: "nat"}, nil
}

func TestMain(m *testing.M) {
	if err := tc.RegisterProvider("windows", func() tc.RuntimeProvider { return windows{} }); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestHello runs a server in a Windows container, waits until it answers, asks it, runs a program in it, copies a file
// there and back, reads its log and removes it.
func TestHello(t *testing.T) {
	image := os.Getenv("TESTCONTAINERS_IMAGE")
	if image == "" {
		t.Skip("TESTCONTAINERS_IMAGE is an image with agnhost.exe, in the engine of DOCKER_HOST; TESTCONTAINERS_PROVIDER=windows")
	}
	ctx := t.Context()
	c, err := tc.Run(ctx, image,
		tc.WithExposedPorts("80/tcp"),
		tc.WithCmd(`C:\app\agnhost.exe`, "netexec", "--http-port", "80", "--udp-port", "-1"),
		tc.WithWaitStrategyAndDeadline(3*time.Minute, wait.ForHTTP("/hostname").WithPort("80/tcp")),
	)
	tc.CleanupContainer(t, c)
	if err != nil {
		t.Fatal(err)
	}

	at, err := c.PortEndpoint(ctx, "80/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(at + "/echo?msg=hello") //nolint:noctx // as its users do
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); string(text) != "hello" || err != nil {
		t.Errorf("the server says %q, %v", text, err)
	}

	code, output, err := c.Exec(ctx, []string{"cmd", "/c", "ver& exit 7"}, exec.Multiplexed())
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(output)
	if code != 7 || !strings.Contains(string(said), "Microsoft Windows") || err != nil {
		t.Errorf("exec: exit code %d, %q, %v", code, said, err)
	}

	given := []byte("of the test\r\n")
	if err := c.CopyToContainer(ctx, given, "/app/given.txt", 0o644); err != nil {
		t.Fatal(err)
	}
	back, err := c.CopyFileFromContainer(ctx, "/app/given.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if text, err := io.ReadAll(back); !bytes.Equal(text, given) || err != nil {
		t.Errorf("the file is %q, %v", text, err)
	}

	log, err := c.Logs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if text, err := io.ReadAll(log); !strings.Contains(string(text), "Started HTTP server") || err != nil {
		t.Errorf("the log is %q, %v", text, err)
	}
}
