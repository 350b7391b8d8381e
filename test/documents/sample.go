package documents

import "strings"

// Document is a text that people read to begin with.
type Document struct {
	// Title and Page say which; Licence says whether its samples may lie here as they stand.
	Title   string
	Page    string
	Licence string
}

// Sample is a manifest or a command of a document.
type Sample struct {
	// ID names the sample in tests and results, for example "guide-webserver". That of a manifest is its file in
	// testdata too.
	ID       string
	Document Document
	// Heading is the part of the document in which it stands.
	Heading string
	Kind    Kind
	// Text is the command as the document has it, or what the document says to do if it has no command. A manifest's
	// is in its file.
	Text string
	// Origin says how near the sample here is to the document.
	Origin Origin
	// Values stand for what the document writes in angle brackets.
	Values map[string]string
	// With is the manifest that has to be applied while the command is tried.
	With string
	// File is the manifest's file below the repository if it is not testdata/ID.yaml.
	File string
	// Node is the name of the Windows build on which the sample's pods have to land; "" is ltsc2019.
	Node string
	// Bare samples are tried on a bare host, which TestFieldBareHost prepares, in the order of the table.
	Bare bool
	// Level and Why say what does not work, as it was seen by Steps; Why may qualify Works too.
	Level Level
	Why   string
	// Steps are what is done, in order; a manifest is applied before them and deleted after.
	Steps []Step
	// Refused is a pattern for the API server's refusal of a manifest that today's Kubernetes does not take.
	Refused string
}

// Kind says where a sample is meant to be used.
type Kind string

// The kinds of samples.
const (
	Manifest Kind = "manifest"
	InPod    Kind = "command in a pod"
	OnNode   Kind = "command on the node"
	Operator Kind = "command on the operator's machine"
	Settings Kind = "file of the node"
)

// Origin says how near a sample is to its document.
type Origin string

// The origins of samples.
const (
	// Verbatim samples are the document's text.
	Verbatim Origin = "verbatim"
	// Restored manifests are the document's text; lines that its copies have lost are put back.
	Restored Origin = "verbatim, lost lines put back"
	// Completed manifests have a part that is the document's, and what a pod needs besides it.
	Completed Origin = "a part of a manifest, completed"
	// Anew is a sample that does what the document's does, because the document's licence does not allow a copy here,
	// or because no copy was at hand.
	Anew Origin = "written anew"
	// Prose is an instruction without a command.
	Prose Origin = "an instruction in words"
)

// Level says how much of a sample works.
type Level string

// The levels.
const (
	Works  Level = "works"
	Partly Level = "partly"
	Not    Level = "does not work"
	NotRun Level = "not run"
)

// Step is one thing that is done with a sample, and what must be seen. It is repeated until that is seen.
type Step struct {
	On  Place
	Run string
	// Want is a pattern that what is printed has to match ((?s) is set).
	Want string
	// Fails says that the command has to end with an error.
	Fails bool
	// Pod is the pod, or deployment, of a step in one.
	Pod string
}

// Place is where a step runs.
type Place string

// The places.
const (
	// Shell is sh on the operator's machine, with kubectl, mullion and curl.
	Shell Place = "shell"
	// NodePowerShell is powershell on the Windows node, NodeCmd cmd.
	NodePowerShell Place = "node, powershell"
	NodeCmd        Place = "node, cmd"
	// PodPowerShell is powershell in the step's pod, PodCmd cmd.
	PodPowerShell Place = "pod, powershell"
	PodCmd        Place = "pod, cmd"
)

// Command returns the sample's text with the values in place of what the document writes in angle brackets.
func (s Sample) Command() string {
	text := s.Text
	for name, value := range s.Values {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// Path returns the manifest's file, relative to the repository.
func (s Sample) Path() string {
	if s.File != "" {
		return s.File
	}
	return "test/documents/testdata/" + s.ID + ".yaml"
}

// Samples returns the table, in the order of the page.
func Samples() []Sample {
	var all []Sample
	for _, samples := range [][]Sample{guide(), intro(), tasks(), usual(), handbook()} {
		all = append(all, samples...)
	}
	return all
}

// Within returns the samples that are tried while a manifest is applied.
func Within(id string) []Sample {
	var in []Sample
	for _, s := range Samples() {
		if s.With == id {
			in = append(in, s)
		}
	}
	return in
}
