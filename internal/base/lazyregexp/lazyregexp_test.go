package lazyregexp_test

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/base/testrun"
)

// TestSameAsRegexp calls every method there is, and its like in package regexp, with the same text.
func TestSameAsRegexp(t *testing.T) {
	const text, in = `(a+)(b)?`, "xaab aa b"
	lazy, plain := reflect.ValueOf(lazyregexp.New(text)), reflect.ValueOf(regexp.MustCompile(text))
	if lazy.NumMethod() == 0 {
		t.Fatal("no methods")
	}

	for m := range lazy.Type().Methods() {
		args := arguments(m.Type, in)
		got := lazy.MethodByName(m.Name).Call(args)
		want := plain.MethodByName(m.Name).Call(args)
		if !reflect.DeepEqual(got[0].Interface(), want[0].Interface()) {
			t.Errorf("%s: %v, want %v", m.Name, got[0], want[0])
		}
	}
}

// arguments gives a text, a function of texts, a number, or bytes for each parameter of a method.
func arguments(method reflect.Type, in string) []reflect.Value {
	var args []reflect.Value
	for i := 1; i < method.NumIn(); i++ {
		switch method.In(i).Kind() {
		case reflect.String:
			args = append(args, reflect.ValueOf(in))
		case reflect.Func:
			args = append(args, reflect.ValueOf(strings.ToUpper))
		case reflect.Int:
			args = append(args, reflect.ValueOf(-1))
		default:
			args = append(args, reflect.ValueOf([]byte(in)))
		}
	}

	return args
}

func TestManyAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	re := lazyregexp.New(`^a$`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if !re.MatchString("a") || re.MatchString("b") {
				t.Error("another answer beside others")
			}
		})
	}

	wg.Wait()
}

func TestBadTextPanicsAtItsFirstUse(t *testing.T) {
	re := lazyregexp.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()

	re.MatchString("")
}
