// Package wevtutil owns wevtutil.exe, which lists, reads and clears the logs of events.
package wevtutil

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// exitParameter is ERROR_INVALID_PARAMETER, with which wevtutil ends if it is called wrongly.
const exitParameter = 87

// Run lists, reads and clears logs
// (https://learn.microsoft.com/windows-server/administration/windows-commands/wevtutil).
func Run(e program.Env, sys System, args []string) int {
	if len(args) == 0 || args[0] == "/?" || args[0] == "-?" {
		e.Print("Usage: wevtutil COMMAND [ARGUMENT [ARGUMENT] ...] [/OPTION:VALUE [/OPTION:VALUE] ...]\r\n\r\n" +
			"Commands:\r\n\r\nel | enum-logs\r\ngl | get-log LOG\r\ngli | get-log-info LOG\r\n" +
			"qe | query-events LOG [/q:QUERY] [/c:COUNT] [/rd:true|false] [/f:XML|Text] [/e:ELEMENT]\r\ncl | clear-log LOG")
		return 0
	}

	run := map[string]func(program.Env, System, []string) int{
		"el": listLogs, "enum-logs": listLogs, "gl": showLog, "get-log": showLog, "gli": showInfo, "get-log-info": showInfo,
		"qe": queryEvents, "query-events": queryEvents, "cl": clearLog, "clear-log": clearLog,
	}[strings.ToLower(args[0])]
	if run == nil {
		e.Complain("Invalid command: %s. Mullion's wevtutil has el, gl, gli, qe and cl.", args[0])
		return exitParameter
	}

	return run(e, sys, args[1:])
}

// logFailed prints why a log could not be used, and returns the number of the error.
func logFailed(e program.Env, what string, err error) int {
	if code, ok := errors.AsType[winerr.Code](err); ok {
		e.Complain("Failed to %s. %v", what, code)
		return int(code)
	}
	e.Complain("Failed to %s. %v", what, err)
	return 1
}

func listLogs(e program.Env, sys System, args []string) int {
	if len(args) > 0 {
		return badArgument(e, args[0])
	}
	names, err := sys.Logs()
	if err != nil {
		return logFailed(e, "enumerate channels", err)
	}
	for _, name := range names {
		e.Print("%s", name)
	}
	return 0
}

func badArgument(e program.Env, arg string) int {
	e.Complain("Invalid option or argument %s. It is not part of Mullion's wevtutil.", arg)
	return exitParameter
}

// oneLog returns the only argument of a command.
func oneLog(e program.Env, args []string) (string, bool) {
	switch {
	case len(args) == 0:
		e.Complain("Too few arguments provided to the command. The name of a log is missing.")
		return "", false
	case len(args) > 1:
		badArgument(e, args[1])
		return "", false
	}
	return args[0], true
}

func showLog(e program.Env, sys System, args []string) int {
	log, ok := oneLog(e, args)
	if !ok {
		return exitParameter
	}
	info, err := sys.Info(log)
	if err != nil {
		return logFailed(e, "read configuration for log "+log, err)
	}

	isolation := "Application"
	if strings.EqualFold(log, "System") || strings.EqualFold(log, "Security") {
		isolation = log
	}
	e.Print("name: %s\r\nenabled: true\r\ntype: Admin\r\nowningPublisher: \r\nisolation: %s\r\nlogging:\r\n  logFileName: %s", log,
		isolation, info.Path)
	e.Print("  retention: false\r\n  autoBackup: false\r\n  maxSize: %d\r\npublishing:\r\n  fileMax: 1", info.MaxBytes)
	return 0
}

func showInfo(e program.Env, sys System, args []string) int {
	log, ok := oneLog(e, args)
	if !ok {
		return exitParameter
	}
	info, err := sys.Info(log)
	if err != nil {
		return logFailed(e, "get log information for log "+log, err)
	}
	e.Print("fileSize: %d\r\nnumberOfLogRecords: %d\r\noldestRecordNumber: %d", info.Bytes, info.Records, info.Oldest)
	return 0
}

func clearLog(e program.Env, sys System, args []string) int {
	log, ok := oneLog(e, args)
	if !ok {
		return exitParameter
	}
	if err := sys.Clear(log); err != nil {
		return logFailed(e, "clear log "+log, err)
	}
	return 0
}

// listing is what query-events prints.
type listing struct {
	query   eventlog.Query
	most    int // 0: all
	text    bool
	element string
}

func queryEvents(e program.Env, sys System, args []string) int {
	var l listing
	for _, arg := range args {
		_, is := program.Option(arg)
		if !is && l.query.Log == "" {
			l.query.Log = arg
			continue
		}
		name, value, _ := strings.Cut(arg[min(len(arg), 1):], ":")
		if !is || !l.set(strings.ToLower(name), value) {
			return badArgument(e, arg)
		}
	}

	if l.query.Log == "" {
		oneLog(e, nil)
		return exitParameter
	}
	return l.run(e, sys)
}

// set takes an option and its value.
func (l *listing) set(name, value string) bool {
	switch name {
	case "q", "query":
		l.query.XPath = value
		return value != ""
	case "c", "count":
		n, err := strconv.Atoi(value)
		l.most = n
		return err == nil && n > 0

	case "rd", "reversedirection":
		l.query.Newest = strings.EqualFold(value, "true")
		return l.query.Newest || strings.EqualFold(value, "false")
	case "f", "format":
		l.text = strings.EqualFold(value, "text")
		return l.text || strings.EqualFold(value, "xml")
	case "e", "element":
		l.element = value
		return value != "" && xml.Unmarshal([]byte("<"+value+"/>"), new(struct{})) == nil
	}

	return false
}

func (l *listing) run(e program.Env, sys System) int {
	if l.element != "" && !l.text {
		e.Print("<%s>", l.element)
	}

	n := 0
	err := sys.Events(l.query, func(event eventlog.Event) bool {
		if l.text {
			printEvent(e, n, event)
		} else {
			e.Print("%s", event.XML)
		}
		n++
		return n != l.most
	})
	if err != nil {
		return logFailed(e, "query events", err)
	}

	if l.element != "" && !l.text {
		e.Print("</%s>", l.element)
	}
	return 0
}

func printEvent(e program.Env, number int, event eventlog.Event) {
	user, message := event.User, event.Message
	if user == "" {
		user = "N/A"
	}
	if message == "" {
		message = "N/A"
	}
	e.Print("Event[%d]:\r\n  Log Name: %s\r\n  Source: %s\r\n  Date: %s\r\n  Event ID: %d", number, event.Log, event.Provider,
		event.Time.UTC().Format("2006-01-02T15:04:05.0000000Z"), event.ID)
	e.Print("  Task: %s\r\n  Level: %s\r\n  Opcode: Info\r\n  Keyword: Classic\r\n  User: %s\r\n  User Name: %s\r\n  Computer: %s",
		taskName(event.Task), event.LevelName(), user, user, event.Computer)
	e.Print("  Description: \r\n%s\r\n", message)
}

func taskName(task uint16) string {
	if task == 0 {
		return "N/A"
	}
	return fmt.Sprint(task)
}
