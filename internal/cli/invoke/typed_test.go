package invoke

import (
	"os/exec"
	"testing"
)

// TestQuoted has a shell read what is quoted for it.
func TestQuoted(t *testing.T) {
	for _, word := range []string{"/var/lib/mullion", "/var/tmp/a b", "it's", "$HOME", "`id`", "a;b", "*", "", "\\", "\"x\"", "größe"} {
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+quoted(word)).Output()
		if err != nil || string(got) != word {
			t.Errorf("%q, quoted as %s, is %q: %v", word, quoted(word), got, err)
		}
	}
	if quoted("/var/lib/mullion") != "/var/lib/mullion" {
		t.Error("a plain path has quotes")
	}
}
