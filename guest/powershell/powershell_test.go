package powershell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/system"
)

// TestMain makes the test binary a powershell when it is started as one, for jobs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-NonInteractive" {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}

		s := Session{
			Args:    os.Args[1:],
			Environ: os.Environ(),
			Stdin:   os.Stdin,
			Stdout:  os.Stdout,
			Stderr:  os.Stderr,
			Self:    self,
			Newline: "\n",
		}
		os.Exit(s.Run(context.Background()))
	}

	os.Exit(m.Run())
}

type outcome struct {
	out, errs string
	code      int
}

func run(t *testing.T, dir string, env []string, args ...string) outcome {
	t.Helper()
	t.Chdir(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	var out, errs bytes.Buffer
	s := Session{
		Args:    args,
		Environ: append([]string{"PATH=/usr/bin:/bin"}, env...),
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &errs,
		Self:    self,
		Newline: "\n",
	}

	code := s.Run(t.Context())
	return outcome{out.String(), errs.String(), code}
}

func TestArguments(t *testing.T) {
	dir := t.TempDir()
	script := "param([string]$Name = 'none', $Rest)\n\"$Name $Rest\"\nexit 5\n"
	if err := os.WriteFile(filepath.Join(dir, "script.ps1"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name string
		args []string
		want string
		code int
	}{
		{"file", []string{"-ExecutionPolicy", "Bypass", "-File", "script.ps1", "-Name", "a b", "c"}, "a b c\n", 5},
		{"script_as_command", []string{"-NonInteractive", "./script.ps1", "-Name", "x"}, "x \n", 1},
		{"encoded", []string{"-EncodedCommand", encoded("echo 'ü €'")}, "ü €\n", 0},
		{"words", []string{"echo", "a", "b"}, "a\nb\n", 0},
		{"slash", []string{"/c", "echo x"}, "x\n", 0},
		{"unknown", []string{"-Version", "2"}, "", 1},
		{"bad_code", []string{"-enc", "&&&"}, "", 1},
		{"no_file", []string{"-File", "none.ps1"}, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, dir, nil, tt.args...); got.out != tt.want || got.code != tt.code || (tt.want == "" &&
				got.errs == "") {
				t.Errorf("%+v, want %q and %d", got, tt.want, tt.code)
			}
		})
	}
}

// A text that .NET has no room for is an error of its statement; one that has room is made.
func TestTooMuchText(t *testing.T) {
	got := run(t, t.TempDir(), nil, "-Command", `'xy' * 9223372036854775807`)
	if got.code != 1 || !strings.Contains(got.errs, "System.OutOfMemoryException") {
		t.Errorf("%+v", got)
	}

	got = run(t, t.TempDir(), nil, "-Command", `('xy' * 9000000).Length`)
	if got.code != 0 || got.out != "18000000\n" {
		t.Errorf("%+v", got)
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/hosts", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}

	for property, want := range map[string]string{"LinkType": "SymbolicLink\n", "Target": "/etc/hosts\n"} {
		script := "$ErrorActionPreference = 'Stop'; (Get-Item -Force -LiteralPath $env:linkpath)." + property
		if got := run(t, dir, []string{"linkpath=" + filepath.Join(dir, "link")}, "/c", script); got.out != want ||
			got.code != 0 {
			t.Errorf("%s of a link: %+v", property, got)
		}
		if got := run(t, dir, []string{"linkpath=" + dir}, "/c", script); got.out != "" || got.code != 0 {
			t.Errorf("%s of a folder: %+v", property, got)
		}

		if got := run(t, dir, []string{"linkpath=/no/such"}, "/c", script); got.code != 1 ||
			!strings.Contains(got.errs, "Cannot find path") {
			t.Errorf("%s of nothing: %+v", property, got)
		}
	}
}

func TestJobs(t *testing.T) {
	got := run(t, t.TempDir(), nil, "-Command",
		`foreach ($n in 1..2) { Start-Job -ScriptBlock { foreach($m in 1..3){$r=$m*1340371;$r} } } ; get-job | wait-job`)
	if got.code != 0 || strings.Count(got.out, "Completed") != 2 {
		t.Errorf("%+v", got)
	}
}

// TestHNS makes the calls of scripts that deploy network plugins, to an HNS with two networks.
func TestHNS(t *testing.T) {
	asked := ""
	do := func(method, path, _ string) (string, error) {
		asked += method + " " + path + "\n"
		switch {
		case method == "DELETE" && strings.HasSuffix(path, "/b"):
			return `{"Success":false,"Error":"Element not found."}`, nil
		case method == "DELETE":
			return `{"Success":true}`, nil
		case path == "/policylists/":
			return `{"Success":true,"Output":[{"ID":"a"},{"ID":"b"}]}`, nil
		}

		return `{"Success":true,"Output":[{"Name":"nat","Type":"NAT"},{"Name":"cbr0","Type":"L2Bridge","Subnets":[{"AddressPrefix":"10.244.1.0/24"}]}]}`, nil
	}

	script := `ipmo -Force HostNetworkingService
while (-Not (Get-HnsNetwork | ? Name -EQ 'CBR0')) { Start-Sleep 1 }
$n = (Get-HnsNetwork | ? Name -EQ "cbr0")
"$($n.Type) $($n.Subnets[0].AddressPrefix)"
$lists = Get-HnsPolicyList
if ($lists) { $lists | Remove-HnsPolicyList }
`

	var out, errs bytes.Buffer
	s := Session{
		Args:    []string{"/c", script},
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  &errs,
		Newline: "\n",
		windows: &system.Calls{HNS: do},
	}
	s.Run(t.Context())
	if out.String() != "L2Bridge 10.244.1.0/24\n" ||
		asked != "GET /networks/\nGET /networks/\nGET /policylists/\nDELETE /policylists/a\nDELETE /policylists/b\n" {
		t.Errorf("printed %q, asked:\n%s", out.String(), asked)
	}

	if !strings.Contains(errs.String(), "Element not found.") {
		t.Errorf("said nothing of what HNS refused: %q", errs.String())
	}
}

// TestExamples checks that the scripts of the examples, and those that Kubernetes, critest and this repository's tests
// run, are not refused.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/windows-network/*/start.ps1")
	if err != nil || len(files) < 2 {
		t.Fatalf("find the examples: %v, %v", files, err)
	}

	texts := upstreamCommands()
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}

	for _, text := range texts {
		if lacking, err := Lacks(text); err != nil || len(lacking) > 0 {
			t.Errorf("%v, %v in:\n%s", err, lacking, text)
		}
	}
}

// upstreamCommands returns the commands that upstream runs in this PowerShell, without those that are refused:
// pkg/volume/util/subpath, test/e2e/windows, test/e2e/storage and pkg/volume of
// https://github.com/kubernetes/kubernetes/tree/v1.36.3, pkg/validate of
// https://github.com/kubernetes-sigs/cri-tools/blob/v1.36.0/pkg/validate/consts.go, and the commands of test/winrun.
func upstreamCommands() []string {
	return []string{
		`$ErrorActionPreference = 'Stop'; (Get-Item -Force -LiteralPath $env:linkpath).LinkType`,
		`Test-Path $Env:remotepath`,
		`Write-Host 'Hello'; sleep -Seconds 600`,
		`foreach ($n in 1..8) { Start-Job -ScriptBlock { $r = 1; foreach($m in 1..9){$r=$m*2};$r } } ; get-job | wait-job`,
		`& {if ('win-1' -ine "$(hostname)") { exit -1 }}`,
		`Set-content -Path /testfile.txt -V test`,
		`ls /testfile.txt`,
		`cmd.exe /ver`,
		`c:\Windows\System32/cmd.exe /c ver`,
		`C:\hpc\bin\uname.exe -o`, // $env:CONTAINER_SANDBOX_MOUNT_POINT is put in before
		`.\uname.exe -o`,
		`Get-ChildItem -Path $env:CONTAINER_SANDBOX_MOUNT_POINT\bin\uname.exe`,
		`./etc/configmap/validationscript.ps1`,
		`if (-not(Test-Path $env:MOUNT\etc\x)) { throw "Cannot find it" } $c = Get-Content $env:MOUNT\etc\foo.txt`,
		`if ($env:NODE_NAME_TEST -ine "$(hostname)") { throw "($env:NODE_NAME_TEST) does not equal hostname" }`,
		`Start-Sleep 3600`,
		`echo 'This is a test file.' > C:\share\file`,
		`echo "ls /opt/0" > opt\script.ps1; .\opt\script.ps1`,
		`rm C:\probe\file`,
		`echo test-after | Out-File -FilePath C:\probe\file`,
		`get-process | findstr sleep; exit 0`,
		`ping -t localhost`,
		`while($true) { echo 'x'; sleep 1; }`,
		`ipconfig /all`,
		`$env:computername`,
		`C:\hpc/kube-proxy/start.ps1`,
		`(Get-Process powershell).Name | Where-Object { $_ } | ForEach-Object { $_.ToUpper() }`,
		`cmd.exe /c "echo from cmd"; $env:OS`,
		`Start-Job { sleep 0 } | Out-Null; (Get-Job | Wait-Job).State`,
		`(Get-Acl C:\).Access | Where-Object { $_.PropagationFlags -eq 'InheritOnly' } | ForEach-Object { $_.IsInherited }`,
	}
}

// TestLongFile reads a file of 200,000 lines, which PowerShell reads too.
func TestLongFile(t *testing.T) {
	text := strings.Repeat("$a = $b.c[1] + 'x'; if ($a) { f $a }\n", 200_000) + "'"
	_, err := lang.Parse(text, "", dotnet.KnownType)
	refused, ok := errors.AsType[*lang.Refusal](err)
	if !ok || refused.At.Line() != 200_001 || refused.At.Column() != 1 {
		t.Errorf("a string without an end in line 200,001: %v", err)
	}
}

// TestNesting checks that nested parts are read once each, at any depth: if each were read twice, 60 levels would never
// end.
func TestNesting(t *testing.T) {
	for _, part := range []string{
		"$(", "$a[", "$a.b(", "echo a$(", "(", "@(", "-not (", `"$(`, "{", "echo $a[$(", "$a.b($(", "& {", "[int](",
		"if (", "!", "[int](", "function f {", "$a = ", "while (", "echo -a:$(", "1 | echo $(", "$a.b = $(", "@\"\n$(",
		"$x = if (1) {", "foreach ($a in $(",
		"@{a=", "@{$a=", "@{(", "[ordered]@{a=", "try {", "try {} catch {", "try {} finally {", "switch (", "switch (1) {a {",
		"switch (1) {$(", "do {", "for (", "for (;", "for ($a = $(", "[int]$a = ", "[int]$(", "$a.b(1, ", ", ", "echo a(", "1 -f ",
		"$a.b($a[", "function f { [CmdletBinding()] param($a = ", "[string]::Join(", "1 -is [int] -eq (", "$a[1] += $(",
	} {
		for _, depth := range []int{20, 60, 5000, 200_000} {
			if _, err := lang.Parse(strings.Repeat(part, depth), "", dotnet.KnownType); err == nil {
				t.Errorf("%q, %d times and never closed, is read", part, depth)
			}
		}
	}
}

// TestLackingOfCode: code of Add-Type is listed beforehand, at its line, also where a variable has it. What it declares
// is known then.
func TestLackingOfCode(t *testing.T) {
	lacking, err := Lacks("Add-Type -AssemblyName System.Web\n$code = 'class A { int F() { return 1; } }'\n" +
		"Add-Type -TypeDefinition $code\n")
	if err != nil || len(lacking) != 1 || lacking[0].Line != 3 || !strings.Contains(lacking[0].What, "pwsh.exe") {
		t.Errorf("%v, %v", lacking, err)
	}

	lacking, err = Lacks("$code = '[DllImport(\"a.dll\")] public static extern int F();'\n" +
		"Add-Type -MemberDefinition $code -Name N -Namespace S\n[S.N]::F()\n" +
		"Add-Type 'enum E { A } namespace X { struct P { } }'\n[E]::A; New-Object X.P\n[S.M]::F()\n")
	if err != nil || len(lacking) != 1 || lacking[0].Line != 6 {
		t.Errorf("%v, %v", lacking, err)
	}
}
