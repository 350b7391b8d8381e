package lang

// sections reads begin { … }, process { … } and end { … }, if the script has them instead of statements.
func (p *parser) sections(s *Script) error {
	seen := map[string]bool{}
	for {
		p.space()
		for p.take(";") {
			p.space()
		}

		word := p.keyword("begin", "process", "end", "dynamicparam")
		if word == "" {
			return nil
		}
		if seen[word] {
			return p.refuse("DuplicateScriptCommandClause", "Script command clause '%s' has already been defined.",
				word)
		}

		seen[word] = true
		p.space()
		b, err := p.braces()
		if err != nil {
			return err
		}

		s.Sections = true
		switch word {
		case "begin":
			s.Begin = b
		case "process":
			s.Process = b
		case "dynamicparam":
			s.Dynamic = b
		default:
			s.Body = b
		}
	}
}
