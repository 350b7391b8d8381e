package dockerfile

import (
	"fmt"
	"math"

	"github.com/containerd/errdefs"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Bounds of what the variables of a Dockerfile become, in bytes. A variable may have the one before it in it several
// times, so a few lines would fill any memory.
const (
	mostOfWord   = 1 << 20  // of a word
	mostOfWords  = 16 << 20 // of all words of a build
	mostOnTheWay = 1 << 28  // of what replacements of patterns make before a word is whole
)

// replacement begins what replaces each match of a pattern, ${NAME//PATTERN/WORD}. WORD may have others in it.
var replacement = lazyregexp.New(`\$\{[^{}:/]*//`)

// variables are those of a word. They give so many bytes and no more.
type variables struct {
	shell.EnvGetter
	left int
}

// Get implements shell.EnvGetter.
func (v *variables) Get(name string) (string, bool) {
	value, ok := v.EnvGetter.Get(name)
	if v.left -= len(value); v.left < 0 {
		return "", ok
	}
	return value, ok
}

// replaceVariables replaces the variables of a word.
func (b *builder) replaceVariables(lex *shell.Lex, word string, env []string) (string, error) {
	given := variables{shell.EnvsFromSlice(env), mostOfWord}

	// A replacement makes at most the product of what is replaced and what replaces it. So does each within another.
	if n := len(replacement.FindAllString(word, -1)); n > 0 {
		given.left = int(math.Pow(mostOnTheWay, 1/float64(n+1))) - len(word)
	}

	var value string
	var err error
	if given.left >= 0 {
		value, _, err = lex.ProcessWord(word, &given)
	}

	b.words += len(value)
	switch {
	case given.left < 0 || len(value) > max(mostOfWord, len(word)):
		return "", refuse(errdefs.ErrInvalidArgument,
			"a word has, or replaces, too much with its variables: %d KiB are the most", mostOfWord>>10)
	case b.words > mostOfWords:
		return "", refuse(errdefs.ErrInvalidArgument, "the file's words have more than %d MiB with their variables",
			mostOfWords>>20)
	case err != nil:
		return "", fmt.Errorf("%q: %w: %w", word, err, errdefs.ErrInvalidArgument)
	}

	return value, nil
}
