package result

import (
	"bytes"
	_ "embed" // the table of causes
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Class is a class of causes of failures.
type Class string

// The classes of causes.
const (
	OurGap  Class = "our gap"        // Mullion does not do it, or does it wrong
	Windows Class = "Windows itself" // it fails on Windows Server too, or cannot work there
	Network Class = "needs Internet" // it reaches for something outside the cluster
	StandIn Class = "stand-in"       // an image's program is not upstream's
	Host    Class = "host"           // the machine was too slow or full, or its kernel lacks something
	Unknown Class = "unknown"        // nobody has looked yet
)

// Classes returns all classes in the order in which they are shown.
func Classes() []Class { return []Class{OurGap, StandIn, Network, Windows, Host, Unknown} }

// Cause says why a spec fails.
type Cause struct {
	// Spec, Message and Output are regular expressions for the spec's name, its failure's message and its output; an
	// empty one matches everything.
	Spec    string `yaml:"spec"`
	Message string `yaml:"message"`
	Output  string `yaml:"output"`
	Class   Class  `yaml:"class"`
	// Note says in a sentence what is wrong, Ref where to read more.
	Note string `yaml:"note"`
	Ref  string `yaml:"ref"`

	spec, message, output *regexp.Regexp
}

//go:embed causes.yaml
var causesYAML []byte

// Causes is the table of known causes; the first row that matches counts.
type Causes []Cause

// KnownCauses returns the table that is built into the program, causes.yaml.
func KnownCauses() (Causes, error) { return ParseCauses(causesYAML) }

// ParseCauses reads a table and checks it.
func ParseCauses(data []byte) (Causes, error) {
	var table struct {
		Causes Causes `yaml:"causes"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&table); err != nil {
		return nil, fmt.Errorf("parse table of causes: %w", err)
	}

	for i := range table.Causes {
		c := &table.Causes[i]
		if !slices.Contains(Classes(), c.Class) {
			return nil, fmt.Errorf("cause %d: class %q is none of %q", i+1, c.Class, Classes())
		}
		if c.Note == "" || (c.Spec == "" && c.Message == "" && c.Output == "") {
			return nil, fmt.Errorf("cause %d: a note, and a spec, a message or an output, are needed", i+1)
		}

		for _, e := range []struct {
			to   **regexp.Regexp
			text string
		}{{&c.spec, c.Spec}, {&c.message, c.Message}, {&c.output, c.Output}} {
			var err error
			if *e.to, err = regexp.Compile("(?s)" + e.text); err != nil {
				return nil, fmt.Errorf("cause %d: %w", i+1, err)
			}
		}
	}

	return table.Causes, nil
}

// Of returns the cause of a failed spec with its output.
func (c Causes) Of(s Spec, output string) Cause {
	for _, one := range c {
		if one.spec.MatchString(s.Name) && one.message.MatchString(s.Message) && one.output.MatchString(output) {
			return one
		}
	}
	return Cause{Class: Unknown, Note: "nobody has looked into it yet"}
}
