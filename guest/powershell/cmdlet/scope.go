package cmdlet

import "mullion.dev/mullion/guest/powershell/object"

// Scope is what a cmdlet may ask of the script that calls it.
type Scope interface {
	blocks
	messages
	commands
}

// blocks runs script blocks and operators.
type blocks interface {
	// RunOn runs a block with an object as $_, in the scope of the caller. Messages name the cmdlet.
	RunOn(cmdlet string, b *object.ScriptBlock, item object.Value, out *object.Sink) error
	// RunWith runs a block with arguments in a scope of its own. Input is what the pipeline has, if piped.
	RunWith(b *object.ScriptBlock, args, input []object.Value, piped bool, out *object.Sink) error
	// RunAs runs a block with an object as $this, and returns what it outputs.
	RunAs(this object.Value, b *object.ScriptBlock, args []object.Value) (object.Value, error)
	// Method calls a method of an object, or of a list's items.
	Method(of object.Value, name string, args []object.Value) (object.Value, error)
	// Operate is a op b, for the operators of comparison: -eq, -match.
	Operate(op string, a, b object.Value) (object.Value, error)
}

// messages are the streams beside the output.
//
//nolint:interfacebloat // a method for each thing that is said
type messages interface {
	// Report reports an error as a record that knows who made it. What it returns ends the script.
	Report(c *Call, r *object.ErrorRecord) error
	// Caller is the function or script that calls.
	Caller() *object.Invoked
	// Complain reports an error of a cmdlet. What it returns ends the script.
	Complain(c *Call, err error) error
	// Message prints a message of a stream, or puts it where the stream goes. Elsewhere reports whether it goes
	// elsewhere.
	Message(stream rune, what, end string) error
	Elsewhere(stream rune) bool
	// Show shows an object at once. Settle ends the table that is being shown.
	Show(v object.Value) error
	Settle()
}

// Import is how a module is imported.
type Import struct {
	Prefix    string       // before the nouns of its commands
	Functions []string     // patterns of the functions that are wanted; nil: all
	Least     object.Value // the version that it must have, or nil
	Global    bool         // also where a module asks for it
}

// Modules returns the modules of Windows whose cmdlets are here, as far as they are.
func Modules() []string {
	return []string{
		"bitstransfer", "cimcmdlets", "dism", "dnsclient", "hostnetworkingservice", "iscsi", "microsoft.powershell.archive",
		"microsoft.powershell.core", "microsoft.powershell.diagnostics", "microsoft.powershell.localaccounts", "microsoft.powershell.management",
		"microsoft.powershell.security", "microsoft.powershell.utility", "netadapter", "netsecurity", "nettcpip",
		"pki", "servermanager", "smbshare", "storage",
	}
}

// commands are the variables and functions that the script has.
type commands interface { //nolint:interfacebloat // one subject
	// Preference is what a preference asks for, in lower case.
	Preference(name string) string
	SetNamed(name string, v object.Value) error
	// FunctionTexts are the functions that can be called: their texts by their names as they are written.
	FunctionTexts() map[string]string
	// ImportModule runs a module of a file or folder, and returns it as an object.
	ImportModule(name string, how Import, out *object.Sink) (object.Value, error)
	// Drive is one of alias, function and variable, nil for another name.
	Drive(name string) Drive
	// Table are the cmdlets of the session.
	Table() Table
	// Succeeded is $?.
	Succeeded() bool
}
