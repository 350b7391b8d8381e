package powershell

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain makes the test binary a powershell when it is started as one, for jobs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-NonInteractive" {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		s := Session{Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Self: self, Newline: "\n"}
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
	s := Session{Args: args, Environ: append([]string{"PATH=/usr/bin:/bin"}, env...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Self: self, Newline: "\n"}
	code := s.Run(t.Context())
	return outcome{out.String(), errs.String(), code}
}

// TestScripts has what upstream's tests and the kubelet run, and the parts of the language one by one.
func TestScripts(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		code               int
	}{
		{"echo", `echo hello`, "hello\n", 0},
		{"write_host", `Write-Host 'Hello'; sleep -Seconds 0`, "Hello\n", 0},
		{"critest_loop", `while($true) { echo 'x'; sleep 0.001; break }`, "x\n", 0},
		{"environment", `$env:COMPUTERNAME`, "HOST-1\n", 0},
		{"node_name_same", `& {if ('host-1' -ine "$(echo HOST-1)") { exit -1 }}`, "", 0},
		{"node_name_other", `& {if ('host-2' -ine "$(echo HOST-1)") { exit -1 }}`, "", -1},
		{"content", `Set-content -Path file -V test; ls file -Name; $c = Get-Content file; $c -eq 'test'`, "file\nTrue\n", 0},
		{"throw", `if (-not(Test-Path $env:HOME\no\such)) { throw "Cannot find it" }`, "", 1},
		{"redirection", `echo "a" > f.txt; echo b >> f.txt; cat f.txt`, "a\nb\n", 0},
		{"range", `foreach($i in 1..3){$i*2}`, "2\n4\n6\n", 0},
		{"long_range_is_lazy", `foreach($i in 1..2147483647){ if ($i -ge 3) { break }; $i }`, "1\n2\n", 0},
		{"ranges", `$r = 1..4; $r.Count; $r[1]; @(1..3).Count; (5..3) -join ','; "$(1..2)"`, "4\n2\n3\n5,4,3\n1 2\n", 0},
		{"overflow", `$x = 9223372036854775807; $x + 1`, "9.22337203685478E+18\n", 0},
		{"strings", `"a$(1+1)b $x" + 'it''s'; "q""q"`, "a2b it's\nq\"q\n", 0},
		{"precedence", `1 + 2 * 3; (1 + 2) * 3; 7 -band 3 -eq 3; -not $false -and $true`, "7\n9\n1\nTrue\n", 0},
		{"operators", `'abc' -like 'a*'; 'abc' -match 'B.'; 'a,b' -split ',' -join '-'; 'x' -in 'x','y'; 5 / 2; 6 % 4`, "True\nTrue\na-b\nTrue\n2.5\n2\n", 0},
		{"function", `function f($a, $b = 3) { return "$a-$b" } f 1; f -b 4 2; (f x).ToUpper()`, "1-3\n2-4\nX-3\n", 0},
		{"pipeline", `1..4 | Where-Object { $_ % 2 -eq 0 } | ForEach-Object { "n$_" }`, "n2\nn4\n", 0},
		{"function_in_parentheses", `function f($x) { "<$x>" } $y = f('a b'); if (-not $?) { exit 1 }; echo "0$y"`, "0<a b>\n", 0},
		{"typed_parameters", `function f([int]$n, [string]$s, [switch]$on, [bool]$b) { $n + 1; $s + 1; $on; $b } f '0x10' -on 5; f`, "17\n51\nTrue\nFalse\n1\n1\nFalse\nFalse\n", 0},
		{"typed_parameter_wrong", `function f([int]$n) { $n } f x`, "", 1},
		{"missing_parameter", `function f([string]$n = $(throw "-n is required.")) { $n } f y; f`, "y\n", 1},
		{"numbers", `0x0001 -bor 0x0080; 0x0010 -band 0x30; 010 + 1; -0x10; '0x10' - 1`, "129\n16\n11\n-16\n15\n", 0},
		{"enumerations", `$d = [Security.AccessControl.AccessControlType]::Deny; "$d"; $d -ne [System.Security.AccessControl.AccessControlType]::Allow; $d.value__; $d -eq 'deny'; $d -eq 'allow'`, "Deny\nTrue\n1\nTrue\nFalse\n", 0},
		{"enumeration_of_flags", `$r = [Security.AccessControl.FileSystemRights]::Modify; $r -band 0x20000; $r.value__; $r.ToString().ToLower()`, "131072\n197055\nmodify\n", 0},
		{"elseif", `$a = 2; if ($a -eq 1) { 'one' } elseif ($a -eq 2) { 'two' } else { 'more' }`, "two\n", 0},
		{"arrays", `$a = @('x'); $a += 'y'; $a.Count; $a[-1]; ($a).Length`, "2\ny\n2\n", 0},
		{"native", `sh -c "echo out; exit 3"; $LASTEXITCODE`, "out\n3\n", 0},
		{"native_last_fails", `sh -c "exit 3"`, "", 1},
		{"exit_code", `exit 7`, "", 7},
		{"piped_to_native", `'b', 'a' | /usr/bin/sort`, "a\nb\n", 0},
		{"stop_at_error", `$ErrorActionPreference = 'Stop'; Get-Item no-such; echo on`, "", 1},
		{"go_on_after_error", `Get-Item no-such; echo on`, "on\n", 0},
		{"last_fails", `Get-Item no-such`, "", 1},
		{"quiet", `Get-Item no-such -ErrorAction SilentlyContinue; echo on`, "on\n", 0},
		{"comment", "# one\necho a <# two #> b # three", "a\nb\n", 0},
		{"items", `New-Item -ItemType Directory d | Out-Null; Test-Path d; rm -Recurse d; Test-Path d`, "True\nFalse\n", 0},
		{"no_such_program", `no-such.exe x`, "", 1},
		{"json", `$j = '{"b": {"list": [{"x": 1}], "n": null}, "A": 1.5}' | ConvertFrom-Json; $j.B.list[0].x = 'eth0', 'eth1'; $j.a += 1; $j.none; $j | ConvertTo-Json -Depth 9 -Compress`, `{"b":{"list":[{"x":["eth0","eth1"]}],"n":null},"A":2.5}` + "\n", 0},
		{"json_shape", `'{"a":[],"b":[1,"<"]}' | ConvertFrom-Json | ConvertTo-Json`, "{\n  \"a\": [],\n  \"b\": [\n    1,\n    \"<\"\n  ]\n}\n", 0},
		{"json_depth", `'{"a":{"b":{"c":{"d":1}}}}' | ConvertFrom-Json | ConvertTo-Json -Compress`, `{"a":{"b":{"c":"@{d=1}"}}}` + "\n", 0},
		{"json_list", `('[{"name":"a"},{"name":"b"}]' | ConvertFrom-Json).name -join ','`, "a,b\n", 0},
		{"json_wrong", `'{"a":' | ConvertFrom-Json`, "", 1},
		{"json_no_property", `$j = '{}' | ConvertFrom-Json; $j.a = 1`, "", 1},
		{"where_property", `'[{"name":"a"},{"name":"b"}]' | ConvertFrom-Json | ? Name -EQ 'B'.ToLower() | Select-Object -ExpandProperty name`, "b\n", 0},
		{"select", `('[{"ifIndex":7,"x":1},{"ifIndex":8}]' | ConvertFrom-Json | select -First 1 -Property ifIndex)[0].ifIndex`, "7\n", 0},
		{"matches", `'Kubernetes v1.36.3' -match 'v([0-9])\.([0-9]+)'; ($Matches.1 -as [int]) + 1; $Matches[2]; $Matches.0; 'x' -as [int]`, "True\n2\n36\nv1.36\n", 0},
		{"here_string", "$n = 'cbr0'; $s = @\"\n{\"name\": \"$n\"}\n\"@\n$s\n@'\n$n 'x'\n'@", "{\"name\": \"cbr0\"}\n$n 'x'\n", 0},
		{"combine", `[io.Path]::Combine('c:/', 'sourcevip', 'x.json'); [System.IO.Path]::Combine('a', '/b')`, "c:/sourcevip/x.json\n/b\n", 0},
		{"copy", `mkdir -force a/b | Out-Null; mkdir -Force a | Out-Null; 'x' | Out-File a/one.exe; 'y' | Out-File a/two.conf; mkdir to | Out-Null; Copy-Item -Path 'a/*.exe' -Destination to -Force; cp -r a to/; ls to -Name; cat to/a/two.conf`, "a\none.exe\ny\n", 0},
		{"copy_into_itself", `mkdir a | Out-Null; cp -Recurse a a`, "", 1},
		{"env_drive", `$env:CNI_COMMAND = 'ADD'; Test-Path env:CNI_COMMAND; Remove-Item env:CNI_COMMAND; if (test-path env:CNI_COMMAND){ 'there' } else { 'gone' }`, "True\ngone\n", 0},
		{"invoke", `$exe = "sh -c 'echo proxy --v=4; exit 3'"; Invoke-Expression $exe; "$LASTEXITCODE $(iex '1+1')"`, "proxy --v=4\n3 2\n", 0},
		{"invoke_refused", `iex 'Get-Disk'`, "", 1},
		{"module_unknown", `ipmo -Force .\other.psm1`, "", 1},
		{"continued_lines", "$a = @(`\n \"--one=$env:COMPUTERNAME\", `\n '--two' `\n)\n$a += '--three'\n\"$a\"", "--one=HOST-1 --two --three\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, t.TempDir(), []string{"COMPUTERNAME=HOST-1", "HOME=/home"}, "-Command", tt.script)
			if got.out != tt.want || got.code != tt.code || (tt.code == 0 && tt.name != "go_on_after_error") && got.errs != "" {
				t.Errorf("%s: got %+v, want %q and %d", tt.script, got, tt.want, tt.code)
			}
		})
	}
}

// TestRefusals: what is not there refuses the whole script before any of it runs.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct{ name, script, word string }{
		{"cmdlet", `Get-WmiObject -Class x`, "Get-WmiObject"},
		{"alias", `icm 'x'`, "icm"},
		{"parameter", `Get-ChildItem -Recurse`, "-recurse"},
		{"in_a_block", `if ($false) { foreach ($x in 1) { Get-Disk x } }`, "Get-Disk"},
		{"in_a_string", `"$(Get-Date)"`, "Get-Date"},
		{"enumeration", `[Security.AccessControl.AccessControlType]::Maybe`, "::Maybe"},
		{"enumeration_method", `[Security.AccessControl.AccessControlType]::Parse('x')`, "::Parse"},
		{"enumeration_type", `[Security.AccessControl.FileSystemRights]'Read'`, "the type"},
		{"acl_parameter", `Get-Acl -Audit x`, "-audit"},
		{"dotnet", `[Environment]::Exit(0)`, "[Environment]::Exit"},
		{"type", `[xml]$x = 'y'`, "[xml]"},
		{"method", `'x'.Normalize()`, "normalize"},
		{"try", `try { echo x } catch { }`, "try"},
		{"switch", `switch (1) { 1 { 2 } }`, "switch"},
		{"hash_table", `$x = @{ a = 1 }`, "hash table"},
		{"here_string", "$x = @'x\n'@", "here-string"},
		{"here_string_unclosed", "$x = @\"\nx\n \"@", "here-string without"},
		{"static", `[io.path]::GetTempPath()`, "GetTempPath"},
		{"as", `'1' -as [xml]`, "[xml]"},
		{"format", `'{0}' -f 1`, "-f"},
		{"and", `echo a && echo b`, "&"},
		{"unclosed", `if ($true) { echo x`, "missing"},
		{"unclosed_string", `echo "x`, "without an end"},
		{"too_many", `Start-Sleep 1 2`, "too many"},
		{"scope", `$global:x = 1`, "global"},
		{"background", `ping x &`, "&"},
		{"backtick_at_the_end", "echo `", "backtick"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, t.TempDir(), nil, "-NoProfile", "-c", "echo before; Set-Content file x; "+tt.script)
			if got.code != 1 || got.out != "" || !strings.Contains(got.errs, tt.word) || !strings.Contains(got.errs, "Nothing was run") {
				t.Errorf("%+v, want a refusal that names %q", got, tt.word)
			}
			if _, err := os.Stat("file"); err == nil {
				t.Error("a part of it was run")
			}
		})
	}
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
		{"encoded", []string{"-EncodedCommand", encode("echo 'ü €'")}, "ü €\n", 0},
		{"words", []string{"echo", "a", "b"}, "a\nb\n", 0},
		{"slash", []string{"/c", "echo x"}, "x\n", 0},
		{"nothing", nil, "", 1},
		{"unknown", []string{"-Version", "2"}, "", 1},
		{"bad_code", []string{"-enc", "&&&"}, "", 1},
		{"no_file", []string{"-File", "none.ps1"}, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, dir, nil, tt.args...); got.out != tt.want || got.code != tt.code || tt.want == "" && got.errs == "" {
				t.Errorf("%+v, want %q and %d", got, tt.want, tt.code)
			}
		})
	}
}

func TestTooMuchText(t *testing.T) {
	for _, script := range []string{`'xy' * 9223372036854775807`, `'xy' * 9000000`} {
		if got := run(t, t.TempDir(), nil, "-Command", script); got.code != 1 || !strings.Contains(got.errs, "Cannot repeat") {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/hosts", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for property, want := range map[string]string{"LinkType": "SymbolicLink\n", "Target": "/etc/hosts\n"} {
		script := "$ErrorActionPreference = 'Stop'; (Get-Item -Force -LiteralPath $env:linkpath)." + property
		if got := run(t, dir, []string{"linkpath=" + filepath.Join(dir, "link")}, "/c", script); got.out != want || got.code != 0 {
			t.Errorf("%s of a link: %+v", property, got)
		}
		if got := run(t, dir, []string{"linkpath=" + dir}, "/c", script); got.out != "" || got.code != 0 {
			t.Errorf("%s of a folder: %+v", property, got)
		}
		if got := run(t, dir, []string{"linkpath=/no/such"}, "/c", script); got.code != 1 || !strings.Contains(got.errs, "Cannot find path") {
			t.Errorf("%s of nothing: %+v", property, got)
		}
	}
}

func TestJobs(t *testing.T) {
	got := run(t, t.TempDir(), nil, "-Command", `foreach ($n in 1..2) { Start-Job -ScriptBlock { foreach($m in 1..3){$r=$m*1340371;$r} } } ; get-job | wait-job`)
	if got.code != 0 || strings.Count(got.out, "Completed") != 2 {
		t.Errorf("%+v", got)
	}
}

// TestHNS has what deploying scripts ask of HNS, of one with two networks.
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
	script := `ipmo -Force .\hns.psm1
while (-Not (Get-HnsNetwork | ? Name -EQ 'CBR0')) { Start-Sleep 1 }
$n = (Get-HnsNetwork | ? Name -EQ "cbr0")
"$($n.Type) $($n.Subnets[0].AddressPrefix)"
$lists = Get-HnsPolicyList
if ($lists) { $lists | Remove-HnsPolicyList }
`
	var out, errs bytes.Buffer
	s := Session{Args: []string{"/c", script}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Newline: "\n", HNS: do}
	s.Run(t.Context())
	if out.String() != "L2Bridge 10.244.1.0/24\n" || asked != "GET /networks/\nGET /networks/\nGET /policylists/\nDELETE /policylists/a\nDELETE /policylists/b\n" {
		t.Errorf("printed %q, asked:\n%s", out.String(), asked)
	}
	if !strings.Contains(errs.String(), "Element not found.") {
		t.Errorf("said nothing of what HNS refused: %q", errs.String())
	}
}

// FuzzParse holds that no text makes the parser or the checker panic or hang.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"echo 'a' | sort > x; $y = 1,2", "if(1){2}else{3}", "\"$(", "@(", "$a[", "-", "function", "& {", "1..", "$a.b(", "`", "echo `", "@\"\n$(\n\"@", "$a.b[0] = 1", "1 -as [int]", "[io.path]::combine("} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if s, err := Parse(text); err == nil {
			_ = check(s, nil)
		}
	})
}
