package demo

// A Break is one regression that a demo server can be started with.
type Break struct {
	Name string
	// Summary says in a line what is wrong.
	Summary string
	// Fails lists what must notice it, among the suites that ship: these cases
	// fail, and no others.
	Fails []Fails

	// Exactly one is set: what the break does to its server.
	apply  func(*acme)
	onDesk func(*desk)
}

// A Fails names the cases of one suite that a break makes fail, in the order of
// the suite. In a case that is written as steps it names each step that fails,
// as case/step.
type Fails struct {
	Suite string
	Cases []string
}

// Breaks lists the regressions that a demo server knows.
func Breaks(name string) []Break {
	switch name {
	case "acme":
		return acmeBreaks()
	case "desk":
		return deskBreaks()
	default:
		return nil
	}
}

// acmeBreaks lists those of single answers first, then those of behaviour, then
// those of the listing.
func acmeBreaks() []Break {
	return []Break{
		{
			Name:    "renamed-tier",
			Summary: "getCustomerStatus says ENTERPRISE instead of ENTERPRISE_TIER",
			Fails: []Fails{
				{"quickstart", []string{"customer/status"}},
				{"tool-accuracy", []string{"customer-active-enterprise"}},
			},
			apply: renamedTier,
		},
		{
			Name:    "renamed-extracted-field",
			Summary: "getCustomerStatus calls primaryRegion region, in its schema too",
			Fails: []Fails{
				{"quickstart", []string{"customer/status", "support/handover/customer", "support/handover/zone"}},
				{"tool-accuracy", []string{"customer-active-enterprise", "customer-active-business", "customer-suspended"}},
				{"workflow-regression", []string{"customer-debug-workflow/lookup-customer", "customer-debug-workflow/check-region-health"}},
				{"catalog", []string{"listing/unchanged"}},
			},
			apply: renamedExtractedField,
		},
		{
			Name:    "rounded-number",
			Summary: "getCustomerStatus passes account numbers through a float",
			Fails:   []Fails{{"quickstart", []string{"customer/account-number"}}},
			apply:   roundedNumber,
		},
		{
			Name:    "wrong-order-status",
			Summary: "getOrderStatus says PENDING instead of SHIPPED",
			Fails: []Fails{
				{"quickstart", []string{"order/shipped"}},
				{"tool-accuracy", []string{"order-shipped"}},
			},
			apply: wrongOrderStatus,
		},
		{
			Name:    "dropped-field",
			Summary: "getOrderStatus leaves out totalAmount",
			Fails: []Fails{
				{"quickstart", []string{"order/shipped"}},
				{"tool-accuracy", []string{"order-shipped", "order-delivered"}},
			},
			apply: droppedField,
		},
		{
			Name:    "dead-report",
			Summary: "getOrderStatus hands out report URIs that cannot be read",
			Fails:   []Fails{{"quickstart", []string{"support/handover/report"}}},
			apply:   deadReport,
		},
		{
			Name:    "number-as-string",
			Summary: "getSLACompliance answers violationCount as a string",
			Fails: []Fails{
				{"quickstart", []string{"sla/in-time"}},
				{"tool-accuracy", []string{"sla-api-gateway", "sla-auth-service", "sla-data-pipeline"}},
				{"workflow-regression", []string{"customer-debug-workflow/verify-sla"}},
			},
			apply: numberAsString,
		},
		{
			Name:    "changed-count",
			Summary: "getZoneHealthLogs loses the last line of every zone",
			Fails: []Fails{
				{"quickstart", []string{"zone/lines", "support/handover/zone"}},
				{"tool-accuracy", []string{"zone-health-entries"}},
				{"workflow-regression", []string{
					"customer-debug-workflow/check-region-health", "multi-region-health-check/check-us-east",
					"multi-region-health-check/check-eu-west", "multi-region-health-check/check-ap-south",
				}},
			},
			apply: changedCount,
		},
		{
			Name:    "lost-audit-event",
			Summary: "getAuditTrail leaves out events that were denied",
			Fails: []Fails{
				{"quickstart", []string{"audit/denial"}},
				{"tool-accuracy", []string{"audit-trail-entries"}},
				{"workflow-regression", []string{"customer-audit-workflow/pull-audit-trail"}},
			},
			apply: lostAuditEvent,
		},
		{
			Name:    "relaxed-pattern",
			Summary: "getCustomerStatus accepts any text as customerId",
			Fails: []Fails{
				{"quickstart", []string{"customer/rejects/1", "customer/rejects/2", "customer/rejects/3", "customer/rejects/4"}},
				{"validation-boundary", []string{"customer-invalid-format", "customer-sql-injection", "customer-empty-string"}},
				{"catalog", []string{"listing/unchanged"}},
			},
			apply: relaxedPattern,
		},
		{
			Name:    "relaxed-size",
			Summary: "getZoneHealthLogs accepts a zoneId of 200 characters",
			Fails: []Fails{
				{"validation-boundary", []string{"zone-overflow"}},
				{"catalog", []string{"listing/unchanged"}},
			},
			apply: relaxedSize,
		},
		{
			Name:    "rejection-as-text",
			Summary: "every tool answers a rejection as a result, without isError",
			Fails: []Fails{
				{"quickstart", []string{
					"customer/rejects/1", "customer/rejects/2", "customer/rejects/3", "customer/rejects/4", "sla/unknown-service",
				}},
				{"validation-boundary", []string{
					"customer-invalid-format", "customer-sql-injection", "customer-empty-string", "order-invalid-format",
					"order-short-digits", "zone-overflow", "sla-service-overflow", "audit-xss-payload",
				}},
			},
			apply: rejectionAsText,
		},
		{
			Name:    "crash-on-hostile-input",
			Summary: "the process dies of an argument that holds SQL",
			Fails: []Fails{
				{"quickstart", []string{"customer/rejects/3"}},
				{"validation-boundary", []string{"customer-sql-injection"}},
			},
			apply: crashOnHostileInput,
		},
		{
			Name:    "slow-tool",
			Summary: "getSLACompliance takes 4 s to answer",
			Fails:   []Fails{{"quickstart", []string{"sla/in-time"}}},
			apply:   slowTool,
		},
		{
			Name:    "missing-tool",
			Summary: "getSLACompliance is gone",
			Fails: []Fails{
				{"quickstart", []string{"sla/in-time", "sla/unknown-service"}},
				{"tool-accuracy", []string{"sla-api-gateway", "sla-auth-service", "sla-data-pipeline"}},
				{"validation-boundary", []string{"sla-service-overflow"}},
				{"workflow-regression", []string{"customer-debug-workflow/verify-sla"}},
				{"catalog", []string{"listing/unchanged"}},
			},
			apply: missingTool,
		},
		{
			Name:    "renamed-tool",
			Summary: "getAuditTrail is called \"get audit trail\", which no model may call",
			Fails: []Fails{
				{"quickstart", []string{"audit/denial", "listing"}},
				{"tool-accuracy", []string{"audit-trail-entries"}},
				{"validation-boundary", []string{"audit-xss-payload"}},
				{"workflow-regression", []string{"customer-audit-workflow/pull-audit-trail"}},
				{"catalog", []string{"listing/names", "listing/unchanged"}},
			},
			apply: renamedTool,
		},
		{
			Name:    "root-allof",
			Summary: "the input schema of getAuditTrail has allOf at its root",
			Fails: []Fails{
				{"quickstart", []string{"listing"}},
				{"catalog", []string{"listing/schemas", "listing/unchanged"}},
			},
			apply: rootAllOf,
		},
		{
			Name:    "undescribed-property",
			Summary: "getZoneHealthLogs says nothing of its zoneId",
			Fails: []Fails{
				{"quickstart", []string{"listing"}},
				{"catalog", []string{"listing/descriptions", "listing/unchanged"}},
			},
			apply: undescribedProperty,
		},
		{
			Name:    "missing-description",
			Summary: "getOrderStatus does not say what it does",
			Fails: []Fails{
				{"quickstart", []string{"listing"}},
				{"catalog", []string{"listing/descriptions", "listing/unchanged"}},
			},
			apply: missingDescription,
		},
		{
			Name:    "broken-output-schema",
			Summary: "the output schema of getOrderStatus has a type that does not exist",
			Fails: []Fails{
				{"quickstart", []string{"listing"}},
				{"catalog", []string{"listing/output-schemas", "listing/unchanged"}},
			},
			apply: brokenOutputSchema,
		},
		{
			Name:    "bloated-listing",
			Summary: "getAuditTrail describes itself in 6,000 characters",
			Fails: []Fails{
				{"quickstart", []string{"listing"}},
				{"catalog", []string{"listing/context", "listing/unchanged"}},
			},
			apply: bloatedListing,
		},
	}
}
