package logmonitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"mullion.dev/mullion/guest/etw"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// traceSession is the name of the session, which is Microsoft's: a second LogMonitor takes it over from the first.
const traceSession = "Log Monitor ETW Session"

// What says where an event's description is from, as lines name it (DECODING_SOURCE of tdh.h).
const (
	describesItself = "DecodingSourceTlg"
	byManifest      = "DecodingSourceXMLFile"
)

// provider is a provider of events, and what is said of it in the configuration.
type provider struct {
	etw.Provider
	name      string // empty: the events may tell it
	multiLine bool
	custom    template
}

// traced is what an entry has more of if it is an event of ETW.
type traced struct {
	providerID, decoding, id, keyword string
	process, thread                   uint32
	data                              []etw.Field
}

func (c *config) addETW(raw json.RawMessage) error {
	var s struct {
		kind
		EventFormatMultiLine json.RawMessage `json:"eventFormatMultiLine"`
		CustomLogFormat      string          `json:"customLogFormat"`
		Providers            []struct {
			ProviderName string          `json:"providerName"`
			ProviderGUID string          `json:"providerGuid"`
			Level        string          `json:"level"`
			Keywords     json.RawMessage `json:"keywords"`
		} `json:"providers"`
	}

	if err := c.decode(raw, &s); err != nil {
		return err
	}
	multiLine, err := boolean("eventFormatMultiLine", s.EventFormatMultiLine, true)
	if err != nil {
		return err
	}

	custom := c.template(s.CustomLogFormat, defaultTrace, traceFields())
	var providers []provider
	for i, one := range s.Providers {
		if one.ProviderGUID == "" && one.ProviderName != "" {
			c.warn("providers[%d], %s, has no providerGuid. There are no installed providers to find it in, so nothing comes from it",
				i, one.ProviderName)
			continue
		}
		id, err := guid.FromString(strings.Trim(strings.TrimSpace(one.ProviderGUID), "{}"))
		if err != nil {
			return fmt.Errorf("providers[%d].providerGuid is %q, which is no GUID", i, one.ProviderGUID)
		}

		levels, err := levelsTo(one.Level)
		if err != nil {
			return fmt.Errorf("providers[%d].level is %w", i, err)
		}
		keywords, err := keywordsOf(one.Keywords)
		if err != nil {
			return fmt.Errorf("providers[%d].%w", i, err)
		}

		p := etw.Provider{
			ID:    id,
			Level: byte(len(levels)),
			Any:   keywords,
		}
		providers = append(providers, provider{p, one.ProviderName, multiLine, custom})
	}

	if len(s.Providers) == 0 {
		return errors.New("providers names no provider")
	}
	c.providers = append(c.providers, providers...)
	return nil
}

// keywordsOf reads keywords: a number, also in quotes and with 0x.
func keywordsOf(raw json.RawMessage) (uint64, error) {
	text := strings.TrimSpace(strings.Trim(string(raw), `"`))
	if text == "" || text == "null" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("keywords is %s. It has to be a number, as 0x10 is", raw)
	}
	return n, nil
}

// trace begins to print the events of providers.
func (m *monitor) trace(providers []provider) {
	known := map[guid.GUID]provider{}
	var asked []etw.Provider
	for _, p := range providers {
		if _, twice := known[p.ID]; !twice {
			known[p.ID] = p
			asked = append(asked, p.Provider)
		}
	}
	if len(asked) == 0 {
		return
	}

	told := map[guid.GUID]bool{}
	stop, err := m.system.Trace(traceSession, asked, func(r etw.Record) {
		p := known[r.Provider]
		e, err := p.entry(&r)
		if err != nil && !told[r.Provider] {
			told[r.Provider] = true
			m.complain("WARNING: An event of the provider %s cannot be read whole: %s It is told once.", e.traced.providerID, sentence(err))
		}
		m.print(e, p.custom)
	})
	if err != nil {
		m.complain("ERROR: Starting the session for ETW: %s No events of ETW are monitored.", sentence(err))
		return
	}

	m.stopTrace = stop
}

// endTrace prints the events that are still to come, and ends the session.
func (m *monitor) endTrace() {
	if m.stopTrace == nil {
		return
	}
	lost, err := m.stopTrace()
	m.stopTrace = nil
	if err != nil {
		m.complain("WARNING: Stopping the session for ETW: %s", sentence(err))
	}
	if lost > 0 {
		m.complain("WARNING: %d events of ETW were lost, as they came faster than they were printed.", lost)
	}
}

// entry returns an event to print. The error says why not all of its fields are there.
func (p *provider) entry(r *etw.Record) (entry, error) {
	t := &traced{
		providerID: etw.Braced(r.Provider), decoding: byManifest, id: fmt.Sprint(r.ID),
		keyword: fmt.Sprintf("0x%x", r.Keyword), process: r.Process, thread: r.Thread,
	}

	e := entry{
		from:     fromETW,
		time:     r.Time,
		provider: p.name,
		level:    traceLevel(r.Level),
		traced:   t,
	}

	var err error
	switch {
	case r.Schema != nil:
		var d etw.Description
		d, err = r.Describe()
		t.decoding = describesItself
		t.id = ""
		t.data = d.Fields
		if d.Provider != "" {
			e.provider = d.Provider
		}

	case r.StringOnly:
		t.data = []etw.Field{{Name: "Header", Value: r.Text()}}
	case len(r.Data) > 0:
		t.data = []etw.Field{{Name: "Data", Value: r.Hex()}}
	}

	if !p.multiLine {
		for i := range t.data {
			t.data[i].Value = oneLine(t.data[i].Value)
		}
	}

	return e, err
}

func traceLevel(level byte) string {
	if level == 0 {
		return "None"
	}
	if names := levelNames(); int(level) <= len(names) {
		return names[level-1]
	}
	return fmt.Sprint(level)
}

// json returns the event as Microsoft's program prints it (EtwJsonFormat in EtwMonitor.cpp).
func (t *traced) json(e entry) string {
	data := make([]string, 0, len(t.data))
	for _, f := range t.data {
		value := f.Value
		if !isNumber(value) {
			value = `"` + escaped(value) + `"`
		}
		data = append(data, `"`+escaped(f.Name)+`":`+value)
	}
	return fmt.Sprintf(`{"Source":"ETW","LogEntry":{"Time":"%s","ProviderName":"%s","ProviderId":"%s","DecodingSource":"%s",`+
		`"Execution":{"ProcessId":%d,"ThreadId":%d},"Level":"%s","Keyword":"%s","EventId":"%s","EventData":{%s}},"SchemaVersion":"1.0.0"}`,
		stamp(e.time), escaped(e.provider), t.providerID, t.decoding, t.process, t.thread, e.level, t.keyword, t.id,
		strings.Join(data, ","))
}

// isNumber reports whether JSON has a text without quotes.
func isNumber(text string) bool {
	return regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`).MatchString(text)
}

// xml returns the event as Microsoft's program prints it (EtwXMLFormat).
func (t *traced) xml(e entry) string {
	var data strings.Builder
	for _, f := range t.data {
		name := tagName(f.Name)
		fmt.Fprintf(&data, "<%s>%s</%s>", name, content(f.Value), name)
	}
	return fmt.Sprintf("<Log><Source>ETW</Source><LogEntry><Time>%s</Time>"+
		"<ProviderName>%s</ProviderName><ProviderId>%s</ProviderId>"+
		"<DecodingSource>%s</DecodingSource>"+
		"<Execution><ProcessId>%d</ProcessId><ThreadId>%d</ThreadId></Execution><Level>%s</Level>"+
		"<Keyword>%s</Keyword><EventId>%s</EventId><EventData>%s</EventData></LogEntry></Log>",
		stamp(e.time), content(e.provider), t.providerID, t.decoding, t.process, t.thread, e.level, t.keyword, t.id,
		data.String())
}

// tagName returns a name as XML has it for tags: letters, digits and a few signs, and a letter first.
func tagName(name string) string {
	name = lazyregexp.New(`[^\pL\pN_.-]`).ReplaceAllString(name, "_")
	if !regexp.MustCompile(`^[\pL_]`).MatchString(name) {
		name = "_" + name
	}
	return name
}

// value returns a field for a custom format.
func (t *traced) value(field string) string {
	switch field {
	case providerID:
		return t.providerID
	case decodingSource:
		return t.decoding
	case processID:
		return fmt.Sprint(t.process)
	case threadID:
		return fmt.Sprint(t.thread)
	case keyword:
		return t.keyword
	case traceEventID:
		return t.id
	case eventData:
		var b strings.Builder
		for _, f := range t.data {
			b.WriteString(f.Name + ": " + f.Value + " ")
		}
		return b.String()
	}

	return ""
}
