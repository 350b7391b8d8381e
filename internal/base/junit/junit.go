// Package junit owns the form of JUnit's test reports, as CI systems read them
// (https://github.com/testmoapp/junitxml): suites of cases, written one suite after the other.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Message is why a case failed, could not be tried, or was skipped.
type Message struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Case is one test.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *Message `xml:"failure"`
	Error   *Message `xml:"error"`
	Skipped *Message `xml:"skipped"`
	Out     string   `xml:"system-out,omitempty"`
}

// suite is how a suite is written.
type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Cases    []Case   `xml:"testcase"`
}

// Writer writes a report.
type Writer struct {
	w     io.Writer
	name  string
	begun bool
}

// NewWriter writes to w the report of the program of that name.
func NewWriter(w io.Writer, name string) *Writer { return &Writer{w: w, name: name} }

// Suite writes a suite, whose numbers are counted from its cases.
func (w *Writer) Suite(name string, cases []Case) error {
	s := suite{
		Name:  name,
		Tests: len(cases),
		Cases: cases,
	}

	for _, c := range cases {
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
	}

	if err := w.begin(); err != nil {
		return err
	}
	text, err := xml.MarshalIndent(s, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = w.w.Write(append(text, '\n'))
	return err
}

func (w *Writer) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	_, err := fmt.Fprintf(w.w, "%s<testsuites name=%q>\n", xml.Header, w.name)
	return err
}

// Close ends the report.
func (w *Writer) Close() error {
	if err := w.begin(); err != nil {
		return err
	}
	_, err := io.WriteString(w.w, "</testsuites>\n")
	return err
}
