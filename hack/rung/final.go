package main

import (
	"regexp"
	"strings"
)

// A second try tells a test that fails by chance, as on a machine that is busy, from one that fails. It does not suit a
// test of what must never happen: an attack that gets somewhere once in ten times gets there, and a line that is lost
// once is lost.

// finalKind is a kind of tests that have no second try.
type finalKind struct {
	// pkg and test are what the package's path, below the module, and the test's name have to match; nil: any.
	pkg, test *regexp.Regexp
	why       string
}

// words are words in the names of tests, as they are written there: a part begins with one, or it follows a small
// letter.
func words(list string) *regexp.Regexp {
	return regexp.MustCompile(`(^Test|/|[a-z0-9_])(` + list + `)`)
}

// finalKinds returns the kinds of tests that have no second try.
func finalKinds() []finalKind {
	return []finalKind{
		{regexp.MustCompile(`^test/attack$`), nil, "an attack that succeeds once succeeds"},
		{
			nil, words(`Attack|Hostile|Evil|Forg(ed|ing|e[A-Z]|e\b)|Spoof|Escape|Malicious|Planted|Secret|NoLinks`),
			"an attack that succeeds once succeeds",
		},
		{
			nil, words(`Swap|Rac(e|es|ing)\b|Race[A-Z]|AtOnce|Concurrent|InParallel|While[A-Z]`),
			"a race that is lost once is there",
		},
		{
			nil, words(`Los(s|t|e|es)\b|Los(t|e|es)[A-Z]|Killed|Kills|Crash|[Cc]haos|Restart|Recover|Interrupted`),
			"what is lost once is lost",
		},
		{
			nil, words(`Leak|Leftover|Traces|NothingBehind|LeavesNothing|[Ll]eft`),
			"what is left behind once is left behind",
		},
		{nil, words(`Order|[Oo]rdered`), "what comes in a wrong order once has no order"},
		{
			regexp.MustCompile(`^test/e2e$`), regexp.MustCompile(`^TestCluster/(network|services|policies|grow)($|/)`),
			"it holds after what ran before it, which does not run again",
		},
		{
			regexp.MustCompile(`^test/machines$`), regexp.MustCompile(`^TestMachines/`),
			"its steps follow from each other",
		},
		{
			regexp.MustCompile(`^test/e2e$`), regexp.MustCompile(`^TestConformance`),
			"its specs have a second attempt of their own",
		},
	}
}

// mark is what a test logs whose name does not say that it has no second try, and then why.
const mark = "no second try: "

// final says why a failed test has no second try, "" if it has one.
func (r *result) final(f failure) string {
	pkg := strings.TrimPrefix(f.pkg, module)
	for _, k := range finalKinds() {
		if (k.pkg == nil || k.pkg.MatchString(pkg)) && (k.test == nil || k.test.MatchString(f.test)) {
			return k.why
		}
	}

	for test := f.test; ; { // a test says it for its parts
		if out := r.output[f.pkg+" "+test]; out != nil {
			if _, why, ok := strings.Cut(out.String(), mark); ok {
				why, _, _ = strings.Cut(why, "\n")
				return why
			}
		}
		end := strings.LastIndexByte(test, '/')
		if end < 0 {
			return ""
		}
		test = test[:end]
	}
}
