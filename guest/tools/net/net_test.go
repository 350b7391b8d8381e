package net

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
)

// fake is a Windows with services, and local groups in a file; the accounts are beside it, unless users is elsewhere.
type fake struct {
	groups   string
	users    string
	services servicestest.Manager
	err      error
}

func (w *fake) Name() string { return "WIN-1" }

func (w *fake) Services() services.Manager { return &w.services }

func (w *fake) Groups() string { return w.groups }

func (w *fake) Users() string {
	if w.users != "" {
		return w.users
	}
	return w.groups + ".users"
}

func (w *fake) Alone(f func() error) error { return f() }

func (w *fake) Net(e program.Env, args []string) (int, error) {
	e.Print("wine's net %s", strings.Join(args, " "))
	return 7, w.err
}

type result = programtest.Result

// run runs net on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

func TestNet(t *testing.T) {
	const done = "The command completed successfully.\n\n"
	w := &fake{groups: filepath.Join(t.TempDir(), "LocalGroups")}
	t.Chdir(t.TempDir())
	if err := os.Mkdir(`\\fs\data`, 0o700); err != nil { // to Linux it is a name
		t.Fatal(err)
	}
	failure := func(code, text string) result {
		return result{Code: 2, Err: "System error " + code + " has occurred.\n\n" + text + "\n\n"}
	}

	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"other", []string{"use", "x"}, result{Code: 7, Out: "wine's net use x\n"}},
		{"share", []string{"use", `\\fs\data`}, result{Out: done}},
		{"no_share", []string{"use", `\\fs\none`}, failure("53", "The network path was not found.")},
		{"add", []string{"localgroup", "Builders", "/ADD", "/comment:who Build"}, result{Out: done}},
		{
			"add_again",
			[]string{"localgroup", "builders", "/add"},
			failure("1379", "The specified local group already exists."),
		},
		{"add_member", []string{"localgroup", "builders", "guest", `nt authority\system`, "/add"}, result{Out: done}},
		{
			"add_member_again",
			[]string{"localgroup", "builders", "Guest", "/add"},
			failure("1378", "The specified account name is already a member of the group."),
		},
		{
			"stranger",
			[]string{"localgroup", "builders", "nobody", "/add"},
			result{Code: 2, Err: "There is no such global user or group: nobody.\n\nMore help is available by typing NET HELPMSG 3783.\n\n"},
		},
		{
			"show",
			[]string{"LOCALGROUP", "builders"},
			result{Out: "Alias name     Builders\nComment        who Build\n\nMembers\n\n" + strings.Repeat("-",
				79) + "\nGuest\nNT AUTHORITY\\SYSTEM\n" + done},
		},
		{"leave", []string{"localgroup", "builders", "guest", "/delete"}, result{Out: done}},
		{
			"leave_again",
			[]string{"localgroup", "builders", "guest", "/delete"},
			failure("1377", "The specified account name is not a member of the group."),
		},
		{"delete", []string{"localgroup", "builders", "/delete"}, result{Out: done}},
		{
			"delete_again",
			[]string{"localgroup", "builders", "/delete"},
			failure("1376", "The specified local group does not exist."),
		},
		{
			"delete_built_in",
			[]string{"localgroup", "Users", "/delete"},
			failure("1371", "Cannot perform this operation on built-in accounts."),
		},
		{"bad_name", []string{"localgroup", "a*b", "/add"}, failure("87", "The parameter is incorrect.")},
		{"show_none", []string{"localgroup", "builders"}, failure("1376", "The specified local group does not exist.")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, w, "", append([]string{"net"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}

	for _, args := range [][]string{
		{"/add"},
		{"x", "/zzz"},
		{"x", "y"},
		{"x", "/add", "/delete"},
		{"x", "/delete", "/comment:y"},
	} {
		if got := run(t, w, "", append([]string{"net", "localgroup"}, args...)...); got.Code != 1 ||
			!strings.HasPrefix(got.Err, "The syntax of this command is:\n") {
			t.Errorf("%v: %+v", args, got)
		}
	}

	list := run(t, w, "", "net", "localgroup")
	if !strings.HasPrefix(list.Out, "\nAliases for \\\\WIN-1\n\n---") ||
		strings.Count(list.Out, "\n*") != len(localgroup.BuiltIn()) {
		t.Errorf("%+v", list)
	}
}
