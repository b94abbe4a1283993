// Package demo holds MCP servers that show what evalfarm does without anything
// to install. They are also the servers under test of the suites that ship, so
// each of them can be broken on purpose: a [Break] introduces one regression and
// says which cases must notice it.
package demo

import (
	"context"
	"maps"
	"slices"

	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

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

func newAcme() (*acme, error) {
	a := &acme{}
	if err := decodeFile("acme/data.json", &a.data); err != nil {
		return nil, err
	}
	var err error
	a.tools, err = decodeTools("acme/tools.json", map[string]answer{
		"getCustomerStatus": func(_ context.Context, given object) reply { return one("customerId", given, a.data.Customers) },
		"getOrderStatus":    func(_ context.Context, given object) reply { return one("orderId", given, a.data.Orders) },
		"getSLACompliance":  func(_ context.Context, given object) reply { return one("serviceId", given, a.data.Services) },
		"getZoneHealthLogs": func(_ context.Context, given object) reply { return reply{lines: a.data.Zones[text(given, "zoneId")]} },
		"getAuditTrail": func(_ context.Context, given object) reply {
			var lines []string
			for _, event := range a.data.Audit[text(given, "customerId")] {
				lines = append(lines, string(eval.Encode(event)))
			}
			return reply{lines: lines}
		},
	})
	return a, err
}

// one answers with the record of an id, with the one that stands for unknown
// ids, or, where there is none, with a rejection.
func one(key string, arguments object, records map[string]object) reply {
	id := text(arguments, key)
	record, known := records[id]
	if !known {
		record, known = records[""]
	}
	if !known {
		return refuse(key, "does not exist")
	}
	answer := maps.Clone(record)
	answer[key] = id
	return reply{object: answer}
}

func (a *acme) serve() (*server.MCPServer, error) {
	s, err := newServer("acme", a.tools, server.WithResourceCapabilities(false, false))
	if err != nil {
		return nil, err
	}
	for _, uri := range slices.Sorted(maps.Keys(a.data.Reports)) {
		s.AddResources(report(uri, a.data.Reports[uri]))
	}
	return s, nil
}
