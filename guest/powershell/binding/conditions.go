package binding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/pattern"
)

// Failures say why a value does not meet a condition of its parameter, or "", by the condition's name. ValidateScript
// is not among them: it runs a script.
func Failures() map[string]func(args []object.Value, v object.Value) (string, error) {
	return map[string]func(args []object.Value, v object.Value) (string, error){
		"validateset":            notOfSet,
		"validaterange":          notInRange,
		"validatelength":         notOfLength,
		"validatecount":          notOfCount,
		"validatepattern":        notOfPattern,
		"validatenotnull":        isNull,
		"validatenotnullorempty": isNullOrEmpty,
	}
}

func notOfSet(args []object.Value, v object.Value) (string, error) {
	var set []string
	for _, a := range args {
		set = append(set, object.Text(a))
	}
	if slices.ContainsFunc(set, func(s string) bool { return strings.EqualFold(s, object.Text(v)) }) {
		return "", nil
	}
	return fmt.Sprintf("The argument %q does not belong to the set \"%s\" specified by the ValidateSet attribute. "+
		"Supply an argument that is in the set and then try the command again.",
		object.Text(v), strings.Join(set, ",")), nil
}

func notInRange(args []object.Value, v object.Value) (string, error) {
	n, err := operator.Order("-gt", args[0], v)
	if err != nil {
		return "", err
	}
	if n > 0 {
		return fmt.Sprintf("The %s argument is less than the minimum allowed range of %s. Supply an argument that is "+
			"greater than or equal to %[2]s and then try the command again.", object.Text(v), object.Text(args[0])), nil
	}
	if n, err = operator.Order("-lt", args[1], v); err != nil || n >= 0 {
		return "", err
	}
	return fmt.Sprintf("The %s argument is greater than the maximum allowed range of %s. Supply an argument that is "+
		"less than or equal to %[2]s and then try the command again.", object.Text(v), object.Text(args[1])), nil
}

// bounds returns the two numbers of ValidateLength and ValidateCount.
func bounds(args []object.Value) (least, most int64, err error) {
	least, err = object.Integer(args[0])
	most, wrong := object.Integer(args[1])
	return least, most, errors.Join(err, wrong)
}

func notOfLength(args []object.Value, v object.Value) (string, error) {
	least, most, err := bounds(args)
	n := int64(len(utf16.Encode([]rune(object.Text(v)))))
	switch {
	case err != nil:
		return "", err
	case n < least:
		return fmt.Sprintf("The character length of the %d argument is too short. Specify an argument with a length that "+
			"is greater than or equal to \"%d\", and then try the command again.", n, least), nil
	case n > most:
		return fmt.Sprintf("The character length of the %d argument is too long. Shorten the character length of the "+
			"argument so it is fewer than or equal to \"%d\" characters, and then try the command again.", n, most), nil
	}
	return "", nil
}

func notOfCount(args []object.Value, v object.Value) (string, error) {
	least, most, err := bounds(args)
	n := int64(len(object.Items(v)))
	switch {
	case err != nil:
		return "", err
	case n < least:
		return fmt.Sprintf("The number of provided arguments, (%d), is fewer than the minimum number of allowed arguments "+
			"(%d). Provide more than %[2]d arguments, and then try the command again.", n, least), nil
	case n > most:
		return fmt.Sprintf("The number of provided arguments, (%d), exceeds the maximum number of allowed arguments (%d). "+
			"Provide fewer than %[2]d arguments, and then try the command again.", n, most), nil
	}
	return "", nil
}

func notOfPattern(args []object.Value, v object.Value) (string, error) {
	p, err := pattern.Compile(args[0])
	if err != nil {
		return "", err
	}
	if yes, err := p.Matches(object.Text(v)); err != nil || yes {
		return "", err
	}
	return fmt.Sprintf("The argument \"%s\" does not match the \"%s\" pattern. Supply an argument that matches \"%[2]s\" and "+
		"try the command again.", object.Text(v), object.Text(args[0])), nil
}

func isNull(_ []object.Value, v object.Value) (string, error) {
	if v == nil {
		return "The argument is null. Provide a valid value for the argument, and then try running the command again.", nil
	}
	return "", nil
}

func isNullOrEmpty(_ []object.Value, v object.Value) (string, error) {
	list, isList := v.([]object.Value)
	nothing := func(item object.Value) bool { return item == nil || item == "" }
	switch {
	case isList && (len(list) == 0 || slices.ContainsFunc(list, nothing)):
		return "The argument is null, empty, or an element of the argument collection contains a null value. Supply a " +
			"collection that does not contain any null values and then try the command again.", nil
	case nothing(v):
		return "The argument is null or empty. Provide an argument that is not null or empty, and then try the command " +
			"again.", nil
	}
	return "", nil
}
