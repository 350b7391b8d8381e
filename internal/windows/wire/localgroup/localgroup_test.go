package localgroup_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

func TestChanges(t *testing.T) {
	g := localgroup.BuiltIn()
	for _, step := range []struct {
		name   string
		change func(localgroup.Groups) (localgroup.Groups, error)
		want   error
	}{
		{"made", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Add("Builders", "who build") }, nil},
		{
			"made_twice", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Add("builders", "") },
			localgroup.ErrExists,
		},
		{
			"bad_name", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Add("a/b", "") },
			localgroup.ErrName,
		},
		{
			"no_name", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Add(" .", "") },
			localgroup.ErrName,
		},
		{"long_name", func(g localgroup.Groups) (localgroup.Groups,
			error,
		) {
			return g.Add(strings.Repeat("x", 257), "")
		}, localgroup.ErrName},
		{
			"bad_comment", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Add("x", "a\tb") },
			localgroup.ErrName,
		},
		{"joined", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Join("BUILDERS", "Guest") }, nil},
		{
			"joined_twice", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Join("Builders", "guest") },
			localgroup.ErrMember,
		},
		{
			"joined_nothing", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Join("none", "Guest") },
			localgroup.ErrNotFound,
		},
		{"left_twice", func(g localgroup.Groups) (localgroup.Groups,
			error,
		) {
			return g.Leave("Builders", "Administrator")
		}, localgroup.ErrNotMember},
		{"comment", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Comment("Builders", "new") }, nil},
		{
			"built_in", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Delete("users") },
			localgroup.ErrBuiltIn,
		},
		{
			"gone", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Delete("none") },
			localgroup.ErrNotFound,
		},
	} {
		next, err := step.change(g)
		if !errors.Is(err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
		g = next
	}

	got, ok := g.Find("builders")
	if diff := cmp.Diff(localgroup.Group{
		Name:    "Builders",
		Comment: "new",
		Members: []string{"Guest"},
	}, got); !ok || diff != "" {
		t.Error(diff)
	}

	g, err := g.Delete("builders")
	if diff := cmp.Diff(localgroup.BuiltIn(), g); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config", "LocalGroups")
	g, err := localgroup.Read(file)
	if diff := cmp.Diff(localgroup.BuiltIn(), g); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	g, _ = g.Add("Käse", "")
	if err := localgroup.Write(file, g); err != nil {
		t.Fatal(err)
	}

	got, err := localgroup.Read(file)
	if diff := cmp.Diff(g, got, cmp.Comparer(func(a,
		b []string,
	) bool {
		return strings.Join(a, "\t") == strings.Join(b, "\t")
	})); err != nil || diff != "" {
		t.Error(err, diff)
	}

	for _, bad := range []string{"one field\n", "a/b\tcomment\n", "\n"} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := localgroup.Read(file); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestBuiltInsAreInOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	last := ""
	for _, g := range localgroup.BuiltIn() {
		if name := strings.ToLower(g.Name); name <= last || g.Comment == "" {
			t.Errorf("%q after %q", name, last)
		} else {
			last = name
		}
	}
}

// TestMembersLeaveAndAreRenamed: what becomes of an account becomes of its memberships, in all groups.
func TestMembersLeaveAndAreRenamed(t *testing.T) {
	before := localgroup.BuiltIn()
	both := before.Alike("ADMINISTRATOR", "root")
	now := both.Without("Administrator").Without("guest")
	admins, _ := now.Find("Administrators")
	guests, _ := now.Find("Guests")
	if !slices.Equal(admins.Members, []string{"root"}) || len(guests.Members) != 0 {
		t.Errorf("%v, %v", admins, guests)
	}
	if cased, _ := before.Alike("administrator", "ADMINISTRATOR").Find("Administrators"); !slices.Equal(cased.Members,
		[]string{"ADMINISTRATOR"}) {
		t.Errorf("in another case it is %v", cased)
	}
	if !both.Has("root") || !both.Has("administrator") || now.Has("administrator") || now.Has("guest") {
		t.Errorf("members are wrong: %v, %v", both, now)
	}
	if was, _ := before.Find("Administrators"); was.Members[0] != "Administrator" {
		t.Errorf("the groups before have changed: %v", was)
	}
}
