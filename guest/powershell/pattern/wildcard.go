package pattern

import (
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// Wildcard returns a pattern of PowerShell: *, ?, [a-z], and ` before a literal character
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_wildcards).
func Wildcard(pattern string) (*regexp.Regexp, error) { return WildcardAs(pattern, false) }

// WildcardAs returns a pattern for which the case of letters matters, or not.
func WildcardAs(pattern string, exact bool) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(map[bool]string{false: `(?is)\A`, true: `(?s)\A`}[exact])
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteByte('.')
		case r == '`' && i+1 < len(runes):
			i++
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		case r == '[':
			end := slices.Index(runes[i:], ']')
			if end < 2 || slices.Contains(runes[i:i+end], '`') {
				return nil, object.Thrown("The wild cards %q are not valid, or not part of Mullion's PowerShell.", pattern)
			}
			escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`, "&", `\&`, "~", `\~`)
			b.WriteString("[" + escape.Replace(string(runes[i+1:i+end])) + "]")
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}

	re, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return nil, object.Thrown("The wild cards %q are not valid.", pattern)
	}

	return re, nil
}

// FitsAny reports whether a name fits one of several patterns.
func FitsAny(patterns []string, name string) (bool, error) {
	for _, one := range patterns {
		re, err := Wildcard(one)
		if err != nil || re.MatchString(name) {
			return err == nil, err
		}
	}
	return false, nil
}
