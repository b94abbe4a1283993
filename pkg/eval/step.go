package eval

import "time"

// A Step is one scripted call or resource read and what its answer must
// satisfy. Exactly one of Call and Read is set.
type Step struct {
	// ID names the step inside its case; the loader numbers unnamed steps.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Call is a tool's name.
	Call string `json:"call,omitempty"`
	// Arguments of the call: a JSON object, or empty.
	Arguments JSON `json:"arguments,omitempty"`
	// Read is the exact, opaque URI of a resource.
	Read string `json:"read,omitempty"`

	// Expect must match the value partially; it may hold matchers.
	Expect JSON `json:"expect,omitempty"`
	// ExpectNot must not match the value.
	ExpectNot JSON `json:"expect_not,omitempty"`
	// ExpectText must match the answer's text: a string for equality, or an
	// object of matchers.
	ExpectText JSON `json:"expect_text,omitempty"`
	// ExpectCount is the number of items of an array, or of content blocks.
	ExpectCount *int `json:"expect_count,omitempty"`
	// ExpectError asks for a rejection instead of a value.
	ExpectError *ExpectError `json:"expect_error,omitempty"`

	// Extract puts values of the answer into variables: name to JSON path.
	Extract map[string]string `json:"extract,omitempty"`
	// RepeatUntil polls: the call is made again until a value appears.
	RepeatUntil *RepeatUntil `json:"repeat_until,omitempty"`
	// Collect follows a paged answer; the step's value is all items.
	Collect *Collect `json:"collect,omitempty"`
}

// ExpectError describes the rejection that a step wants. Only a real rejection
// satisfies it, never a transport failure.
type ExpectError struct {
	// Kind of rejection; empty means ErrorAny.
	Kind ErrorKind `json:"kind,omitempty"`
	// Contains is a text that the message must hold.
	Contains string `json:"contains,omitempty"`
	// Code is the JSON-RPC error code that a protocol rejection must have.
	Code *int `json:"code,omitempty"`
}

// An ErrorKind is a dialect in which a server rejects a call.
type ErrorKind string

const (
	// ErrorAny accepts a tool or a protocol rejection.
	ErrorAny ErrorKind = "any"
	// ErrorTool is a result with isError.
	ErrorTool ErrorKind = "tool"
	// ErrorProtocol is a JSON-RPC error answer.
	ErrorProtocol ErrorKind = "protocol"
	// ErrorUnknownTool is a call of a tool that the listing does not have.
	ErrorUnknownTool ErrorKind = "unknown_tool"
)

// RepeatUntil makes a call again until the value at Path equals Equals.
type RepeatUntil struct {
	Path   string `json:"path"`
	Equals JSON   `json:"equals"`
	// Max calls in all, the first included. Zero means 10.
	Max int `json:"max,omitempty"`
	// Every is the wait between calls. Zero means 1 s.
	Every time.Duration `json:"every_ns,omitempty"`
}

// Collect follows a cursor over the pages of an answer.
type Collect struct {
	// Items is the JSON path of a page's array.
	Items string `json:"items"`
	// Next is the JSON path of the cursor; missing, null or "" ends the list.
	Next string `json:"next"`
	// Argument receives the cursor. Empty means "cursor".
	Argument string `json:"argument,omitempty"`
	// Max pages. Zero means 20; reaching it fails the step.
	Max int `json:"max,omitempty"`
	// Unique is a JSON path inside an item whose values must not repeat.
	Unique string `json:"unique,omitempty"`
	// SameAs names a variable that holds the list which the pages must add up
	// to, in the same order.
	SameAs string `json:"same_as,omitempty"`
}
