package lang

import (
	"cmp"

	"mullion.dev/mullion/guest/powershell/object"
)

// TryStmt is try { … } catch { … } finally { … }.
type TryStmt struct {
	Body    Block
	Catches []Catch
	Last    Block // of finally
	Always  bool  // there is a finally
}

// Catch is a block for errors of some types, or of all if it names none.
type Catch struct {
	Types []string
	Body  Block
}

// try reads what follows the word try.
func (p *parser) try() (Stmt, error) {
	s := &TryStmt{}
	var err error
	if s.Body, err = p.braces(); err != nil {
		return nil, err
	}

	for {
		begin := p.at
		p.space()
		switch word := p.keyword("catch", "finally"); {
		case word == "catch" && !s.Always:
			one, err := p.catch()
			if err != nil {
				return nil, err
			}
			s.Catches = append(s.Catches, one)

		case word == "finally" && !s.Always:
			s.Always = true
			if s.Last, err = p.braces(); err != nil {
				return nil, err
			}

		default:
			p.at = begin
			if len(s.Catches) == 0 && !s.Always {
				return nil, p.refuse("MissingCatchOrFinally",
					"The Try statement is missing its Catch or Finally block.")
			}
			return s, nil
		}
	}
}

func (p *parser) catch() (Catch, error) {
	one := Catch{}
	for {
		p.space()
		if p.peek() != '[' {
			break
		}
		name, err := p.typeName()
		if err != nil {
			return one, err
		}

		one.Types = append(one.Types, cmp.Or(object.ExceptionName(name), name))
		p.space()
		if !p.take(",") {
			break
		}
	}

	var err error
	one.Body, err = p.braces()
	return one, err
}

// TrapStmt is trap { … }: what is done at an error of any statement of the block that it stands in
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_trap).
type TrapStmt struct{ Catch }

// trap reads what follows the word trap.
func (p *parser) trap() (Stmt, error) {
	one, err := p.catch()
	if len(one.Types) > 1 {
		return nil, p.unexpected()
	}
	return &TrapStmt{one}, err
}
