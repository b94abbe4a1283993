package eval

import "time"

// A Server is one MCP server as a suite declares it: a command to start or a
// URL to reach, never both. Its strings may hold ${{ secrets.NAME }}
// references, which only the worker resolves.
type Server struct {
	// Registered is the name under which the farm's operator has registered it. Empty
	// means that the suite, or the command line, says what runs.
	Registered string `json:"registered,omitempty"`
	// Command is the argument vector of a stdio server. "evalfarm" as its first
	// word means the running executable. In a container it is what is given to the
	// image, and may be empty.
	Command []string `json:"command,omitempty"`
	// URL of an HTTP server.
	URL string `json:"url,omitempty"`
	// Transport of a URL: TransportHTTP or TransportSSE. Empty means HTTP.
	Transport Transport `json:"transport,omitempty"`
	// Headers are sent with every HTTP request.
	Headers map[string]string `json:"headers,omitempty"`
	// Env is added to the bare environment of the process. The worker's own
	// environment never reaches a server, but for PATH, HOME and the like.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the working directory of the process; empty means the folder of
	// the suite file.
	Dir string `json:"cwd,omitempty"`
	// Revision of the server under test, for comparability between runs. It is
	// not the MCP revision.
	Revision string `json:"revision,omitempty"`
	// StartTimeout bounds process start plus initialize. Zero means 60 s.
	StartTimeout time.Duration `json:"start_timeout_ns,omitempty"`
	// CallTimeout bounds one request. Zero means 30 s.
	CallTimeout time.Duration `json:"call_timeout_ns,omitempty"`
	// CloseTimeout is how long a closed server may take before it is killed.
	// Zero means 2 s.
	CloseTimeout time.Duration `json:"close_timeout_ns,omitempty"`
	// Isolation says who shares a session. Empty means IsolationShared for
	// script and catalog cases.
	Isolation Isolation `json:"isolation,omitempty"`
	// UnderTest makes a crash of this server the agent's failure instead of an
	// error. Script and catalog cases always test their server.
	UnderTest bool `json:"under_test,omitempty"`
	// Container to run the server in. Its zero value means none.
	Container Container `json:"container,omitzero"`
	// Requires lists the capabilities that a worker must have to start or reach the
	// server. It changes nothing that is observed, so it is no part of the content.
	Requires []string `json:"-"`
}

// A Transport is how MCP messages travel to a URL.
type Transport string

const (
	// TransportHTTP is Streamable HTTP.
	TransportHTTP Transport = "http"
	// TransportSSE is the legacy HTTP+SSE transport of revision 2024-11-05.
	TransportSSE Transport = "sse"
)

// An Isolation says how long a server session lives.
type Isolation string

const (
	// IsolationShared keeps one session for all trials of a run on a worker
	// that resolve to the same server, environment and headers.
	IsolationShared Isolation = "shared"
	// IsolationTrial starts a fresh session for every attempt.
	IsolationTrial Isolation = "trial"
)
