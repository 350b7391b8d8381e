package localuser

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUsers: accounts that are made, changed and removed, also after they were written and read, and what is refused.
func TestUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config", "LocalUsers")
	users, err := Read(file)
	if err != nil || len(users) != 4 {
		t.Fatalf("a host where nothing was changed: %v, %v", users, err)
	}
	if users, err = users.Add(User{Name: "bob", FullName: "Bob B."}); err != nil {
		t.Fatal(err)
	}
	if users, err = users.Change("BOB", func(one *User) { one.Name, one.Enabled = "Robert", true }); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, users); err != nil {
		t.Fatal(err)
	}
	again, err := Read(file)
	if diff := cmp.Diff(users, again); diff != "" || err != nil {
		t.Fatalf("read again: %v, %s", err, diff)
	}
	if one, there := again.Find("robert"); !there || one.FullName != "Bob B." || !one.Enabled {
		t.Errorf("%+v, %v", one, there)
	}

	for name, tt := range map[string]struct {
		do   func() (Users, error)
		want error
	}{
		"there already":  {func() (Users, error) { return again.Add(User{Name: "guest"}) }, ErrExists},
		"a long name":    {func() (Users, error) { return again.Add(User{Name: strings.Repeat("x", 21)}) }, ErrName},
		"a wrong name":   {func() (Users, error) { return again.Add(User{Name: `a\b`}) }, ErrName},
		"dots":           {func() (Users, error) { return again.Add(User{Name: "..."}) }, ErrName},
		"nobody's":       {func() (Users, error) { return again.Delete("nobody") }, ErrNotFound},
		"built in":       {func() (Users, error) { return again.Delete("Guest") }, ErrBuiltIn},
		"nobody":         {func() (Users, error) { return again.Change("nobody", func(*User) {}) }, ErrNotFound},
		"another's name": {func() (Users, error) { return again.Change("Robert", func(one *User) { one.Name = "Guest" }) }, ErrExists},
		"to a bad name":  {func() (Users, error) { return again.Change("Robert", func(one *User) { one.Name = "" }) }, ErrName},
	} {
		if got, err := tt.do(); !errors.Is(err, tt.want) || !cmp.Equal(got, again) {
			t.Errorf("%s: %v, %v", name, err, got)
		}
	}
	if left, err := again.Delete("ROBERT"); err != nil || len(left) != 4 {
		t.Errorf("removed: %v, %v", left, err)
	}

	renamed, err := again.Change("Administrator", func(one *User) { one.Name = "root" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := renamed.Delete("root"); !errors.Is(err, ErrBuiltIn) {
		t.Errorf("Administrator under another name is removed: %v", err)
	}
	if made, err := renamed.Add(User{Name: "Administrator"}); err != nil {
		t.Errorf("the name that is free: %v", err)
	} else if left, err := made.Delete("Administrator"); err != nil || !cmp.Equal(left, renamed) {
		t.Errorf("who was made with the name of Administrator cannot be removed: %v, %v", err, left)
	}

	old := `[{"Name":"Guest"},{"Name":"bob"}]`
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(file); err != nil || got[0].RID != ridGuest || got[1].RID != 0 {
		t.Errorf("a file without RIDs: %+v, %v", got, err)
	}

	for _, text := range []string{"no json", `[{"Name":"a\\b"}]`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
