package client

import (
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// The client profiles. What a client declares changes the server under test: it
// lists other tools and asks other things. The named agents are as they were
// seen on the wire; the versions are those of that day.
const (
	// ProfileBare declares nothing.
	ProfileBare = "bare"
	// ProfileFull declares and answers roots, sampling and elicitation.
	ProfileFull = "full"
	// ProfileClaudeCode is Claude Code 2.1.197.
	ProfileClaudeCode = "claude-code"
	// ProfileCodex is Codex CLI 0.171.
	ProfileCodex = "codex"
	// ProfileOpencode is opencode 1.18.
	ProfileOpencode = "opencode"
	// ProfileGemini is Gemini CLI 0.61.
	ProfileGemini = "gemini"
)

// Profiles lists the names of the client profiles, sorted.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles())) }

// A profile is what a client declares at initialize and answers when asked.
type profile struct {
	protocol     string
	capabilities mcp.ClientCapabilities
	roots        bool
	sampling     bool
	elicitation  bool
}

func profiles() map[string]profile {
	type roots = struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}
	anyMode := &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}
	return map[string]profile{
		ProfileBare: {protocol: DefaultProtocol},
		ProfileFull: {
			protocol: DefaultProtocol, roots: true, sampling: true, elicitation: true,
			capabilities: mcp.ClientCapabilities{Roots: &roots{ListChanged: true}, Sampling: &mcp.SamplingCapability{}, Elicitation: anyMode},
		},
		ProfileClaudeCode: {
			protocol: mcp.ProtocolVersion20251125, roots: true, elicitation: true,
			capabilities: mcp.ClientCapabilities{Roots: &roots{}, Elicitation: &mcp.ElicitationCapability{}},
		},
		ProfileCodex: {
			protocol: mcp.ProtocolVersion20250618, elicitation: true,
			capabilities: mcp.ClientCapabilities{Elicitation: anyMode},
		},
		ProfileOpencode: {
			protocol: mcp.ProtocolVersion20251125, roots: true,
			capabilities: mcp.ClientCapabilities{Roots: &roots{}},
		},
		ProfileGemini: {
			protocol: mcp.ProtocolVersion20250618, roots: true,
			capabilities: mcp.ClientCapabilities{Roots: &roots{ListChanged: true}},
		},
	}
}

// answers says whether a server may ask this client anything.
func (p profile) answers() bool { return p.roots || p.sampling || p.elicitation }

func (p profile) options(protocol, dir string) []client.ClientOption {
	opts := []client.ClientOption{
		client.WithProtocolVersion(protocol),
		client.WithClientCapabilities(p.capabilities),
		client.WithMetaPropagator(metaPropagator{}),
	}
	if p.roots {
		opts = append(opts, client.WithRootsHandler(rootsAnswer{dir}))
	}
	if p.sampling {
		opts = append(opts, client.WithSamplingHandler(samplingAnswer{}))
	}
	if p.elicitation {
		opts = append(opts, client.WithElicitationHandler(elicitationAnswer{}))
	}
	return opts
}

func modern(protocol string) bool { return mcp.IsModernProtocol(protocol) }
