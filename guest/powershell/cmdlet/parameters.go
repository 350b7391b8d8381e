package cmdlet

// The names of parameters that several cmdlets have.
const (
	PathName    = "path"
	LiteralName = "literalpath"
	ObjectName  = "inputobject"
	MessageName = "message"
)

// OfPath adds the parameters that every cmdlet for paths has.
func OfPath(c Cmdlet) Cmdlet {
	c.Values = append([]string{PathName, LiteralName}, c.Values...)
	c.Positions = append([]string{PathName}, c.Positions...)
	if c.Takes == "" {
		c.Takes = PathName
	}
	return c
}

// OfMessage adds the parameters that every cmdlet for messages has.
func OfMessage(c Cmdlet) Cmdlet {
	c.Values = []string{MessageName}
	c.Positions = c.Values
	c.Takes = MessageName
	c.Needs = c.Values
	c.Stream = true
	return c
}
