// Package report makes documents of a run: what the terminal shows, JSON, JSON
// lines and JUnit. One file a format.
//
// Reports are made from summaries and stored results alone, so the same bytes
// come out whenever they are asked for. Names, messages, values and whatever
// else a suite, a server or a tool wrote is hostile: nothing of it reaches a
// reader without [Line] or the escapes of the format.
//
// The word "agent" is for agent cases. What scripts and catalogs show is that a
// server did what a suite asks, so their rates read "script 12/12 pass".
package report
