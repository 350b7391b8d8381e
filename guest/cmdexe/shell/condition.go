package shell

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/syntax"
	"mullion.dev/mullion/guest/cmdexe/wild"
)

// condition carries IF out.
func (s *Shell) condition(ctx context.Context, n *syntax.If) (int32, flow) {
	if s.holds(n) != n.Not {
		return s.exec(ctx, n.Then)
	}
	if n.Else != nil {
		return s.exec(ctx, n.Else)
	}
	return 0, next
}

func (s *Shell) holds(n *syntax.If) bool {
	left := s.late(n.Left)
	switch n.Kind {
	case "exist":
		return s.exists(left)
	case "defined":
		_, ok := s.lookup(trimQuotes(left))
		return ok
	case "errorlevel":
		number, _ := leading(left)
		return int64(s.code) >= number

	case "cmdextversion":
		number, _ := leading(left)
		return extensionVersion >= number
	}

	right := s.late(n.Right)
	if n.Kind == "==" {
		if n.Fold {
			return strings.EqualFold(left, right)
		}
		return left == right
	}

	how := compare(left, right, n.Fold)
	switch n.Kind {
	case "EQU":
		return how == 0
	case "NEQ":
		return how != 0
	case "LSS":
		return how < 0
	case "LEQ":
		return how <= 0
	case "GTR":
		return how > 0
	}

	return how >= 0
}

// compare compares numbers as numbers, and everything else as text.
func compare(left, right string, fold bool) int {
	a, one := whole(left)
	b, two := whole(right)
	if one && two {
		return cmp.Compare(a, b)
	}
	if how := strings.Compare(strings.ToLower(left), strings.ToLower(right)); how != 0 || fold {
		return how
	}
	return -strings.Compare(left, right) // as Windows sorts: small letters before capitals
}

// whole returns a number, decimal, octal or hexadecimal, of 32 bits.
func whole(text string) (int64, bool) {
	if strings.Contains(text, "_") {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return 0, false
	}
	return max(-1<<31, min(n, 1<<31-1)), true
}

// leading returns the decimal number that a text begins with.
func leading(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	end := 0
	for letters := "+-0123456789"; end < len(text) && strings.IndexByte(letters, text[end]) >= 0; end++ {
		letters = "0123456789"
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	return n, err == nil
}

// exists reports whether there is a file or a folder of a name, which may have wild cards.
func (s *Shell) exists(name string) bool {
	name = unquoted(name)
	if name == "" {
		return false
	}
	path := s.full(name)
	if disk.Device(path) != "" {
		return true
	}

	folder, last := disk.Split(path)
	if !wild.Has(last) {
		if strings.HasSuffix(name, `\`) || strings.HasSuffix(name, "/") {
			return s.o.Disk.IsFolder(path)
		}
		return s.o.Disk.Exists(path)
	}

	entries, err := s.o.Disk.List(folder)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if wild.Match(last, e.Name) {
			return true
		}
	}

	return wild.Match(last, ".") && len(folder) > 3 // every folder but a root has . and ..
}
