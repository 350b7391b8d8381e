package containerinit

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string
		err  error
	}{
		{"plain", []string{"/bin/sh", "-c", "x"}, []string{"/bin/sh", "-c", "x"}, nil},
		{"dashes", []string{"--", "/bin/sh"}, []string{"/bin/sh"}, nil},
		{"only_first_dashes", []string{"/bin/sh", "--", "x"}, []string{"/bin/sh", "--", "x"}, nil},
		{"nothing", nil, nil, ErrUsage},
		{"only_dashes", []string{"--"}, nil, ErrUsage},
		{"empty_program", []string{""}, nil, ErrUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.args, []string{"A=1"})
			if !errors.Is(err, tt.err) {
				t.Fatalf("Parse(%q): %v, want %v", tt.args, err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got.Argv); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseExplain(t *testing.T) {
	got, err := Parse([]string{"--explain", "/run/x", "--", "/bin/sh", "--explain"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Config{Explain: "/run/x", Argv: []string{"/bin/sh", "--explain"}}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Parse([]string{"--explain", "/run/x"}, nil); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
}

func TestParseSettle(t *testing.T) {
	got, err := Parse([]string{"--explain", "/run/x", "--settle", "--", "/bin/sh", "--settle"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Config{
		Explain: "/run/x",
		Settle:  true,
		Argv:    []string{"/bin/sh", "--settle"},
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReport(t *testing.T) {
	run := `C:\windows\system32\mullion-run.exe`
	for name, tt := range map[string]struct {
		argv []string
		want string
	}{
		"windows program":       {[]string{"wine64", run, "--cwd", "C:", "--report", "/r", "--", "x"}, "/r"},
		"with the preloader":    {[]string{"pre", "wine64", run, "--report", "/r", "--", "x"}, "/r"},
		"a program's argument":  {[]string{"/bin/sh", "-c", "x", run, "--report", "/r"}, ""},
		"the program's own":     {[]string{"wine64", run, "--", "x", "--report", "/r"}, ""},
		"cut":                   {[]string{"wine64", run, "--report"}, ""},
		"linux program":         {[]string{"/bin/sh", "-c", "--report", "/r"}, ""},
		"wine without launcher": {[]string{"wine64", `C:\x.exe`, "--report", "/r"}, ""},
		"no arguments":          {[]string{"/bin/sh"}, ""},
	} {
		if got := (Config{Argv: tt.argv}).report(); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestStartedPID(t *testing.T) {
	for text, want := range map[string]string{
		"started 48\n": "48", "started 48\nexited 3\n": "48", "started 48": "", "": "", "failed 2 no\n": "",
		"started 4 --ctrl\n": "", "started -1\n": "", "started \n": "",
	} {
		if got := startedPID(text); got != want {
			t.Errorf("report %q: got %q, want %q", text, got, want)
		}
	}
}

func TestEndArgv(t *testing.T) {
	for _, tt := range []struct {
		name       string
		argv, want []string
	}{
		{
			"windows_program",
			[]string{"/usr/lib/wine/wine64", `C:\windows\system32\mullion-run.exe`, "--", "x"},
			[]string{"/usr/lib/wine/wine64", `C:\windows\system32\mullion-run.exe`, "--end-services", "240000"},
		},
		{
			"with_the_preloader",
			[]string{"/usr/lib/wine/wine64-preloader", "/usr/lib/wine/wine64", `C:\windows\system32\mullion-run.exe`, "--", "x"},
			[]string{
				"/usr/lib/wine/wine64-preloader", "/usr/lib/wine/wine64", `C:\windows\system32\mullion-run.exe`,
				"--end-services", "240000",
			},
		},
		{"linux_program", []string{"/bin/sh", "-c", "x"}, nil},
	} {
		if diff := cmp.Diff(tt.want, Config{Argv: tt.argv}.endArgv()); diff != "" {
			t.Errorf("%s: command (-want +got):\n%s", tt.name, diff)
		}
	}
}
