package preflight

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestLookSELinux reads what machines have of it.
func TestLookSELinux(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  SELinux
	}{
		{"none, with AppArmor", map[string]string{"proc/self/attr/current": "docker-default (enforce)\n"}, SELinux{}},
		{"permissive", map[string]string{
			"sys/fs/selinux/enforce": "0", "proc/self/attr/current": "system_u:system_r:container_t:s0\x00",
		}, SELinux{}},
		{"enforcing", map[string]string{
			"sys/fs/selinux/enforce": "1", "sys/fs/selinux/booleans/deny_execmem": "0 0",
			"sys/fs/selinux/booleans/selinuxuser_execmod": "1 1", "proc/self/attr/current": "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\x00",
		}, SELinux{Enforcing: true, Domain: "unconfined_t"}},
		{"with booleans", map[string]string{
			"sys/fs/selinux/enforce": "1\n", "sys/fs/selinux/booleans/deny_execmem": "1 0",
			"sys/fs/selinux/booleans/selinuxuser_execmod": "0 1", "proc/self/attr/current": "user_u:user_r:user_t\n",
		}, SELinux{
			Enforcing: true,
			Domain:    "user_t",
			Booleans:  []string{"deny_execmem=off", "selinuxuser_execmod=on"},
		}},
		{"with those of Debian", map[string]string{
			"sys/fs/selinux/enforce": "1\n", "sys/fs/selinux/booleans/allow_execmem": "0 0",
			"sys/fs/selinux/booleans/allow_execmod": "0 0", "proc/self/attr/current": "u:r:unconfined_t\n",
		}, SELinux{
			Enforcing: true,
			Domain:    "unconfined_t",
			Booleans:  []string{"allow_execmem=on", "allow_execmod=on"},
		}},
		{"nothing to be read", map[string]string{"sys/fs/selinux/enforce": "1"}, SELinux{Enforcing: true}},
		{"broken", map[string]string{
			"sys/fs/selinux/enforce": "1", "proc/self/attr/current": "a:b",
		}, SELinux{Enforcing: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tt.files {
				file := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			if diff := cmp.Diff(tt.want, lookSELinux(root), cmpopts.EquateErrors()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSELinux judges what was found, and tries what is tried on this machine.
func TestSELinux(t *testing.T) {
	const refused = syscall.EACCES
	for _, tt := range []struct {
		name            string
		is              SELinux
		unprivileged    bool
		state           State
		problem, remedy string
	}{
		{"permissive", SELinux{Domain: "container_t"}, false, Passed, "", ""},
		{"unconfined", SELinux{Enforcing: true, Domain: "unconfined_service_t"}, false, Passed, "", ""},
		{"of an unknown domain", SELinux{Enforcing: true}, false, Passed, "", ""},
		{"as an ordinary user", SELinux{Enforcing: true, Domain: "staff_t"}, true, Unseen, "", ""},
		{"confined", SELinux{Enforcing: true, Domain: "container_t"}, false, Warned, "container_t", "id -Z"},
		{
			"no execmem for anybody",
			SELinux{
				Enforcing: true,
				Domain:    "unconfined_t",
				Booleans:  []string{"allow_execmem=on", "allow_execmod=on"},
				ExecMem:   refused,
			},
			false, Failed, "unconfined_t, and Wine", "setsebool -P allow_execmem=on allow_execmod=on",
		},
		{
			"no execmem for one",
			SELinux{
				Enforcing: true,
				Domain:    "httpd_t",
				ExecMem:   refused,
			},
			true, Failed, "(execmem) to domain httpd_t", "audit2allow",
		},
		{
			"no execmod by a boolean",
			SELinux{
				Enforcing: true,
				Booleans:  []string{"selinuxuser_execmod=on"},
				ExecMod:   refused,
			},
			false, Failed, "it would not with selinuxuser_execmod=on", "setsebool -P selinuxuser_execmod=on",
		},
		{
			"a file without a label",
			SELinux{
				Enforcing: true,
				Domain:    "unconfined_t",
				ExecMod:   refused,
			},
			false, Failed, "(execmod) to domain unconfined_t", "restorecon",
		},
		{
			"no execmod",
			SELinux{
				Enforcing: true,
				Domain:    "user_t",
				ExecMod:   refused,
			},
			false, Failed, "(execmod) to domain user_t", "unconfined",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := good()
			f.SELinux, f.Unprivileged = tt.is, tt.unprivileged
			for _, c := range Examine(f, want()) {
				if c.Name != "selinux" {
					continue
				}
				if c.State != tt.state || (len(c.Findings) > 0) != (tt.problem != "") {
					t.Fatalf("%+v, want %s", c, tt.state)
				}

				for _, one := range c.Findings {
					if !strings.Contains(one.Problem, tt.problem) || !strings.Contains(one.Remedy, tt.remedy) {
						t.Errorf("%+v", one)
					}
				}

				return
			}

			t.Error("it is not looked at")
		})
	}

	if err := tryExecMod("/proc/self/exe"); err != nil && !lookSELinux("/").Enforcing {
		t.Errorf("without SELinux: %v", err)
	}
	if err := tryExecMem(); err != nil && !lookSELinux("/").Enforcing {
		t.Errorf("without SELinux: %v", err)
	}
}
