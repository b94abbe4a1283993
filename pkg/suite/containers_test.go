package suite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

const pinned = "srv@sha256:6891aea0b7d84a4dc68f294e0ea873955312927aefc7b76fb1ac399d88e00d42"

func TestContainers(t *testing.T) {
	files := map[string]string{
		"base/base.yaml": "version: 1\nservers: {below: {image: \"" + pinned + "\", mounts: [{source: data, target: /data}]}}\n",
		"base/data/x":    "",
		"more/y":         "",
		"suite.yaml": `version: 1
name: boxes
extends: base/base.yaml
vars: {tag: "1.4"}
servers:
  own:
    image: srv:${{ vars.tag }}
    revision: r
    command: [--stdio]
    mounts: [{source: more, target: /more, read_only: false}, {source: /dev/null, target: /null}]
    network: bridge
    memory: 64m
    cpus: 1.5
    user: app
    pull: always
defaults: {server: own}
cases: [{id: a, call: t}]
`,
	}
	loaded := load(t, files, options())
	want := map[string]eval.Container{
		"below": {Image: pinned, Mounts: []eval.Mount{{Source: "base/data", Target: "/data"}}},
		"own": {
			Image: "srv:1.4", Network: "bridge", Memory: "64m", CPUs: 1.5, User: "app", Pull: eval.PullAlways,
			Mounts: []eval.Mount{{Source: "more", Target: "/more", Writable: true}, {Source: "/dev/null", Target: "/null"}},
		},
	}
	got := map[string]eval.Container{}
	for name, server := range loaded.Suite.Servers {
		got[name] = server.Container
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("containers differ (-want +got):\n%s", diff)
	}
	if len(loaded.Warnings)+len(loaded.Unsupported) > 0 {
		t.Errorf("got %v and %v, want nothing to warn of", loaded.Warnings, loaded.Unsupported)
	}

	files["suite.yaml"] = strings.Replace(files["suite.yaml"], "/dev/null", "/dev/zero", 1)
	if other := load(t, files, options()); other.Hash != loaded.Hash {
		t.Error("the hash knows where this machine keeps what it mounts")
	}
	files["suite.yaml"] = strings.Replace(files["suite.yaml"], "64m", "65m", 1)
	if other := load(t, files, options()); other.Hash == loaded.Hash {
		t.Error("the hash does not know how much memory a container has")
	}
}

// The env of an axis is for servers with an image too.
func TestContainerUsesAxisEnv(t *testing.T) {
	loaded := load(t, map[string]string{"suite.yaml": "version: 1\nservers: {s: {image: \"" + pinned + "\"}}\n" +
		"axes: {who: {a: {env: {TOKEN: x}}, b: {env: {TOKEN: y}}}}\ncases: [{id: a, call: t}]\n"}, options())
	matrix, err := suite.Expand(&loaded.Suite, suite.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(matrix.Cells); got != 2 {
		t.Errorf("got %d cells, want one for each value of the axis", got)
	}
}
