package telemetry

import "go.opentelemetry.io/otel/attribute"

// SchemaURL of the conventions that the names below are from: GenAI and MCP live in a
// repository of their own since 2026 (open-telemetry/semantic-conventions-genai) and are
// in development, so their names are kept here and not taken from a package. Where a
// name changed after semantic conventions 1.41, it is the new one. The URL is that of
// the registry's manifest; it names a version, and nothing is served there.
const SchemaURL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"

// Ours.
const (
	RunID     = attribute.Key("evalfarm.run.id")
	Suite     = attribute.Key("evalfarm.suite")
	RunTrials = attribute.Key("evalfarm.run.trials")
	Outcome   = attribute.Key("evalfarm.outcome") // of a run, or of an attempt
	TrialID   = attribute.Key("evalfarm.trial.id")
	Case      = attribute.Key("evalfarm.case")
	Kind      = attribute.Key("evalfarm.case.kind")
	Variant   = attribute.Key("evalfarm.variant")
	Repeat    = attribute.Key("evalfarm.repeat")
	Verdict   = attribute.Key("evalfarm.verdict")
	Reason    = attribute.Key("evalfarm.reason")
	AttemptN  = attribute.Key("evalfarm.attempt")
	AttemptID = attribute.Key("evalfarm.attempt.uid")
	Worker    = attribute.Key("evalfarm.worker")
	CostUSD   = attribute.Key("evalfarm.cost.usd")
	WaitFor   = attribute.Key("evalfarm.wait.for") // the key of the limiter
	WaitWhy   = attribute.Key("evalfarm.wait.why")
	WaitAsked = attribute.Key("evalfarm.wait.asked") // seconds that a provider asked for
	WaitFrom  = attribute.Key("evalfarm.wait.from")  // where it said so
	Server    = attribute.Key("evalfarm.server")
	// ServerName and ServerVersion are what a server says of itself.
	ServerName    = attribute.Key("evalfarm.server.name")
	ServerVersion = attribute.Key("evalfarm.server.version")
	// Session says how a trial came to its session; see Joined.
	Session   = attribute.Key("evalfarm.session")
	Stop      = attribute.Key("evalfarm.stop")
	Turns     = attribute.Key("evalfarm.turns")
	Calls     = attribute.Key("evalfarm.tool_calls")
	CheckID   = attribute.Key("evalfarm.check")
	ChecksN   = attribute.Key("evalfarm.checks")
	Votes     = attribute.Key("evalfarm.votes")
	Role      = attribute.Key("evalfarm.model.role") // agent, user or judge
	Turn      = attribute.Key("evalfarm.turn")
	Vote      = attribute.Key("evalfarm.judge.vote")     // of a judge; a pairwise one has two orders
	Replayed  = attribute.Key("evalfarm.model.replayed") // from a cassette
	ErrorCode = attribute.Key("evalfarm.error.code")     // the provider's own
	// SpansDropped counts those of a delivery that were too many.
	SpansDropped = attribute.Key("evalfarm.spans.dropped")
	// Attempts counts those at a trial, without judging.
	Attempts = attribute.Key("evalfarm.trial.attempts")
	// AttemptAfter is the outcome of the attempt before, which this one answers.
	AttemptAfter = attribute.Key("evalfarm.attempt.after")
)

// Of the conventions for messaging, errors and networks, which are stable or close to.
const (
	ErrorType        = attribute.Key("error.type")
	MessagingSystem  = attribute.Key("messaging.system")
	MessagingName    = attribute.Key("messaging.operation.name")
	MessagingType    = attribute.Key("messaging.operation.type")
	MessagingQueue   = attribute.Key("messaging.destination.name")
	MessagingID      = attribute.Key("messaging.message.id")
	ServerAddress    = attribute.Key("server.address")
	ServerPort       = attribute.Key("server.port")
	NetworkTransport = attribute.Key("network.transport") // pipe or tcp
	HTTPStatus       = attribute.Key("http.response.status_code")
)

// Of the conventions for generative AI.
const (
	Operation             = attribute.Key("gen_ai.operation.name")
	ProviderName          = attribute.Key("gen_ai.provider.name")
	AgentName             = attribute.Key("gen_ai.agent.name")
	ConversationID        = attribute.Key("gen_ai.conversation.id")
	RequestModel          = attribute.Key("gen_ai.request.model")
	RequestMaxTokens      = attribute.Key("gen_ai.request.max_tokens")
	RequestTemperature    = attribute.Key("gen_ai.request.temperature")
	RequestTopP           = attribute.Key("gen_ai.request.top_p")
	RequestSeed           = attribute.Key("gen_ai.request.seed")
	RequestReasoning      = attribute.Key("gen_ai.request.reasoning.level")
	ResponseID            = attribute.Key("gen_ai.response.id")
	ResponseModel         = attribute.Key("gen_ai.response.model")
	FinishReasons         = attribute.Key("gen_ai.response.finish_reasons")
	UsageInput            = attribute.Key("gen_ai.usage.input_tokens")
	UsageOutput           = attribute.Key("gen_ai.usage.output_tokens")
	UsageCacheRead        = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	UsageCacheWrite       = attribute.Key("gen_ai.usage.cache_write.input_tokens")
	UsageReasoning        = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	SystemInstructions    = attribute.Key("gen_ai.system_instructions") // content
	InputMessages         = attribute.Key("gen_ai.input.messages")      // content
	OutputMessages        = attribute.Key("gen_ai.output.messages")     // content
	ToolName              = attribute.Key("gen_ai.tool.name")
	ToolType              = attribute.Key("gen_ai.tool.type")
	ToolCallID            = attribute.Key("gen_ai.tool.call.id")
	ToolArguments         = attribute.Key("gen_ai.tool.call.arguments") // content
	ToolResult            = attribute.Key("gen_ai.tool.call.result")    // content
	EvaluationName        = attribute.Key("gen_ai.evaluation.name")
	EvaluationValue       = attribute.Key("gen_ai.evaluation.score.value")
	EvaluationLabel       = attribute.Key("gen_ai.evaluation.score.label")
	EvaluationExplanation = attribute.Key("gen_ai.evaluation.explanation") // content
)

// Of the conventions for MCP.
const (
	MCPMethod    = attribute.Key("mcp.method.name")
	MCPSession   = attribute.Key("mcp.session.id")
	MCPProtocol  = attribute.Key("mcp.protocol.version")
	MCPResource  = attribute.Key("mcp.resource.uri")
	JSONRPCID    = attribute.Key("jsonrpc.request.id")
	RPCErrorCode = attribute.Key("rpc.response.status_code")
)

// eventEvaluation is the name of the event that tells of a score.
const eventEvaluation = "gen_ai.evaluation.result"
