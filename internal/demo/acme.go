// Package demo holds MCP servers that show what evalfarm does without anything
// to install. They are also the servers under test of the suites that ship, so
// each of them can be broken on purpose: a [Break] introduces one regression and
// says which cases must notice it.
package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

//go:embed acme/tools.json acme/data.json
var acmeFiles embed.FS

// An acme is the server of Acme FinServ, a made-up company: five tools that
// look things up, and the reports that its orders point to. It is put together
// once and never changes while it serves.
type acme struct {
	tools []*tool
	data  data
}

// An object is one record, as [eval.Decode] gives it.
type object = map[string]any

// A data is all that Acme knows, by id. The record "" stands for an id that
// nobody has.
type data struct {
	Customers map[string]object   `json:"customers"`
	Orders    map[string]object   `json:"orders"`
	Reports   map[string]object   `json:"reports"`
	Zones     map[string][]string `json:"zones"`
	Services  map[string]object   `json:"services"`
	Audit     map[string][]object `json:"audit"`
}

// Acme makes the server of Acme FinServ, whole when regression is "", else with
// the regression of that name from [Breaks].
func Acme(regression string) (*server.MCPServer, error) {
	a, err := newAcme()
	if err != nil {
		return nil, err
	}
	if regression != "" {
		b, err := find(regression)
		if err != nil {
			return nil, err
		}
		b.apply(a)
	}
	return a.serve()
}

func newAcme() (*acme, error) {
	a := &acme{}
	if err := a.load("acme/data.json", &a.data); err != nil {
		return nil, err
	}
	if err := a.load("acme/tools.json", &a.tools); err != nil {
		return nil, err
	}
	for _, t := range a.tools {
		switch t.Name {
		case "getCustomerStatus":
			t.answer = func(id string) reply { return one("customerId", id, a.data.Customers) }
		case "getOrderStatus":
			t.answer = func(id string) reply { return one("orderId", id, a.data.Orders) }
		case "getSLACompliance":
			t.answer = func(id string) reply { return one("serviceId", id, a.data.Services) }
		case "getZoneHealthLogs":
			t.answer = func(id string) reply { return reply{lines: a.data.Zones[id]} }
		case "getAuditTrail":
			t.answer = func(id string) reply {
				var lines []string
				for _, event := range a.data.Audit[id] {
					lines = append(lines, string(eval.Encode(event)))
				}
				return reply{lines: lines}
			}
		default:
			return nil, fmt.Errorf("load acme/tools.json: nothing answers tool %q", t.Name)
		}
	}
	return a, nil
}

// load decodes an embedded file, numbers kept as they are written.
func (a *acme) load(name string, into any) error {
	raw, err := acmeFiles.ReadFile(name)
	if err != nil {
		return fmt.Errorf("load %s: %w", name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("load %s: %w", name, err)
	}
	return nil
}

// one answers with the record of an id, with the one that stands for unknown
// ids, or, where there is none, with a rejection.
func one(key, id string, records map[string]object) reply {
	record, known := records[id]
	if !known {
		record, known = records[""]
	}
	if !known {
		return reply{rejection: "does not exist"}
	}
	answer := maps.Clone(record)
	answer[key] = id
	return reply{object: answer}
}

func (a *acme) serve() (*server.MCPServer, error) {
	s := server.NewMCPServer("acme", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithRecovery(),
		server.WithResourceRecovery(),
	)
	for _, t := range a.tools {
		st, err := t.serve()
		if err != nil {
			return nil, err
		}
		s.AddTools(st)
	}
	for _, uri := range slices.Sorted(maps.Keys(a.data.Reports)) {
		s.AddResources(report(uri, a.data.Reports[uri]))
	}
	return s, nil
}
