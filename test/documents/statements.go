package documents

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed statements.yaml
var statementsText []byte

// Area is a part of what the documents speak of.
type Area struct {
	Name string      `json:"name"`
	Rows []Statement `json:"rows"`
}

// Statement is something that documents say, or that follows from what they say.
type Statement struct {
	// Docs are the documents, by their names in Sources.
	Docs []string `json:"docs"`
	Says string   `json:"says"`
	Is   Level    `json:"is"`
	// Shown are the tests that show what works: Go tests as "PACKAGE TestName", "script NAME" of test/e2e/testdata, "rule ID" of
	// `mullion check`, "probe ID" of `mullion diagnose`, "net test", "suite NAME" of upstream's own tests, and
	// "sample ID" of Samples.
	Shown []string `json:"shown"`
	// Note says what is not so, and why.
	Note string `json:"note"`
}

// Sources returns the documents of the statements.
func Sources() map[string]Document {
	return map[string]Document{
		"intro":    {Title: "Intro to Windows support in Kubernetes, v1.14", Page: "https://v1-14.docs.kubernetes.io/docs/setup/production-environment/windows/intro-windows-in-kubernetes/"},
		"guide":    {Title: "Windows containers in Kubernetes, v1.20", Page: "https://v1-20.docs.kubernetes.io/docs/setup/production-environment/windows/"},
		"blog":     {Title: "Kubernetes on Windows (1): General Overview, 2019", Page: ""},
		"handbook": {Title: "Kubernetes handbook, Windows", Page: "https://github.com/feiskyer/kubernetes-handbook"},
		"KEP":      {Title: "KEP: Windows node support", Page: "https://github.com/kubernetes/enhancements/tree/master/keps/sig-windows/116-windows-node-support"},
	}
}

// Statements returns what the documents say, area by area.
func Statements() ([]Area, error) {
	var all []Area
	if err := yaml.UnmarshalStrict(statementsText, &all); err != nil {
		return nil, fmt.Errorf("read the statements: %w", err)
	}
	return all, nil
}

const statementsHead = `# What the documents say, and what of it is so here

Printed from [a table](../../test/documents/statements.yaml); ` + "`make update`" + ` writes it. The documents are:

`

// WriteStatements prints the page of the statements, each with the last runs of what shows it.
func WriteStatements(w io.Writer, areas []Area, runs Runs) error {
	var b strings.Builder
	b.WriteString(statementsHead)
	for _, name := range []string{"intro", "guide", "blog", "handbook", "KEP"} {
		d := Sources()[name]
		if d.Page == "" {
			fmt.Fprintf(&b, "* %s: %s\n", name, d.Title)
			continue
		}
		fmt.Fprintf(&b, "* %s: [%s](%s)\n", name, d.Title, d.Page)
	}

	b.WriteString(`
Tests are named that show what works, with their packages, and the last run of each whose result is kept:
date, commit and seconds. *Shown* are the statements of which a kept run has shown something and none has failed.
Tests that begin with ` + "`TestField`" + ` run by hand (CONTRIBUTING says how); one without a kept result was seen
to pass when it was written, and no more is known of it.

| area | works | of these shown | partly | does not work |
|---|---|---|---|---|
`)
	all, allShown := map[Level]int{}, 0
	for _, a := range areas {
		n, shown := map[Level]int{}, 0
		for _, s := range a.Rows {
			n[s.Is]++
			all[s.Is]++
			if s.Is == Works && runs.Shows(s) {
				shown++
			}
		}
		allShown += shown
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", a.Name, n[Works], shown, n[Partly], n[Not])
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d |\n", all[Works], allShown, all[Partly], all[Not])

	for _, a := range areas {
		fmt.Fprintf(&b, "\n## %s\n\n| what the documents say | documents | here | shown by, and when last | what is not so, and why |\n|---|---|---|---|---|\n", a.Name)
		for _, s := range a.Rows {
			is := string(s.Is)
			if s.Is == Works && !runs.Shows(s) {
				is += ", not shown"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(s.Says), strings.Join(s.Docs, ", "), is,
				runs.shownBy(s), cell(s.Note))
		}
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// cell returns a text in a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
