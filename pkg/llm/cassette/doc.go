// Package cassette keeps the answers of a model in files and plays them back, so
// that a suite runs again without a network, a key or a bill.
//
// A folder is for one model. Each call is a file in it,
// CASE/REPEAT-ROLE-HASH.json, with the request, for people and their diffs, and
// the answer or the error that came back. The hash is of the request and of
// whose it is: a repeat never gets the answer of another one, and a changed
// prompt, tool or setting is a miss, never somebody else's answer. The seed of a
// trial counts only where it is sent as a setting.
//
// Secrets are taken out before anything is hashed or written. Times, tries and
// the headers of an answer that nobody needs (cookies first of all) are left
// out, so that the same answers make the same files.
package cassette
