package arith

import "testing"

type variables map[string]string

func (v variables) Get(name string) string { return v[name] }

func (v variables) Set(name, value string) { v[name] = value }

func TestEvaluate(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int32
		err  string
	}{
		{text: "1+2*3", want: 7},
		{text: "(1+2)*3", want: 9},
		{text: "13/3", want: 4},
		{text: "-13/3", want: -4},
		{text: "5 % -3", want: 2},
		{text: "1 << -2", want: 0},
		{text: "-9 >> -2", want: -1},
		{text: "1<<4|3", want: 19},
		{text: "5 ^ 3", want: 6},
		{text: "6&3", want: 2},
		{text: "!0", want: 1},
		{text: "!7", want: 0},
		{text: "~5", want: -6},
		{text: "- -2", want: 2},
		{text: "0x1F", want: 31},
		{text: "0xFFFFFFFF", want: -1},
		{text: "010", want: 8},
		{text: "n", want: 5},
		{text: "none+1", want: 1},
		{text: "n+=2,n*2", want: 14},
		{text: "a=b=3", want: 3},
		{text: "text+1", want: 1},
		{text: "five+1", want: 6},
		{text: "2147483647+1", want: -2147483648},
		{text: `"1+1"`, want: 2},
		{text: "3, 8+3,0", want: 0},
		{text: "n^=1", want: 4},
		{text: "1/0", err: "Divide by zero error."},
		{text: "1%0", err: "Divide by zero error."},
		{text: "", err: "Missing operand."},
		{text: "1+", err: "Missing operand."},
		{text: "1 2", err: "Missing operator."},
		{text: "(1", err: "Unbalanced parenthesis."},
		{text: "1)", err: "Unbalanced parenthesis."},
		{text: "99999999999", err: "Invalid number.  Numbers are limited to 32-bits of precision."},
		{text: "08", err: "Invalid number.  Numeric constants are either decimal (17),\r\nhexadecimal (0x11), or octal (021)."},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := Evaluate(tt.text, variables{"n": "5", "text": "abc", "five": "5abc"})
			message := ""
			if err != nil {
				message = err.Error()
			}
			if got != tt.want || message != tt.err {
				t.Errorf("%d, %q, want %d, %q", got, message, tt.want, tt.err)
			}
		})
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"1+2*(3-4)", "a=b+=1", "((((", "1<<33", "!~-+5", "0x", "9,9,"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = Evaluate(text, variables{})
	})
}
