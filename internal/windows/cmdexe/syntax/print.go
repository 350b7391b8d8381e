package syntax

import (
	"strconv"
	"strings"
)

// Text is a command as cmd.exe shows it before it runs it, while ECHO is on.
func Text(n Node) string {
	var b strings.Builder
	write(&b, n)
	return b.String()
}

func write(b *strings.Builder, n Node) {
	switch n := n.(type) {
	case *Quiet:
		write(b, n.Node)
	case *Remark:
		if !n.Label {
			b.WriteString(n.Text + " ")
		}
	case *Simple:
		text := strings.TrimLeft(n.Text, " \t,;=")
		b.WriteString(text)
		if strings.ContainsAny(text, " \t,;=") {
			b.WriteByte(' ')
		}
		writeRedirects(b, n.Redirects)
	case *Block:
		writeBlock(b, n)
	case *Sequence:
		for i, c := range n.Nodes {
			if i > 0 {
				b.WriteString(" & ")
			}
			write(b, c)
		}
	case *Binary:
		write(b, n.Left)
		b.WriteString(" " + n.Op + " ")
		write(b, n.Right)
	case *If:
		writeIf(b, n)
	case *For:
		writeFor(b, n)
	}
}

func writeBlock(b *strings.Builder, n *Block) {
	newline := ""
	if len(n.Body) > 1 {
		newline = "\r\n"
	}
	b.WriteString("(")
	for _, c := range n.Body {
		b.WriteString(newline)
		write(b, c)
	}
	b.WriteString(newline + ") ")
	writeRedirects(b, n.Redirects)
}

func writeRedirects(b *strings.Builder, redirects []Redirect) {
	for _, r := range redirects {
		b.WriteString(" " + strconv.Itoa(r.Handle) + r.Op)
		if r.Dup {
			b.WriteByte('&')
		}
		b.WriteString(r.Target + " ")
	}
}

func writeIf(b *strings.Builder, n *If) {
	b.WriteString("if ")
	if n.Fold {
		b.WriteString("/I ")
	}
	if n.Not {
		b.WriteString("not ")
	}
	switch n.Kind {
	case "exist", "defined", "errorlevel", "cmdextversion":
		b.WriteString(n.Kind + " " + n.Left + " ")
	default:
		b.WriteString(n.Left + " " + n.Kind + " " + n.Right + " ")
	}
	write(b, n.Then)
	if n.Else != nil {
		b.WriteString(" else ")
		write(b, n.Else)
	}
}

func writeFor(b *strings.Builder, n *For) {
	b.WriteString("for ")
	if n.Folders {
		b.WriteString("/D ")
	}
	if n.Kind != 0 {
		b.WriteString("/" + strings.ToUpper(string([]byte{n.Kind})) + " ")
	}
	if n.Option != "" {
		b.WriteString(n.Option + " ")
	}
	b.WriteString("%" + string([]byte{n.Variable}) + " in (" + n.Set + ") do ")
	write(b, n.Body)
}
