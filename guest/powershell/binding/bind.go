package binding

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// Bound holds a call's parameters, not yet evaluated; several expressions for the last of positions with rest.
type Bound map[string][]lang.Expr

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
		if flag {
			if x == nil {
				x = &lang.Literal{V: true}
			}
			b[name] = []lang.Expr{x}
			continue
		}

		if x == nil {
			if i+1 >= len(args) || args[i+1].Param != "" {
				return nil, object.Misfit(object.NoArgumentID,
					"Missing an argument for parameter '%s'. Specify a parameter of type "+
						"'System.Object' and try again.", name)
			}
			i++
			x = args[i].X
		}

		b[name] = []lang.Expr{x}
	}

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

	if len(free) > 0 {
		shown := ""
		if s, whole := lang.Beginning(free[0]); whole {
			shown = s
		}
		return nil, object.Misfit(object.NoPositionID,
			"A positional parameter cannot be found that accepts argument '%s'.", shown)
	}

	return b, nil
}

func Splats(args []lang.Argument) bool {
	return slices.ContainsFunc(args, func(a lang.Argument) bool { return a.Splat })
}
