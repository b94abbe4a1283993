package redislimit

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts are the steps that Redis takes in one.
type scripts struct {
	try, renew, release, waiting *redis.Script
}

func loadScripts() scripts {
	prelude := mustRead("prelude")
	load := func(name string) *redis.Script { return redis.NewScript(prelude + mustRead(name)) }
	return scripts{try: load("try"), renew: load("renew"), release: load("release"), waiting: load("waiting")}
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
