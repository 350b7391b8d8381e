package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
)

// sampleTime is the least time that the sample's pods may take; if more of --wait is left, they may take that.
const sampleTime = 2 * time.Minute

// deploySample loads the sample's image, applies its manifest, waits until it is served, and says how to reach it.
func (a *app) deploySample(ctx context.Context, paths layout.Paths) error {
	archive := paths.Program("webserver.tar")
	manifest := paths.Program("win-webserver.yaml")
	for _, f := range [][2]string{{"image", archive}, {"manifest", manifest}} {
		if _, err := os.Stat(f[1]); err != nil {
			return &Error{
				Code:   ExitNotFound,
				Err:    fmt.Errorf("find the sample's %s: %w", f[0], err),
				Remedy: "`make sample` builds it",
			}
		}
	}
	if err := a.loadArchive(ctx, archive); err != nil {
		return err
	}
	patience := sampleTime
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(patience, time.Until(deadline).Round(time.Second))
	}
	admin := "--kubeconfig=" + paths.AdminKubeconfig()
	for _, args := range [][]string{
		{admin, "apply", "-f", manifest},
		{admin, "rollout", "status", "deployment/win-webserver", "--timeout=" + patience.String()},
	} {
		if err := a.runKubectl(ctx, args...); err != nil {
			return err
		}
	}
	program := "mullion"
	if a.dataDir != defaultDataDir {
		program += " --data-dir " + quoted(a.dataDir)
	}
	fmt.Fprintf(a.env.Out, `
The sample runs on the Windows nodes. Look at it:
  %[1]s kubectl get pods -o wide
  %[1]s kubectl port-forward deployment/win-webserver 8080:80      # then: curl http://127.0.0.1:8080/
  %[1]s kubectl exec -it deployment/win-webserver -- cmd
`, program)
	if !onPath(a.env.Executable) {
		fmt.Fprintf(a.env.Out, "(mullion is %s)\n", a.env.Executable)
	}
	return nil
}

// onPath reports whether the command mullion is this program, perhaps by a link.
func onPath(executable string) bool {
	found, err := exec.LookPath("mullion")
	if err != nil {
		return false
	}
	command, errCommand := os.Stat(found)
	self, errSelf := os.Stat(executable)
	return errCommand == nil && errSelf == nil && os.SameFile(command, self)
}

// quoted is a word for a shell: as it is, if no character of it means anything to one, else in single quotes.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+@%,:=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
