// Package wire is the bytes between us and an MCP server: JSON-RPC messages as
// they were sent, the process of a stdio server, and the HTTP exchanges of a
// URL server.
//
// It knows no MCP library. A [Process] owns a server's whole process tree and a
// [HTTP] round tripper sees every exchange; both let a [Tap] hear each message
// verbatim before a library decodes it, because typed decoding loses schemas,
// error data, ids and HTTP statuses, and those are what a tester needs.
//
// Three things see to it that no server outlives its owner: [Process.Stop]
// kills the process group, a guard child ([RunGuard]) kills it when the owner is
// killed, and [Sweep] finds what even that missed by a marker in the
// environment.
package wire
