package wine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/beneath"
)

func TestMachineVariables(t *testing.T) {
	const head = "WINE REGISTRY Version 2\n;; All keys relative to \\\\Machine\n\n#arch=win64\n\n" +
		"[Software\\\\Other] 1\n\"HTTP_PROXY\"=\"not a variable\"\n\n"
	const key = "[System\\\\CurrentControlSet\\\\Control\\\\Session Manager\\\\Environment] 1701000000\n#time=1da\n"
	for name, tt := range map[string]struct {
		text string
		want map[string]string
	}{
		"all": {
			head + key + `"HTTP_PROXY"="http://me:a\"b\\c@proxy.example.com:80/"` + "\n" +
				`"Path"=str(2):"%SystemRoot%\\system32"` + "\n" + `"caf\x00e9"="\x20ac"` + "\n" + `"EMPTY"=""` + "\n" +
				`"Number"=dword:00000001` + "\n" + `"Bytes"=hex:01,02,\` + "\n  03\n" +
				"\n[System\\\\CurrentControlSet\\\\Control\\\\Session Manager\\\\Environment\\\\Below] 1\n\"NO_PROXY\"=\"x\"\n",
			map[string]string{
				"HTTP_PROXY": `http://me:a"b\c@proxy.example.com:80/`, "PATH": `%SystemRoot%\system32`, "CAFÉ": "€", "EMPTY": "",
			},
		},
		"control-set": {
			head + "[SYSTEM\\\\ControlSet001\\\\Control\\\\session manager\\\\environment] 1\r\n\"https_proxy\"=\"p:1\"\r\n",
			map[string]string{"HTTPS_PROXY": "p:1"},
		},
		"long-line": {
			head + key + `"LONG"="` + strings.Repeat("x", 3*longestVariable) + "\"\n\"AFTER\"=\"1\"\n",
			map[string]string{"AFTER": "1"},
		},
		"longest": {
			head + key + `"LONG"="` + strings.Repeat(`\x20ac`, 32767) + "\"",
			map[string]string{"LONG": strings.Repeat("€", 32767)},
		},
		"broken": {
			head + key + "\"A\"\n\"B\"=\n\"C\"=\"x\n\"D\"=\"x\\\n\"\\\n=\"x\"\n\"E\"=\"x\" y\n[\n\"F\"=\"1\"\n[]\n\"G\"=\"1\"",
			map[string]string{},
		},
		"no-key": {head, map[string]string{}},
		"empty":  {"", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), MachineHive)
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := MachineVariables(file, "HTTP_PROXY", "HTTPS_PROXY", "PATH", "CAFÉ", "EMPTY", "LONG", "AFTER", "A", "B", "C",
				"D", "E", "F", "G")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%.500s", diff)
			}
		})
	}

	if _, err := MachineVariables(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a hive: %v", err)
	}
	if _, err := MachineVariables(t.TempDir()); !errors.Is(err, beneath.ErrUnfit) {
		t.Errorf("a folder is read as a hive: %v", err)
	}

	hive := filepath.Join(t.TempDir(), MachineHive)
	if err := os.WriteFile(hive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(hive, longestHive+1); err != nil {
		t.Fatal(err)
	}
	if _, err := MachineVariables(hive); err == nil {
		t.Error("of a hive that is too large a part is read")
	}
}
