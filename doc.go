// Package evalfarm is a distributed evaluation farm for MCP tools and the
// agents that use them. The command is in cmd/evalfarm, the pieces are under
// pkg, and docs/design.md says how they fit together.
package evalfarm
