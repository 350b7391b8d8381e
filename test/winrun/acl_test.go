//go:build wine

package winrun

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testGetACL asks for access lists in PowerShell, at last with the script by which the images of Kubernetes' tests do
// it.
func testGetACL(t *testing.T, p prefix) {
	t.Helper()
	const rule = `($_.IdentityReference.Value + ' ' + $_.AccessControlType + ' ' + $_.FileSystemRights + ' ' + $_.IsInherited)`
	for script, want := range map[string]string{
		`Set-Content C:\listed.txt x; $a = Get-Acl C:\listed.txt; $a.Owner; $a.Group; $a.AreAccessRulesProtected; $a.Access | ForEach-Object { ` + rule + ` }`: `BUILTIN\Administrators
NT AUTHORITY\SYSTEM
False
BUILTIN\Administrators Allow FullControl True
NT AUTHORITY\SYSTEM Allow FullControl True
BUILTIN\Users Allow ReadAndExecute, Synchronize True
`,
		`(Get-Acl -LiteralPath C:\).Access | Where-Object { -not $_.PropagationFlags } | ForEach-Object { ` + rule + ` }`: `BUILTIN\Administrators Allow FullControl False
NT AUTHORITY\SYSTEM Allow FullControl False
BUILTIN\Users Allow ReadAndExecute, Synchronize False
BUILTIN\Users Allow AppendData False
Everyone Allow ReadAndExecute, Synchronize False
`,
		`(Get-Acl C:\).Access | Where-Object { $_.PropagationFlags -eq 'InheritOnly' } | ForEach-Object { ` + rule + ` }`: "CREATOR OWNER Allow 268435456 False\nBUILTIN\\Users Allow CreateFiles False\n",
	} {
		if got := p.run(t, "--", "powershell", "-c", script); got.code != 0 || got.out != want {
			t.Errorf("%s: %+v, want %q", script, got, want)
		}
	}

	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	list.Dir = "../../upstream/kubernetes"
	module, err := list.Output()
	if err != nil {
		t.Fatalf("find upstream's module: %v", err)
	}
	p.CopyIn(t, filepath.Join(strings.TrimSpace(string(module)), "test/images/agnhost/mounttest/filePermissions.ps1"),
		"filePermissions.ps1")
	if got := p.run(t, "--", "powershell.exe", "-NonInteractive", "c:/filePermissions.ps1", "-FileName",
		"/listed.txt"); got.code != 0 || got.out != "0775\n" {
		t.Errorf("upstream's script: %+v, want 0775, which Windows gives", got)
	}
	if got := p.run(t, "--", "powershell.exe", "-NonInteractive", "c:/filePermissions.ps1"); got.code != 1 ||
		!strings.Contains(got.err, "-FileName is required.") {
		t.Errorf("upstream's script without a file: %+v", got)
	}
}
