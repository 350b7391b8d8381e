//go:build wine

package run

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestContainerUser has each user try to change the machine: ContainerUser must be refused in Windows' words, and
// ContainerAdministrator, the control, must not.
func TestContainerUser(t *testing.T) {
	r := theRoom(t)
	certificate(t, filepath.Join(r.dir, "own.cer"))
	const denied = "Access is denied"
	lines := []struct {
		name, line string
		refused    string // what ContainerUser is told, "" if nothing is to be refused
	}{
		{"a new key", `reg add HKLM\SOFTWARE\Tried /v a /d b /f`, "Unable to access"},
		{"a value of a key that is there", `reg add HKLM\SOFTWARE\Microsoft /v a /d b /f`, "Unable to access"},
		{"a service's key", `reg add HKLM\SYSTEM\CurrentControlSet\Services\Tried /v ImagePath /d x /f`, "Unable to access"},
		{"a class for all", `reg add HKCR\.tried /d x /f`, "Unable to access"},
		{"removing a value", `reg delete "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion" /v ReleaseId /f`, "Unable to access"},
		{"removing a key", `reg delete "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Hotfix" /f`, "Unable to access"},
		{"the machine's environment", `setx /M TRIED x`, denied},
		{"a trusted root", `certutil -addstore Root C:\own.cer`, denied},
		{"the calls of Go", `C:\app\prog.exe registry`, denied},
		{"a file of the system", `copy /y C:\Windows\System32\where.exe C:\Windows\System32\tried.exe`, denied},
		{"a program of the system", `echo x>>C:\Windows\System32\where.exe`, denied},
		{"the hosts file", `echo 192.0.2.1 tried>>C:\Windows\System32\drivers\etc\hosts`, denied},
		{"a new service", `sc create tried binPath= C:\Windows\System32\where.exe`, denied},
		{"a service of a program of .NET or Go", `C:\app\prog.exe service`, denied},
		{"what a service runs", `sc config MSiSCSI binPath= C:\Windows\System32\where.exe`, denied},
		{"how a service starts", `powershell -Command "Set-Service MSiSCSI -StartupType Disabled -ErrorAction Stop"`, denied},
		{"what a failed service runs", `sc failure MSiSCSI reset= 0 command= where.exe actions= run/0`, denied},
		{"starting a service", `net start MSiSCSI`, denied},
		{"stopping a service", `net stop MSiSCSI`, denied},
		{"removing a service", `sc delete MSiSCSI`, denied},
		{"a service that nobody has", `sc delete Nobody`, ""},
		{"the services", `sc query HTTP& sc qc HTTP& powershell -Command "(Get-Service HTTP).StartType"`, ""},
		{"the server of HTTP", `C:\app\prog.exe http`, ""},
		{"the user's own key", `reg add HKCU\Software\Tried /v a /d b /f`, ""},
		{"the user's own store", `certutil -user -addstore Root C:\own.cer`, ""},
		{"reading a key", `reg query "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion" /v ProductName`, ""},
		{"reading the stores", `C:\app\prog.exe stores`, ""},
		{"the zone", `tzutil /g& echo.`, ""},
		{"a file of its own", `echo x>%USERPROFILE%\tried.txt`, ""},
	}

	// what both users are told, where it is not enough that nothing is refused
	answers := map[string]string{
		"reading the stores":        " read",
		"a service that nobody has": "1060",
		"the services":              "DEMAND_START",
		"the server of HTTP":        "a queue",
	}

	var script strings.Builder
	script.WriteString("@echo off\r\n")
	for _, l := range lines {
		script.WriteString("echo == " + l.name + "\r\n" + l.line + "\r\n")
	}

	if err := os.WriteFile(filepath.Join(r.dir, "user.cmd"), []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, user := range []string{"ContainerUser", "ContainerAdministrator"} {
		got := r.run(t, "", "-u", user, "-v", `./user.cmd:C:\user.cmd:ro`, "-v", `./own.cer:C:\own.cer:ro`,
			"-v", `./app:C:\app:ro`, bare, "cmd", "/c", `C:\user.cmd 2>&1`)
		said := told{}
		for part := range strings.SplitSeq("\n"+got.out, "\n== ") {
			name, text, _ := strings.Cut(part, "\n")
			said[name] = text
		}

		for _, l := range lines {
			text, tried := said[l.name]
			refused := strings.Contains(text, denied) || strings.Contains(text, "Unable to access")
			want := user == "ContainerUser" && l.refused != ""
			if want := answers[l.name]; !strings.Contains(text, want) {
				t.Errorf("%s, %s: %q, want %q", user, l.name, text, want)
			}
			if !tried || refused != want || (want && !strings.Contains(text, l.refused)) {
				t.Errorf("%s, %s: refused is %v, want %v: %q", user, l.name, refused, want, text)
			}
		}
	}
}

// certificate writes a certificate that nobody has signed but itself.
func certificate(t *testing.T, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "tried"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, der, 0o644); err != nil {
		t.Fatal(err)
	}
}
