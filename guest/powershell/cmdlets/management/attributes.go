package management

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// attributeHidden is [IO.FileAttributes]::Hidden.
const attributeHidden = 2

// wantedAttributes are the attributes that an item must have to be listed, one of several sets of them, each with
// those that it must not have; nil: any.
type wantedAttributes []struct{ has, hasNot int64 }

// newWanted reads -Attributes, whose sets a comma separates, + within a set, and ! before what must not be there, and
// -Hidden, -ReadOnly and -System, each of which is needed
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/get-childitem).
func newWanted(c *cmdlet.Call) (wantedAttributes, error) {
	var all wantedAttributes
	of := object.EnumOf("IO.FileAttributes")
	for v := range object.Each(c.Values["attributes"]) {
		for set := range strings.SplitSeq(object.Text(v), ",") {
			one := struct{ has, hasNot int64 }{}
			for word := range strings.SplitSeq(set, "+") {
				name, not := strings.CutPrefix(strings.TrimSpace(word), "!")
				is, known := of.Named(longAttribute(name))
				if !known {
					return nil, object.Thrown("Cannot bind parameter 'Attributes'. Cannot convert value \"%s\" to type "+
						"\"System.Management.Automation.FlagsExpression`1[System.IO.FileAttributes]\".", object.Text(v))
				}
				if not {
					one.hasNot |= is.N
				} else {
					one.has |= is.N
				}
			}
			all = append(all, one)
		}
	}

	needed := int64(0)
	for name, bit := range map[string]int64{"readonly": 1, "hidden": attributeHidden, "system": 4} {
		if c.Flags[name] {
			needed |= bit
		}
	}
	if needed != 0 && all == nil {
		all = wantedAttributes{{}}
	}
	for i := range all {
		all[i].has |= needed
	}
	return all, nil
}

// longAttribute returns an attribute's whole name.
func longAttribute(name string) string {
	if long, is := map[string]string{"d": "Directory", "h": "Hidden", "r": "ReadOnly", "s": "System"}[strings.ToLower(name)]; is {
		return long
	}
	return name
}

// met reports whether an item with these attributes is listed.
func (w wantedAttributes) met(bits int64) bool {
	for _, one := range w {
		if bits&one.has == one.has && bits&one.hasNot == 0 {
			return true
		}
	}
	return w == nil
}

// mention reports whether an attribute is asked for, or asked not to be there.
func (w wantedAttributes) mention(bit int64) bool {
	for _, one := range w {
		if (one.has|one.hasNot)&bit != 0 {
			return true
		}
	}
	return false
}
