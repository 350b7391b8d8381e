package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// expr prints the value of an expression and returns 1 if that is nothing or 0, 2 if it is none. Its operators are
// those of POSIX; the pattern of ":" is read as an extended regular expression.
func expr(_ context.Context, c *call) int {
	e := &expression{words: c.args[1:]}
	value, err := e.binary(0)
	if err == nil && len(e.words) > 0 {
		err = errors.New("syntax error")
	}
	if err != nil {
		return c.usage("%v", err)
	}
	fmt.Fprintln(c.stdout, value)
	if isNothing(value) {
		return 1
	}
	return 0
}

// exprLevels are the operators, those that bind least first.
var exprLevels = [][]string{{"|"}, {"&"}, {"=", "==", ">", ">=", "<", "<=", "!="}, {"+", "-"}, {"*", "/", "%"}, {":"}}

// expression is what is still to be read.
type expression struct{ words []string }

func (e *expression) next() (word string, ok bool) {
	if len(e.words) == 0 {
		return "", false
	}
	word, e.words = e.words[0], e.words[1:]
	return word, true
}

// binary reads operands with the operators of a level between them.
func (e *expression) binary(level int) (string, error) {
	if level == len(exprLevels) {
		return e.operand()
	}
	left, err := e.binary(level + 1)
	for err == nil && len(e.words) > 0 && set(strings.Join(exprLevels[level], " "))[e.words[0]] {
		operator, _ := e.next()
		var right string
		if right, err = e.binary(level + 1); err == nil {
			left, err = evaluate(left, operator, right)
		}
	}
	return left, err
}

func (e *expression) operand() (string, error) {
	word, ok := e.next()
	if !ok {
		return "", errors.New("syntax error")
	}
	if word != "(" {
		return word, nil
	}

	value, err := e.binary(0)
	if err != nil {
		return "", err
	}
	if end, _ := e.next(); end != ")" {
		return "", errors.New("syntax error")
	}
	return value, nil
}

func isNothing(value string) bool {
	n, err := strconv.ParseInt(value, 10, 64)
	return value == "" || (err == nil && n == 0)
}

func evaluate(left, operator, right string) (string, error) {
	a, errA := strconv.ParseInt(left, 10, 64)
	b, errB := strconv.ParseInt(right, 10, 64)
	numbers := errA == nil && errB == nil
	switch operator {
	case "|":
		if isNothing(left) {
			return right, nil
		}
		return left, nil

	case "&":
		if isNothing(left) || isNothing(right) {
			return "0", nil
		}
		return left, nil

	case ":":
		return match(left, right)
	case "+", "-", "*", "/", "%":
		if !numbers {
			return "", errors.New("non-integer argument")
		}
		return calculate(a, operator, b)
	}

	order := strings.Compare(left, right)
	if numbers {
		order = int(min(max(a-b, -1), 1))
	}

	holds := map[string]bool{
		"=": order == 0, "==": order == 0, "!=": order != 0, ">": order > 0, ">=": order >= 0,
		"<": order < 0, "<=": order <= 0,
	}
	if holds[operator] {
		return "1", nil
	}

	return "0", nil
}

func calculate(a int64, operator string, b int64) (string, error) {
	if b == 0 && (operator == "/" || operator == "%") {
		return "", errors.New("division by zero")
	}

	switch operator {
	case "+":
		a += b
	case "-":
		a -= b
	case "*":
		a *= b
	case "/":
		a /= b
	default:
		a %= b
	}

	return strconv.FormatInt(a, 10), nil
}

// match gives the pattern's first group, or how many characters it matches from the beginning.
func match(text, pattern string) (string, error) {
	re, err := regexp.Compile("^(?:" + pattern + ")")
	if err != nil {
		return "", err
	}

	found := re.FindStringSubmatch(text)
	switch {
	case re.NumSubexp() > 0 && found == nil:
		return "", nil
	case re.NumSubexp() > 0:
		return found[1], nil
	case found == nil:
		return "0", nil
	}

	return strconv.Itoa(len([]rune(found[0]))), nil
}
