package nettest

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Text prints the report for a person: a table, the documentation for each difference, and the number of differences.
func (r Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "FLOW\tPROTOCOL\tEXPECTED\tSEEN\tTIME\tRESULT")
	for _, x := range r.Results {
		took := ""
		if x.Outcome != Skipped {
			took = x.Took.Round(time.Millisecond).String()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", x.Flow, x.Protocol, x.Expected, x.Seen, took, x.Outcome)
	}

	if err := t.Flush(); err != nil {
		return err
	}

	told := map[Source]bool{}
	for _, x := range r.Results {
		if x.Outcome != Different || told[x.Source] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprint(w, "\nWhat was expected is documented at:\n")
		}
		told[x.Source] = true
		fmt.Fprintf(w, "  %s\n    %s\n", x.Source.Title, x.Source.URL)
	}

	_, err := fmt.Fprintf(w, "\n%d flows as documented, %d not, %d skipped (mode %s, profile %s)\n",
		r.Count(AsDocumented), r.Count(Different), r.Count(Skipped), r.Mode, r.Profile)
	return err
}

// JSON prints the report for a program.
func (r Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
