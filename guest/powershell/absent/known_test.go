package absent

import (
	"slices"
	"strings"
	"testing"
)

// TestCmdlets checks which names are said to be Windows' own, those of a person's typing errors not among them.
func TestCmdlets(t *testing.T) {
	for _, name := range []string{
		"Get-WindowsFeature", "get-scheduledtask", "New-NetNat", "Install-Module", "ForEach-Object", "Get-LocalUser",
		"ConvertTo-Json", "Get-Counter", "Register-ObjectEvent", "Start-BitsTransfer", "Get-ADUser",
	} {
		if !Cmdlet(name) {
			t.Errorf("%s is no cmdlet of Windows", name)
		}
		if err := Unknown(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("it is not said of %s that Windows has it: %v", name, err)
		}
	}

	for _, name := range []string{
		"Get-ChildItme", "Write-Outptu", "Get-Kubelet", "kube-proxy", "docker-compose", "Get", "-", "Get-", "-Item", "",
		"Item-Get", "Get-Item-Property", "Get-Item\x00",
	} {
		if Cmdlet(name) {
			t.Errorf("%q is a cmdlet of Windows", name)
		}
		if err := Unknown(name); err != nil {
			t.Errorf("of %q it is said: %v", name, err)
		}
	}
}

// TestCmdletNames checks the form of the list: each noun once, in order, with its verbs in order.
func TestCmdletNames(t *testing.T) {
	before, names := "", 0
	for line := range strings.Lines(cmdletNames) {
		words := strings.Fields(line)
		if len(words) < 2 || !slices.IsSorted(words[1:]) || len(slices.Compact(slices.Clone(words))) != len(words) {
			t.Fatalf("the line %q is not a noun with verbs in order", line)
		}
		if noun := strings.ToLower(words[0]); noun <= before {
			t.Errorf("%s comes after %s", noun, before)
		} else {
			before = noun
		}

		names += len(words) - 1
	}

	if names < 4000 {
		t.Errorf("%d names", names)
	}
}
