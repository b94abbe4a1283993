// Package stub is a model server for tests and drills: it speaks the wire
// formats of the providers over HTTP, and answers with a scripted model or with
// one fixed text. Latency, rate limits and faults are set by [Options], and
// GET /stats tells what was asked of it.
//
// A request is converted into an [llm.Request], answered by an [llm.Model], and
// converted back. There is one file for each wire format, and nothing but the
// conversion in it.
package stub
