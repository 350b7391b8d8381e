package hns

// mostAnswered is how many answers to requests are kept. Whoever sends a request again does so within a second of the
// start of the server, which answers a few hundred in that time.
const mostAnswered = 1024

// mostText bounds the answers that are kept, in bytes of their texts. An answer can be as long as its request, and is
// kept beside what it made, also when that is gone. The longest that programs of the field get have some thousand.
const mostText = 8 << 20

// Answered is the answer to a request that has changed something. It is stored together with the change: a request that
// is sent again, since the server ended before its answer came, is answered by it, and changes nothing more.
type Answered struct {
	Name   string `json:"name"`
	Object string `json:"object,omitempty"`
	Text   string `json:"text,omitempty"`
}

// remembered are the latest answers, in their order.
type remembered struct {
	order []string
	known map[string]Answered
	bytes int // of their texts
	// pending is the one to the request that is being carried out; nil: it has no name, or changes nothing.
	pending *Answered
}

// find returns the answer to a request that has been carried out.
func (a *remembered) find(name string) (Reply, bool) {
	one, known := a.known[name]
	return Reply{Object: one.Object, Text: one.Text}, known
}

// keep keeps an answer, and forgets the oldest ones for it, if they are too many or too long.
func (a *remembered) keep(one Answered) {
	if a.known == nil {
		a.known = map[string]Answered{}
	}
	if _, known := a.known[one.Name]; known {
		return
	}

	a.known[one.Name] = one
	a.order = append(a.order, one.Name)
	a.bytes += len(one.Text)
	for len(a.order) > mostAnswered || a.bytes > mostText {
		a.bytes -= len(a.known[a.order[0]].Text)
		delete(a.known, a.order[0])
		a.order = a.order[1:]
	}
}

// commit keeps the pending answer.
func (a *remembered) commit() {
	if a.pending != nil {
		a.keep(*a.pending)
	}
	a.pending = nil
}

// all returns the answers, with the pending one.
func (a *remembered) all() []Answered {
	all := make([]Answered, 0, len(a.order)+1)
	for _, name := range a.order {
		all = append(all, a.known[name])
	}
	if a.pending != nil {
		all = append(all, *a.pending)
	}
	return all
}
