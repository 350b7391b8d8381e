package net

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUser: accounts are listed, shown, made, changed and removed, with their memberships, and what is refused is so in
// Windows' words.
func TestUser(t *testing.T) {
	const done = "The command completed successfully.\n\n"
	w := &fake{groups: filepath.Join(t.TempDir(), "LocalGroups")}
	failure := func(text, help string) result {
		return result{Code: 2, Err: text + "\n\nMore help is available by typing NET HELPMSG " + help + ".\n\n"}
	}
	for _, tt := range []struct {
		line string
		want result
	}{
		{"user bob P@ss /add /comment:ops /fullname:Bob", result{Out: done}},
		{"user", result{Out: "\nUser accounts for \\\\WIN-1\n\n" + strings.Repeat("-", 79) +
			"\nAdministrator            bob                      DefaultAccount           \n" +
			"Guest                    WDAGUtilityAccount       \n" + done}},
		{"user BOB p /add", failure("The account already exists.", "2224")},
		{"user a@b p /ADD", failure("The specified username is invalid.", "2202")},
		{"localgroup Administrators bob /add", result{Out: done}},
		{"user bob /active:no /passwordchg:no", result{Out: done}},
		{"user kube /add", result{Out: done}},
		{"user kube", result{Out: `User name                    kube
Full Name
Comment
Account active               Yes
Account expires              Never

Password last set            Never
Password required            Yes
User may change password     Yes

Last logon                   Never

Local Group Memberships      *Users
Global Group memberships     *None
` + done}},
		{"user kube /delete", result{Out: done}},
		{"user kube", failure("The user name could not be found.", "2221")},
		{"user kube /active:yes", failure("The user name could not be found.", "2221")},
		{"user Guest /delete", result{
			Code: 2, Err: "System error 1371 has occurred.\n\nCannot perform this operation on built-in accounts.\n\n",
		}},
	} {
		if diff := cmp.Diff(tt.want, run(t, w, "", append([]string{"net"}, strings.Fields(tt.line)...)...)); diff != "" {
			t.Errorf("net %s (-want +got):\n%s", tt.line, diff)
		}
	}

	got := run(t, w, "", "net", "user", "bob").Out
	for _, part := range []string{
		"Account active               No\n", "Full Name                    Bob\n", "*Administrators",
		"Password required            Yes\n",
		"User may change password     No\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("bob has no %q:\n%s", part, got)
		}
	}
	if got := run(t, w, "", "net", "user", "bob", "/passwordchg:yes", "/passwordreq:no"); got.Out != done {
		t.Errorf("%+v", got)
	}
	got = run(t, w, "", "net", "user", "bob").Out
	if !strings.Contains(got, "Password required            No\nUser may change password     Yes\n") {
		t.Errorf("/passwordreq:no and /passwordchg:yes are not kept:\n%s", got)
	}
	if got := run(t, w, "", "net", "user", "bob", "/delete"); got.Out != done {
		t.Errorf("%+v", got)
	}
	if got := run(t, w, "", "net", "localgroup", "Administrators").Out; strings.Contains(got, "bob") {
		t.Errorf("who is gone is still a member:\n%s", got)
	}

	fresh := &fake{groups: filepath.Join(t.TempDir(), "LocalGroups")}
	if got := run(t, fresh, "", "net", "user", "Guest", "/active:yes"); got.Out != done {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(fresh.groups); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a change of an account writes the groups: %v", err)
	}

	for _, line := range []string{"user /add", "user bob * /add", "user a /add /delete", "user a /times:all", "user a b c"} {
		got := run(t, w, "", append([]string{"net"}, strings.Fields(line)...)...)
		if got.Code != 1 || !strings.Contains(got.Err, "NET USER") {
			t.Errorf("net %s: %+v", line, got)
		}
	}
}

// TestUserHalf: if one of the two files cannot be written, there is no member that is no account.
func TestUserHalf(t *testing.T) {
	w := &fake{groups: filepath.Join(t.TempDir(), "LocalGroups")}
	if got := run(t, w, "", "net", "user", "bob", "/add"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	refused := func(file string, args ...string) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// A file whose name leaves no room for a temporary one beside it can be read and not written.
		long := filepath.Join(filepath.Dir(file), strings.Repeat("x", 250))
		if err := os.WriteFile(long, text, 0o600); err != nil {
			t.Fatal(err)
		}
		half := &fake{groups: w.groups, users: long}
		if file == w.groups {
			half = &fake{groups: long, users: w.Users()}
		}
		if got := run(t, half, "", append([]string{"net", "user"}, args...)...); got.Code == 0 {
			t.Errorf("%q: nothing has failed: the test says nothing", args)
		}
	}

	refused(w.groups, "bob", "/delete")
	if got := run(t, w, "", "net", "user", "bob"); got.Code != 0 || !strings.Contains(got.Out, "*Users") {
		t.Errorf("of the groups that stay bob is gone: %+v", got)
	}
	refused(w.Users(), "ann", "/add")
	if text, err := os.ReadFile(w.groups); err != nil || strings.Contains(string(text), "ann") {
		t.Errorf("ann, who is not there, is a member: %s, %v", text, err)
	}

	// What an earlier program has left of a name is not what the next account of it begins with.
	if got := run(t, w, "", "net", "user", "ann", "/add"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := run(t, w, "", "net", "localgroup", "Administrators", "ann", "/add"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	if err := os.Remove(w.Users()); err != nil {
		t.Fatal(err)
	}
	if got := run(t, w, "", "net", "user", "ann", "/add"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := run(t, w, "", "net", "user", "ann").Out; strings.Contains(got, "*Administrators") || !strings.Contains(got, "*Users") {
		t.Errorf("ann is in the groups of another one:\n%s", got)
	}
}
