package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	transcriptPage = "before\n<!-- transcript (written by hack/transcript.sh) -->\n```\nold\n```\n<!-- end of transcript -->\nafter\n"
	fakeSudo       = "#!/bin/sh\n[ \"$1\" = -n ] && shift\nFAKE_ROOT=yes exec \"$@\"\n"
	fakeMullion    = `#!/bin/sh
case "$*" in
*rollout*) ;;
*" up "*) [ "$FAKE_ROOT" = yes ] || exit 3
  printf 'etcd 1 s\n\nCluster "mullion" is ready after 9.9s: 3 node(s). More.\n' ;;
*"get nodes"*) [ "$FAKE_ROOT" = "" ] || exit 9
  printf 'NAME    STATUS\nwin-1   Ready   \n' ;;
*" cmd /c ver") printf '\r\nMicrosoft Windows [Version 10.0.26100.6899]\r\n' ;;
*down) ;;
esac
`
)

// transcript runs hack/transcript.sh with a mullion and a sudo that only print, and returns the page afterwards. Root
// runs it for the user nobody.
func transcript(t *testing.T, page, mullion string) (string, string, error) {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // another user runs what lies there
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{"sudo": fakeSudo, "mullion": mullion, "page.md": page} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}

	cmd := exec.CommandContext(t.Context(), "../transcript.sh", filepath.Join(dir, "page.md"))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "MULLION="+filepath.Join(dir, "mullion"),
		"TRANSCRIPT_USER=nobody", "TRANSCRIPT_FLAGS=--data-dir /data", "TRANSCRIPT_UP=-f cluster.yaml")
	out, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(filepath.Join(dir, "page.md"))
	if readErr != nil {
		t.Fatal(readErr)
	}

	return string(text), string(out), err
}

func TestTranscript(t *testing.T) {
	got, out, err := transcript(t, transcriptPage, fakeMullion)
	want := strings.Replace(transcriptPage, "old\n", `$ sudo mullion up --sample
…
Cluster "mullion" is ready after 9.9s: 3 node(s). More.
$ mullion kubectl get nodes
NAME    STATUS
win-1   Ready
$ mullion kubectl exec deployment/win-webserver -- cmd /c ver
Microsoft Windows [Version 10.0.26100.6899]
`, 1)
	if err != nil || got != want {
		t.Errorf("%v\n%s\ngot %s", err, out, got)
	}
}

// TestTranscriptOfFailure: what does not end well leaves the page as it was.
func TestTranscriptOfFailure(t *testing.T) {
	for name, tt := range map[string]struct{ page, mullion string }{
		"no markers":      {"before\n", fakeMullion},
		"up fails":        {transcriptPage, strings.Replace(fakeMullion, "printf 'etcd", "exit 5; printf 'etcd", 1)},
		"up is not ready": {transcriptPage, strings.Replace(fakeMullion, "is ready after", "is not ready after", 1)},
		"needs root":      {transcriptPage, strings.Replace(fakeMullion, `[ "$FAKE_ROOT" = "" ] || exit 9`, `[ "$FAKE_ROOT" = yes ] || exit 3`, 1)},
		"says nothing":    {transcriptPage, strings.Replace(fakeMullion, `printf '\r\nMicrosoft`, `true '\r\nMicrosoft`, 1)},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			if got, out, err := transcript(t, tt.page, tt.mullion); err == nil || got != tt.page {
				t.Errorf("%v\n%s\ngot %s", err, out, got)
			}
		})
	}
}
