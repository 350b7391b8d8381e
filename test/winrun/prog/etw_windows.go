package main

import (
	"errors"

	"github.com/Microsoft/go-winio/pkg/etw"
	"github.com/Microsoft/go-winio/pkg/guid"
)

// writeEvents writes events of TraceLogging: some that the test's session asks for, and some that it does not. Each of
// them says nothing if nobody listens.
func writeEvents([]string) error {
	id, err := guid.FromString("b0d4d5b3-2a1f-4d0e-8b9a-3f2c1d0e9f8a")
	if err != nil {
		return err
	}
	p, err := etw.NewProviderWithID("Winrun.Test", id, nil)
	if err != nil {
		return err
	}

	write := func(name string, level etw.Level, keyword uint64, fields ...etw.FieldOpt) {
		options := etw.WithEventOpts(etw.WithLevel(level), etw.WithKeyword(keyword))
		err = errors.Join(err, p.WriteEvent(name, options, fields))
	}
	write("Other keyword", etw.LevelError, 4, etw.StringField("text", "not asked for"))
	write("Late", etw.LevelWarning, 2, etw.StringField("text", `it is "late"`), etw.Int64Field("number", 7))
	write("Verbose", etw.LevelVerbose, 2, etw.StringField("text", "not asked for"))
	write("End", etw.LevelAlways, 0, etw.BoolField("end", true))

	return errors.Join(err, p.Close())
}
