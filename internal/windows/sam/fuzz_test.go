package sam_test

import (
	"errors"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/sam"
	"mullion.dev/mullion/internal/windows/sam/samtest"
)

// FuzzApply: whatever a hive has, an account that is found has a name that is one folder and part of one line.
func FuzzApply(f *testing.F) {
	f.Add(regf.Build(samtest.User("app", 1000), samtest.User("boss", 1001), samtest.Administrators(500, 1001)), "app")
	f.Add(regf.Build(samtest.User("a:b", 1000), samtest.User("..", 1001), samtest.User("x\ny", 1002)), "a:b")
	f.Add(regf.Build(regf.Key{Path: samtest.Names, Layer: regf.Replace}, samtest.User("Łódź", 1000)), "łódź")

	f.Fuzz(func(t *testing.T, hive []byte, name string) {
		var a sam.Accounts
		if err := a.Apply(hive); err != nil && !errors.Is(err, regf.ErrFormat) && !errors.Is(err, regf.ErrTooLarge) {
			t.Fatal(err)
		}

		names := []string{name}
		_ = regf.Walk(hive, func(k regf.Key) error {
			if names = append(names, k.Path[strings.LastIndexByte(k.Path, '\\')+1:]); len(names) > 1000 {
				return regf.ErrTooLarge
			}
			return nil
		})

		for _, name := range names {
			account, ok := a.Find(name)
			if ok && (account.Name == "" || len(account.Name) > 256 || strings.ContainsAny(account.Name, ":/\\\n\r\x00") ||
				strings.Trim(account.Name, ".") == "" || !strings.EqualFold(account.Name, name)) {
				t.Errorf("account %q, which was looked for as %q", account.Name, name)
			}
		}
	})
}
