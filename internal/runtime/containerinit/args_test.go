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

func TestCtrlArgv(t *testing.T) {
	run := `C:\windows\system32\mullion-run.exe`
	for _, tt := range []struct {
		name string
		argv []string
		want []string
	}{
		{
			"windows_program",
			[]string{"/usr/lib/wine/wine64", run, "--", "x"},
			[]string{"/usr/lib/wine/wine64", run, "--ctrl", "shutdown"},
		},
		{"linux_program", []string{"/bin/sh", "-c", "x"}, nil},
		{"wine_without_launcher", []string{"/usr/lib/wine/wine64", `C:\x.exe`}, nil},
		{"no_arguments", []string{"/bin/sh"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Config{Argv: tt.argv}.ctrlArgv("shutdown")); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
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
		{"linux_program", []string{"/bin/sh", "-c", "x"}, nil},
	} {
		if diff := cmp.Diff(tt.want, Config{Argv: tt.argv}.endArgv()); diff != "" {
			t.Errorf("%s: command (-want +got):\n%s", tt.name, diff)
		}
	}
}
