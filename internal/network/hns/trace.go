package hns

import "time"

// TracedCall is a call of HNS that a program has made.
type TracedCall struct {
	At   time.Time     `json:"at"`
	Took time.Duration `json:"tookNanoseconds"`
	// Client is the connection of the program, as an address of the host's loopback.
	Client string `json:"client"`
	// Function is the DLL's function, for example HcnCreateEndpoint; Object the GUID of what it is about.
	Function string `json:"function"`
	Object   string `json:"object,omitempty"`
	// Text are its texts: settings or a query; of HNSCall method, path and body.
	Text []string `json:"text,omitempty"`
	// Made is the GUID of what was made or opened, Reply the text of the answer, Listed how many objects it names.
	Made   string `json:"made,omitempty"`
	Reply  string `json:"reply,omitempty"`
	Listed int    `json:"listed,omitempty"`
	// Error says why it was refused.
	Error string `json:"error,omitempty"`
	// Dropped is how many calls before this one were not told, because they came too fast.
	Dropped int `json:"dropped,omitempty"`
}
