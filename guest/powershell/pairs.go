package powershell

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// pairs is a collection of names and values: the headers of a request or response, or a query.
type pairs struct {
	all      []pair
	fixed    bool // a request's: it cannot be changed
	response bool
}

type pair struct{ name, value string }

func sortedNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// queryPairs are the names and values of a URL's query. A part without = is a value without a name.
func queryPairs(query string) *pairs {
	p := &pairs{}
	if query == "" {
		return p
	}
	for part := range strings.SplitSeq(query, "&") {
		name, v, named := strings.Cut(part, "=")
		if !named {
			name, v = "", name
		}
		p.all = append(p.all, pair{unescaped(name), unescaped(v)})
	}
	return p
}

func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// get is a name's value, several joined by commas, or nil.
func (p *pairs) get(name string) value {
	var found []string
	for _, one := range p.all {
		if strings.EqualFold(one.name, name) {
			found = append(found, one.value)
		}
	}
	if found == nil {
		return nil
	}
	return strings.Join(found, ",")
}

// names are the names, each once.
func (p *pairs) names() []value {
	all := []value{}
	seen := map[string]bool{}
	for _, one := range p.all {
		if !seen[lower(one.name)] {
			all = append(all, one.name)
		}
		seen[lower(one.name)] = true
	}
	return all
}

// settable is the error of changing a name's value.
func (p *pairs) settable(name string) error {
	switch low := lower(name); {
	case p.fixed:
		return raise("System.NotSupportedException", "Collection is read-only.")
	case !p.response:
	case low == "content-length", low == "transfer-encoding", low == "keep-alive", low == "www-authenticate":
		return raise(argumentException, "The '"+name+
			"' header must be modified using the appropriate property or method.\nParameter name: name")
	case name == "", strings.ContainsAny(name, " \t\r\n:()<>@,;\\\"/[]?={}"):
		return raise(argumentException, "Specified value has invalid HTTP Header characters.\nParameter name: name")
	}
	return nil
}

func (p *pairs) remove(name string) {
	p.all = slices.DeleteFunc(p.all, func(one pair) bool { return strings.EqualFold(one.name, name) })
}

// put replaces a name's values.
func (p *pairs) put(name, v string) error {
	if err := p.settable(name); err != nil {
		return err
	}
	p.remove(name)
	return p.add(name, v)
}

func (p *pairs) add(name, v string) error {
	if err := p.settable(name); err != nil {
		return err
	}
	if p.response && strings.ContainsAny(v, "\r\n") {
		return raise(argumentException, "Specified value has invalid CRLF characters.\nParameter name: value")
	}
	p.all = append(p.all, pair{name, v})
	return nil
}

// pairsClass is NameValueCollection.
func pairsClass() *class {
	at := func(c *dotCall) (value, error) { return own[*pairs](c.on).get(c.text(0)), nil }
	c := &class{
		name: "System.Collections.Specialized.NameValueCollection",
		each: func(v any) []value { return v.(*pairs).names() },
		item: &itemOfClass{
			get: func(of, at value) (value, error) {
				p := own[*pairs](of)
				if n, ok := at.(int64); ok {
					names := p.names()
					if n < 0 || n >= int64(len(names)) {
						return nil, nil
					}
					at = names[n]
				}
				return p.get(text(at)), nil
			},
			set: func(of, at, v value) error { return own[*pairs](of).put(text(at), text(v)) },
		},
		methods: []routine{
			{name: "Get", least: 1, most: 1, do: at},
			{name: "Get_Item", least: 1, most: 1, do: at},
			{name: "Item", least: 1, most: 1, do: at},
			{name: "GetValues", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				var found []value
				for _, one := range own[*pairs](c.on).all {
					if strings.EqualFold(one.name, c.text(0)) {
						found = append(found, one.value)
					}
				}
				return found, nil
			}},
			{name: "Add", least: 2, most: 2, do: func(c *dotCall) (value, error) {
				return nil, own[*pairs](c.on).add(c.text(0), c.text(1))
			}},
			{name: "Set", least: 2, most: 2, do: func(c *dotCall) (value, error) {
				return nil, own[*pairs](c.on).put(c.text(0), c.text(1))
			}},
			{name: "Remove", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				p := own[*pairs](c.on)
				if p.fixed {
					return nil, p.settable("")
				}
				p.remove(c.text(0))
				return nil, nil
			}},
		},
	}
	for _, name := range []string{"AllKeys", "Keys"} {
		c.props = append(c.props, field{name: name, get: func(_ *frame, v value) (value, error) {
			return own[*pairs](v).names(), nil
		}})
	}
	c.props = append(c.props, field{name: "Count", get: func(_ *frame, v value) (value, error) {
		return int64(len(own[*pairs](v).names())), nil
	}})
	return c
}

// headersClass is WebHeaderCollection; Add takes name: value too.
func headersClass() *class {
	c := pairsClass()
	c.name = "System.Net.WebHeaderCollection"
	c.text = func(v any) string {
		var b strings.Builder
		for _, one := range v.(*pairs).all {
			b.WriteString(one.name + ": " + one.value + "\r\n")
		}
		return b.String() + "\r\n"
	}
	add := find(c.methods, "Add")
	both := add.do
	add.least = 1
	add.do = func(c *dotCall) (value, error) {
		if len(c.args) == 2 {
			return both(c)
		}
		name, v, ok := strings.Cut(c.text(0), ":")
		if !ok {
			return nil, raise(argumentException, "Specified value does not have a ':' separator.\nParameter name: header")
		}
		return nil, own[*pairs](c.on).add(strings.TrimSpace(name), strings.TrimSpace(v))
	}
	return c
}
