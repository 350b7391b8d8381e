package binding

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// Bound holds a call's parameters, not yet evaluated; several expressions for the last of positions with rest.
type Bound map[string][]lang.Expr

// Bind finds the parameters that the arguments of a call mean. The error is a MisfitError where one is not known, has
// no value, or has no place.
func Bind(c cmdlet.Cmdlet, args []lang.Argument) (Bound, error) {
	b := Bound{}
	var free []lang.Expr
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Param == "" {
			free = append(free, a.X)
			continue
		}
		name, flag, err := c.Parameter(a.Param)
		if err != nil {
			return nil, err
		}

		x := a.X
		switch {
		case x != nil:
		case flag:
			x = &lang.Literal{V: true}
		case i+1 >= len(args) || args[i+1].Param != "":
			return nil, object.Misfit(object.NoArgumentID,
				"Missing an argument for parameter '%s'. Specify a parameter of type "+
					"'System.Object' and try again.", name)
		default:
			i++
			x = args[i].X
		}

		b[name] = []lang.Expr{x}
	}

	return b, b.place(c, free)
}

// place gives the arguments without a name the parameters of their places.
func (b Bound) place(c cmdlet.Cmdlet, free []lang.Expr) error {
	for _, p := range c.Positions {
		if _, given := b[p]; given || len(free) == 0 {
			continue
		}
		if c.Rest && p == c.Positions[len(c.Positions)-1] {
			b[p], free = free, nil
			break
		}
		b[p], free = free[:1], free[1:]
	}

	if len(free) == 0 {
		return nil
	}
	shown := ""
	if s, whole := lang.Beginning(free[0]); whole {
		shown = s
	}
	return object.Misfit(object.NoPositionID,
		"A positional parameter cannot be found that accepts argument '%s'.", shown)
}

// Splats reports whether arguments come from a variable.
func Splats(args []lang.Argument) bool {
	return slices.ContainsFunc(args, func(a lang.Argument) bool { return a.Splat })
}
