package preflight

import (
	"fmt"
	"strings"
)

// SELinux is what was found out about it.
type SELinux struct {
	// Enforcing says that a policy is loaded, and that what it does not allow is refused.
	Enforcing bool
	// Domain is the type of this process, for example "unconfined_t", "" if it could not be read.
	Domain string
	// Booleans are those of the policy that refuse what Wine does as they are, each as setsebool(8) would change it,
	// for example "allow_execmem=on".
	Booleans []string
	// ExecMem and ExecMod are the attempts to have memory that is written and executed, and to execute what was written
	// into a file's private mapping: permissions of the class process and of the class file
	// (https://github.com/SELinuxProject/selinux-notebook/blob/main/src/object_classes_permissions.md). Wine's loader
	// needs both for every program and library of Windows.
	ExecMem, ExecMod error
}

// unconfined reports whether the policy leaves the domain alone. Without a domain that is not known.
func (s SELinux) unconfined() bool {
	switch s.Domain {
	case "", "kernel_t", "initrc_t", "spc_t", "sysadm_t":
		return true
	}
	return strings.HasPrefix(s.Domain, "unconfined")
}

func (s SELinux) text() string {
	switch {
	case !s.Enforcing:
		return "nothing is enforced"
	case s.Domain == "":
		return "it is enforcing, and this process may do what Wine does"
	}
	return fmt.Sprintf("it is enforcing, and %s may do what Wine does", s.Domain)
}

// allow is how a person lets a domain do what was denied, whatever the policy is.
const allow = "`ausearch -m avc -ts recent | audit2allow -M mullion && semodule -i mullion.pp` allows what was denied"

func selinux(f Facts, _ Want) []Finding {
	s := f.SELinux
	if !s.Enforcing {
		return nil
	}
	domain := "this process's domain"
	if s.Domain != "" {
		domain = "domain " + s.Domain
	}

	elsewhere := "run mullion in an unconfined domain (`id -Z` ends with unconfined_t there); or " + allow
	if s.Domain != "" && s.unconfined() {
		elsewhere = "give Mullion's files labels, if `ls -Z` shows none (`restorecon -R FOLDER`); or " + allow
	}

	var booleans string
	if len(s.Booleans) > 0 {
		booleans = "; it would not with " + strings.Join(s.Booleans, ", ")
		elsewhere = "setsebool -P " + strings.Join(s.Booleans, " ")
	}

	one := Finding{Check: "selinux", Fatal: true}
	switch {
	case s.ExecMem != nil:
		one.Problem = fmt.Sprintf("SELinux refuses memory that is written and executed (execmem) to %s, and Wine runs no "+
			"program without: %v%s", domain, s.ExecMem, booleans)
		one.Remedy = elsewhere

	case s.ExecMod != nil:
		one.Problem = fmt.Sprintf("SELinux refuses to execute what was written into a library's memory (execmod) to %s, as "+
			"Wine's loader does: %v%s", domain, s.ExecMod, booleans)
		one.Remedy = elsewhere

	case !f.Unprivileged && !s.unconfined():
		one.Fatal = false
		one.Problem = fmt.Sprintf("SELinux is enforcing and confines this process (%s), which may forbid mounts, "+
			"namespaces and links that a cluster makes", domain)
		one.Remedy = "if something is refused, " + elsewhere
	default:
		return nil
	}

	return []Finding{one}
}

// hiddenSELinux returns what an ordinary user cannot see: root's programs may be in another domain than that user's.
func hiddenSELinux(f Facts) string {
	if !f.SELinux.Enforcing {
		return ""
	}
	return "what SELinux allows to the programs that root starts"
}
