package logmonitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is what a configuration says that can be carried out.
type config struct {
	format    string // json, xml or custom
	channels  []channel
	files     []fileSource
	process   template
	providers []provider

	problems []string // what cannot be carried out, and where it is written
}

// channel is a log of events.
type channel struct {
	name      string
	levels    []int
	oldest    bool
	multiLine bool
	custom    template
}

// fileSource is a folder with files to follow.
type fileSource struct {
	dir        string
	filter     *regexp.Regexp
	recursive  bool
	namesFirst bool
	wait       time.Duration // negative: for ever
	custom     template
}

// defaultWait is how long a folder is waited for if the configuration says nothing.
const defaultWait = 300 * time.Second

// kind is the attribute that every source has.
type kind struct {
	Type string `json:"type"`
}

// parse reads a configuration. The error says why it cannot be used at all.
func parse(text []byte) (config, error) {
	var c config
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var whole struct {
		LogConfig *struct {
			LogFormat string            `json:"logFormat"`
			Sources   []json.RawMessage `json:"sources"`
		} `json:"LogConfig"`
	}

	if err := json.Unmarshal(text, &whole); err != nil {
		return c, at(text, err)
	}
	if whole.LogConfig == nil {
		return c, errors.New("it has no LogConfig")
	}
	if whole.LogConfig.Sources == nil {
		return c, errors.New("LogConfig has no list sources")
	}

	c.format = strings.ToLower(whole.LogConfig.LogFormat)
	if !slices.Contains([]string{formatJSON, formatXML, formatCustom}, c.format) {
		if c.format != "" {
			c.warn("LogConfig.logFormat is %q. The formats are JSON, XML and Custom; JSON is used", whole.LogConfig.LogFormat)
		}
		c.format = formatJSON
	}

	c.process = c.template("", defaultProcess, processFields())
	for i, raw := range whole.LogConfig.Sources {
		before := len(c.problems)
		if err := c.add(raw); err != nil {
			c.warn("%v. This source is left out", err)
		}
		for n := before; n < len(c.problems); n++ {
			c.problems[n] = fmt.Sprintf("LogConfig.sources[%d]: %s", i, c.problems[n])
		}
	}

	return c, nil
}

// warn notes a problem.
func (c *config) warn(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// add adds a source. The error says why it is left out.
func (c *config) add(raw json.RawMessage) error {
	if bytes.Equal(raw, []byte("null")) {
		return errors.New("it is null")
	}
	var of kind
	if err := json.Unmarshal(raw, &of); err != nil {
		return inWords(err)
	}

	switch strings.ToLower(of.Type) {
	case "eventlog":
		return c.addEventLog(raw)
	case "file":
		return c.addFile(raw)
	case "etw":
		return c.addETW(raw)
	case "process":
		return c.addProcess(raw)
	case "":
		return errors.New("it has no type")
	}

	return fmt.Errorf("its type is %q. The types are EventLog, File, ETW and Process", of.Type)
}

func (c *config) addEventLog(raw json.RawMessage) error {
	var s struct {
		kind
		StartAtOldestRecord  json.RawMessage `json:"startAtOldestRecord"`
		EventFormatMultiLine json.RawMessage `json:"eventFormatMultiLine"`
		CustomLogFormat      string          `json:"customLogFormat"`
		Channels             []struct {
			Name  string `json:"name"`
			Level string `json:"level"`
		} `json:"channels"`
	}

	if err := c.decode(raw, &s); err != nil {
		return err
	}
	oldest, err := boolean("startAtOldestRecord", s.StartAtOldestRecord, false)
	if err != nil {
		return err
	}

	multiLine, err := boolean("eventFormatMultiLine", s.EventFormatMultiLine, true)
	if err != nil {
		return err
	}
	if len(s.Channels) == 0 {
		return errors.New("channels names no log")
	}

	custom := c.template(s.CustomLogFormat, defaultEvent, eventFields())
	var channels []channel
	for i, one := range s.Channels {
		levels, err := levelsTo(one.Level)
		if err != nil {
			return fmt.Errorf("channels[%d].level is %w", i, err)
		}
		if one.Name == "" {
			return fmt.Errorf("channels[%d] has no name", i)
		}
		channels = append(channels, channel{one.Name, levels, oldest, multiLine, custom})
	}

	c.channels = append(c.channels, channels...)
	return nil
}

// levelNames returns the levels of events; the first is number 1.
func levelNames() []string { return []string{"Critical", "Error", "Warning", "Information", "Verbose"} }

// levelsTo returns the levels up to one, those up to Error if it is empty.
func levelsTo(name string) ([]int, error) {
	if name == "" {
		name = "Error"
	}
	var levels []int
	for i, known := range levelNames() {
		levels = append(levels, i+1)
		if strings.EqualFold(name, known) {
			return levels, nil
		}
	}
	return nil, fmt.Errorf("%q. The levels are %s", name, strings.Join(levelNames(), ", "))
}

func (c *config) addFile(raw json.RawMessage) error {
	var s struct {
		kind
		Directory             string          `json:"directory"`
		Filter                string          `json:"filter"`
		IncludeSubdirectories json.RawMessage `json:"includeSubdirectories"`
		IncludeFileNames      json.RawMessage `json:"includeFileNames"`
		WaitInSeconds         json.RawMessage `json:"waitInSeconds"`
		CustomLogFormat       string          `json:"customLogFormat"`
	}

	if err := c.decode(raw, &s); err != nil {
		return err
	}
	var f fileSource
	var root bool
	var err error
	if f.dir, root, err = folder(s.Directory); err != nil {
		return err
	}

	if f.filter, err = filter(s.Filter); err != nil {
		return err
	}
	if f.recursive, err = boolean("includeSubdirectories", s.IncludeSubdirectories, false); err != nil {
		return err
	}
	if root && f.recursive {
		return fmt.Errorf("includeSubdirectories cannot be true for the root directory %s", s.Directory)
	}

	if f.namesFirst, err = boolean("includeFileNames", s.IncludeFileNames, false); err != nil {
		return err
	}
	if f.wait, err = seconds(s.WaitInSeconds); err != nil {
		return err
	}
	f.custom = c.template(s.CustomLogFormat, defaultFile, fileFields())
	c.files = append(c.files, f)

	return nil
}

// folder returns a directory as it is opened, and whether it is the root of a drive.
func folder(dir string) (path string, root bool, err error) {
	if dir == "" {
		return "", false, errors.New("it has no directory")
	}
	path = strings.TrimRight(strings.ReplaceAll(dir, "/", `\`), `\`)
	if !regexp.MustCompile(`^[A-Za-z]:(\\|$)`).MatchString(path) || strings.ContainsRune(path, 0) {
		return "", false, fmt.Errorf(`directory is %q. It has to be absolute, as C:\logs is`, dir)
	}
	if len(path) == len("C:") {
		return path + `\`, true, nil
	}
	return path, false, nil
}

// filter makes a pattern of Windows, or several with ; between them, one that is compared with names.
func filter(text string) (*regexp.Regexp, error) {
	if strings.Trim(text, "; ") == "" {
		text = "*"
	}

	var all []string
	for one := range strings.SplitSeq(text, ";") {
		if one = strings.TrimSpace(one); one == "*.*" { // also fits names without a dot
			one = "*"
		}
		all = append(all, strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(one)))
	}

	re, err := regexp.Compile("(?is)^(" + strings.Join(all, "|") + ")$")
	if err != nil {
		return nil, errors.New("filter is too long") // nothing else of what regexp refuses is left in it
	}
	return re, nil
}

func (c *config) addProcess(raw json.RawMessage) error {
	var s struct {
		kind
		CustomLogFormat string `json:"customLogFormat"`
	}
	if err := c.decode(raw, &s); err != nil {
		return err
	}
	c.process = c.template(s.CustomLogFormat, defaultProcess, processFields())
	return nil
}

// boolean reads a value that is true or false, also in quotes.
func boolean(name string, raw json.RawMessage, otherwise bool) (bool, error) {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "", "null":
		return otherwise, nil
	}
	return false, fmt.Errorf("%s is %s. It has to be true or false", name, raw)
}

// seconds reads waitInSeconds: a number, also in quotes, or INFINITY.
func seconds(raw json.RawMessage) (time.Duration, error) {
	value := strings.ToLower(strings.Trim(string(raw), `"`))
	switch value {
	case "", "null":
		return defaultWait, nil
	case "inf", "infinity", "∞":
		return -1, nil
	}

	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 || math.IsNaN(n) {
		return 0, fmt.Errorf("waitInSeconds is %s. It has to be a number of seconds, 0 or more, or INFINITY", raw)
	}
	if n > math.MaxInt32 {
		return -1, nil
	}
	return time.Duration(n * float64(time.Second)), nil
}

// decode reads a source's attributes, and notes one that it does not know.
func (c *config) decode(raw json.RawMessage, to any) error {
	if err := json.Unmarshal(raw, to); err != nil {
		return inWords(err)
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(to); err != nil {
		c.warn("%s, which is no attribute of this type of source, has no effect", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// template reads a customLogFormat, and notes fields that the source does not have.
func (c *config) template(text, otherwise string, fields []string) template {
	if text == "" {
		text = otherwise
	}
	t, unknown := parseTemplate(text, fields)
	for _, name := range unknown {
		c.warn("customLogFormat has the field %%%s%%, which stays empty. The fields are %s", name, strings.Join(fields, ", "))
	}
	return t
}

// inWords says what a value of the wrong kind should be.
func inWords(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	name := wrong.Field
	if name == "" {
		name = "it"
	}
	is := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Slice: "a list", reflect.Struct: "an object", reflect.Pointer: "an object",
	}[wrong.Type.Kind()]
	return fmt.Errorf("%s has to be %s, and is of the kind %s", name, is, wrong.Value)
}

// at says in which line of a text its JSON is wrong.
func at(text []byte, err error) error {
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return inWords(err)
	}
	before := text[:min(max(wrong.Offset-1, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
