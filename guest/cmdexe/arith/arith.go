// Package arith owns the expressions of SET /A: whole numbers of 32 bits, their operators and assignments, with the
// errors and the exit codes of Windows
// (https://learn.microsoft.com/windows-server/administration/windows-commands/set_1).
package arith

import (
	"strconv"
	"strings"
)

// Error is an expression that has no value.
type Error struct {
	Code    int32
	Message string
}

func (e *Error) Error() string { return e.Message }

// The errors, with the numbers that SET /A leaves in ERRORLEVEL.
func unbalanced() error { return &Error{1073750988, "Unbalanced parenthesis."} }

func noOperand() error { return &Error{1073750989, "Missing operand."} }

func noOperator() error { return &Error{1073750990, "Missing operator."} }

func invalid() error {
	return &Error{1073750991, "Invalid number.  Numeric constants are either decimal (17),\r\n" +
		"hexadecimal (0x11), or octal (021)."}
}

func tooLarge() error {
	return &Error{1073750992, "Invalid number.  Numbers are limited to 32-bits of precision."}
}

func byZero() error { return &Error{1073750993, "Divide by zero error."} }

// Variables are what names in an expression mean.
type Variables interface {
	Get(name string) string
	Set(name, value string)
}

// deepest is how deep parentheses, signs and assignments may stand in each other.
const deepest = 1000

type parser struct {
	text   string
	at     int
	vars   Variables
	nested int
}

// Evaluate carries an expression out, and returns its last value.
func Evaluate(text string, vars Variables) (int32, error) {
	p := &parser{text: strings.ReplaceAll(text, `"`, ""), vars: vars}
	if p.skip(); p.at == len(p.text) {
		return 0, noOperand()
	}

	for {
		value, err := p.assignment()
		if err != nil {
			return 0, err
		}
		if p.skip(); p.at == len(p.text) {
			return value, nil
		}

		switch p.text[p.at] {
		case ',':
			p.at++
		case ')':
			return 0, unbalanced()
		default:
			return 0, noOperator()
		}
	}
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) take(op string) bool {
	p.skip()
	if !strings.HasPrefix(p.text[p.at:], op) {
		return false
	}
	p.at += len(op)
	return true
}

// assignments returns the operators that change a variable, the longer ones first.
func assignments() []string {
	return []string{"<<=", ">>=", "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=", "="}
}

// assignment reads NAME op= assignment, or a value.
func (p *parser) assignment() (int32, error) {
	if p.nested++; p.nested > deepest {
		return 0, noOperand()
	}
	defer func() { p.nested-- }()

	start := p.at
	name := p.name()
	for _, op := range assignments() {
		if name != "" && p.take(op) {
			return p.assign(name, op[:len(op)-1])
		}
	}

	p.at = start
	return p.binary(0)
}

// assign reads the value that a variable gets, calculated with its old one if there is an operator.
func (p *parser) assign(name, op string) (int32, error) {
	value, err := p.assignment()
	if err == nil && op != "" {
		var old int32
		if old, err = p.value(name); err == nil {
			value, err = apply(op, old, value)
		}
	}
	if err != nil {
		return 0, err
	}
	p.vars.Set(name, strconv.Itoa(int(value)))
	return value, nil
}

// levels returns the operators of two values, those that bind least first.
func levels() [][]string {
	return [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}
}

func (p *parser) binary(level int) (int32, error) {
	if level == len(levels()) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return 0, err
	}

	for {
		op := ""
		for _, o := range levels()[level] {
			if op == "" && p.take(o) {
				op = o
			}
		}
		if op == "" {
			return left, nil
		}

		right, err := p.binary(level + 1)
		if err != nil {
			return 0, err
		}
		if left, err = apply(op, left, right); err != nil {
			return 0, err
		}
	}
}

// apply calculates; results that do not fit lose their upper bits.
func apply(op string, a, b int32) (int32, error) {
	switch op {
	case "|":
		return a | b, nil
	case "^":
		return a ^ b, nil
	case "&":
		return a & b, nil
	case "<<":
		if b < 0 || b > 31 {
			return 0, nil
		}
		return a << b, nil

	case ">>":
		if b < 0 || b > 31 {
			b = 31
		}
		return a >> b, nil

	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}

	if b == 0 {
		return 0, byZero()
	}
	if op == "/" {
		return a / b, nil
	}

	return a % b, nil
}

// unary reads a value with signs before it.
func (p *parser) unary() (int32, error) {
	p.skip()
	if p.at == len(p.text) {
		return 0, noOperand()
	}
	c := p.text[p.at]
	if strings.IndexByte("!~-+(", c) < 0 {
		return p.operand()
	}

	p.at++
	if p.nested++; p.nested > deepest {
		return 0, noOperand()
	}
	defer func() { p.nested-- }()
	if c == '(' {
		return p.group()
	}

	value, err := p.unary()
	if err != nil {
		return 0, err
	}

	switch c {
	case '!':
		if value == 0 {
			return 1, nil
		}
		return 0, nil
	case '~':
		return ^value, nil
	case '-':
		return -value, nil
	}

	return value, nil
}

// group reads what stands in parentheses.
func (p *parser) group() (int32, error) {
	for {
		value, err := p.assignment()
		if err != nil {
			return 0, err
		}
		if p.take(")") {
			return value, nil
		}

		if !p.take(",") {
			if p.at == len(p.text) {
				return 0, unbalanced()
			}
			return 0, noOperator()
		}
	}
}

// name takes the name of a variable: what is no number and has no operator in it.
func (p *parser) name() string {
	p.skip()
	start := p.at
	if p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		return ""
	}
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n()!~*/%+-<>&^|=,", p.text[p.at]) < 0 {
		p.at++
	}
	return p.text[start:p.at]
}

// operand reads a number or a variable.
func (p *parser) operand() (int32, error) {
	if name := p.name(); name != "" {
		return p.value(name)
	}
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n()!~*/%+-<>&^|=,", p.text[p.at]) < 0 {
		p.at++
	}
	if p.at == start {
		return 0, noOperand()
	}
	return constant(p.text[start:p.at])
}

// value returns the number that a variable has; what is none counts as 0, and what follows a number does not count.
func (p *parser) value(name string) (int32, error) {
	text := strings.TrimSpace(p.vars.Get(name))
	end := 0
	for letters := "+-0123456789"; end < len(text) && strings.IndexByte(letters, text[end]) >= 0; end++ {
		letters = "0123456789xXabcdefABCDEF"
	}

	for ; end > 0; end-- {
		n, err := strconv.ParseInt(text[:end], 0, 64)
		if err == nil {
			return clamp(n)
		}
	}

	return 0, nil
}

func constant(text string) (int32, error) {
	if strings.IndexByte(text, '_') >= 0 {
		return 0, invalid()
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange { //nolint:errorlint // as strconv returns it
			return 0, tooLarge()
		}
		return 0, invalid()
	}
	return clamp(n)
}

// clamp returns a number of 32 bits; hexadecimal ones may use the highest bit.
func clamp(n int64) (int32, error) {
	if n > 0xFFFFFFFF || n < -0x80000000 {
		return 0, tooLarge()
	}
	return int32(uint32(n)), nil //nolint:gosec // wraps around, as documented
}
