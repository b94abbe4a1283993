package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// The regressions. Each changes the server before it serves, as a careless
// commit would; the whole server knows nothing of them.

func renamedTier(a *acme) {
	for _, c := range a.data.Customers {
		if c["tier"] == "ENTERPRISE_TIER" {
			c["tier"] = "ENTERPRISE"
		}
	}
}

func renamedExtractedField(a *acme) {
	for _, c := range a.data.Customers {
		c["region"] = c["primaryRegion"]
		delete(c, "primaryRegion")
	}
	t := a.tool("getCustomerStatus")
	t.Output = json.RawMessage(strings.ReplaceAll(string(t.Output), `"primaryRegion"`, `"region"`))
}

func roundedNumber(a *acme) {
	for _, c := range a.data.Customers {
		if n, ok := c["accountNumber"].(json.Number); ok {
			f, _ := n.Float64() // a number from our own file
			c["accountNumber"] = json.Number(fmt.Sprintf("%.0f", f))
		}
	}
}

func wrongOrderStatus(a *acme) {
	for _, o := range a.data.Orders {
		if o["status"] == "SHIPPED" {
			o["status"] = "PENDING"
		}
	}
}

func droppedField(a *acme) {
	for _, o := range a.data.Orders {
		delete(o, "totalAmount")
	}
}

func deadReport(a *acme) {
	for _, o := range a.data.Orders {
		if uri, ok := o["reportUri"].(string); ok {
			o["reportUri"] = uri + "-old"
		}
	}
}

func numberAsString(a *acme) {
	for _, s := range a.data.Services {
		s["violationCount"] = fmt.Sprint(s["violationCount"])
	}
}

func changedCount(a *acme) {
	for zone, lines := range a.data.Zones {
		a.data.Zones[zone] = lines[:len(lines)-1]
	}
}

func lostAuditEvent(a *acme) {
	for customer, events := range a.data.Audit {
		var kept []object
		for _, e := range events {
			if e["outcome"] != "DENIED" {
				kept = append(kept, e)
			}
		}
		a.data.Audit[customer] = kept
	}
}

func relaxedPattern(a *acme) {
	a.tool("getCustomerStatus").property("customerId", func(p object) { p["pattern"] = ".*" })
}

func relaxedSize(a *acme) {
	a.tool("getZoneHealthLogs").property("zoneId", func(p object) { p["maxLength"] = 200 })
}

func rejectionAsText(a *acme) {
	for _, t := range a.tools {
		t.forgiving = true
	}
}

// crashOnHostileInput panics beside the call, where no recovery reaches, so that
// the whole process dies as it would of a fault in a library.
func crashOnHostileInput(a *acme) {
	for _, t := range a.tools {
		t.before = func(ctx context.Context, arguments any) {
			if given := fmt.Sprint(arguments); strings.Contains(given, "DROP TABLE") {
				go panic("acme: cannot parse " + given)
				<-ctx.Done()
			}
		}
	}
}

func slowTool(a *acme) { a.tool("getSLACompliance").slowDown() }

func missingTool(a *acme) {
	var kept []*tool
	for _, t := range a.tools {
		if t.Name != "getSLACompliance" {
			kept = append(kept, t)
		}
	}
	a.tools = kept
}

func renamedTool(a *acme) { a.tool("getAuditTrail").Name = "get audit trail" }

func rootAllOf(a *acme) {
	t := a.tool("getAuditTrail")
	t.Input = edit(t.Input, func(schema object) {
		schema["allOf"] = []any{object{"required": []any{"customerId"}}}
	})
}

func undescribedProperty(a *acme) {
	a.tool("getZoneHealthLogs").property("zoneId", func(p object) { delete(p, "description") })
}

func missingDescription(a *acme) { a.tool("getOrderStatus").Description = "" }

func brokenOutputSchema(a *acme) {
	t := a.tool("getOrderStatus")
	t.Output = edit(t.Output, func(schema object) { schema["type"] = "record" })
}

func bloatedListing(a *acme) {
	t := a.tool("getAuditTrail")
	t.Description += strings.Repeat(" Read every event.", 6000/18)
}

// tool finds one of our own tools.
func (a *acme) tool(name string) *tool { return toolOf(a.tools, name) }

func toolOf(tools []*tool, name string) *tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	panic("demo: no tool " + name)
}

// property changes one property of the input schema.
func (t *tool) property(name string, change func(object)) {
	t.Input = edit(t.Input, func(schema object) {
		change(schema["properties"].(object)[name].(object))
	})
}

// edit changes a schema of our own, which is known to be an object.
func edit(schema json.RawMessage, change func(object)) json.RawMessage {
	v, err := eval.Decode(schema)
	if err != nil {
		panic("demo: " + err.Error())
	}
	change(v.(object))
	return eval.Encode(v)
}
