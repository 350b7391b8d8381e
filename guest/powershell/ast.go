package powershell

// Script is a script that has been read: its parameters and statements.
type Script struct {
	params []param
	strict bool // [CmdletBinding()]: no other arguments than those of params
	byName bool // [CmdletBinding(PositionalBinding = $false)]
	// begin and process are blocks of their own, and body is that of end, if there are sections.
	begin, process block
	sections       bool
	body           block
	text           string
	name           string // of the function, or ""
	file           string // if it is a file, its path
	source         string // the file that it was read from, or ""
	filter         bool   // its statements are those of process, without the word
	home           *frame // the module that the function is of, or nil

	aliases []string // further names of the function
	lacking []string // what its attributes ask for and is not here
	// sources says that it runs a file in its own scope, which may define functions.
	sources bool
}

// param is a parameter of a script, a function or a script block.
type param struct {
	name     string
	written  string // its name as it is written
	to       string // its type, or ""
	fallback expr   // or nil
	attributes
}

// attributes are what a script says of a parameter: [Parameter(Mandatory)] and others.
type attributes struct {
	declared   bool // [Parameter()]: the function has common parameters
	mandatory  bool
	aliases    []string
	conditions []condition // ValidateSet and others
	position   *int64      // among the arguments without a name, or nil
	piped      bool        // ValueFromPipeline
	pipedName  bool        // ValueFromPipelineByPropertyName
	remaining  bool        // ValueFromRemainingArguments
	lacking    []string    // what is written there and is not here
}

// value is the result of an expression, one of nil, bool, int64, float64, string, enum, moment, []value, span, *object,
// *table, *arrayList, *instance, *scriptBlock.
type value = any

// span is a range of integers, both ends included. It stays a range, because tests count to 2147483647.
type span struct{ from, to int64 }

// object has properties, in the order in which they are shown.
type object struct {
	kind  string // file, process, job and others; it decides how the object is shown
	names []string
	props map[string]value // by lower-case name
	own   any              // what its methods work on
}

func newObject(kind string) *object { return &object{kind: kind, props: map[string]value{}} }

func (o *object) set(name string, v value) *object {
	o.names = append(o.names, name)
	o.props[lower(name)] = v
	return o
}

// scriptBlock is { … } as a value.
type scriptBlock struct{ script *Script }

// sink takes the objects that statements output, one by one.
type sink struct {
	put func(value) error
	// direct says that the objects go straight to standard output, so a native program may write there itself.
	direct bool
	// ranges says that a range may be put as a span, not as its numbers.
	ranges bool
}

// expr is an expression.
type expr interface {
	value(f *frame) (value, error)
	check(c *checker)
}

// stmt is a statement.
type stmt interface {
	run(f *frame, out *sink) error
	check(c *checker)
}

// block is a list of statements.
type block []stmt

func (b block) run(f *frame, out *sink) error {
	if traps := b.traps(); traps != nil {
		for _, s := range b {
			if err := f.trapped(s, traps, out); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range b {
		if err := f.ended(s.run(f, out)); err != nil {
			return err
		}
	}
	return nil
}

func (b block) check(c *checker) {
	for _, s := range b {
		s.check(c)
	}
}

type (
	literal struct{ v value }
	// variable is $name, ${name}, $env:name, or $scope:name, where the scope is global, script or local.
	variable struct {
		name  string
		env   bool
		scope string
	}
	// template is a string with variables and expressions, evaluated when it is used.
	template struct{ parts []expr }
	// list is a, b, c or @( … ).
	list struct{ items []expr }
	// sub is $( … ) or @( … ): the output of statements. As an argument, or in ( … ), it is a single pipeline.
	sub struct {
		body  block
		array bool
		paren bool // ( … ); an assignment in it also outputs its value
	}
	unary struct {
		op string
		x  expr
	}
	binary struct {
		op   string
		a, b expr
	}
	cast struct {
		to  string
		x   expr
		try bool

		written string // the type as it is written
	}
	member struct {
		of   expr
		name string
		by   expr   // its name, if that is known only while the script runs, or nil
		args []expr // of a method
		call bool
	}
	index  struct{ of, at expr }
	blockX struct{ script *Script }
)

type (
	// pipeline is commands joined by |, or one expression.
	pipeline struct{ stages []stage }
	assign   struct {
		line int
		as   string // the type that the variable has from then on, or ""
		to   variable
		op   string // =, +=, -=, *=, /=, %=
		x    stmt
	}
	ifStmt struct {
		conds  []expr
		blocks []block
		other  block
	}
	whileStmt struct {
		cond expr
		body block
	}
	foreachStmt struct {
		name string
		in   expr
		body block
	}
	functionStmt struct {
		name   string
		script *Script
	}
	// doStmt is do { … } while ( … ), or until.
	doStmt struct {
		body  block
		cond  expr
		until bool
	}
	// forStmt is for ( …; …; … ) { … }.
	forStmt struct {
		first, step stmt // or nil
		cond        expr // or nil
		body        block
	}
	// leave is return, throw, exit, break or continue.
	leave struct {
		line int
		word string
		x    stmt // or nil
	}
)

// stage is one part of a pipeline.
type stage struct {
	x    expr // an expression; if nil, a command:
	name expr // the command's name
	word string
	args []argument
	here bool // . name: it runs in this scope
	redirect
	line int
}

// redirect says where a stage's output goes.
type redirect struct {
	file   expr // or nil
	append bool
	errors string // "", "null" or "merge"
	others []redirection
}

// argument is an argument of a command: a parameter, its value, or both.
type argument struct {
	param string // without -
	x     expr   // or nil
	text  string // the parameter as it was written, for native programs
	splat bool   // x holds parameters: @name
	// verbatim says that x is the text after --%.
	verbatim bool
}
