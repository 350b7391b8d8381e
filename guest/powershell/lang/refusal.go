package lang

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
)

// Refusal says that a text is not PowerShell: nothing of it is run.
type Refusal struct {
	// What is wrong, in PowerShell's words, and its FullyQualifiedErrorId.
	What, ID string
	// At is what is wrong.
	At position.Extent
}

// Error returns the refusal in one line.
func (r *Refusal) Error() string {
	at := fmt.Sprintf("line %d", r.At.Line())
	if file := r.At.File(); file != "" {
		at += " of " + file
	}
	return at + ": " + r.What
}

// Lines returns the refusal as PowerShell shows it
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_parsing).
func (r *Refusal) Lines(newline string) string {
	return strings.Join([]string{
		r.At.Message(newline),
		r.What,
		"    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException",
		"    + FullyQualifiedErrorId : " + r.ID,
		" ",
	}, newline)
}

// Thrown returns the refusal of a text that is read while a script runs: an error of the statement that reads it.
func (r *Refusal) Thrown() error {
	return &object.Exception{
		Class:    object.ParseException,
		ID:       r.ID,
		Category: object.ParserError,
		Message:  r.At.Message("\n") + "\n" + r.What,
	}
}

const (
	noTerminatorID  = "TerminatorExpectedAtEndOfString"
	noParenthesisID = "MissingOpenParenthesisAfterKeyword"
)

// missingSign ends the reading where a sign is missing.
func (p *parser) missingSign(sign string) error {
	switch sign {
	case ")":
		return p.refuse("MissingEndParenthesisInExpression", "Missing closing ')' in expression.")
	case "(":
		return p.refuse(noParenthesisID, "Missing opening '(' after keyword.")
	case "{":
		return p.refuse("MissingStatementBlock", "Missing statement block.")
	case "}":
		return p.refuse("MissingEndCurlyBrace", "Missing closing '}' in statement block or type definition.")
	case "]":
		return p.refuse("MissingEndSquareBracket", "Missing ']' after array index expression.")
	}
	return p.unexpected()
}

// noParameter ends the reading of a list of parameters.
func (p *parser) noParameter() error {
	return p.refuse("MissingEndParenthesisInFunctionParameterList", "Missing ')' in function parameter list.")
}

// refuse ends the reading at what is wrong there.
func (p *parser) refuse(id, format string, args ...any) error {
	return p.refuseAt(p.at, id, format, args...)
}

// unexpected ends the reading at a token that cannot stand there.
func (p *parser) unexpected() error {
	token := p.token()
	if token == "" {
		return p.refuse("MissingEndCurlyBrace", "Unexpected end of the text.")
	}
	return p.refuse("UnexpectedToken", "Unexpected token '%s' in expression or statement.", token)
}

// refuseAt ends the reading, with a place.
func (p *parser) refuseAt(at int, id, format string, args ...any) error {
	at = min(at, len(p.src))
	before := p.at
	p.at = at
	width := len([]rune(p.token()))
	p.at = before

	return &Refusal{
		What: fmt.Sprintf(format, args...),
		ID:   id,
		At: position.Extent{
			Source: p.source,
			From:   p.base + at,
			To:     p.base + at + width,
		},
	}
}

// token returns what stands here: a word, or a sign with what belongs to it.
func (p *parser) token() string {
	end := p.at
	for end < len(p.src) && (isName(p.src[end]) || (end > p.at && p.src[end] == '-')) {
		end++
	}

	if end > p.at {
		return string(p.src[p.at:end])
	}
	for _, sign := range []string{"&&", "||", "@{", "@(", "$(", "::", "++", "--"} {
		if p.has(sign) {
			return sign
		}
	}

	if p.at < len(p.src) {
		return string(p.src[p.at])
	}
	return ""
}
