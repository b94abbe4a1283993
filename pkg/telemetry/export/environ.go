package export

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An environ is the environment of a process, in which the standard variables are
// looked for (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
//
// The exporters of the SDK would read the variables of this process themselves. They do,
// and what they read is then overwritten by what is read here, where a mistake is an
// error and not a line on standard error.
type environ []string

// A VariableError is what is wrong with a standard variable.
type VariableError struct {
	// Variable is its name; Problem says what is wrong with its value, and Hint what to
	// do.
	Variable, Problem, Hint string
}

func (e *VariableError) Error() string { return e.Variable + ": " + e.Problem }

// find is the value of the first of several variables that says something, and which
// that is. The last one of a name counts, as in a process.
func (e environ) find(names ...string) (name, value string) {
	for _, name := range names {
		value := ""
		for _, entry := range e {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				value = strings.TrimSpace(v)
			}
		}
		if value != "" {
			return name, value
		}
	}
	return "", ""
}

// An otlp is the variables of OTLP for one signal.
type otlp struct {
	environ
	signal string
}

func (e environ) traces() otlp  { return otlp{e, "TRACES"} }
func (e environ) metrics() otlp { return otlp{e, "METRICS"} }

// value finds a variable of the signal, else for all signals.
func (e otlp) value(what string) (name, value string) {
	return e.find("OTEL_EXPORTER_OTLP_"+e.signal+"_"+what, "OTEL_EXPORTER_OTLP_"+what)
}

// number reads a variable that holds a number of at least least.
func number(name, value string, standard, least int) (int, error) {
	if value == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least {
		return 0, &VariableError{name, fmt.Sprintf("want a number of at least %d, got %q", least, value), ""}
	}
	return n, nil
}

// millis reads a variable that holds a number of milliseconds.
func millis(name, value string, standard time.Duration) (time.Duration, error) {
	n, err := number(name, value, int(standard.Milliseconds()), 1)
	if problem, ok := err.(*VariableError); ok { //nolint:errorlint // it is number's own
		problem.Hint = "in milliseconds: 10000 is ten seconds"
	}
	return time.Duration(n) * time.Millisecond, err
}

// truth reads a variable that is true or false.
func truth(name, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, &VariableError{name, fmt.Sprintf("want true or false, got %q", value), ""}
}

// pairs reads a variable that holds key=value,key=value, whose values are
// percent-encoded. The values may be secrets, so no problem quotes them.
func pairs(name, value string) (map[string]string, error) {
	out := map[string]string{}
	for i, pair := range strings.Split(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, "=")
		k = strings.TrimSpace(k)
		text, err := url.PathUnescape(strings.TrimSpace(v))
		if !ok || k == "" || err != nil {
			return nil, &VariableError{name, fmt.Sprintf("part %d is not key=value with a value that is percent-encoded", i+1), "such as key=value,other=a%20value"}
		}
		if !utf8.ValidString(text) {
			return nil, &VariableError{name, fmt.Sprintf("part %d is no text in UTF-8", i+1), ""}
		}
		out[k] = text
	}
	return out, nil
}

// headers are pairs that can be sent. No problem quotes a name, either: whoever writes
// `Authorization: Basic BASE64=` has the secret in it.
func (e otlp) headers() (map[string]string, error) {
	name, value := e.value("HEADERS")
	all, err := pairs(name, value)
	for k, v := range all {
		if !nameOfHeader.MatchString(k) {
			return nil, &VariableError{name, "a name is none of a header", "such as Authorization=Bearer%20TOKEN, with = and not a colon behind the name"}
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, &VariableError{name, "a value has what no header may have, such as a line break or a letter that is not in ASCII", ""}
		}
	}
	return all, err
}

// nameOfHeader by RFC 9110, section 5.6.2.
var nameOfHeader = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// disabled says whether nothing is to be told at all.
func (e environ) disabled() (bool, error) {
	name, value := e.find("OTEL_SDK_DISABLED")
	return truth(name, value)
}

// traced says whether spans are exported over OTLP: when a variable says so, or where
// to.
func (e environ) traced() (bool, error) {
	name, value := e.find("OTEL_TRACES_EXPORTER")
	switch value {
	case "otlp":
		return true, nil
	case "none":
		return false, nil
	case "":
		_, to := e.traces().value("ENDPOINT")
		return to != "", nil
	case "console":
		return false, &VariableError{name, "standard output is for answers, so no spans are written there", "evalfarm run SUITE --trace-file FILE writes them to a file"}
	}
	return false, &VariableError{name, fmt.Sprintf("there is no exporter %q here", value), "want otlp or none"}
}

// metered says whether metrics are sent over OTLP, as traced does of spans, and shown
// whether they may be scraped: unless a variable says none.
func (e environ) metered() (pushed, shown bool, err error) {
	name, value := e.find("OTEL_METRICS_EXPORTER")
	switch value {
	case "otlp":
		return true, true, nil
	case "prometheus":
		return false, true, nil
	case "none":
		return false, false, nil
	case "":
		_, to := e.metrics().value("ENDPOINT")
		return to != "", true, nil
	}
	return false, false, &VariableError{name, fmt.Sprintf("there is no exporter %q here", value), "want otlp, prometheus or none"}
}

// content says whether what models, tools and servers say is to be shown, by the
// variable of the conventions.
func (e environ) content() (bool, error) {
	name, value := e.find("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
	return truth(name, value)
}

// batching is how spans are gathered.
type batching struct {
	delay, timeout time.Duration
	queue, batch   int
}

// standardQueue is more than the 2048 of the specification: a delivery hands on all of
// its spans at once.
const standardQueue = 8192

// batching reads OTEL_BSP_*.
func (e environ) batching() (b batching, err error) {
	read := func(what string) (name, value string) { return e.find("OTEL_BSP_" + what) }
	name, value := read("SCHEDULE_DELAY")
	if b.delay, err = millis(name, value, 5*time.Second); err != nil {
		return b, err
	}
	name, value = read("EXPORT_TIMEOUT")
	if b.timeout, err = millis(name, value, 30*time.Second); err != nil {
		return b, err
	}
	name, value = read("MAX_QUEUE_SIZE")
	if b.queue, err = number(name, value, standardQueue, 1); err != nil {
		return b, err
	}
	name, value = read("MAX_EXPORT_BATCH_SIZE")
	if b.batch, err = number(name, value, min(512, b.queue), 1); err != nil {
		return b, err
	}
	if b.batch > b.queue {
		return b, &VariableError{name, fmt.Sprintf("a batch of %d is more than the queue of %d", b.batch, b.queue), cmp.Or(name, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE") + " is at most OTEL_BSP_MAX_QUEUE_SIZE"}
	}
	return b, nil
}
