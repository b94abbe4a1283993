package asynqjobs

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts are the steps that Redis takes in one.
type scripts struct {
	claim, giveBack, beat, commit, finish, supersede, settle *redis.Script
}

func loadScripts() scripts {
	prelude := mustRead("prelude")
	load := func(name string) *redis.Script { return redis.NewScript(prelude + mustRead(name)) }
	return scripts{
		claim:     load("claim"),
		giveBack:  load("return"),
		beat:      load("beat"),
		commit:    load("commit"),
		finish:    load("finish"),
		supersede: load("supersede"),
		settle:    load("settle"),
	}
}

// mustRead reads an embedded file, which cannot be missing in a binary that was
// tested once.
func mustRead(name string) string {
	b, err := scriptFiles.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// keep is for how long, in seconds, Redis remembers a run that nobody touches. A
// run that is paused for longer is put back from the store.
const keep = 7 * 24 * 60 * 60
