package redislimit

import (
	"strings"

	"github.com/evalfarm/evalfarm/pkg/limit"
)

// keys names everything that a gate keeps in Redis. What belongs to one key of the
// limiter shares a hash tag, so a script finds it on one node of a cluster.
type keys struct{ namespace string }

// known is a ZSET of limiter keys → when they were last used.
func (k keys) known() string { return "evalfarm:limits:{" + k.namespace + "}" }

func (k keys) of(key limit.Key, name string) string {
	return "evalfarm:limit:{" + k.namespace + ":" + escape(key) + "}:" + name
}

// escape keeps braces of a key out of the hash tag.
func escape(key limit.Key) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(string(key))
}

// state is a HASH of numbers; see the prelude of the scripts.
func (k keys) state(key limit.Key) string { return k.of(key, "state") }

// leases is a ZSET of permits → when they end.
func (k keys) leases(key limit.Key) string { return k.of(key, "leases") }

// charges is a HASH of permits → when they were granted and what they took.
func (k keys) charges(key limit.Key) string { return k.of(key, "charges") }

// turns is a ZSET of permits that wait for a place → since when.
func (k keys) turns(key limit.Key) string { return k.of(key, "turns") }

// waiting is a HASH of processes → how many of their callers wait, as of when.
func (k keys) waiting(key limit.Key) string { return k.of(key, "waiting") }

// history is a LIST of changes, the latest last.
func (k keys) history(key limit.Key) string { return k.of(key, "history") }
