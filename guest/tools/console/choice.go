package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mullion.dev/mullion/guest/tools/program"
)

// choiceBad is choice's exit code for an error.
const choiceBad = 255

// maxChoice is the longest that choice waits, in seconds.
const maxChoice = 9999

// choosing is what choice was asked for
// (https://learn.microsoft.com/windows-server/administration/windows-commands/choice).
type choosing struct {
	keys      string
	hidden    bool // the keys are not shown
	sensitive bool
	wait      int // seconds; below 0: for ever
	otherwise rune
	message   string
}

// Choice waits for one of some keys, and ends with its number.
func Choice(e program.Env, sys System, args []string) int {
	c, code := parseChoice(e, args)
	if code >= 0 {
		return code
	}
	fmt.Fprint(e.Stdout, c.prompt())
	key, err := c.read(e, sys)
	if err != nil {
		e.Print("")
		e.Complain("ERROR: The file is either empty or does not contain the valid choices.")
		return choiceBad
	}
	e.Print("%c", []rune(c.keys)[key])
	return key + 1
}

// parseChoice reads the arguments. The code is negative if there is something to wait for.
func parseChoice(e program.Env, args []string) (c choosing, code int) {
	c = choosing{keys: "YN", wait: -1}
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		name, value, has := strings.Cut(name, ":")
		if has {
			value = args[i][strings.IndexByte(args[i], ':')+1:]
		}

		switch {
		case is && name == "?":
			e.Print("CHOICE [/C choices] [/N] [/CS] [/T timeout /D choice] [/M text]")
			return c, 0
		case is && name == "n":
			c.hidden = true
			continue
		case is && name == "cs":
			c.sensitive = true
			continue

		case !is || len(name) != 1 || !strings.Contains("ctdm", name):
			e.Unknown("choice", args[i])
			return c, choiceBad
		}

		if !has {
			if i++; i == len(args) {
				e.Invalid("choice", "Value expected for '"+args[i-1]+"'.")
				return c, choiceBad
			}
			value = args[i]
		}

		if wrong := c.set(name, value); wrong != "" {
			e.Complain("ERROR: Invalid syntax. %s", wrong)
			return c, choiceBad
		}
	}

	return c.checked(e)
}

// set takes an option with its value; wrong is what is wrong with it.
func (c *choosing) set(name, value string) (wrong string) {
	switch name {
	case "c":
		c.keys = value
	case "m":
		c.message = value
	case "t":
		seconds, err := strconv.Atoi(value)
		if err != nil || seconds < 0 || seconds > maxChoice {
			return "Valid range for /t is (0 - 9999)."
		}
		c.wait = seconds

	case "d":
		letters := []rune(value)
		if len(letters) != 1 {
			return "Default choice is not found in the specified choices."
		}
		c.otherwise = letters[0]
	}

	return ""
}

// checked says what does not fit together.
func (c choosing) checked(e program.Env) (choosing, int) {
	if !c.sensitive {
		c.keys = strings.ToUpper(c.keys)
	}

	seen := map[rune]bool{}
	for _, k := range c.keys {
		if seen[k] || unicode.IsSpace(k) {
			e.Invalid("choice", "Duplicate choices are not allowed.")
			return c, choiceBad
		}
		seen[k] = true
	}

	switch {
	case c.keys == "":
		e.Invalid("choice", "Value expected for '/C'.")
		return c, choiceBad
	case (c.wait >= 0) != (c.otherwise != 0):
		e.Invalid("choice", "/T and /D belong together.")
		return c, choiceBad
	case c.otherwise != 0 && c.index(c.otherwise) < 0:
		e.Complain("ERROR: Invalid syntax. Default choice is not found in the specified choices.")
		return c, choiceBad
	}

	return c, -1
}

// index returns the place of a key among the choices; below 0: it is none.
func (c choosing) index(key rune) int {
	if !c.sensitive {
		key = unicode.ToUpper(key)
	}
	for i, k := range []rune(c.keys) {
		if k == key {
			return i
		}
	}
	return -1
}

// prompt is "text [Y,N]?".
func (c choosing) prompt() string {
	text := c.message
	if c.hidden {
		return text
	}
	if text != "" {
		text += " "
	}
	return text + "[" + strings.Join(strings.Split(c.keys, ""), ",") + "]?"
}

var errNoChoice = errors.New("the input ended without a choice")

// read waits for a key: on a console, or as a letter in what comes instead. When that ends, the time still counts.
func (c choosing) read(e program.Env, sys System) (int, error) {
	wait := time.Duration(c.wait) * time.Second
	if c.wait < 0 {
		wait = -1
	}

	end := time.Now().Add(wait)
	for {
		key, err := sys.Key(wait)
		if errors.Is(err, ErrNoConsole) {
			return c.input(e, wait)
		}
		if err != nil {
			return 0, err
		}

		if key == 0 {
			return c.index(c.otherwise), nil
		}
		if i := c.index(key); i >= 0 {
			return i, nil
		}

		fmt.Fprint(e.Stdout, "\a")
		if c.wait >= 0 {
			wait = max(0, time.Until(end))
		}
	}
}

// input reads letters from what is no console.
func (c choosing) input(e program.Env, wait time.Duration) (int, error) {
	found := make(chan int, 1)
	ended := make(chan error, 1)
	go func() {
		r := bufio.NewReader(e.Stdin)
		for {
			letter, _, err := r.ReadRune()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = errNoChoice
				}
				ended <- err
				return
			}

			if i := c.index(letter); i >= 0 {
				found <- i
				return
			}
		}
	}()

	if c.wait < 0 {
		select {
		case i := <-found:
			return i, nil
		case err := <-ended:
			return 0, err
		}
	}

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case i := <-found:
		return i, nil
	case <-timer.C:
		return c.index(c.otherwise), nil
	}
}
