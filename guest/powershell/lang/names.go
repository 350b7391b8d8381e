package lang

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
)

// Bare returns a function's name without its scope.
func (s *FunctionStmt) Bare() string { return s.Name[strings.Index(s.Name, ":")+1:] }

// Expression reports whether a pipeline is one expression, whose value is not taken apart.
func (s *Pipeline) Expression() bool {
	return len(s.Stages) == 1 && s.Stages[0].X != nil && s.Stages[0].File == nil && s.Stages[0].Errors == "" &&
		len(s.Stages[0].Others) == 0
}

// Scopes returns the names of scopes that a variable or function may name.
func Scopes() []string { return []string{"global", "script", "local"} }

// Caseless returns an operator without the i that says that the case of letters does not matter.
func Caseless(op string) string {
	if rest, ok := strings.CutPrefix(op, "-i"); ok && slices.Contains(operator.WithCase(), rest) {
		return "-" + rest
	}
	return op
}

// Beginning returns the part of a string that is known before the script runs: its text up to the first variable, and
// whether that is the whole.
func Beginning(x Expr) (s string, whole bool) {
	switch x := x.(type) {
	case *Literal:
		return object.Text(x.V), true
	case *Template:
		if l, ok := x.Parts[0].(*Literal); ok {
			return object.Text(l.V), len(x.Parts) == 1
		}
	}
	return "", false
}
