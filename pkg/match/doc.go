// Package match compares what a server answered with what a suite expects, and
// finds values in answers.
//
// It works on trees as eval.Decode returns them: map[string]any, []any, string,
// bool, nil and json.Number.
//
// # Partial matching
//
// An expected object matches an object that has all its members, to any depth;
// other members do not matter. An expected array matches an array of the same
// length whose items match one by one. Numbers match by value and exactly: 1,
// 1.0 and 1e0 are the same, 9007199254740993 and 9007199254740992 are not.
// Strings, booleans and null match themselves. A missing member matches
// nothing, not even null.
//
// # Matchers
//
// An object with a $-key is a matcher object; all its matchers must hold:
//
//	$gte, $lte   a number that is at least, at most the operand
//	$regex       a string in which the RE2 expression is found
//	$any         true: any value, null included; a list: one of its items matches
//	$type        "string", "number", "integer", "boolean", "array", "object", "null"
//	$not         the value does not match the operand
//	$length      the number of items, members or characters: a number or a matcher
//	$contains    an array with an item that matches the operand, or a string
//	             that holds the operand
//
// A matcher says something about a value, so it never holds for a missing
// member. That a member is absent is said with expect_not.
package match
