// Package syntax owns the grammar of cmd.exe: it reads lines, in which percent signs have been expanded already, and
// makes commands of them: special characters, carets and quotes, redirections, blocks in parentheses, IF and FOR. It
// runs nothing, and knows no command but IF, FOR and REM, which have a grammar of their own.
//
// Operators bind as in Windows: & less than ||, || less than &&, && less than the pipe. The body of IF and FOR takes
// the rest of its line.
package syntax

// Node is a command as it was read.
type Node interface{ node() }

// Redirect is one redirection of a command.
type Redirect struct {
	Handle int    // the handle that is redirected: 0 to 9
	Op     string // "<", ">" or ">>"
	Dup    bool   // Target is the number of another handle
	Target string
}

// Simple is a program, a builtin or a batch file with its arguments. Carets are gone, quotes are not.
type Simple struct {
	Text      string
	Redirects []Redirect
}

// Remark is a REM or a label: it does nothing.
type Remark struct {
	Text  string
	Label bool
}

// Block is what stands in parentheses.
type Block struct {
	Body      []Node
	Redirects []Redirect
}

// Sequence is commands with & between them.
type Sequence struct{ Nodes []Node }

// Binary is two commands with &&, || or | between them.
type Binary struct {
	Op          string
	Left, Right Node
}

// If is an IF. Its kind is "==", a comparison such as "EQU", or "exist", "defined", "errorlevel", "cmdextversion".
type If struct {
	Fold, Not   bool
	Kind        string
	Left, Right string
	Then, Else  Node
}

// For is a FOR. Its kind is 0, 'r', 'l' or 'f'; Option is the root of /r or the options of /f. Folders is /d.
type For struct {
	Kind     byte
	Folders  bool
	Option   string
	Variable byte
	Set      string
	Body     Node
}

// Quiet is a command with @ before it.
type Quiet struct{ Node Node }

func (*Simple) node()   {}
func (*Remark) node()   {}
func (*Block) node()    {}
func (*Sequence) node() {}
func (*Binary) node()   {}
func (*If) node()       {}
func (*For) node()      {}
func (*Quiet) node()    {}
