package utility

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// addMember gives objects properties and methods of their own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/add-member).
func addMember(c *cmdlet.Call) error {
	for _, v := range c.Items(cmdlet.ObjectName) {
		o, ok := v.(*object.Object)
		if !ok {
			err := words.Errorf("members of %s, which is no object with properties of its own, are %s", object.TypeName(v),
				words.NotHere)
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		if err := addTo(c, o); err != nil {
			return err
		}
		if c.Flags["passthru"] {
			if err := c.Out.Put(o); err != nil {
				return err
			}
		}
	}

	return nil
}

// addTo adds what the parameters say to one object.
func addTo(c *cmdlet.Call, o *object.Object) error {
	if name := c.Values["notepropertyname"]; name != nil {
		return addOne(c, o, "noteproperty", object.Text(name), c.Values["notepropertyvalue"])
	}
	members := c.Values["notepropertymembers"]
	if t, ok := c.Values["membertype"].(*object.Hashtable); ok { // the first position of all of them
		members = t
	}

	if t, ok := members.(*object.Hashtable); ok {
		for _, k := range t.Keys {
			if err := addOne(c, o, "noteproperty", object.Text(k), t.Get(k)); err != nil {
				return err
			}
		}
		return nil
	}

	kind := strings.ToLower(c.Text("membertype"))
	name, value := c.Text("name"), c.Values["value"]
	if c.Values["name"] != nil && c.Values["value"] == nil && !kindsOfMembers()[kind] { // Add-Member name value
		kind = "noteproperty"
		name, value = c.Text("membertype"), c.Values["name"]
	}

	return addOne(c, o, kind, name, value)
}

// kindsOfMembers returns the kinds of members that can be added here.
func kindsOfMembers() map[string]bool {
	return map[string]bool{"noteproperty": true, "scriptproperty": true, "scriptmethod": true, "aliasproperty": true}
}

// addOne adds a member of a kind.
func addOne(c *cmdlet.Call, o *object.Object, kind, name string, value object.Value) error {
	if o.Has(strings.ToLower(name)) && !c.Flags["force"] {
		return c.Fail(words.Errorf("Cannot add a member with the name %q because a member with that name already exists. "+
			"To overwrite the member anyway, add the Force parameter to your command.", name))
	}

	switch kind {
	case "noteproperty":
		o.Put(name, value)
	case "aliasproperty":
		other := strings.ToLower(object.Text(value))
		o.Put(name, &object.Computed{Kind: "AliasProperty", Get: func(of object.Value) (object.Value, error) {
			return object.Property(of, other)
		}})

	case "scriptproperty", "scriptmethod":
		block, ok := value.(*object.ScriptBlock)
		if !ok {
			return c.Fail(words.Errorf("the value of a %s is a script block, not %s", kind, object.TypeName(value)))
		}

		if kind == "scriptmethod" {
			o.AddMethod(object.Method{Name: name, Most: 1 << 10, Do: func(call *object.Call) (object.Value, error) {
				return c.Scope.RunAs(call.On, block, call.Args)
			}})
			return nil
		}
		p := &object.Computed{Kind: "ScriptProperty", Get: func(of object.Value) (object.Value, error) {
			return c.Scope.RunAs(of, block, nil)
		}}

		if set, ok := c.Values["secondvalue"].(*object.ScriptBlock); ok {
			p.Set = func(of, v object.Value) error {
				_, err := c.Scope.RunAs(of, set, []object.Value{v})
				return err
			}
		}
		o.Put(name, p)

	default:
		return c.Fail(words.Errorf("a member of the kind %q is %s", kind, words.NotHere))
	}

	return nil
}

func memberCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:  "Add-Member",
		About: "gives an object a property or method of its own; values of .NET get none",
		Run:   addMember,
		Values: []string{
			cmdlet.ObjectName, "membertype", "name", "value", "secondvalue", "notepropertyname", "notepropertyvalue",
			"notepropertymembers", "typename",
		},
		Also:      map[string]string{"type": "membertype"},
		Flags:     []string{"force", "passthru"},
		Positions: []string{"membertype", "name", "value", "secondvalue"},
		Takes:     cmdlet.ObjectName,
		Needs:     []string{cmdlet.ObjectName},
	}}
}
