package library

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// VersionName is the class Version.
const VersionName = "System.Version"

// Version is a System.Version: two to four numbers (https://learn.microsoft.com/en-us/dotnet/api/system.version).
// Those that are not there are -1.
type Version [4]int64

// ParseVersion reads 1.2, 1.2.3 or 1.2.3.4.
func ParseVersion(s string) (object.Value, error) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return nil, object.Raise(object.ArgumentException, "Version string portion was too short or too long.")
	}

	v := Version{-1, -1, -1, -1}
	for i, part := range parts {
		n, err := object.ParseInteger(strings.TrimSpace(part))
		switch {
		case err != nil:
			return nil, object.Raise("System.FormatException", "Input string was not in a correct format.")
		case n < 0:
			return nil, object.Outside("version")
		case n > math.MaxInt32:
			return nil, object.Raise("System.OverflowException", "Value was either too large or too small for an Int32.")
		}
		v[i] = n
	}

	return &object.Instance{Of: VersionClass(), V: v}, nil
}

// VersionValue returns a version of Windows' own, with a revision of 0.
func VersionValue(s string) object.Value {
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

// Compare returns a negative number, 0 or a positive one if v is older than, the same as or newer than w.
func (v Version) Compare(w Version) int {
	for i := range v {
		if c := cmp.Compare(v[i], w[i]); c != 0 {
			return c
		}
	}

	return 0
}

// VersionClass returns the class System.Version.
func VersionClass() *object.Class {
	c := &object.Class{
		Name:         VersionName,
		Others:       []string{"version"},
		ByProperties: true,
		Make: &object.Method{
			Least: 1,
			Most:  4,
			Do: func(c *object.Call) (object.Value, error) {
				var parts []string
				for i := range c.Args {
					parts = append(parts, c.Text(i))
				}
				return ParseVersion(strings.Join(parts, "."))
			},
		},
		Text: func(v any) string { return v.(Version).Text(4) },
		Same: func(v any) string { return v.(Version).Text(4) },
		Calls: []object.Method{{
			Name:  "Parse",
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				return ParseVersion(c.Text(0))
			},
		}, object.TryParse(object.Nothing, ParseVersion)},
		Methods: []object.Method{
			{
				Name:  "CompareTo",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return int64(object.Own[Version](c.On).Compare(object.Own[Version](c.Arg(0)))), nil
				},
			},
			{
				Name: "ToString",
				Most: 1,
				Do: func(c *object.Call) (object.Value, error) {
					if len(c.Args) == 0 {
						return object.Own[Version](c.On).Text(4), nil
					}
					n, err := c.Whole(0)
					if v := object.Own[Version](c.On); err != nil || n < 0 || n > 4 || (n > 0 && v[n-1] < 0) {
						return nil, object.Raise(object.ArgumentException,
							"Argument must be between 0 and the number of the version's parts.\n"+
								"Parameter name: fieldCount")
					}
					return object.Own[Version](c.On).Text(int(n)), nil
				},
			},
		},
	}

	for i, name := range []string{"Major", "Minor", "Build", "Revision"} {
		c.Props = append(c.Props, object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return object.Own[Version](v)[i], nil
			},
		})
	}
	c.Member = func(of object.Value, name string) (object.Value, bool) { // the halves of Revision, which are not shown
		revision := object.Own[Version](of)[3]
		switch strings.ToLower(name) {
		case "majorrevision":
			return int64(int16(revision >> 16)), true
		case "minorrevision":
			return int64(int16(revision)), true
		}
		return nil, false
	}
	return c
}
