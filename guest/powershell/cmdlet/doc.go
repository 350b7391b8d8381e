// Package cmdlet says what a cmdlet is: its name, its parameters, and the function that runs. A cmdlet gets a Call,
// with its parameters and its input, and asks the script that calls it by Scope. No cmdlet knows how scripts are read
// or run.
package cmdlet
