package demo

import (
	"fmt"
	"maps"
	"slices"
)

func (s *proxySession) upstreamServers(arguments object) reply {
	operation, name := text(arguments, "operation"), text(arguments, "name")
	if operation == "list" {
		return reply{object: object{"operation": operation, "servers": s.list()}}
	}
	if name == "" {
		return refuse("name", "must not be null")
	}
	_, known := s.servers[name]
	switch {
	case operation == "add" && known:
		return refuse("name", "is taken")
	case operation == "add":
		return s.add(name, arguments)
	case !known:
		return refuse("name", "does not exist")
	case operation == "remove":
		delete(s.servers, name)
		return reply{object: object{"operation": operation, "name": name}}
	default:
		return reply{object: object{"operation": operation, "name": name, "lines": s.tail(name, arguments)}}
	}
}

func (s *proxySession) list() []object {
	all := []object{}
	for _, name := range slices.Sorted(maps.Keys(s.servers)) {
		u := s.servers[name]
		u.look(name)
		all = append(all, object{"name": name, "protocol": u.Protocol, "connected": u.Connected, "quarantined": u.Quarantined})
	}
	return all
}

// look lets a server that was added connect by the third time that it is looked
// at, so that whoever waits for it has to.
func (u *upstream) look(name string) {
	const needed = 3
	if u.Connected {
		return
	}
	u.looks++
	if u.looks == needed {
		u.Connected = true
		u.Log = append(u.Log, "INFO "+name+" is connected", "INFO 7 tools listed")
	}
}

func (s *proxySession) add(name string, arguments object) reply {
	u := &upstream{Protocol: text(arguments, "protocol")}
	address := text(arguments, "command")
	if u.Protocol != "stdio" {
		address = text(arguments, "url")
	}
	if u.Protocol == "" || address == "" {
		return refuse("", "wants a protocol, and a command for stdio or a url for the others")
	}
	u.Log = []string{fmt.Sprintf("INFO starting %s over %s: %s", name, u.Protocol, address), "INFO waiting for initialize"}
	s.servers[name] = u
	return reply{object: object{"operation": "add", "name": name}}
}

func (s *proxySession) serverLogs(arguments object) reply {
	name := text(arguments, "name")
	if s.servers[name] == nil {
		return refuse("name", "does not exist")
	}
	return reply{object: object{"name": name, "lines": s.tail(name, arguments)}}
}

// tail is the end of a server's log.
func (s *proxySession) tail(name string, arguments object) []string {
	log := s.servers[name].Log
	return log[max(0, len(log)-number(arguments, "lines", 20)):]
}

func (s *proxySession) quarantineSecurity(arguments object) reply {
	operation, name := text(arguments, "operation"), text(arguments, "name")
	if operation == "list_quarantined" {
		held := []string{}
		for _, name := range slices.Sorted(maps.Keys(s.servers)) {
			if s.servers[name].Quarantined {
				held = append(held, name)
			}
		}
		return reply{object: object{"operation": operation, "servers": held}}
	}
	u := s.servers[name]
	if u == nil || !u.Quarantined {
		return refuse("name", "is not quarantined")
	}
	return reply{object: object{"operation": operation, "findings": u.Findings}}
}
