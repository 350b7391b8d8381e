package certificate

import (
	"errors"
	"io/fs"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The places that have stores.
const (
	userPlace    = "CurrentUser"
	machinePlace = "LocalMachine"
)

// The kinds of objects that are places and stores.
const (
	PlaceKind = "certificate location"
	StoreKind = "certificate store"
)

// providerName begins the paths of the drive.
const providerName = `Microsoft.PowerShell.Security\Certificate::`

func placeName(machine bool) string {
	if machine {
		return machinePlace
	}
	return userPlace
}

var onDrive = lazyregexp.New(`(?i)^(?:cert:|(?:microsoft\.powershell\.security\\)?certificate::)`)

// OnDrive reports whether a path is one of the drive Cert:.
func OnDrive(path string) bool { return onDrive.MatchString(path) }

// Node is what a path of the drive names: the drive itself, a place, a store or a certificate.
type Node struct {
	Place, Store string // "" above
	Certificate  []byte // nil above
}

// Machine reports whether it is, or lies in, a place of the machine.
func (n Node) Machine() bool { return n.Place == machinePlace }

// Find returns what a path of the drive names; with wild cards that may be several nodes, or none. fs.ErrNotExist is
// for what is not there.
func Find(stores system.Certificates, path string) ([]Node, error) {
	found := []Node{{}}
	rest := path[len(onDrive.FindString(path)):]
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '/' || r == '\\' }) {
		re, err := pattern.Wildcard(part)
		if err != nil {
			return nil, err
		}

		var deeper []Node
		for _, n := range found {
			below, err := n.below(stores, part)
			if err != nil {
				return nil, err
			}
			for _, one := range below {
				if re.MatchString(one.name()) {
					deeper = append(deeper, one)
				}
			}
		}

		if found = deeper; len(found) == 0 && !strings.ContainsAny(part, "*?[") {
			return nil, fs.ErrNotExist
		}
	}

	return found, nil
}

// below returns what is below a node. A store that Windows does not begin with is among the others if it is asked for.
func (n Node) below(stores system.Certificates, asked string) ([]Node, error) {
	children, err := n.Children(stores)
	if err != nil || n.Place == "" || n.Store != "" {
		return children, err
	}

	for _, one := range children {
		if strings.EqualFold(one.Store, asked) {
			return children, nil
		}
	}

	if _, err := stores.List(n.Machine(), asked); err == nil {
		children = append(children, Node{Place: n.Place, Store: asked})
	}

	return children, nil
}

// Children returns what is in a place or store.
func (n Node) Children(stores system.Certificates) ([]Node, error) {
	var all []Node
	switch {
	case n.Place == "":
		return []Node{{Place: userPlace}, {Place: machinePlace}}, nil
	case n.Store == "":
		for _, name := range stores.Names(n.Machine()) {
			all = append(all, Node{Place: n.Place, Store: name})
		}
	case n.Certificate == nil:
		list, err := stores.List(n.Machine(), n.Store)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // nothing has been added yet
		}

		for _, der := range list {
			all = append(all, Node{
				Place:       n.Place,
				Store:       n.Store,
				Certificate: der,
			})
		}

		return all, err
	}

	return all, nil
}

// name returns the last part of a node's path.
func (n Node) name() string {
	switch {
	case n.Certificate != nil:
		return Thumbprint(n.Certificate)
	case n.Store != "":
		return n.Store
	}
	return n.Place
}

// parent returns the path of the store or place that a node is in, as PSParentPath has it.
func (n Node) parent() string {
	switch {
	case n.Certificate != nil:
		return providerName + n.Place + `\` + n.Store
	case n.Store != "":
		return providerName + n.Place
	}
	return providerName
}

// Object returns a node as Get-Item gives it.
func (n Node) Object(stores system.Certificates) *object.Object {
	var o *object.Object
	switch {
	case n.Certificate != nil:
		o = Object(n.Certificate)
	case n.Store != "":
		o = object.New(StoreKind).Set("Name", n.Store)
	default:
		names := []object.Value{}
		for _, name := range stores.Names(n.Machine()) {
			names = append(names, name)
		}
		o = object.New(PlaceKind).Set("Location", n.Place).Set("StoreNames", names)
	}

	o.Props["psparentpath"], o.Props["pschildname"] = n.parent(), n.name()
	o.Props["pspath"] = strings.TrimSuffix(n.parent(), "::") + map[bool]string{true: "::", false: `\`}[n.Store == ""] + n.name()
	o.Props["psiscontainer"] = n.Certificate == nil
	return o
}
