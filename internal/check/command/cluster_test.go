package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/check/command"
)

// kubectl stands in for the real one: it answers two pages of Deployments, one Pod list, and refuses Services.
const kubectl = `#!/bin/sh
[ "$1 $2 $3" = "--context=x get --raw" ] || { echo "called with $*" >&2; exit 9; }
case $4 in
*/deployments\?limit=250) echo '{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{"continue":"a b&"},"items":[
 {"metadata":{"name":"first"},"spec":{"template":{"spec":{"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"hostPID":true,"containers":[]}}}}]}';;
*/deployments\?limit=250\&continue=a+b%26) echo '{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{},"items":[
 {"metadata":{"name":"second"},"spec":{"template":{"spec":{"os":{"name":"windows"},"nodeSelector":{"kubernetes.io/os":"windows"},"hostIPC":true,"containers":[]}}}}]}';;
*/pods\?limit=250) echo '{"apiVersion":"v1","kind":"PodList","metadata":{},"items":[
 {"metadata":{"name":"made","ownerReferences":[{"controller":true}]},"spec":{"os":{"name":"windows"},"hostPID":true,"containers":[]}}]}';;
*/services*) echo 'Error from server (Forbidden): no services' >&2; exit 1;;
*) echo '{"apiVersion":"v1","kind":"List","metadata":{},"items":[]}';;
esac
`

// TestCluster checks that every page is read, that objects made by a controller are left out, and that a refused list
// is reported and does not end the check.
func TestCluster(t *testing.T) {
	program := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(program, []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	o := command.Options{
		Offline: true,
		Cluster: true,
		Kubectl: []string{program, "--context=x"},
		Dir:     t.TempDir(),
	}

	got, err := command.Run(t.Context(), o, strings.NewReader("not read"), &out)
	if err != nil {
		t.Fatal(err)
	}

	text := out.String()
	for _, want := range []string{
		"Deployment first", "hostPID", "Deployment second", "hostIPC", "no services",
		"cluster:deployments",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}

	if strings.Contains(text, "Pod made") || !got.Findings || !got.Unreadable {
		t.Errorf("outcome %+v, report:\n%s", got, text)
	}
	o.Paths = []string{"folder"}
	if _, err := command.Run(t.Context(), o, nil, &out); err == nil {
		t.Error("paths and a cluster at once were taken")
	}
}
