// Package vars fills {{name}} placeholders in strings and in JSON values.
//
// A name is made of letters, digits, "_", "-" and ".", such as axis.tenant or
// row.id; spaces around it are allowed. {{{{ stands for a literal {{. A
// placeholder that is the whole of a JSON string is replaced by the value with
// its type kept, so "{{count}}" becomes 6 and not "6"; anywhere else the value
// becomes text.
//
// Filling is one pass: what was filled in is data, often from a server, and is
// never scanned for placeholders again.
package vars
