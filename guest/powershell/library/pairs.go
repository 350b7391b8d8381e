package library

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// Pairs is a collection of names and values: the headers of a request or response, or a query.
type Pairs struct {
	All      []Pair
	Fixed    bool // a request's: it cannot be changed
	Response bool
}

// Pair is a name and a value.
type Pair struct{ Name, Value string }

// SortedNames returns the names of pairs, sorted.
func SortedNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// QueryPairs returns the names and values of a URL's query. A part without = is a value without a name.
func QueryPairs(query string) *Pairs {
	p := &Pairs{}
	if query == "" {
		return p
	}

	for part := range strings.SplitSeq(query, "&") {
		name, v, named := strings.Cut(part, "=")
		if !named {
			name, v = "", name
		}
		p.All = append(p.All, Pair{unescaped(name), unescaped(v)})
	}

	return p
}

func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// Get returns a name's value, several joined by commas, or nil.
func (p *Pairs) Get(name string) object.Value {
	var found []string
	for _, one := range p.All {
		if strings.EqualFold(one.Name, name) {
			found = append(found, one.Value)
		}
	}

	if found == nil {
		return nil
	}
	return strings.Join(found, ",")
}

// names returns the names, each once.
func (p *Pairs) names() []object.Value {
	all := []object.Value{}
	seen := map[string]bool{}
	for _, one := range p.All {
		if !seen[strings.ToLower(one.Name)] {
			all = append(all, one.Name)
		}
		seen[strings.ToLower(one.Name)] = true
	}

	return all
}

// settable returns the error of changing a name's value, nil where it can be changed.
func (p *Pairs) settable(name string) error {
	switch low := strings.ToLower(name); {
	case p.Fixed:
		return object.Raise("System.NotSupportedException", "Collection is read-only.")
	case !p.Response:
	case low == "content-length", low == "transfer-encoding", low == "keep-alive", low == "www-authenticate":
		return object.Raise(object.ArgumentException, "The '"+name+
			"' header must be modified using the appropriate property or method.\nParameter name: name")
	case name == "", strings.ContainsAny(name, " \t\r\n:()<>@,;\\\"/[]?={}"):
		return object.Raise(object.ArgumentException,
			"Specified value has invalid HTTP Header characters.\nParameter name: name")
	}

	return nil
}

func (p *Pairs) remove(name string) {
	p.All = slices.DeleteFunc(p.All, func(one Pair) bool { return strings.EqualFold(one.Name, name) })
}

// Put replaces a name's values.
func (p *Pairs) Put(name, v string) error {
	if err := p.settable(name); err != nil {
		return err
	}
	p.remove(name)
	return p.Add(name, v)
}

// Add adds a pair.
func (p *Pairs) Add(name, v string) error {
	if err := p.settable(name); err != nil {
		return err
	}
	if p.Response && strings.ContainsAny(v, "\r\n") {
		return object.Raise(object.ArgumentException, "Specified value has invalid CRLF characters.\nParameter name: value")
	}
	p.All = append(p.All, Pair{name, v})
	return nil
}

// PairsClass returns the class NameValueCollection.
func PairsClass() *object.Class {
	at := func(c *object.Call) (object.Value, error) { return object.Own[*Pairs](c.On).Get(c.Text(0)), nil }
	c := &object.Class{
		Name: "System.Collections.Specialized.NameValueCollection",
		Each: func(v any) []object.Value { return v.(*Pairs).names() },
		Item: &object.Indexer{
			Get: func(of, at object.Value) (object.Value, error) {
				p := object.Own[*Pairs](of)
				if n, ok := at.(int64); ok {
					names := p.names()
					if n < 0 || n >= int64(len(names)) {
						return nil, nil
					}
					at = names[n]
				}
				return p.Get(object.Text(at)), nil
			},
			Set: func(of, at, v object.Value) error {
				return object.Own[*Pairs](of).Put(object.Text(at), object.Text(v))
			},
		},
		Methods: []object.Method{
			{Name: "Get", Least: 1, Most: 1, Do: at},
			{Name: "Get_Item", Least: 1, Most: 1, Do: at},
			{Name: "Item", Least: 1, Most: 1, Do: at},
			{
				Name:  "GetValues",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					var found []object.Value
					for _, one := range object.Own[*Pairs](c.On).All {
						if strings.EqualFold(one.Name, c.Text(0)) {
							found = append(found, one.Value)
						}
					}
					return found, nil
				},
			},
			{
				Name:  "Add",
				Least: 2,
				Most:  2,
				Do: func(c *object.Call) (object.Value, error) {
					return nil, object.Own[*Pairs](c.On).Add(c.Text(0), c.Text(1))
				},
			},
			{
				Name:  "Set",
				Least: 2,
				Most:  2,
				Do: func(c *object.Call) (object.Value, error) {
					return nil, object.Own[*Pairs](c.On).Put(c.Text(0), c.Text(1))
				},
			},
			{
				Name:  "Remove",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					p := object.Own[*Pairs](c.On)
					if p.Fixed {
						return nil, p.settable("")
					}
					p.remove(c.Text(0))
					return nil, nil
				},
			},
		},
	}

	for _, name := range []string{"AllKeys", "Keys"} {
		c.Props = append(c.Props, object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return object.Own[*Pairs](v).names(), nil
			},
		})
	}

	c.Props = append(c.Props, object.Field{
		Name: "Count",
		Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return int64(len(object.Own[*Pairs](v).names())), nil
		},
	})

	return c
}

// HeadersClass returns the class WebHeaderCollection; Add takes name: value too.
func HeadersClass() *object.Class {
	c := PairsClass()
	c.Name = "System.Net.WebHeaderCollection"
	c.Text = func(v any) string {
		var b strings.Builder
		for _, one := range v.(*Pairs).All {
			b.WriteString(one.Name + ": " + one.Value + "\r\n")
		}
		return b.String() + "\r\n"
	}

	add := object.Find(c.Methods, "Add")
	both := add.Do
	add.Least = 1
	add.Do = func(c *object.Call) (object.Value, error) {
		if len(c.Args) == 2 {
			return both(c)
		}
		name, v, ok := strings.Cut(c.Text(0), ":")
		if !ok {
			return nil, object.Raise(object.ArgumentException,
				"Specified value does not have a ':' separator.\nParameter name: header")
		}
		return nil, object.Own[*Pairs](c.On).Add(strings.TrimSpace(name), strings.TrimSpace(v))
	}

	return c
}
