package up

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster/layout"
)

const (
	// sampleTime is the least time that the sample's pods may take; if more of --wait is left, they may take that.
	sampleTime = 2 * time.Minute
	// answerTime is how long the sample's address may take to answer once the pods are ready: a Service's rules follow
	// its pods within a second or two.
	answerTime = 15 * time.Second
	// sampleImage and sampleName are the sample's in examples/win-webserver.yaml.
	sampleImage, sampleName = "mullion.local/webserver:v1", "win-webserver"
)

// sample is the web server that `mullion up --sample` deploys.
type sample struct{ *Commands }

// deploy loads the sample's image, applies its manifest, waits until it is served, and says how to reach it. It
// returns the address at which the sample answers, "" if it answers at none.
func (a sample) deploy(ctx context.Context, paths layout.Paths, r *progress.Progress) (url string, err error) {
	archive := paths.Program("webserver.tar")
	manifest := paths.Program("win-webserver.yaml")
	for _, f := range [][2]string{{"image", archive}, {"manifest", manifest}} {
		if _, err := os.Stat(f[1]); err != nil {
			return "", &exit.Error{
				Code:   exit.NotFound,
				Err:    fmt.Errorf("find the sample's %s: %w", f[0], err),
				Remedy: "`make sample` builds it",
			}
		}
	}

	end := r.Begin("sample")
	url, err = a.run(ctx, paths, archive, manifest)
	if err != nil {
		end("", err)
		return "", err
	}
	end(sampleImage+", two pods and a Service", nil)
	a.say(url, r)

	return url, nil
}

// say prints how to reach the sample, and what to do next.
func (a sample) say(url string, r *progress.Progress) {
	if url != "" {
		r.Say("\nThe sample runs on the Windows nodes, and answers at %s\nTry:\n  curl %s", url, url)
	} else {
		r.Say("\nThe sample runs on the Windows nodes. Try:\n  %s kubectl port-forward deployment/%s 8080:80", a.Command(),
			sampleName)
	}
	r.Say("  %[1]s kubectl get pods -o wide\n  %[1]s kubectl exec -it deployment/%[2]s -- cmd", a.Command(), sampleName)
	a.sayOwn(r)
}

// run brings up the sample and finds its address.
func (a sample) run(ctx context.Context, paths layout.Paths, archive, manifest string) (string, error) {
	silent := io.Discard // the image's builds, and kubectl's running commentary
	if err := stores.LoadFile(ctx, a.To(silent), archive, ""); err != nil {
		return "", err
	}
	patience := sampleTime
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(patience, time.Until(deadline).Round(time.Second))
	}

	admin := "--kubeconfig=" + paths.AdminKubeconfig()
	for _, args := range [][]string{
		{admin, "apply", "-f", manifest},
		{admin, "rollout", "status", "deployment/" + sampleName, "--timeout=" + patience.String()},
	} {
		if err := a.calls.Kubectl(ctx, silent, args...); err != nil {
			return "", err
		}
	}

	var at bytes.Buffer
	if err := a.calls.Kubectl(ctx, &at, admin, "get", "pods,services", "-l", "app="+sampleName, "-o",
		"jsonpath={.items[*].status.hostIP} {.items[*].spec.ports[0].nodePort}"); err != nil {
		return "", err
	}

	fields := strings.Fields(at.String()) // a host for each pod, then the port
	if len(fields) < 2 {
		return "", nil
	}
	url := "http://" + net.JoinHostPort(fields[0], fields[len(fields)-1]) + "/"
	if !answersAt(ctx, url) {
		return "", nil
	}

	return url, nil
}

// answersAt reports whether an address answers within a while.
func answersAt(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second} // by no proxy
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()

	for {
		if get(ctx, direct, url) == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}

	return nil
}
