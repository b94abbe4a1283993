package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// A Scope says what a token may do.
type Scope string

const (
	// ScopeWorker: join the farm, and read and write blobs.
	ScopeWorker Scope = "worker"
	// ScopeRead: read runs.
	ScopeRead Scope = "read"
	// ScopeRun: also start runs, and cancel, pause, resume and retry them.
	ScopeRun Scope = "run"
)

// Scopes are all there are.
func Scopes() []Scope { return []Scope{ScopeWorker, ScopeRead, ScopeRun} }

// A Token lets its bearer do some things, and is known by its hash.
type Token struct {
	Name string
	// SHA256 of the token in hex.
	SHA256 string
	Scope  Scope
	// Tenant whose runs are all that the bearer sees and makes; empty for all runs.
	Tenant string
}

// HashToken is how a token is written down.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tenantKey is the key of the tenant of a request in its context.
type tenantKey struct{}

// tenant that the bearer of a request is bound to; empty for none.
func tenant(ctx context.Context) string {
	t, _ := ctx.Value(tenantKey{}).(string)
	return t
}

// allow wants a token of one of some scopes, or the one that may do everything.
func (a *api) allow(next http.HandlerFunc, scopes []Scope) http.HandlerFunc {
	all := Token{SHA256: HashToken(a.Token)}
	return func(w http.ResponseWriter, r *http.Request) {
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		hash := []byte(HashToken(token))
		// Hashes are compared, so that the time it takes tells nothing of a token.
		of := func(t Token) bool { return bearer && subtle.ConstantTimeCompare(hash, []byte(t.SHA256)) == 1 }
		if of(all) {
			next(w, r)
			return
		}
		i := slices.IndexFunc(a.Tokens, of)
		switch {
		case i < 0:
			w.Header().Set("WWW-Authenticate", "Bearer")
			Problem{Status: http.StatusUnauthorized, Detail: "this farm wants its token as Authorization: Bearer"}.write(w)
		case !slices.Contains(scopes, a.Tokens[i].Scope):
			Problem{Status: http.StatusForbidden, Detail: "the token " + a.Tokens[i].Name + " has the scope " + string(a.Tokens[i].Scope) + ", and this wants " + oneOf(scopes)}.write(w)
		default:
			next(w, r.WithContext(context.WithValue(r.Context(), tenantKey{}, a.Tokens[i].Tenant)))
		}
	}
}

func oneOf(scopes []Scope) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, " or ")
}
