// Package eval holds the nouns of evalfarm: suites, cases, trials, trajectories,
// scores, results, runs and summaries.
//
// The types are plain data. They import only the standard library, do no I/O
// and read no clock. Their JSON form is the one form: the same tags serve the
// queue, the stored blob, the exported record and the JSON report. Keys are
// snake_case full words; durations and money carry their unit.
//
// JSON values that come from a suite or a server (arguments, expectations,
// results) are kept as raw bytes of type [JSON], so that integers beyond 2^53
// and the order of keys survive; [Decode] turns them into a tree with
// [encoding/json.Number] leaves.
package eval
