package guest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Machine describes a guest: which distribution with which kernel, and how it is set up.
type Machine struct {
	// Name of the machine, for example "bookworm-hardened".
	Name string
	// Suite is Debian's name of the release, as debootstrap takes it.
	Suite string
	// KernelFrom is the suite that the kernel comes from, as "bookworm-backports"; empty means Suite.
	KernelFrom string
	// Hardened sets the machine up as strict administrators do; scripts/harden.sh says how.
	Hardened bool
	// Firewall is the package whose rules are in force from the start, "ufw" or "firewalld"; empty means none.
	Firewall string
	// SELinux has the machine enforce Debian's policy.
	SELinux bool `json:",omitempty"`
	// CPUs and Memory (in MiB) are what it has; zero means 2 and 6144.
	CPUs   int `json:",omitempty"`
	Memory int `json:",omitempty"`
}

// Machines returns the guests that releases are tried on.
func Machines() []Machine {
	return []Machine{
		{Name: "bookworm", Suite: "bookworm"},
		{Name: "bookworm-hardened", Suite: "bookworm", Hardened: true, Firewall: "ufw"},
		{Name: "bookworm-backports", Suite: "bookworm", KernelFrom: "bookworm-backports"},
		{
			Name:       "bookworm-backports-hardened",
			Suite:      "bookworm",
			KernelFrom: "bookworm-backports",
			Hardened:   true,
			Firewall:   "firewalld",
		},
		{Name: "trixie", Suite: "trixie"},
		{Name: "trixie-hardened", Suite: "trixie", Hardened: true, Firewall: "firewalld"},
		{Name: "trixie-selinux", Suite: "trixie", SELinux: true},
		{Name: "trixie-small", Suite: "trixie", CPUs: 1, Memory: 2048},
	}
}

// Find returns the machine of that name.
func Find(name string) (Machine, error) {
	all := Machines()
	i := slices.IndexFunc(all, func(m Machine) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range all {
			names = append(names, m.Name)
		}
		return Machine{}, fmt.Errorf("there is no machine %q: the machines are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

//go:embed scripts/install.sh
var installScript string

//go:embed scripts/setup.sh
var setupScript string

//go:embed scripts/harden.sh
var hardenScript string

//go:embed scripts/selinux.sh
var selinuxScript string

// packages returns what every guest has besides what Mullion needs: what the distribution's installer puts on a server.
func (m Machine) packages() []string {
	all := []string{
		"systemd-sysv", "libpam-systemd", "dbus", "udev", "kmod", "initramfs-tools", "procps", "openssh-server", "sudo",
		"cron", "ca-certificates", "curl", "locales",
		"netbase", "util-linux-extra", "less",
	}
	if m.Hardened {
		all = append(all, "apparmor", m.Firewall)
	}
	if m.SELinux {
		all = append(all, "selinux-basics", "selinux-policy-default", "auditd")
	}
	return all
}

// recipe is everything that a machine's disk is made from.
type recipe struct {
	Machine       Machine
	Packages      []string
	Script        []string
	AuthorizedKey string
}

func (r recipe) id() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
