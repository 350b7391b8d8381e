package lang

import (
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
)

// Script is a script that has been read: its parameters and statements.
type Script struct {
	Params []Param
	Strict bool // [CmdletBinding()]: no other arguments than those of params
	ByName bool // [CmdletBinding(PositionalBinding = $false)]
	// DefaultSet is the parameter set of a call whose parameters fit several, as it is written.
	DefaultSet string
	// Asks says that it has -WhatIf and -Confirm (SupportsShouldProcess), Impact how much it changes (ConfirmImpact).
	Asks   bool
	Impact string
	// Begin and process are blocks of their own, and body is that of end, if there are sections.
	Begin, Process Block
	// Dynamic is what makes further parameters for a call: dynamicparam.
	Dynamic  Block
	Sections bool
	Body     Block
	Text     string
	Name     string // of the function, or ""
	File     string // if it is a file, its path
	Source   string // the file that it was read from, or ""
	Filter   bool   // its statements are those of process, without the word
	Home     any    // the scope of the module that the function is of, nil for others; the engine sets it

	Aliases []string // further names of the function
	Lacking []string // what its attributes ask for and is not here
	// Sources says that it runs a file in its own scope, which may define functions.
	Sources bool
}

// Param is a parameter of a script, a function or a script block.
type Param struct {
	Name     string
	Written  string // its name as it is written
	To       string // its type, or ""
	Fallback Expr   // or nil
	Attributes
}

// Attributes are what a script says of a parameter.
type Attributes struct {
	// Roles are its [Parameter( … )]. With one, the function has common parameters.
	Roles []Role
	// Role is its part in the parameter set of a call; the engine sets it.
	Role
	Aliases    []string
	Conditions []Condition // ValidateSet and others
	Lacking    []string    // what is written there and is not here
}

// Role is the part that a parameter has in a parameter set, or in all of them.
type Role struct {
	Set       string // as it is written; "" means all
	Mandatory bool
	Position  *int64 // among the arguments without a name, or nil
	Piped     bool   // ValueFromPipeline
	PipedName bool   // ValueFromPipelineByPropertyName
	Remaining bool   // ValueFromRemainingArguments
}

// Expr is an expression.
type Expr interface{ isExpr() }

// Stmt is a statement.
type Stmt interface{ isStmt() }

// Block is a list of statements.
type Block []Stmt

type (
	// Literal is a value as it is written.
	Literal struct{ V object.Value }
	// Variable is $name, ${name}, $env:name, or $scope:name, where the scope is global, script or local.
	Variable struct {
		Name  string
		Env   bool
		Scope string
	}
	// Template is a string with variables and expressions, evaluated when it is used.
	Template struct{ Parts []Expr }
	// List is a, b, c or @( … ).
	List struct{ Items []Expr }
	// SubExpr is $( … ) or @( … ): the output of statements. As an argument, or in ( … ), it is a single pipeline.
	SubExpr struct {
		Body  Block
		Array bool
		Paren bool // ( … ); an assignment in it also outputs its value
	}
	// Unary is an operator before its one side.
	Unary struct {
		Op string
		X  Expr
	}
	// Binary is an operator between its two sides.
	Binary struct {
		Op   string
		A, B Expr
	}
	// Cast is [type]x, or x -as [type].
	Cast struct {
		To  string
		X   Expr
		Try bool

		Written string // the type as it is written
	}
	// Member is x.Name, or the call x.Name( … ).
	Member struct {
		Of      Expr
		Name    string // in lower case
		Written string // the name as it is written
		By      Expr   // its name, if that is known only while the script runs, or nil
		Args    []Expr // of a method
		Call    bool
	}
	// Index is x[at].
	Index struct{ Of, At Expr }
	// BlockLiteral is { … } as a value.
	BlockLiteral struct{ Script *Script }
)

type (
	// Pipeline is commands joined by |, or one expression.
	Pipeline struct{ Stages []Stage }
	// Assign sets a variable.
	Assign struct {
		At position.Extent
		As string // the type that the variable has from then on, or ""
		To Variable
		Op string // =, +=, -=, *=, /=, %=
		X  Stmt
	}
	// IfStmt is if ( … ) { … } with its elseif and else.
	IfStmt struct {
		Conds  []Expr
		Blocks []Block
		Other  Block
	}
	// WhileStmt is while ( … ) { … }.
	WhileStmt struct {
		Label
		Cond Expr
		Body Block
	}
	// ForeachStmt is foreach ($name in … ) { … }.
	ForeachStmt struct {
		Label
		Name string
		In   Expr
		Body Block
	}
	// FunctionStmt defines a function.
	FunctionStmt struct {
		Name   string
		Script *Script
	}
	// DoStmt is do { … } while ( … ), or until.
	DoStmt struct {
		Label
		Body  Block
		Cond  Expr
		Until bool
	}
	// ForStmt is for ( …; …; … ) { … }.
	ForStmt struct {
		Label
		First, Step Stmt // or nil
		Cond        Expr // or nil
		Body        Block
	}
	// LeaveStmt is return, throw, exit, break or continue.
	LeaveStmt struct {
		At   position.Extent
		Word string
		X    Stmt // or nil
		To   Expr // the label of a break or continue, or nil
	}
)

// Stage is one part of a pipeline.
type Stage struct {
	X    Expr // an expression; if nil, a command:
	Name Expr // the command's name
	Word string
	Args []Argument
	Here bool // . name: it runs in this scope
	Redirect
	// At is where the command or expression stands, and NameAt where its name.
	At, NameAt position.Extent
}

// Redirect says where a stage's output goes.
type Redirect struct {
	File   Expr // or nil
	Append bool
	Errors string // "", "null" or "merge"
	Others []Redirection
}

// Argument is an argument of a command: a parameter, its value, or both.
type Argument struct {
	Param string // without -
	X     Expr   // or nil
	Text  string // the parameter as it was written, for native programs
	Splat bool   // x holds parameters: @name
	At    position.Extent
	// Verbatim says that x is the text after --%.
	Verbatim bool
}

// LateExpr is an expression, the whole of which is an error when it is reached.
type LateExpr struct{ What string }

// LateStmt is a statement, the whole of which is an error when it is reached.
type LateStmt struct {
	LateExpr
	At position.Extent
}

// AssignTo sets a property, or an item of a list.
type AssignTo struct {
	At position.Extent
	To Expr // member, index or static
	Op string
	X  Stmt
}

// AssignSeveral gives each variable an item of a list, and the last all that remain.
type AssignSeveral struct {
	At position.Extent
	To []Expr
	X  Stmt
}

func (*Binary) isExpr() {}

func (*BlockLiteral) isExpr() {}

func (*Cast) isExpr() {}

func (*HashLiteral) isExpr() {}

func (*Increment) isExpr() {}

func (*Index) isExpr() {}

func (*LateExpr) isExpr() {}

func (*List) isExpr() {}

func (*Literal) isExpr() {}

func (*Member) isExpr() {}

func (*Static) isExpr() {}

func (*StaticOf) isExpr() {}

func (*SubExpr) isExpr() {}

func (*Template) isExpr() {}

func (*TypeOperand) isExpr() {}

func (*TypeLiteral) isExpr() {}

func (*TypeTest) isExpr() {}

func (*Unary) isExpr() {}

func (*Variable) isExpr() {}

func (*Assign) isStmt() {}

func (*AssignSeveral) isStmt() {}

func (*AssignTo) isStmt() {}

func (*DoStmt) isStmt() {}

func (*ForStmt) isStmt() {}

func (*ForeachStmt) isStmt() {}

func (*FunctionStmt) isStmt() {}

func (*GivenStmt) isStmt() {}

func (*IfStmt) isStmt() {}

func (*LateStmt) isStmt() {}

func (*LeaveStmt) isStmt() {}

func (*Pipeline) isStmt() {}

func (*SwitchStmt) isStmt() {}

func (*TrapStmt) isStmt() {}

func (*TryStmt) isStmt() {}

func (*WhileStmt) isStmt() {}
