// Package telemetry says what the farm tells of itself: the spans of a trial's
// trace, with their names and attributes, and its metrics. Where they go is the
// business of package export below it.
//
// A trial has one trace. Its id and those of the spans that several processes refer
// to are computed from the run and the ordinal, so that the scheduler, every attempt
// and every worker agree on them without asking anyone:
//
//	run {suite}                           the scheduler, when the run is done; the root of a trace of its own
//
//	trial {case}                          the scheduler, when the trial has its verdict; linked to the run
//	└ send {queue}                        the scheduler: one for each attempt, linked to the one before
//	  └ process {queue}                   the worker: one delivery
//	    ├ start {server}
//	    ├ invoke_agent {agent}            or script {case}, catalog {case}
//	    │ ├ wait {why}
//	    │ ├ chat {model}                  one for each call; one that is made again is linked to the one before
//	    │ └ execute_tool {tool}           its context is in _meta of the request
//	    ├ checks
//	    └ judge {check}                   in a delivery of its own
//
// Spans travel in contexts. Where nobody traces, a context has none, and every
// function here returns at once.
package telemetry
