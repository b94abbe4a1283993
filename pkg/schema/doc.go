// Package schema compiles and applies JSON Schemas, above all those that an MCP
// server gives its tools.
//
// A schema is hostile text: nothing outside the document is ever loaded,
// whatever $ref or $schema says, and numbers too large to compute with are
// refused. Without $schema the draft is 2020-12, as MCP says. Numbers are exact.
package schema
