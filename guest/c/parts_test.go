package c

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// parts are the parts of the DLLs and programs that are tested without Windows and Wine, by name. The test of a part is
// the file of its name in testdata/unit; the values are the other files and the flags to compile it with. Functions of
// the C library that run/text.c defines are renamed, because the sanitizer defines them too.
var parts = map[string][]string{
	"acl":        {"hooks/acl.c", "hooks/heap.c", "testdata/unit/acl_calls.c"},
	"args":       {"run/args.c", "run/text.c", "-Dmemset=own_memset", "-Dmemcpy=own_memcpy"},
	"blob":       {"ncrypt/blob.c", "common/dercode.c", "-Icommon"},
	"commit":     {"hooks/commit.c"},
	"drive":      {"hooks/drive.c", "hooks/drivename.c", "hooks/path.c", "hooks/pathbase.c", "hooks/way.c", "hooks/names.c", "hooks/linktext.c", "hooks/linux.c", "hooks/heap.c", "hooks/table.c", "testdata/unit/path_calls.c"},
	"etw":        {"tdh/ring.c", "tdh/event.c", "-Itdh"},
	"events":     {"wevtapi/record.c", "wevtapi/xml.c", "wevtapi/xpath.c", "wevtapi/match.c", "wevtapi/filter.c", "-Iwevtapi"},
	"failure":    {"hooks/failure.c"},
	"hnsclient":  {"common/hns_client.c", "-Icommon", "-pthread"},
	"http":       {"http/parse.c", "http/body.c", "http/url.c", "http/cook.c", "common/ipaddress.c", "-Ihttp", "-Icommon"},
	"httpurl":    {"http/parse.c", "http/url.c", "http/cook.c", "common/ipaddress.c", "-Ihttp", "-Icommon"},
	"lastthread": {"hooks/lastthread.c", "-pthread"},
	"mi":         {"mi/convert.c", "-Imi"},
	"move":       {"hooks/move.c", "hooks/linux.c", "hooks/heap.c"},
	"names":      {"hooks/names.c"},
	"path":       {"hooks/path.c", "hooks/pathbase.c", "hooks/drive.c", "hooks/drivename.c", "hooks/way.c", "hooks/names.c", "hooks/linktext.c", "hooks/linux.c", "hooks/heap.c", "hooks/table.c", "testdata/unit/path_calls.c"},
	"pdh":        {"pdh/names.c", "pdh/defs.c", "pdh/parse.c", "pdh/rows.c", "pdh/disks.c", "pdh/scan.c", "pdh/figure.c", "common/nodememory.c", "-Ipdh", "-Icommon"},
	"pkcs12":     {"ncrypt/pkcs12.c", "common/dercode.c", "-Icommon"},
	"sslname":    {"hooks/sslname.c", "common/dercode.c", "common/ipaddress.c", "-Icommon"},
	"table":      {"hooks/heap.c", "hooks/table.c"},
	"way":        {"hooks/way.c", "hooks/path.c", "hooks/pathbase.c", "hooks/drive.c", "hooks/drivename.c", "hooks/names.c", "hooks/linktext.c", "hooks/linux.c", "hooks/heap.c", "hooks/table.c", "testdata/unit/path_calls.c"},
}

// sanitizerOptions turns off the search for leaks: it needs ptrace, and the tests count the blocks themselves.
const sanitizerOptions = "ASAN_OPTIONS=detect_leaks=0"

// TestParts compiles each part for Linux, against the few types and calls of Windows that testdata/unit has, and runs
// its test under the sanitizers. Every line that a test prints is a failed check.
func TestParts(t *testing.T) {
	gcc := sanitizingCompiler(t)
	for part, with := range parts {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), part)
			args := append(compilerFlags(), "-o", program, "testdata/unit/"+part+".c")
			for _, stand := range []string{"check", "convert", "windows"} {
				args = append(args, "testdata/unit/"+stand+".c")
			}

			if out, err := exec.CommandContext(t.Context(), gcc,
				append(args, with...)...).CombinedOutput(); err != nil {
				t.Fatalf("compile: %v\n%s", err, out)
			}

			cmd := exec.CommandContext(t.Context(), program, t.TempDir())
			cmd.Env = append(cmd.Environ(), sanitizerOptions)
			out, err := cmd.CombinedOutput()
			report(t, string(out))
			if err != nil && !t.Failed() {
				t.Errorf("run: %v", err)
			}
		})
	}
}

// report makes each line of out an error of t; the report of a sanitizer, which is at the end, is one error.
func report(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if strings.Contains(line, "=====") || strings.Contains(line, "runtime error:") {
			t.Error(out[strings.Index(out, line):])
			return
		}
		t.Error(strings.TrimSuffix(line, "\n"))
	}
}

// compilerFlags makes wide characters 16 bits long, as on Windows. Alignment is not checked, because programs may put
// Windows' structures anywhere.
func compilerFlags() []string {
	return []string{
		"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-format-truncation", "-fshort-wchar",
		"-fsanitize=address,undefined", "-fno-sanitize=alignment", "-fno-sanitize-recover=undefined",
		"-I", "testdata/unit", "-I", "hooks", "-I", "run", "-I", "ncrypt",
	}
}

// sanitizingCompiler finds a compiler for this machine that has the sanitizers, or skips.
func sanitizingCompiler(tb testing.TB) string {
	tb.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		tb.Skip("the system calls of hooks/linux.h are those of Linux on x86-64")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		tb.Skip("gcc is not installed (Debian: apt-get install gcc libc6-dev)")
	}

	empty := filepath.Join(tb.TempDir(), "empty.c")
	if err := os.WriteFile(empty, []byte("#include <stdio.h>\nint main(void) { return 0; }\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	program := filepath.Join(tb.TempDir(), "empty")
	args := []string{"-fsanitize=address,undefined", "-o", program, empty}
	if out, err := exec.CommandContext(tb.Context(), gcc, args...).CombinedOutput(); err != nil {
		tb.Skipf("gcc compiles no program with the sanitizers (Debian: apt-get install gcc libc6-dev): %v\n%s", err, out)
	}

	cmd := exec.CommandContext(tb.Context(), program)
	cmd.Env = append(cmd.Environ(), sanitizerOptions)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Skipf("a program with gcc's sanitizers does not run on this kernel: %v\n%s", err, out)
	}

	return gcc
}
