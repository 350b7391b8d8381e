package single

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestFind finds containers as Docker does: the whole id before a name, a name before the beginning of an id.
func TestFind(t *testing.T) {
	all := []Container{
		{ID: "abc111", Name: "web"}, {ID: "abd222", Name: "abc"}, {ID: "ffe333", Name: "abd222"}, {ID: "ffa444", Name: "x"},
	}

	for text, want := range map[string]string{
		"web": "abc111", "/web": "abc111", "abc1": "abc111",
		"abc": "abd222", "abd222": "abd222", "ffa": "ffa444", "x": "ffa444",
	} {
		if got, err := Find(all, text); err != nil || got.ID != want {
			t.Errorf("%q: %s, %v; want %s", text, got.ID, err, want)
		}
	}

	for text, want := range map[string]string{
		"ff": "multiple IDs found with provided prefix: ff", "WEB": "No such container: WEB", "": "No such container: ",
		"abc1111": "No such container: abc1111", "../web": "No such container: ../web",
	} {
		_, err := Find(all, text)
		if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Message != want || refusal.Code != 1 {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// TestCheckName has Docker's form of names and its words.
func TestCheckName(t *testing.T) {
	for _, name := range []string{"", "web", "/web", "a1", "A.b_c-d", strings.Repeat("x", 255)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"x", "/", "-a", ".a", "a b", "a/b", "ä1", "a\n", "..", strings.Repeat("x", 256)} {
		err := CheckName(name)
		refusal, ok := errors.AsType[*Refusal](err)
		want := "Invalid container name (" + name + "), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed"
		if !ok || refusal.Code != 125 || refusal.Message != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestFreeName: a name that is made up is a name, and nobody else's.
func TestFreeName(t *testing.T) {
	first := func(int) int { return 0 }
	var all []Container
	for _, want := range []string{"airy_alcove", "airy_alcove1", "airy_alcove2"} {
		name := freeName(all, first)
		if name != want || CheckName(name) != nil {
			t.Errorf("%q, want %q", name, want)
		}
		all = append(all, Container{Name: name})
	}
	last := freeName(all, func(n int) int { return n - 1 })
	if last != "wooden_veranda" {
		t.Errorf("the last name is %q", last)
	}
}

func TestState(t *testing.T) {
	now := time.Now()
	for want, c := range map[string]Container{
		Created: {Created: now},
		Running: {Created: now, Started: now},
		Exited:  {Created: now, Started: now, Finished: now},
	} {
		if got := c.State(); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}

	c := Container{ID: "0123456789abcdef", Run: Run{Image: "mullion.local/run:x", From: "./app"}}
	if c.Image() != "./app" || c.ShortID() != "0123456789ab" || c.Hostname() != "0123456789ab" {
		t.Errorf("%s, %s, %s", c.Image(), c.ShortID(), c.Hostname())
	}
	c.Run.Hostname = "box"
	if c.Hostname() != "box" {
		t.Error(c.Hostname())
	}
}
