//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// must runs mullion on the cluster's machine and fails the test if mullion fails.
func (c cluster) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.mullion(t.Context(), t, args...)
	if err != nil {
		logs(t, c)
		t.Fatalf("mullion %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs mullion, which has to end with that exit code, print says, and leave nothing on its machine.
func (c cluster) refused(t *testing.T, code int, says string, args ...string) {
	t.Helper()
	out, err := c.mullion(t.Context(), t, args...)
	got := exitCode(err)
	if got != code || !strings.Contains(out, says) || !strings.Contains(out, "→") {
		t.Errorf("mullion %s: ends with %d, want %d and a remedy and %q:\n%s", strings.Join(args, " "), got, code, says,
			out)
	}
	if left := c.traces(t); len(left) > 0 {
		t.Errorf("mullion %s left behind:\n%s", strings.Join(args, " "), strings.Join(left, "\n"))
	}
}

// ends runs mullion, also when the test is over. It has to end with an exit code and to print a text; ends returns what
// it printed.
func (c cluster) ends(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 15*time.Minute) // the longest is docker up
	defer cancel()
	out, err := c.mullion(ctx, t, args...)
	if got := exitCode(err); got != code || !strings.Contains(out, want) {
		t.Fatalf("mullion %q: exit code %d, want %d and %q: %v\n%s", args, got, code, want, err, out)
	}
	return out
}

// exitCode returns the exit code of a program that was run, -1 if it could not be run or was ended.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// prints waits until a command has printed that.
func (c cluster) prints(t *testing.T, want string, args ...string) {
	t.Helper()
	poll(t, 90*time.Second, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, args...)
		if out = strings.ReplaceAll(out, "\r", ""); err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("it does not print %q", want)
		}
		if err != nil {
			return fmt.Errorf("mullion %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	})
}

// kubectl runs kubectl with the administrator's rights, also when the test is over, and fails the test if it fails.
func (c cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	defer cancel()
	out, err := c.mullion(ctx, t, append([]string{"kubectl"}, args...)...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply makes the objects of a manifest, and tries again while the API server does not answer. It returns the file that
// has the manifest.
func (c cluster) apply(t *testing.T, manifest string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	poll(t, settle, func(ctx context.Context) error {
		if out, err := c.mullion(ctx, t, "kubectl", "apply", "-f", file); err != nil {
			return errors.New(out)
		}
		return nil
	})
	return file
}

// fetch gets an address of HTTP from the cluster's machine; the answer has to have a text.
func (c cluster) fetch(ctx context.Context, url, want string) error {
	args := c.on("curl", "-fsS", "--max-time", "10", url)
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	return lacks(string(out), want, err)
}

// lacks returns what is wrong with an answer that has to have a text.
func lacks(answer, want string, err error) error {
	if err == nil && !strings.Contains(answer, want) {
		err = fmt.Errorf("lacks %q", want)
	}
	if err != nil {
		return errors.Join(err, errors.New(answer))
	}
	return nil
}

// ready waits until pods are ready.
func (c cluster) ready(t *testing.T, pods ...string) {
	t.Helper()
	args := []string{"kubectl", "wait", "--for=condition=Ready", "--timeout=180s"}
	for _, pod := range pods {
		args = append(args, "pod/"+pod)
	}
	c.must(t, args...)
}

// jsonpath waits until that part of an object matches the pattern.
func (c cluster) jsonpath(t *testing.T, pattern, kind, name, path string) {
	t.Helper()
	want, args := regexp.MustCompile(pattern), []string{"kubectl", "get", kind, "-o", "jsonpath=" + path}
	if name != "" {
		args = append(args, name)
	}
	poll(t, 2*settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, args...)
		if err == nil && !want.MatchString(out) {
			err = errors.New(pattern + " is not in " + out)
		}
		return err
	})
}

// podIP waits until a pod has an address.
func (c cluster) podIP(t *testing.T, pod string) string {
	t.Helper()
	var ip string
	poll(t, 2*settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
		if err != nil || out == "" {
			return fmt.Errorf("pod %s has no address: %s", pod, out)
		}
		ip = strings.TrimSpace(out)
		return nil
	})
	return ip
}

// firstNode returns the address of the first Windows node.
func (c cluster) firstNode(t *testing.T) string {
	t.Helper()
	if *c.nodeAddress != "" {
		return *c.nodeAddress
	}

	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "node", "win-1", "-o",
			`jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
		if err != nil || out == "" {
			return errors.New(out)
		}
		*c.nodeAddress = out
		return nil
	})

	return *c.nodeAddress
}

// gets waits until a pod gets the wanted answer from a URL.
func (c cluster) gets(t *testing.T, pod, url, want string) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "exec", pod, "--", "tool", "get", url)
		if err == nil && !strings.Contains(out, want) {
			err = errors.New("no such answer")
		}
		if err != nil {
			return fmt.Errorf("pod %s gets of %s: %w: %.200s", pod, url, err, out)
		}
		return nil
	})
}

// joinLine returns the arguments that `mullion token create` prints for another machine to join by.
func (c cluster) joinLine(t *testing.T) string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ *mullion (join .*)$`).FindStringSubmatch(c.must(t, "token", "create",
		"--print-join-command"))
	if line == nil {
		t.Fatal("mullion token create prints no command to join by")
	}
	return line[1]
}
