package llm

// mostTokens that a call can have: a count beyond it is made up, and adding it
// up would run over.
const mostTokens = 1 << 40

// Tokens is a provider's count of tokens, which may be any number.
func Tokens(n int64) int { return int(min(max(n, 0), mostTokens)) }
