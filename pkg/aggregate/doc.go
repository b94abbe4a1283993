// Package aggregate turns attempts into results and results into verdicts.
//
// An [Aggregator] is the only writer of results: it gathers records and stores
// them in groups. [Summarize] makes the numbers of a run from its stored
// results in one pass, of which package gate decides what they prove, and
// [Fingerprint] says whether two runs came to the same.
package aggregate
