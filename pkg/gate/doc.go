// Package gate decides what a run proves: it puts the rules of a gate to a summary,
// compared with a baseline where they say so, and comes to a verdict, the exit code
// and the reasons for both. It reads nothing but what it is given, so that stored runs
// can be judged again.
package gate
