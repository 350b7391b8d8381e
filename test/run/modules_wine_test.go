//go:build wine

package run

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// publicModule is a module whose tests for Windows are run as their authors wrote them.
type publicModule struct {
	path, version string
	packages      []string
	// passes is the least number of tests that pass, so that a run of nothing is none.
	passes int
	// gaps are the tests that fail, or what their names begin with if it ends with *, each with its cause.
	gaps map[string]string
}

// publicModules returns those of TestFieldModules.
func publicModules() []publicModule {
	const (
		below  = "ReadDirectoryChangesW of Wine tells nothing of folders below"
		replac = "Wine tells a replaced file's removal otherwise"
		backup = "Wine has no BackupRead"
		hyperv = "a container has no sockets of Hyper-V"
		bind   = "Wine has no bind filter"
	)

	return []publicModule{
		{
			path: "github.com/spf13/afero", version: "v1.15.0", packages: []string{"./..."}, passes: 120,
		},
		{
			path: "github.com/fsnotify/fsnotify", version: "v1.9.0", packages: []string{"."}, passes: 65,
			gaps: map[string]string{
				"TestScript/watch-recurse/*":                                     below,
				"TestScript/watch-dir/subdir":                                    "Wine does not tell that a folder in the watched one has changed",
				"TestScript/watch-dir/rename-overwrite":                          replac,
				"TestScript/watch-dir/rename-from-unwatched-overwrite":           replac,
				"TestScript/watch-file/overwrite-watched-file":                   replac,
				"TestScript/watch-file/overwrite-watched-file-with-watched-file": replac,
				"TestWatchRemoveWatchedDir":                                      "Wine does not tell that the watched folder is removed",
			},
		},
		{
			path: "golang.org/x/sys", version: "v0.48.0", packages: []string{"./windows/...", "./execabs/..."}, passes: 25,
			gaps: map[string]string{
				"TestFormatMessage":    "Wine has no netevent.dll",
				"TestReadSubKeyNames":  "Wine's registry has no HKEY_CLASSES_ROOT\\TypeLib",
				"TestModTimeZeroValue": "RegQueryInfoKey of Wine does not know HKEY_PERFORMANCE_DATA",
			},
		},
		{
			path: "github.com/Microsoft/go-winio", version: "v0.6.2", packages: []string{"./..."}, passes: 75,
			gaps: map[string]string{
				"TestBackup*":                          backup,
				"TestRoundTrip/*":                      backup,
				"TestHvSock*":                          hyperv,
				"FuzzHvSockRxTx/*":                     hyperv,
				"TestApplyFileBinding*":                bind,
				"TestEnsureOnlyOneTargetCanBeMounted":  bind,
				"TestGetBindMappings*":                 bind,
				"TestRemoveFileBinding":                bind,
				"Test_SetFileEa":                       "Wine keeps no extended attributes",
				"TestGetFileStandardInfo_File":         "Wine counts a file's links anew",
				"TestDialAccessDeniedWithRestrictedSD": "Wine does not look at a pipe's security",
				"TestMessageReadMode":                  "Wine ends a pipe of messages otherwise",
				"TestResolvePath":                      "a container has no \\\\localhost\\c$",
				"TestGrantVmGroupAccess":               "icacls names S-1-5-83-0 and not the virtual machines' group",
			},
		},
	}
}

// TestFieldModules runs the tests of public modules. One that fails is a known gap, and a known gap fails, so that the
// table is true.
func TestFieldModules(t *testing.T) {
	r := theRoom(t)

	for _, m := range publicModules() {
		t.Run(strings.ReplaceAll(m.path, "/", "-"), func(t *testing.T) {
			dir := fetched(t, m)
			got := r.test(t, dir, nil, append([]string{"-json", "-timeout=4m"}, m.packages...)...)
			passed, failed := 0, []string{}
			ended := actions(t, got.out)
			for name, action := range ended {
				switch {
				case name == "":
				case action == "pass":
					passed++
				case action == "fail" && !hasFailedBelow(ended, name):
					failed = append(failed, name)
				}
			}

			t.Logf("%d passed, %d failed", passed, len(failed))
			if passed < m.passes {
				t.Errorf("%d tests passed, not %d: %.2000s", passed, m.passes, got.err)
			}

			for _, name := range failed {
				known := func(gap string) bool { return isGap(gap, name) }
				if !slices.ContainsFunc(slices.Collect(maps.Keys(m.gaps)), known) {
					t.Errorf("%s fails, and is no known gap", name)
				}
			}

			for gap := range m.gaps {
				if !slices.ContainsFunc(failed, func(name string) bool { return isGap(gap, name) }) {
					t.Errorf("%s passes: take its row out", gap)
				}
			}
		})
	}
}

// isGap reports whether a known gap is that of a test.
func isGap(gap, test string) bool {
	if prefix, ok := strings.CutSuffix(gap, "*"); ok {
		return strings.HasPrefix(test, prefix)
	}
	return gap == test
}

// hasFailedBelow reports whether a test has failed by one within it.
func hasFailedBelow(ended map[string]string, test string) bool {
	for name, action := range ended {
		if action == "fail" && strings.HasPrefix(name, test+"/") {
			return true
		}
	}
	return false
}

// fetched returns a copy of a module, which belongs to somebody: the module cache is read-only.
func fetched(t *testing.T, m publicModule) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", m.path+"@"+m.version).Output()
	var module struct{ Dir, Error string }
	if wrong := json.Unmarshal(out, &module); err != nil || wrong != nil {
		t.Fatalf("download %s: %v, %v: %s", m.path, err, wrong, out)
	}

	dir := filepath.Join(t.TempDir(), "module")
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}

	const somebody = 1000
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o755) // the cache's are read-only
		}
		if err == nil {
			err = os.Lchown(path, somebody, somebody)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return dir
}
