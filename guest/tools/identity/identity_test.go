package identity

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/guest/token"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

var update = flag.Bool("update", false, "rewrite what the programs print in testdata")

// fake is a Windows whose answers a test sets.
type fake struct {
	domain  credspec.Domain
	tickets []credspec.Cached
	owners  map[string]string // by the last part of the path
	err     error
}

func (w *fake) Identity() (token.Identity, error) {
	enabled := []string{"Mandatory group", "Enabled by default", "Enabled group"}
	return token.Identity{
		User: `WIN-1\Admin`, SID: "S-1-5-21-1-2-3-500", Logon: "S-1-5-5-0-7",
		Groups: []token.Group{
			{Name: "Everyone", Type: "Well-known group", SID: "S-1-1-0", Attributes: enabled},
			{Name: `BUILTIN\Administrators`, Type: "Alias", SID: "S-1-5-32-544", Attributes: append(enabled, "Group owner")},
		},
		Privileges: []token.Privilege{{Name: "SeChangeNotifyPrivilege", Enabled: true}, {Name: "SeShutdownPrivilege"}},
	}, w.err
}

func (w *fake) Domain() (credspec.Domain, error) {
	if w.domain.DNSName == "" {
		return credspec.Domain{}, os.ErrNotExist
	}
	return w.domain, nil
}

func (w *fake) Tickets() ([]credspec.Cached, error) {
	if w.tickets == nil {
		return nil, os.ErrNotExist
	}
	return w.tickets, nil
}

func (w *fake) Session() uint32 { return 1 }

func (w *fake) SetOwner(path, sid string) error {
	w.owners[filepath.Base(path)] = sid
	return w.err
}

type result = programtest.Result

// run runs a program by its name, which is the first argument.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	programs := map[string]func(program.Env, System, []string) int{
		"gpresult": Gpresult,
		"klist":    Klist,
		"nltest":   Nltest,
		"query":    Query,
		"quser":    func(e program.Env, _ System, args []string) int { return Quser(e, args) },
		"qwinsta":  Qwinsta,
		"takeown":  Takeown,
		"whoami":   Whoami,
	}
	return programtest.Run(input, func(e program.Env) int { return programs[args[0]](e, w, args[1:]) })
}
