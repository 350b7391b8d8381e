package powershell

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/guest/powershell/check"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
)

// FuzzParse checks that the parser ends, that parser and checker do not panic, and that an accepted script has one
// meaning: printed from its parts, it is parsed into the same parts again.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"run", "refused", "ended", "late"} {
		for _, script := range scripts(f, folder) {
			f.Add(script)
		}
	}

	for _, seed := range []string{
		"\"$(", "@(", "$a[", "-", "function", "& {", "1..", "$a.b(", "`", "@\"\n$(\n\"@", "$a.b[0] = 1", "a > b >> c",
		"param([int]$a = 1, $b)\n$a", "a -b:$c", "a`\nb", "1,2,3 -join $x.y[0]", "\ufeffecho \x00", "$a=$b=1;($c=2)",
		"[io.path]::combine(", "@{a=1;'b'=2;$c=3}.a", "[ordered]@{\na = @(1)\n}", "try{1}catch[exception]{2}finally{3}",
		"switch -regex ($a) { 'x' {1} 2 {3} {$_} {4} default {5} }", "do{1}until(2)", "for($i=0;$i-lt3;$i++){1}",
		"for(;;){}", "f @a -b", "$a[1]++", "$a -isnot [string]", "[guid]::empty", "echo a(1)", "$a.b((1,2),3)", "'{0}' -f 1,2", "[int]$x = 5",
		":a foreach ($i in 1) { break a }", ":a do { continue $x } while (1)", "enum e { a = 1; b }",
		"[Flags()] enum e { a\nb = -2 }", "class c : b { [int] $x = 1; hidden static $y; c() : base(1) { } static [void] m($a) { 1 } }",
		"function f { [CmdletBinding()] param([Parameter(Mandatory=$true)][ValidateSet('a',\"b'\")][Alias('c')][string]$x) }",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		s, err := lang.Parse(text, "", dotnet.KnownType)
		if err != nil {
			return
		}

		_ = check.Lacks(s, nil)
		printed := printScript(s)
		again, err := lang.Parse(printed, "", dotnet.KnownType)
		if err != nil {
			t.Fatalf("%q is read, and printed as %q: %v", text, printed, err)
		}
		if diff := cmp.Diff(s, again, sameParts()...); diff != "" {
			t.Fatalf("%q is read otherwise when it is printed as %q:\n%s", text, printed, diff)
		}
	})
}

// sameParts compares scripts without their text and places.
func sameParts() []cmp.Option {
	return []cmp.Option{
		cmp.Comparer(func(a, b *object.Object) bool {
			return object.Text(a.Props["fullname"]) == object.Text(b.Props["fullname"])
		}),
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.FilterPath(isPlace, cmp.Ignore()),
		cmpopts.EquateEmpty(),
	}
}

// isPlace reports whether a field says only where a part is, or how it is written.
func isPlace(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	if !ok {
		return false
	}
	if field.Type() == reflect.TypeFor[position.Extent]() {
		return true
	}
	if p.Index(-2).Type() == reflect.TypeFor[lang.Script]() {
		return slices.Contains([]string{"text", "name", "filter", "lacking"}, strings.ToLower(field.Name()))
	}
	return slices.Contains([]string{"line", "written", "member", "lacking"}, strings.ToLower(field.Name()))
}
