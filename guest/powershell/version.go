package powershell

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

const versionName = "System.Version"

// version is a System.Version: two to four numbers (https://learn.microsoft.com/en-us/dotnet/api/system.version).
// Those that are not there are -1.
type version [4]int64

// parseVersion reads 1.2, 1.2.3 or 1.2.3.4.
func parseVersion(s string) (value, error) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return nil, raise(argumentException, "Version string portion was too short or too long.")
	}
	v := version{-1, -1, -1, -1}
	for i, part := range parts {
		n, err := parseInteger(strings.TrimSpace(part))
		switch {
		case err != nil:
			return nil, raise("System.FormatException", "Input string was not in a correct format.")
		case n < 0:
			return nil, outside("version")
		case n > math.MaxInt32:
			return nil, raise("System.OverflowException", "Value was either too large or too small for an Int32.")
		}
		v[i] = n
	}
	return &instance{versionClass(), v}, nil
}

// versionValue is a version of Windows' own, with a revision of 0.
func versionValue(s string) value {
	v, err := parseVersion(s + ".0")
	if err != nil {
		return s
	}
	return v
}

func (v version) text(numbers int) string {
	var parts []string
	for _, n := range v[:numbers] {
		if n < 0 {
			break
		}
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ".")
}

// compare is negative, 0 or positive if v is older than, the same as or newer than w.
func (v version) compare(w version) int {
	for i := range v {
		if c := cmp.Compare(v[i], w[i]); c != 0 {
			return c
		}
	}
	return 0
}

func versionClass() *class {
	c := &class{
		name:         versionName,
		others:       []string{"version"},
		byProperties: true,
		make: &routine{least: 1, most: 4, do: func(c *dotCall) (value, error) {
			var parts []string
			for i := range c.args {
				parts = append(parts, c.text(i))
			}
			return parseVersion(strings.Join(parts, "."))
		}},
		text: func(v any) string { return v.(version).text(4) },
		same: func(v any) string { return v.(version).text(4) },
		calls: []routine{{name: "Parse", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			return parseVersion(c.text(0))
		}}},
		methods: []routine{
			{name: "CompareTo", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return int64(own[version](c.on).compare(own[version](c.arg(0)))), nil
			}},
			{name: "ToString", most: 1, do: func(c *dotCall) (value, error) {
				if len(c.args) == 0 {
					return own[version](c.on).text(4), nil
				}
				n, err := c.whole(0)
				if v := own[version](c.on); err != nil || n < 0 || n > 4 || n > 0 && v[n-1] < 0 {
					return nil, raise(argumentException, "Argument must be between 0 and the number of the version's parts.\n"+
						"Parameter name: fieldCount")
				}
				return own[version](c.on).text(int(n)), nil
			}},
		},
	}
	for i, name := range []string{"Major", "Minor", "Build", "Revision"} {
		c.props = append(c.props, field{name: name, get: func(_ *frame, v value) (value, error) {
			return own[version](v)[i], nil
		}})
	}
	return c
}
