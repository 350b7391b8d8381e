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
	list.Dir = "../../upstream/cluster/kubernetes"
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

// setACLExamples are those of the documents, as they stand there
// (https://learn.microsoft.com/powershell/module/microsoft.powershell.security/set-acl).
//
//nolint:lll // as Microsoft has it
const setACLExamples = `
$DogACL = Get-Acl -Path "C:\Dog.txt"
Set-Acl -Path "C:\Cat.txt" -AclObject $DogACL

Get-Acl -Path "C:\Dog.txt" | Set-Acl -Path "C:\Cat.txt"

$NewAcl = Get-Acl File0.txt
Get-ChildItem -Path "C:\temp" -Recurse -Include "*.txt" -Force | Set-Acl -AclObject $NewAcl

$NewAcl = Get-Acl -Path "C:\Pets\Dog.txt"
# Set properties
$isProtected = $true
$preserveInheritance = $true
# Apply new rules
$NewAcl.SetAccessRuleProtection($isProtected, $preserveInheritance)
Set-Acl -Path "C:\Pets\Dog.txt" -AclObject $NewAcl

$NewAcl = Get-Acl -Path "C:\Pets\Dog.txt"
# Set properties
$identity = "BUILTIN\Administrators"
$fileSystemRights = "FullControl"
$type = "Allow"
# Create new rule
$fileSystemAccessRuleArgumentList = $identity, $fileSystemRights, $type
$fileSystemAccessRule = New-Object -TypeName System.Security.AccessControl.FileSystemAccessRule -ArgumentList $fileSystemAccessRuleArgumentList
# Apply new rule
$NewAcl.SetAccessRule($fileSystemAccessRule)
Set-Acl -Path "C:\Pets\Dog.txt" -AclObject $NewAcl
`

// testSetACL sets lists as the documents do, which icacls then shows, and a list of a folder, which its file inherits.
func testSetACL(t *testing.T, p prefix) {
	t.Helper()
	for _, name := range []string{"Dog.txt", "Cat.txt", "File0.txt", "temp/a.txt", "temp/b/c.txt", "Pets/Dog.txt", "shared/file.txt"} {
		p.Write(t, name, "x")
	}

	p.Write(t, "examples.ps1", "Set-Location C:\\\nicacls Dog.txt /grant '*S-1-1-0:(R)' /q | Out-Null\nicacls File0.txt /deny '*S-1-5-32-545:(W)' /q | Out-Null\n"+setACLExamples+`
$acl = Get-Acl C:\shared
$acl.SetAccessRuleProtection($true, $false)
$acl.AddAccessRule((New-Object System.Security.AccessControl.FileSystemAccessRule("ContainerUser", "Modify", "ContainerInherit,ObjectInherit", "None", "Allow")))
Set-Acl C:\shared $acl
(Get-Acl C:\shared).Sddl
icacls Cat.txt; icacls temp\b\c.txt; icacls Pets\Dog.txt; icacls shared\file.txt
`)

	got := p.run(t, "--", "powershell", "-File", `C:\examples.ps1`)
	var lines []string
	for line := range strings.Lines(got.out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Successfully") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}

	const want = `O:BAG:SYD:P(A;OICI;0x1301bf;;;S-1-5-93-2-2)
Cat.txt Everyone:(R)
BUILTIN\Administrators:(I)(F)
NT AUTHORITY\SYSTEM:(I)(F)
BUILTIN\Users:(I)(RX)
temp\b\c.txt BUILTIN\Users:(DENY)(W)
BUILTIN\Administrators:(I)(F)
NT AUTHORITY\SYSTEM:(I)(F)
BUILTIN\Users:(I)(RX)
Pets\Dog.txt NT AUTHORITY\SYSTEM:(F)
BUILTIN\Users:(RX)
BUILTIN\Administrators:(F)
shared\file.txt User Manager\ContainerUser:(I)(M)`

	if text := strings.Join(lines, "\n"); got.code != 0 || text != want {
		t.Errorf("%d, %s\n%s\nwant:\n%s", got.code, got.err, text, want)
	}
}
