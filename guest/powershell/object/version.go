package object

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// VersionName is the class Version.
const VersionName = "System.Version"

// Version is a System.Version: two to four numbers (https://learn.microsoft.com/en-us/dotnet/api/system.version).
// Those that are not there are -1.
type Version [4]int64

// ParseVersion reads 1.2, 1.2.3 or 1.2.3.4.
func ParseVersion(s string) (Value, error) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return nil, Raise(ArgumentException, "Version string portion was too short or too long.")
	}
	v := Version{-1, -1, -1, -1}
	for i, part := range parts {
		n, err := parseInteger(strings.TrimSpace(part))
		switch {
		case err != nil:
			return nil, Raise("System.FormatException", "Input string was not in a correct format.")
		case n < 0:
			return nil, outside("version")
		case n > math.MaxInt32:
			return nil, Raise("System.OverflowException", "Value was either too large or too small for an Int32.")
		}
		v[i] = n
	}
	return &Instance{VersionClass(), v}, nil
}

// VersionValue returns a version of Windows' own, with a revision of 0.
func VersionValue(s string) Value {
	v, err := ParseVersion(s + ".0")
	if err != nil {
		return s
	}
	return v
}

// Text returns the version with its parts, parted by points.
func (v Version) Text(numbers int) string {
	var parts []string
	for _, n := range v[:numbers] {
		if n < 0 {
			break
		}
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ".")
}

// Compare is negative, 0 or positive if v is older than, the same as or newer than w.
func (v Version) Compare(w Version) int {
	for i := range v {
		if c := cmp.Compare(v[i], w[i]); c != 0 {
			return c
		}
	}
	return 0
}

// VersionClass is System.Version.
func VersionClass() *Class {
	c := &Class{
		Name:         VersionName,
		Others:       []string{"version"},
		ByProperties: true,
		Make: &Method{
			Least: 1,
			Most:  4,
			Do: func(c *Call) (Value, error) {
				var parts []string
				for i := range c.Args {
					parts = append(parts, c.Text(i))
				}
				return ParseVersion(strings.Join(parts, "."))
			},
		},
		Text: func(v any) string { return v.(Version).Text(4) },
		Same: func(v any) string { return v.(Version).Text(4) },
		Calls: []Method{{
			Name:  "Parse",
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				return ParseVersion(c.Text(0))
			},
		}, TryParse(nothing, ParseVersion)},
		Methods: []Method{
			{
				Name:  "CompareTo",
				Least: 1,
				Most:  1,
				Do: func(c *Call) (Value, error) {
					return int64(Own[Version](c.On).Compare(Own[Version](c.Arg(0)))), nil
				},
			},
			{
				Name: "ToString",
				Most: 1,
				Do: func(c *Call) (Value, error) {
					if len(c.Args) == 0 {
						return Own[Version](c.On).Text(4), nil
					}
					n, err := c.Whole(0)
					if v := Own[Version](c.On); err != nil || n < 0 || n > 4 || (n > 0 && v[n-1] < 0) {
						return nil, Raise(ArgumentException,
							"Argument must be between 0 and the number of the version's parts.\n"+
								"Parameter name: fieldCount")
					}
					return Own[Version](c.On).Text(int(n)), nil
				},
			},
		},
	}
	for i, name := range []string{"Major", "Minor", "Build", "Revision"} {
		c.Props = append(c.Props, Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return Own[Version](v)[i], nil
			},
		})
	}
	return c
}
