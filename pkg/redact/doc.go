// Package redact takes secrets out of text by their value, wherever they turn
// up: in an answer, an error, a URL, a line of stderr.
//
// A value is found as it is, as it looks inside JSON, inside a URL and inside
// base64, where it may sit behind other bytes as in "Basic dXNlcjpzZWNyZXQ=".
// In its place comes [secret NAME]. A value that somebody else has encrypted,
// hashed or cut in two is not found.
package redact
