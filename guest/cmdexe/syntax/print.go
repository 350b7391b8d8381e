package syntax

import (
	"strconv"
	"strings"
)

// Text returns a command as cmd.exe shows it before it runs it, while ECHO is on. fill gives each of its texts as it is
// by then.
func Text(n Node, fill func(text string) string) string {
	p := &printer{fill: fill}
	p.write(n)
	return p.String()
}

type printer struct {
	strings.Builder
	fill func(text string) string
}

func (p *printer) write(n Node) {
	switch n := n.(type) {
	case *Quiet:
		p.write(n.Node)
	case *Remark:
		if !n.Label {
			p.WriteString(n.Text + " ")
		}

	case *Simple:
		text := p.fill(strings.TrimLeft(n.Text, " \t,;="))
		p.WriteString(text)
		if strings.ContainsAny(text, " \t,;=") {
			p.WriteByte(' ')
		}
		p.writeRedirects(n.Redirects)

	case *Block:
		p.writeBlock(n)
	case *Sequence:
		for i, c := range n.Nodes {
			if i > 0 {
				p.WriteString(" & ")
			}
			p.write(c)
		}

	case *Binary:
		p.write(n.Left)
		p.WriteString(" " + n.Op + " ")
		p.write(n.Right)
	case *If:
		p.writeIf(n)
	case *For:
		p.writeFor(n)
	}
}

func (p *printer) writeBlock(n *Block) {
	newline := ""
	if len(n.Body) > 1 {
		newline = "\r\n"
	}
	p.WriteString("(")
	for _, c := range n.Body {
		p.WriteString(newline)
		p.write(c)
	}
	p.WriteString(newline + ") ")
	p.writeRedirects(n.Redirects)
}

func (p *printer) writeRedirects(redirects []Redirect) {
	for _, r := range redirects {
		p.WriteString(" " + strconv.Itoa(r.Handle) + r.Op)
		if r.Dup {
			p.WriteByte('&')
		}
		p.WriteString(p.fill(r.Target) + " ")
	}
}

func (p *printer) writeIf(n *If) {
	p.WriteString("if ")
	if n.Fold {
		p.WriteString("/I ")
	}
	if n.Not {
		p.WriteString("not ")
	}

	switch n.Kind {
	case "exist", "defined", "errorlevel", "cmdextversion":
		p.WriteString(n.Kind + " " + p.fill(n.Left) + " ")
	default:
		p.WriteString(p.fill(n.Left) + " " + n.Kind + " " + p.fill(n.Right) + " ")
	}

	p.write(n.Then)
	if n.Else != nil {
		p.WriteString(" else ")
		p.write(n.Else)
	}
}

func (p *printer) writeFor(n *For) {
	p.WriteString("for ")
	if n.Folders {
		p.WriteString("/D ")
	}
	if n.Kind != 0 {
		p.WriteString("/" + strings.ToUpper(string([]byte{n.Kind})) + " ")
	}

	if n.Option != "" {
		p.WriteString(p.fill(n.Option) + " ")
	}
	p.WriteString("%" + string([]byte{n.Variable}) + " in (" + p.fill(n.Set) + ") do ")
	p.write(n.Body)
}
