package scope

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/words"
)

// mostAliases is how many aliases of aliases are followed.
const mostAliases = 16

// Meant returns a stage whose command is an alias that the session has made, with the command that it stands for.
func (s *Session) Meant(stage lang.Stage) lang.Stage {
	if len(s.aliases) == 0 || stage.X != nil || stage.Word == "" {
		return stage
	}
	for range mostAliases {
		of, there := s.aliases[strings.ToLower(stage.Word)]
		if !there {
			return stage
		}
		stage.Word, stage.Name = of, &lang.Literal{V: of}
	}

	return stage
}

// setAlias carries out Set-Alias and New-Alias, which makes only what is not there yet.
func setAlias(c *cmdlet.Call) error {
	s := of(c)
	name, meant := c.Text("name"), c.Text("value")
	_, there := aliasDrive{s}.Content(name)
	if there && c.Name == "New-Alias" && !c.Flags["force"] {
		return c.Fail(words.Errorf("The alias is not allowed, because an alias with the name '%s' already exists.", name))
	}
	s.Session.aliases[strings.ToLower(name)] = meant
	if !c.Flags["passthru"] {
		return nil
	}
	o, _ := aliasDrive{s}.Item(name)
	return c.Out.Put(o)
}

func aliasCmdlets() []cmdlet.Cmdlet {
	alias := func(name, about string, aliases ...string) cmdlet.Cmdlet {
		return cmdlet.Cmdlet{
			Name: name, Aliases: aliases, About: about, Run: setAlias,
			Values:    []string{"name", "value", "description", "option", "scope"},
			Flags:     []string{"force", "passthru"},
			Positions: []string{"name", "value"},
			Needs:     []string{"name", "value"},
		}
	}

	return []cmdlet.Cmdlet{
		alias("Set-Alias", "gives a command another name in this session; whatever -Scope says", "sal"),
		alias("New-Alias", "gives a command another name in this session that is not taken", "nal"),
	}
}
