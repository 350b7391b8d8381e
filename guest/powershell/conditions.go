package powershell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// condition is an attribute that an argument must meet, ValidateSet or another one, with its constants.
type condition struct {
	name string
	args []expr
}

// conditionKind is what an attribute asks for.
type conditionKind struct {
	least, most int  // the number of its arguments
	block       bool // the argument is a script block
	whole       bool // it asks of a list as a whole, not of each item
	// fails says why a value does not meet the condition, or is "".
	fails func(f *frame, args []value, v value) (string, error)
}

// conditions are the attributes that an argument must meet, by their names
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_functions_advanced_parameters).
func conditions() map[string]conditionKind {
	const many = 1 << 10
	return map[string]conditionKind{
		"validateset":            {least: 1, most: many, fails: notOfSet},
		"validaterange":          {least: 2, most: 2, fails: notInRange},
		"validatelength":         {least: 2, most: 2, fails: notOfLength},
		"validatecount":          {least: 2, most: 2, whole: true, fails: notOfCount},
		"validatepattern":        {least: 1, most: 1, fails: notOfPattern},
		"validatescript":         {least: 1, most: 1, block: true, fails: notOfScript},
		"validatenotnull":        {whole: true, fails: isNull},
		"validatenotnullorempty": {whole: true, fails: isNullOrEmpty},
	}
}

// valid is the error of an argument that does not meet a parameter's conditions.
func (f *frame) valid(p param, v value) error {
	for _, one := range p.conditions {
		kind := conditions()[one.name]
		args, err := values(f, one.args)
		if err != nil {
			return err
		}
		items := []value{v}
		if !kind.whole {
			items = itemsOf(v)
		}
		for _, item := range items {
			why, err := kind.fails(f, args, item)
			if err != nil {
				return err
			}
			if why != "" {
				return raise(bindingException, fmt.Sprintf("Cannot validate argument on parameter '%s'. %s", p.name, why))
			}
		}
	}
	return nil
}

func notOfSet(_ *frame, args []value, v value) (string, error) {
	var set []string
	for _, a := range args {
		set = append(set, text(a))
	}
	if slices.ContainsFunc(set, func(s string) bool { return strings.EqualFold(s, text(v)) }) {
		return "", nil
	}
	return fmt.Sprintf("The argument %q does not belong to the set \"%s\" specified by the ValidateSet attribute. "+
		"Supply an argument that is in the set and then try the command again.", text(v), strings.Join(set, ",")), nil
}

func notInRange(_ *frame, args []value, v value) (string, error) {
	n, err := order("-gt", args[0], v)
	if err != nil {
		return "", err
	}
	if n > 0 {
		return fmt.Sprintf("The %s argument is less than the minimum allowed range of %s. Supply an argument that is "+
			"greater than or equal to %[2]s and then try the command again.", text(v), text(args[0])), nil
	}
	if n, err = order("-lt", args[1], v); err != nil || n >= 0 {
		return "", err
	}
	return fmt.Sprintf("The %s argument is greater than the maximum allowed range of %s. Supply an argument that is "+
		"less than or equal to %[2]s and then try the command again.", text(v), text(args[1])), nil
}

// bounds are the two numbers of ValidateLength and ValidateCount.
func bounds(args []value) (least, most int64, err error) {
	least, err = integer(args[0])
	most, wrong := integer(args[1])
	return least, most, errors.Join(err, wrong)
}

func notOfLength(_ *frame, args []value, v value) (string, error) {
	least, most, err := bounds(args)
	n := int64(len(utf16.Encode([]rune(text(v)))))
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

func notOfCount(_ *frame, args []value, v value) (string, error) {
	least, most, err := bounds(args)
	n := int64(len(itemsOf(v)))
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

func notOfPattern(_ *frame, args []value, v value) (string, error) {
	pattern, err := compile(args[0])
	if err != nil || pattern.re.MatchString(text(v)) {
		return "", err
	}
	return fmt.Sprintf("The argument \"%s\" does not match the \"%s\" pattern. Supply an argument that matches \"%[2]s\" and "+
		"try the command again.", text(v), text(args[0])), nil
}

// notOfScript runs a script block with the value as $_, which is to output what is true.
func notOfScript(f *frame, args []value, v value) (string, error) {
	block, ok := args[0].(*scriptBlock)
	if !ok {
		return "", nil // the parser lets only script blocks pass
	}
	scope := f.child()
	scope.vars["_"] = v
	var got []value
	f.in.tries++ // what it throws is the reason
	err := f.in.callScript(scope, block.script, nil, feed{}, collect(&got))
	f.in.tries--
	switch {
	case err != nil && catchable(err):
		return recordOf(err).message, nil
	case err != nil || truth(one(got)):
		return "", err
	}
	return fmt.Sprintf("The \"%s\" validation script for the argument with value \"%s\" did not return a result of True. "+
		"Determine why the validation script failed, and then try the command again.", block.script.text, text(v)), nil
}

func isNull(_ *frame, _ []value, v value) (string, error) {
	if v == nil {
		return "The argument is null. Provide a valid value for the argument, and then try running the command again.", nil
	}
	return "", nil
}

func isNullOrEmpty(_ *frame, _ []value, v value) (string, error) {
	list, isList := v.([]value)
	nothing := func(item value) bool { return item == nil || item == "" }
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
