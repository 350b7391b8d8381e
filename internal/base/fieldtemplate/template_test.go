package fieldtemplate

import (
	"html"
	"strings"
	"testing"
	"text/template"
	"time"
)

type state string

type inner struct{ Name string }

type data struct {
	inner

	Text, Empty string
	Number      int
	Big         uint64
	Half        float64
	On, Off     bool
	List        []inner
	None        []string
	Map         map[string]any
	Counts      map[state]int
	To, Nowhere *inner
	Any, Nil    any
	When        time.Time
	Took        time.Duration
	Call        func(string) string
	hidden      int
}

func sample() data {
	return data{
		inner: inner{"inner"}, Text: "a<b>", Number: 3, Big: 1 << 63, Half: 0.5, On: true,
		List:   []inner{{"one"}, {"two"}, {"three"}},
		Map:    map[string]any{"a": 1, "b": map[string]any{"c": []any{"x", 2.5, true, nil}}, "nil": nil},
		Counts: map[state]int{"passed": 2, "failed": 0, "cut": 1}, To: &inner{"there"}, Any: inner{"any"},
		When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: time.Minute,
		Call: func(s string) string { return "called " + s }, hidden: 1,
	}
}

func funcs() map[string]any {
	return map[string]any{
		"upper": strings.ToUpper,
		"join":  strings.Join,
		"kind":  func(s state) string { return string(s) },
		"both":  func(a, b int) int { return a + b },
		"fail":  func() (string, error) { return "", &time.ParseError{} },
		"list":  func() []string { return []string{"p", "q"} },
		"float": func(f float64) float64 { return f },
	}
}

// same are templates that this package carries out as text/template does: the same text, or an error of both.
var same = []string{
	"", "text", "{{.}}{{/* nothing */}}", "{{.Name}} {{.Text}} {{.Number}} {{.Big}} {{.Half}} {{.On}}",
	"a {{- .Name -}} b",
	"{{.To.Name}} {{.Any.Name}} {{.To}}", "{{.Nowhere.Name}}", "{{.Nil}}", "{{.Nil.Name}}", "{{.Nothing}}", "{{.hidden}}",
	"{{.Map.a}} {{.Map.b.c}} {{.Map.none}} {{.Map.nil}} {{.Map.none.none}}", "{{.Map}}", "{{.Counts}}",
	"{{.Counts.passed}}",
	"{{if .On}}1{{else}}2{{end}}{{if .Off}}1{{else if .Text}}3{{end}}",
	"{{if .List}}{{len .List}}{{end}}{{if .None}}x{{end}}",
	"{{if not .Empty}}e{{end}}{{if and .On .Text}}{{and .On .Text}}{{end}}{{or .Empty .Off .Number}}",
	"{{with .To}}{{.Name}}{{else}}none{{end}}{{with .Nowhere}}x{{else}}none{{end}}",
	"{{with $x := .Text}}{{$x}}{{$.Name}}{{end}}",
	"{{range .List}}{{.Name}},{{end}}", "{{range $i, $e := .List}}{{$i}}{{$e.Name}}{{end}}",
	"{{range $e := .List}}{{$e.Name}}{{end}}",
	"{{range .None}}x{{else}}none{{end}}", "{{range .Nil}}x{{else}}none{{end}}",
	"{{range $k, $v := .Counts}}{{$k}}={{$v}} {{end}}",
	"{{range $k, $v := .Map}}{{$k}} {{end}}", "{{range 3}}{{.}}{{end}}", "{{range $i := 2}}{{$i}}{{end}}",
	"{{range .Text}}x{{end}}",
	"{{range .List}}{{if eq .Name `two`}}{{break}}{{end}}{{.Name}}{{end}}",
	"{{range .List}}{{if eq .Name `two`}}{{continue}}{{end}}{{.Name}}{{end}}",
	"{{$n := 0}}{{range .List}}{{$n = both $n 1}}{{end}}{{$n}}", "{{range $i, $e := .List}}{{end}}{{$i}}",
	"{{range $i, $e = .List}}{{end}}",
	"{{.Text | upper}} {{upper .Text}} {{list | len}} {{join list `,`}} {{printf `%s-%d` .Text .Number}} {{print 1 2 `a`}}{{println}}",
	"{{index .List 1}} {{(index .List 0).Name}} {{index .Map `b` `c` 0}} {{index .Counts `passed`}} {{index .Counts `none`}} {{index .Map `zz`}}",
	"{{index .List 3}}", "{{index .Text 0}}", "{{index .Number 0}}", "{{len .Number}}", "{{len .Map}}",
	"{{eq .Number 3}} {{eq .Text `x` `a<b>`}} {{ne .Number 3}} {{lt .Number 4}} {{le 3 .Number}} {{gt .Half 0.1}} {{ge `b` `a`}}",
	"{{eq .Number `3`}}", "{{eq .Number 3.0}}", "{{lt .On true}}", "{{eq .On true}}",
	"{{eq .Big 1}} {{lt .Number .Big}}", "{{eq 1}}", "{{lt -1 .Big}}",
	"{{fail}}", "{{upper}}", "{{upper 1}}", "{{upper `a` `b`}}", "{{both 1 2.5}}", "{{float 1}}", "{{nothing}}",
	"{{.Number 1}}", "{{1 | .Number}}",
	"{{nil}}", "{{if nil}}{{end}}", "{{`raw`}} {{\"q\\n\"}} {{'a'}} {{0x10}} {{1e3}} {{true}}", "{{1.5}} {{-2}}",
	"{{.Call}}", "{{", "{{end}}", "{{if}}{{end}}",
	"{{$}}", "{{$x}}", "{{range .List}}{{$.Text}}{{end}}", "{{(.To).Name}} {{((.Any)).Name}}", "{{.Took}} {{.When}}",
	"{{and}}", "{{or .Nil .Nil}}",
	"{{if or .Off (eq .Number 3)}}y{{end}}", "{{with .Map}}{{.a}}{{end}}", "{{with .Off}}{{else with .Text}}{{.}}{{end}}",
}

func TestAsTextTemplate(t *testing.T) {
	values := sample()
	for _, text := range same {
		var want, got strings.Builder
		theirs, wantErr := template.New("").Funcs(funcs()).Parse(text)
		if wantErr == nil {
			wantErr = theirs.Execute(&want, values)
		}

		ours, err := Parse(text, funcs())
		if err == nil {
			err = ours.Execute(&got, values)
		}
		if (err == nil) != (wantErr == nil) || (err == nil && got.String() != want.String()) {
			t.Errorf("%s: %q, %v; text/template: %q, %v", text, &got, err, &want, wantErr)
		}
	}
}

// TestOwn is what text/template does not: fields are called, values are escaped, and what there is not is refused.
func TestOwn(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Call `x`}}": "called x", "{{`y` | .Call}}": "called y", "{{.Text}}<": "a&lt;b&gt;<",
		"{{.When.Unix}}": "!", "{{define `x`}}a{{end}}b": "!", "{{template `x`}}": "!", "{{.Call 1}}": "!", "{{.Call `a` `b`}}": "!",
	} {
		var got strings.Builder
		ours, err := Parse(text, nil)
		if err == nil {
			ours.Escape = html.EscapeString
			err = ours.Execute(&got, sample())
		}
		if (err != nil) != (want == "!") || (err == nil && got.String() != want) {
			t.Errorf("%s: %q, %v; want %q", text, &got, err, want)
		}
	}
}

// TestStrict: what is not in a map is an error, if that is asked for.
func TestStrict(t *testing.T) {
	for text, want := range map[string]string{"{{.Map.a}}": "1", "{{.Map.none}}": "!", "{{.Map.none.none}}": "!", "{{.Map.nil}}": "<no value>"} {
		var got strings.Builder
		ours, err := Parse(text, nil)
		if err == nil {
			ours.Strict = true
			err = ours.Execute(&got, sample())
		}
		if (err != nil) != (want == "!") || (err == nil && got.String() != want) {
			t.Errorf("%s: %q, %v; want %q", text, &got, err, want)
		}
	}
}
