//go:build wine

package winapi

import (
	"path/filepath"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wine/winetest"
)

// TestMachineVariablesReachTheHive sets a variable of the machine as the documents do. While the host goes on running,
// it is in the file from which the agent reads the host's proxy.
func TestMachineVariablesReachTheHive(t *testing.T) {
	const variable, value = "HTTPS_PROXY", `http://me:a"b\c@proxy.example.com:443/`
	p := winetest.New(t)
	p.CopyShim(t, "powershell.exe", "pwsh.exe")
	p.Keep(t)
	hive := filepath.Join(p.Dir, wine.MachineHive)
	if before, err := wine.MachineVariables(hive, "PATHEXT", variable); err != nil || before["PATHEXT"] == "" || before[variable] != "" {
		t.Fatalf("the hive has %q at first: %v", before, err)
	}

	out, err := p.Command(t.Context(), `C:\pwsh.exe`, "-NoProfile", "-Command",
		`[Environment]::SetEnvironmentVariable("`+variable+`", '`+value+`', [EnvironmentVariableTarget]::Machine)`).CombinedOutput()
	if err != nil {
		t.Fatalf("set the variable: %v: %s", err, out)
	}
	for began := time.Now(); ; {
		variables, err := wine.MachineVariables(hive, variable)
		if err == nil && variables[variable] == value {
			t.Logf("it took %s", time.Since(began).Round(time.Second))
			return
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("the hive has %q: %v", variables[variable], err)
		}
		<-time.After(100 * time.Millisecond)
	}
}
