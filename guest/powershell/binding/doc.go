// Package binding says how a call of a cmdlet is written: which of its parameters have which expressions, and whether
// it can be carried out, as far as that is known before the expressions are evaluated.
package binding
