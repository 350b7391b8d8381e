package filesec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInherit(t *testing.T) {
	const both = ObjectInherit | ContainerInherit
	parent := List{Entries: []Entry{
		{Flags: both, Mask: 1, SID: "all"},
		{Flags: ObjectInherit, Mask: 2, SID: "files"},
		{Flags: ContainerInherit, Mask: 3, SID: "folders", Deny: true},
		{Flags: both | NoPropagate, Mask: 4, SID: "once"},
		{Flags: both | InheritOnly | Inherited, Mask: 5, SID: creatorOwner},
		{Flags: both, Mask: 6, SID: creatorGroup},
		{Mask: 7, SID: "here"},
	}}

	for _, tc := range []struct {
		name   string
		folder bool
		want   []Entry
	}{
		{"file", false, []Entry{
			{Flags: Inherited, Mask: 1, SID: "all"},
			{Flags: Inherited, Mask: 2, SID: "files"},
			{Flags: Inherited, Mask: 4, SID: "once"},
			{Flags: Inherited, Mask: 5, SID: "me"},
		}},
		{"folder", true, []Entry{
			{Flags: Inherited | both, Mask: 1, SID: "all"},
			{Flags: Inherited | ObjectInherit | InheritOnly, Mask: 2, SID: "files"},
			{Flags: Inherited | ContainerInherit, Mask: 3, SID: "folders", Deny: true},
			{Flags: Inherited, Mask: 4, SID: "once"},
			{Flags: Inherited, Mask: 5, SID: "me"},
			{Flags: Inherited | InheritOnly | both, Mask: 5, SID: creatorOwner},
			{Flags: Inherited | InheritOnly | both, Mask: 6, SID: creatorGroup},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parent.Inherit(tc.folder, "me")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInheritTwice has an owner that the folder's list names beside CREATOR OWNER.
func TestInheritTwice(t *testing.T) {
	const both = ObjectInherit | ContainerInherit
	parent := List{Entries: []Entry{
		{Flags: both, Mask: FullAccess, SID: "me"}, {Flags: both | InheritOnly, Mask: genericAll, SID: creatorOwner},
	}}
	want := []Entry{{Flags: Inherited, Mask: FullAccess, SID: "me"}}
	if diff := cmp.Diff(want, parent.Inherit(false, "me")); diff != "" {
		t.Error(diff)
	}
}

func TestContainerAccount(t *testing.T) {
	for name, want := range map[string]string{
		"ContainerUser": "S-1-5-93-2-2", `user manager\containeradministrator`: "S-1-5-93-2-1",
		`Other\ContainerUser`: "", "User": "", "": "",
	} {
		if got := containerAccount(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestSort(t *testing.T) {
	l := List{Entries: []Entry{{Flags: Inherited, Deny: true}, {Mask: 1}, {Mask: 2, Deny: true}, {Mask: 3}}}
	l.Sort()
	want := []Entry{{Mask: 2, Deny: true}, {Mask: 1}, {Mask: 3}, {Flags: Inherited, Deny: true}}
	if diff := cmp.Diff(want, l.Entries); diff != "" {
		t.Error(diff)
	}
}
